"""Tests of operators that are registered or declared again, as a cell of a notebook does: torch calls the
newest ones.
"""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.errors import DuplicateOperatorError, UnknownOperatorError
from opdsl.interop.torch import deregister, register

CELL = """
@lib.op
def body(self: Tensor) -> Tensor:
    return self * {n}

@lib.op({variants})
@formula
def loop(self: Tensor{more}) -> Tensor:
    return self * {n}

@lib.op
def kernel(self: Tensor) -> Tensor: ...

@kernel.kernel("CPU", "Meta")
def kernel_kernel(self):
    return self * {n}

@kernel.derivative("self")
def kernel_derivative(grad):
    return grad * {n}
"""


def run_cell(lib: Library, number: float, *, variants: str = "inplace=True, out=True", more: str = "") -> None:
    text = CELL.replace("{n}", repr(number)).replace("{variants}", variants)
    text = text.replace("{more}", more)
    file = f"<cell {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), {"lib": lib, "Tensor": Tensor, "formula": formula, "__name__": "cells"})


def check(ops: Any, number: float) -> None:
    """Check that every operator has the result and gradient of its newest declaration, with and without plans."""
    for name in ("body", "loop", "kernel"):
        for _ in range(3):
            x = torch.ones(2, requires_grad=True)
            y = getattr(ops, name)(x)
            y.sum().backward()
            assert (y.tolist(), x.grad.tolist()) == ([number] * 2, [number] * 2), name
            assert getattr(ops, name)(torch.ones(2)).tolist() == [number] * 2


@pytest.fixture
def lib():
    with Library("registered_again") as library:
        yield library


def test_an_edited_cell_replaces_what_torch_has(lib):
    run_cell(lib, 2.0)
    register(lib)
    ops = torch.ops.registered_again
    check(ops, 2.0)
    held, compiled = ops.loop.default, torch.compile(lambda x: ops.body(x) + ops.loop(x), backend="aot_eager")
    assert compiled(torch.ones(2)).tolist() == [4, 4]
    x = torch.ones(2, requires_grad=True)
    earlier = ops.loop(x)

    run_cell(lib, 3.0)
    check(ops, 3.0)
    assert ops.loop_(torch.ones(2)).tolist() == held(torch.ones(2)).tolist() == [3, 3]
    assert ops.loop.out(torch.ones(2), out=torch.empty(2)).tolist() == [3, 3]
    assert compiled(torch.ones(2)).tolist() == [6, 6]
    assert torch.Tag.pointwise in ops.loop.default.tags
    earlier.sum().backward()
    assert x.grad.tolist() == [2, 2]

    run_cell(lib, 5.0, variants="out=True", more=", by: float = 1.0")
    check(ops, 5.0)
    assert ops.loop(torch.ones(1), 2.0).tolist() == [5]
    assert not hasattr(ops, "loop_")
    deregister(lib)
    assert not hasattr(ops, "body")
    run_cell(lib, 2.0)
    assert not hasattr(ops, "body")


def test_registering_again_takes_what_is_new(lib):
    run_cell(lib, 2.0)
    names = register(lib)
    ops = torch.ops.registered_again
    held = ops.body.default

    @lib.op
    def later(self: Tensor) -> Tensor:
        return self + 1

    assert register(lib) == (*names, "registered_again::later")
    assert ops.later(torch.ones(1)).tolist() == [2]
    assert ops.body.default is held  # the overload is unchanged
    check(ops, 2.0)
    register(lib, fuses=False)
    check(ops, 2.0)


def test_registering_again_takes_what_bodies_read_now(lib):
    factor = [2.0]

    @lib.op
    def scaled(self: Tensor) -> Tensor:
        return self * factor[0]

    register(lib)
    call = torch.compile(lambda x: torch.ops.registered_again.scaled(x), backend="aot_eager")
    assert call(torch.ones(1)).tolist() == [2]
    factor[0] = 3.0
    register(lib)
    assert call(torch.ones(1)).tolist() == [3]


def test_what_is_attached_after_registering(lib):
    @lib.op
    def loop(self: Tensor) -> Tensor: ...

    register(lib)
    ops, x = torch.ops.registered_again, torch.ones(2, requires_grad=True)
    with pytest.raises(opdsl.errors.MissingKernelError):
        ops.loop(x)

    @loop.kernel("CPU")
    def loop_kernel(self):
        return self * 2

    assert ops.loop(x.detach()).tolist() == [2, 2]
    y = ops.loop(x)
    with pytest.raises(opdsl.errors.MissingDerivativeError):
        y.sum().backward()

    @loop.derivative("self")
    def loop_derivative(grad):
        return grad * 2

    ops.loop(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_an_operator_that_was_there_for_another_one(lib):
    with Library("registered_again_other") as other:

        @other.op
        @formula
        def inner(self: Tensor) -> Tensor:
            return self * 2

        @lib.op
        def outer(self: Tensor) -> Tensor:
            return inner(self) + 1

        register(lib)
        x = torch.ones(1, requires_grad=True)
        torch.ops.registered_again.outer(x).sum().backward()
        register(other)
        assert torch.ops.registered_again_other.inner(x).tolist() == [2]
        torch.ops.registered_again.outer(x).sum().backward()
        deregister(lib)
        assert torch.ops.registered_again_other.inner(x).tolist() == [2]
        assert x.grad.tolist() == [4]


def test_what_fails_leaves_what_was_there(lib):
    run_cell(lib, 2.0)
    register(lib)
    theirs = torch.library.Library("registered_again", "FRAGMENT")
    theirs.define("taken(Tensor self) -> Tensor")
    run_cell(lib, 3.0)

    @lib.op
    def taken(self: Tensor) -> Tensor:
        return self

    with pytest.raises(DuplicateOperatorError, match="registered_again::taken already"):
        register(lib, fuses=False)
    theirs._destroy()
    check(torch.ops.registered_again, 3.0)
    deregister(lib)
    with pytest.raises(UnknownOperatorError):
        deregister(lib)
