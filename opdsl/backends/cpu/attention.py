"""Planner of attention: turns a call into a plan of the kernel in ``machine.attention``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.machine import attention as machine
from opdsl.backends.cpu.machine.attention_block import QUERIES, AttentionPlan
from opdsl.backends.cpu.machine.language import exports, words
from opdsl.backends.cpu.storage import MEMORY
from opdsl.runtime.permanent import kept_forever
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import AttentionCall
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
    code = _code(call.dtype.name, engine.vector_bytes() // call.dtype.itemsize)
    inputs = [*[builtin.ARRAY] * (4 if is_masked else 3), builtin.FLOAT]
    count = len(inputs)
    no_row = (0,) * 5
    strides: list[tuple[int, Sequence[int]]] = [
        (0, call.query),
        (1, (*call.key[:2], 0, *call.key[2:])),
        (2, (*call.value[:2], 0, *call.value[2:])),
        (count, call.out),
        (count + 1, (*call.sums, 0) if has_sums else no_row),
        (3, call.mask if is_masked else no_row),
    ]
    is_few = call.queries <= _FEW and call.key[-1] == call.value[-1] == 1
    blocks = -(-call.queries // QUERIES)
    details: list[int | Table] = words(
        AttentionPlan,
        operands=Table([word for place, steps in strides for word in (2 + 2 * place, *steps)]),
        groups=call.groups,
        members=call.members,
        queries=call.queries,
        keys=call.keys,
        size=call.size,
        width=call.value_size,
        blocks=blocks,
        is_few=int(is_few),
        is_causal=int(call.is_causal),
        is_masked=int(is_masked),
        selects=int(call.selects),
        has_sums=int(has_sums),
        scale_slot=2 * count,
    )
    elements = call.batch * call.groups * call.members * blocks
    rows = call.queries if is_few else QUERIES
    cost = rows * call.keys * (call.size + call.value_size)
    grain = largest(1, _SHARE // largest(1, cost)) if elements * cost > _SHARE else 0
    work = Work(code.address("attention"), elements, grain, details=details)
    return builtin.builtin("attention_cpu", work, inputs, [builtin.Given()] * (1 + has_sums), [code])


@kept_forever
def _code(dtype: str, lanes: int) -> engine.Code:
    make = functools.partial(text, dtype, lanes)
    return engine.compile_ir(f"attention {dtype} {lanes}", make, exports([machine]), has_long_loops=False)


def text(dtype: str, lanes: int) -> str:
    """Return the LLVM IR of the kernel for a dtype and a number of lanes."""
    from opdsl.backends.cpu.machine.text import module_text
    from opdsl.backends.cpu.machine.vectors import ATTRIBUTES, given
    from opdsl.backends.cpu.printer import declarations, vector_ir

    has_many = engine.has_feature("avx512f") or engine.has_feature("neon")
    heights = _HEIGHTS_OF_32 if has_many else _HEIGHTS_OF_16
    parts = [module_text([machine], given(MEMORY[dtype].llvm, lanes, HEIGHTS=heights), ATTRIBUTES)]
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
