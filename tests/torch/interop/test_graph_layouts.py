"""``torch.compile(backend="opdsl")`` of graphs whose results lie otherwise than torch's fake tensors say."""

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
    """Fake results lie as the transposed tensor does, those of torch's kernel do not: a view of them is refused.

    The graphs have a process of their own, since others count those that there are.
    """
    done = subprocess.run([sys.executable, "-c", BATCH_NORMS], capture_output=True, text=True, check=True)
    assert max(json.loads(done.stdout.splitlines()[-1])) < 1e-5
