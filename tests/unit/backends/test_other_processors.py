"""Kernels are compiled for a processor that is not here: what they are printed as names none."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import opdsl
from opdsl import Ints, Library, Tensor
from opdsl.backends.cpu import native
from opdsl.scalar.intrinsics import row_max, row_sum

TRIPLE = "aarch64-unknown-linux-gnu"


@pytest.fixture(scope="module")
def machine() -> llvm.TargetMachine:
    """LLVM for a server's ARM processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu="neoverse-n1", opt=2, reloc="pic")


def is_compiled(machine: llvm.TargetMachine, text: str) -> bool:
    """Whether LLVM makes object code of it, for ARM."""
    assert "@llvm.x86." not in text  # which LLVM would not survive
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    module.verify()
    code: bytes = machine.emit_object(module)
    return code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == 183


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("other_processors") as lib:
        yield lib


def lift(x):
    return math.exp(x) - 0.625 * x


def test_kernels_are_compiled_for_arm(
    library: Library, machine: llvm.TargetMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @library.op
    def curve(self: Tensor, other: Tensor) -> Tensor: ...

    @curve.pointwise(promote="int_to_float")
    def curve_scalar(x, y):
        return math.tanh(x * 0.625) + math.log(abs(y))

    @library.op
    def fold(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor: ...

    @fold.reduction(init=0, lift=lift, promote="int_to_float")
    def add(a, b):
        return a + b

    @library.op
    def spread(self: Tensor) -> Tensor: ...

    @spread.meta
    def spread_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)
        return (1,)

    @spread.row(promote="floating")
    def spread_row(self):
        e = math.exp(0.625 * (self - row_max(self)))
        return e / row_sum(e)

    native.code()  # is this processor's
    monkeypatch.setenv("OPDSL_DUMP", str(tmp_path))
    for dtype in (opdsl.float32, opdsl.float16):
        x = opdsl.ones(3, 40, dtype=dtype)
        curve(x, x), fold(x, [1]), spread(x)
    kernels = sorted(tmp_path.glob("*.ll"))
    assert len(kernels) >= 6
    assert all(is_compiled(machine, each.read_text()) for each in kernels)


def test_the_shared_code_is_compiled_for_arm(machine: llvm.TargetMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert is_compiled(machine, native.text())
