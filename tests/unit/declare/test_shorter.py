"""Tests of optional parts of declarations: keys of kernels for all backends, bodies as kernels, derived ``out=``
variants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import opdsl
from opdsl import Alias, Library, Out, Tensor, TensorOptions
from opdsl.errors import (
    DeclarationError,
    DispatchKeyError,
    DTypeError,
    DuplicateOperatorError,
    KernelSignatureError,
    OverlapError,
    RequiresGradError,
    UnsupportedDTypeError,
)

X = opdsl.tensor([1.0, 2.0, 3.0])


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("shorter") as lib:
        yield lib


# ---------------------------------------------------------------------------------------------- kernels without keys


@pytest.mark.parametrize("attach", [lambda f, body: f.kernel(body), lambda f, body: f.kernel()(body)])
def test_a_kernel_without_keys_is_for_all_backends(library: Library, attach: Callable[[Any, Any], object]) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    attach(f, lambda self: self + 1)
    assert sorted(map(str, f.operator.registrations)) == ["CPU", "CUDA", "Meta"]
    assert f(X).tolist() == [2, 3, 4] and f.meta(X).shape == (3,)


def test_what_depends_on_elements_has_no_kernel_for_meta(library: Library) -> None:
    @library.op(tags=["dynamic_output_shape"])
    def f(self: Tensor) -> Tensor: ...

    f.kernel(lambda self: self[self > 1])
    assert sorted(map(str, f.operator.registrations)) == ["CPU", "CUDA"]


# ------------------------------------------------------------------------------------------------- bodies as kernels


def test_a_body_may_be_the_kernel_of_all_backends(library: Library) -> None:
    @library.op(kernel=True, out=True)
    def f(self: Tensor, *, by: float = 2.0) -> Tensor:
        return self * by

    assert sorted(map(str, f.operator.registrations)) == ["CPU", "CUDA", "Meta"]
    assert f(X).tolist() == [2, 4, 6] and f(X, by=3, out=opdsl.empty(3)).tolist() == [3, 6, 9]
    assert f.meta(X).shape == (3,)


def test_a_body_may_be_the_kernel_of_named_keys(library: Library) -> None:
    @library.op(kernel=("CPU", "Meta"))
    def f(self: Tensor) -> Tensor:
        return self + 1

    assert sorted(map(str, f.operator.registrations)) == ["CPU", "Meta"]


def test_a_body_that_is_a_kernel_leaves_gradients_to_formulas(library: Library) -> None:
    @library.op(kernel="CompositeExplicitAutograd")
    def f(self: Tensor) -> Tensor:
        return self * 2

    f.derivative(self=lambda grad: grad * 10)
    x = opdsl.tensor([1.0], requires_grad=True)
    f(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [10]


def test_an_overload_may_have_a_body_that_is_a_kernel(library: Library) -> None:
    @library.op
    def f(self: Tensor) -> Tensor:
        return self + 1

    @f.overload("by", kernel=True)
    def f_by(self: Tensor, by: int) -> Tensor:
        return self + by

    assert f(X, 2).tolist() == [3, 4, 5] and "CPU" in map(str, f_by.operator.registrations)


def test_a_body_that_is_a_kernel_takes_options_as_one(library: Library) -> None:
    @library.op(kernel=True)
    def f(self: Tensor, *, options: TensorOptions) -> Tensor:
        return self.to(options.dtype)

    assert f(X, dtype=opdsl.int64).dtype is opdsl.int64


@pytest.mark.parametrize("kernel", [True, "CPU"])
def test_a_declaration_without_body_is_the_kernel_of_nothing(library: Library, kernel: Any) -> None:
    with pytest.raises(DeclarationError, match="makes the body a kernel, but the function has no body"):

        @library.op(kernel=kernel)
        def f(self: Tensor) -> Tensor: ...


@pytest.mark.parametrize("kernel", [3, (), None, ("CPU", 1)])
def test_what_is_no_key_is_refused_with_what_to_write(library: Library, kernel: Any) -> None:
    with pytest.raises(DeclarationError, match=r'Write kernel=True .* or kernel="CPU"'):

        @library.op(kernel=kernel)
        def f(self: Tensor) -> Tensor:
            return self


def test_a_key_that_is_none_leaves_no_operator_behind(library: Library) -> None:
    with pytest.raises(DispatchKeyError, match="GPU"):

        @library.op(kernel="GPU")
        def f(self: Tensor) -> Tensor:
            return self

    assert "shorter::f" not in library.registry.operators


def test_a_second_kernel_of_the_key_of_a_body_is_refused(library: Library) -> None:
    @library.op(kernel="CPU")
    def f(self: Tensor) -> Tensor:
        return self

    with pytest.raises(DuplicateOperatorError, match="a second kernel CPU"):
        f.kernel("CPU")(lambda self: self)


# --------------------------------------------------------------------------------------------------------------- out


def test_an_out_kernel_without_keys_is_python_on_tensors(library: Library) -> None:
    @library.op(out=True)
    def f(self: Tensor) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)

    @f.out_kernel
    def f_kernel(self, out):
        out.copy_(self).add_(1)

    out = opdsl.empty(3)
    assert f(X).tolist() == f(X, out=out).tolist() == out.tolist() == [2, 3, 4]


def test_a_compiled_out_kernel_names_its_backend(library: Library) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    f.meta(lambda ctx, self: ctx.set_output(0, self.shape, like=self))
    with pytest.raises(KernelSignatureError, match=r'compiled for one backend. Name it: @f.out_kernel\("CPU"\)'):
        f.out_kernel(compiled=True)(lambda self, out: None)


def test_an_out_kernel_refuses_the_dtypes_that_it_is_not_meant_for(library: Library) -> None:
    @library.op(out=True)
    def f(self: Tensor) -> Tensor: ...

    f.meta(lambda ctx, self: ctx.set_output(0, self.shape, like=self))

    @f.out_kernel("CPU", compiled=False, dtypes=("floating", "int64"))
    def f_kernel(self, out):
        out.copy_(self)

    assert f(X).tolist() == [1, 2, 3] and f(opdsl.tensor([1])).tolist() == [1]
    out = opdsl.empty(0, dtype=opdsl.bool)
    for _ in range(2):
        with pytest.raises(UnsupportedDTypeError, match=r"shorter::f\.out: not implemented for 'Bool'"):
            f(opdsl.tensor([True]), out=out)
    assert out.shape == (0,)
    with pytest.raises(UnsupportedDTypeError, match="not implemented for 'ComplexFloat'"):
        f(opdsl.tensor([1j]))


def test_an_unknown_kind_of_dtype_is_refused(library: Library) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    f.meta(lambda ctx, self: ctx.set_output(0, self.shape, like=self))
    with pytest.raises(KernelSignatureError, match="dtypes="):
        f.out_kernel("CPU", dtypes="floats")(lambda self, out: None)


def test_a_view_kernel_without_keys(library: Library) -> None:
    @library.op
    def f(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

    @f.view_kernel
    def f_view(self):
        return self

    assert f(X).data_ptr() == X.data_ptr()


# ----------------------------------------------------------------------------------------------------------- formulas


@pytest.fixture
def product(library: Library) -> Any:
    @library.op
    def product(self: Tensor, other: Tensor) -> Tensor: ...

    product.kernel(lambda self, other: self * other)
    return product


def gradients(function: Callable[..., Tensor]) -> list[list[float]]:
    x, y = X.clone().requires_grad_(), (X + 3).requires_grad_()
    return [gradient.tolist() for gradient in opdsl.autograd.grad([function(x, y).sum()], [x, y])]


def test_formulas_by_the_names_of_arguments(product: Any) -> None:
    product.derivative(self=lambda grad, other: grad * other, other=lambda grad, self: grad * self)
    assert gradients(product) == [[4, 5, 6], [1, 2, 3]]
    assert str(product.derivative_source).splitlines()[0] == "self = lambda grad, other: grad * other"


def test_formulas_keep_nothing_that_they_do_not_read(product: Any) -> None:
    product.derivative(
        self=lambda grad, self: grad.new_ones(self.shape),
        other=lambda grad, self: grad * self,
    )
    result = product.operator.derivative.formulas(["self", "other"])
    assert [formula.forms for formula in result] == [{"self"}, frozenset()]


def test_formulas_are_all_taken_or_none(product: Any) -> None:
    with pytest.raises(KernelSignatureError, match="'nope' is no argument"):
        product.derivative(self=lambda grad: grad, other=lambda grad, nope: grad)
    assert product.operator.derivative is None
    product.derivative(self=lambda grad, other: grad * other)
    with pytest.raises(KernelSignatureError, match="'others' is no tensor argument"):
        product.derivative(other=lambda grad: grad, others=lambda grad: grad)
    assert [declaration.names for declaration in product.operator.derivative.declared] == [("self",)]


@pytest.mark.parametrize("formulas", [{"self": 3}, {"nope": lambda grad: grad}])
def test_what_is_no_formula_is_refused(product: Any, formulas: dict[str, Any]) -> None:
    with pytest.raises(KernelSignatureError):
        product.derivative(**formulas)
    assert product.operator.derivative is None


def test_operators_share_formulas(library: Library, product: Any) -> None:
    @library.op
    def again(self: Tensor, other: Tensor, more: float = 0.0) -> Tensor: ...

    again.kernel(lambda self, other, more: self * other + more)
    with pytest.raises(KernelSignatureError, match="takes the formulas of shorter::product, which has none"):
        again.derivative(product)
    product.derivative(self=lambda grad, other: grad * other, other=lambda grad, self: grad * self)
    again.derivative(product)
    assert gradients(again) == [[4, 5, 6], [1, 2, 3]]


# ---------------------------------------------------------------------------------------------------------------- out=


def test_a_body_that_takes_out_is_that_of_the_variant(library: Library) -> None:
    @library.op(out=True)
    def f(self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        return opdsl.mul(self, other, out=out)

    out = opdsl.empty(3, dtype=opdsl.float64)
    assert str(f.schema) == "shorter::f(Tensor self, Tensor other) -> Tensor"
    assert f(X, X).dtype is opdsl.float32
    assert f(X, X, out=out) is out and out.tolist() == [1, 4, 9]


class Both(NamedTuple):
    low: Tensor
    high: Tensor


def test_a_kernel_that_takes_out_gets_several(library: Library) -> None:
    @library.op(out=Out(args=("low", "high")))
    def f(self: Tensor, dim: int = 0) -> Both: ...

    seen = []

    @f.kernel
    def f_kernel(self, dim, out):
        seen.append(out)
        return opdsl.aminmax(self, dim=dim, out=out)

    inputs = opdsl.empty(()), opdsl.empty(())
    assert [output.item() for output in f(X)] == [output.item() for output in f(X, out=inputs)] == [1, 3]
    assert seen[0] is None and seen[-1][0] is inputs[0]


@pytest.mark.parametrize(
    ("cast", "dtype", "fits"),
    [
        ("same", opdsl.float32, True),
        ("same", opdsl.float64, False),
        ("kind", opdsl.float64, True),
        ("kind", opdsl.complex64, False),
        ("safe", opdsl.complex64, True),
        ("safe", opdsl.int64, False),
    ],
)
def test_the_dtypes_that_an_output_may_have(library: Library, cast: Any, dtype: opdsl.DType, fits: bool) -> None:
    @library.op(out=Out(cast=cast))
    def f(self: Tensor) -> Tensor:
        return self + 1

    out = opdsl.zeros(3, dtype=dtype)
    if fits:
        assert f(X, out=out).tolist() == [2, 3, 4]
    else:
        with pytest.raises(DTypeError):
            f(X, out=out)
        assert out.tolist() == [0, 0, 0]


def test_no_other_cast_is_known() -> None:
    with pytest.raises(DeclarationError, match="use one of same, safe, kind"):
        Out(cast="never")  # type: ignore[arg-type]


def test_results_are_stored_where_all_fit(library: Library) -> None:
    @library.op(out=True)
    def f(self: Tensor) -> tuple[Tensor, Tensor]:
        return self + 1, self + 2

    first, shared = opdsl.zeros(3), opdsl.zeros(1).expand(3)
    with pytest.raises(OverlapError):
        f(X, out=(first, shared))
    assert first.tolist() == [0, 0, 0]


def test_gradients_do_not_go_through_outputs(library: Library) -> None:
    @library.op(out=Out(explicit=True))
    def f(self: Tensor) -> Tensor:
        return self * 2

    out = opdsl.zeros(3)
    with pytest.raises(RequiresGradError, match="don't support automatic differentiation"):
        f(X.clone().requires_grad_(), out=out)
    assert out.tolist() == [0, 0, 0]


def test_of_what_gives_gradients_to_nothing_the_derivative_says_so() -> None:
    polynomial = opdsl.ops.aten.special_chebyshev_polynomial_t
    assert str(polynomial.derivative_source) == "# aten::special_chebyshev_polynomial_t has no derivative."
