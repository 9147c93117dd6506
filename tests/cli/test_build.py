"""Tests of ``opdsl build``: wheels of compiled operators, which run where opdsl is missing."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result

from opdsl import Library, Tensor, formula
from opdsl.backends.cpu.processor import target_named
from opdsl.errors import MissingDependencyError
from opdsl.shipping import linking
from opdsl.shipping.forms import parse_form
from opdsl.shipping.plans import ship
from opdsl.shipping.samples import Call, bound
from opdsl.shipping.tracing import Kernels
from tests.shipped import ROOT, execute, install, make_project, run_blocked, targets_here

Run = Callable[..., Result]

SHAPES = [(1, 1), (1, 700), (2, 3), (5, 1), (0, 4), (3, 0), (9, 33), (400, 5), (2, 4000), (900, 800)]

VALUES = """
import json, numpy, ported
rng = numpy.random.default_rng(0)
worst = {}
def check(name, found, wanted):
    assert found.dtype == numpy.float32 and found.shape == wanted.shape, (name, found.dtype, found.shape)
    worst[name] = max(worst.get(name, 0.0), float(abs(found - wanted).max(initial=0)))
for shape in SHAPES:
    x = rng.standard_normal(shape, dtype=numpy.float32)
    w = rng.standard_normal(shape[1:], dtype=numpy.float32)
    d = x.astype(numpy.float64)
    check("swish", ported.swish(x, 2.0), d / (1 + numpy.exp(-2 * d)))
    check("running_total", ported.running_total(x), numpy.tanh(d).cumsum(-1))
    if shape[1]:
        check("mean_square", ported.mean_square(x), (d * d).mean(-1))
        e = numpy.exp(d - d.max(-1, keepdims=True))
        check("weighed_softmax", ported.weighed_softmax(x, w), e / e.sum(-1, keepdims=True) * w)
print(json.dumps(worst))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project, and return a folder with what its wheel installs."""
    return install(make_project(tmp_path_factory.mktemp("shipped") / "project"))


def test_operators_of_a_wheel_agree_with_numpy_for_all_shapes(site: Path) -> None:
    worst = json.loads(run_blocked(site, f"SHAPES = {SHAPES}\n{VALUES}"))
    assert worst.keys() == {"swish", "running_total", "mean_square", "weighed_softmax"}
    assert worst["swish"] < 1e-5 and worst["mean_square"] < 1e-5 and worst["weighed_softmax"] < 1e-5
    assert worst["running_total"] < 2e-3  # sums of 4000 elements


def test_strided_arrays_and_lists_are_taken(site: Path) -> None:
    program = """
import numpy, ported
rng = numpy.random.default_rng(0)
x = rng.standard_normal((8, 6), dtype=numpy.float32)
numpy.testing.assert_allclose(ported.mean_square(x.T), (x * x).mean(0), rtol=1e-5)
numpy.testing.assert_allclose(ported.mean_square(x[::2, ::-1]), (x * x).mean(-1)[::2], rtol=1e-5)
swapped = x.astype(x.dtype.newbyteorder())
numpy.testing.assert_allclose(ported.mean_square(swapped), (x * x).mean(-1), rtol=1e-5)
# A form of its own, whose kernel reads tiles of the one and rows of the other array.
for shape in [(2, 3), (40, 33), (500, 5), (300, 2000)]:
    x, y = rng.standard_normal((2, *shape), dtype=numpy.float32)
    numpy.testing.assert_allclose(ported.blended(x.copy("F"), y), x + 2 * y, rtol=1e-6)
"""
    run_blocked(site, program)


def test_threads_give_the_same_bits(site: Path) -> None:
    program = """
