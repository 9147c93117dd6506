"""Tests of ``opdsl.get_kernel``: a newer kernel can call the one that it replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import opdsl
from opdsl import DispatchKeySet, Library, Tensor
from opdsl.errors import DispatchKeyError, KernelError, MissingKernelError, OptionError, UnknownOperatorError

CPU = DispatchKeySet("CPU")


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("testkernels") as library:
        yield library


@pytest.fixture
def shift(lib: Library) -> Callable[..., Tensor]:
    @lib.op
    def shift(self: Tensor, by: float = 1.0) -> Tensor: ...

    @shift.kernel("CPU")
    def shift_cpu(self, by):
        return self + by

    return shift


def test_it_is_called_with_a_key_set_and_the_operators_arguments(shift) -> None:
    kernel = opdsl.get_kernel("testkernels::shift", "CPU")
    assert kernel(CPU, opdsl.tensor([1.0]), by=2.0).item() == 3.0


def test_defaults_are_filled_in(shift) -> None:
    assert opdsl.get_kernel("testkernels::shift", "CPU").call_boxed(CPU, opdsl.tensor([1.0])).item() == 2.0


@pytest.mark.parametrize("meant", ["function", "overload", "method"])
def test_the_operator_itself_will_do(shift, meant: str) -> None:
    kernel = {
        "function": lambda: opdsl.get_kernel(shift, "CPU"),
        "overload": lambda: opdsl.get_kernel(opdsl.ops.testkernels.shift.default, opdsl.DispatchKey.CPU),
        "method": lambda: shift.get_kernel("CPU"),
    }[meant]()
    assert kernel(CPU, opdsl.tensor([1.0])).item() == 2.0


def test_a_newer_kernel_calls_the_one_that_it_replaces() -> None:
    original = opdsl.get_kernel("aten::exp", "CPU")
    with Library("testoverride") as library:

        @library.impl("aten::exp", "CPU")
        def exp_of_what_is_positive(keys: DispatchKeySet, self: Tensor) -> Tensor:
            return original(keys, self) if self.item() > 0 else opdsl.zeros((1,))

        assert opdsl.exp(opdsl.tensor([-1.0])).item() == 0.0
        assert opdsl.exp(opdsl.tensor([1.0])).item() == pytest.approx(2.718281, rel=1e-5)


def test_a_kernel_that_asks_for_the_key_set_receives_the_one_given(lib: Library) -> None:
    seen = []

    @lib.op
    def noting(self: Tensor) -> Tensor: ...

    @noting.kernel("CPU")
    def noting_cpu(keys: DispatchKeySet, self):
        seen.append(keys)
        return self

    dispatch_key_set = DispatchKeySet("CPU", "AutogradCPU")
    opdsl.get_kernel("testkernels::noting", "CPU")(dispatch_key_set, opdsl.tensor([1.0]))
    assert seen == [dispatch_key_set]


def test_a_composite_kernel_fills_the_row_of_a_backend(lib: Library) -> None:
    @lib.op
    def twice(self: Tensor) -> Tensor:
        return self + self

    assert opdsl.get_kernel(twice, "CUDA")(CPU, opdsl.tensor([2.0])).item() == 4.0


def test_a_kernel_stays_callable_under_newer_ones(shift, lib: Library) -> None:
    kernel = opdsl.get_kernel("testkernels::shift", "CPU")

    @lib.impl("shift", "CPU")
    def other(self: Tensor, by: float) -> Tensor:
        return self

    assert kernel(CPU, opdsl.tensor([1.0])).item() == 2.0


def test_a_kernel_that_was_taken_back_says_so(shift) -> None:
    with Library("testoverride") as library:

        @library.impl("testkernels::shift", "CPU")
        def other(self: Tensor, by: float) -> Tensor:
            return self

        kernel = opdsl.get_kernel("testkernels::shift", "CPU")
    with pytest.raises(KernelError, match="removed by its library"):
        kernel(CPU, opdsl.tensor([1.0]))


def test_a_kernel_of_a_closed_library_says_so() -> None:
    with Library("testclosed") as library:

        @library.op
        def same(self: Tensor) -> Tensor:
            return self

        kernel = opdsl.get_kernel(same, "CPU")
    with pytest.raises(RuntimeError, match="removed by its library"):
        kernel(CPU, opdsl.tensor([1.0]))


# The classes are those that torch.library.get_kernel raises.
@pytest.mark.parametrize(
    ("operator", "key", "ours", "theirs"),
    [
        ("testkernels::missing", "CPU", UnknownOperatorError, RuntimeError),
        ("testkernels::shift", "CUDA", MissingKernelError, RuntimeError),
        ("testkernels::shift", "Undefined", MissingKernelError, RuntimeError),
        ("testkernels::shift", "CompositeImplicitAutograd", DispatchKeyError, RuntimeError),
        ("testkernels::shift", "Nope", DispatchKeyError, ValueError),
        (3, "CPU", OptionError, ValueError),
    ],
)
def test_what_is_not_there_is_refused(shift, operator, key, ours, theirs) -> None:
    with pytest.raises(ours) as raised:
        opdsl.get_kernel(operator, key)
    assert isinstance(raised.value, theirs)
