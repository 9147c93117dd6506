"""A formula as a program: option prices written as calls, run as one loop, with gradients; saved, and read again.

Run it with ``python examples/programs.py``.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy

import opdsl
from opdsl import Program, Tensor


def below(d: Tensor) -> Tensor:
    """The normal distribution's function."""
    return 0.5 * (1 + opdsl.erf(d * math.sqrt(0.5)))


@opdsl.compile
def call_price(spot: Tensor, strike: Tensor, years: Tensor, volatility: Tensor, rate: float) -> Tensor:
    """The price of European call options, after Black and Scholes."""
    deviation = volatility * years.sqrt()
    first = ((spot / strike).log() + (rate + 0.5 * volatility * volatility) * years) / deviation
    return spot * below(first) - strike * (-rate * years).exp() * below(first - deviation)


def main() -> None:
    """Price options, and say how the price follows the spot."""
    count = 1000
    draw = numpy.random.default_rng(0)
    columns = [draw.uniform(low, high, count) for low, high in ((80, 120), (80, 120), (0.1, 2), (0.1, 0.5))]
    spot, strike, years, volatility = (opdsl.from_numpy(column) for column in columns)

    prices = call_price(spot.requires_grad_(), strike, years, volatility, 0.02)
    prices.sum().backward()
    assert spot.grad is not None
    print(call_price.explain())

    # The derivative of the price by the spot is the normal distribution's function of the first of its arguments.
    deviation = columns[3] * numpy.sqrt(columns[2])
    first = (numpy.log(columns[0] / columns[1]) + (0.02 + columns[3] ** 2 / 2) * columns[2]) / deviation
    wanted = [0.5 * (1 + math.erf(quantile / math.sqrt(2))) for quantile in first]
    print("delta:", "agrees" if numpy.allclose(spot.grad.numpy(), wanted) else "differs")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "price.json"
        arguments = (spot.detach(), strike, years, volatility, 0.02)
        opdsl.trace(call_price.function, *arguments).save(path)
        again = opdsl.compile(Program.load(path))(*arguments)
    print("saved and read again:", "the same" if again.tolist() == prices.detach().tolist() else "another")


if __name__ == "__main__":
    main()
