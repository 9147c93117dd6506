"""Tests that the return annotation of a kernel agrees with its operator's schema."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import pytest

from opdsl import CPUTensor, Tensor, parse_schema
from opdsl.declare.annotated import result_fault


class Pair(NamedTuple):
    values: Tensor
    places: Tensor


CASES = [
    (Tensor, "Tensor", True),
    (CPUTensor, "Tensor", True),
    (object, "Tensor", True),
    (Any, "()", True),
    (Any, "(Tensor, Tensor)", True),
    (Tensor | None, "Tensor", True),
    (float, "Tensor", False),
    (None, "Tensor", False),
    (None, "()", True),
    (type(None), "()", True),
    (Tensor, "()", False),
    (float, "float", True),
    (CPUTensor, "float", False),
    (list[Tensor], "Tensor[]", True),
    (list[float], "Tensor[]", False),
    (list, "Tensor[]", True),
    (float, "Tensor[]", False),
    (TypeVar("T"), "Tensor[]", True),  # not judged
    (tuple[Tensor, Tensor], "(Tensor, Tensor)", True),
    (tuple[CPUTensor, ...], "(Tensor, Tensor)", True),
    (tuple[float, ...], "(Tensor, Tensor)", False),
    (tuple[Tensor], "(Tensor, Tensor)", False),
    (tuple[Tensor, float], "(Tensor, Tensor)", False),
    (Pair, "(Tensor, Tensor)", True),
    (tuple, "(Tensor, Tensor)", True),
    (Tensor, "(Tensor, Tensor)", False),
    (tuple[Tensor, Tensor] | None, "(Tensor, Tensor)", True),
]


@pytest.mark.parametrize(("annotation", "returns", "fits"), CASES, ids=str)
def test_what_a_kernel_may_say_that_it_returns(annotation: Any, returns: str, fits: bool) -> None:
    schema = parse_schema(f"f(Tensor self) -> {returns}")
    fault = result_fault({"return": annotation}, schema.returns)
    assert (fault == "") is fits
    assert fits or fault.startswith("it returns ")


def test_what_writes_may_return_nothing() -> None:
    schema = parse_schema("f_(Tensor(a!) self) -> Tensor(a!)")
    assert result_fault({"return": None}, schema.returns, writes=True) == ""
    assert (
        result_fault({"return": float}, schema.returns, writes=True)
        == "it returns float, but the schema returns Tensor"
    )
    assert result_fault({}, schema.returns) == ""
