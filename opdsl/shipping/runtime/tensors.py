"""Tensors of PyTorch for plans, and the operators of a package in ``torch.ops``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from .arrays import GUARD_FAILED
from .calls import Function, Gradient, NotCompiledError, Table
from .code import Entry, Library, Step
from .keys import TENSOR, TENSORS, order_of, tensor_key
from .memory import Memory


class TorchArrays:
    """Functions on tensors that plans call.

    Args:
        library: that has the kernels.
    """

    GUARD_FAILED = GUARD_FAILED

    def __init__(self, library: Library) -> None:
        self.library = library

    def step(self, entry: Entry) -> Step:
        """Return the function that runs a kernel."""
        return Step(self.library, entry, torch.Tensor.data_ptr)

    def empty(self, dtype: str) -> Callable[..., Any]:
        """Return a function of sizes that allocates a contiguous tensor."""
        kind = _dtype(dtype)
        return lambda *sizes: torch.empty(sizes, dtype=kind)

    def typed(self, dtype: str) -> Callable[..., Any]:
        """Return a function that gives a tensor of integers, of the same size, a dtype."""
        kind = _dtype(dtype)
        return lambda tensor: tensor.view(kind)

    def allocated(self, shape: Sequence[int], dtype: str, strides: Sequence[int]) -> Any:
        """Allocate a tensor with strides in bytes."""
        kind = _dtype(dtype)
        return torch.empty_strided(shape, [step // kind.itemsize for step in strides], dtype=kind)

    def view(self, dtype: str) -> Callable[..., Any]:
        """Return a function that makes a view, from a tensor, an offset in bytes, sizes, and strides in bytes."""
        kind = _dtype(dtype)

        def view(tensor: Any, offset: int, *layout: int) -> Any:
            shape, strides = layout[: len(layout) // 2], layout[len(layout) // 2 :]
            first = tensor.storage_offset() * tensor.element_size() + offset
            view = torch.empty(0, dtype=kind)
            elements = [step // kind.itemsize for step in strides]
            return view.set_(tensor.untyped_storage(), first // kind.itemsize, shape, elements)

        return view

    def read(self, value: Any) -> tuple[Any, str]:
        """Return an argument as a tensor that kernels can read, and its key."""
        tensor = value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(value)
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        if tensor.device.type != "cpu":
            raise NotCompiledError(f"this package has kernels for the CPU, and a tensor is on {tensor.device}.")
        if tensor.is_contiguous():
            return tensor, _key(tensor.dtype, tensor.shape)
        order = order_of(tensor.shape, tensor.stride())
        return tensor, tensor_key(_name(tensor.dtype), tensor.shape, order) if order is not None else ""

    def packed(self, array: Any) -> tuple[Any, str]:
        """Return a copy of a tensor in row-major order, and its key."""
        copy = array.contiguous()
        return copy, _key(copy.dtype, copy.shape)

    def target(self, name: str, value: Any) -> Any:
        """Return an argument as a tensor whose memory can be written.

        Raises:
            TypeError: it is no tensor.
        """
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} has to be a tensor (got {type(value).__name__}).")
        return value.detach()

    def memory(self, value: Any) -> Memory:
        """Return the memory of an argument; of one that is no tensor, that of a copy."""
        array = torch.as_tensor(value)
        size = array.element_size()
        strides = tuple(step * size for step in array.stride())
        return Memory(_name(array.dtype), tuple(array.shape), strides, array.data_ptr(), size)

    def store(self, target: Any, array: Any) -> None:
        """Copy a tensor to an argument, unless it has its memory."""
        if target.data_ptr() != array.data_ptr():
            target.copy_(array)


@lru_cache(maxsize=4096)
def _key(dtype: torch.dtype, shape: tuple[int, ...]) -> str:
    """Return the key of a tensor in row-major order."""
    return tensor_key(_name(dtype), shape)


def _name(dtype: torch.dtype) -> str:
    """Return the name of a dtype, by which all libraries know it."""
    return str(dtype).removeprefix("torch.")


def _dtype(name: str) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, name)
    return dtype


class Bridge:
    """Function of a package as an operator of torch.

    Args:
        definitions: the library of torch in which it is defined.
        schema: in torch's syntax, without the namespace.
        function: that runs calls.
    """

    def __init__(self, definitions: Any, schema: str, function: Function) -> None:
        self.function = function
        definitions.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        base, _, overload = schema.partition("(")[0].partition(".")
        self.name = f"{definitions.ns}::{base}" + (f".{overload}" if overload else "")
        packet = getattr(getattr(torch.ops, definitions.ns), base)
        self.overload = getattr(packet, overload or "default")
        self.names = [argument.name for argument in self.overload._schema.arguments]
        torch.library.impl(self.name, "cpu", self._run, lib=definitions)
        torch.library.register_fake(self.name, self._fake, lib=definitions)

    def complete(self, values: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Return all arguments of a call, in order: torch leaves out those at their defaults."""
        known = dict(zip(self.names, values, strict=False)) | named
        arguments = self.overload._schema.arguments
        return [known.get(argument.name, argument.default_value) for argument in arguments]

    def key(self, arguments: Sequence[Any]) -> tuple[str, ...]:
        """Return the key of a call whose tensors are in row-major order, and may have symbols as sizes."""
        parameters = self.function.table.parameters
        keys = [_fake_key(kind, value) for (_, kind), value in zip(parameters, arguments, strict=True)]
        others = [value if key is None else None for key, value in zip(keys, arguments, strict=True)]
        read = self.function.read(others)[1]
        return tuple(part if known is None else known for known, part in zip(keys, read, strict=True))

    def _run(self, *values: Any, **named: Any) -> Any:
        results = self.function(self.complete(values, named))
        return results[0] if isinstance(results, tuple) and len(results) == 1 else results

    def _fake(self, *values: Any, **named: Any) -> Any:
        """Return tensors of the sizes of the results, which may be symbols."""
        arguments = self.complete(values, named)
        key = self.key(arguments)
        device = next(value.device for value in arguments if isinstance(value, torch.Tensor))
        results = tuple(
            torch.empty_strided(shape, strides, dtype=_dtype(dtype), device=device)
            for shape, dtype, strides in self.function.shapes(arguments, key)
        )
        return results[0] if len(results) == 1 else results


