"""Tests of ``alias`` and ``forward``: operators that are a call of another one, in every variant."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

import opdsl
from opdsl import Alias, Library, Out, Scalar, Tensor, formula, forward
from opdsl.errors import DeclarationError, DuplicateOperatorError, KernelSignatureError


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("forwarding") as library:

        @library.op("scaled.by", inplace=True, out=Out("scaled.by_out"))
        @formula
        def scaled(self: Tensor, factor: Scalar, offset: Scalar = 0) -> Tensor:
            """``self * factor + offset``"""
            return self * factor + offset

        yield library


def target(lib: Library) -> object:
    return lib.registry.operators["forwarding::scaled.by"].declaration.functions["functional"]  # type: ignore[union-attr]


def test_an_alias_has_the_variants_of_its_operator(lib: Library) -> None:
    stretched = target(lib).alias("stretched")  # type: ignore[attr-defined]
    assert str(stretched.schema) == "forwarding::stretched.by(Tensor self, Scalar factor, Scalar offset=0) -> Tensor"
    names = {variant: str(function.schema.name) for variant, function in stretched.variants.items()}
    assert names == {
        "functional": "forwarding::stretched.by",
        "inplace": "forwarding::stretched_.by",
        "out": "forwarding::stretched.by_out",
    }


def test_every_variant_calls_its_own(lib: Library) -> None:
    stretched = target(lib).alias("stretched")  # type: ignore[attr-defined]
    x, out = opdsl.tensor([1.0, 2.0]), opdsl.empty(0)
    for _ in range(2):
        assert stretched(x, 3).tolist() == [3.0, 6.0]
    assert stretched(x, 3, offset=1, out=out) is out
    assert out.tolist() == [4.0, 7.0]
    assert stretched.variants["inplace"](x, 2) is x
    assert x.tolist() == [2.0, 4.0]


def test_an_alias_is_composite(lib: Library) -> None:
    stretched = target(lib).alias("stretched")  # type: ignore[attr-defined]
    assert [str(registration) for registration in stretched.operator.registrations] == ["CompositeImplicitAutograd"]


def test_a_taken_name_is_refused(lib: Library) -> None:
    target(lib).alias("stretched")  # type: ignore[attr-defined]
    with pytest.raises(DuplicateOperatorError):

        @lib.op("stretched.by")
        def other(self: Tensor, factor: Scalar, offset: Scalar = 0) -> Tensor: ...


def test_arguments_can_be_fixed(lib: Library) -> None:
    @lib.op(inplace=True, out=True)
    def doubled(self: Tensor) -> Tensor:
        """``2 * self``"""
        ...

    doubled.forward(target(lib), factor=2)  # type: ignore[arg-type]
    x = opdsl.tensor([1.0, 2.0])
    assert doubled(x).tolist() == [2.0, 4.0]
    assert doubled.variants["inplace"](x) is x  # type: ignore[attr-defined]
    assert x.tolist() == [2.0, 4.0]


def test_an_argument_that_the_target_lacks_is_refused(lib: Library) -> None:
    @lib.op
    def shifted(self: Tensor, amount: Scalar) -> Tensor: ...

    with pytest.raises(KernelSignatureError, match="has no argument 'amount'"):
        shifted.forward(target(lib), factor=2)  # type: ignore[arg-type]


ORDERS = {
    ("x", "factor"): "",
    ("x",): "",
    ("x", "factor", "x", "x"): "'x' is too many",
    ("x", "other"): "has no argument 'other'",
    (): "has no argument 'x'",
    ("factor",): "has no argument 'x'",
    ("x", "x"): "its 'factor' is given twice",
}


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_the_order_of_arguments(lib: Library, order: tuple[str, ...]) -> None:
    @lib.op(out=True)
    def linear(factor: Scalar, x: Tensor) -> Tensor: ...

    if ORDERS[order]:
        with pytest.raises(KernelSignatureError, match=ORDERS[order]):
            linear.forward(target(lib), *order)  # type: ignore[arg-type]
        return
    linear.forward(target(lib), *order, offset=1)  # type: ignore[arg-type]
    x, out = opdsl.tensor([1.0, 2.0]), opdsl.empty(0)
    assert [linear(3, x).tolist() for _ in range(3)] == [[4.0, 7.0]] * 3
    assert linear(3, x, out=out) is out  # type: ignore[call-arg]
    assert out.tolist() == [4.0, 7.0]


def test_a_variant_that_the_target_lacks_is_derived(lib: Library) -> None:
    @lib.op
    def plain(self: Tensor) -> Tensor:
        return self + 1

    @lib.op(inplace=True, out=True)
    @forward(plain)
    def next_one(self: Tensor) -> Tensor:
        """``self + 1``"""

    x, out = opdsl.tensor([1.0, 2.0]), opdsl.empty(0)
    assert next_one(x, out=out) is out  # type: ignore[call-arg]
    assert next_one.variants["inplace"](x) is x
    assert (x.tolist(), out.tolist()) == ([2.0, 3.0], [2.0, 3.0])


def test_an_operator_that_writes_is_no_call_of_one_that_does_not(lib: Library) -> None:
    @lib.op
    def plain(self: Tensor) -> Tensor:
        return self + 1

    with pytest.raises(KernelSignatureError, match="has no inplace variant"):

        @lib.op
        @forward(plain)
        def plain_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...


def test_results_can_be_picked(lib: Library) -> None:
    @lib.op(out=True)
    @forward(opdsl.aminmax, result=1)
    def largest(self: Tensor) -> Tensor: ...

    @lib.op(out=Out(args=("high", "low")))
    @forward(opdsl.aminmax, result=(1, 0))
    def extrema(self: Tensor) -> tuple[Tensor, Tensor]: ...

    x, out = opdsl.tensor([3.0, 1.0]), opdsl.empty(0)
    for _ in range(2):
        assert largest(x).item() == 3.0
        assert [extremum.item() for extremum in extrema(x)] == [3.0, 1.0]
    assert largest(x, out=out) is out  # type: ignore[call-arg]
    assert out.item() == 3.0
    with pytest.raises(KernelSignatureError, match="has no result 2"):

        @lib.op
        @forward(opdsl.aminmax, result=2)
        def third(self: Tensor) -> Tensor: ...


def test_arguments_can_be_computed(lib: Library) -> None:
    @lib.op
    @forward(target(lib), factor=lambda self, doubled: 2 if doubled else self.shape[0])  # type: ignore[arg-type]
    def grown(self: Tensor, doubled: bool) -> Tensor: ...

    x = opdsl.tensor([1.0, 2.0, 3.0])
    assert [grown(x, True).tolist(), grown(x, False).tolist()] == [[2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]

    with pytest.raises(KernelSignatureError, match="has no argument 'other'"):

        @lib.op
        @forward(target(lib), factor=lambda other: 2)  # type: ignore[arg-type]
        def stray(self: Tensor) -> Tensor: ...


def test_a_call_can_be_the_kernel_of_a_key(lib: Library) -> None:
    @lib.op(kernel="CompositeExplicitAutograd")
    @forward(target(lib), factor=2)  # type: ignore[arg-type]
    def doubled(self: Tensor) -> Tensor: ...

    assert [str(registration) for registration in doubled.operator.registrations] == ["CompositeExplicitAutograd"]  # type: ignore[attr-defined]
    assert doubled(opdsl.ones(1)).tolist() == [2.0]


def test_what_is_no_declared_operator_is_refused(lib: Library) -> None:
    with pytest.raises(DeclarationError, match="is no declared operator"):
        forward(len)(lambda self: None)
    with pytest.raises(DeclarationError, match="has a body"):

        @lib.op
        @forward(target(lib), factor=2)  # type: ignore[arg-type]
        def doubled(self: Tensor) -> Tensor:
            return self


def test_arguments_that_count_for_nothing_are_named(lib: Library) -> None:
    @lib.op
    @forward(target(lib), factor=2, unused=["speed"])  # type: ignore[arg-type]
    def doubled(self: Tensor, speed: int = 0) -> Tensor: ...

    assert doubled(opdsl.ones(1), 5).tolist() == [2.0]
    with pytest.raises(KernelSignatureError, match="has no argument 'haste'"):

        @lib.op
        @forward(target(lib), factor=2, unused=["haste"])  # type: ignore[arg-type]
        def hasty(self: Tensor) -> Tensor: ...


def test_an_alias_can_rename_arguments_and_be_a_kernel(lib: Library) -> None:
    stretched = target(lib).alias(  # type: ignore[attr-defined]
        "stretched", names={"self": "input", "factor": "by"}, kernel="CompositeExplicitAutograd", inplace=False
    )
    assert str(stretched.schema) == "forwarding::stretched.by(Tensor input, Scalar by, Scalar offset=0) -> Tensor"
    assert [str(registration) for registration in stretched.operator.registrations] == ["CompositeExplicitAutograd"]
    x, out = opdsl.tensor([1.0, 2.0]), opdsl.empty(0)
    assert stretched(input=x, by=3, offset=1).tolist() == [4.0, 7.0]
    assert stretched(x, by=3, out=out) is out and out.tolist() == [3.0, 6.0]


# ------------------------------------------------------------------------------------------ gradients that are calls


def declare_spread(lib: Library) -> object:
    """Declare the square of a difference, and the operator ``2 * (x - y) * grad`` that computes its gradient."""

    @lib.op
    def square_backward(grad_output: Tensor, x: Tensor, y: Tensor, factor: float = 2.0) -> Tensor:
        return factor * (x - y) * grad_output

    @lib.op(kernel="CPU")
    def square(x: Tensor, y: Tensor) -> Tensor:
        return (x - y) * (x - y)

    return square, square_backward


def gradients(operator: object) -> list[list[float]]:
    x, y = opdsl.tensor([1.0, 2.0], requires_grad=True), opdsl.tensor([4.0, 0.0], requires_grad=True)
    result = opdsl.autograd.grad([operator(x, y).sum()], [x, y])  # type: ignore[operator]
    return [gradient.tolist() for gradient in result]


def test_an_operator_is_a_formula(lib: Library) -> None:
    square, backward = declare_spread(lib)  # type: ignore[misc]
    square.derivative(x=backward, y=forward(backward, factor=-2.0))
    assert gradients(square) == [[-6.0, 4.0], [6.0, -4.0]]


def test_a_formula_takes_arguments_in_another_order(lib: Library) -> None:
    square, backward = declare_spread(lib)  # type: ignore[misc]
    square.derivative(x=backward, y=forward(backward, "grad", "y", "x"))
    assert gradients(square) == [[-6.0, 4.0], [6.0, -4.0]]


def test_an_operator_of_several_results_is_a_formula_of_several_arguments(lib: Library) -> None:
    @lib.op
    def product_backward(grad: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return grad * y, grad * x

    @lib.op(kernel="CPU")
    def product(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    product.derivative("x", "y")(product_backward)
    assert gradients(product) == [[4.0, 0.0], [1.0, 2.0]]


def test_a_formula_is_given_results(lib: Library) -> None:
    @lib.op
    def root_backward(grad: Tensor, root: Tensor, y: Tensor) -> Tensor:
        return grad / (2 * root)

    @lib.op(kernel="CPU")
    def root_of(x: Tensor, y: Tensor) -> Tensor:
        return x.sqrt()

    root_of.derivative(x=forward(root_backward, root=lambda result: result), y=lambda grad: 0 * grad)
    assert gradients(root_of)[0] == pytest.approx([0.5, 0.35355338])


def test_an_argument_that_follows_from_nothing_is_refused(lib: Library) -> None:
    _, backward = declare_spread(lib)  # type: ignore[misc]

    @lib.op(kernel="CPU")
    def power(x: Tensor) -> Tensor:
        return x * x

    with pytest.raises(KernelSignatureError, match=r"there is no 'y' from which its 'y' follows. Supply it: forward\("):
        power.derivative(x=backward)
    assert power.operator.derivative is None


def test_a_partial_function_is_a_formula(lib: Library) -> None:
    square, _ = declare_spread(lib)  # type: ignore[misc]

    def slope(grad, x, y, factor):  # type: ignore[no-untyped-def]
        return factor * (x - y) * grad

    square.derivative(x=partial(slope, factor=2.0), y=partial(slope, factor=-2.0))
    assert gradients(square) == [[-6.0, 4.0], [6.0, -4.0]]
