"""Tests of removed decorators: their errors show an equivalent formula, which computes the same."""

from __future__ import annotations

import cmath
import linecache
import math
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import opdsl
from opdsl import Alias, Generator, Ints, Library, Tensor, formula
from opdsl.errors import DeclarationError
from opdsl.scalar.intrinsics import row_mean

KINDS = {"folded_places": "indexed", "outside_of_one": "indexed", "complex_elements": "pointwise"}
WRITTEN = Library("written")
X = opdsl.tensor([[1.0, 2.0, 4.0], [0.5, 3.0, 1.0]])


def written(attach: Callable[[Library], Any]) -> tuple[str, Any]:
    """Return the message of a removed decorator, and the operator that its suggested code declares."""
    with Library("removed") as lib, pytest.raises(DeclarationError) as caught:
        attach(lib)
    message = str(caught.value)
    text = textwrap.dedent(message.split("as a formula:\n\n")[1].split("\n\ndocs/")[0])
    names = {"opdsl": opdsl, "lib": WRITTEN, "Tensor": Tensor, "Ints": Ints, "formula": formula, "Alias": Alias}
    file = f"<{attach.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return message, [member for name, member in names.items() if callable(member) and hasattr(member, "operator")][-1]


def pointwise(lib: Any) -> None:
    @lib.op
    def ramp(self: Tensor, slope: float = 1.0) -> Tensor:
        """Return ``slope * log(self)``, clamped to 0 and 1."""
        ...

    @ramp.pointwise(promote="int_to_float")
    def ramp_scalar(x: Any, slope: Any) -> Any:
        y = slope * math.log(x)
        return max(0.0, min(1.0, y))


