"""Benchmark of operators over named dimensions, compared with PyTorch: forward, and forward and backward.

PyTorch's side is compiled by ``torch.compile``, or runs eagerly with ``--eager``. ``--threads 2`` sets two threads.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from harness import Report, main
from harness.dims import operators
from harness.passes import Pair, arguments, measured

import opdsl


def leaves(arrays: Sequence[numpy.ndarray[Any, Any]], convert: Callable[[Any], Any]) -> list[Any]:
    """Return copies of arrays as tensors; float32 tensors require gradients."""
    output = [convert(tensor.copy()) for tensor in arrays]
    return [leaf.requires_grad_() if leaf.dtype in (opdsl.float32, torch.float32) else leaf for leaf in output]


def run(chosen: argparse.Namespace) -> Report:
    """Measure all operators."""
    pairs = {
        title: Pair(
            (operator, text if chosen.eager else torch.compile(text)),
            ([opdsl.from_numpy(tensor) for tensor in arrays], [torch.from_numpy(tensor) for tensor in arrays]),
            (leaves(arrays, opdsl.from_numpy), leaves(arrays, torch.from_numpy)),
        )
        for title, (operator, text, arrays) in operators().items()
    }
    return measured("Operators over named dimensions", pairs, chosen, (0.8, 0.9))


if __name__ == "__main__":
    chosen, sys.argv[1:] = arguments().parse_known_args()
    main(f"dims{'-2-threads' if chosen.threads == 2 else ''}", lambda: run(chosen))
