"""Operator ``norm``: of all elements, of vectors along dimensions, and of matrices ("fro", "nuc")."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.scalars import plus
from opdsl.aten.linalg.matrix_norms import linalg_matrix_norm
from opdsl.aten.reduce.norms import (
    LOOPS,
    NORM,
    attach_norms,
    check_identity,
    check_norm_dtype,
    lengths,
    linalg_vector_norm,
    norm_gradient,
)
from opdsl.aten.reduce.variances import BOTH, ENTRY, Dimensions
from opdsl.declare import Out, forward, op
from opdsl.kernels import check
from opdsl.primitives import Loop
from opdsl.runtime import DType, Tensor, install_method
from opdsl.schema.vocabulary import Scalar


@op("aten::norm.ScalarOpt_dim", variants=BOTH, out=Out("norm.out"), **ENTRY)
def norm_dim(self: Tensor, p: Scalar | None, dim: Dimensions, keepdim: bool = False) -> Tensor:
    """Return the ``p``-norm along dimensions, or of all elements if ``dim`` is empty; ``p`` is 2 for None."""
    ...


norm_dim.meta(lambda ctx, self, p, dim: check_norm(self, p, dim))


roots_of_powers = primitives.fold(
    plus,
    init=0,
    lift=lambda x, p: math.pow(abs(x), p),
    finish=lambda total, count, p: math.pow(total, 1.0 / p),
    **NORM,
)
OR_NONE = {**LOOPS, None: lengths}


def norm_by(loop: Loop) -> Callable[..., Tensor]:
    """Return the formula of ``norm`` that calls a reduction loop."""

    def norm(self: Tensor, p: Scalar | None, dim: Dimensions, keepdim: bool) -> Tensor:
        return loop(self, p, dim, keepdim)

    return norm


def norm_in_dtype_by(loop: Loop) -> Callable[..., Tensor]:
    """Return the formula of ``norm`` that calls a reduction loop after converting the elements to ``dtype``."""

    def norm(self: Tensor, p: Scalar | None, dim: Dimensions, keepdim: bool, dtype: DType) -> Tensor:
        return loop(self, p, dim, keepdim, dtype=dtype)

    return norm


attach_norms(norm_dim, "p", norm_by, OR_NONE, roots_of_powers)
norm_dim.derivative(self=lambda grad, self, result, p, dim, keepdim: norm_gradient(grad, self, result, p, dim, keepdim))


@norm_dim.overload("ScalarOpt_dim_dtype", variants=BOTH, out=Out("norm.dtype_out"), **ENTRY)
def norm_dim_dtype(self: Tensor, p: Scalar | None, dim: Dimensions, keepdim: bool, *, dtype: DType) -> Tensor:
    """Return the ``p``-norm along dimensions of the elements converted to ``dtype``."""
    ...


@norm_dim_dtype.meta
def norm_dim_dtype_meta(ctx, self, p, dim, dtype):
    check_norm(self, p, dim)
    check_norm_dtype("norm()", self.dtype, dtype)


attach_norms(norm_dim_dtype, "p", norm_in_dtype_by, OR_NONE, roots_of_powers)
norm_dim_dtype.derivative(norm_dim)


def check_norm(self: Tensor, p: Any, dim: Any) -> None:
    """Check that the norm ``p`` of a tensor is defined.

    Raises:
        ShapeError: the elements are integers, or the norm of an empty tensor is undefined for this ``p``.
    """
    check(
        self.dtype.is_floating_point or self.dtype.is_complex,
        f"norm(): input dtype should be either floating point or complex. Got {self.dtype.scalar_type} instead.",
    )
    check_identity(self, 2 if p is None else p, dim)


@norm_dim.overload("Scalar", kernel="CompositeExplicitAutograd", variants=BOTH, out=True, **ENTRY)
@forward(norm_dim, dim=())
def norm_all(self: Tensor, p: Scalar = 2) -> Tensor:
    """Return the ``p``-norm of all elements."""


norm_all.derivative(self=lambda grad, self, result, p: norm_gradient(grad, self, result, p, None, False))


@norm_dim.overload("ScalarOpt_dtype", kernel="CompositeExplicitAutograd", variants=BOTH, out=True, **ENTRY)
@forward(norm_dim_dtype, dim=(), keepdim=False)
def norm_all_dtype(self: Tensor, p: Scalar | None, *, dtype: DType) -> Tensor:
    """Return the ``p``-norm of all elements converted to ``dtype``."""


norm_all_dtype.derivative(norm_all)


@op("aten::native_norm")
@forward(norm_all)
def native_norm(self: Tensor, p: Scalar = 2) -> Tensor:
    """Return the ``p``-norm of all elements."""


@native_norm.overload("ScalarOpt_dim_dtype")
def native_norm_dim(self: Tensor, p: Scalar | None, dim: Dimensions, keepdim: bool, dtype: DType | None) -> Tensor:
    """Return the ``p``-norm along dimensions, of the elements converted to ``dtype`` if given."""
    return norm_dim(self, p, dim, keepdim) if dtype is None else norm_dim_dtype(self, p, dim, keepdim, dtype=dtype)


# -------------------------------------------------------------------------------------------- norms that words may name


def norm(
    input: Tensor,
    p: complex | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """Return the norm of a tensor's elements, of its vectors, or of its matrices (``torch.norm``).

    Args:
        input: floating-point or complex.
        p: the order: a number, possibly infinite; ``"fro"`` for the root of the sum of squares, ``"nuc"`` for the sum
            of singular values.
        dim: the dimensions of the vectors or matrices; all elements for None.
        keepdim: whether to keep these dimensions with size 1.
        out: a tensor to write the result into.
        dtype: convert the elements to this dtype first.

    Raises:
        OptionError, ShapeError: see ``linalg.vector_norm`` and ``linalg.matrix_norm``, which it calls.

    >>> import opdsl
    >>> x = opdsl.tensor([[3.0, 4.0], [0.0, 0.0]])
    >>> opdsl.norm(x), opdsl.norm(x, p=1, dim=1), opdsl.norm(x, "nuc")
    (tensor(5.), tensor([7., 0.]), tensor(5.))
    """
    dims = dim if dim is None or isinstance(dim, Sequence) else [dim]
    function: Any = linalg_vector_norm
    if p is None or (p == "fro" and (dims is None or len(dims) <= 2)):
        p = 2
    elif isinstance(p, str):
        function = linalg_matrix_norm
        dims = list(range(input.ndim)) if dims is None else dims
    named = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    result: Tensor = function(input, p, dims, keepdim, **named)
    return result


def norm_method(
    self: Tensor,
    p: complex | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """Return the norm of this tensor, see ``opdsl.norm``.

    Args:
        p, dim, keepdim, dtype: see ``opdsl.norm``.

    >>> import opdsl
    >>> opdsl.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    return norm(self, p, dim, keepdim, dtype=dtype)


install_method("norm", norm_method, replace=True)
