"""Fixtures that run commands in this process, and that remove the modules of users which a test has loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opdsl.aten import load
from opdsl.cli import main
from opdsl.declare.declaration import Declaration
from opdsl.declare.generated import declare_generated
from opdsl.dispatch import registry
from opdsl.dispatch.overrides.overriding import overrides, register_op_override

MY_OPS = '''
from __future__ import annotations

import opdsl
from opdsl import Array, Ints, Tensor, formula, op


@op
def affine(self: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``self @ weight.T (+ bias)``"""
    out = self @ weight.t()
    return out if bias is None else out + bias


@op(inplace=True, out=True, tags="pointwise")
@formula
def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``, without overflow."""
    z = beta * self
    return (opdsl.maximum(z, opdsl.tensor(0.0)) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


@op(out=True)
def upsample(self: Tensor, output_size: Ints[1]) -> Tensor: ...


@upsample.meta
def upsample_meta(ctx, self, output_size):
    ctx.set_output(0, (*self.shape[:2], output_size[0]), like=self)


@upsample.out_kernel("CPU")
def upsample_cpu(self: Array, output_size, out: Array) -> None:
    out[:] = 0
'''

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Return a function that runs a command in this process; unexpected exceptions propagate to the test."""

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, prog_name="opdsl", catch_exceptions=False)

    return invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a working directory for users' modules; afterwards unload the modules and close their libraries."""
    load()
    declare_generated(registry, "aten")  # a command may declare these, and no module of a user does
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    modules, operators = set(sys.modules), set(registry)
    yield tmp_path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
    for operator in set(registry) - operators:
        if isinstance(operator.declaration, Declaration):
            operator.declaration.library.close()


def is_small(self):
    return self.numel() < 4


def exp_of_small(self):
    return self


@pytest.fixture
def noted_override() -> Iterator[None]:
    """Register an override of ``exp`` at CPU by the DSL ``mine`` for one test."""
    load()
    override = register_op_override("mine", "aten", "exp", "CPU", is_small, exp_of_small)
    yield
    overrides.remove(override)


@pytest.fixture
def my_ops(folder: Path) -> Path:
    """Write a module with a composite, a pointwise and a structured operator, and return its path."""
    file = folder / "my_ops.py"
    file.write_text(MY_OPS, encoding="utf-8")
    return file
