"""What an entry says is done, held against torchgen's reading of all entries, and against a running PyTorch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
import torchgen
from torchgen.api import python
from torchgen.gen import parse_native_yaml

import opdsl
from opdsl import Device, DType, Layout, Library, Tensor
from opdsl.dispatch.backend_select import needs_backend_select, takes_requires_grad

NATIVE = Path(torchgen.__file__).parent / "packaged/ATen/native"


@cache
def entries():
    return parse_native_yaml(str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml")).native_functions


# Registered at BackendSelect by hand, in ATen/core/BackendSelectFallbackKernel.cpp and its neighbours.
BY_HAND = {"aten::is_pinned", "aten::_pin_memory"}


def test_factories_select_their_backend_where_pytorch_does() -> None:
    wrong = []
    for entry in entries():
        name = f"aten::{entry.func.name}"
        theirs = torch._C._dispatch_has_kernel_for_dispatch_key(name, "BackendSelect")
        if needs_backend_select(opdsl.parse_schema(str(entry.func))) != theirs and name not in BY_HAND:
            wrong.append(name)
    assert wrong == []


def test_functions_take_requires_grad_where_pytorch_lets_them() -> None:
    wrong = []
    for entry in entries():
        if entry.func.arguments.tensor_options is None:
            continue
        options = python.signature(entry).tensor_options_args
        theirs = any(each.name == "requires_grad" for each in options)
        if takes_requires_grad(opdsl.parse_schema(str(entry.func)), entry.category_override) != theirs:
            wrong.append(str(entry.func.name))
    assert wrong == []


@pytest.mark.parametrize("name", ["empty.memory_format", "zeros", "ones", "full"])
def test_the_row_of_a_factory_is_pytorchs(name: str) -> None:
    row = f"BackendSelect: {opdsl.registry.operator(name).entry(opdsl.DispatchKey.BackendSelect).reason.value}"
    theirs = torch._C._dispatch_dump_table(f"aten::{name}")
    assert row == "BackendSelect: kernel" and "[kernel]" in theirs.partition("BackendSelect")[2].partition("\n")[0]


# ------------------------------------------------------------------------------------------------- category_override


@pytest.mark.parametrize(("category", "takes"), [(None, False), ("factory", True), ("like", True), ("dummy", False)])
def test_a_category_makes_a_factory_of_an_operator_that_takes_tensors(category: str | None, takes: bool) -> None:
    with Library("testcategory") as library:

        @library.op(category_override=category)
        def made(
            start: Tensor,
            *,
            dtype: DType | None = None,
            layout: Layout | None = None,
            device: Device | None = None,
            pin_memory: bool | None = None,
        ) -> Tensor:
            return start.clone()

        if takes:
            assert made(opdsl.ones((2,)), requires_grad=False).shape == (2,)
        else:
            with pytest.raises(TypeError, match="requires_grad"):
                made(opdsl.ones((2,)), requires_grad=False)
