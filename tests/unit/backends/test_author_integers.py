"""Tests of author kernels on 64-bit unsigned integers: exact, or refused where numba computes something else."""

from __future__ import annotations

import numpy
import pytest

import opdsl
from opdsl import Array, Library, Tensor, errors

LARGE = 2**63 + 2**40 + 7
NEXT = LARGE + 2

# Expressions of x, y (large, and the next but one number) and n = 5 (a signed argument), with Python's results modulo
# 2**64.
EXACT = {
    "x + y": (LARGE + NEXT) % 2**64,
    "y - x": 2,
    "x - 1": LARGE - 1,
    "x + n": LARGE + 5,
    "x * 3": LARGE * 3 % 2**64,
    "(x - 1) * 2 + n": ((LARGE - 1) * 2 + 5) % 2**64,
    "x & 255": LARGE & 255,
    "x ^ 1": LARGE ^ 1,
    "x >> 3": LARGE >> 3,
    "x << 1": (LARGE << 1) % 2**64,
    "x // numpy.uint64(3)": LARGE // 3,
    "x % numpy.uint64(1000)": LARGE % 1000,
    "min(x, y)": LARGE,
    "1 if x < y else 0": 1,
    "1 if x == y - numpy.uint64(2) else 0": 1,
    "1 if x > 0 else 0": 1,
    "1 if x != 9007199254740991 else 0": 1,
    "1 if numpy.uint64(x - 1) > y else 0": 0,
    "numpy.uint64(n) + x": LARGE + 5,
    "abs(x)": LARGE,
}

REFUSED = {
    "1 if x > n else 0": "'gt' of uint64",
    "1 if x == 9223372036854775807 else 0": "'eq' of uint64",
    "x // 2": "'floordiv' of uint64",
    "x % 10": "'mod' of uint64",
    "min(x, n)": "'min' of uint64",
    "1 if x - 1 > 5 else 0": "'gt' of uint64",
    "(x + n) // 2": "'floordiv' of uint64",
    "(x + n) >> 1": "'rshift' of uint64",
    "(x - 1) * 0.5": "becomes a float",
    "max(x - 1, 3)": "passed to a function",
    "x if n > 3 else n": "is uint64 here and a signed integer elsewhere",
}


def run(expression: str, folder) -> int:
    """Compile a kernel for an expression, and return its result."""
    path = folder / "kernel.py"
    path.write_text(f"def kernel(self, other, n, out):\n    x, y = self[0], other[0]\n    out[0] = {expression}\n")
    namespace = {"numpy": numpy, "__name__": "kernel"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with Library("author_integers") as lib:

        @lib.op
        def computed(self: Tensor, other: Tensor, n: int) -> Tensor: ...

        @computed.meta
        def computed_meta(ctx, self):
            ctx.set_output(0, self.shape, like=self)

        computed.out_kernel("CPU")(namespace["kernel"])
        x, y = (opdsl.from_numpy(numpy.array([number], "u8")) for number in (LARGE, NEXT))
        return int(computed(x, y, 5).numpy()[0])


@pytest.mark.parametrize("expression", EXACT)
def test_what_is_computed_is_exact(expression: str, tmp_path) -> None:
    assert run(expression, tmp_path) == EXACT[expression]


@pytest.mark.parametrize("expression", REFUSED)
def test_what_numba_computes_otherwise_is_refused(expression: str, tmp_path) -> None:
    with pytest.raises(errors.KernelCompileError, match=REFUSED[expression]) as caught:
        run(expression, tmp_path)
    assert "numpy.uint64(1)" in str(caught.value)
    assert f"out[0] = {expression}" in str(caught.value)


def scaled(value: Array, by: Array) -> int:
    return value[0] // by[0]


def test_other_dtypes_and_functions_that_are_called() -> None:
    with Library("author_integers") as lib:

        @lib.op
        def halved(self: Tensor, by: Tensor) -> Tensor: ...

        @halved.meta
        def halved_meta(ctx, self):
            ctx.set_output(0, self.shape, like=self)

        @halved.out_kernel("CPU")
        def halved_cpu(self: Array, by: Array, out: Array) -> None:
            out[0] = 0
            if self[0] > 0:
                out[0] = scaled(self, by)

        for dtype in ("i8", "u4", "i4", "f8"):
            numbers = numpy.array([9], dtype)
            assert halved(opdsl.from_numpy(numbers), opdsl.from_numpy(numpy.array([2], "i8"))).tolist() == [4]
        numbers = opdsl.from_numpy(numpy.array([9], "u8"))
        assert halved(numbers, opdsl.from_numpy(numpy.array([2], "u8"))).tolist() == [4]
        with pytest.raises(errors.KernelCompileError, match=r"scaled .*'floordiv' of uint64"):
            halved(numbers, opdsl.from_numpy(numpy.array([2], "i8")))
