"""``Library.table``: operators that are functions which are there, scalar functions, calls, or known answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from typing import Any

import pytest

import opdsl
from opdsl import Library, Out, Row, Tensor, forward
from opdsl.errors import DeclarationError, DuplicateOperatorError, ScalarFunctionError, SchemaError

X = opdsl.tensor([[1.0, 2.0, 3.0]])


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("rows") as made:
        yield made


def test_a_function_takes_the_arguments(library: Library) -> None:
    made = library.table({"extent(Tensor self, int dim=-1) -> int": Row("A size.", Tensor.size)})
    assert made["extent"](X) == 3 and opdsl.ops.rows.extent(X, dim=0) == 1


def test_keyword_only_arguments_are_handed_on_by_name(library: Library) -> None:
    def power(base: Any, *, exponent: int) -> Any:
        return base**exponent

    made = library.table({"power(Tensor self, *, int exponent=2) -> Tensor": Row("A power.", power)})
    assert made["power"](X).tolist() == [[1, 4, 9]] and made["power"](X, exponent=3).tolist() == [[1, 8, 27]]


def test_a_function_that_names_arguments_takes_these(library: Library) -> None:
    def power(exponent: int, self: Any) -> Any:
        return self**exponent

    made = library.table({"power(Tensor self, bool flag, *, int exponent=2) -> Tensor": Row("A power.", power)})
    assert made["power"](X, True).tolist() == [[1, 4, 9]] and made["power"](X, True, exponent=3).tolist() == [
        [1, 8, 27]
    ]


def test_a_partial_function_takes_what_it_still_names(library: Library) -> None:
    def power(exponent: int, self: Any) -> Any:
        return self**exponent

    made = library.table({"cube(Tensor self, bool exponent) -> Tensor": Row("A power.", partial(power, 3))})
    assert made["cube"](X, True).tolist() == [[1, 8, 27]]


def test_what_is_no_function_is_the_answer(library: Library) -> None:
    made = library.table({"is_quantum(Tensor self) -> bool": Row("Never.", False)})
    assert made["is_quantum"](X) is False


def test_a_row_documents_its_operator(library: Library) -> None:
    made = library.table({"rank(Tensor self) -> int": Row("How many dimensions.", attrgetter("ndim"))})
    assert made["rank"].__doc__ == "How many dimensions."


def test_options_of_a_row_come_before_those_of_the_table(library: Library) -> None:
    rows = {"a(Tensor self) -> bool": Row("", True, tags="core"), "b(Tensor self) -> bool": Row("", True)}
    made = library.table(rows, tags="pointwise")
    assert made["a"].tags == ("core",) and made["b"].tags == ("pointwise",)


def test_without_kernel_a_row_is_a_composite(library: Library) -> None:
    made = library.table({"twice(Tensor self) -> Tensor": Row("", lambda self: self + self)})
    x = opdsl.tensor([1.0], requires_grad=True)
    made["twice"](x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2]


def test_kernel_says_what_the_functions_are_kernels_of(library: Library) -> None:
    made = library.table({"f(Tensor self) -> int": Row("", Tensor.numel)}, kernel="CPU")
    assert [str(each) for each in made["f"].operator.registrations] == ["CPU"]  # type: ignore[attr-defined]


def test_overloads_are_named_in_full(library: Library) -> None:
    rows = {"f(Tensor self) -> int": Row("", 1), "f.other(Tensor self, int n) -> int": Row("", 2)}
    assert [*library.table(rows)] == ["f", "f.other"] and opdsl.ops.rows.f(X, 0) == 2


def test_pointwise_says_that_answers_are_scalar_functions(library: Library) -> None:
    rows = {"halved(Tensor self) -> Tensor": Row("Half of it.", lambda x: x / 2)}
    made = library.table(rows, pointwise={"promote": "int_to_float"}, out=True)
    assert made["halved"](opdsl.tensor([1, 3])).tolist() == [0.5, 1.5]
    assert "out" in made["halved"].variants


def test_a_lambda_of_a_table_has_the_name_of_its_operator(library: Library) -> None:
    with pytest.raises(ScalarFunctionError, match="scalar function printed: it cannot call print"):
        library.table({"printed(Tensor self) -> Tensor": Row("", lambda x: print(x))}, pointwise=True)


def test_lambdas_of_one_line_are_told_apart(library: Library) -> None:
    rows = {
        "up(Tensor self) -> Tensor": Row("", lambda x: x + 1),
        "down(Tensor self) -> Tensor": Row("", lambda x: x - 1),
    }
    made = library.table(rows, pointwise=True)
    assert made["up"](X).tolist() == [[2, 3, 4]] and made["down"](X).tolist() == [[0, 1, 2]]


def test_a_row_of_scalar_functions_has_a_derivative(library: Library) -> None:
    rows = {
        "doubled(Tensor self) -> Tensor": Row("", lambda x: x * 2, derivative={"self": lambda grad: grad * 7}),
        "constant(Tensor self) -> Tensor": Row("", lambda x: x * 2, non_differentiable="self"),
    }
    made, x = library.table(rows, pointwise=True), opdsl.tensor([1.0], requires_grad=True)
    made["doubled"](x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [7] and not made["constant"](x).requires_grad


def test_a_row_may_be_a_call_of_another_operator(library: Library) -> None:
    rows = {"least(Tensor self, int dim) -> Tensor": Row("", forward(opdsl.aminmax, result=0))}
    assert library.table(rows)["least"](X, 1).tolist() == [1]


def test_refuses_pointwise_that_says_nothing(library: Library) -> None:
    with pytest.raises(DeclarationError, match=r"pointwise='yes' of 'rows::f\(Tensor self\) -> Tensor' is not True"):
        library.table({"f(Tensor self) -> Tensor": Row("", lambda x: x)}, pointwise="yes")  # type: ignore[call-overload]


def test_refuses_formulas_without_names(library: Library) -> None:
    with pytest.raises(
        DeclarationError, match=r"derivative=5 of 'rows::f\(Tensor self\) -> Tensor' is not formulas by"
    ):
        library.table({"f(Tensor self) -> Tensor": Row("", lambda x: x)}, pointwise=True, derivative=5)


def test_refuses_a_view_that_is_no_function(library: Library) -> None:
    with pytest.raises(DeclarationError, match=r"answer=3 of 'rows::f\(Tensor\(a\) self\).*' is not a view kernel"):
        library.table({"f(Tensor(a) self) -> Tensor(a)": Row("", 3)}, view_kernel=True)


def test_all_or_nothing_is_declared(library: Library) -> None:
    rows = {"f(Tensor self) -> int": Row("", 1), "g(Tensor self) -> int": Row("", 1, variants="neither")}
    with pytest.raises(DeclarationError, match="variants"):
        library.table(rows)
    assert "rows::f" not in library.registry.packets


def test_refuses_what_is_no_row(library: Library) -> None:
    with pytest.raises(DeclarationError, match=r"False of 'f\(\) -> bool' is no row\. Write Row\(doc, answer\)"):
        library.table({"f() -> bool": False})  # type: ignore[dict-item]


def test_refuses_what_is_no_schema(library: Library) -> None:
    with pytest.raises(SchemaError):
        library.table({"rank": Row("", 1)})


def test_refuses_a_name_that_is_taken(library: Library) -> None:
    library.define("f() -> bool", lambda: True)
    with pytest.raises(DuplicateOperatorError, match="rows::f"):
        library.table({"f() -> bool": Row("", True)})


def test_a_row_without_an_answer_only_declares(library: Library) -> None:
    made = library.table({"f(Tensor self) -> int": Row("A number."), "g(Tensor self) -> int": Row("A number.")})
    for each in made.values():
        each.kernel(lambda self: self.ndim)
    assert made["f"](X) == made["g"](X) == 2


def test_view_kernel_says_what_a_view_shows(library: Library) -> None:
    rows = {"turned(Tensor(a) self, int dim0=0, int dim1=1) -> Tensor(a)": Row("", opdsl.runtime.views.transpose)}
    made, x = library.table(rows, view_kernel=True), opdsl.zeros(2, 3)
    made["turned"](x)[1] = 7
    assert x.tolist() == [[0, 7, 0], [0, 7, 0]]


def test_a_table_of_views_derives_what_turns_tensors(library: Library) -> None:
    rows = {"turned(Tensor(a) self, int dim0=0, int dim1=1) -> Tensor(a)": Row("", opdsl.runtime.views.transpose)}
    made = library.table(rows, view_kernel="CPU", inplace=True)
    x = opdsl.zeros(2, 3)
    made["turned"].variants["inplace"](x)
    assert x.shape == (3, 2)


def test_shape_functions_and_out_kernels_stand_in_a_row(library: Library) -> None:
    def first_meta(ctx: Any, self: Tensor) -> None:
        ctx.set_output(0, self.shape[1:], like=self)

    def first(self: Tensor, row: Tensor) -> None:
        row.copy_(self[0])

    how = Row("The first one.", meta=first_meta, out_kernel=first, out=Out(".row", args=("row",)))
    made = library.table({"first(Tensor self) -> Tensor": how})["first"]
    row_of = opdsl.ops.rows.first.row
    assert made(opdsl.tensor([[1, 2], [3, 4]])).tolist() == [1, 2]
    assert row_of(opdsl.tensor([[1, 2], [3, 4]]), row=opdsl.empty(2, dtype=opdsl.int64)).tolist() == [1, 2]


def test_a_row_without_an_answer_declares_beside_scalar_functions(library: Library) -> None:
    twice, thrice = library.table(
        {
            "twice(Tensor self) -> Tensor": Row("Twice as much.", lambda x: 2 * x),
            "thrice(Tensor self) -> Tensor": Row("Three times as much."),
        },
        pointwise=True,
    ).values()
    thrice.pointwise(dtypes="floating")(lambda x: 3 * x)
    assert twice(opdsl.tensor([1])).tolist() == [2] and thrice(opdsl.tensor([1.0])).tolist() == [3.0]


def test_a_function_stands_beneath_its_row(library: Library) -> None:
    @library.entry("shifted(Tensor self, float by=2.0, bool flag=True) -> Tensor", kernel=True, tags="core")
    def shifted(self: Tensor, by: float) -> Tensor:
        """More."""
        return self + by

    shifted.derivative(self=lambda grad: grad)
    assert shifted(X).tolist() == [[3.0, 4.0, 5.0]] and shifted.__doc__ == "More." and "core" in shifted.tags
    assert str(shifted.schema) == "rows::shifted(Tensor self, float by=2.0, bool flag=True) -> Tensor"
    with pytest.raises(DuplicateOperatorError):
        library.entry("shifted(Tensor self) -> Tensor")(lambda self: self)
    with pytest.raises(DeclarationError, match="function"):
        library.entry("negated(Tensor self) -> Tensor")(abs)
