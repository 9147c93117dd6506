"""Samples of list operators (``_foreach_*``): lists of tensors that fit each other, made from their schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opdsl.runtime import float32
from opdsl.schema import Argument, BaseType, FunctionSchema, ListType
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

_ALONE = (5, 5)


def lists(schema: FunctionSchema, make: Maker) -> Iterator[Sample]:
    """Yield samples of a list operator, or of its in-place or ``out=`` variant, without outputs.

    Args:
        schema: of the operator.
        make: makes the tensors.
    """
    if schema.name.base == "_foreach_mm":
        yield Sample([make(3, 4), make(2, 0)], [make(4, 2), make(0, 3)])
        return
    for shapes in (((3, 4), (2, 1), (0,)), (_ALONE,)):
        yield Sample(*(_value(argument, shapes, make) for argument in schema.positional if argument.default is None))


def optimizer_steps(name: str, *, tensor_lr: bool) -> Callable[[Maker], Iterator[Sample]]:
    """Yield samples of a fused optimizer step: two parameters, with nonnegative state.

    Args:
        name: of the optimizer.
        tensor_lr: whether the rate is a tensor.
    """
    count, numbers = _STEPS[name.removesuffix("w")]
    number = Maker(float32)

    def samples(make: Maker) -> Iterator[Sample]:
        groups = [[_tensor(make, (3, 4)), _tensor(make, (2,))] for _ in range(count)]
        steps = [number().abs() + 1, number().abs() + 2]
        beside = {"adam": [[], steps], "sgd": [], "adagrad": [steps]}
        rate = number().abs() if tensor_lr else 0.1
        named = {"lr": rate, "weight_decay": 0.1, "maximize": False, **numbers}
        yield Sample(*groups, *beside[name.removesuffix("w")], **named)
        groups = [[_tensor(make, (3, 4)), _tensor(make, (2,))] for _ in range(count)]
        if "adam" in name:
            beside["adam"] = [[_tensor(make, (3, 4)), _tensor(make, (2,))], steps]
            named["amsgrad"] = True
        scale, result = number().abs() + 2, number() * 0
        yield Sample(*groups, *beside[name.removesuffix("w")], **named, grad_scale=scale, found_inf=result)

    return samples


_STEPS: dict[str, tuple[int, dict[str, Any]]] = {
    "adam": (4, {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "amsgrad": False}),
    "sgd": (3, {"momentum": 0.9, "dampening": 0.1, "nesterov": True, "is_first_step": False}),
    "adagrad": (3, {"lr_decay": 0.1, "eps": 1e-8}),
}

TABLE = {
    f"aten::_fused_{optimizer}_{'.tensor_lr' if tensor_lr else ''}": optimizer_steps(optimizer, tensor_lr=tensor_lr)
    for optimizer in ("adam", "adamw", "sgd", "adagrad")
    for tensor_lr in (False, True)
}


def _value(argument: Argument, shapes: tuple[tuple[int, ...], ...], make: Maker) -> Any:
    kind = argument.type
    if isinstance(kind, ListType):
        if kind.base is BaseType.Tensor:
            return [_tensor(make.transposed if at == 1 else make, shape) for at, shape in enumerate(shapes)]
        return [2, 1, 3][: len(shapes)]
    if kind is BaseType.Tensor:
        return make(len(shapes)) if argument.name == "scalars" else make()
    return 2


def _tensor(function: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    """Return a tensor for a list: real elements between 0 and 1 if the list has several, where all functions are
    defined.
    """
    value = function(*shape)
    return value.abs() / 20 + 0.1 if value.dtype.is_floating_point and shape != _ALONE else value
