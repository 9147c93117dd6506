"""Handwritten kernels, written directly as machine code because neither a formula nor a loop expresses them and numba
is slow.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import NamedTuple, NoReturn

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Input, Kernel, Table
from opdsl.backends.cpu.machine import ordering, triangles
from opdsl.backends.cpu.machine.author import AuthorPlan
from opdsl.backends.cpu.machine.language import words
from opdsl.runtime.lowering import Noted, sizes_are_symbols
from opdsl.runtime.permanent import kept_forever


class Handwritten(NamedTuple):
    """Description of a handwritten kernel: the module that exports it, and the kinds of its arguments, outputs
    included.
    """

    module: ModuleType
    inputs: tuple[Input, ...]


_ARRAY, _INTEGER, _TRUTH = builtin.ARRAY, builtin.integer(), builtin.TRUTH

KERNELS = {
    "first_places": Handwritten(ordering, (_ARRAY, _INTEGER, _TRUTH, _ARRAY)),
    "nth_place": Handwritten(ordering, (_ARRAY, _INTEGER, _ARRAY)),
    "sorted_places": Handwritten(ordering, (_ARRAY, _ARRAY)),
    "stable_places": Handwritten(ordering, (_ARRAY, _ARRAY)),
    "triangle": Handwritten(triangles, (_TRUTH, _INTEGER, _INTEGER, _INTEGER, _ARRAY)),
}


def handwritten(name: str) -> Kernel:
    """Return a handwritten kernel by name, see ``Compiler.handwritten``."""
    kernel = _kernel(name)
    return Noted(kernel, []) if sizes_are_symbols() else kernel  # sizes come from the arrays


@kept_forever
def _kernel(name: str) -> Kernel:
    module, inputs = KERNELS[name]
    make = functools.partial(text, module, name)
    code = engine.compile_ir(f"{module.__name__} {name}", make, [name], has_long_loops=False, title=name)
    header: list[int | Table] = words(
        AuthorPlan,
        kernel=code.address(name),
        arguments=len(inputs),
        inputs=Table([word for input in inputs for word in input]),
        reporter=id(_report),
    )
    return builtin.builtin_over(name, "author_call", header, [code, _report])


def text(module: ModuleType, name: str) -> str:
    """Return the LLVM IR of a handwritten kernel."""
    from opdsl.backends.cpu.machine.text import module_text

    return module_text([module], only=[name])


def _report(address: int | None) -> NoReturn:
    """Raise an AssertionError for a kernel that reported an error, which none of these does."""
    raise AssertionError(f"a kernel without errors left one at {address}")
