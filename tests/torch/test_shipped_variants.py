"""Tests of in-place and ``out=`` variants of shipped operators in torch, in processes without opdsl."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shipped import VARIANTS, install, make_project, run_blocked

REFERENCES = """
import torch, ported, ported.torch
ops = torch.ops.ported
def blended(x, w): return x + 2 * w
def weighed_softmax(x, w): return torch.softmax(x, -1) * w
torch.manual_seed(0)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project, and return a folder with what its wheel installs."""
    return install(make_project(tmp_path_factory.mktemp("shipped") / "project", source=VARIANTS))


def test_variants_write_tensors_and_count_versions(site: Path) -> None:
    program = """
LAYOUTS = (torch.clone, lambda x: x.t().clone().t(), lambda x: x.repeat_interleave(2, -1)[:, ::2])
for shape in [(1, 1), (1, 300), (5, 1), (40, 33), (500, 5)]:
    x, w = torch.randn(shape), torch.randn(shape[1:])
    for layout in LAYOUTS:
        for reference in (blended, weighed_softmax):
            target = layout(x)
            before = target._version
            assert getattr(ops, f"{reference.__name__}_")(target, w) is target and target._version > before
            torch.testing.assert_close(target, reference(x, w))
            target = layout(torch.zeros(shape))
            assert getattr(ops, reference.__name__)(x, w, out=target) is target
            torch.testing.assert_close(target, reference(x, w))
    least, most = torch.empty(2, shape[0])
    assert ops.extremes(x, out0=least, out1=most)[1] is most
    torch.testing.assert_close(most, x.amax(-1))
    ported.extremes(-x, out=(least, most))  # the package's functions take tensors, too
    torch.testing.assert_close(least, (-x).amin(-1))
    torch.testing.assert_close(ported.blended_(x.clone(), w), blended(x, w))
"""
    run_blocked(site, REFERENCES + program)


def test_the_laws_of_custom_operators_hold(site: Path) -> None:
    program = """
x, w, y, least, most = torch.randn(6, 7), torch.randn(7), torch.empty(6, 7), torch.empty(6), torch.empty(6)
for operator, arguments, named in [
    (ops.blended_, (x.clone(), w), {}),
    (ops.blended_, (x.clone().requires_grad_().clone(), w), {}),
    (ops.weighed_softmax_, (x.clone(), w), {}),
    (ops.weighed_softmax.out, (x, w), {"out": y}),
    (ops.mean_square.out, (x,), {"out": least}),
    (ops.extremes.out, (x,), {"out0": least, "out1": most}),
    (ops._write_blended_, (x.clone(), w), {}),
    (ops._write_weighed_softmax.out, (x, w), {"out": y}),
]:
    torch.library.opcheck(operator, arguments, named)
assert str(ops.blended_.default._schema) == "ported::blended_(Tensor(a!) self, Tensor other) -> Tensor(a!)"
"""
    run_blocked(site, REFERENCES + program)


def test_gradients_of_inplace_variants_are_those_of_torch(site: Path) -> None:
    program = """
for reference in (blended, weighed_softmax):
    x, w = torch.randn(4, 6, requires_grad=True), torch.randn(6, requires_grad=True)
    target = x * 3
    written = getattr(ops, f"{reference.__name__}_")(target, w)
    ours = torch.autograd.grad(written.square().sum(), (x, w))
    theirs = torch.autograd.grad(reference(x * 3, w).square().sum(), (x, w))
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
"""
    run_blocked(site, REFERENCES + program)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("ops.blended_(leaf, w)", "a leaf Variable that requires grad is being used in an in-place operation"),
        (
            "ops.blended(leaf, w, out=y)",
            "ported::blended.out: functions with out=... arguments don't support automatic",
        ),
        ("ops.blended(x, w, out=y[:3])", "ported::blended.out: out has the shape (3, 6), and the result (4, 6)."),
        (
            "ops.blended(x, w, out=y.double())",
            "ported::blended.out: out has the dtype float64, and the result float32.",
        ),
        ("ops.blended_(x, x[0])", "ported::blended_: self is written, and overlaps other. Pass a copy of other."),
        (
            "ops.blended(x, w, out=y[:, :1].expand(4, 6))",
            "ported::blended.out: out may have several elements at one ad",
        ),
    ],
    ids=["leaf", "out", "shape", "dtype", "overlap", "expanded"],
)
def test_calls_that_cannot_write_are_refused(site: Path, call: str, expected: str) -> None:
    program = f"""
