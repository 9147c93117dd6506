"""Tests that the dtypes that operators reject (``tests/laws/refused.txt``) match the dtypes that PyTorch's ``op_db``
lists.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import pytest
import torch

import opdsl
from opdsl.dispatch import Operator
from opdsl.runtime import DType
from opdsl.testing import Sample
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject
from tests.laws.refusals import REVIEWED, known, operators
from tests.torch.op_db import common, our_name

# Dtypes that opdsl rejects and op_db lists: the name, the dtypes and the reason.
REFUSED = {
    **dict.fromkeys(
        ("softmax", "log_softmax"),
        (
            {"bool", "uint8", "int8", "int16", "int32", "int64", "complex64", "complex128"},
            "PyTorch refuses them, too, unless a floating-point dtype= is given, which op_db gives",
        ),
    ),
    "complex": ({"float16"}, "opdsl has no complex32"),
    "matrix_exp": ({"float16", "bfloat16"}, "PyTorch's are far off: of the identity it gives -20896 in float16"),
}

# Dtypes that opdsl accepts and PyTorch rejects.
TAKEN = {
    "mvlgamma": ({"bool"}, "a bool is promoted to float32, as it is by lgamma"),
    **dict.fromkeys(("cdist", "pdist", "linalg_vander"), ({"float16", "bfloat16"}, "computed in float32")),
    "_upsample_bilinear2d_aa": ({"float16", "bfloat16"}, "taken by PyTorch's CUDA kernels"),
    **dict.fromkeys(
        ("hinge_embedding_loss", "soft_margin_loss"),
        ({"uint8", "int8", "int16", "int32", "int64"}, "integers are promoted to float32"),
    ),
}


def departures() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return by name the dtypes that opdsl rejects and PyTorch lists, and those that opdsl accepts and PyTorch does not
    list.
    """
    listed: dict[str, set[str]] = defaultdict(set)
    for info in common.op_db:
        listed[our_name(info)] |= {str(dtype).removeprefix("torch.") for dtype in info.dtypes}
    refused, names = known(), defaultdict(list)
    for operator in operators():
        names[operator.schema.name.base].append(operator.name)
    here, there = {}, {}
    for name in names.keys() & listed.keys():
        taken = {dtype.name for dtype in REVIEWED if not {(full, str(dtype)) for full in names[name]} <= refused}
        here[name] = (listed[name] & {dtype.name for dtype in REVIEWED}) - taken
        there[name] = taken - listed[name]
    return {name: value for name, value in here.items() if value}, {
        name: value for name, value in there.items() if value
    }


HERE, THERE = departures()


def test_rejected_dtypes_that_pytorch_lists_have_a_reason() -> None:
    assert {name: dtypes for name, (dtypes, _) in REFUSED.items()} == HERE


def theirs(value: Any) -> Any:
    """Return a copy of an argument for PyTorch."""
    if isinstance(value, opdsl.Tensor):
        twin = torch.empty(value.shape, dtype=getattr(torch, value.dtype.name))
        return twin.copy_(torch.from_dlpack(value.detach())) if value.numel() else twin
    if isinstance(value, DType):
        return getattr(torch, value.name)
    return [theirs(element) for element in value] if isinstance(value, (list, tuple)) else value


def is_taken(operator: Operator, sample: Sample) -> bool:
    """Return whether PyTorch accepts a sample of opdsl."""
    packet = getattr(torch.ops.aten, operator.schema.name.base)
    function = getattr(packet, operator.schema.name.overload or "default")
    try:
        function(*map(theirs, sample.positional), **{name: theirs(value) for name, value in sample.named.items()})
    except (RuntimeError, TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("name", sorted(THERE))
def test_accepted_dtypes_that_pytorch_does_not_list_work_in_pytorch(name: str) -> None:
    refused, result = known(), set()
    for dtype in sorted(THERE[name]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            taken = any(
                is_taken(operator, sample)
                for operator in operators()
                if operator.name.partition(".")[0] == f"aten::{name}"
                and (operator.name, f"opdsl.{dtype}") not in refused
                for sample in fitting(
                    samples_of(operator, getattr(opdsl, dtype)), Subject(operator, []).function, wanted=2
                )
            )
        if not taken:
            result.add(dtype)
    assert result == TAKEN.get(name, (set(), ""))[0]


def test_every_listed_departure_exists() -> None:
    assert TAKEN.keys() <= THERE.keys()
