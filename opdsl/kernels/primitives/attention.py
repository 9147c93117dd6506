"""Attention in one kernel of tiles, and its weights, the softmax of scaled and masked scores, in one kernel of rows."""

from __future__ import annotations

import math
from functools import lru_cache
from types import FunctionType
from typing import Any

from opdsl.kernels.calls import AttentionCall, AttentionGradientCall, Layout, OperandSpec
from opdsl.kernels.compiler import Compiled, attends, compiler_for
from opdsl.kernels.functions import rows
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.outputs import array_of
from opdsl.kernels.primitives.copying import fill_
from opdsl.runtime.dtype import bool_, int64
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import made_once
from opdsl.runtime.tensor import Tensor
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.intrinsics import row_index, row_max, row_sum

__all__ = ["attend", "attend_backward", "has_tiles", "write_weights"]


def write_weights(scores: Tensor, mask: Tensor | None, scale: float, is_causal: bool, weights: Tensor) -> None:
    """Write the softmax along rows of scores times ``scale``, plus a mask; rows without any score above -inf get 0.

    Args:
        scores: (batch, heads, queries, keys), on a backend whose kernels generate indices.
        mask: numbers that are added, or bools that select the scores that count; broadcast to the scores' shape.
        scale: the factor.
        is_causal: whether scores after the query's own index are left out.
        weights: of the same shape, to be written.
    """
    if scores.is_meta:
        return
    form = None if mask is None else mask.expand(scores.shape).geometry
    run = _weights(scores.geometry, form, weights.geometry, is_causal=is_causal)
    added = 0.0 if mask is None else array_of(mask.expand(scores.shape))
    run(array_of(scores), added, 0 if is_causal else scores.shape[3], scale, array_of(weights))


@made_once(512)
def _weights(scores: TensorMeta, mask: TensorMeta | None, weights: TensorMeta, *, is_causal: bool) -> Compiled:
    precision = precision_of(scores.dtype)
    added = OperandSpec(precision, None) if mask is None else _spec(mask)
    # The last key that a query attends to: its own index, or a number that no index exceeds.
    last = OperandSpec(int64, (0, 0, 8, 0), counts=True) if is_causal else OperandSpec(int64, None)
    inputs = (_spec(scores), added, last, OperandSpec(precision, None))
    layout = Layout((scores.shape[:3], scores.shape[3:]), inputs, (_spec(weights),), (None,))
    is_chosen = mask is not None and mask.dtype is bool_
    graph = _graph(_chosen_weight if is_chosen else _added_weight, precision.name, precision_of(weights.dtype).name)
    return compiler_for(scores.device.type).compile(*rows(graph, layout))


def _spec(form: TensorMeta) -> OperandSpec:
    return OperandSpec(form.dtype, tuple([form.dtype.itemsize * step for step in form.strides]))


@lru_cache(maxsize=64)
def _graph(function: FunctionType, kind: str, result_type: str) -> TypedGraph:
    from opdsl.scalar import read

    types = {"score": kind, "mask": "bool" if function is _chosen_weight else kind, "last": "int64", "scale": kind}
    return read(function, rows=True).specialise(types, results=[result_type])


def _added_weight(score: Any, mask: Any, last: Any, scale: Any) -> Any:
    return _weight(score * scale + mask if row_index(score) <= last else -math.inf)


def _chosen_weight(score: Any, mask: Any, last: Any, scale: Any) -> Any:
    return _weight(score * scale if mask and row_index(score) <= last else -math.inf)


def _weight(score: Any) -> Any:
    most = row_max(score)
    raised = 0.0 if score == -math.inf else math.exp(score - most)
    total = row_sum(raised)
    return 0.0 if total == 0.0 else raised / total


