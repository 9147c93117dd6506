"""Forward-mode differentiation: dual tensors have a tangent, and tensors computed from them have a directional
derivative.

A tangent is computed on demand from the recorded graph (see ``functional``), so that every operator with a
derivative supports it.

>>> import opdsl
>>> with dual_level():
...     x = make_dual(opdsl.tensor([1.0, 2.0]), opdsl.tensor([1.0, 0.0]))
...     unpack_dual(x * x)
UnpackedDual(primal=tensor([1., 4.]), tangent=tensor([2., 0.]))
"""

from __future__ import annotations

from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, NamedTuple

from opdsl.autograd.functional import pushed
from opdsl.errors import GradientError
from opdsl.runtime import Tensor
from opdsl.runtime.scopes import Scope

__all__ = ["UnpackedDual", "dual_level", "make_dual", "unpack_dual"]


class UnpackedDual(NamedTuple):
    """Pair of a tensor and its tangent, as ``unpack_dual`` returns it.

    primal: the tensor without its tangent.
    tangent: the derivative; None if the tensor depends on no dual tensor.

    >>> import opdsl
    >>> from opdsl.autograd.forward import dual_level, make_dual, unpack_dual
    >>> with dual_level():
    ...     unpack_dual(opdsl.tensor([1.0])).tangent is None
    True
    """

    primal: Tensor
    tangent: Tensor | None


class _Level:
    """Dual tensors of one ``dual_level``, with their tangents."""

    def __init__(self) -> None:
        self.duals: list[Tensor] = []
        self.tangents: list[Tensor] = []


_level: ContextVar[_Level | None] = ContextVar("opdsl_dual_level", default=None)


class dual_level(ContextDecorator, Scope):
    """Context manager in which tensors can be made dual. Levels do not nest.

    Raises:
        GradientError: one is entered already.

    >>> import opdsl
    >>> from opdsl.autograd.forward import dual_level, make_dual, unpack_dual
    >>> with dual_level():
    ...     x = make_dual(opdsl.tensor([3.0]), opdsl.tensor([1.0]))
    ...     unpack_dual(x * x).tangent
    tensor([6.])
    """

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """See ``Scope``."""
        if _level.get() is not None:
            raise GradientError(
                "a dual level is entered already; levels do not nest. Use jvp for derivatives of derivatives."
            )
        return ((_level, _Level()),)


def _current() -> _Level:
    level = _level.get()
    if level is None:
        raise GradientError("no dual level is entered. Write: with opdsl.autograd.forward.dual_level(): ...")
    return level


def make_dual(tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return a tensor with a tangent: the direction for forward-mode derivatives.

    Args:
        tensor: real or complex floating point.
        tangent: the direction, of the same shape and dtype.

    Raises:
        GradientError: shapes or dtypes differ, or there is no dual level.

    >>> import opdsl
    >>> from opdsl.autograd.forward import dual_level, make_dual, unpack_dual
    >>> with dual_level():
    ...     make_dual(opdsl.tensor([3.0]), opdsl.tensor([1.0])).shape
    (1,)
    """
    level = _current()
    if tensor.shape != tangent.shape or tensor.dtype is not tangent.dtype:
        raise GradientError(
            f"the tangent has shape {list(tangent.shape)} and {tangent.dtype}, but the tensor has {list(tensor.shape)} "
            f"and {tensor.dtype}. Pass a tangent of the same shape and dtype."
        )
    dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    level.duals.append(dual)
    level.tangents.append(tangent)
    return dual


def unpack_dual(tensor: Tensor) -> UnpackedDual:
    """Return a tensor and its tangent: its derivative in the directions of the dual tensors that it was computed from.

    Args:
        tensor: any.

    Raises:
        GradientError: there is no dual level.

    >>> import opdsl
    >>> from opdsl.autograd.forward import dual_level, make_dual, unpack_dual
    >>> with dual_level():
    ...     unpack_dual(make_dual(opdsl.tensor([2.0]), opdsl.tensor([1.0])).exp()).tangent
    tensor([7.3891])
    """
    level = _current()
    for dual, tangent in zip(level.duals, level.tangents, strict=True):
        if dual is tensor:
            return UnpackedDual(tensor.detach(), tangent)
    if not level.duals:
        return UnpackedDual(tensor.detach(), None)
    follows = any(tangent.requires_grad for tangent in level.tangents)
    (result,) = pushed([tensor], level.duals, level.tangents, create_graph=follows)
    return UnpackedDual(tensor.detach(), result)
