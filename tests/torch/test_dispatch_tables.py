"""Tests that computed dispatch tables equal torch's, for every operator of the running torch, from its
registrations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from opdsl.dispatch.keys import RUNTIME_KEYS, DispatchKey, alias_runtime_keys
from opdsl.dispatch.table import Fallthrough, Kernel, NamedKernel, Reason, compute

torch = pytest.importorskip("torch")

# Example: `CPU: registered at RegisterCPU.cpp:1 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]`
REGISTRATION = re.compile(r"^(?P<key>\w+)(?:\[alias\])?: (?P<kernel>.*) :: .* \[ (?P<flags>.*) \]$")
HEAD = ("name: ", "schema: ", "debug: ", "alias analysis kind: ")


def named(text: str) -> Kernel:
    return Fallthrough(text) if text.startswith("fallthrough ") else NamedKernel(text)


def registrations_of(name: str) -> dict[DispatchKey, list[Kernel]]:
    """Return the kernels that ``_dispatch_dump`` lists for each key, newest first."""
    registrations: dict[DispatchKey, list[Kernel]] = {}
    for line in torch._C._dispatch_dump(name).splitlines():
        if line.startswith(HEAD):
            continue
        match = REGISTRATION.match(line)
        if match is None:
            assert " (inactive): " in line or " (inactive)[alias]: " in line, line
            continue
        prefix = "fallthrough " if "fallthrough" in match["flags"] else ""
        registrations.setdefault(DispatchKey(match["key"]), []).append(named(prefix + match["kernel"]))
    return registrations


def rows_of(name: str) -> dict[DispatchKey, str]:
    """Return the rows of ``_dispatch_dump_table`` by key: ``registered at VariableType.cpp:1 [autograd kernel]``."""
    rows = (line.split(": ", 1) for line in torch._C._dispatch_dump_table(name).splitlines())
    return {DispatchKey(key): text for key, text in rows}


@pytest.fixture(scope="module")
def empty_operator() -> Iterator[str]:
    """Define an operator without kernels, whose table shows the fallbacks."""
    library = torch._C._dispatch_library("FRAGMENT", "opdsl_test_dispatch_tables", "")
    library.def_("empty(Tensor x) -> Tensor")
    yield "opdsl_test_dispatch_tables::empty"
    del library


@pytest.fixture(scope="module")
def fallbacks(empty_operator: str) -> dict[DispatchKey, Kernel]:
    rows = rows_of(empty_operator)
    assert all(text.endswith(" [backend fallback]") for text in rows.values())
    return {key: named(text.removesuffix(" [backend fallback]")) for key, text in rows.items()}


def difference(name: str, fallbacks: dict[DispatchKey, Kernel]) -> tuple[int, list[str]]:
    """Return the number of rows of an operator's table, and descriptions of those that differ."""
    expected = rows_of(name)
    registrations = registrations_of(name)
    entries = {key: compute(key, registrations, fallbacks) for key in RUNTIME_KEYS}
    rows = {key: str(entry) for key, entry in entries.items() if entry.reason is not Reason.MISSING}
    if rows == expected:
        return len(expected), []
    keys = rows.keys() | expected.keys()
    return len(expected), [
        f"{name} {key}: {expected.get(key)}, got {rows.get(key)}" for key in keys if expected.get(key) != rows.get(key)
    ]


def test_every_row_of_every_operator_equals_torchs(fallbacks: dict[DispatchKey, Kernel]) -> None:
    names = torch._C._dispatch_get_all_op_names()
    rows = 0
    wrong: list[str] = []
    for name in names:
        count, differing = difference(name, fallbacks)
        rows += count
        wrong += differing
    assert wrong == []
    assert len(names) > 3000
    assert rows > 300_000


def test_torchs_operators_use_every_reason_but_ambiguity() -> None:
    used = {
        text.rpartition("[")[2] for name in torch._C._dispatch_get_all_op_names() for text in rows_of(name).values()
    }
    assert used == {f"{reason}]" for reason in Reason} - {"missing]", "ambiguous autogradother]"}


@pytest.mark.parametrize(
    "keys",
    [
        ["CPU", "XLA", "CompositeImplicitAutograd"],
        ["SparseCPU", "CompositeImplicitAutograd"],
        ["FPGA", "CompositeImplicitAutograd", "Autograd"],
        ["QuantizedCUDA", "CompositeImplicitAutograd", "AutogradOther"],
        ["CompositeExplicitAutograd", "CompositeImplicitAutograd", "SparseCsrMeta"],
        ["CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd"],
        ["CompositeImplicitAutogradNestedTensor", "CompositeImplicitAutograd", "NestedTensorCPU"],
        ["CompositeImplicitAutogradNestedTensor", "CompositeExplicitAutograd", "Autograd"],
        ["CompositeImplicitAutograd", "NestedTensorCPU"],
        ["CompositeImplicitAutograd", "CPU", "Autograd"],
        ["MTIA", "HIP", "VE", "CompositeImplicitAutograd"],
        ["FuncTorchBatchedDecomposition", "Autograd", "Meta"],
        ["FuncTorchBatched", "FuncTorchBatchedDecomposition"],
    ],
)
def test_registrations_that_no_operator_has(keys: list[str], fallbacks: dict[DispatchKey, Kernel]) -> None:
    library = torch._C._dispatch_library("FRAGMENT", "opdsl_test_dispatch_tables", "")
    library.def_("made(Tensor x) -> Tensor")
    for key in keys:
        library.impl_t_t("made", dispatch=key, debug=f"fn_{key}")
    name = "opdsl_test_dispatch_tables::made"
    assert set(registrations_of(name)) == {DispatchKey(key) for key in keys}
    _, wrong = difference(name, fallbacks)
    del library
    assert wrong == []


@pytest.mark.parametrize("alias", [key for key in DispatchKey if key.is_alias], ids=str)
def test_alias_keys_cover_what_torchs_cover(alias: DispatchKey) -> None:
    # torch does not parse names of rarely used keys, but accepts their numbers
    by_number = [torch._C.DispatchKey(number) for number in range(1, 150)]
    theirs = {torch._C._dispatch_key_name(key): key for key in by_number}
    alias_of_theirs = torch._C._dispatch_key_parse(alias.name)
    expected = {
        key
        for key in RUNTIME_KEYS[1:]
        if key.name != "Common" and torch._C._dispatch_is_included_in_alias(theirs[key.name], alias_of_theirs)
    }
    assert expected == set(alias_runtime_keys(alias))
