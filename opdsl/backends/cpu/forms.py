"""Forms: the properties besides its graphs for which a kernel is specialized, operand types and strides of its
innermost loop.

Sizes and strides are arguments of a call, so a new shape compiles nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.backends.cpu.operands import Operand
from opdsl.kernels.calls import OperandSpec
from opdsl.runtime.dtype import to_dtype
from opdsl.scalar.types import ScalarType

CONTIGUOUS, REVERSED, SINGLE, STRIDED, NUMBER = "c", "r", "s", "x", "n"

STEPS = {CONTIGUOUS: 1, REVERSED: -1, SINGLE: 0}

ANY = 2
"""Representative of a size, or of a stride in elements, that is an argument of a call."""


class Form(NamedTuple):
    """Key by which a kernel is specialized: the types of its operands, and their stride classes in the innermost loop.

    inputs: arrays and numbers.
    outputs: the results.
    layout: a letter for each operand, the class of its stride in the innermost loop.
    across: for kernels of whole rows, whether the innermost loop runs across rows; None for other kernels.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    layout: str
    across: bool | None = None

    def __str__(self) -> str:
        inputs = " ".join(f"{input.dtype or 'number'}:{input.value}" for input in self.inputs)
        outputs = " ".join(f"{output.dtype}:{output.value}" for output in self.outputs)
        way = "" if self.across is None else " across" if self.across else " along"
        return f"{inputs} -> {outputs} {self.layout}{way}"

    @property
    def specs(self) -> tuple[OperandSpec, ...]:
        """Return representative dtypes and strides of operands that have this form."""
        return tuple(map(self._spec, (*self.inputs, *self.outputs), self.layout))

    def _spec(self, operand: Operand, letter: str) -> OperandSpec:
        if operand.is_number:
            return OperandSpec(to_dtype(operand.value), None)
        dtype = to_dtype(operand.dtype)
        step = STEPS.get(letter, ANY) * dtype.itemsize
        other = () if self.across is None else (ANY * dtype.itemsize,)
        return OperandSpec(dtype, (step, *other) if self.across else (*other, step))


def operands(specs: Sequence[OperandSpec], kinds: Sequence[ScalarType]) -> tuple[Operand, ...]:
    """Return the stored dtype of each operand and the scalar type in which the function takes or returns it."""
    pairs = zip(specs, kinds, strict=True)
    return tuple([Operand("" if spec.strides is None else spec.dtype.name, kind.value) for spec, kind in pairs])


def letter(spec: OperandSpec, dimension: int = -1) -> str:
    """Return the stride class of an operand along a dimension, which is counted from the last."""
    if spec.strides is None:
        return NUMBER
    stride = spec.strides[dimension] if len(spec.strides) >= -dimension else 0
    for key, step in STEPS.items():
        if stride == step * spec.dtype.itemsize:
            return key
    return STRIDED
