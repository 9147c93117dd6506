"""Small GPT, written once for both libraries, with equal weights and equal calls."""

from __future__ import annotations

import math
from typing import Any

import numpy
import torch

import opdsl

WIDTH, HEADS, LAYERS, VOCABULARY, LONGEST = 64, 4, 2, 65, 512


def weights() -> dict[str, numpy.ndarray[Any, Any]]:
    """Return the parameters by name, equal at each call."""
    draw = numpy.random.default_rng(0)
    parameters = {
        "tokens": draw.normal(size=(VOCABULARY, WIDTH)),
        "places": draw.normal(size=(LONGEST, WIDTH)),
        "out": draw.normal(size=(VOCABULARY, WIDTH)),
    }
    shapes = {"qkv": (3 * WIDTH, WIDTH), "proj": (WIDTH, WIDTH), "up": (4 * WIDTH, WIDTH), "down": (WIDTH, 4 * WIDTH)}
    for layer in range(LAYERS):
        parameters |= {f"{name}{layer}": 0.05 * draw.normal(size=shape) for name, shape in shapes.items()}
        parameters |= {f"scale{text}{layer}": numpy.ones(WIDTH) for text in "ab"}
        parameters |= {f"shift{text}{layer}": numpy.zeros(WIDTH) for text in "ab"}
    return {name: value.astype(numpy.float32) for name, value in parameters.items()}


class Gpt:
    """GPT in one of the libraries.

    Args:
        lib: ``opdsl`` or ``torch``.
        trains: whether its parameters require gradients.
    """

    def __init__(self, lib: Any, *, trains: bool = False) -> None:
        self.lib = lib
        self.nn = torch.nn.functional if lib is torch else opdsl.nn
        self.cross_entropy = getattr(self.nn, "cross_entropy", None) or opdsl.ops.aten.cross_entropy_loss
        self.weights = {name: lib.from_numpy(weight.copy()) for name, weight in weights().items()}
        self.mask = lib.from_numpy(numpy.triu(numpy.ones((LONGEST, LONGEST), bool), 1))
        if trains:
            for weight in self.weights.values():
                weight.requires_grad_()

    def __call__(self, tokens: Any, cache: list[tuple[Any, Any]] | None = None) -> Any:
        """Return the logits of tokens, ``(batch, length)``; a cache of keys and values is read and extended."""
        length = tokens.shape[1]
        before = 0 if not cache else cache[0][0].shape[2]
        x = self.weights["tokens"][tokens] + self.weights["places"][before : before + length]
        for layer in range(LAYERS):
            x = x + self._attention(x, layer, cache)
            hidden = self.nn.gelu(self.nn.linear(self._norm(x, "b", layer), self.weights[f"up{layer}"]))
            x = x + self.nn.linear(hidden, self.weights[f"down{layer}"])
        return self.nn.linear(x, self.weights["out"])

    def _norm(self, x: Any, which: str, layer: int) -> Any:
        scale, shift = self.weights[f"scale{which}{layer}"], self.weights[f"shift{which}{layer}"]
        return self.lib.layer_norm(x, (WIDTH,), scale, shift)

    def _attention(self, x: Any, layer: int, cache: list[tuple[Any, Any]] | None) -> Any:
        batch, length, _ = x.shape
        parts = self.nn.linear(self._norm(x, "a", layer), self.weights[f"qkv{layer}"]).split(WIDTH, 2)
        q, k, v = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)
        if cache is not None:
            if len(cache) > layer:
                k, v = (self.lib.cat((old, new), 2) for old, new in zip(cache[layer], (k, v), strict=True))
                cache[layer] = k, v
            else:
                cache.append((k, v))
        scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(WIDTH // HEADS))
        if length > 1:
            scores = scores.masked_fill(self.mask[:length, :length], -math.inf)
        output = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, WIDTH)
        return self.nn.linear(output, self.weights[f"proj{layer}"])

    def step(self, tokens: Any) -> float:
        """Run a forward and a backward pass and return the loss."""
        loss = self.cross_entropy(self(tokens).view(-1, VOCABULARY), tokens.reshape(-1))
        loss.backward()
        for weight in self.weights.values():
            weight.grad = None
        return float(loss.item())
