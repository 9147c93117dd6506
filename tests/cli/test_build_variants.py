"""Tests of in-place and ``out=`` variants in wheels of compiled operators, on NumPy arrays where opdsl is missing."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from opdsl import Library, Tensor, formula
from opdsl.shipping.forms import parse_form
from opdsl.shipping.plans import ship
from opdsl.shipping.runtime.memory import Memory
from opdsl.shipping.tracing import Kernels, NotShippedError
from opdsl.shipping.variants import ship_variant, variants_of
from tests.shipped import VARIANTS, execute, install, make_project, run_blocked, targets_here

Run = Callable[..., Result]

SHAPES = [(1, 1), (1, 700), (2, 3), (5, 1), (0, 4), (9, 33), (400, 5), (2, 4000), (900, 800)]

ARRAYS = """
import numpy, ported
rng = numpy.random.default_rng(0)
def softmax(x, w):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) * w
def layouts(x):
    block = numpy.full((2 * x.shape[0] + 1, 2 * x.shape[1] + 1), 7, x.dtype)
    for memory in (x.copy(), x.copy("F"), x.astype(x.dtype.newbyteorder()), block[1::2, :-1:2], x[::-1].copy()[::-1]):
        memory[...] = x
        yield memory
        assert (block[::2] == 7).all() and (block[:, 1::2] == 7).all()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project, and return a folder with what its wheel installs."""
    return install(make_project(tmp_path_factory.mktemp("shipped") / "project", source=VARIANTS))


def test_variants_write_arrays_of_all_shapes_and_layouts(site: Path) -> None:
    program = """
for shape in SHAPES:
    x, w = rng.standard_normal(shape, dtype=numpy.float32), rng.standard_normal(shape[1:], dtype=numpy.float32)
    for name, wanted in (("weighed_softmax", softmax(x, w)), ("blended", x + 2 * w)):
        for target in layouts(x):
            assert getattr(ported, f"{name}_")(target, w) is target
            numpy.testing.assert_allclose(target, wanted, rtol=1e-4, atol=1e-5)
        for target in layouts(x):
            target[...] = 5
            assert getattr(ported, name)(x, w, out=target) is target
            numpy.testing.assert_allclose(target, wanted, rtol=1e-4, atol=1e-5)
        # Arguments of other layouts than outputs.
        getattr(ported, name)(x.copy("F"), w, out=target)
        numpy.testing.assert_allclose(target, wanted, rtol=1e-4, atol=1e-5)
    means = numpy.empty(shape[:1], numpy.float32)
    ported.mean_square(x, out=means)
    numpy.testing.assert_allclose(means, (x * x).mean(-1), rtol=1e-5)
    least, most = numpy.empty((2, *shape[:1]), numpy.float32)
    assert [array is wanted for array, wanted in zip(ported.extremes(x, out=(least, most)), (least, most))]
    assert (least == x.min(-1)).all() and (most == x.max(-1)).all()
"""
    run_blocked(site, f"{ARRAYS}\nSHAPES = {SHAPES}\n{program}")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "blended(x, y, out=z.astype('f8'))",
            "TypeError ported::blended.out: out has the dtype float64, and the result",
        ),
        (
            "blended(x, y, out=z[:2])",
            "ValueError ported::blended.out: out has the shape (2, 3), and the result (4, 3).",
        ),
        ("mean_square(x, out=z)", "ValueError ported::mean_square.out: out has the shape (4, 3), and the result (4,)."),
        ("blended(x, y, out=fixed)", "ValueError ported::blended.out: out is read-only."),
        ("blended_(fixed, y)", "ValueError ported::blended_: self is read-only."),
        ("blended(x, y, out=[1.0])", "TypeError ported::blended.out: out has to be an array of NumPy (got float)."),
        ("blended_([[1.0]], y)", "TypeError ported::blended_: self has to be an array of NumPy (got list)."),
        ("blended(x, y, out=x)", "ValueError ported::blended.out: out is written, and overlaps self."),
        ("blended(x, y, out=y)", "ValueError ported::blended.out: out is written, and overlaps other."),
        (
            "blended_(x, x[0])",
            "ValueError ported::blended_: self is written, and overlaps other. Pass a copy of other.",
        ),
        ("blended_(x[:3], x[1:])", "ValueError ported::blended_: self is written, and overlaps other."),
        ("blended_(x[::-1], x)", "ValueError ported::blended_: self is written, and overlaps other."),
        ("extremes(x, out=(m, m))", "ValueError ported::extremes.out: out1 is written, and overlaps out0."),
        ("extremes(x, out=m)", "TypeError ported::extremes.out: out has 1 arrays, and there are 2 results."),
        ("blended(x, y, out=spread)", "ValueError ported::blended.out: out may have several elements at one address."),
        (
            "blended_(x.astype('f8'), y)",
            "NotCompiledError ported::blended_: this package has no kernel for (self: floa",
        ),
        (
            "blended_(x[:1], y)",
            "NotCompiledError ported::blended_: this package has no kernel for (self: float32[1, n]",
        ),
    ],
)
def test_arguments_that_cannot_be_written_are_refused_before_a_write(site: Path, call: str, expected: str) -> None:
    program = f"""
