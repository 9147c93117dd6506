"""Networks to train, written once for both libraries, with equal weights and equal calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

# A forward and backward pass with a step of gradient descent, which returns the loss as a tensor.
Step = Callable[[], Any]


class Model:
    """Base class of the networks: it has a library, parameters, random data, and a training step.

    Args:
        lib: ``opdsl`` or ``torch``.
    """

    rate = 0.01

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.nn = lib.nn.functional
        self.draw = numpy.random.default_rng(0)
        self.parameters: list[Any] = []

    def parameter(self, *shape: int, scale: float | None = None) -> Any:
        """Create a parameter, either random with a deviation of one over the root of its fan-in, or filled with
        ``scale``.
        """
        value = self.draw.normal(size=shape) / math.sqrt(math.prod(shape[1:])) if scale is None else scale
        array = numpy.broadcast_to(numpy.asarray(value, numpy.float32), shape)
        parameter = self.lib.from_numpy(numpy.array(array)).requires_grad_()
        self.parameters.append(parameter)
        return parameter

    def values(self, *shape: int) -> Any:
        """Return random inputs."""
        return self.lib.from_numpy(self.draw.normal(size=shape).astype(numpy.float32))

    def labels(self, below: int, *shape: int) -> Any:
        """Return random class indices that are less than ``below``."""
        return self.lib.from_numpy(self.draw.integers(0, below, size=shape))

    def loss(self) -> Any:
        """Run the forward pass and return the loss."""
        raise NotImplementedError

    def step(self) -> Any:
        """Run one step of gradient descent and return the loss."""
        loss = self.loss()
        loss.backward()
        with self.lib.no_grad():
            for parameter in self.parameters:
                parameter.sub_(parameter.grad, alpha=self.rate)
                parameter.grad = None
        return loss


class Perceptron(Model):
    """Perceptron of three layers, 784-256-256-10, with a batch of 64."""

    def __init__(self, lib: Any) -> None:
        super().__init__(lib)
        self.images, self.wanted = self.values(64, 784), self.labels(10, 64)
        sizes = ((256, 784), (256, 256), (10, 256))
        self.layers = [(self.parameter(*size), self.parameter(size[0], scale=0.0)) for size in sizes]

    def loss(self) -> Any:
        """See ``Model``."""
        x = self.images
        for index, (weight, bias) in enumerate(self.layers):
            x = self.nn.linear(x, weight, bias)
            x = self.nn.relu(x) if index < len(self.layers) - 1 else x
        return self.nn.cross_entropy(x, self.wanted)


class Gpt(Model):
    """Transformer of two layers.

    Args:
        lib: see ``Model``.
        batch, length, width, heads: its sizes.
    """

    def __init__(self, lib: Any, batch: int, length: int, width: int, heads: int) -> None:
        super().__init__(lib)
        self.width, self.heads, vocabulary = width, heads, 65
        self.tokens = self.labels(vocabulary, batch, length + 1)
        self.embedding = self.parameter(vocabulary, width)
        self.positions = self.parameter(length, width)
        self.out = self.parameter(vocabulary, width)
        self.mask = lib.from_numpy(numpy.triu(numpy.ones((length, length), bool), 1))
        self.blocks = [
            {name: self.parameter(rows * width, columns * width) for name, rows, columns in self.shapes()}
            | {f"{kind}{at}": self.parameter(width, scale=at_first) for at in (1, 2) for kind, at_first in self.norms()}
            for _ in range(2)
        ]

    @staticmethod
    def shapes() -> tuple[tuple[str, int, int], ...]:
        """Return names and shapes of the weights of a layer, in multiples of the width."""
        return ("qkv", 3, 1), ("proj", 1, 1), ("up", 4, 1), ("down", 1, 4)

    @staticmethod
    def norms() -> tuple[tuple[str, float], ...]:
        """Return names and initial values of the parameters of a normalization."""
        return ("scale", 1.0), ("shift", 0.0)

    def norm(self, x: Any, block: dict[str, Any], at: int) -> Any:
        """Apply a layer normalization of a block."""
        return self.nn.layer_norm(x, (self.width,), block[f"scale{at}"], block[f"shift{at}"])

    def attention(self, x: Any, block: dict[str, Any]) -> Any:
        """Compute causal attention by elementary operators."""
        batch, length, width = x.shape
        parts = self.nn.linear(x, block["qkv"]).split(width, 2)
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(width // self.heads))
        scores = scores.masked_fill(self.mask, -math.inf)
        output = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        return self.nn.linear(output, block["proj"])

    def loss(self) -> Any:
        """See ``Model``."""
        token, wanted = self.tokens[:, :-1], self.tokens[:, 1:]
        x = self.nn.embedding(token, self.embedding) + self.positions
        for block in self.blocks:
            x = x + self.attention(self.norm(x, block, 1), block)
            hidden = self.nn.gelu(self.nn.linear(self.norm(x, block, 2), block["up"]))
            x = x + self.nn.linear(hidden, block["down"])
        logits = self.nn.linear(x, self.out)
        return self.nn.cross_entropy(logits.view(-1, logits.shape[-1]), wanted.reshape(-1))


class Recurrent(Model):
    """Recurrent network, written as a loop over time, whose last state is classified.

    Args:
        lib: see ``Model``.
        gates: 4 for an LSTM, 3 for a GRU.
        batch, length, width: its sizes.
    """

    def __init__(self, lib: Any, gates: int, batch: int, length: int, width: int) -> None:
        super().__init__(lib)
        self.gates, self.width = gates, width
        self.inputs, self.wanted = self.values(length, batch, width), self.labels(10, batch)
        self.first = lib.zeros(batch, width)
        self.own = self.parameter(gates * width, width), self.parameter(gates * width, scale=0.0)
        self.before = self.parameter(gates * width, width), self.parameter(gates * width, scale=0.0)
        self.head = self.parameter(10, width), self.parameter(10, scale=0.0)

    def loss(self) -> Any:
        """See ``Model``."""
        linear, state, cell = self.nn.linear, self.first, self.first
        for x in self.inputs.unbind(0):
            if self.gates == 4:
                gates = linear(x, *self.own) + linear(state, *self.before)
                let_in, forget, new, out = gates.chunk(4, 1)
                cell = forget.sigmoid() * cell + let_in.sigmoid() * new.tanh()
                state = out.sigmoid() * cell.tanh()
            else:
                reset, update, new = linear(x, *self.own).chunk(3, 1)
                own_reset, own_update, own_new = linear(state, *self.before).chunk(3, 1)
                update = (update + own_update).sigmoid()
                new = (new + (reset + own_reset).sigmoid() * own_new).tanh()
                state = new + update * (state - new)
        return self.nn.cross_entropy(linear(state, *self.head), self.wanted)


class Residual(Model):
    """Residual convolutional network on 32x32 images, with batch normalization and a batch of 32."""

    def __init__(self, lib: Any) -> None:
        super().__init__(lib)
        self.images, self.wanted = self.values(32, 3, 32, 32), self.labels(10, 32)
        widths = ((3, 16, 1), (16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1))
        self.layers = [
            (self.parameter(out, own, 3, 3), self.parameter(out, scale=1.0), self.parameter(out, scale=0.0), stride)
            for own, out, stride in widths
        ]
        self.head = self.parameter(10, 32), self.parameter(10, scale=0.0)

    def convolved(self, x: Any, at: int) -> Any:
        """Apply a convolution and its normalization."""
        weight, scale, shift, stride = self.layers[at]
        x = self.nn.conv2d(x, weight, None, stride, 1)
        return self.nn.batch_norm(x, None, None, scale, shift, True)

    def loss(self) -> Any:
        """See ``Model``."""
        relu = self.nn.relu
        x = relu(self.convolved(self.images, 0))
        x = relu(x + self.convolved(relu(self.convolved(x, 1)), 2))
        x = relu(self.convolved(relu(self.convolved(x, 3)), 4))
        return self.nn.cross_entropy(self.nn.linear(x.mean((2, 3)), *self.head), self.wanted)


class Trained(NamedTuple):
    """Row of the table of training steps.

    name: the label.
    make: creates the model in a library.
    goal: the ratio to reach.
    """

    name: str
    make: Callable[[Any], Model]
    goal: float


MODELS = (
    Trained("MLP 784-256-256-10, batch 64", Perceptron, 1.0),
    Trained("GPT small: B4 T32 width 64", lambda lib: Gpt(lib, 4, 32, 64, 4), 0.7),
    Trained("GPT medium: B4 T128 width 256", lambda lib: Gpt(lib, 4, 128, 256, 8), 0.9),
    Trained("LSTM B4 T50 H32", lambda lib: Recurrent(lib, 4, 4, 50, 32), 0.8),
    Trained("LSTM B32 T100 H128", lambda lib: Recurrent(lib, 4, 32, 100, 128), 0.8),
    Trained("GRU B4 T50 H32", lambda lib: Recurrent(lib, 3, 4, 50, 32), 0.8),
    Trained("GRU B32 T100 H128", lambda lib: Recurrent(lib, 3, 32, 100, 128), 0.8),
    Trained("CNN 32x32, batch 32", Residual, 1.0),
)

__all__ = ["MODELS", "Model", "Trained"]
