"""Tests of the registry: kernels by library, newest first, with definitions and implementations in any order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.dispatch import Registry
from opdsl.errors import DispatchKeyError, KernelSignatureError, MissingKernelError


def declare(library: Library) -> Callable[[Tensor], Tensor]:
    @library.op
    def shift(self: Tensor) -> Tensor: ...

    return shift


def by(value: float) -> Callable[[Tensor], Tensor]:
    def kernel(self: Tensor) -> Tensor:
        return self + value

    return kernel


@pytest.fixture
def one() -> Tensor:
    return opdsl.tensor([1.0])


def test_a_library_implements_what_another_defines(one: Tensor) -> None:
    with Library("testregistry") as defining, Library("other") as extending:
        shift = declare(defining)
        extending.impl("testregistry::shift", "CPU")(by(1.0))
        assert shift(one).item() == 2.0


def test_the_newest_kernel_wins_and_closing_restores_the_one_before(one: Tensor) -> None:
    with Library("testregistry") as defining:
        shift = declare(defining)
        defining.impl("shift", "CPU")(by(1.0))
        with Library("other") as newer:
            newer.impl("testregistry::shift", "CPU")(by(2.0))
            assert shift(one).item() == 3.0
        assert shift(one).item() == 2.0


def test_an_existing_operator_of_aten_is_implemented_anew_and_restored(one: Tensor) -> None:
    assert opdsl.add(one, one).item() == 2.0
    with Library("testregistry") as library:

        @library.impl("aten::add.Tensor", "CPU")
        def add_seven(self: Tensor, other: Tensor, alpha: float) -> Tensor:
            return self * 7.0

        assert opdsl.add(one, one).item() == 7.0
    assert opdsl.add(one, one).item() == 2.0


def test_order_of_definition_and_implementations_does_not_matter(one: Tensor) -> None:
    """The dispatch table does not depend on the order in which an operator and its kernels for different keys are
    registered.
    """
    tables = set()
    for order in permutations(("define", "CPU", "CUDA", "CompositeExplicitAutograd")):
        registry = Registry()
        with Library("testregistry", registry=registry) as library:
            kernel = by(1.0)
            for dim in order:
                if dim == "define":
                    declare(library)
                else:
                    library.impl("shift", dim)(kernel)
            table = opdsl.DispatchTable.of(registry.operator("testregistry::shift").registrations, registry.fallbacks)
            tables.add(tuple((key.name, entry.reason, entry.registered_at) for key, entry in table.rows()))
    assert len(tables) == 1


def test_what_nobody_defines_is_listed_by_name() -> None:
    registry = Registry()
    with Library("testregistry", registry=registry) as library:
        library.impl("nowhere::absent", "CPU")(by(1.0))
        assert [(implementation.name, implementation.key.name) for implementation in registry.dangling()] == [
            ("nowhere::absent", "CPU")
        ]
    assert registry.dangling() == []


def test_what_is_defined_does_not_dangle() -> None:
    registry = Registry()
    with Library("testregistry", registry=registry) as library:
        library.impl("shift", "CPU")(by(1.0))
        declare(library)
        assert registry.dangling() == []


def test_an_operator_that_is_taken_back_leaves_its_implementations_dangling() -> None:
    registry = Registry()
    with Library("other", registry=registry) as extending:
        extending.impl("testregistry::shift", "CPU")(by(1.0))
        with Library("testregistry", registry=registry) as defining:
            declare(defining)
        assert [implementation.name for implementation in registry.dangling()] == ["testregistry::shift"]


def test_a_signature_that_does_not_fit_is_refused_at_registration() -> None:
    with Library("testregistry") as library, pytest.raises(KernelSignatureError, match="'other' is no parameter"):
        declare(library)
        library.impl("shift", "CPU")(lambda other: other)


def test_a_signature_that_does_not_fit_is_refused_at_a_later_definition() -> None:
    registry = Registry()
    with Library("testregistry", registry=registry) as library:
        library.impl("shift", "CPU")(lambda other: other)
        with pytest.raises(KernelSignatureError, match="'other' is no parameter"):
            declare(library)
        assert "testregistry::shift" not in registry.operators


def test_a_refused_kernel_leaves_nothing(one: Tensor) -> None:
    with Library("testregistry") as library:
        shift = declare(library)
        with pytest.raises(KernelSignatureError):
            library.impl("shift", "CPU")(lambda other: other)
        with pytest.raises(MissingKernelError):
            shift(one)


def test_impl_without_a_key_is_refused() -> None:
    with pytest.raises(DispatchKeyError, match="names no dispatch key"):
        Library("testregistry").impl("shift")