import numpy, ported
x, y, z, m = (numpy.ones(shape, numpy.float32) for shape in ((4, 3), (4, 3), (4, 3), 4))
fixed = z.copy()
fixed.flags.writeable = False
spread = numpy.lib.stride_tricks.as_strided(z, (4, 3), (0, 4))
try:
    ported.{call}
except (TypeError, ValueError) as error:
    print(type(error).__name__, error)
assert all((array == 1).all() for array in (x, y, z, m, fixed))
"""
    assert run_blocked(site, program).startswith(expected)


def test_signatures_have_outputs(site: Path) -> None:
    program = "import inspect, ported; print(inspect.signature(ported.blended), inspect.signature(ported.blended_))"
    assert run_blocked(site, program).strip() == (
        "(self: 'Array', other: 'Array', *, out: 'Array | None' = None) -> 'Array' "
        "(self: 'Array', other: 'Array') -> 'Array'"
    )


def test_calls_of_variants_are_recorded(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", source=VARIANTS)
    script = tmp_path / "calls.py"
    script.write_text(
        "import opdsl, ported\n"
        "x = opdsl.ones(4, 5, 6, dtype=opdsl.float64)\n"
        "ported.mean_square(x, out=opdsl.empty(4, 5, dtype=opdsl.float64))\n"
    )
    target = targets_here()[0]
    execute("-m", "opdsl", "build", project, "--from", script, "--target", target, "-o", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = f"""
import os; os.environ["OPDSL_CPU"] = {target!r}
import numpy, ported
x = numpy.ones((2, 3, 4))
assert (ported.mean_square(x, out=numpy.empty((2, 3))) == 1).all() and (ported.mean_square(x) == 1).all()
"""
    run_blocked(tmp_path / "site", program)


def test_a_variant_whose_result_fits_no_form_is_left_out() -> None:
    with Library("fitting") as lib:

        @lib.op(inplace=True)
        @formula
        def raised(self: Tensor, other: Tensor) -> Tensor:
            return self + other

        operator, kernels = raised.operator, Kernels()
        forms = [parse_form(text, "forms") for text in ("float32[d], float32[n, d]", "float32[d], float32[d]")]
        variant = raised.variants["inplace"].operator
        assert variants_of(operator, [operator, variant]) == [variant]
        shipped = ship(operator, forms, kernels)
        assert ship_variant(variant, shipped, forms, kernels).forms == ("float32[d], float32[d]",)
        with pytest.raises(NotShippedError, match="its result does not fit the argument"):
            ship_variant(variant, shipped, forms[:1], kernels)


def test_overlaps_are_those_that_numpy_notices() -> None:
    rng, block = np.random.default_rng(0), np.zeros(64, np.int16)

    def view() -> np.ndarray:
        start, step = rng.integers(0, 32), rng.choice([-3, -1, 1, 2, 5])
        return block[start :: int(step)][: rng.integers(0, 9)]

    def memory(array: np.ndarray) -> Memory:
        address = array.__array_interface__["data"][0]
        return Memory(array.dtype.name, array.shape, array.strides, address, array.itemsize)

    outcomes = set()
    for _ in range(300):
        one, other = view(), view()
        overlaps = memory(one).overlaps(memory(other))
        assert overlaps == np.may_share_memory(one, other)
        outcomes.add(overlaps)
    assert outcomes == {True, False}
    windows = np.lib.stride_tricks.sliding_window_view(block, 3)
    arrays = [
        windows,
        windows[::3],
        windows[:, :1],
        windows[:0],
        block.reshape(8, 8).T,
        np.broadcast_to(block, (2, 64)),
    ]
    assert [memory(array).repeats_elements() for array in arrays] == [True, False, False, False, False, True]
