"""Tests of transferring tensors: through pickle, PyTorch's data loaders and their processes, and DLPack."""

from __future__ import annotations

import pickle
import sys
from multiprocessing.reduction import ForkingPickler
from types import SimpleNamespace

import numpy
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, default_collate

import opdsl
from opdsl.errors import InterchangeError, MissingDependencyError
from opdsl.interop.torch import register_collate


def test_pickled_views_keep_sharing_with_each_other() -> None:
    base = opdsl.arange(6.0).reshape(2, 3)
    whole, row, column = pickle.loads(pickle.dumps([base, base[1], base[:, 0]]))
    whole[1, 0] = 10
    assert row.tolist() == [10, 4, 5] and column.tolist() == [0, 10]
    first, second = pickle.loads(pickle.dumps((base[0], base[:, 0])))
    first[0] = 7
    assert second.tolist() == [7, 3]


class Numbered(Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 5

    def __getitem__(self, at: int) -> dict[str, object]:
        return {"x": opdsl.full((2,), float(at)), "nested": [opdsl.tensor(at), at]}


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loaders_stack_our_tensors(workers: int) -> None:
    register_collate()
    batches = list(DataLoader(Numbered(), batch_size=2, num_workers=workers))
    assert [batch["x"].tolist() for batch in batches] == [[[0, 0], [1, 1]], [[2, 2], [3, 3]], [[4, 4]]]
    assert [batch["nested"][0].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]
    assert all(isinstance(batch["x"], opdsl.Tensor) for batch in batches)


def test_torchs_own_tensors_are_collated_as_before() -> None:
    register_collate()
    assert torch.equal(default_collate([torch.ones(2), torch.zeros(2)]), torch.tensor([[1.0, 1.0], [0.0, 0.0]]))


def test_from_dlpack_copies_where_it_is_asked_to() -> None:
    theirs = torch.ones(3)
    shared, copied = opdsl.from_dlpack(theirs, copy=False), opdsl.from_dlpack(theirs, copy=True)
    theirs.zero_()
    assert shared.tolist() == [0, 0, 0] and copied.tolist() == [1, 1, 1]
    assert opdsl.from_dlpack(theirs, device="cpu").data_ptr() == theirs.data_ptr()
    assert opdsl.from_dlpack(theirs, device="meta").shape == (3,)
    with pytest.raises(InterchangeError, match="by a copy only"):
        opdsl.from_dlpack(theirs, device="meta", copy=False)


def test_dlpack_of_ours_with_a_device_and_a_copy() -> None:
    mine = opdsl.ones(3)
    shared = torch.from_dlpack(mine, device="cpu", copy=False)
    copied = numpy.from_dlpack(mine, device="cpu", copy=True)
    mine.zero_()
    assert shared.tolist() == [0, 0, 0] and copied.tolist() == [1, 1, 1]
    with pytest.raises(InterchangeError, match="dl_device"):
        mine.__dlpack__(dl_device=(2, 0))


def test_workers_send_in_shared_memory() -> None:
    """Pickled views share memory, and writes to a large tensor are visible to the sender."""
    register_collate()
    x = opdsl.arange(1 << 18, dtype=opdsl.float32)
    sent = ForkingPickler.dumps([x, x[2:4], x.reshape(512, 512).t()])
    assert len(sent) < 4096
    again, part, turned = pickle.loads(sent)
    assert again.dtype is opdsl.float32 and turned.shape == (512, 512)
    again[3] = -1
    assert part.tolist() == [2, -1] and turned[3, 0].item() == -1 and x[3].item() == 3
    leaf = pickle.loads(ForkingPickler.dumps(opdsl.ones(2, requires_grad=True)))
    assert leaf.requires_grad


def test_arrow_and_polars_take_tensors_by_arrows_protocol() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    column = opdsl.arange(5, dtype=opdsl.float32)
    array = pyarrow.array(column)
    assert array.type == pyarrow.float32() and array.to_pylist() == column.tolist()
    assert array.buffers()[1].address == column.data_ptr()
    assert pyarrow.array(column, type=pyarrow.float64()).type == pyarrow.float64()
    assert opdsl.tensor(array).tolist() == column.tolist()
    with pytest.raises(InterchangeError, match="one dimension"):
        pyarrow.array(opdsl.ones(2, 2))
    polars = pytest.importorskip("polars")
    assert polars.DataFrame({"a": polars.Series(column)})["a"].to_list() == column.tolist()


def test_arrow_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
        opdsl.ones(2).__arrow_c_array__()


def test_arrow_gets_the_memory_of_the_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow gets an array over the memory of the tensor; a stub replaces pyarrow, which tests do not install."""
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(array=lambda array, type: (array, type)))
    column = opdsl.arange(4, dtype=opdsl.int16)
    array, kind = column.__arrow_array__("int64")
    assert kind == "int64" and numpy.shares_memory(array, column.numpy()) and array.dtype == numpy.int16