x, w, y, leaf = torch.ones(4, 6), torch.ones(6), torch.ones(4, 6), torch.ones(4, 6, requires_grad=True)
try:
    {call}
except (RuntimeError, TypeError, ValueError) as error:
    print(error)
assert (x == 1).all() and (y == 1).all()
"""
    assert run_blocked(site, REFERENCES + program).startswith(expected)


def test_tensors_saved_for_backward_are_protected(site: Path) -> None:
    program = """
saved = torch.randn(4, 6, requires_grad=True).exp()
ops.blended_(saved, torch.ones(6))
try:
    saved.sum().backward()
except RuntimeError as error:
    print(error)
"""
    assert "has been modified by an inplace operation" in run_blocked(site, REFERENCES + program)


WRITING = """
def write(x, w):
    z = x * 2
    ops.blended_(z, w)
    y = torch.empty_like(z)
    ops.weighed_softmax(z, w, out=y)
    return z + y
def expected(x, w):
    z = blended(x * 2, w)
    return z + weighed_softmax(z, w)
"""


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs_write_tensors_of_all_sizes(site: Path, backend: str) -> None:
    program = f"""
torch._dynamo.config.error_on_recompile = True
compiled = torch.compile(write, backend={backend!r}, dynamic=True)
for shape in [(5, 7), (60, 9), (3, 500)]:
    x, w = torch.randn(shape), torch.randn(shape[1:])
    torch.testing.assert_close(compiled(x, w), expected(x, w))
"""
    run_blocked(site, REFERENCES + WRITING + program)


def test_gradients_through_compiled_graphs(site: Path) -> None:
    program = """
compiled = torch.compile(lambda x, w: ops.blended_(x * 2, w).square().sum(), backend="aot_eager", dynamic=True)
x, w = torch.randn(5, 7, requires_grad=True), torch.randn(7, requires_grad=True)
ours = torch.autograd.grad(compiled(x, w), (x, w))
theirs = torch.autograd.grad(blended(x * 2, w).square().sum(), (x, w))
for one, other in zip(ours, theirs):
    torch.testing.assert_close(one, other)
"""
    run_blocked(site, REFERENCES + program)


def test_packages_of_aotinductor_write(site: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "model.pt2")
    export = f"""
class Model(torch.nn.Module):
    def forward(self, x, w):
        return write(x, w)
shapes = ({{0: torch.export.Dim("rows", min=2, max=4096)}}, None)
program = torch.export.export(Model(), (torch.randn(6, 9), torch.randn(9)), dynamic_shapes=shapes)
torch._inductor.aoti_compile_and_package(program, package_path={path!r})
"""
    load = f"""
model = torch._inductor.aoti_load_package({path!r})
for count in (6, 200):
    x, w = torch.randn(count, 9), torch.randn(9)
    torch.testing.assert_close(model(x, w), expected(x, w))
"""
    run_blocked(site, REFERENCES + WRITING + export)
    run_blocked(site, REFERENCES + WRITING + load)


KINDS = """
from __future__ import annotations

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("ported")


@lib.op(inplace=True, out=True)
@formula
def scaled(self: Tensor, other: float, *, shift: float = 0.0) -> Tensor:
    return self * other + shift


@scaled.overload("Tensor", inplace=True, out=True)
@formula
def scaled_by_tensor(self: Tensor, other: Tensor, *, shift: float = 0.0) -> Tensor:
    return self * other + shift


