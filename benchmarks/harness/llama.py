"""Small Llama as a PyTorch module, with random weights."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["Llama"]

WIDTH, HEADS, LAYERS, HIDDEN, VOCABULARY = 64, 4, 2, 172, 100


class Norm(nn.Module):
    """RMS normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize the last dimension."""
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6))


class Block(nn.Module):
    """Causal attention with rotary positions, and a gated feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_network = Norm(), Norm()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        """Apply the block to hidden states, ``(batch, length, width)``."""
        hidden = self.before_attention(x)
        query, key, value = (
            layer(hidden).unflatten(-1, (HEADS, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        query, key = (part * cosines + turned(part) * sines for part in (query, key))
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        hidden = self.before_network(x)
        return x + self.down(nn.functional.silu(self.gate(hidden)) * self.up(hidden))


def turned(x: torch.Tensor) -> torch.Tensor:
    """Return pairs of halves turned by a right angle."""
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


class Llama(nn.Module):
    """Llama of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of tokens, ``(batch, length)``."""
        size = WIDTH // HEADS
        rates = 1 / 10_000 ** (torch.arange(0, size, 2) / size)
        angles = torch.outer(torch.arange(tokens.shape[1]).float(), rates).repeat(1, 2)
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, angles.cos(), angles.sin())
        logits: torch.Tensor = self.head(self.norm(x))
        return logits
