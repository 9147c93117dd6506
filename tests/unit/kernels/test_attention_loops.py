"""Tests of the loops of attention, by the interpreter, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from opdsl.kernels.calls import AttentionCall
from opdsl.kernels.loops.attention import Tiling, attention
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.interpreter import interpret
from opdsl.runtime import DType, bool_, float32
from opdsl.runtime.strides import contiguous_strides

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("mask", [None, bool_, float32])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("keys", [0, 5, 40])
def test_the_loops_of_attention_give_what_all_scores_give(keys: int, is_causal: bool, mask: DType | None) -> None:
    heads, queries, size, value_size = (2, 1, 2), 20, 5, 18
    shapes = (*heads, queries, size), (*heads[:2], keys, size), (*heads[:2], keys, value_size), (*heads, queries, keys)
    query, key, value = (RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes[:3])
    bias = RANDOM.standard_normal(shapes[3]).astype(np.float32)
    masks = [] if mask is None else [bias > -0.5 if mask is bool_ else bias]
    out = np.empty((*heads, queries, value_size), np.float32)
    strides = [contiguous_strides(array.shape) for array in (query, key, value, out)]
    sizes = (*heads, queries, keys, size, value_size)
    call = AttentionCall(float32, *sizes, *strides, mask, contiguous_strides(bias.shape), is_causal)
    loops = attention(call, Tiling(16, 16, 16, 32, 1, 4))
    check_program(loops.program)
    operands = [query, key, value, *masks, np.float32(0.3), out]
    flat = [operand.reshape(-1) if isinstance(operand, np.ndarray) else operand for operand in operands]
    interpret(loops.program, flat, [word for word in loops.words if isinstance(word, int)])
    scores = query.astype(np.float64) @ key[:, :, None].swapaxes(-1, -2) * 0.3
    for chosen in masks:
        scores = np.where(chosen, scores, -np.inf) if mask is bool_ else scores + chosen
    scores = np.where(np.tri(queries, keys, dtype=bool), scores, -np.inf) if is_causal else scores
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(most == -np.inf, 0, most))
    expected = weights @ value[:, :, None] / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    np.testing.assert_allclose(out, expected, rtol=0, atol=2e-6)
