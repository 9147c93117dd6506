"""Tests that the caches of torch's compiler depend on the definitions of operators, so that edited operators
miss them.
"""

from __future__ import annotations

import linecache
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

import opdsl
from opdsl import Alias, Library, Tensor
from opdsl.interop.torch import digests, register

ROOT = Path(__file__).parents[3]

HEAD = """
import opdsl
from opdsl import Alias, Array, Library, Scalar, Tensor, formula
"""

# Declarations of an operator ``f``, with a number that changes the operator.
TEXTS = {
    "body": """
@lib.op
def f(self: Tensor) -> Tensor:
    return self * {n}
""",
    "global of a body": """
FACTOR = {n}

@lib.op
def f(self: Tensor) -> Tensor:
    return self * FACTOR
""",
    "function that a body calls": """
def scaled(x):
    return [x * factor for factor in ({n},)][0]

@lib.op
def f(self: Tensor) -> Tensor:
    return scaled(self)
""",
    "class": """
class Base:
    @staticmethod
    def factor():
        return {n}

class Config(Base):
    pass

@lib.op
def f(self: Tensor) -> Tensor:
    return self * Config.factor()
""",
    "object": """
class Config:
    __slots__ = ("factor",)

config = Config()
config.factor = {n}

@lib.op
def f(self: Tensor) -> Tensor:
    return self * config.factor
""",
    "tensor": """
table = opdsl.tensor([1.0, {n}])

@lib.op
def f(self: Tensor) -> Tensor:
    return self * table
""",
    "module": """
import sys, types
helpers = types.ModuleType("helpers")
helpers.factor = {n}

@lib.op
def f(self: Tensor) -> Tensor:
    return self * helpers.factor
""",
    "operator that a body calls": """
@lib.op
@formula
def g(self: Tensor) -> Tensor:
    return self * {n}

@lib.op
def f(self: Tensor) -> Tensor:
    return opdsl.ops.digested.g(self)
""",
    "method that a body calls": """
@lib.op(variants="function, method")
def digested_g(self: Tensor) -> Tensor:
    return self * {n}

@lib.op
def f(self: Tensor) -> Tensor:
    return self.digested_g()
""",
    "formula": """
@lib.op
@formula
def f(self: Tensor) -> Tensor:
    return self * {n}
""",
    "option": """
from opdsl import primitives

def plus(total, other):
    return total + other

means = primitives.fold(plus, init=0, finish=lambda total, count: total * {n} / count, promote="int_to_float")

@lib.op
@formula
def f(self: Tensor, dim: int) -> Tensor:
    return means(self, dim)
""",
    "row": """
from opdsl import primitives

scaled = primitives.rows(lambda self: self * {n}, promote="floating")

@lib.op
def f(self: Tensor, dim: int) -> Tensor: ...

@f.meta
def f_meta(ctx, self, dim):
    ctx.set_output(0, self.shape, like=self)
    return (dim,)

@f.formula
def f_row(self: Tensor) -> Tensor:
    return scaled(self)
""",
    "kernel": """
@lib.op
def f(self: Tensor) -> Tensor: ...

@f.kernel("CPU", "Meta")
def f_kernel(self):
    return self * {n}
""",
    "derivative": """
@lib.op
def f(self: Tensor) -> Tensor: ...

@f.kernel("CPU", "Meta")
def f_kernel(self):
    return self * 1.0

@f.derivative("self")
def f_derivative(grad):
    return grad * {n}
""",
    "shape function": """
@lib.op
def f(self: Tensor) -> Tensor: ...

@f.meta
def f_meta(ctx, self):
    ctx.set_output(0, (int({n}),), like=self)

@f.out_kernel("CPU")
def f_cpu(self: Array, out: Array) -> None:
    for at in range(out.shape[0]):
        out[at] = self[0]
""",
    "view": """
@lib.op
def f(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

@f.view_kernel
def f_view(self):
    return opdsl.runtime.View((int({n}),), (1,), 0)
""",
    "default": """
@lib.op
def f(self: Tensor, by: float = {n}) -> Tensor:
    return self * by
""",
    "argument that is passed on": """
@lib.op
@formula
def g(self: Tensor, by: float = 1.0) -> Tensor:
    return self * by

@lib.op
@opdsl.forward(g, by={n})
def f(self: Tensor) -> Tensor: ...
""",
    "transpose": """
@lib.op(kernel="CPU")
def f(self: Tensor) -> Tensor:
    return self * 1.0

@lib.op(kernel="CPU")
def g(self: Tensor) -> Tensor:
    return self * {n}

g.adjoint(f, "self")
""",
    "operator whose name is a text": """
@lib.op
@formula
def g(self: Tensor) -> Tensor:
    return self * {n}

@lib.op
def f(self: Tensor) -> Tensor:
    return getattr(opdsl.ops.digested, "g")(self)
""",
    "module that a body imports": """
import sys
import types

sys.modules["digested_constants"] = types.ModuleType("digested_constants")
sys.modules["digested_constants"].FACTOR = {n}

@lib.op
def f(self: Tensor) -> Tensor:
    from digested_constants import FACTOR
    return self * FACTOR
""",
}


def declared(text: str, number: float) -> tuple[Library, Any]:
    """Declare the operator of a source text, and return its library and the operator."""
    lib = Library("digested")
    source = HEAD + text.replace("{n}", repr(number))
    file = f"<digested {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"lib": lib, "__name__": "digested"}
    exec(compile(source, file, "exec"), names)
    return lib, names["f"].operator


