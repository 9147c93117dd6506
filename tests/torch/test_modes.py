"""Tests that a dispatch mode sees the calls that ``TorchDispatchMode`` sees in PyTorch, in the same order."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import opdsl
from opdsl import DispatchMode
from tests.torch.twins import Twins

# Several modes share one list of notes: "<mode> <operator> <number of positional arguments> <names of the others>".
PROGRAMS = (
    "x + y",
    "x + 1",
    "2 - x",
    "x / 3.0",
    "x == 1",
    "lib.add(x, y, alpha=2)",
    "lib.add(x, y, alpha=1)",
    "lib.add(x, y, out=out)",
    "x.mul_(y)",
    "x.t() @ x",
    "x.sum()",
    "x.sum(1, True)",
    "lib.sum(x, dim=1, keepdim=False)",
    "lib.sum(x, 1, dtype=lib.float64)",
    "lib.mean(x, (0, 1))",
    "lib.amax(x, -1, True)",
    "x.view(-1)",
    "x.unsqueeze(0).squeeze(0)",
    "x.transpose(0, 1)",
    "x.expand(2, 3, 4)",
    "lib.full((2, 3), 1.5)",
    "lib.zeros(2, 3)",
    "lib.empty((2,), dtype=lib.int64)",
    "lib.cat((x, y), 1)",
    "lib.where(x > 1, x, y)",
    "x[0]",
    "x[1:3, None]",
    "x.clone()",
    "lib.exp(x).tanh_()",
)


def text(name: str, operator: Any, args: Any, kwargs: Any, lib: Any) -> str:
    """Return the note of a call: mode, operator, number of positional arguments, names of the others."""
    schema = operator._schema if lib is torch else operator.schema
    base = schema.name.removeprefix("aten::") if lib is torch else schema.name.base
    overload = schema.overload_name if lib is torch else schema.name.overload
    # PyTorch's Python bindings fill in a device; opdsl leaves that to the kernel.
    names = sorted(kwargs.keys() - {"device", "pin_memory"})
    return f"{name} {base}.{overload} {len(args)} {names}"


def modes_of(lib: Any, notes: list[str]) -> list[Any]:
    """Return two modes that note calls, the outer one first."""

    def hook(self: Any, operator: Any, args: Any, kwargs: Any) -> Any:
        notes.append(text(self.name, operator, args, kwargs, lib))
        return operator(*args, **kwargs)

    class Theirs(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return hook(self, func, args, kwargs or {})

    class Ours(DispatchMode):
        dispatch = hook

    modes = [Theirs() if lib is torch else Ours() for _ in range(2)]
    for name, mode in zip(("outer", "inner"), modes, strict=True):
        mode.name = name
    return modes


def notes_of(program: str, lib: Any) -> list[str]:
    """Return the notes of both modes for a program."""
    names = {
        "x": torch.arange(12.0).reshape(3, 4),
        "y": torch.ones(3, 4),
        "out": torch.empty(3, 4),
    }
    notes: list[str] = []
    outer, inner = modes_of(lib, notes)
    values = names if lib is torch else Twins().of(names)
    with outer, inner:
        eval(program, {"lib": lib, **values})
    return notes


@pytest.mark.parametrize("program", PROGRAMS)
def test_modes_see_what_torchs_see(program: str) -> None:
    assert notes_of(program, opdsl) == notes_of(program, torch)
