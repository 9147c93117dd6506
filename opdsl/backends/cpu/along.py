"""Kernels for row functions and scans, which process one dimension as a whole: their forms and their plans.

The elements along that dimension are a row; the other dimensions are the kept ones. A kernel is
``void (operands, count, strides)``, and ``walk`` calls it for ``count`` neighboring rows. The array ``strides`` holds
the strides of the innermost kept dimension, then the length of a row and the operands' strides along it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.cost import grain_of, kernel_cost
from opdsl.backends.cpu.forms import ANY, Form, letter
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.walk import WalkPlan
from opdsl.backends.cpu.pointwise import operands_of, planned_outputs, signature_of
from opdsl.kernels.calls import Layout
from opdsl.kernels.loops.lowering import extra_words
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Kernel as Computation

SYMBOL = "along"

# The fewest rows along the last kept dimension for which the innermost loop runs across rows.
_FEWEST_ACROSS = 8


def form_of(kernel: Computation, layout: Layout, *, across: bool) -> Form:
    """Return the form of a call, the key by which its kernel is compiled: operand types and stride classes.

    Args:
        kernel: the computation.
        layout: the dtypes and strides of the operands, see ``with_row_strides``.
        across: whether the innermost loop runs across rows instead of along them.
    """
    letters = "".join(letter(spec, -2 if across else -1) for spec in (*layout.inputs, *layout.outputs))
    return Form(*operands_of(signature_of(kernel), layout), letters, across)


def layout_of(kernel: Computation, form: Form) -> Layout:
    """Return a representative layout of a form, with placeholder sizes, from which the loops are built."""
    count = len(form.inputs)
    row = kernel.ranges[1].name
    outputs = tuple(
        spec if row in kernel.operand(name).ranges else spec._replace(strides=(spec.strides or ())[:1])
        for name, spec in zip(kernel.outputs, form.specs[count:], strict=True)
    )
    return Layout(((ANY,), (ANY,)), form.specs[:count], outputs, (None,) * len(form.outputs))


def runs_across(layout: Layout) -> bool:
    """Return whether the innermost loop is to run across rows, because most operands have smaller strides between rows
    than along them.
    """
    kept, (length,) = layout.sizes
    if not kept or kept[-1] < _FEWEST_ACROSS or length == 1:
        return bool(kept) and kept[-1] >= _FEWEST_ACROSS
    closer = [
        abs(spec.strides[-2]) < abs(spec.strides[-1])
        for spec in (*layout.inputs, *layout.outputs)
        if spec.strides is not None and len(spec.strides) > 1 and any(spec.strides)
    ]
    return sum(closer) * 2 > len(closer)


def kernel_of(
    kernel: Computation,
    code: engine.Code,
    layout: Layout,
    unit: int,
    over: Sequence[Sequence[int]] = (),
    more: Sequence[int] = (),
) -> Kernel:
    """Plan a call, and return it as a built-in function of the inputs and the given outputs.

    The function returns the output, or a tuple of several.

    Args:
        kernel: the computation.
        code: compiled for the form of the call.
        layout: the dtypes, sizes and strides of the operands, see ``with_row_strides``.
        unit: how many rows are processed together.
        over: for each output the indices of the inputs whose memory it may overwrite.
        more: words that the kernel reads after its strides.
    """
    rows, (length,) = kept_elements(layout), layout.sizes[1]
    cost = largest(1, rows * length * kernel_cost(kernel))
    work = Work(
        loop=native.entry("walk"),
        elements=rows,
        grain=grain_of(cost, rows, unit) if rows > 1 else 0,
        unit=unit,
        details=_details(code.address(SYMBOL), layout, *extra_words(kernel, layout), *more),
    )
    return builtin.builtin(
        f"{kernel.name}_cpu", work, signature_of(kernel).inputs, planned_outputs(layout), [code], over
    )


def _details(address: int, layout: Layout, *more: int) -> list[int | Table]:
    """Return the words of a ``WalkPlan`` for a call."""
    kept, row = layout.sizes
    strides = [spec.strides or (0,) * (len(kept) + 1) for spec in (*layout.inputs, *layout.outputs)]
    return walk_words(address, kept, row, strides, more)


def walk_words(
    kernel: int,
    sizes: Sequence[int],
    further: Sequence[int],
    strides: Sequence[Sequence[int]],
    more: Sequence[int] = (),
    later: Sequence[int | Table] = (),
) -> list[int | Table]:
    """Return the words of a ``WalkPlan``, followed by those that the kernel itself reads.

    Args:
        kernel: its address.
        sizes: of the dimensions that ``walk`` iterates over.
        further: sizes of the dimensions that the kernel itself iterates over.
        strides: of each operand, for ``sizes`` then ``further``.
        more: words that the kernel reads after its strides.
        later: the plan of a second traversal, which runs after this one.
    """
    depth = len(sizes)
    steps = [stride[d] for d in range(depth) for stride in strides] if sizes else [0] * len(strides)
    for d, size in enumerate(further):
        steps += [size, *(stride[depth + d] for stride in strides)]
    return words(
        WalkPlan,
        row=kernel,
        operands=len(strides),
        dimensions=depth or 1,
        sizes=Table(sizes or (1,)),
        strides=Table([*steps, *more]),
        turns=0,
        later=Table(later) if later else 0,
    )


def kept_elements(layout: Layout) -> int:
    """Return the number of rows, the product of the kept sizes."""
    return math.prod(layout.sizes[0])
