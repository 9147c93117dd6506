"""Tests of ``OPDSL_CPU``: kernels for a level of x86-64 instead of this machine's processor."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from opdsl.backends.cpu import processor
from opdsl.errors import ArgumentError

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are those of x86-64")

# Values are compared with NumPy's; registers are searched for in the assembly of a vectorizable loop.
RUN = """
import numpy, opdsl
from opdsl.backends.cpu import engine, processor
from opdsl.backends.cpu.author_compiler import numba

LOOP = '''
define void @loop(ptr noalias %to, ptr noalias %from) {
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %more, %next ]
  %source = getelementptr float, ptr %from, i64 %k
  %value = load float, ptr %source
  %sum = fadd float %value, 1.0
  %target = getelementptr float, ptr %to, i64 %k
  store float %sum, ptr %target
  %more = add i64 %k, 1
  %ends = icmp eq i64 %more, 1024
  br i1 %ends, label %done, label %next
done:
  ret void
}
'''
print("registers", *(name for name in ("xmm", "ymm", "zmm") if name in engine.assembly(LOOP)))
print("key", processor.processor().name in engine.environment())
print("numba", numba.config.CPU_NAME)
generator = numpy.random.default_rng(3)
for dtype in ("float16", "float32", "float64"):
    x = generator.standard_normal((5, 67)).astype(dtype)
    tolerance = 4 * numpy.finfo(dtype).eps
    numpy.testing.assert_allclose(opdsl.exp(opdsl.tensor(x)).numpy(), numpy.exp(x), rtol=tolerance)
    sums = opdsl.sum(opdsl.tensor(x), 1).numpy()
    numpy.testing.assert_allclose(sums, x.sum(1, dtype="d"), rtol=tolerance, atol=40 * tolerance)
    numpy.testing.assert_array_equal(opdsl.sort(opdsl.tensor(x), 1).values.numpy(), numpy.sort(x, 1))
image = generator.standard_normal((2, 1, 9, 9)).astype("f")
window = generator.standard_normal((2, 1, 3, 3)).astype("f")
views = numpy.lib.stride_tricks.sliding_window_view(image[:, 0], (3, 3), (1, 2))
expected = numpy.einsum("bijkl,okl->boij", views, window[:, 0])
result = opdsl.conv2d(opdsl.tensor(image), opdsl.tensor(window)).numpy()
numpy.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
"""


def run(code: str, level: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OPDSL_CPU": level, "OPDSL_QUICK_COMPILE": "1"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(("level", "widest"), [("x86-64", "xmm"), ("x86-64-v3", "ymm")])
def test_kernels_run_on_a_lower_level(level: str, widest: str) -> None:
    if level == "x86-64-v3" and "avx2" not in processor.processor().features:
        pytest.skip("this processor has no AVX2")
    done = run(RUN, level)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert lines["registers"].split()[-1] == widest
    assert lines["key"] == "True"
    assert lines["numba"] == level


def test_level_that_is_none_is_refused() -> None:
    done = run("import opdsl; opdsl.ones(2) + 1", "haswell2")
    assert done.returncode == 1
    assert "OPDSL_CPU: expected one of x86-64, x86-64-v2, x86-64-v3, x86-64-v4, got 'haswell2'." in done.stderr


def test_level_beyond_the_processor_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"x86-64-v3 needs avx, avx2, .*, which this processor .* lacks\. Name a"):
        processor._level_features("x86-64-v3", processor._level_features("x86-64-v2", processor.processor().features))


def test_no_level_of_another_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(ArgumentError, match="no levels of aarch64"):
        processor._level_features("x86-64", frozenset())


def test_doctor_names_the_level() -> None:
    code = "from opdsl.cli.probes import _llvm; found = _llvm('LLVM'); print(found.mark, found.detail, found.remedy)"
    assert "for x86-64-v2, by OPDSL_CPU: sse4.2 " in run(code, "x86-64-v2").stdout
    refused = run(code, "z80").stdout
    assert refused.startswith("Mark.OFF") and "OPDSL_CPU: expected" in refused
