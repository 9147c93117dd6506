"""Backend whose kernels are loop programs run by the interpreter, so that law 6 for it checks the loops."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy

from opdsl.backends.siblings import serve
from opdsl.dispatch import DispatchKey, registry
from opdsl.kernels.abilities import Abilities
from opdsl.kernels.calls import Layout, Ordering, ProductCall, outputs_of
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.kernel import Kernel
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.lowering import loops_of
from opdsl.kernels.loops.making import Given, Loops
from opdsl.kernels.loops.ordering import sorting
from opdsl.kernels.loops.products import matrix_product
from opdsl.kernels.loops.schedules import shared
from opdsl.runtime import Device
from opdsl.runtime.device import backends
from opdsl.scalar.types import ScalarType
from tests.unit.dispatch import host_backend

DEVICE = "interpreted"
KEY = "PrivateUse1"


def run(loops: Loops, arguments: list[Any]) -> None:
    """Interpret loops, divided among several lanes where they can be."""
    check_program(loops.program)
    words = [arguments[word.argument] // word.divisor if isinstance(word, Given) else word for word in loops.words]
    inputs = [argument for argument, place in zip(arguments, loops.arguments, strict=True) if place is not None]
    interpret(shared(loops.program, 4), inputs, words)


def compiled(kernel: Kernel, layout: Layout) -> Callable[..., Any]:
    loops, outputs = loops_of(kernel, layout), outputs_of(layout)
    first = len(loops.arguments) - len(outputs)

    def both(*inputs: Any) -> Any:
        rest = iter(inputs[first:])
        arrays = [
            next(rest) if new is None else host_backend.empty(new.shape, new.strides, dtype, Device(DEVICE))
            for dtype, new in outputs
        ]
        run(loops, [*inputs[:first], *arrays])
        results = [array for array, (_, new) in zip(arrays, outputs, strict=True) if new is not None]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    return both


def product(call: ProductCall) -> Callable[..., None]:
    kind = ScalarType(precision_of(call.dtype).name)

    def multiply(first: Any, second: Any, alpha: complex, beta: complex, out: Any) -> None:
        run(matrix_product(call, kind, reads_out=beta != 0), [first, second, alpha, beta, out])

    return multiply


def order(ordering: Ordering, layout: Layout) -> Callable[..., None]:
    steps, scratch, shape = sorting(ordering, layout, ScalarType(precision_of(layout.inputs[0].dtype).name), 8)

    def run_all(source: Any, values: Any, indices: Any) -> None:
        memory = {"source": source, "values": values, "indices": indices}
        memory |= {name: numpy.empty(shape, numpy.int64) for name in scratch}
        for step in steps:
            run(step.loops, [memory[name] for name in step.memory])

    return run_all


@contextmanager
def installed() -> Iterator[Device]:
    """Register the device in this block, and yield it."""
    package, memory, compiler = (ModuleType(f"opdsl_interpreted{part}") for part in ("", ".memory", ".compiler"))
    for part in ("empty", "view", "address", "copy", "to_host", "from_host"):
        setattr(memory, part, getattr(host_backend, part))
    abilities = Abilities(counts=True, multiplies=True)
    functions = {"compile": compiled, "product": product, "order": order, "multiplies": lambda call: True}
    vars(compiler).update(functions, ABILITIES=abilities)
    vars(package).update(__path__=[], FUSED=True)
    parts = {operand.__name__: operand for operand in (package, memory, compiler)}
    for name in (".memory", ".compiler"):
        parts[f"opdsl_interpreted{name}"].__spec__ = None
    sys.modules.update(parts)
    before = dict(backends._entries)
    backends.register(DEVICE, package.__name__, KEY)
    fallback = serve(KEY)
    try:
        yield Device(DEVICE)
    finally:
        registry.deregister_fallback(DispatchKey(KEY), fallback)
        backends._entries = before
        for name in parts:
            del sys.modules[name]
