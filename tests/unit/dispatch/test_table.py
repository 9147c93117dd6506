"""Tests of computed dispatch tables; tests/torch/test_dispatch_tables.py compares whole tables with torch's."""

from __future__ import annotations

import pytest

from opdsl.dispatch.keys import RUNTIME_KEYS, DispatchKey
from opdsl.dispatch.table import (
    FALLTHROUGH,
    DispatchTable,
    Fallthrough,
    NamedKernel,
    Reason,
    compute,
    default_fallbacks,
)
from opdsl.errors import DispatchKeyError, DuplicateOperatorError, MissingKernelError


def reasons(table: DispatchTable, *keys: str) -> list[str]:
    return [str(table[key].reason) for key in keys]


def test_newest_kernel_wins() -> None:
    old, new = NamedKernel("old"), NamedKernel("new")
    assert compute(DispatchKey.CPU, {DispatchKey.CPU: [new, old]}, {}).kernel is new


def test_entry_says_where_its_kernel_was_registered() -> None:
    table = DispatchTable(["CompositeExplicitAutograd"])
    assert table["SparseCUDA"].registered_at is DispatchKey.CompositeExplicitAutograd


def test_reason_reads_as_torch_prints_it() -> None:
    assert DispatchTable(["CPU"])["CPU"].reason == "kernel"


@pytest.mark.parametrize(
    ("keys", "key", "reason"),
    [
        # Expected words from torch's PythonDispatcher, copied from `dispatchTable()` for the same registrations.
        (["CPU", "XLA", "CompositeImplicitAutograd"], "CPU", "kernel"),
        (["CPU", "XLA", "CompositeImplicitAutograd"], "Lazy", "math kernel"),
        (["CPU", "XLA", "CompositeImplicitAutograd"], "AutogradLazy", "math kernel"),
        (["CPU", "XLA", "CompositeImplicitAutograd"], "AutogradCPU", "missing"),
        (["CPU", "Autograd"], "AutogradCPU", "autograd kernel"),
        (["CPU", "Autograd"], "XLA", "missing"),
        (["CompositeExplicitAutograd", "Autograd"], "XLA", "default backend kernel"),
        (["CompositeExplicitAutograd", "Autograd"], "NestedTensorCPU", "missing"),
        (["CompositeExplicitAutogradNonFunctional"], "XLA", "missing"),
        (["CompositeExplicitAutogradNonFunctional"], "CUDA", "default backend kernel"),
        (["SparseCPU", "CompositeImplicitAutograd"], "AutogradOther", "ambiguous autogradother"),
        (["SparseCPU", "CompositeImplicitAutograd", "AutogradOther"], "AutogradOther", "kernel"),
        (["CompositeImplicitAutogradNestedTensor"], "AutogradNestedTensor", "nested kernel"),
        (["FuncTorchBatchedDecomposition"], "FuncTorchBatched", "batched kernel"),
        (["CompositeImplicitAutograd"], "Undefined", "math kernel"),
        (["Autograd"], "Undefined", "missing"),
    ],
)
def test_reason(keys: list[str], key: str, reason: str) -> None:
    assert reasons(DispatchTable(keys), key) == [reason]


def test_fallback_serves_what_no_registration_fills() -> None:
    table = DispatchTable(["CPU"], fallbacks=["AutogradCPU", "CPU"])
    assert reasons(table, "AutogradCPU", "CPU") == ["backend fallback", "kernel"]


def test_fallthrough_prints_as_torchs() -> None:
    table = DispatchTable(["CPU"], fallbacks={"ADInplaceOrView": FALLTHROUGH})
    assert str(table["ADInplaceOrView"]) == "fallthrough [backend fallback]"


def test_registering_refreshes_the_autograd_entry_of_the_backend() -> None:
    table = DispatchTable(["CompositeImplicitAutograd"])
    before = reasons(table, "AutogradCPU")
    table.register("CPU")
    assert (before, reasons(table, "AutogradCPU")) == (["math kernel"], ["missing"])


def test_both_composite_aliases_are_refused() -> None:
    with pytest.raises(DispatchKeyError, match="not for both"):
        DispatchTable(["CompositeImplicitAutograd", "CompositeExplicitAutograd"])


