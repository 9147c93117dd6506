"""Classifier of handwritten digits, trained with the operators of opdsl and one that this file declares.

Run it with ``python examples/digits.py [FOLDER]``. It saves the loss curve and the misread digits as one picture in the
folder (``out`` by default).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from rich.progress import Progress
from sklearn.datasets import load_digits

import opdsl
from opdsl import Library, Tensor, formula

EPOCHS = 40
BATCH = 64
WIDTH = 128

lib = Library("digits")


# Its kernels and its gradient are derived from the body: print(swish.derivative_source).
@lib.op
@formula
def swish(self: Tensor, beta: float = 1.0) -> Tensor:
    """``self * sigmoid(beta * self)``"""
    return self / (1.0 + opdsl.exp(-beta * self))


class Classifier:
    """Network with two hidden layers.

    Args:
        random: the generator of the initial weights.
    """

    def __init__(self, random: np.random.Generator) -> None:
        sizes = (64, WIDTH, WIDTH, 10)
        self.weights = [_leaf(random.normal(size=pair) * math.sqrt(2 / pair[0])) for pair in pairwise(sizes)]
        self.biases = [_leaf(np.zeros(size)) for size in sizes[1:]]

    @property
    def parameters(self) -> list[Tensor]:
        """Return the weights and biases, which training changes."""
        return [*self.weights, *self.biases]

    def __call__(self, images: Tensor) -> Tensor:
        """Return the log-probabilities, ``(N, 10)``, of images, ``(N, 64)``."""
        hidden = images
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = hidden @ weight + bias
            if layer < len(self.weights) - 1:
                hidden = swish(hidden)
        return hidden.log_softmax(1)


def _leaf(values: np.ndarray) -> Tensor:
    return opdsl.tensor(values, dtype=opdsl.float32, requires_grad=True)


class Adam:
    """Optimizer of Kingma and Ba (2015), with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(self, parameters: list[Tensor], rate: float = 3e-3, decay: float = 1e-2) -> None:
        self.parameters = parameters
        self.rate, self.decay, self.steps = rate, decay, 0
        self.means = [opdsl.zeros(parameter.shape) for parameter in parameters]
        self.squares = [opdsl.zeros(parameter.shape) for parameter in parameters]

    @opdsl.no_grad()
    def step(self, progress: float) -> None:
        """Update every parameter by its gradient; ``progress`` goes from 0 to 1 and lowers the learning rate."""
        self.steps += 1
        rate = self.rate * 0.5 * (1 + math.cos(math.pi * progress))
        unbiased = math.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for parameter, mean, square in zip(self.parameters, self.means, self.squares, strict=True):
            gradient = parameter.grad
            assert gradient is not None, "backward has run"
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            square.mul_(0.999).add_(gradient * gradient, alpha=0.001)
            parameter.mul_(1 - rate * self.decay)
            parameter.sub_(mean / (square.sqrt() + 1e-8), alpha=rate * unbiased)
            parameter.grad = None


def loss_of(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of the labels."""
    return -scores.gather(1, labels.unsqueeze(1)).mean()


def batches(images: Tensor, labels: Tensor, random: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of all images and labels, in a new random order at each call."""
    order = opdsl.from_numpy(random.permutation(images.shape[0]))
    for chosen in order.split(BATCH):
        yield images[chosen], labels[chosen]


def train(model: Classifier, images: Tensor, labels: Tensor, random: np.random.Generator) -> list[float]:
    """Train the model and return the mean loss of every epoch."""
    optimiser = Adam(model.parameters)
    losses: list[float] = []
    with Progress() as progress:
        task = progress.add_task("training", total=EPOCHS)
        for epoch in range(EPOCHS):
            total = 0.0
            for some, wanted in batches(images, labels, random):
                loss = loss_of(model(some), wanted)
                loss.backward()
                optimiser.step(epoch / EPOCHS)
                total += float(loss.detach()) * some.shape[0]
            losses.append(total / images.shape[0])
            progress.update(task, advance=1, description=f"training, loss {losses[-1]:.4f}")
    return losses


def main(folder: Path) -> None:
    """Train the classifier, print its accuracy on unseen digits, and save the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    data = load_digits()
    order = random.permutation(len(data.target))
    images, labels = data.images.reshape(-1, 64)[order].astype(np.float32) / 16, data.target[order].astype(np.int64)
    count = len(labels) * 4 // 5
    seen = [opdsl.from_numpy(array[:count].copy()) for array in (images, labels)]
    unseen = [opdsl.from_numpy(array[count:].copy()) for array in (images, labels)]

    started = time.perf_counter()
    model = Classifier(random)
    losses = train(model, seen[0], seen[1], random)
    took = time.perf_counter() - started

    with opdsl.no_grad():
        answers = model(unseen[0]).argmax(1)
    right = answers == unseen[1]
    accuracy = right.to(opdsl.float32).mean().item()
    print(f"trained on {count} digits in {took:.1f} s; of {len(labels) - count} others {accuracy:.1%} are read right")
    print("the gradient of swish, as it was derived:")
    print("\n".join(f"   {line}" for line in str(swish.derivative_source).splitlines()))

    wrong = np.flatnonzero(~right.numpy())
    picture = folder / "digits.png"
    draw(picture, losses, images[count:][wrong], answers.numpy()[wrong], labels[count:][wrong])
    print(f"{picture}: the loss curve, and the {len(wrong)} misread digits with what was read and what is right")


def draw(path: Path, losses: list[float], images: np.ndarray, read: np.ndarray, right: np.ndarray) -> None:
    """Save a picture of the loss curve (logarithmic) and, below it, the misread digits."""
    across, size = 10, 64
    rows = -(-len(images) // across)
    canvas = Image.new("L", (across * size, 200 + rows * (size + 16)), 255)
    pen = ImageDraw.Draw(canvas)
    heights = np.log(losses)
    span = max(heights.max() - heights.min(), 1e-9)
    points = [
        (20 + at * (across * size - 40) / max(len(losses) - 1, 1), 180 - 160 * (height - heights.min()) / span)
        for at, height in enumerate(heights)
    ]
    pen.line(points, fill=0, width=2)
    pen.text((across * size // 2, 8), f"loss: {losses[0]:.3f} to {losses[-1]:.4f}", fill=0)
    for at, (image, mine, wanted) in enumerate(zip(images, read, right, strict=True)):
        left, top = at % across * size, 200 + at // across * (size + 16)
        pixels = (255 * (1 - image.reshape(8, 8))).astype(np.uint8)
        canvas.paste(Image.fromarray(pixels).resize((size - 4, size - 4), Image.Resampling.NEAREST), (left, top))
        pen.text((left + 4, top + size - 2), f"read {mine}, is {wanted}", fill=0)
    canvas.save(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
