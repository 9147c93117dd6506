"""Tests of law 7: the dispatch table of each operator is the one that PyTorch computes from the same registrations."""

from __future__ import annotations

import pytest
import torch

import opdsl
from opdsl.dispatch import FALLTHROUGH, DispatchKey, Operator
from opdsl.dispatch.keys import RUNTIME_KEYS

opdsl.add  # noqa: B018  loads the operators


def representatives() -> dict[tuple[str, ...], Operator]:
    """Return one operator for each set of registered dispatch keys, ignoring ``Common``, which PyTorch does not
    have.
    """
    return {tuple(sorted({*map(str, operator.registrations)} - {"Common"})): operator for operator in opdsl.registry}


def rows_in_torch(keys: tuple[str, ...]) -> dict[str, str]:
    """Return PyTorch's dispatch table for an operator with kernels under the given keys: key of the call to key of the
    kernel.
    """
    library = torch._C._dispatch_library("FRAGMENT", "opdsl_laws", "")
    library.def_("made(Tensor x) -> Tensor")
    for key in keys:
        library.impl_t_t("made", dispatch=key, debug=f"fn_{key}")
    text = torch._C._dispatch_dump_table("opdsl_laws::made")
    del library
    rows = dict(line.split(": ", 1) for line in text.splitlines())
    return {key: row.split()[0].removeprefix("fn_") for key, row in rows.items() if row.startswith("fn_")}


@pytest.mark.parametrize("keys", representatives(), ids=", ".join)
def test_table(keys: tuple[str, ...]) -> None:
    operator = representatives()[keys]
    names = {id(kernels[0]): str(key) for key, kernels in operator.registrations.items()}
    table = {}
    for key in RUNTIME_KEYS:
        kernel = operator.entry(key).kernel
        if kernel is not None and kernel is not FALLTHROUGH and id(kernel) in names:
            table[str(key)] = names[id(kernel)]
    table.pop("Common", None)
    expected = rows_in_torch(keys)
    assert table == expected


def test_every_operator_has_a_kernel() -> None:
    ours = [operator for operator in opdsl.registry if operator.name.startswith(("aten::", "opdsl::"))]
    assert [operator.name for operator in ours if not operator.registrations] == []


def test_the_representatives_stand_for_all() -> None:
    assert len(representatives()) >= 4
    assert DispatchKey("CPU") in RUNTIME_KEYS
