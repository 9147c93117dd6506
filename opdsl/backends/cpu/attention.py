"""Planner of attention and its gradients: turns calls into plans of the kernels in ``machine``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.machine import attention as machine
from opdsl.backends.cpu.machine import attention_gradient as gradient
from opdsl.backends.cpu.machine.attention_block import (
    GRAD,
    GRAD_KEY,
    GRAD_QUERY,
    GRAD_VALUE,
    KEY,
    MASK,
    OUT,
    QUERIES,
    QUERY,
    SUMS,
    VALUE,
    AttentionPlan,
)
from opdsl.backends.cpu.machine.language import exports, words
from opdsl.backends.cpu.storage import MEMORY
from opdsl.runtime.permanent import kept_forever
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import AttentionCall, AttentionGradientCall
    from opdsl.runtime.dtype import DType
    from opdsl.scalar.graph import TypedGraph

DTYPES = ("float32", "float64")

# Rows of register tiles whose accumulators fit into 32 or into 16 vector registers.
_HEIGHTS_OF_32, _HEIGHTS_OF_16 = (12, 6, 2, 1), (6, 3, 1)
# The most queries of a head that are taken one by one: a tile of them computes with whole vectors of queries.
_FEW = 4
# The number of multiplications that is worth a thread.
_SHARE = 1 << 19


def attends(dtype: DType, size: int, value_size: int) -> bool:
    """Return whether there is a kernel for a dtype, see ``Compiler.attends``."""
    return dtype.name in DTYPES


def attention(call: AttentionCall) -> Kernel:
    """Plan attention, see ``Compiler.attention``."""
    is_masked, has_sums = call.mask_dtype is not None, bool(call.sums)
    count = 4 if is_masked else 3
    places = {QUERY: 0, KEY: 1, VALUE: 2, MASK: 3, OUT: count + 1, SUMS: count + 2}
    is_few = call.queries <= _FEW and call.key[-1] == call.value[-1] == 1
    details = _details(call, _strides(call), places, scale=count, is_few=is_few)
    blocks = -(-call.queries // QUERIES)
    elements = call.batch * call.groups * call.members * blocks
    cost = (call.queries if is_few else QUERIES) * call.keys * (call.size + call.value_size)
    work = _work(machine, call, elements, cost, details)
    inputs = [*[builtin.ARRAY] * count, builtin.FLOAT]
    return builtin.builtin("attention_cpu", work, inputs, [builtin.Given()] * (1 + has_sums), [_code(machine, call)])


def attention_gradient(call: AttentionGradientCall) -> Kernel:
    """Plan the gradients of attention, see ``Compiler.attention_gradient``."""
    forward = call.attention
    count = 7 if forward.mask_dtype is not None else 6
    places = {QUERY: 0, KEY: 1, VALUE: 2, MASK: 3, GRAD: count - 3, OUT: count - 2, SUMS: count - 1}
    places |= {which: count + 1 + at for at, which in enumerate((GRAD_QUERY, GRAD_KEY, GRAD_VALUE))}
    gradients = {
        GRAD: call.grad,
        GRAD_QUERY: call.grad_query,
        GRAD_KEY: _shared(call.grad_key),
        GRAD_VALUE: _shared(call.grad_value),
    }
    details = _details(forward, {**_strides(forward), **gradients}, places, scale=count, is_few=False)
    elements = forward.batch * forward.groups
    cost = forward.members * forward.queries * forward.keys * (3 * forward.size + 2 * forward.value_size)
    work = _work(gradient, forward, elements, cost, details)
    inputs = [*[builtin.ARRAY] * count, builtin.FLOAT]
    return builtin.builtin("attention_gradient_cpu", work, inputs, [builtin.Given()] * 3, [_code(gradient, forward)])


def _shared(strides: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of keys or values, which the heads of a group share."""
    sample, group, *rest = strides
    return (sample, group, 0, *rest)


def _strides(call: AttentionCall) -> dict[int, tuple[int, ...]]:
    """Return the strides of the operands of attention."""
    return {
        QUERY: call.query,
        KEY: _shared(call.key),
        VALUE: _shared(call.value),
        OUT: call.out,
        SUMS: (*call.sums, 0) if call.sums else (0,) * 5,
        MASK: call.mask or (0,) * 5,
    }


def _details(
    call: AttentionCall,
    strides: Mapping[int, Sequence[int]],
    places: Mapping[int, int],
    *,
    scale: int,
    is_few: bool,
) -> list[int | Table]:
    """Return the words of an ``AttentionPlan``.

    Args:
        call: attention.
        strides: of each operand, in elements.
        places: the position of each operand among those of the kernel.
        scale: the position of the factor of scores.
        is_few: whether queries are taken one by one.
    """
    return words(
        AttentionPlan,
        operands=Table([word for which in sorted(strides) for word in (2 + 2 * places[which], *strides[which])]),
        groups=call.groups,
        members=call.members,
        queries=call.queries,
        keys=call.keys,
        size=call.size,
        width=call.value_size,
        blocks=-(-call.queries // QUERIES),
        is_few=int(is_few),
        is_causal=int(call.is_causal),
        is_masked=int(call.mask_dtype is not None),
        selects=int(call.selects),
        has_sums=int(bool(call.sums)),
        scale_slot=2 + 2 * scale,
    )


def _work(module: ModuleType, call: AttentionCall, elements: int, cost: int, details: list[int | Table]) -> Work:
    """Return the work of a module's kernel; ``cost`` is the number of multiplications for an element."""
    grain = largest(1, _SHARE // largest(1, cost)) if elements * cost > _SHARE else 0
    (symbol,) = exports([module])
    return Work(_code(module, call).address(symbol), elements, grain, details=details)


def _code(module: ModuleType, call: AttentionCall) -> engine.Code:
    return _compiled(module, call.dtype.name, engine.vector_bytes() // call.dtype.itemsize)


@kept_forever
def _compiled(module: ModuleType, dtype: str, lanes: int) -> engine.Code:
    make = functools.partial(text, module, dtype, lanes)
    return engine.compile_ir(f"{module.__name__} {dtype} {lanes}", make, exports([module]), has_long_loops=False)


def text(module: ModuleType, dtype: str, lanes: int) -> str:
    """Return the LLVM IR of a module's kernel for a dtype and a number of lanes."""
    from opdsl.backends.cpu.machine.text import module_text
    from opdsl.backends.cpu.machine.vectors import ATTRIBUTES, given
    from opdsl.backends.cpu.printer import declarations, vector_ir

    has_many = engine.has_feature("avx512f") or engine.has_feature("neon")
    heights = _HEIGHTS_OF_32 if has_many else _HEIGHTS_OF_16
    parts = [module_text([module], given(MEMORY[dtype].llvm, lanes, HEIGHTS=heights), ATTRIBUTES)]
    declared: set[str] = set()
    for name, function in (("weight", _weight), ("logarithm", _logarithm)):
        graph = _typed(function, dtype)
        declared |= declarations(graph, lanes)
        parts.append(vector_ir(graph, name, lanes))
    known = set(parts[0].splitlines())
    return "\n".join([*sorted(declared - known), *parts])


def _typed(function: Callable[..., Any], dtype: str) -> TypedGraph:
    from opdsl.scalar import read

    scalar = read(function)
    return scalar.specialise(dict.fromkeys(scalar.parameters, dtype), results=[dtype])


def _weight(score: Any, most: Any) -> Any:
    return 0.0 if score == -math.inf else math.exp(score - most)


def _logarithm(value: Any) -> Any:
    return math.log(value)