import os; os.environ["OPDSL_NUM_THREADS"] = "{}"
import hashlib, numpy, ported
x = numpy.random.default_rng(0).standard_normal((3000, 700), dtype=numpy.float32)
results = ported.swish(x), ported.mean_square(x), ported.running_total(x)
print(hashlib.sha256(b"".join(result.tobytes() for result in results)).hexdigest())
"""
    assert run_blocked(site, program.format(1)) == run_blocked(site, program.format(3))


@pytest.mark.skipif(len(targets_here()) < 2, reason="there is one target for this machine")
def test_the_best_level_is_loaded(site: Path) -> None:
    program = "import ported; print(ported._package.library.level)"
    lower, best = targets_here()
    assert run_blocked(site, program).strip() == best
    assert run_blocked(site, f"import os; os.environ['OPDSL_CPU'] = {lower!r}\n{program}").strip() == lower


def test_a_processor_without_code_is_named(site: Path) -> None:
    program = """
import platform; platform.machine = lambda: "riscv64"
import numpy, ported
try:
    ported.running_total(numpy.ones((2, 2), numpy.float32))
except ImportError as error:
    print(error)
"""
    assert "this processor runs riscv64" in run_blocked(site, program)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("swish(x.astype(numpy.float64))", "ported::swish: this package has no kernel for (self: float64[n, n], beta"),
        ("mean_square(x, 0)", "(self: float32[n, n], dim: 0, keepdim: False). It was built for (float32[n, m])."),
        ("weighed_softmax(x, x[0, :2])", "weighed_softmax: this package has no kernel for"),
    ],
    ids=["dtype", "value", "shape"],
)
def test_forms_that_were_not_compiled_say_so(site: Path, call: str, expected: str) -> None:
    program = f"""
import numpy, ported
x = numpy.ones((2, 3), numpy.float32)
try:
    ported.{call}
except TypeError as error:
    print(error)
