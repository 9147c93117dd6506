"""Tests of the fused steps of optimizers, compared with PyTorch's CPU kernels and schemas."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import ArgumentError

NAMES = ["_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_"]
SHAPES = ((3, 5), (1,), (130,), (0,))


def lists(count: int, dtype: torch.dtype) -> list[list[torch.Tensor]]:
    """Return lists of parameters, gradients and non-negative states."""
    torch.manual_seed(count)
    tensors = [[torch.randn(shape, dtype=dtype) for shape in SHAPES] for _ in range(2)]
    return tensors + [[torch.rand(shape, dtype=dtype) for shape in SHAPES] for _ in range(count - 2)]


def steps(*values: float) -> list[torch.Tensor]:
    return [torch.tensor(number) for number in values]


ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False, "maximize": False}
SGD = {
    "weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False,
    "is_first_step": False,
}  # fmt: skip
ADAGRAD = {"lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.0, "eps": 1e-10, "maximize": False}

CASES: list[tuple[str, dict[str, Any]]] = [
    ("_fused_adam_", ADAM),
    ("_fused_adam_", {**ADAM, "weight_decay": 0.1, "maximize": True, "beta1": 0.3}),
    ("_fused_adam_", {**ADAM, "amsgrad": True}),
    ("_fused_adamw_", {**ADAM, "weight_decay": 0.1}),
    ("_fused_adamw_", {**ADAM, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("_fused_sgd_", SGD),
    ("_fused_sgd_", {**SGD, "weight_decay": 0.1, "maximize": True}),
    ("_fused_sgd_", {**SGD, "momentum": 0.9, "dampening": 0.1}),
    ("_fused_sgd_", {**SGD, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("_fused_sgd_", {**SGD, "momentum": 0.9, "is_first_step": True}),
    ("_fused_adagrad_", ADAGRAD),
    ("_fused_adagrad_", {**ADAGRAD, "lr_decay": 0.2, "weight_decay": 0.1, "maximize": True}),
]


def lists_of(name: str, options: dict[str, Any], dtype: torch.dtype) -> list[list[torch.Tensor]]:
    if "adam" in name:
        states = lists(5, dtype)
        return (
            [*states, steps(1.0, 2.0, 7.0, 1.0)] if options["amsgrad"] else [*states[:4], [], steps(1.0, 2.0, 7.0, 1.0)]
        )
    if "sgd" in name:
        return lists(3, dtype) if options["momentum"] else [*lists(2, dtype), []]
    return [*lists(3, dtype), steps(1.0, 2.0, 7.0, 1.0)]


def ours(arguments: list[list[torch.Tensor]]) -> list[list[opdsl.Tensor]]:
    return [[opdsl.from_numpy(part.numpy().copy()) for part in one] for one in arguments]


def as_ours(options: dict[str, Any]) -> dict[str, Any]:
    return {
        name: opdsl.from_numpy(value.numpy().copy()) if isinstance(value, torch.Tensor) else value
        for name, value in options.items()
    }


def compare(name: str, options: dict[str, Any], dtype: torch.dtype = torch.float32) -> None:
    """Run three steps in both libraries, later ones by a plan, and compare the written lists."""
    theirs = lists_of(name, options, dtype)
    mine = ours(theirs)
    for _ in range(3):
        getattr(torch.ops.aten, name)(*theirs, **options)
        getattr(opdsl.ops.aten, name)(*mine, **as_ours(options))
    for one, other in zip(mine, theirs, strict=True):
        for actual, expected in zip(one, other, strict=True):
            torch.testing.assert_close(torch.from_numpy(actual.numpy()), expected)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_are_pytorchs(name: str, options: dict[str, Any]) -> None:
    compare(name, options)


@pytest.mark.parametrize("name", NAMES)
def test_in_double_precision_with_a_rate_that_is_a_tensor(name: str) -> None:
    options = next(options for optimizer, options in CASES if optimizer == name)
    compare(name, {**options, "lr": torch.tensor(0.05)}, torch.float64)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("found_inf", [0.0, 1.0])
def test_scaled_gradients(name: str, found_inf: float) -> None:
    options = next(options for optimizer, options in CASES if optimizer == name)
    compare(name, {**options, "grad_scale": torch.tensor(8.0), "found_inf": torch.tensor(found_inf)})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("overload", ["default", "tensor_lr"])
def test_schemas_are_pytorchs(name: str, overload: str) -> None:
    mine = getattr(getattr(opdsl.ops.aten, name), overload).schema
    theirs = getattr(getattr(torch.ops.aten, name), overload)._schema
    assert str(mine) == str(opdsl.parse_schema(str(theirs).removeprefix("aten::")))


def test_lists_have_as_many_tensors() -> None:
    arguments = ours(lists_of("_fused_sgd_", SGD, torch.float32))
    with pytest.raises(ArgumentError, match="expected as many tensors as parameters, 4, got 3"):
        opdsl.ops.aten._fused_sgd_(arguments[0], arguments[1][:3], [], **SGD)


def test_an_optimizer_of_pytorchs_steps_the_same() -> None:
    torch.manual_seed(3)
    start = torch.randn(20, 7)
    weight = start.clone().requires_grad_()
    optimizer = torch.optim.AdamW([weight], lr=0.01, fused=True)
    mine = opdsl.from_numpy(start.numpy().copy())
    mean, squares = opdsl.zeros(20, 7), opdsl.zeros(20, 7)
    for step in range(1, 6):
        weight.grad = torch.sin(weight.detach() * step)
        grad = opdsl.sin(mine * step)
        optimizer.step()
        options = {**ADAM, "lr": 0.01, "beta2": 0.999, "weight_decay": 0.01}
        state = [mean], [squares], [], [opdsl.tensor(float(step))]
        opdsl.ops.aten._fused_adamw_([mine], [grad], *state, **options)
    torch.testing.assert_close(torch.from_numpy(mine.numpy()), weight.detach())
