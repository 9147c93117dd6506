"""Tests of wheels of compiled operators in torch, in processes where opdsl cannot be imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shipped import execute, install, make_project, run_blocked

FORMS = ("float32[n, d]", "float32[n, d], 2.0", "bfloat16[n, d]", "float32[n, d].order(1, 0)")

REFERENCES = """
import torch, ported.torch
ops = torch.ops.ported
def ported_swish(x, beta=1.0): return x * torch.sigmoid(beta * x)
def mean_square(x, dim=-1, keepdim=False): return x.square().mean(dim, keepdim)
def weighed_softmax(x, w): return torch.softmax(x, -1) * w
def running_total(x): return torch.tanh(x).cumsum(-1)
PAIRS = [
    (lambda x, w: ops.swish(x, 2.0), lambda x, w: ported_swish(x, 2.0)),
    (lambda x, w: ops.mean_square(x), lambda x, w: mean_square(x)),
    (lambda x, w: ops.weighed_softmax(x, w), weighed_softmax),
    (lambda x, w: ops.running_total(x), lambda x, w: running_total(x)),
]
def inputs(*shape):
    return torch.randn(shape, requires_grad=True), torch.randn(shape[1:], requires_grad=True)
torch.manual_seed(0)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project, and return a folder with what its wheel installs."""
    return install(make_project(tmp_path_factory.mktemp("shipped") / "project", FORMS))


def test_values_and_gradients_agree_with_torch(site: Path) -> None:
    program = """
for shape in [(1, 1), (1, 300), (2, 3), (5, 1), (40, 33), (3, 2000), (500, 5)]:
    for ours, theirs in PAIRS:
        arguments = inputs(*shape)
        copies = [one.detach().clone().requires_grad_() for one in arguments]
        found, wanted = ours(*arguments), theirs(*copies)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
        seed = torch.randn_like(wanted)
        found.backward(seed), wanted.backward(seed)
        for one, other in zip(arguments, copies):
            assert (one.grad is None) == (other.grad is None)
            if one.grad is not None:
                torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-3)
"""
    run_blocked(site, REFERENCES + program)


def test_gradients_know_shapes_that_they_do_not_read(site: Path) -> None:
    program = """
for shape in [(5, 7), (7,)]:
    x, y = torch.randn(5, 7, requires_grad=True), torch.randn(shape, requires_grad=True)
    ops.blended(x, y).sum().backward()
    torch.testing.assert_close(x.grad, torch.ones(5, 7))
    torch.testing.assert_close(y.grad, torch.full(shape, 2.0 if len(shape) == 2 else 10.0))
"""
    run_blocked(site, REFERENCES + program)


def test_the_laws_of_custom_operators_hold(site: Path) -> None:
    program = """
x, w = inputs(6, 7)
for operator, arguments in [(ops.swish, (x, 0.5)), (ops.weighed_softmax, (x, w)), (ops.running_total, (x,))]:
    torch.library.opcheck(operator, arguments)
"""
    run_blocked(site, REFERENCES + program)


def test_dtypes_that_numpy_lacks_and_other_layouts(site: Path) -> None:
    program = """
x = torch.randn(4, 6)
torch.testing.assert_close(ops.swish(x.bfloat16()), ported_swish(x.bfloat16()))
torch.testing.assert_close(ops.swish(x.t()), ported_swish(x.t()))
torch.testing.assert_close(ops.swish(x[:, ::2]), ported_swish(x[:, ::2]))
import ported
torch.testing.assert_close(ported.swish(x, 2.0), ported_swish(x, 2.0))  # the package's functions take tensors, too
"""
    run_blocked(site, REFERENCES + program)


def test_a_second_derivative_is_refused_in_one_sentence(site: Path) -> None:
    program = """
x = torch.randn(4, 6, requires_grad=True)
(first,) = torch.autograd.grad(ops.swish(x).sum(), x, create_graph=True)
try:
    first.sum().backward()
except TypeError as error:
    print(error)
"""
    assert "ported::swish_backward: this package has no gradient of it" in run_blocked(site, REFERENCES + program)


def test_compiled_graphs_take_all_sizes(site: Path) -> None:
    program = """
torch._dynamo.config.error_on_recompile = True
compiled = torch.compile(lambda x, w: ops.weighed_softmax(x * 2, w) + 1, backend="aot_eager", dynamic=True)
for shape in [(5, 7), (60, 9), (3, 5000)]:
    x, w = inputs(*shape)
    torch.testing.assert_close(compiled(x, w), weighed_softmax(x * 2, w) + 1, rtol=1e-4, atol=1e-5)
    compiled(x, w).sum().backward()
"""
    run_blocked(site, REFERENCES + program)


EXPORT = """
class Model(torch.nn.Module):
    def forward(self, x, w):
        return [ours(x, w) for ours, _ in PAIRS]
x, w = (one.detach() for one in inputs(6, 9))
rows = torch.export.Dim("rows", min=2, max=4096)
program = torch.export.export(Model(), (x, w), dynamic_shapes=({{0: rows}}, None))
torch._inductor.aoti_compile_and_package(program, package_path={path!r})
"""

LOAD = """
model = torch._inductor.aoti_load_package({path!r})
for count in (6, 200):
    x, w = (one.detach() for one in inputs(count, 9))
    for found, (_, theirs) in zip(model(x, w), PAIRS):
        torch.testing.assert_close(found, theirs(x, w), rtol=1e-4, atol=1e-5)
"""


def test_packages_of_aotinductor_run_without_opdsl(site: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "model.pt2")
    run_blocked(site, REFERENCES + EXPORT.format(path=path))
    run_blocked(site, REFERENCES + LOAD.format(path=path))


def test_packages_exported_with_opdsl_run_without_it_and_without_the_wheel(site: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "model.pt2")
    with_opdsl = f"import sys; sys.path.insert(0, {str(site.parent)!r})\n" + REFERENCES.replace(
        "import torch, ported.torch",
        "import torch, ported, opdsl.interop.torch\nopdsl.interop.torch.register(ported.lib)",
    )
    execute("-c", with_opdsl + EXPORT.format(path=path))
    run_blocked(site, REFERENCES.replace(", ported.torch", "") + LOAD.format(path=path))
