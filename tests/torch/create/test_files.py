"""Tests of tensors over files, compared with PyTorch's."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch

import opdsl
from opdsl.errors import FileFormatError
from tests.torch.twins import assert_agree


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "numbers"
    file.write_bytes(numpy.arange(6, dtype=numpy.float32).tobytes())
    return file


@pytest.mark.parametrize("shared", [None, False, True])
def test_elements_are_those_of_the_file(path: Path, *, shared: bool | None) -> None:
    assert_agree(opdsl.from_file(str(path), shared, 4), torch.from_file(str(path), shared, 4))


def test_another_dtype_reads_the_same_bytes(path: Path) -> None:
    expected = torch.from_file(str(path), size=4, dtype=torch.int16)
    assert_agree(opdsl.from_file(str(path), size=4, dtype=opdsl.int16), expected)


@pytest.mark.parametrize("shared", [False, True])
def test_writes_reach_a_shared_file_alone(path: Path, *, shared: bool) -> None:
    opdsl.from_file(str(path), shared, 6).add_(1)
    assert torch.from_file(str(path), False, 6)[0] == float(shared)


def test_a_shared_file_is_made_and_made_longer(tmp_path: Path) -> None:
    file = tmp_path / "new"
    for count in (2, 5):
        opdsl.from_file(str(file), True, count, dtype=opdsl.float64).fill_(count)
    assert numpy.fromfile(file).tolist() == [5.0] * 5


@pytest.mark.parametrize("name", ["numbers", "missing"])
def test_what_cannot_be_read_is_refused(path: Path, name: str) -> None:
    with pytest.raises(RuntimeError):
        torch.from_file(str(path.parent / name), False, 100)
    with pytest.raises(FileFormatError, match=name):
        opdsl.from_file(str(path.parent / name), False, 100)
