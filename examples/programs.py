"""Option prices as a compiled program: written as calls, run as one loop, differentiated, saved and loaded again.

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
    """Return the cumulative distribution function of the standard normal distribution."""
    return 0.5 * (1 + opdsl.erf(d * math.sqrt(0.5)))


@opdsl.compile
def call_price(spot: Tensor, strike: Tensor, years: Tensor, volatility: Tensor, rate: float) -> Tensor:
    """Return prices of European call options by the formula of Black and Scholes."""
    deviation = volatility * years.sqrt()
    first = ((spot / strike).log() + (rate + 0.5 * volatility * volatility) * years) / deviation
    return spot * below(first) - strike * (-rate * years).exp() * below(first - deviation)


def main() -> None:
    """Compute prices of options, and check the derivative of the price by the spot price."""
    count = 1000
    draw = numpy.random.default_rng(0)
    columns = [draw.uniform(low, high, count) for low, high in ((80, 120), (80, 120), (0.1, 2), (0.1, 0.5))]
    spot, strike, years, volatility = (opdsl.from_numpy(column) for column in columns)

    prices = call_price(spot.requires_grad_(), strike, years, volatility, 0.02)
    prices.sum().backward()
    assert spot.grad is not None
    print(call_price.explain())

    # The derivative of the price by the spot is the normal distribution function at the first quantile (Black-Scholes
    # d1).
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