def reduction(lib: Any) -> None:
    @lib.op
    def geometric_mean(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor: ...

    def lift(x: Any) -> Any:
        return math.log(abs(x))

    def finish(total: Any, count: Any) -> Any:
        return math.exp(total / count)

    @geometric_mean.reduction(init=0, lift=lift, finish=finish)
    def geometric_mean_combine(a: Any, b: Any) -> Any:
        return a + b


def scan(lib: Any) -> None:
    @lib.op
    def linear_recurrence(self: Tensor, other: Tensor, dim: int) -> Tensor: ...

    @linear_recurrence.scan(init=0.0)
    def step(h: Any, self: Any, other: Any) -> Any:
        return self * h + other


def row(lib: Any) -> None:
    @lib.op
    def centered(self: Tensor) -> Tensor: ...

    @centered.row(promote="floating")
    def centered_row(self: Any) -> Any:
        return self - row_mean(self)


def indexed(lib: Any) -> None:
    @lib.op
    def sides(self: Tensor) -> Tensor: ...

    @sides.indexed(at=("...", "i"), margin=0.0)
    def sides_at(self: Any, i: Any) -> Any:
        return self[..., i - 1] + self[..., i + 1] - 2 * self[..., i]


def outside_of_one(lib: Any) -> None:
    @lib.op
    def weighted_sides(self: Tensor, myself: Tensor) -> Tensor: ...

    @weighted_sides.indexed(at="i", margin={"self": 1.0})
    def weighted_sides_at(self: Any, myself: Any, i: Any) -> Any:
        return self[i - 1] + 0 * self[i] + myself[i]


def complex_elements(lib: Any) -> None:
    @lib.op
    def turned(self: Tensor) -> Tensor: ...

    @turned.pointwise
    def turned_scalar(z: Any) -> Any:
        return cmath.exp(z * 1j)


def folded_places(lib: Any) -> None:
    @lib.op
    def squares(self: Tensor, other: Tensor) -> Tensor: ...

    @squares.indexed(at=("i", "j"), over="k", fold="sum")
    def squares_at(self: Any, other: Any, i: Any, j: Any, k: Any) -> Any:
        return (self[i, k] - other[j, k]) ** 2


def random(lib: Any) -> None:
    @lib.op(functional=True)
    def waiting_(
        self: Tensor[Alias("a", write=True)], rate: float = 1, *, generator: Generator | None = None
    ) -> Tensor[Alias("a", write=True)]: ...

    @waiting_.random
    def waiting(u: Any, rate: Any) -> Any:
        return -math.log(u) / rate


@pytest.mark.parametrize(
    ("attach", "inputs", "wanted"),
    [
        (pointwise, (X, 2.0), [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]),
        (reduction, (X, 1), [2.0, 1.5 ** (1 / 3)]),
        (scan, (opdsl.tensor([0.5, 0.5, 2.0]), opdsl.ones(3), 0), [1.0, 1.5, 4.0]),
        (row, (opdsl.tensor([1.0, 3.0]),), [-1.0, 1.0]),
        (indexed, (opdsl.tensor([1.0, 2.0, 4.0]),), [0.0, 1.0, -6.0]),
        (outside_of_one, (opdsl.tensor([1.0, 2.0]), opdsl.tensor([10.0, 20.0])), [11.0, 21.0]),
        (complex_elements, (opdsl.tensor([math.pi + 0j]),), [-1.0 + 0j]),
        (folded_places, (X, opdsl.zeros(1, 3)), [[21.0], [10.25]]),
    ],
    ids=lambda parameter: getattr(parameter, "__name__", ""),
)
def test_the_formula_computes_what_the_decorator_did(attach: Any, inputs: Any, wanted: Any) -> None:
    message, operator = written(attach)
    assert (
        f"@{operator.operator.name.split('::')[1]}.{KINDS.get(attach.__name__, attach.__name__)} is no longer"
        in message
    )
    assert operator(*inputs).tolist() == [pytest.approx(entry) for entry in wanted]


def test_what_filled_a_tensor_is_a_function_of_its_form() -> None:
    _, waiting = written(random)
    numbers = waiting(opdsl.empty(1000), 4.0)
    assert 0.2 < float(numbers.mean()) < 0.3
    assert sorted(waiting.variants) == ["functional", "inplace"]


def test_a_declaration_stays_as_it_is() -> None:
    with Library("removed_stays") as lib:

        @lib.op
        def doubled(self: Tensor) -> Tensor: ...

        doubled_handle: Any = doubled
        with pytest.raises(DeclarationError, match=r"@doubled\.pointwise is no longer"):
            doubled_handle.pointwise(lambda x: 2 * x)
        doubled.formula(lambda self: 2 * self)
        assert doubled(X).tolist() == (X * 2).tolist()


def test_what_cannot_be_read_is_shown_as_far_as_it_can() -> None:
    with Library("removed_unread") as lib, pytest.raises(DeclarationError, match=r"return \.\.\.  # operator code"):

        @lib.op
        def doubled(self: Tensor) -> Tensor: ...

        handle: Any = doubled
        handle.pointwise(eval("lambda x: 2 * x"))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("reduction", {"init": 0, "lift": abs}),
        ("reduction", {"init": 0, "finish": 3}),
        ("indexed", {"at": None}),
        ("pointwise", {"when": 3}),
    ],
)
def test_options_that_cannot_be_read_are_no_other_error(name: str, options: dict[str, Any]) -> None:
    with Library("removed_options") as lib, pytest.raises(DeclarationError, match=r"return \.\.\.  # operator code"):

        @lib.op
        def joined(self: Tensor, dim: int) -> Tensor: ...

        getattr(joined, name)(**options)(lambda a, b: a + b)


@pytest.mark.parametrize("name", ["reduction", "scan"])
def test_an_operator_without_tensors_is_no_other_error(name: str) -> None:
    with Library("removed_tensors") as lib, pytest.raises(DeclarationError, match=r"return \.\.\.  # operator code"):

        @lib.op
        def joined(dim: int) -> Tensor: ...

        getattr(joined, name)(lambda a, b: a + b)