@lib.op(inplace=True, out=True)
@formula
def positive(self: Tensor) -> Tensor:
    return self > 0


@lib.op(out=True)
@formula
def joined(tensors: list[Tensor]) -> Tensor:
    return opdsl.cat(tensors, 0)
"""

FORMS = """
[tool.opdsl.build.forms]
scaled = ["float32[n], 0.5", "float32[()], 0.5", "bfloat16[n], 0.5", "complex64[n], 0.5"]
"scaled.Tensor" = ["float32[n], float32[n]", "float32[n], float64[n]"]
positive = ["float32[n]"]
joined = ["[float32[n, d], float32[m, d]]"]
"""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a project of overloads, lists and several dtypes, and return a folder with what its wheel installs."""
    project = make_project(tmp_path_factory.mktemp("kinds") / "project", source=KINDS)
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().partition("[tool.opdsl.build.forms]")[0] + FORMS)
    return install(project)


def test_overloads_lists_and_converted_results_are_written(kinds: Path) -> None:
    program = """
import numpy
for make in (torch.as_tensor, numpy.asarray):
    x, y, z = make(torch.arange(5.0)), make(torch.zeros(5)), make(torch.arange(5.0))
    assert ported.scaled(x, 2.0, shift=1.0, out=y) is y and (y == 2 * x + 1).all()
    assert (ported.scaled(x, x, out=y) == x * x).all()
    assert (ported.scaled_(z, 3.0) == 3 * x).all()
    assert (ported.scaled_(z, x + 1) == 3 * x * (x + 1)).all()
    assert (ported.scaled_(z, make(torch.ones(5).double())) == 3 * x * (x + 1)).all()  # the result is float64
    assert (ported.positive_(z) == (x > 0)).all()
    one, block, parts = make(torch.tensor(2.0)), make(torch.zeros(6, 3)), [make(torch.ones(k, 3)) for k in (2, 4)]
    assert ported.scaled_(one, 3.0) is one and one == 6
    assert (ported.joined(parts, out=block) == 1).all()
    try:
        ported.joined([block[:2], parts[1]], out=block)
    except ValueError as error:
        print(error)
"""
    refusal = "ported::joined.out: out is written, and overlaps tensors. Pass a copy of tensors."
    assert run_blocked(kinds, REFERENCES + program).splitlines() == [refusal] * 2


def test_narrow_and_conjugate_tensors_are_written(kinds: Path) -> None:
    program = """
b, c = torch.randn(9).bfloat16(), torch.randn(9, dtype=torch.complex64)
torch.testing.assert_close(ops.scaled_(b.clone(), 3.0), b * 3)
torch.testing.assert_close(ops.scaled(b, 3.0, out=torch.empty_like(b)), b * 3)
target = c.clone().conj()
torch.testing.assert_close(ops.scaled_(target, 3.0), c.conj() * 3)
torch.testing.assert_close(ops.scaled(c, 3.0, out=target), c * 3)
assert target.is_conj()
with torch.inference_mode():
    assert (ops.scaled_(torch.ones(5), 3.0) == 3).all()
parameter = torch.nn.Parameter(torch.ones(5))
with torch.no_grad():
    before = parameter._version
    assert (ops.scaled_(parameter, 3.0) == 3).all() and parameter._version == before + 1
for operator, arguments, named in [
    (ops.scaled_.Tensor, (torch.ones(5), torch.ones(5)), {}),
    (ops.scaled.Tensor_out, (torch.ones(5), torch.ones(5)), {"shift": 1.0, "out": torch.ones(5)}),
    (ops.joined.out, ([torch.ones(2, 3), torch.ones(4, 3)],), {"out": torch.ones(6, 3)}),
]:
    torch.library.opcheck(operator, arguments, named)
"""
    run_blocked(kinds, REFERENCES + program)
