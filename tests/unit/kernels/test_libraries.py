"""Tests of library functions of backends: their lookup, and the errors where a backend lacks them."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import opdsl
from opdsl.backends.cpu import fourier as cpu_fourier
from opdsl.backends.cpu import linear_algebra as cpu_linear_algebra
from opdsl.errors import MissingKernelError
from opdsl.kernels import fourier, linear_algebra
from opdsl.kernels.libraries import Fourier, LinearAlgebra


def functions_of(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if not name.startswith("_")]


@pytest.mark.parametrize(("protocol", "module"), [(LinearAlgebra, cpu_linear_algebra), (Fourier, cpu_fourier)])
def test_the_cpu_has_all_of_it(protocol: type, module: ModuleType) -> None:
    for name in functions_of(protocol):
        _, *expected = inspect.signature(getattr(protocol, name)).parameters
        assert list(inspect.signature(getattr(module, name)).parameters) == expected, name


def test_a_tensor_has_its_backends() -> None:
    assert linear_algebra(opdsl.ones(2)) is cpu_linear_algebra
    assert fourier(opdsl.ones(2)) is cpu_fourier


def test_what_a_backend_lacks_is_named() -> None:
    there = opdsl.ones(2, device="meta")
    with pytest.raises(MissingKernelError, match=r"there is no linear algebra on meta \(have cpu\).*x\.cpu\(\)"):
        linear_algebra(there)
    with pytest.raises(MissingKernelError, match=r"there are no Fourier transforms on meta \(have cpu\)"):
        fourier(there)