class _Autograd:
    """Backward pass of an operator in torch.

    Args:
        bridge: the operator.
        gradient: its gradients; None if it has none.
        backward: the operator that computes them.
    """

    def __init__(self, bridge: Bridge, gradient: Gradient | None, backward: Bridge | None) -> None:
        self.bridge, self.gradient, self.backward_bridge = bridge, gradient, backward

    def keep(self, ctx: Any, inputs: tuple[Any, ...], output: Any, keyword_only_inputs: Any = None) -> None:
        """Save what the backward pass reads."""
        if self.gradient is None:
            return
        known = dict(zip(self.bridge.names, inputs, strict=False)) | dict(keyword_only_inputs or {})
        results = output if isinstance(output, (tuple, list)) else (output,)
        known |= {f"result{at}": result for at, result in enumerate(results)}
        tensors = [name for name in self.gradient.reads if isinstance(known[name], torch.Tensor)]
        ctx.save_for_backward(*[known[name] for name in tensors])
        ctx.tensors = tensors
        ctx.others = {name: known[name] for name in self.gradient.reads if name not in tensors}
        ctx.count = len(inputs)
        ctx.form = ", ".join(self.bridge.key([known[name] for name in self.bridge.names]))

    def backward(self, ctx: Any, *gradients: Any) -> Any:
        """Return the gradients of the positional arguments.

        Raises:
            NotCompiledError: no backward pass was compiled.
        """
        gradient, backward = self.gradient, self.backward_bridge
        if gradient is None or backward is None:
            raise NotCompiledError(f"{self.bridge.name}: this package has no gradient of it. Call it under no_grad.")
        known = dict(zip(ctx.tensors, ctx.saved_tensors, strict=True)) | ctx.others
        incoming = [gradients[at] for at in gradient.results]
        results = backward.overload(*incoming, *[known[name] for name in gradient.reads], ctx.form)
        listed = results if isinstance(results, (tuple, list)) else (results,)
        by_name = dict(zip(gradient.names, listed, strict=True))
        return tuple(by_name.get(name) for name in self.bridge.names[: ctx.count])


def _fake_key(kind: str, value: Any) -> str | None:
    """Return the key of a tensor whose sizes may be symbols; None for other arguments."""
    if kind == TENSORS:
        return f"[{', '.join(str(_fake_key(TENSOR, element)) for element in value)}]"
    if not isinstance(value, torch.Tensor):
        return None
    # A size that is a symbol is two or more in compiled graphs.
    sizes = [size if isinstance(size, int) else 2 for size in value.shape]
    return tensor_key(_name(value.dtype), sizes)


def register(
    namespace: str, library: Library, operators: Sequence[tuple[str, Table, str, Gradient | None]]
) -> tuple[Any, TorchArrays, list[Bridge | None]]:
    """Define the operators of a package in ``torch.ops``.

    Args:
        namespace: of the operators.
        library: that has the kernels.
        operators: the schema and plans of each, and of its backward pass.

    Returns:
        The library of torch, the functions on tensors, and the operators, which are defined as long as these live.
    """
    definitions: Any = torch.library.Library(namespace, "FRAGMENT")  # type: ignore[no-untyped-call]
    arrays = TorchArrays(library)
    kept: list[Bridge | None] = []
    for schema, table, backward_schema, gradient in operators:
        bridge = Bridge(definitions, schema, Function(table, arrays))
        backward = None
        if gradient is not None:
            backward = Bridge(definitions, backward_schema, Function(gradient.table, arrays))
            _differentiate(definitions, backward, _Autograd(backward, None, None))
        _differentiate(definitions, bridge, _Autograd(bridge, gradient, backward))
        kept += [bridge, backward]
    return definitions, arrays, kept


def _differentiate(definitions: Any, bridge: Bridge, autograd: _Autograd) -> None:
    """Register the backward pass of an operator."""
    torch.library.register_autograd(bridge.name, autograd.backward, setup_context=autograd.keep, lib=definitions)
