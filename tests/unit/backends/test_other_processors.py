"""Tests that kernels compile for other processors, because their text names none."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import opdsl
from opdsl import Ints, Library, Tensor, formula, primitives
from opdsl.backends.cpu import handwritten, native, processor

# A server's processor under Linux and Apple's under macOS, each with the start of its object code.
TARGETS = {
    "aarch64-unknown-linux-gnu": ("neoverse-n1", b"\x7fELF", 18, 183),
    "arm64-apple-macosx14.0.0": ("apple-m1", b"\xcf\xfa\xed\xfe", 4, 12),
}


@pytest.fixture(scope="module")
def machines() -> list[llvm.TargetMachine]:
    """Return LLVM target machines for ARM processors, set up as for kernels loaded at once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    targets = {triple: llvm.Target.from_triple(triple) for triple in TARGETS}
    return [target.create_target_machine(cpu=TARGETS[triple][0], opt=2, jit=True) for triple, target in targets.items()]


def is_compiled(machines: list[llvm.TargetMachine], text: str) -> bool:
    """Return whether LLVM compiles a text for each processor and system."""
    return all(is_compiled_for(machine, text) for machine in machines)


def is_compiled_for(machine: llvm.TargetMachine, text: str) -> bool:
    assert "@llvm.x86." not in text  # which would crash LLVM
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    code: bytes = machine.emit_object(module)
    _, magic, place, number = TARGETS[machine.triple]
    return code.startswith(magic) and int.from_bytes(code[place : place + 2], "little") == number


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("other_processors") as lib:
        yield lib


def lift(x):
    return math.exp(x) - 0.625 * x


def test_kernels_are_compiled_for_arm(
    library: Library, machines: list[llvm.TargetMachine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @library.op
    @formula
    def curve(self: Tensor, other: Tensor) -> Tensor:
        return opdsl.tanh(self * 0.625) + opdsl.log(abs(other))

    sums = primitives.fold(lambda a, b: a + b, init=0, lift=lift, promote="int_to_float")

    @library.op
    @formula
    def fold(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor:
        return sums(self, dim, keepdim)

    @library.op
    @formula
    def spread(self: Tensor) -> Tensor:
        e = opdsl.exp(0.625 * (self - self.amax(1, True)))
        return e / e.sum(1, True)

    native.code()  # the code for this processor
    monkeypatch.setenv("OPDSL_DUMP", str(tmp_path))
    for dtype in (opdsl.float32, opdsl.float16):
        x = opdsl.ones(3, 40, dtype=dtype)
        curve(x, x), fold(x, [1]), spread(x)
    kernels = sorted(tmp_path.glob("*.ll"))
    assert len(kernels) >= 6
    assert all(is_compiled(machines, kernel.read_text()) for kernel in kernels)


@pytest.mark.parametrize("name", ["aarch64", "arm64"])
def test_the_shared_code_is_compiled_for_arm(
    machines: list[llvm.TargetMachine], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: name)
    assert all(is_compiled(machines, text) for text in native.texts())


@pytest.mark.parametrize("name", handwritten.KERNELS)
def test_kernels_by_hand_are_compiled_for_others(machines: list[llvm.TargetMachine], name: str) -> None:
    assert is_compiled(machines, handwritten.text(handwritten.KERNELS[name].module, name))


def test_a_processor_whose_features_llvm_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> None:
        raise RuntimeError("failed to get host cpu features.")

    monkeypatch.delenv("OPDSL_CPU", raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(processor.llvm, "get_host_cpu_features", unknown)
    monkeypatch.setattr(processor.llvm, "get_host_cpu_name", lambda: "apple-m1")
    apple = processor._own_processor.__wrapped__()
    assert apple == processor.Processor("apple-m1", "", frozenset({"neon"}), False)
    assert apple.vector_bytes == 16


def test_processors_are_counted_where_affinity_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert native.usable_processors() == 6
