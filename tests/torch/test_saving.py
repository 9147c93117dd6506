"""Tests of ``opdsl.save`` and ``opdsl.load``, compared with the safetensors package, and of damaged files."""

from __future__ import annotations

import io
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import safetensors
import safetensors.torch
import torch

import opdsl
from opdsl.errors import ConversionError, DTypeError, FileFormatError, MissingDependencyError

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def there_and_back(value: object) -> Any:
    file = io.BytesIO()
    opdsl.save(value, file)
    file.seek(0)
    return opdsl.load(file)


def same(ours: opdsl.Tensor, theirs: torch.Tensor) -> bool:
    equal = torch.equal(torch.from_dlpack(ours.view(opdsl.uint8)), theirs.contiguous().view(torch.uint8))
    return equal and str(theirs.dtype) == f"torch.{ours.dtype.name}" and ours.shape == tuple(theirs.shape)


def state() -> dict[str, torch.Tensor]:
    """Return a tensor of each dtype, one without elements, and one with a dot in its name."""
    numbers = {name: torch.arange(-2, 4).reshape(2, 3).to(getattr(torch, name)) for name in DTYPES}
    return {**numbers, "none": torch.ones(0, 3), "last.name": torch.tensor([1.5])}


def test_another_reader_takes_what_is_written(tmp_path: Path) -> None:
    tensors = state()
    opdsl.save({name: opdsl.from_dlpack(tensor) for name, tensor in tensors.items()}, tmp_path / "file")
    read = safetensors.torch.load_file(tmp_path / "file")
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read[name].dtype is tensor.dtype and torch.equal(read[name], tensor), name


def test_what_another_wrote_is_read(tmp_path: Path) -> None:
    tensors = state()
    safetensors.torch.save_file(tensors, tmp_path / "file", {"format": "pt"})
    read = opdsl.load(str(tmp_path / "file"))
    assert read.keys() == tensors.keys()
    assert [name for name, tensor in tensors.items() if not same(read[name], tensor)] == []


def test_views_are_written_as_what_they_show() -> None:
    matrix = opdsl.arange(6.0).reshape(2, 3)
    for view in (matrix.t(), matrix[:, 1], matrix[0].expand(4, 3), matrix[1, 2]):
        assert there_and_back(view).tolist() == view.tolist()


def test_what_is_built_of_tensors_keeps_its_form() -> None:
    weight = opdsl.ones(2, dtype=opdsl.complex128) * (1 + 2j)
    value = {"a": [weight, (1, 2.5, None, "text")], 3: {"a.0": weight, "x": float("inf")}, "a.0": opdsl.tensor(True)}
    read = there_and_back(value)
    assert list(read) == ["a", 3, "a.0"] and read["a"][1] == (1, 2.5, None, "text") and read[3]["x"] == float("inf")
    assert read["a"][0] is read[3]["a.0"] and read["a"][0].dtype is opdsl.complex128
    assert read["a"][0].tolist() == weight.tolist() and read["a.0"].item() is True
    assert there_and_back({}) == {} and there_and_back([]) == [] and there_and_back(3) == 3
    assert there_and_back({"__metadata__": weight})["__metadata__"].tolist() == weight.tolist()


def test_a_loaded_tensor_may_be_written() -> None:
    read = there_and_back(opdsl.ones(3, requires_grad=True))
    assert not read.requires_grad and read.add_(1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("value", [{1, 2}, {"x": [object()]}, {(1,): 2}, numpy.ones(2), opdsl.ones(2, device="meta")])
def test_what_is_not_written_leaves_the_file_alone(value: object, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    with pytest.raises(ConversionError, match="save: "):
        opdsl.save(value, file)
    assert file.read_bytes() == b"before"


def test_pickled_files_are_not_read() -> None:
    file = io.BytesIO()
    torch.save({"x": torch.ones(2)}, file)
    for content in (file.getvalue(), pickle.dumps([1])):
        with pytest.raises(FileFormatError, match="pickled"):
            opdsl.load(io.BytesIO(content))


def header(text: str) -> bytes:
    return len(text).to_bytes(8, "little") + text.encode() + bytes(64)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\1\2\3",
        b"\xff" * 64,
        header("no JSON"),
        header("[]"),
        header('{"x": 3}'),
        header('{"__metadata__": 3}'),
        header('{"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}'),
        header('{"x": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}}'),
        header('{"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}}'),
        header('{"x": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}'),
        header('{"x": {"dtype": "F32", "shape": [1000], "data_offsets": [0, 4000]}}'),
        header('{"x": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 0]}}'),
        header(json.dumps({"__metadata__": {"opdsl.structure": '{"tensor": "x"}'}})),
        header(json.dumps({"__metadata__": {"opdsl.structure": '{"call": "x"}'}})),
        header(json.dumps({"__metadata__": {"opdsl.structure": "{"}})),
        header(json.dumps({"__metadata__": {"opdsl.complex128": '["x"]'}})),
    ],
)
def test_damaged_files_are_refused(content: bytes) -> None:
    with pytest.raises(FileFormatError, match="load: "):
        opdsl.load(io.BytesIO(content))


def test_dtypes_that_are_not_here_are_named() -> None:
    with pytest.raises(DTypeError, match="F8_E8M0"):
        opdsl.load(io.BytesIO(header('{"x": {"dtype": "F8_E8M0", "shape": [64], "data_offsets": [0, 64]}}')))


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(MissingDependencyError, match=r"pip install \"opdsl\[safetensors\]"):
        opdsl.load(io.BytesIO(b""))


def saved_with(structure: str, **metadata: str) -> io.BytesIO:
    header = {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    header["__metadata__"] = {"opdsl.structure": structure, **metadata}  # type: ignore[assignment]
    text = json.dumps(header).encode()
    return io.BytesIO(len(text).to_bytes(8, "little") + text + b"\0" * 8)


@pytest.mark.parametrize(
    "structure", ["[" * 100_000, '{"list": [' * 50_000, "{" * 10, '{"list": 3}', '{"other": []}', "3.5.5"]
)
def test_metadata_that_is_damaged_is_refused(structure: str) -> None:
    with pytest.raises(FileFormatError):
        opdsl.load(saved_with(structure))


def test_complex_numbers_are_of_pairs_of_doubles() -> None:
    assert opdsl.load(saved_with('{"tensor": "x"}')).tolist() == [0.0, 0.0]
    with pytest.raises(FileFormatError, match="no pairs of float64"):
        opdsl.load(saved_with('{"tensor": "x"}', **{"opdsl.complex128": '["x"]'}))
