"""Tests of plans for exact geometries: the calls that are lowered, and the guards of plans on numbers."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Library, Tensor, formula, traceable
from opdsl.backends.cpu import memory
from opdsl.dispatch.plans.call_cache import CallCache

CALLS = {
    "add": lambda x, y, i, k: x + y,
    "add a number": lambda x, y, i, k: x + 1,
    "multiply by a number": lambda x, y, i, k: x * 2.0,
    "alpha": lambda x, y, i, k: opdsl.add(x, y, alpha=3),
    "add_": lambda x, y, i, k: x.add_(y),
    "out": lambda x, y, i, k: opdsl.add(x, y, out=opdsl.empty(4, 4)),
    "where": lambda x, y, i, k: opdsl.where(k, x, y),
    "clamp": lambda x, y, i, k: x.clamp(0, 1),
    "power": lambda x, y, i, k: x**2,
    "compare": lambda x, y, i, k: x == y,
    "sum": lambda x, y, i, k: x.sum(),
    "mean": lambda x, y, i, k: x.mean(0),
    "max": lambda x, y, i, k: x.max(1),
    "var": lambda x, y, i, k: x.var(1),
    "cumsum": lambda x, y, i, k: x.cumsum(0),
    "softmax": lambda x, y, i, k: x.softmax(1),
    "sort": lambda x, y, i, k: x.sort(1),
    "topk": lambda x, y, i, k: x.topk(2),
    "mm": lambda x, y, i, k: x @ y,
    "linear": lambda x, y, i, k: opdsl.nn.linear(x, y),
    "layer_norm": lambda x, y, i, k: opdsl.layer_norm(x, (4,)),
    "convolution": lambda x, y, i, k: opdsl.conv2d(x[None, None], y[None, None, :3, :3]),
    "view": lambda x, y, i, k: x.view(2, 8),
    "transpose": lambda x, y, i, k: x.t(),
    "permute and clone": lambda x, y, i, k: x.permute(1, 0).clone(),
    "split": lambda x, y, i, k: x.split(2),
    "unbind": lambda x, y, i, k: x.unbind(0),
    "cat": lambda x, y, i, k: opdsl.cat([x, y]),
    "stack": lambda x, y, i, k: opdsl.stack([x, y], 1),
    "slice": lambda x, y, i, k: x[1:, 0],
    "index": lambda x, y, i, k: x[i],
    "index by a list": lambda x, y, i, k: x[[0, 2]],
    "write at positions": lambda x, y, i, k: x.index_put_((i,), y[:2]),
    "gather": lambda x, y, i, k: x.gather(0, i[None]),
    "scatter": lambda x, y, i, k: x.scatter(0, i[None], 1.0),
    "masked_fill": lambda x, y, i, k: x.masked_fill(k, 0.0),
    "mask": lambda x, y, i, k: x[k],
    "zeros": lambda x, y, i, k: opdsl.zeros_like(x),
    "full": lambda x, y, i, k: opdsl.full_like(x, 2.0),
    "convert": lambda x, y, i, k: x.to(opdsl.float64),
    "random": lambda x, y, i, k: opdsl.rand_like(x),
    "normal_": lambda x, y, i, k: x.normal_(),
    "flip": lambda x, y, i, k: x.flip(0),
    "tril": lambda x, y, i, k: x.tril(),
    "embedding": lambda x, y, i, k: opdsl.embedding(x, i),
    "cross entropy": lambda x, y, i, k: opdsl.nn.cross_entropy_loss(x, opdsl.tensor([0, 1, 2, 3])),
    "meta": lambda x, y, i, k: x.to("meta") + 1,
    "gradient": lambda x, y, i, k: (x.detach().requires_grad_() * y).sum(),
}


@pytest.fixture(autouse=True)
def _no_plans() -> None:
    opdsl.dispatch.plans.plan_holders.forget_plans()


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_lowered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = opdsl.rand(4, 4), opdsl.rand(4, 4)
    i, k = opdsl.from_numpy(numpy.array([0, 2])), opdsl.eye(4) > 0
    monkeypatch.setenv("OPDSL_DUMP", str(tmp_path))
    for _ in range(2):
        CALLS[name](x, y, i, k)
    assert list(tmp_path.glob("*-plan-*.py")) or list(tmp_path.glob("*-form-*.py"))
    # Calls in which elements decide a number have plans for their form.
    reasons = [
        path.read_text() for path in tmp_path.glob("*.py") if "not-lowered" in path.name or "no-form" in path.name
    ]
    assert [reason for reason in reasons if "elements decide a number" not in reason] == []


def test_what_no_plan_serves_is_not_lowered_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered: list[str] = []
    original = CallCache._lower_call

    def lower_call(self: CallCache, *arguments: Any) -> Any:
        lowered.append(self.name)
        return original(self, *arguments)

    monkeypatch.setattr(CallCache, "_lower_call", lower_call)
    gradient, indices = opdsl.rand(4, 32, 64), opdsl.from_numpy(numpy.arange(4 * 33).reshape(4, 33) % 65)[:, :-1]
    for turn in range(40):
        if turn == 20:
            lowered.clear()
        opdsl.ops.aten.embedding_dense_backward(gradient, indices, 65, -1, False)
    assert lowered == []


@pytest.mark.parametrize("name", ["add", "add a number", "where", "sum", "compare", "view"])
def test_a_call_of_one_loop_is_a_function_of_the_backend(name: str) -> None:
    x, y, k = opdsl.rand(4, 4), opdsl.rand(4, 4), opdsl.eye(4) > 0
    opdsl.dispatch.plans.plan_holders.forget_plans()
    for _ in range(2):
        CALLS[name](x, y, None, k)
    assert {type(plan) for plan in plans()} == {BuiltinFunctionType}


def plans() -> list[object]:
    """Return all existing plans for exact geometries."""
    served: list[object] = []
    left = [holder.plans for holder in opdsl.dispatch.plans.plan_holders.holders if isinstance(holder, CallCache)]
    while left:
        for entry in left.pop().values():
            left.append(entry) if isinstance(entry, dict) else served.append(entry)
    return served


def test_names_of_parameters_are_not_those_of_plans() -> None:
    with Library("named") as lib:

        @lib.op
        @formula
        def f(missed: Tensor, variants: float, node: Tensor, c1: float, plan_of_call: Tensor) -> Tensor:
            return missed * variants + node * c1 + plan_of_call

        x = opdsl.ones(3, requires_grad=True)
        for number in (2.0, 2.0, 3.0, 1e30):
            output = f(x, number, x, 4.0, x)
            assert output.tolist() == [pytest.approx(number + 5)] * 3
        output.sum().backward()
        assert x.grad.tolist() == [pytest.approx(1e30)] * 3


def test_many_numbers_that_a_kernel_looks_at_are_all_served() -> None:
    runs = []
    with Library("looking") as lib:

        @lib.op
        def f(self: Tensor, n: float) -> Tensor: ...

        @f.meta
        def f_meta(ctx, self, n):
            runs.append(n)
            ctx.set_output(0, self.shape, like=self)

        @f.out_kernel("CPU", compiled=False)
        def f_cpu(self, n, out):
            out.copy_(self * n)

        x = opdsl.ones(2)
        for number in range(100):
            assert f(x, float(number)).tolist() == [number] * 2
        assert set(range(100)) <= {int(run) for run in runs}


def test_a_check_by_type_sees_numbers_at_sizes_not_seen() -> None:
    with Library("typed") as lib:

        @lib.op
        def f(self: Tensor, n: float) -> Tensor: ...

        @f.meta
        def f_meta(ctx, self, n):
            # The run that computes the result must see the same type as the one that is lowered.
            ctx.set_output(0, self.shape if type(n) is float else (0,), like=self)

        @f.out_kernel("CPU", compiled=False)
        def f_cpu(self, n, out):
            out.copy_(self[: out.numel()] * n)

        for size in range(2, 12):
            assert f(opdsl.ones(size), float(size)).tolist() == [size] * size


def test_what_cannot_be_lowered_is_not_tried_again_for_each_size() -> None:
    runs = 0
    with Library("elements") as lib:

        @lib.op
        def halved(self: Tensor) -> Tensor: ...

        @halved.kernel("CPU")
        def halved_kernel(self):
            nonlocal runs
            runs += 1
            while bool((self > 1).any()):  # the number of iterations depends on elements
                self = self / 2
            return self

        for size in range(2, 6):
            for _ in range(2):
                halved(opdsl.full((size,), 8.0))
        runs = 0
        for size in range(6, 10):
            for _ in range(2):
                assert halved(opdsl.full((size,), 8.0)).tolist() == [1.0] * size
    assert runs == 8


@pytest.mark.usefixtures("plans_at_once")
def test_what_is_made_on_the_way_is_dropped_when_it_has_been_used() -> None:
    lib = Library("passing")

    @lib.op
    @traceable
    def chain(x: Tensor) -> Tensor:
        for _ in range(6):
            x = x.exp().neg()
        return x

    x = opdsl.zeros(1 << 18)  # large enough to be counted
    chain(x)
    memory.empty_cache()
    before = memory.memory_stats()
    chain(x)
    after = memory.memory_stats()
    assert after["allocations"] - before["allocations"] == 12
    assert after["hits"] - before["hits"] == 10
    lib.close()


def test_a_dumped_file_is_written_over_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from opdsl.runtime import dumping

    monkeypatch.setenv("OPDSL_DUMP", str(tmp_path))
    monkeypatch.setattr(dumping, "_numbers", itertools.count(1))
    (tmp_path / "kept").write_text("kept")
    (tmp_path / f"{os.getpid()}-00001-name.ll").symlink_to(tmp_path / "kept")
    dumping.dump("name", ".ll", lambda: "text")
    assert (tmp_path / "kept").read_text() == "kept"
    assert (tmp_path / f"{os.getpid()}-00002-name.ll").read_text() == "text"
