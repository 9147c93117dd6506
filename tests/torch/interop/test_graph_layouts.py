"""Tests of ``torch.compile(backend="opdsl")`` on graphs whose results have other strides than torch's fake tensors."""

from __future__ import annotations

import json
import subprocess
import sys

BATCH_NORMS = """
import json, torch, opdsl.interop.torch

def difference(is_training):
    torch.manual_seed(0)
    norm, linear = torch.nn.BatchNorm1d(32).train(is_training), torch.nn.Linear(32, 8)

    def rows(x):
        return linear(norm((x * 2).transpose(1, 2)).transpose(1, 2))

    x = torch.randn(6, 4, 32)
    return (torch.compile(rows, backend="opdsl")(x) - rows(x)).abs().max().item()

print(json.dumps([difference(False), difference(True)]))
"""


def test_rows_of_batch_norms_of_transposed_tensors() -> None:
    """Graphs work although a fake result has the strides of a transposed tensor and the real one is contiguous.

    The graphs run in their own process, since other tests count the graphs of this one.
    """
    done = subprocess.run([sys.executable, "-c", BATCH_NORMS], capture_output=True, text=True, check=True)
    assert max(json.loads(done.stdout.splitlines()[-1])) < 1e-5
