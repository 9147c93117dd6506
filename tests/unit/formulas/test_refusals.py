"""Tests of unsupported code in formulas: it is refused at declaration, with the text underlined."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.errors import DeclarationError, FormulaError, UnknownOperatorError


def host_function(self: Tensor) -> Tensor:
    return math.exp(self)


def looks(self: Tensor) -> Tensor:
    return self * self.item()


def looks_in_a_branch(self: Tensor) -> Tensor:
    if self > 0:
        self = self.item() * self
    return self


def writes(self: Tensor) -> Tensor:
    return self.exp_()


def unbound(self: Tensor) -> Tensor:
    if self > 0:
        y = self
    return y


def one_path(self: Tensor) -> Tensor:
    if self > 0:
        return self
    return None


def goes_through(self: Tensor) -> Tensor:
    total = 0
    for element in self:
        total = total + element
    return total


def returns_within(self: Tensor) -> Tensor:
    for k in range(3):
        if self > k:
            return self
    return self * 2


def unknown_name(self: Tensor) -> Tensor:
    return self * nowhere  # noqa: F821


def recursive(self: Tensor) -> Tensor:
    return recursive(self) + 1


def keeps(self: Tensor) -> Tensor:
    global kept
    return self


def a_number(self: Tensor) -> Tensor:
    return 3.0


def converts(self: Tensor) -> Tensor:
    return float(self) * self


def of_arrays(self: Tensor) -> Tensor:
    return np.exp(self)


def of_an_absent_function(self: Tensor) -> Tensor:
    return np.unwrap(self)


def too_many(self: Tensor) -> tuple[Tensor, Tensor]:
    return self, self + 1, self + 2


def too_few(self: Tensor) -> tuple[Tensor, Tensor]:
    return self * 2


def a_pair_on_one_path(self: Tensor) -> tuple[Tensor, Tensor]:
    if self > 0:
        return self, self
    return self


CASES = {
    host_function: ("math.exp(self)", "Write opdsl.exp(x)"),
    looks: ("self.item()", "elements are read"),
    looks_in_a_branch: ("self.item()", "elements are read"),
    writes: ("self.exp_()", "writes to its argument"),
    unbound: ("unbound", "which is not assigned on every path"),
    one_path: ("self > 0", "nothing on the other"),
    goes_through: ("self", "a loop iterates over a tensor"),
    returns_within: ("self > k", "Return after the loop"),
    unknown_name: ("nowhere", "'nowhere' is not defined"),
    recursive: ("recursive(self)", "it calls itself"),
    keeps: ("global kept", "a formula keeps nothing"),
    a_number: ("a_number", "returns 3.0, not a tensor"),
    converts: ("float(self)", "x.to(opdsl.float32)"),
    of_arrays: ("np.exp(self)", "Write opdsl.exp(x)"),
    of_an_absent_function: ("np.unwrap(self)", "Write it with operators of opdsl"),
    too_many: ("too_many", "it returns 3 tensors, and 2 are declared"),
    too_few: ("too_few", "it returns 1 tensor, and 2 are declared"),
    a_pair_on_one_path: ("self > 0", "is a tuple of 2 on one path and a tensor on the other"),
}


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_refusals_underline_the_text_and_name_a_remedy(function):
    underlined, text = CASES[function]
    with Library("formula_refusals") as lib, pytest.raises(FormulaError) as raised:
        lib.op(formula(function))
    first, shown, marked, *remedy = str(raised.value).split("\n")
    assert f"formula {function.__name__}: " in first
    assert text in str(raised.value)
    assert remedy
    begin = marked.index(marked.strip())
    assert shown[begin : begin + len(marked.strip())].startswith(underlined.split("(")[0][:3]) or underlined in shown


def test_a_formula_whose_text_is_not_at_hand_is_refused_where_it_is_declared():
    names: dict[str, Any] = {"Tensor": Tensor}
    exec("def unwritten(self: Tensor) -> Tensor:\n    return self * 2", names)
    refused = pytest.raises(FormulaError, match="formula unwritten: its source text cannot be read")
    with Library("formula_unwritten") as lib, refused:
        lib.op(formula(names["unwritten"]))


def test_a_refused_declaration_leaves_nothing_behind():
    with Library("formula_left") as lib:
        with pytest.raises(FormulaError):
            lib.op(formula(looks))
        with pytest.raises(UnknownOperatorError):
            opdsl.registry.operator("formula_left::looks")


def test_only_functions_are_formulas():
    with pytest.raises(DeclarationError, match="decorates a function"):
        formula(3)  # type: ignore[type-var]


def test_a_formula_above_its_declaration_is_refused():
    with Library("formula_above") as lib, pytest.raises(DeclarationError, match="Write @op, and @formula below it"):

        @formula
        @lib.op
        def doubled(self: Tensor) -> Tensor:
            return self * 2


def test_a_kernel_option_is_of_a_body():
    with Library("formula_options") as lib, pytest.raises(DeclarationError, match="kernel= makes a body a kernel"):

        @lib.op(kernel=True)
        @formula
        def doubled(self: Tensor) -> Tensor:
            return self * 2


def test_what_no_tensor_has_is_refused():
    def misspelt(self: Tensor) -> Tensor:
        return self.sqare()

    with Library("formula_misspelt") as lib, pytest.raises(FormulaError, match=r"(?s)sqare.*~\^"):
        lib.op(formula(misspelt))


def test_shapes_that_a_formula_is_not_for_are_no_mistake():
    with Library("formula_ranks") as lib:

        @lib.op
        @formula
        def images(self: Tensor) -> Tensor:
            return self * self.shape[3]

        assert images(opdsl.ones(1, 1, 1, 2)).tolist() == [[[[2.0, 2.0]]]]