def has_tiles(query: Tensor, value: Tensor) -> bool:
    """Return whether the device of queries has a kernel of attention by tiles for their heads and dtype."""
    size, value_size = int(query.shape[3]), int(value.shape[3])  # part of the kernel's source
    return not query.is_meta and attends(query.device.type, query.dtype, size, value_size)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scale: float,
    is_causal: bool,
    out: Tensor,
    sums: Tensor | None = None,
    *,
    selects: bool = False,
) -> None:
    """Write means of values, weighted by the softmax of scaled and masked scores, without storing the scores.

    Args:
        query: (batch, heads, queries, size), on a device for which ``has_tiles``.
        key: (batch, groups, keys, size), where the number of heads is a multiple of that of groups.
        value: (batch, groups, keys, value size).
        mask: numbers that are added, or bools that select the scores that count; broadcast to the scores' shape.
        scale: the factor of scores.
        is_causal: whether a query attends only to keys up to its own index.
        out: (batch, heads, queries, value size), to be written; queries that attend to no key get 0.
        sums: (batch, heads, queries), to become the log-sum-exps of scores, on the CPU only; None if not wanted.
        selects: whether the mask, of the numbers inf and -inf, selects the scores that count, on the CPU only.
    """
    if out.is_meta:
        return
    written = (out,) if sums is None else (out, sums)
    if not (out.geometry.numel and key.shape[2]):
        for target in written:
            fill_(target, 0)
        return
    shape = (*query.shape[:3], key.shape[2])
    whole = None if mask is None else mask.expand(shape)
    form = None if whole is None else whole.geometry
    forms = tuple([tensor.geometry for tensor in written])
    geometries = (query.geometry, key.geometry, value.geometry)
    run = _attention(*geometries, form, forms, is_causal=is_causal, selects=selects)
    arrays = [query, key, value, *([] if whole is None else [whole])]
    run(*map(array_of, arrays), scale, *map(array_of, written))


def attend_backward(
    inputs: tuple[Tensor, Tensor, Tensor, Tensor | None],
    outputs: tuple[Tensor, Tensor, Tensor],
    scale: float,
    is_causal: bool,
    gradients: tuple[Tensor, Tensor, Tensor],
) -> None:
    """Write the gradients of queries, keys and values, computing the weights of attention again.

    Args:
        inputs: queries, keys, values and the mask, as ``attend`` was given them, on the CPU.
        outputs: the gradient of the output, the output, and log-sum-exps of scores.
        scale, is_causal: see ``attend``.
        gradients: of queries, keys and values, to be written.
    """
    query, key, value, mask = inputs
    if query.is_meta:
        return
    if not (query.geometry.numel and key.geometry.numel):
        for gradient in gradients:
            fill_(gradient, 0)
        return
    whole = None if mask is None else mask.expand((*query.shape[:3], key.shape[2]))
    forms = tuple([tensor.geometry for tensor in (query, key, value, *outputs, *gradients)])
    run = _attention_gradient(forms, None if whole is None else whole.geometry, is_causal=is_causal)
    arrays = [query, key, value, *([] if whole is None else [whole]), *outputs]
    run(*map(array_of, arrays), scale, *map(array_of, gradients))


@made_once(512)
def _attention(
    query: TensorMeta,
    key: TensorMeta,
    value: TensorMeta,
    mask: TensorMeta | None,
    written: tuple[TensorMeta, ...],
    *,
    is_causal: bool,
    selects: bool,
) -> Compiled:
    call = _attention_call(query, key, value, mask, written, is_causal)
    return compiler_for(query.device.type).attention(call._replace(selects=selects))


@made_once(512)
def _attention_gradient(forms: tuple[TensorMeta, ...], mask: TensorMeta | None, *, is_causal: bool) -> Compiled:
    query, key, value, grad, out, sums, grad_query, grad_key, grad_value = forms
    call = AttentionGradientCall(
        _attention_call(query, key, value, mask, (out, sums), is_causal),
        _by_groups(grad, key),
        _by_groups(grad_query, key),
        grad_key.strides,
        grad_value.strides,
    )
    return compiler_for(query.device.type).attention_gradient(call)


def _attention_call(
    query: TensorMeta,
    key: TensorMeta,
    value: TensorMeta,
    mask: TensorMeta | None,
    written: tuple[TensorMeta, ...],
    is_causal: bool,
) -> AttentionCall:
    batch, groups, keys, size = key.shape
    return AttentionCall(
        query.dtype,
        batch,
        groups,
        query.shape[1] // groups,
        query.shape[2],
        keys,
        size,
        value.shape[3],
        _by_groups(query, key),
        key.strides,
        value.strides,
        _by_groups(written[0], key),
        None if mask is None else mask.dtype,
        () if mask is None else _by_groups(mask, key),
        is_causal,
        _by_groups(written[1], key) if len(written) > 1 else (),
    )


def _by_groups(form: TensorMeta, key: TensorMeta) -> tuple[int, ...]:
    """Return the strides of a tensor of (batch, heads, ...) with its heads divided among the groups of keys."""
    sample, head, *rest = form.strides
    return (sample, head * (form.shape[1] // key.shape[1]), head, *rest)
