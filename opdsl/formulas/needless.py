"""Gradients that fused steps would give, and the calls that a formula is made of do not."""

from __future__ import annotations

from opdsl.autograd.derivative import DeclaredDerivative
from opdsl.programs.program import Program
from opdsl.programs.steps import Step, names_in

__all__ = ["has_declared_gradients", "has_needless_gradients"]

# Operators whose slopes are numbers wherever their arguments are.
_TAME = frozenset(
    (
        "add", "sub", "rsub", "neg", "mul", "abs", "square", "maximum", "minimum", "clamp", "clamp_min", "clamp_max",
        "relu", "where", "masked_fill", "sum", "mean", "amax", "amin", "sigmoid", "tanh", "sin", "cos", "erf", "atan",
        "_to_copy", "clone", "mm", "bmm", "matmul",
    )
)  # fmt: skip


def has_needless_gradients(traced: Program, fused: Program) -> bool:
    """Return whether fused steps hand 0 to a value from which no gradient flows, but whose slope may be no number.

    A value that is only compared has no gradient: of ``where(log(x) > 0, x, y)`` the logarithm has none, be its slope
    what it may. A fused step that makes the comparison gives 0 to each value that it reads. Where another step has made
    that, it multiplies 0 by the slope: NaN, where this is infinite.

    Args:
        traced: what a formula calls, one by one.
        fused: the same, fused.
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
    """Return whether a fused step stands for a call whose derivative a user has declared, which may be any.

    Those that the library declares say what the text of its operators does.
    """
    return any(
        isinstance(part.operator.derivative, DeclaredDerivative) and not part.name.startswith("aten::")
        for step in fused.steps
        for part in step.parts
    )


def _is_tame(step: Step) -> bool:
    name = step.name.partition("::")[2].partition(".")[0]
    return step.is_view or name in _TAME or not step.reads
