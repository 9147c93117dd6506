"""Tests that compare PyTorch's derivatives.yaml with opdsl: how each operator is differentiated, and by which
arguments.

``python -m tests.torch.autograd.test_derivatives`` prints the table of kinds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torchgen

import opdsl
from opdsl import native
from opdsl.autograd.kernel import derivative_of
from opdsl.autograd.pointwise import PointwiseDerivative
from opdsl.autograd.saving import form_only
from opdsl.autograd.view_derivative import ViewDerivative
from opdsl.dispatch import Operator
from opdsl.errors import ArgumentError
from opdsl.formulas.derivative import FormulaDerivative
from opdsl.formulas.reading import likely_argument
from opdsl.native.derivatives import Derivative, FormulaKind
from opdsl.schema import Argument, SchemaKind
from opdsl.schema.implementation import differentiable_names, result_names
from tests.laws.differences import WITHOUT_DERIVATIVE

PACKAGED = Path(torchgen.__file__).parent / "packaged"
ENTRIES = native.load(PACKAGED / "ATen" / "native" / "native_functions.yaml")
DERIVATIVES = native.load_derivatives(PACKAGED / "autograd" / "derivatives.yaml", ENTRIES)

opdsl.add  # noqa: B018  loads the operators

# Arguments that are not compared: they are bools or integers, which cannot require grad.
POSITIONS = {"index", "indices", "mask", "condition"}

# Operators with other differentiable arguments than in PyTorch, with the reason; opdsl's arguments come first.
DIFFERENT = {
    "acosh_": ({"self"}, set(), "PyTorch has no formula for the in-place form; the derived one holds there too"),
    "asinh_": ({"self"}, set(), "as acosh_"),
    "atanh_": ({"self"}, set(), "as acosh_"),
    "_grouped_mm": ({"bias", "mat2", "offs", "self"}, {"mat2", "self"}, "composed of operators: a bias gets one, too"),
    "soft_margin_loss_backward": (
        {"grad_output", "self", "target"},
        {"grad_output", "self"},
        "composed of operators: the target gets one, too",
    ),
    "chunk": ({"self"}, set(), "PyTorch's formula is for nested tensors alone: chunk of others is composite"),
}


def ours(derivative: Derivative) -> Operator | None:
    """Return the operator of opdsl for an entry of derivatives.yaml, or None."""
    return opdsl.registry.operators.get(f"aten::{derivative.schema.name}")


def is_composite(operator: Operator) -> bool:
    """Return whether an operator is differentiated through the operators that it calls."""
    return not {"CompositeImplicitAutograd", "Autograd"}.isdisjoint(map(str, operator.registrations))


def gives_bools(operator: Operator) -> bool:
    """Return whether a pointwise operator returns bools, which have no gradients; in-place variants return numbers."""
    derivative = derivative_of(operator)
    if not isinstance(derivative, PointwiseDerivative) or operator.schema.kind is SchemaKind.inplace:
        return False
    formulas = derivative.definition.formulas
    return all(formula.configuration.promotion.boolean for formula in formulas)


def kind_of(operator: Operator | None) -> str:
    """Return how an operator is differentiated, for example "view" or "derived pointwise"."""
    if operator is None:
        return "not declared"
    derivative = derivative_of(operator)
    if derivative is None:
        return "composite" if is_composite(operator) else "non differentiable"
    if gives_bools(operator) or not differentiated(operator):
        return "non differentiable"
    pointwise = dict.fromkeys((PointwiseDerivative, FormulaDerivative), "derived pointwise")
    names = {**pointwise, ViewDerivative: "view"}
    return names.get(type(derivative), "declared formula")


def differentiated(operator: Operator) -> set[str]:
    """Return the arguments of an operator that get gradients in opdsl."""
    names = set(differentiable_names(operator.schema)) - POSITIONS
    derivative = derivative_of(operator)
    if derivative is None:
        return names if is_composite(operator) else set()
    if gives_bools(operator):
        return set()
    names -= derivative.non_differentiable
    return {name for name in names if derivative.formulas((name,), is_complex=False) is not None}


def expected(derivative: Derivative) -> set[str]:
    """Return the arguments that get gradients in PyTorch."""
    formulas = derivative.formulas.get("Default", ())
    refused = {name for formula in formulas if formula.kind is FormulaKind.not_implemented for name in formula.names}
    return set(derivative.differentiable) - refused - POSITIONS


def declared() -> Iterator[Derivative]:
    return (derivative for derivative in DERIVATIVES if ours(derivative) is not None)


@pytest.mark.parametrize("derivative", list(declared()), ids=lambda derivative: str(derivative.schema.name))
def test_the_same_arguments_have_gradients(derivative: Derivative) -> None:
    operator = ours(derivative)
    assert operator is not None
    actual, wanted = differentiated(operator), expected(derivative)
    name = str(derivative.schema.name)
    if name in DIFFERENT:
        assert (actual, wanted) == DIFFERENT[name][:2]
    else:
        assert actual == wanted


def test_arguments_that_law_5_lets_pass_have_no_derivative_in_pytorch_either() -> None:
    theirs = {f"aten::{derivative.schema.name}": expected(derivative) for derivative in DERIVATIVES}
    for name, arguments in WITHOUT_DERIVATIVE.items():
        assert theirs.get(name, set()).isdisjoint(arguments), name
        derivative = derivative_of(opdsl.registry.operators[name])
        for argument in arguments:
            assert derivative is None or derivative.formulas((argument,), is_complex=False) is None, (name, argument)


def test_every_entry_is_of_a_kind() -> None:
    kinds = Counter(kind_of(ours(derivative)) for derivative in DERIVATIVES)
    assert sum(kinds.values()) == len(DERIVATIVES)
    assert min(kinds["derived pointwise"], kinds["declared formula"]) >= 90 and kinds["view"] >= 20


def test_what_is_not_differentiable_is_not_in_pytorch() -> None:
    silent = [derivative for derivative in declared() if kind_of(ours(derivative)) == "non differentiable"]
    assert [str(derivative.schema.name) for derivative in silent if expected(derivative)] == []


def composites() -> Iterator[Operator]:
    """Yield the operators of opdsl that PyTorch differentiates through the operators that they call."""
    listed = {str(derivative.schema.name) for derivative in DERIVATIVES}
    for entry in ENTRIES:
        operator = opdsl.registry.operators.get(f"aten::{entry.schema.name}")
        functional = entry.schema.kind in (SchemaKind.functional, SchemaKind.inplace)
        through = functional and "CompositeImplicitAutograd" in entry.kernels
        if operator is not None and through and str(entry.schema.name) not in listed:
            yield operator


@pytest.mark.parametrize("operator", list(composites()), ids=lambda operator: operator.name.removeprefix("aten::"))
def test_composites_of_pytorch_have_gradients(operator: Operator) -> None:
    derivative = derivative_of(operator)
    silent = set() if derivative is None else derivative.non_differentiable
    names = set(differentiable_names(operator.schema)) - POSITIONS - silent
    assert differentiated(operator) == names or gives_bools(operator)


# Attributes that formulas of PyTorch read without saving a tensor's elements.
OF_FORMS = r"\s*\.\s*(sym_)?(sizes|options|scalar_type|dim|numel|layout|strides|is_complex|size)\b"

# Operators that save more tensors than PyTorch, with the reason.
KEEPING = {
    "native_layer_norm_backward": "one formula gives all, of which PyTorch's gives nothing for the bias",
    "as_strided_scatter": "where the result lies in its memory is no part of its geometry",
    "rrelu_with_noise_functional": "PyTorch's reads the noise that it was given, and not what it has drawn",
}


def kept(text: str, names: Iterable[str]) -> set[str]:
    """Return the tensors whose elements a formula of PyTorch reads."""
    return {name for name in names if re.search(rf"(?<![\w.:>]){name}(?!\w)(?!{OF_FORMS})", text)}


def likely(argument: Argument) -> Any:
    """Return a typical value of an argument, on which it can depend which tensors are saved."""
    try:
        return likely_argument(argument, opdsl.float32, 2)
    except ArgumentError:
        return None


@pytest.mark.parametrize("derivative", list(declared()), ids=lambda derivative: str(derivative.schema.name))
def test_no_more_is_kept_than_in_pytorch(derivative: Derivative) -> None:
    """opdsl saves no tensors that PyTorch does not save, since saved tensors must not be written before the backward
    pass.
    """
    operator = ours(derivative)
    assert operator is not None
    of_operator = derivative_of(operator)
    if of_operator is None or gives_bools(operator):
        return
    schema = operator.schema
    tensors = [argument.python_name for argument in schema.arguments if "Tensor" in str(argument.type)]
    # An argument that is written in place is copied if it has to be saved.
    tensors = [saved for saved in tensors if saved not in {one.python_name for one in schema.written_arguments}]
    tensors += result_names(schema)
    values = {argument.python_name: likely(argument) for argument in schema.arguments}
    more = {}
    for formula in derivative.formulas.get("Default", ()):
        for name in formula.names if formula.kind is FormulaKind.backward else ():
            formulas = of_operator.formulas((name,), is_complex=False) or ()
            reads = {
                read
                for backward in formulas
                for read in set(backward.reads) - backward.forms - backward.unread_for(values)
            }
            if not reads.intersection(tensors) <= kept(formula.text, tensors):
                more[name] = reads
    assert bool(more) == (str(schema.name) in KEEPING), more


def shape_of(gradient: opdsl.Tensor, shown: opdsl.Tensor) -> opdsl.Tensor:
    return gradient.reshape(shown.shape)


def formula(grad: opdsl.Tensor, self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor:
    return shape_of(grad, self) * other.sum()


def formula_of_lists(grad: opdsl.Tensor, shown: list[opdsl.Tensor], read: list[opdsl.Tensor]) -> list[opdsl.Tensor]:
    sizes = [tensor.shape[0] for tensor in shown]
    for one in shown:
        assert one.ndim > 0
    return [grad * other * size for other, size in zip(read, sizes, strict=True)]


def test_what_a_formula_reads_of_a_tensor_is_known_by_its_own_text() -> None:
    assert form_only(formula) == {"self"}
    assert form_only(formula_of_lists) == {"shown"}
    # The source file has changed since the function was loaded.
    moved = FunctionType(formula.__code__.replace(co_firstlineno=1), formula.__globals__, "formula")
    assert form_only(moved) == frozenset()


if __name__ == "__main__":
    for kind, count in Counter(kind_of(ours(derivative)) for derivative in DERIVATIVES).most_common():
        print(f"{count:5} {kind}")
    print(
        "not declared:",
        ", ".join(str(derivative.schema.name) for derivative in DERIVATIVES if ours(derivative) is None),
    )