def test_other_composite_alias_is_refused_later_too() -> None:
    table = DispatchTable(["CompositeImplicitAutograd"])
    with pytest.raises(DispatchKeyError, match="not for both"):
        table.register("CompositeExplicitAutograd")


def test_key_given_twice_is_refused() -> None:
    with pytest.raises(DuplicateOperatorError, match="CPU is given twice"):
        DispatchTable(["CPU", "XLA", "CPU"])


def test_registered_key_is_refused() -> None:
    table = DispatchTable(["CPU"])
    with pytest.raises(DuplicateOperatorError, match=r"CPU has a kernel already: fn_CPU \[kernel\]"):
        table.register("CPU")


def test_refused_registration_leaves_the_table_as_it_was() -> None:
    table = DispatchTable(["CPU"])
    with pytest.raises(DuplicateOperatorError):
        table.register("CUDA", "CPU")
    assert list(table.registrations) == [DispatchKey.CPU]


def test_unknown_key_is_refused() -> None:
    with pytest.raises(DispatchKeyError, match="no dispatch key 'cpu'"):
        DispatchTable(["cpu"])


def test_alias_has_no_row() -> None:
    with pytest.raises(DispatchKeyError, match="Autograd is an alias key: no call reaches it"):
        DispatchTable(["Autograd"])["Autograd"]


def test_functionality_without_its_backend_is_refused() -> None:
    with pytest.raises(DispatchKeyError, match="use SparseCPU"):
        DispatchTable(["Sparse"])


def test_alias_has_no_fallback() -> None:
    with pytest.raises(DispatchKeyError, match="no fallback can be registered there"):
        DispatchTable(fallbacks=["Autograd"])


def test_ambiguous_kernel_says_how_to_resolve_it() -> None:
    kernel = DispatchTable(["FPGA", "CompositeImplicitAutograd"])["AutogradOther"].kernel
    assert kernel is not None
    with pytest.raises(MissingKernelError, match="Register a kernel for AutogradOther"):
        kernel()


def test_table_of_an_operator_is_a_copy() -> None:
    registrations = {DispatchKey.CPU: [NamedKernel("mine")]}
    table = DispatchTable.of(registrations, {})
    table.register("CUDA")
    assert list(registrations) == [DispatchKey.CPU]


def test_rows_leave_out_what_is_missing() -> None:
    assert [key.name for key, _ in DispatchTable(["CUDA", "CPU"]).rows()] == ["CPU", "CUDA"]


def test_table_prints_aligned() -> None:
    printed = str(DispatchTable(["CPU", "XLA", "CompositeImplicitAutograd"], fallbacks=["AutogradCPU"]))
    expected = """\
key            kernel
-------------------------
CPU            fn_CPU [kernel]
CUDA           fn_CompositeImplicitAutograd [math kernel]
XLA            fn_XLA [kernel]
Lazy           fn_CompositeImplicitAutograd [math kernel]
Meta           fn_CompositeImplicitAutograd [math kernel]
FPGA           fn_CompositeImplicitAutograd [math kernel]
AutogradOther  fn_CompositeImplicitAutograd [math kernel]
AutogradCPU    fallback_AutogradCPU [backend fallback]
AutogradCUDA   fn_CompositeImplicitAutograd [math kernel]
AutogradLazy   fn_CompositeImplicitAutograd [math kernel]
AutogradMeta   fn_CompositeImplicitAutograd [math kernel]"""
    assert printed == expected


def test_default_fallbacks_pass_every_call_on() -> None:
    assert all(isinstance(kernel, Fallthrough) for kernel in default_fallbacks().values())


def test_common_is_filled_by_no_alias() -> None:
    every_alias = {key: [NamedKernel(str(key))] for key in DispatchKey if key.is_alias}
    assert compute(DispatchKey.Common, every_alias, {}).reason is Reason.MISSING


def test_every_row_is_computed_without_registrations() -> None:
    assert {compute(key, {}, {}).reason for key in RUNTIME_KEYS} == {Reason.MISSING}
