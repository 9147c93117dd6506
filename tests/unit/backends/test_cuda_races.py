"""Tests of kernels in random orders of threads and blocks: results stay the same, and planted faults are found."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.cuda.streams import Stream
from tests.emulation.driver import EmulatedDriver
from tests.emulation.libraries import needs_compiler
from tests.emulation.races import Races
from tests.unit.backends.recording import Recorded, Recorder, differs

pytestmark = needs_compiler

SEEDS = 20
# Number of runs of all sound kernels together; with OPDSL_TEST_FULL=1, of each.
SOUND = 200
IS_WHOLE = bool(os.environ.get("OPDSL_TEST_FULL"))


def whole(*shape: int, dtype: Any = np.float32) -> Tensor:
    """Return a tensor of small whole numbers, whose sums are exact in any order."""
    return opdsl.from_numpy(np.random.default_rng(0).integers(-8, 8, shape).astype(dtype))


def places(count: int, size: int) -> Tensor:
    return opdsl.from_numpy(np.arange(count) % size)


CALLS: dict[str, tuple[str, Callable[[], object]]] = {
    "summed": ("reduction", lambda: whole(3, 1025).sum(1)),
    "across": ("reduction", lambda: whole(100, 3).sum(0)),
    "narrow": ("reduction", lambda: whole(20, 30).sum(1)),
    "scanned": ("scan", lambda: whole(9000).cumsum(0)),
    "normed": ("row", lambda: whole(2, 700).softmax(1)),
    "multiplied": (
        "indirect",
        lambda: opdsl.ones(3, dtype=opdsl.int32).index_reduce(0, places(600, 3), whole(600).int() * 2 + 1, "prod"),
    ),
    "locked": (
        "indirect",
        lambda: opdsl.zeros(2, dtype=opdsl.complex128).index_add(0, places(16, 2), whole(16).to(opdsl.complex128)),
    ),
    "shifted": ("pointwise", lambda: whole(999) + 1),
}


class Planted(NamedTuple):
    """Fault planted in a kernel.

    kernel: name of the kernel.
    sound, faulty: a part of the source, and its replacement.
    """

    kernel: str
    sound: str
    faulty: str


FAULTS = {
    "barrier removed": Planted(
        "summed",
        "parts[threadIdx.x / WARP_SIZE] = value;\n            }\n            __syncthreads();",
        "parts[threadIdx.x / WARP_SIZE] = value;\n            }",
    ),
    "barrier in a divergent branch": Planted(
        "across",
        "            __syncthreads();\n            if (team.lane % (2 * delta) == 0) {",
        "            if (team.lane % (2 * delta) == 0) {\n                __syncthreads();",
    ),
    "atomic to store": Planted(
        "multiplied",
        "seen = atomicCAS(word, assumed, same_bits<Word>(made));\n    } while (seen != assumed);\n}\n\n// One byte",
        "*word = same_bits<Word>(made);\n        seen = assumed;\n    } while (seen != assumed);\n}\n\n// One byte",
    ),
    "mask shortened": Planted("narrow", "ALL_LANES = 0xffffffffu", "ALL_LANES = 0x0000ffffu"),
    "fence removed": Planted(
        "locked", "change(place);\n            __threadfence();", "change(place);"
    ),
    "bound off by one": Planted("shifted", "i0 < i0_n; ++i0", "i0 <= i0_n; ++i0"),
    "misaligned vector load": Planted(
        "summed", "even = misplaced ? begin + vector - misplaced : begin", "even = begin"
    ),
    "shared slot reused early": Planted(
        "scanned",
        "        const int warp = threadIdx.x / width;\n        __syncthreads();",
        "        const int warp = threadIdx.x / width;",
    ),
    "uninitialised slack read": Planted(
        "summed", "(lane & (warps - 1))]", "(lane & (warps - 1)) + 1]"
    ),
}  # fmt: skip


def planted(source: str, fault: Planted) -> str:
    """Return a source with a fault planted in it."""
    assert source.count(fault.sound) == 1, source.count(fault.sound)
    return source.replace(fault.sound, fault.faulty)


@pytest.fixture(scope="module")
def recorded() -> dict[str, Recorded]:
    """Return the records of the CPU's kernels by name."""
    records = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, (kind, call) in CALLS.items():
            recorder = Recorder([kind])
            with recorder.installed(patch):
                call()
            records[name] = recorder.records[-1]
    return records


@pytest.fixture(scope="module")
def races(recorded: dict[str, Recorded]) -> Races:
    """Return all kernels, sound and faulty, compiled together."""
    sources = {name: run.program.source.text for name, run in recorded.items()}
    faulty = {key(name): planted(sources[fault.kernel], fault) for name, fault in FAULTS.items()}
    return Races({f"sound_{name}": text for name, text in sources.items()} | faulty)


def key(name: str) -> str:
    return name.replace(" ", "_")


def problem(races: Races, source: str, run: Recorded, seed: int) -> str:
    """Return a description of the fault that a kernel shows with a seed, or "" if none."""
    difference, operands = races.run(source, run.program, run.operands, seed)
    outputs = operands[len(operands) - len(run.results) :]
    if not difference and any(differs(*pair, exact=False) for pair in zip(outputs, run.results, strict=True)):
        difference = "other results"
    return difference


@pytest.mark.parametrize("name", CALLS)
def test_sound_kernels_give_the_same_in_any_order(name: str, races: Races, recorded: dict[str, Recorded]) -> None:
    seeds = range(SOUND if IS_WHOLE else SOUND // len(CALLS))
    assert {seed: text for seed in seeds if (text := problem(races, f"sound_{name}", recorded[name], seed))} == {}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, races: Races, recorded: dict[str, Recorded]) -> None:
    run = recorded[FAULTS[name].kernel]
    assert any(problem(races, key(name), run, seed) for seed in range(SEEDS))


@pytest.mark.parametrize("is_sound", [True, False])
def test_an_event_that_is_missing_is_found(
    cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch, is_sound: bool
) -> None:
    if not is_sound:
        monkeypatch.setattr(Stream, "wait_stream", lambda self, other: None)
    side = opdsl.cuda.Stream()
    wrong = 0
    for seed in range(SEEDS):
        with cuda.in_random_order(seed):
            x = opdsl.ones(64, device="cuda")
            with side:
                y = (x * 2) + 1
            z = y * x
            x.fill_(7)
            wrong += z.tolist() != [3.0] * 64 or y.tolist() != [3.0] * 64
        opdsl.cuda.synchronize()
    assert (wrong > 0) is not is_sound
