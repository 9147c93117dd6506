"""Tests that entries of native_functions.yaml are read as by torchgen, and match a running PyTorch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
import torchgen
from torchgen.api import python
from torchgen.gen import parse_native_yaml
from torchgen.model import Variant
from torchgen.packaged.autograd.gen_python_functions import SKIP_PYTHON_BINDINGS

import opdsl
from opdsl import Device, DType, Layout, Library, Tensor
from opdsl.dispatch.binding.factories import needs_backend_select, takes_requires_grad
from opdsl.dispatch.model.bindings import PYTHON_MODULES, is_bound

NATIVE = Path(torchgen.__file__).parent / "packaged/ATen/native"


@cache
def entries():
    return parse_native_yaml(str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml")).native_functions


# Operators registered at BackendSelect by hand, in ATen/core/BackendSelectFallbackKernel.cpp and nearby files.
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
        theirs = any(option.name == "requires_grad" for option in options)
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


# ---------------------------------------------------------------------------------------------------- python_module

# Functions that gen_python_functions.py omits and PyTorch binds by hand.
FUNCTIONS_BY_HAND = {
    "nonzero", "range", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor",
    "sparse_csc_tensor", "sparse_csr_tensor",
}  # fmt: skip


def test_python_binds_the_functions_that_pytorch_binds() -> None:
    names = {str(entry.func.name.name) for entry in entries()}
    skipped = {name for name in names if any(pattern.match(name) for pattern in SKIP_PYTHON_BINDINGS)}
    assert {name for name in names if not is_bound(name)} == skipped - FUNCTIONS_BY_HAND


def test_tensor_has_the_methods_that_pytorchs_has() -> None:
    entry_is_method = (entry for entry in entries() if Variant.method in entry.variants)
    # torch.Tensor.index is another function; `to` accepts arguments of no overload, and is written by hand in opdsl,
    # too.
    names = {str(entry.func.name.name) for entry in entry_is_method} - {"index", "to"}
    assert {name for name in names if is_bound(name, as_method=True)} == {
        name for name in names if hasattr(torch.Tensor, name)
    }


def packets() -> list[str]:
    return sorted(
        {
            operator.packet_name.removeprefix("aten::")
            for operator in opdsl.registry
            if operator.name.startswith("aten::")
        }
    )


def test_the_package_has_the_functions_that_torch_has() -> None:
    names = [packet for packet in packets() if hasattr(opdsl, packet) != callable(getattr(torch, packet, None))]
    assert names == ["dim"]  # opdsl.dim creates a named dimension; torch.random is a module


def test_tensor_has_the_methods_that_torchs_has() -> None:
    names = [
        packet for packet in packets() if any("method" in str(one.properties["variants"]) for one in overloads(packet))
    ]
    names.remove("index")  # torch.Tensor.index is another function
    assert [name for name in names if hasattr(Tensor, name) != hasattr(torch.Tensor, name)] == []


def overloads(packet: str) -> list[opdsl.dispatch.Operator]:
    return list(opdsl.registry.packets[f"aten::{packet}"].overloads.values())


@pytest.mark.parametrize("module", PYTHON_MODULES)
def test_a_module_has_the_functions_that_torchs_has(module: str) -> None:
    ours, theirs = getattr(opdsl, module), getattr(torch._C, f"_{module}")
    known = packets()
    # opdsl has short names, too: logsumexp for special_logsumexp.
    names = [name for name in known if f"{module}_{name}" not in known]
    assert [name for name in names if hasattr(ours, name) != hasattr(theirs, name)] == []


@pytest.fixture
def norm_of_linalg():
    with Library("aten") as library:

        @library.op("aten::linalg_testnorm", python_module="linalg")
        def linalg_testnorm(self: Tensor) -> Tensor:
            return self.clone()

        yield linalg_testnorm


def test_a_function_is_found_under_both_of_its_names(norm_of_linalg) -> None:
    assert opdsl.linalg.linalg_testnorm is opdsl.linalg.testnorm is norm_of_linalg


def test_a_module_completes_its_short_names(norm_of_linalg) -> None:
    assert "testnorm" in dir(opdsl.linalg)


def test_a_function_of_a_module_is_none_of_the_package(norm_of_linalg) -> None:
    with pytest.raises(AttributeError, match=r"it is linalg\.testnorm"):
        opdsl.linalg_testnorm  # noqa: B018
    assert "linalg_testnorm" not in dir(opdsl)


def test_a_function_of_a_module_is_found_among_all_operators(norm_of_linalg) -> None:
    assert opdsl.ops.aten.linalg_testnorm(opdsl.tensor([1.0])).item() == 1.0


def test_functional_has_the_other_operators_of_nn_too() -> None:
    assert opdsl.nn.functional.upsample_nearest1d is opdsl.nn.upsample_nearest1d


def test_a_name_that_a_module_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"opdsl\.fft has no function 'nope'"):
        opdsl.fft.nope  # noqa: B018


def test_a_name_that_pytorch_does_not_bind_is_found_in_ops_only() -> None:
    with Library("aten") as library:

        @library.op("aten::testing_backward", variants="function, method")
        def testing_backward(self: Tensor) -> Tensor:
            return self

        with pytest.raises(AttributeError, match=r"opdsl\.ops\.aten\.testing_backward"):
            opdsl.testing_backward  # noqa: B018
        assert "testing_backward" not in dir(opdsl) and not hasattr(Tensor, "testing_backward")
        assert opdsl.ops.aten.testing_backward(opdsl.tensor([1.0])).item() == 1.0
