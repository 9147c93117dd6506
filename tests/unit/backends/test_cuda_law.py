"""Tests that law 6, CUDA agrees with the CPU, detects differences, on an emulated driver."""

# Declarations have no bodies:
# mypy: disable-error-code="empty-body, no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.testing.laws.devices import disagreements
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject, operator_of
from tests.emulation.driver import EmulatedDriver


def problems(function: Any) -> list[str]:
    operator = operator_of(function)
    subject = Subject(operator, [])
    subject.samples = fitting(samples_of(operator), subject.function)
    assert subject.samples
    return list(disagreements(subject, opdsl.Device("cuda:0")))


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("testcudalaw") as library:
        yield library


@pytest.mark.parametrize(
    "name",
    [
        "add.Tensor",
        "relu_",
        "add.out",
        "view",
        "empty_like",
        "zeros",
        "equal",
        "tensor_split.tensor_indices_or_sections",
        "linspace.Tensor_Tensor",
    ],
)
def test_operators_agree(cuda: EmulatedDriver, name: str) -> None:
    packet, _, overload = name.partition(".")
    function = getattr(getattr(opdsl.ops.aten, packet), overload or "default")
    assert problems(function) == []


def declared(lib: Library, on_cuda: Any) -> Any:
    @lib.op
    def shifted(self: Tensor) -> Tensor: ...

    @shifted.kernel("CPU")
    def shifted_cpu(self):
        return self + 1

    shifted.kernel("CUDA")(on_cuda)
    return shifted


def test_other_elements_are_found(cuda: EmulatedDriver, lib: Library) -> None:
    def shifted_cuda(self):
        return self + 2

    assert "instead of" in problems(declared(lib, shifted_cuda))[0]


def test_last_digits_are_not(cuda: EmulatedDriver, lib: Library) -> None:
    def shifted_cuda(self):
        return self + (1 + 1e-7)

    assert problems(declared(lib, shifted_cuda)) == []


def test_other_strides_are_found(cuda: EmulatedDriver, lib: Library) -> None:
    def shifted_cuda(self):
        return (self + 1).t().contiguous().t() if self.ndim == 2 else self + 1

    assert any("the strides" in problem for problem in problems(declared(lib, shifted_cuda)))


def test_an_error_on_one_side_is_found(cuda: EmulatedDriver, lib: Library) -> None:
    def shifted_cuda(self):
        opdsl.check(self.ndim < 3, "too many")
        return self + 1

    result = problems(declared(lib, shifted_cuda))
    assert result and all("the CPU does not raise, cuda:0 raises ShapeError" in problem for problem in result)


def test_a_kernel_that_is_missing_is_found(cuda: EmulatedDriver, lib: Library) -> None:
    @lib.op
    def alone(self: Tensor) -> Tensor: ...

    @alone.kernel("CPU")
    def alone_cpu(self):
        return self + 1

    assert "raises MissingKernelError" in problems(alone)[0]


def test_what_is_written_is_compared(cuda: EmulatedDriver, lib: Library) -> None:
    @lib.op
    def set_(self: Tensor[opdsl.Alias("a", write=True)]) -> Tensor[opdsl.Alias("a", write=True)]: ...

    @set_.kernel("CPU")
    def set_cpu(self):
        return self.fill_(1)

    @set_.kernel("CUDA")
    def set_cuda(self):
        return self.fill_(2)

    assert any("tensor 0 afterwards" in problem for problem in problems(set_))