def digest(text: str, number: float) -> str:
    lib, operator = declared(text, number)
    with lib:
        return digests.digest_of(operator)


@pytest.mark.parametrize("kind", TEXTS)
def test_digests_tell_what_was_edited(kind):
    assert digest(TEXTS[kind], 2.0) == digest(TEXTS[kind], 2.0)
    assert digest(TEXTS[kind], 2.0) != digest(TEXTS[kind], 3.0)


def test_a_module_that_nothing_has_imported_yet_is_told_by_its_file(tmp_path, monkeypatch):
    text = """
@lib.op
def f(self: Tensor) -> Tensor:
    import digested_file
    return self * digested_file.FACTOR
"""
    monkeypatch.syspath_prepend(tmp_path)
    results = []
    for number in (2.0, 3.0, 2.0):
        (tmp_path / "digested_file.py").write_text(f"FACTOR = {number}")
        results.append(digest(text, 1.0))
    assert results[0] == results[2] != results[1]
    assert "digested_file" not in sys.modules


def test_a_package_around_such_a_module_is_not_imported(tmp_path, monkeypatch):
    text = """
@lib.op
def f(self: Tensor) -> Tensor:
    import digested_package.inner
    return self * digested_package.inner.FACTOR
"""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "digested_package").mkdir()
    (tmp_path / "digested_package" / "__init__.py").write_text("raise AssertionError")
    results = []
    for number in (2.0, 3.0):
        (tmp_path / "digested_package" / "inner.py").write_text(f"FACTOR = {number}")
        results.append(digest(text, 1.0))
    assert results[0] != results[1]


def test_guards_are_told_apart():
    def digest_within(scope: Callable[..., Any]) -> str:
        with Library("digested") as lib:

            @scope
            def mean(x: Tensor) -> Tensor:
                return x.mean()

            @lib.op
            def f(self: Tensor) -> Tensor:
                return self - mean(self)

            return digests.digest_of(f.operator)

    assert digest_within(opdsl.no_grad) == digest_within(opdsl.no_grad) != digest_within(opdsl.enable_grad)


def test_what_refers_to_itself():
    recursive: list[Any] = []
    recursive.append(recursive)
    with Library("digested") as lib:

        @lib.op
        def f(self: Tensor[Alias("a")]) -> Tensor:
            return f(self) if recursive is None else self * 1

        assert len(digests.digest_of(f.operator)) == 32


def test_digests_are_the_same_in_every_process():
    code = (
        "from tests.torch.interop.test_digests import TEXTS, digest\n"
        "print(*[digest(text, 2.0) for text in TEXTS.values()])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**environment, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    assert run[0].stdout == run[1].stdout != "", run[0].stderr


def test_the_key_of_torchs_caches_holds_what_a_graph_is_made_of():
    with Library("digested_key") as lib:
        factor = [2.0]

        @lib.op
        def f(self: Tensor) -> Tensor:
            return self * factor[0]

        register(lib)
        before = torch.compiler.config.cache_key_tag.partition("|opdsl ")[0]  # without the tag of another test's graph
        tags = []
        for factor[0] in (2.0, 3.0, 2.0):
            torch.compile(torch.ops.digested_key.f, backend="eager", fullgraph=True)(torch.ones(2))
            torch._dynamo.reset()
            tags.append(torch.compiler.config.cache_key_tag)
        assert tags[0] == tags[2] != tags[1]
        assert tags[0].startswith(f"{before}|opdsl ")
    after = torch.compiler.config.cache_key_tag
    assert after.partition("|opdsl ")[0] == before
    assert after not in tags


def test_the_key_holds_a_kernel_that_records_gradients():
    text = """
@lib.op(kernel=("CPU", "Meta", "Autograd"))
def f(self: Tensor) -> Tensor:
    return self * {n}
"""
    tags = []
    for number in (2.0, 3.0, 2.0):
        lib, _ = declared(text, number)
        with lib:
            register(lib)
            x = torch.ones(2, requires_grad=True)
            torch.compile(torch.ops.digested.f, backend="eager", fullgraph=True)(x)
            torch._dynamo.reset()
            tags.append(torch.compiler.config.cache_key_tag)
    assert tags[0] == tags[2] != tags[1]


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor compiles C++, and there is no g++")
def test_an_edited_operator_is_compiled_anew():
    """An edited operator misses the cache of compiled graphs on disk, as another process sees it."""
    text = """
@lib.op
def f(self: Tensor) -> Tensor: ...

@f.kernel("CPU", "Meta")
def f_kernel(self):
    return self * 1.0

@f.derivative("self")
def f_derivative(grad):
    return grad * {n}

@lib.op
def g(self: Tensor) -> Tensor:
    return f(self) + {n}
"""
    runs, hits = [], []
    with fresh_cache():
        for number in (2.0, 3.0, 2.0):
            torch._dynamo.reset()
            counters.clear()
            lib, _ = declared(text, number)
            with lib:
                register(lib)
                x = torch.ones(2, requires_grad=True)
                y = torch.compile(lambda x: torch.ops.digested.g(x))(x)
                y.sum().backward()
            runs.append((y.tolist(), x.grad.tolist()))
            hits.append(counters["inductor"]["fxgraph_cache_hit"])
    assert runs == [([3, 3], [2, 2]), ([4, 4], [3, 3]), ([3, 3], [2, 2])]
    assert hits == [0, 0, 2]
