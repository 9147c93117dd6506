"""Checks whether fusion would change the gradients of a formula."""

from __future__ import annotations

from opdsl.autograd.derivative import DeclaredDerivative
from opdsl.programs.program import Program
from opdsl.programs.steps import Step, names_in

__all__ = ["has_declared_gradients", "has_needless_gradients"]

# Operators with finite derivatives wherever their arguments are finite.
_TAME = frozenset(
    (
        "add", "sub", "rsub", "neg", "mul", "abs", "square", "maximum", "minimum", "clamp", "clamp_min", "clamp_max",
        "relu", "where", "masked_fill", "sum", "mean", "amax", "amin", "sigmoid", "tanh", "sin", "cos", "erf", "atan",
        "_to_copy", "clone", "mm", "bmm", "matmul",
    )
)  # fmt: skip


def has_needless_gradients(traced: Program, fused: Program) -> bool:
    """Return whether fusion would turn a missing gradient into NaN: a fused step would send the gradient 0 to a value
    that has no gradient in the formula, but may have an infinite slope.

    A value that is only compared has no gradient: in ``where(log(x) > 0, x, y)`` the logarithm has none, whatever its
    slope. A fused step that contains the comparison gives the gradient 0 to each value that it reads. If another step
    computed that value, it multiplies 0 by the slope, which is NaN where the slope is infinite.

    Args:
        traced: the formula's calls, one by one.
        fused: the same program after fusion.
    """
    numbers = {
        result.name
        for step in traced.steps
        for result in step.results
        if result is not None and (result.dtype.is_floating_point or result.dtype.is_complex)
    }
    reached = set(names_in(traced.outputs))
    for step in reversed(traced.steps):
        if step.result_names & reached & numbers:
            reached |= step.reads
    wild: set[str] = set()
    for step in traced.steps:
        if not step.result_names & reached and (not _is_tame(step) or step.reads & wild):
            wild |= step.result_names & numbers
    return any(step.reads & wild for step in fused.steps if step.parts)


def has_declared_gradients(fused: Program) -> bool:
    """Return whether a fused step contains a call with a user-declared derivative, which may be any function.

    Derivatives that the library declares agree with the text of its operators.
    """
    return any(
        isinstance(part.operator.derivative, DeclaredDerivative) and not part.name.startswith("aten::")
        for step in fused.steps
        for part in step.parts
    )


def _is_tame(step: Step) -> bool:
    base = step.name.partition("::")[2].partition(".")[0]
    return step.is_view or base in _TAME or not step.reads
