"""PyTorch models, as users write them, for ``torch.export`` and for ``torch.compile``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn import functional

__all__ = ["NETWORKS", "Network"]


class BasicBlock(torch.nn.Module):
    """Residual block of two convolutions and a shortcut, as in torchvision's ResNet-18."""

    def __init__(self, own: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(own, out, 3, stride, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(out)
        self.conv2 = torch.nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(out)
        is_same = stride == 1 and own == out
        shortcut = (torch.nn.Conv2d(own, out, 1, stride, bias=False), torch.nn.BatchNorm2d(out))
        self.shortcut = torch.nn.Identity() if is_same else torch.nn.Sequential(*shortcut)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See ``torch.nn.Module``."""
        relu = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(relu)) + self.shortcut(x))


def resnet() -> torch.nn.Module:
    """Return a ResNet-18 for 1,000 classes."""
    nn = torch.nn
    widths = ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2))
    blocks = [BasicBlock(*width) for width in (*widths, (512, 512, 1))]
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Block(torch.nn.Module):
    """Transformer block of causal attention and a feed-forward network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.inner = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See ``torch.nn.Module``."""
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, 2)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.inner(self.norm2(x))


class Gpt(torch.nn.Module):
    """GPT of four layers of width 256, with a vocabulary of 65 tokens."""

    def __init__(self, width: int = 256, heads: int = 8, layers: int = 4, vocabulary: int = 65) -> None:
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(512, width)
        self.blocks = torch.nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """See ``torch.nn.Module``."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(places))))


class Network(NamedTuple):
    """Model to measure, with its argument.

    make: returns the model.
    argument: returns the argument.
    goal: the ratio of the exported model to eager that is to be reached.
    """

    make: Callable[[], torch.nn.Module]
    argument: Callable[[], Any]
    goal: float


NETWORKS = {
    "ResNet-18, 2 x 3 x 112 x 112": Network(resnet, lambda: torch.rand(2, 3, 112, 112), 1.0),
    "GPT: B4 T128 width 256, 4 layers": Network(Gpt, lambda: torch.randint(0, 65, (4, 128)), 0.6),
}
