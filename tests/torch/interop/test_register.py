"""Tests of registering operators of opdsl in torch: results, errors, and deregistration."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Any

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.dispatch import Operator
from opdsl.errors import (
    ArgumentError,
    DeclarationError,
    DuplicateOperatorError,
    RequiresGradError,
    UnknownOperatorError,
)
from opdsl.interop.torch import deregister, register
from opdsl.interop.torch.registration import bridge_of
from opdsl.interop.torch.requirement import require_torch
from opdsl.schema.vocabulary import Scalar
from tests.torch.interop.bridge import make, registered, run_alone


@pytest.fixture(scope="module")
def ops():
    with registered() as namespace:
        yield namespace


@pytest.fixture
def lib():
    with Library("interop_own") as library:
        yield library


def declare_halved(lib: Library) -> Any:
    @lib.op(inplace=True, out=True, tags=["pointwise"])
    @formula
    def halved(self: Tensor) -> Tensor:
        return self / 2

    return halved


def test_schemas_are_those_that_were_declared(ops):
    expected = {
        "interop::smooth_relu(Tensor self, float beta=1.) -> Tensor",
        "interop::smooth_relu_(Tensor(a!) self, float beta=1.) -> Tensor(a!)",
        "interop::smooth_relu.out(Tensor self, float beta=1., *, Tensor(a!) out) -> Tensor(a!)",
    }
    actual = {ops.smooth_relu.default, ops.smooth_relu_.default, ops.smooth_relu.out}
    assert expected == {str(overload._schema) for overload in actual}


def test_tags_are_those_that_were_declared(lib):
    register(declare_halved(lib))
    assert torch.Tag.pointwise in torch.ops.interop_own.halved.default.tags
    deregister(lib)


def test_a_pointwise_operator_computes_what_torch_does(ops):
    x = make(3, 4)
    torch.testing.assert_close(ops.smooth_relu(x, 0.5), torch.nn.functional.softplus(x, 0.5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.complex64, torch.int32])
def test_dtypes_cross_over(ops, dtype):
    x, y = (torch.tensor(values).to(dtype) for values in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    torch.testing.assert_close(ops.scaled_add(x, y, alpha=2), torch.add(x, y, alpha=2))


def test_results_of_integers_have_the_default_dtype_of_torch(ops):
    torch.set_default_dtype(torch.float64)
    try:
        assert ops.smooth_relu(torch.arange(3)).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_strides_are_those_of_a_torch_operator(ops):
    x = make(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert ops.smooth_relu(x).stride() == torch.nn.functional.softplus(x).stride()


def test_inplace_writes_the_memory_of_torch(ops):
    x = make(4)
    address, expected = x.data_ptr(), torch.nn.functional.softplus(x)
    returned = ops.smooth_relu_(x)
    assert returned is x and x.data_ptr() == address
    torch.testing.assert_close(x, expected)


def test_inplace_counts_a_version(ops):
    x = make(4)
    before = x._version
    ops.smooth_relu_(x)
    assert x._version == before + 1


def test_out_is_filled_and_returned(ops):
    x, out = make(4), torch.empty(4, dtype=torch.float64)
    assert ops.smooth_relu(x, out=out) is out
    torch.testing.assert_close(out, torch.nn.functional.softplus(x))


def test_out_without_elements_is_resized(ops):
    x, out = make(2, 3), torch.empty(0, dtype=torch.float64)
    ops.smooth_relu(x, out=out)
    torch.testing.assert_close(out, torch.nn.functional.softplus(x))


def test_out_of_another_shape_is_resized_with_a_warning(ops):
    x, out = make(2, 3), torch.empty(5, dtype=torch.float64)
    with pytest.warns(UserWarning, match="resized"):
        ops.smooth_relu(x, out=out)
    torch.testing.assert_close(out, torch.nn.functional.softplus(x))


def test_out_that_requires_grad_is_refused(ops):
    with pytest.raises(RequiresGradError, match=r"out=\.\.\. arguments don't support automatic differentiation"):
        ops.smooth_relu(make(3, requires_grad=True), out=torch.empty(3, dtype=torch.float64))


def test_overlapping_out_is_refused_and_left_alone(ops):
    memory = make(5)
    before = memory.clone()
    with pytest.raises(RuntimeError, match="single memory location"):
        ops.smooth_relu(memory[:4], out=memory[1:])
    assert torch.equal(before, memory)


def test_views_share_memory(ops):
    x = make(4, 3)
    assert ops.first_half(x).data_ptr() == x.data_ptr()
    ops.turned(x)[0].zero_()
    assert x[:, 0].abs().sum() == 0


def test_lists_of_tensors_are_arguments(ops):
    x, y = make(3), make(3, seed=1)
    torch.testing.assert_close(ops.weighted([x, y], 0.5), 0.5 * (x + y))


def test_lists_of_tensors_are_results(ops):
    x = make(5)
    assert [half.tolist() for half in ops.halves(x)] == [x[:2].tolist(), x[2:].tolist()]


def test_numbers_are_results(ops):
    assert ops.rank(make(2, 3, requires_grad=True)) == 2


def test_operators_without_tensors(ops):
    assert ops.ramp(3, 0.5, dtype=torch.float64).tolist() == [0.0, 0.5, 1.0]


def test_a_result_that_is_an_argument_is_copied(ops):
    x = make(2, 3)
    y = ops.dropped(x, 0.0)
    assert torch.equal(x, y) and x.data_ptr() != y.data_ptr()


def has_cuda_kernel(lib):
    declare_halved(lib)
    register(lib)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    cuda_kernel = [has("interop_own::halved", "CUDA"), has("interop_own::_write_halved_", "CUDA")]
    deregister(lib)
    return cuda_kernel


def test_there_are_no_cuda_kernels_without_cuda(lib):
    assert torch.cuda.is_available() or has_cuda_kernel(lib) == [False, False]


def test_there_are_cuda_kernels_with_cuda(lib, monkeypatch):
    monkeypatch.setattr("opdsl.interop.torch.kernels.has_cuda", lambda: True)
    assert has_cuda_kernel(lib) == [True, True]


def test_an_operator_that_only_writes_is_registered(ops):
    x = torch.ones(3)
    assert ops.double_(x) is x
    assert x.tolist() == [2, 2, 2]


def test_shapes_that_do_not_fit_raise_the_error_of_the_operator(ops):
    with pytest.raises(RuntimeError, match="must match the size"):
        ops.blend(make(3), make(4), make(3))


def test_sparse_tensors_are_refused_by_torch(ops):
    with pytest.raises(NotImplementedError, match="SparseCPU"):
        ops.smooth_relu(make(3).to_sparse())


def test_conjugated_views_are_resolved(ops):
    x = torch.tensor([1 + 2j, 3 - 1j])
    torch.testing.assert_close(ops.scaled_add(x.conj(), x), x.conj() + x)


def test_register_names_what_it_did(lib):
    result = register(declare_halved(lib))
    assert result == ("interop_own::halved", "interop_own::halved_", "interop_own::halved.out")
    deregister(lib)


def test_an_operator_of_torch_is_refused_and_nothing_registered(lib):
    theirs = torch.library.Library("interop_own", "FRAGMENT")
    theirs.define("halved_(Tensor(a!) self) -> Tensor(a!)")
    declare_halved(lib)
    with pytest.raises(DuplicateOperatorError, match="torch has an operator interop_own::halved_ already"):
        register(lib)
    theirs._destroy()
    assert not hasattr(torch.ops.interop_own, "halved")


@pytest.mark.parametrize("default", [1, 2])
def test_overloads_that_torch_cannot_tell_apart(default):
    """Overloads with equal arguments cannot be registered, since torch would use one of them after freeing it, and
    crash.
    """
    with Library("interop_alike") as lib:

        @lib.op
        def shifted(x: Tensor, by: int = 1) -> Tensor:
            return x + by

        @shifted.overload("back")
        def shifted_back(x: Tensor, by: int = default) -> Tensor:
            return x - by

        with pytest.raises(
            DuplicateOperatorError, match=r"cannot distinguish interop_alike::shifted.back from interop_alike"
        ):
            register(lib)
        assert not hasattr(torch.ops.interop_alike, "shifted")


def test_overloads_whose_arguments_have_other_names():
    for _ in range(3):
        with Library("interop_unlike") as lib:

            @lib.op
            def shifted(x: Tensor, by: int = 1) -> Tensor:
                return x + by

            @shifted.overload("back")
            def shifted_back(x: Tensor, back: int = 1) -> Tensor:
                return x - back

            register(lib)
            assert torch.ops.interop_unlike.shifted(torch.ones(1)) == 2
            assert torch.ops.interop_unlike.shifted.back(torch.ones(1)) == 0


def test_a_composite_that_calls_operators_of_its_own_library_is_registered_with_them(lib):
    halved = declare_halved(lib)
    assert not _known("interop_own")

    @lib.op
    def quartered(self: Tensor) -> Tensor:
        return halved(halved(self))

    register(quartered)
    x = torch.tensor([8.0], requires_grad=True)
    torch.ops.interop_own.quartered(x).backward()
    assert x.grad.tolist() == [0.25]
    deregister(quartered)
    assert not _known("interop_own")


def test_operators_of_aten_are_refused():
    with pytest.raises(DeclarationError, match="torch's own"):
        register(opdsl.ops.aten.relu.default)


def test_what_is_no_operator_is_refused():
    with pytest.raises(ArgumentError, match="Library or a declared operator"):
        register(len)


def test_deregistering_removes_everything(lib):
    register(declare_halved(lib))
    x = torch.ones(2, requires_grad=True)
    torch.ops.interop_own.halved(x).sum().backward()
    assert any("gradient" in name for name in _known("interop_own"))
    deregister(lib)
    assert not _known("interop_own")


def _known(namespace: str) -> list[str]:
    """Return the operators of a namespace for which torch has a schema."""
    names = {op_name.partition(".")[0] for op_name in torch._C._dispatch_get_all_op_names()}
    return [
        name for name in names if name.startswith(f"{namespace}::") and torch._C._jit_get_schemas_for_operator(name)
    ]


def test_operators_can_be_registered_again(lib):
    halved = declare_halved(lib)
    for _ in range(2):
        register(halved)
        assert torch.ops.interop_own.halved(torch.tensor([2.0])).tolist() == [1]
        deregister(halved)


def test_closing_the_library_deregisters_everything():
    with Library("interop_closed") as library:
        register(declare_halved(library))
    assert not hasattr(torch.ops.interop_closed, "halved")


def test_deregistering_what_is_not_registered_is_refused(lib):
    declare_halved(lib)
    with pytest.raises(UnknownOperatorError, match="nothing of"):
        deregister(lib)


@pytest.mark.parametrize("version", ["2.10.1", "1.13"])
def test_an_old_torch_is_refused_with_the_fix(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.raises(ImportError, match=rf'2\.11 or newer.*got {version}.*pip install "torch>=2.11"'):
        require_torch()


def test_a_missing_torch_is_told_with_the_fix(monkeypatch):
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(ImportError, match=r'none is installed\. Install it: pip install "torch>=2.11"'):
        require_torch()


@pytest.mark.parametrize("version", ["2.11.0+cu130", "2.13.0+cpu", "2.14.0a0+git1", "3.0"])
def test_newer_versions_are_taken(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    require_torch()


def test_gradients_beside_complex_numbers_take_their_conjugates(lib):
    @lib.op
    @formula
    def turned(self: Tensor, by: Scalar) -> Tensor:
        return self * by

    register(turned)
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    [gradient] = torch.autograd.grad(torch.ops.interop_own.turned(x, 1j).imag.sum(), x)
    assert gradient.tolist() == torch.autograd.grad((x * 1j).imag.sum(), x)[0].tolist()


def check_what_is_loaded() -> None:
    with Library("interop_loaded") as library:

        @library.op
        def doubled(self: Tensor) -> Tensor: ...

        @doubled.kernel("CPU", "Meta")
        def doubled_kernel(self):
            return self + self

        register(library)
    assert "llvmlite" not in sys.modules, "nothing is compiled before a call"


def test_registering_loads_no_compiler() -> None:
    run_alone(__name__, "check_what_is_loaded()")


def test_a_kernel_that_changes_while_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with Library("interop_changing") as library:

        @library.op
        def changing(self: Tensor) -> Tensor: ...

        @changing.kernel("CPU", "Meta")
        def changing_kernel(self):
            return self + 1

        register(library)
        bridge = bridge_of(changing.operator)
        assert bridge is not None
        look, looked = Operator.find_in, []

        def change_meanwhile(operator: Operator, keys: Any) -> Any:
            looked.append(look(operator, keys))
            bridge._forget()
            return looked[-1]

        monkeypatch.setattr(Operator, "find_in", change_meanwhile)
        assert bridge.kernel() is looked[0], "the call that had begun has a kernel"
        bridge.kernel()
        assert len(looked) == 2, "the next one looks again"
        monkeypatch.undo()
        deregister(library)
