"""Tests of author kernels: the arguments that they get, supported code, errors, and that loading them needs no
numba.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from opdsl.backends.cpu.author import author
from opdsl.errors import KernelCompileError, KernelError, NumberError
from opdsl.kernels.calls import ArraySpec, AuthorCall
from opdsl.runtime.dtype import bfloat16, bool_, complex128, float16, float32, float64, int64
from opdsl.scalar.narrow_values import widen

ROOT = Path(__file__).parents[3]
F64 = ArraySpec(float64, 1, "C")


def upsample(x: Any, output_size: Any, scale: Any, out: Any) -> None:
    ratio = output_size[0] / x.shape[2] if scale is None else scale
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            for i in range(out.shape[2]):
                out[n, c, i] = x[n, c, min(int(i / ratio), x.shape[2] - 1)]


def scaled(x: Any, factor: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        out[i] = x[i] * factor


def negated(x: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        out[i] = not x[i]


def reversed_copy(x: Any, out: Any) -> None:
    held = numpy.empty(x.shape[0])
    held[:] = x
    out[:] = held[::-1]


def chosen(x: Any, mode: Any, out: Any) -> None:
    out[0] = -x[0] if mode == "negative" else x[0]


def inverse(x: Any, out: Any) -> None:
    out[0] = 1 / x[0]


def refusing(x: Any, out: Any) -> None:
    if x[0] < 0:
        raise ValueError("the first element is negative")
    out[0] = x[0]


def refusing_with_a_value(x: Any, out: Any) -> None:
    if x[0] < 0:
        raise ValueError("negative", x[0])
    out[0] = x[0]


def unknown_attribute(x: Any, out: Any) -> None:
    out[0] = x.unknown


def total_of_two(pair: Any, out: Any) -> None:
    out[:] = pair[0] + pair[1]


def run(function: Any, arguments: list[Any], types: tuple[Any, ...], out: Any, out_type: ArraySpec = F64) -> Any:
    author(function, AuthorCall(types, (out_type,)))(*arguments, out)
    return out


def test_dimensions_tuples_and_none() -> None:
    image = torch.arange(12.0).reshape(2, 2, 3)
    spec = ArraySpec(float32, 3, "C")
    result = run(upsample, [image.numpy(), (7,), None], (spec, (int,), None), numpy.empty((2, 2, 7), "f4"), spec)
    assert result.tolist() == torch.nn.functional.interpolate(image, 7).tolist()


@pytest.mark.parametrize(("kind", "factor"), [(int, 3), (float, 2.5), (bool, True)])
def test_numbers(kind: type, factor: Any) -> None:
    assert run(scaled, [numpy.arange(3.0), factor], (F64, kind), numpy.empty(3)).tolist() == [0, factor, 2 * factor]


def test_complex_number() -> None:
    spec = ArraySpec(complex128, 1, "C")
    result = run(scaled, [numpy.array([1j]), 2 - 1j], (spec, complex), numpy.empty(1, complex), spec)
    assert result.tolist() == [1 + 2j]


def test_strided_arrays() -> None:
    spec = ArraySpec(float64, 1, "A")
    x, out = numpy.arange(8.0)[::2], numpy.zeros(8)
    run(scaled, [x, 1.0], (spec, float), out[1::2], spec)
    assert out.tolist() == [0, 0, 0, 2, 0, 4, 0, 6]


def test_bool_arrays() -> None:
    spec = ArraySpec(bool_, 1, "C")
    assert run(negated, [numpy.array([True, False])], (spec,), numpy.empty(2, "?"), spec).tolist() == [False, True]


def test_temporary_array_of_its_own() -> None:
    assert run(reversed_copy, [numpy.arange(3.0)], (F64,), numpy.empty(3)).tolist() == [2, 1, 0]


def test_string() -> None:
    assert run(chosen, [numpy.ones(1), "negative"], (F64, str), numpy.empty(1)).tolist() == [-1]


def test_string_that_is_not_ascii() -> None:
    with pytest.raises(NumberError, match="ASCII"):
        run(chosen, [numpy.ones(1), "négatif"], (F64, str), numpy.empty(1))


def test_list_of_arrays() -> None:
    types = ((F64, F64),)
    assert run(total_of_two, [[numpy.ones(2), numpy.ones(2)]], types, numpy.empty(2)).tolist() == [2, 2]


def test_sixteen_bit_arrays_are_seen_as_float32() -> None:
    halves = numpy.arange(8, dtype="f2")[::2]
    types = (ArraySpec(float16, 1, "A"), float)
    result = run(scaled, [halves, 1.5], types, numpy.zeros(4, "u2"), ArraySpec(bfloat16, 1, "C"))
    assert widen(result, "bfloat16").tolist() == [0, 3, 6, 9]


def test_division_by_zero_raises_nothing() -> None:
    assert run(inverse, [numpy.zeros(1)], (F64,), numpy.empty(1)).tolist() == [numpy.inf]


def test_what_the_kernel_raises() -> None:
    line = refusing.__code__.co_firstlineno + 2
    told = rf"refusing \({__file__}:{line}: raise ValueError\(.*\): ValueError: the first element is negative"
    with pytest.raises(KernelError, match=told) as caught:
        run(refusing, [-numpy.ones(1)], (F64,), numpy.empty(1))
    assert isinstance(caught.value.__cause__, ValueError)


def test_what_the_kernel_raises_with_values() -> None:
    with pytest.raises(KernelError) as caught:
        run(refusing_with_a_value, [-numpy.ones(1)], (F64,), numpy.empty(1))
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.args == ("negative", -1.0)


def test_kernel_works_after_it_has_raised() -> None:
    with pytest.raises(KernelError):
        run(refusing, [-numpy.ones(1)], (F64,), numpy.empty(1))
    assert run(refusing, [numpy.ones(1)], (F64,), numpy.empty(1)).tolist() == [1]


def test_kernel_that_does_not_compile() -> None:
    line = unknown_attribute.__code__.co_firstlineno + 1
    told = rf"unknown_attribute \({__file__}:{line}: out\[0\] = x.unknown\).*float64\[1C\].*unknown"
    with pytest.raises(KernelCompileError, match=told) as caught:
        run(unknown_attribute, [numpy.ones(1)], (F64,), numpy.empty(1))
    assert type(caught.value.__cause__).__module__.startswith("numba")


@pytest.mark.parametrize("arguments", [(), (numpy.ones(1),), (numpy.ones(1), 1.0), (1, numpy.ones(1))])
def test_wrong_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        author(inverse, AuthorCall((F64,), (F64,)))(*arguments)


def test_integers_that_do_not_fit() -> None:
    spec = ArraySpec(int64, 1, "C")
    with pytest.raises(OverflowError):
        run(scaled, [numpy.ones(1, "i8"), 1 << 63], (spec, int), numpy.empty(1, "i8"), spec)


PROGRAM = """
import sys
import numpy
from opdsl.backends.cpu.author import author
from opdsl.kernels.calls import ArraySpec, AuthorCall
from opdsl.runtime.dtype import float64

def inverse(x, out):
    out[0] = 1 / x[0]

out = numpy.empty(1)
author(inverse, AuthorCall((ArraySpec(float64, 1, "C"),), (ArraySpec(float64, 1, "C"),)))(2 * numpy.ones(1), out)
assert out[0] == 0.5
sys.exit(17 if "numba" in sys.modules else 0)
"""


def test_later_processes_load_it_without_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPDSL_CACHE", "1")
    codes = [subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, check=False).returncode for _ in range(2)]
    assert codes == [17, 0]
