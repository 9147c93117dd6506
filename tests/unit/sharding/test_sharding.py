"""Tests of sharding rules: the splits of calls that definitions permit, and that shards compute the same as the
whole.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any, cast

import pytest
from click.testing import CliRunner

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.cli import main
from opdsl.dispatch.binding.boxed import unbox
from opdsl.errors import DeclarationError, OpdslError
from opdsl.sharding.composites import ByItsCalls
from opdsl.sharding.operators import rule_of
from opdsl.sharding.rules import AnyDimension, possible_cuts
from opdsl.testing import samples_of, violations_of
from opdsl.testing.samples import fitting

OF_PIECES = 12


@pytest.fixture
def lib() -> Any:
    with Library("cutting") as own:
        yield own


def cuts(function: Any, *inputs: Any, **named: Any) -> list[str]:
    operator = function.operator
    return [str(possible_cut) for possible_cut in possible_cuts(rule_of(operator), unbox(operator, inputs, named))]


X = opdsl.ones(3, 4)
aten = opdsl.ops.aten
CPU = opdsl.DispatchKey("CPU")
# Sides of two operands of which one is a partial result, by each reduction.
SIDES = [[f"{name}, None" for name in ("sum", "avg")], [f"None, {name}" for name in ("sum", "avg")]]
ONE_SIDE = [(0, "max, None"), (0, "min, None"), (1, "None, max"), (1, "None, min")]


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (aten.add.Tensor, (X, opdsl.ones(4)), ["(0, whole) -> (0)", "(1, 0) -> (1)"]),
        (aten.add.Tensor, (opdsl.ones(3, 1), opdsl.ones(1, 4)), ["(0, whole) -> (0)", "(whole, 1) -> (1)"]),
        (aten.sum.dim_IntList, (X, [1]), ["(0) -> (0)", "(1) -> (whole), combined"]),
        (aten.sum.dim_IntList, (X, [0], True), ["(1) -> (1)", "(0) -> (whole), combined"]),
        # Indices of elements are right only along the first folded dimension, whose shards keep the order.
        (aten.argmax.default, (X,), ["(0) -> (whole), combined"]),
        (aten.cummax.default, (X, 0), ["(0) -> (0, 0), carried on", "(1) -> (1, 1)"]),
        (aten._softmax.default, (X, 1, False), ["(0) -> (0)"]),
        (aten.softmax.int, (X, 0), ["(1) -> (1)"]),
        (aten.layer_norm.default, (X, [4]), ["(0) -> (0)"]),
        (aten.transpose.int, (X, 0, 1), ["(0) -> (1)", "(1) -> (0)"]),
        (aten.view.default, (X, [3, 2, 2]), ["(0) -> (0)"]),
        (aten.select.int, (X, 1, 2), ["(0) -> (0)"]),
        (aten.diagonal.default, (X,), []),
        (aten.mm.default, (X, X.t()), ["(0, whole) -> (0)", "(1, 0) -> (whole), summed", "(whole, 1) -> (1)"]),
        (aten.linear.default, (X, opdsl.ones(5, 4)), ["(0, whole) -> (0)", "(whole, 0) -> (1)"]),
        (aten.cosine_similarity.default, (X, X), ["(0, 0) -> (0)"]),
        (aten.add_.Tensor, (X, X), []),
    ],
    ids=lambda parameter: getattr(parameter, "__name__", ""),
)
def test_what_may_be_cut(function: Any, inputs: Any, expected: list[str]) -> None:
    assert cuts(function, *inputs) == expected


def test_what_is_declared_to_depend_on_one_dimension() -> None:
    assert cuts(aten.sort.stable, X, stable=True) == ["(0) -> (0, 0)"]
    assert cuts(aten.cat.default, [X, X], 1) == ["(0, 0) -> (0)"]


KINDS = {"Folding", "Carrying", "AllButRows", "Moved", "Labelled", "AllBut", "Sliding"}
DERIVED = [
    operator
    for operator in opdsl.registry
    if operator.name.startswith("aten::")
    and type(rule_of(operator)).__name__ in KINDS
    and operator.schema.kind.value == "functional"
]


def test_pieces_give_what_the_whole_gives() -> None:
    """Every reduction, scan, row, view and product computes the same on shards; tests/laws checks all other
    operators.
    """
    assert len(DERIVED) > 50
    violations = [str(violation) for operator in DERIVED for violation in violations_of(operator, laws=[OF_PIECES])]
    assert violations == []


PRODUCTS = (
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "addmv",
    "mv",
    "dot",
    "vdot",
    "outer",
    "linear",
    "matmul",
    "addr",
    "addbmm",
)


def test_most_operators_that_can_be_cut_are() -> None:
    """At least four fifths of the operators of each kind can be split along some dimension of a sample."""
    count: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    for operator in opdsl.registry:
        if operator.name.startswith("aten::") and operator.schema.kind.value == "functional":
            kernel = operator.entry(CPU).kernel
            kind = "product" if operator.schema.name.base in PRODUCTS else getattr(kernel, "kind", "")
            if kind in ("pointwise", "reduction", "row", "scan", "view", "product"):
                with contextlib.suppress(OpdslError):  # no samples in float32
                    samples = fitting(samples_of(operator), operator.function, wanted=2)
                    count[kind] += 1
                    cut[kind] += any(
                        possible_cuts(rule_of(operator), unbox(operator, sample.positional, sample.named))
                        for sample in samples
                    )
    assert len(count) == 6 and all(cut[kind] >= 0.8 * count[kind] for kind in count), (cut, count)


# ------------------------------------------------------------------------------------------------ operators of a user


def welford(lib: Library) -> Any:
    def one(x: Any) -> Any:
        return x, 0.0, 1.0

    def finish(mean: Any, squares: Any, count: Any, n: Any) -> Any:
        return mean, squares / count

    def merge(mean: Any, squares: Any, count: Any, mean2: Any, squares2: Any, count2: Any) -> Any:
        total = count + count2
        share = count2 / total if total > 0.0 else total
        apart = mean2 - mean
        return mean + apart * share, squares + squares2 + apart * apart * count * share, total

    moments = primitives.fold(
        merge,
        init=(0.0, 0.0, 0.0),
        lift=one,
        finish=finish,
        accumulators=("value",) * 3,
        results=("value",) * 2,
        promote="floating",
    )

    @lib.op
    @formula
    def spread(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """Return mean and variance."""
        return cast("tuple[Tensor, Tensor]", moments(self, dim, keepdim))

    return spread


def test_a_users_reduction_is_combined_as_declared(lib: Library) -> None:
    spread = welford(lib)
    assert cuts(spread, X, [0]) == ["(1) -> (0, 0)", "(0) -> (whole, whole), combined"]
    assert violations_of(spread, laws=[OF_PIECES], dtypes=[opdsl.float32, opdsl.float64]) == []


def test_an_index_that_is_computed_with_is_not_cut(lib: Library) -> None:
    totals = primitives.fold(lambda a, b: a + b, init=0.0, lift=lambda x, index: x * index, promote="floating")

    @lib.op
    @formula
    def weighted(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
        return totals(self, dim, keepdim)

    assert cuts(weighted, X, [0]) == ["(1) -> (0)"]


def test_a_body_whose_numbers_depend_on_the_size_is_not_cut_there(lib: Library) -> None:
    @lib.op
    def mean_by_hand(self: Tensor) -> Tensor:
        return self / self.shape[0]

    assert isinstance(rule_of(mean_by_hand.operator), ByItsCalls)
    assert cuts(mean_by_hand, X) == ["(1) -> (1)"]


def test_a_body_that_takes_away_dimensions_of_one_element(lib: Library) -> None:
    @lib.op
    def squeezed(self: Tensor) -> Tensor:
        return self.squeeze().clone()

    @lib.op
    def over_mean(self: Tensor) -> Tensor:
        return self - self.mean([1], True)

    assert cuts(squeezed, X) == []
    assert cuts(over_mean, X) == ["(0) -> (0)"]


def test_the_law_finds_a_rule_that_is_wrong(lib: Library) -> None:
    @lib.op
    def from_the_first(self: Tensor) -> Tensor:
        return self - self[:1]

    assert cuts(from_the_first, X) == ["(1) -> (1)"]
    from_the_first.operator.sharding_rule = AnyDimension(1)
    samples = [opdsl.testing.Sample(opdsl.arange(12.0).reshape(6, 2))]
    assert [violation.law for violation in violations_of(from_the_first, samples, laws=[OF_PIECES])] == [OF_PIECES]


def test_rules_that_are_declared(lib: Library) -> None:
    @lib.op
    def outer(self: Tensor, other: Tensor) -> Tensor: ...

    @outer.kernel("CPU")
    def outer_cpu(self: Tensor, other: Tensor) -> Tensor:
        return opdsl.from_numpy(self.numpy()[:, None] * other.numpy())

    assert str(outer.sharding()).startswith(("not cut", "composite"))
    outer.sharding("i,j->ij")
    assert cuts(outer, opdsl.ones(3), opdsl.ones(4)) == ["(0, whole) -> (0)", "(whole, 0) -> (1)"]
    assert violations_of(outer, [opdsl.testing.Sample(opdsl.arange(3.0), opdsl.arange(4.0))], laws=[OF_PIECES]) == []
    for labels in ("i->i", "i,j", "i,j->ik", "ii,j->j"):
        with pytest.raises(DeclarationError, match="does not fit"):
            outer.sharding(labels)
    with pytest.raises(DeclarationError, match="no argument has this name"):
        outer.sharding(along="axis")


def test_show_prints_the_rule() -> None:
    shown = CliRunner().invoke(main, ["show", "sum.dim_IntList"]).output
    assert "sharding" in shown and "along reduced ones combined (plus)" in " ".join(shown.split())


# ------------------------------------------------------------------------------------------- partial results


def pending(function: Any, *inputs: Any) -> set[str]:
    operator = function.operator
    result = rule_of(operator).pending(unbox(operator, inputs, {}))
    return {f"{', '.join(map(str, passage.inputs))} -> {', '.join(map(str, passage.outputs))}" for passage in result}


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (aten.neg.default, (X,), {"sum -> sum", "avg -> avg", "max -> min", "min -> max"}),
        (aten.exp.default, (X,), {"max -> max", "min -> min"}),
        (aten.sigmoid.default, (X,), {"max -> max", "min -> min"}),
        (aten.relu.default, (X,), {"max -> max", "min -> min"}),
        (aten.abs.default, (X,), set()),
        (aten.rsub.Scalar, (X, 2.0), {"avg -> avg", "max -> min", "min -> max"}),
        (aten.mul.Tensor, (X, X), {f"{a} -> {a.split(', ')[at]}" for at in (0, 1) for a in SIDES[at]}),
        (aten.maximum.default, (X, X), {"max, max -> max", *(f"{a} -> {a.split(', ')[at]}" for at, a in ONE_SIDE)}),
        (aten.sum.dim_IntList, (X, [0]), {"sum -> sum", "avg -> avg"}),
        (aten.amax.default, (X, [0]), {"max -> max"}),
        (aten.var.correction, (X, [0]), set()),
        (aten._softmax.default, (X, 0, False), set()),
        (aten.mm.default, (X, X.t()), {f"{a} -> {a.split(', ')[at]}" for at in (0, 1) for a in SIDES[at]}),
    ],
    ids=lambda parameter: getattr(parameter, "__name__", ""),
)
def test_what_goes_through_uncombined(function: Any, inputs: Any, expected: set[str]) -> None:
    assert pending(function, *inputs) == expected


def test_the_law_finds_what_does_not_go_through(lib: Library) -> None:
    @lib.op
    @formula
    def squared(self: Tensor) -> Tensor:
        return self * self

    samples = [opdsl.testing.Sample(opdsl.arange(6.0) + 1.0)]
    assert violations_of(squared, samples, laws=[OF_PIECES]) == []
    squared.operator.sharding_rule = AnyDimension(1, opdsl.ops.aten.neg.default.operator.entry(CPU).kernel.definition)
    assert {violation.law for violation in violations_of(squared, samples, laws=[OF_PIECES])} == {OF_PIECES}