"""
    assert expected in run_blocked(site, program)


def test_signatures_and_documentation_are_those_of_the_declaration(site: Path) -> None:
    program = "import inspect, ported; print(inspect.signature(ported.swish), ported.swish.__doc__)"
    printed = run_blocked(site, program).strip()
    assert printed == "(self: 'Array', beta: 'float' = 1.0) -> 'Array' ``self * sigmoid(beta * self)``"


def test_the_record_of_the_wheel_names_each_file_with_its_digest(site: Path) -> None:
    about = site / "ported_operators-1.2.dist-info"
    with open(about / "RECORD", newline="") as file:
        rows = list(csv.reader(file))
    files = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    # Other tests import the package, so the interpreter may have written its bytecode there.
    assert {row[0] for row in rows} == {path for path in files if "__pycache__" not in path}
    for path, digest, size in rows:
        if digest:
            content = (site / path).read_bytes()
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={wanted}", str(len(content)))


def test_operators_that_run_python_are_left_out_with_a_reason(folder: Path, run: Run) -> None:
    project = make_project(folder / "project")
    done = run("build", str(project), "--target", targets_here()[0])
    assert "left out ported::negated_in_place: negated_in_place, which may do more than call operators" in done.stderr
    assert "left out ported::negated_: it writes arguments, and nothing shipped computes the same" in done.stderr


def test_a_script_is_recorded(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", swish=())
    script = tmp_path / "calls.py"
    script.write_text(
        "import opdsl, ported\n"
        "for rows, columns in ((4, 4), (4, 7)):\n"
        "    ported.swish(opdsl.ones(rows, columns, dtype=opdsl.float64), 0.5)\n"
        "ported.swish(opdsl.ones(5, 3).t())\n"
    )
    printed = execute(ROOT / "tests" / "cli" / "recorded.py", project, script)
    assert printed.splitlines() == ["float64[n0, n1], 0.5", "float32[n0, n1].order(1, 0)"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (('module = "ported"', 'modul = "ported"'), "[tool.opdsl.build] has no setting modul (it has dtypes"),
        (("swish = [", "swash = ["), "forms.swash: ported declares no operator of this name"),
        (("swish = [", "negated_ = ["), "forms.negated_: this operator writes its arguments. Name the forms of the"),
        (('"float32[n, d]"', '"float32(n, d)"'), "is neither a tensor nor a literal"),
        (('"float32[n, d]"', '"float31[n, d]"'), "there is no dtype float31"),
        (('"float32[n, d]"', '"float32[n, d], gamma=1.0"'), "does not fit ported::swish(Tensor self, float beta"),
        (("targets = [", 'targets = ["sparc", '), "target: expected one of x86-64, x86-64-v2"),
    ],
    ids=["setting", "operator", "variant", "syntax", "dtype", "argument", "target"],
)
def test_wrong_settings_are_refused(folder: Path, run: Run, change: tuple[str, str], expected: str) -> None:
    project = make_project(folder / "project")
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace(*change))
    done = run("build", str(project))
    assert done.exit_code == 1 and expected in done.stderr


def test_a_missing_linker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking.shutil, "which", lambda name: None)
    with pytest.raises(MissingDependencyError, match="Code for aarch64 is linked by one of"):
        linking.find_linker(target_named("aarch64"))


def test_numbers_are_converted_as_by_opdsl() -> None:
    from opdsl.kernels.iteration import numbers as ours
    from opdsl.runtime import ALL_DTYPES
    from opdsl.shipping.runtime import numbers

    values = [True, 0, -1, 300, 1 << 40, 0.5, -2.5, 1e30, 1e300, float("inf"), 1j, 3 + 0j]

    def outcome(function: Callable[..., object], value: object, dtype: object) -> object:
        try:
            return repr(function(value, dtype))
        except (ArithmeticError, TypeError, ValueError, RuntimeError):
            return "refused"

    for dtype in ALL_DTYPES:
        for number in values:
            assert outcome(ours.convert, number, dtype) == outcome(numbers.convert, number, dtype.name), (number, dtype)
            if not isinstance(number, complex):
                assert outcome(ours.wrap, number, dtype) == outcome(numbers.wrap, number, dtype.name), (number, dtype)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_numbers_are_rounded_to_narrow_dtypes(name: str) -> None:
    from opdsl.shipping.runtime.numbers import round_to

    values = np.random.default_rng(0).standard_normal(300) * np.logspace(-9, 6, 300)
    for number in [*values.tolist(), 65504.0, 7e4, float("inf"), -0.0]:
        with np.errstate(over="ignore"):
            wanted = float(np.array(number).astype(np.dtype(getattr(ml_dtypes, name, name))))
        np.testing.assert_equal(round_to(number, name), wanted)


def test_numbers_that_take_another_branch_get_plans_of_their_own() -> None:
    with Library("branches") as lib:

        @lib.op
        @formula
        def scaled(self: Tensor, factor: float) -> Tensor:
            return self * factor if factor > 1 else self - factor

        operator, one, both = scaled.operator, ["float32[n], 0.5"], ["float32[n], 0.5", "float32[n], 2.0"]
        counts = [
            len(ship(operator, [parse_form(text, "forms") for text in texts], Kernels()).function.plans[key])
            for texts in (one, both)
            for key in [("float32[n]", "float")]
        ]
    assert counts == [1, 2]


@pytest.mark.parametrize("count", [3, 4, 8])
def test_forms_of_many_sizes_are_compiled_for_the_smallest_ones(count: int) -> None:
    with Library("many") as lib:

        @lib.op
        @formula
        def mean(self: Tensor) -> Tensor:
            return self.mean(-1)

        form = parse_form(f"float32[{', '.join('abcdefgh'[:count])}]", "forms")
        function = ship(mean.operator, [form], Kernels()).function
    assert (f"float32[{', '.join(['n'] * count)}]",) in function.plans
    call = Call(bound(mean.operator, form), dict.fromkeys(form.names))
    assert min(max(tensor.shape) for (tensor,) in call.general()) == count + 1  # sizes from 2 on, which differ
