"""Tests of absurd arguments: they raise errors of opdsl and do not crash."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

import opdsl
from opdsl.errors import ArgumentError, DeviceError, InterchangeError, ShapeError


def nested(depth: int) -> list[Any]:
    value: list[Any] = [3]
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "call",
    [
        opdsl.ones,
        opdsl.empty,
        lambda sizes: opdsl.full(sizes, 1.0),
        lambda sizes: opdsl.ones(3).reshape(sizes),
        lambda sizes: opdsl.ones(3).expand(sizes),
        lambda sizes: opdsl.ones(3).permute(sizes),
        lambda sizes: opdsl.ones(3).sum(sizes),
        lambda sizes: opdsl.ones(3).repeat(sizes),
        lambda sizes: opdsl.tensor_split(opdsl.ones(3), sizes),
        lambda index: opdsl.ones(3)[index],
    ],
)
@pytest.mark.parametrize("has_plans", [False, True])
def test_sizes_that_are_nested_deeply_are_refused(call: Callable[[Any], object], has_plans: bool) -> None:
    for size in range(3, 12) if has_plans else ():  # calls that have a plan look it up by the form of a list
        opdsl.ones(size), opdsl.ones([size, 2]), opdsl.full([size, 2], 1.0), opdsl.ones(2 * size).reshape([2, size])
    for sizes in (nested(100_000), (nested(100_000),)):
        with pytest.raises(ArgumentError) as caught:
            call(sizes)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "text", ["cpu:" + "9" * 5_000, "cuda:" + "9" * 30, "cpu:128", "cpu:-1", "cpu:01", "cpu:", "cpu:\uff11"]
)
def test_numbers_that_no_device_has_are_refused(text: str) -> None:
    for call in (opdsl.device, lambda device: opdsl.ones(2, device=device)):
        with pytest.raises(DeviceError) as caught:
            call(text)
        assert len(str(caught.value)) < 300


def test_the_equation_of_einsum_is_read_in_linear_time() -> None:
    start = time.process_time()
    with pytest.raises(ShapeError, match="number of subscripts"):
        opdsl.einsum("i" * 1_000_000 + "->", opdsl.ones(3))
    assert time.process_time() - start < 20


def test_types_of_the_same_name_are_told_apart() -> None:
    """A message names the module of a type that is called like one of opdsl's."""
    other = type("Tensor", (), {"__module__": "elsewhere"})()
    for call in (lambda: opdsl.zeros(2).copy_(other), lambda: opdsl.stack([other]), lambda: opdsl.add(1, 1, out=other)):
        with pytest.raises(ArgumentError, match=r"elsewhere\.Tensor"):
            call()


class Producer:
    """DLPack producer with a wrong capsule or device."""

    def __init__(self, capsule: object, device: Any = (1, 0)) -> None:
        self.capsule = capsule
        self.device = device

    def __dlpack__(self, **options: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


@pytest.mark.parametrize("capsule", [None, 1, "text", (1, 2), object()])
def test_producers_of_no_capsule_are_refused(capsule: object) -> None:
    with pytest.raises(InterchangeError, match="gives a capsule"):
        opdsl.from_dlpack(Producer(capsule))


@pytest.mark.parametrize("device", [None, 1, (1,), ("a", 0), (1, 0, 0), (1, None), (99, 0)])
def test_producers_on_no_device_are_refused(device: object) -> None:
    with pytest.raises(InterchangeError):
        opdsl.from_dlpack(Producer(None, device))


def test_a_copy_of_a_tensor_requires_grad_where_it_does() -> None:
    x = opdsl.ones(2, requires_grad=True)
    for original in (x, x * 2, x[:1]):
        copied = copy.copy(original)
        assert copied.requires_grad and copied.is_leaf and copied.data_ptr() == original.data_ptr()
        (copied * 3).sum().backward()
        assert copied.grad.tolist() == [3.0] * len(original)
    assert x.grad is None
    assert not copy.copy(opdsl.ones(2)).requires_grad


def test_a_compiled_function_is_copied_deeply() -> None:
    compiled = opdsl.compile(lambda x: x * 2)
    compiled(opdsl.ones(2))
    copied = copy.deepcopy({"function": compiled})["function"]
    assert copied is not compiled and copied(opdsl.ones(3)).tolist() == [2.0] * 3
    assert not copy.deepcopy(compiled).explain().programs


@pytest.mark.parametrize("name", ["tanh", "add", "sum", "softmax", "reshape", "__add__", "add_"])
def test_methods_are_pickled_by_name(name: str) -> None:
    method = getattr(opdsl.Tensor, name)
    pickled = pickle.dumps(method)
    assert pickle.loads(pickled) is method
    method(opdsl.ones(2, 2), *{"softmax": (0,), "reshape": (4,)}.get(name, (2,) if "add" in name else ()))
    assert pickle.loads(pickled) is method and pickle.dumps(method) == pickled


def test_a_pickled_method_is_read_before_there_is_a_tensor() -> None:
    code = f"import pickle; print(pickle.loads({pickle.dumps(opdsl.Tensor.tanh)!r}).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "tanh\n", done.stderr
