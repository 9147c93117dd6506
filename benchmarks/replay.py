"""PyTorch's operator database, replayed: every overload that a sample reaches, with the arguments that reach it.

Each call runs in torch and in opdsl, and results, errors, what is written and what shares memory are held against each
other. What differs is explained by ``tests/torch/explained.py`` or named as unexplained; what is not declared is named.
Parts can be run one at a time, into one table::

    for part in 1 2 3 4; do python benchmarks/replay.py --part $part 4 --counts counts.json; done
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests know tolerances, and what explains a difference

import torch
import torchgen.gen as torchgen
from harness import Report, main
from torch.utils._python_dispatch import TorchDispatchMode

import opdsl
from opdsl import native
from opdsl.cli.missing import category_of
from opdsl.declare.generated import declare_generated
from tests.torch.explained import EXPLAINED, UNDETERMINED
from tests.torch.op_db import UNKNOWN, common, name_of
from tests.torch.tolerances import tolerance_of_call
from tests.torch.twins import compare, theirs

CORPUS = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
DTYPES = ("float32", "int64", "bool", "bfloat16", "complex64")
SAMPLES, SECONDS = 16, 3600
AGREES, BY_FORM, DIFFERS, UNDECLARED, ELSEWHERE = "agrees", "by form", "differs", "undeclared", "elsewhere"


class Counts:
    """What came of the calls.

    calls: how many of an overload came to what.
    shown: of an overload a difference, with the sample that showed it.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.calls: Counter[tuple[str, str]] = Counter()
        self.shown: dict[str, str] = {}
        if path is not None and path.exists():
            kept = json.loads(path.read_text())
            self.calls.update({(name, what): count for name, what, count in kept["calls"]})
            self.shown.update(kept["shown"])

    def keep(self) -> None:
        """Write them where a later part reads them."""
        if self.path is not None:
            calls = [(*key, count) for key, count in sorted(self.calls.items())]
            self.path.write_text(json.dumps({"calls": calls, "shown": self.shown}, indent=1))

    def total(self, what: str) -> int:
        """How many calls came to that."""
        return sum(count for (_, result), count in self.calls.items() if result == what)

    def names(self, what: str) -> list[tuple[str, int]]:
        """The overloads of which calls came to that, with how many."""
        return sorted((name, count) for (name, result), count in self.calls.items() if result == what)


class Replay(TorchDispatchMode):
    """Runs each operator that torch calls in opdsl, too.

    Args:
        counts: to add to.
        info: what op_db says of the operator whose samples are run.
        dtype: of the samples.
    """

    def __init__(self, counts: Counts, info: Any, dtype: str) -> None:
        super().__init__()
        self.counts, self.info, self.dtype = counts, info, dtype

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call both; the result is torch's."""
        results: list[Any] = []

        def torchs(*inputs: Any, **named: Any) -> Any:
            with shown(torch.DispatchKey.Conjugate), shown(torch.DispatchKey.Negative):
                results.append(func(*inputs, **named))
            return results[0]

        kwargs = kwargs or {}
        what, difference = self.outcome(func, torchs, args, kwargs)
        self.counts.calls[func.name(), what] += 1
        if difference:
            self.counts.shown.setdefault(func.name(), f"{name_of(self.info)}, {self.dtype}: {difference}")
        return results[0] if results else torchs(*args, **kwargs)

    def outcome(
        self, func: Any, torchs: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[str, str]:
        """What comes of a call, and how it differs."""
        if func.name() not in opdsl.registry.operators:
            return UNDECLARED, ""
        if not all(map(is_ours, leaves((args, tuple(kwargs.values()))))):
            return ELSEWHERE, ""
        packet = func._schema.name.partition("::")[2]
        tolerance = tolerance_of_call(packet, self.info)
        operator = getattr(getattr(opdsl.ops.aten, packet), func._overloadname)
        output: list[Any] = []

        def ours(*inputs: Any, **named: Any) -> Any:
            output.append(operator(*inputs, **named))
            return output[0]

        named = {
            name: value for name, value in kwargs.items() if not isinstance(value, torch.Generator)
        }  # none of ours
        differences = compare(ours, torchs, args, named, tolerance)
        restored = RESTORED.get(packet)
        if (
            differences
            and output
            and restored is not None
            and all(restored.is_free(difference) for difference in differences)
        ):
            differences = restored.differences(output[0], *args, **kwargs)
        if differences:
            return DIFFERS, differences[0].splitlines()[0][:160]
        return (BY_FORM if packet in UNDETERMINED else AGREES), ""


class Restored(NamedTuple):
    """Factors that are fixed but for their phases: what they must give is compared in their place.

    Args:
        free: which results are such factors.
        sides: what two expressions of the results, and of the arguments, must be equal.
    """

    free: tuple[int, ...]
    sides: Callable[..., tuple[torch.Tensor, torch.Tensor]]

    def is_free(self, difference: str) -> bool:
        """Whether a difference is one of elements of such a factor."""
        match = re.match(r"\[(\d)\] \d+ of \d+ values", difference)
        return match is not None and int(match[1]) in self.free

    def differences(self, output: Any, *args: Any, **kwargs: Any) -> list[str]:
        """How what the factors give departs from what it must be."""
        with shown(torch.DispatchKey.Conjugate), shown(torch.DispatchKey.Negative):
            one, other = self.sides([theirs(factor) for factor in output], *args, **kwargs)
            bound = 256 * torch.finfo(other.dtype).eps * float(other.abs().max())
            far = float((one - other).abs().max())
        return [] if far <= bound else [f"the factors give what is {far} off"]


def of_svd(tensors: list[torch.Tensor], A: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """``U diag(S) Vh = A``"""
    left, values, right = tensors
    count = values.shape[-1]
    return (left[..., :count] * values.unsqueeze(-2)) @ right[..., :count, :], A


def of_eigh(
    tensors: list[torch.Tensor], A: torch.Tensor, UPLO: str = "L", *_: Any, **__: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """``V diag(L) V.mH = A``, of which one triangle is read."""
    values, vectors = tensors
    half = A.tril(-1) if UPLO.upper() == "L" else A.triu(1)
    whole = half + half.mH + torch.diag_embed(A.diagonal(0, -2, -1).real).to(A.dtype)
    return (vectors * values.unsqueeze(-2)) @ vectors.mH, whole


def of_eig(tensors: list[torch.Tensor], self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """``A V = V diag(L)``"""
    values, vectors = tensors
    return vectors * values.unsqueeze(-2), self.to(vectors.dtype) @ vectors


RESTORED = {
    "_linalg_svd": Restored((0, 2), of_svd),
    "_linalg_eigh": Restored((1,), of_eigh),
    "linalg_eig": Restored((1,), of_eig),
}


def shown(key: Any) -> Any:
    """A scope in which calls see a dispatch key, which torch hides from what a mode calls: without its bits it errs."""
    return torch._C._SetExcludeDispatchKeyGuard(key, False)


def leaves(value: Any) -> Iterator[Any]:
    """The values in nested lists and tuples."""
    if isinstance(value, list | tuple):
        for member in value:
            yield from leaves(member)
    else:
        yield value


def is_ours(value: Any) -> bool:
    """Whether an argument has a twin: those of other layouts and dtypes have none."""
    if isinstance(value, torch.Tensor):
        return value.layout is torch.strided and value.dtype not in UNKNOWN
    return value not in UNKNOWN if isinstance(value, torch.dtype) else True


def replay(counts: Counts, info: Any, dtype: torch.dtype, most: int) -> None:
    """Run the samples of an operator in one dtype; those that torch refuses end there."""
    torch.manual_seed(0)
    sample_inputs = list(info.sample_inputs("cpu", dtype))
    for sample in sample_inputs[:: 1 + len(sample_inputs) // most] if most else sample_inputs:
        try:
            with Replay(counts, info, str(dtype).removeprefix("torch.")):
                info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # what this build of torch does not support
            continue


def run(counts: Counts, only: str, part: tuple[int, int], dtypes: list[str], most: int, seconds: float) -> Report:
    """Replay a part of the database, and tell of all parts that were."""
    warnings.simplefilter("ignore")
    declare_generated(opdsl.registry, "aten")
    infos = [info for info in common.op_db if only in name_of(info) and "triton" not in info.variant_test_name]
    random.Random(0).shuffle(infos)  # so that parts take equally long
    infos = infos[(part[0] - 1) * len(infos) // part[1] : part[0] * len(infos) // part[1]]
    report = Report("PyTorch's operator database, replayed", threads=1)
    started, late = time.monotonic(), []
    for info in infos:
        if time.monotonic() - started > seconds:
            late.append(name_of(info))
            continue
        for name in dtypes:
            if getattr(torch, name) in info.dtypes:
                replay(counts, info, getattr(torch, name), most)
    counts.keep()
    tell(report, counts, dtypes, most)
    if late:
        report.write("", f"No time was left for {', '.join(late)}.")
    return report


def tell(report: Report, counts: Counts, dtypes: list[str], most: int) -> None:
    """Write the tables."""
    agree, by_form, differ = map(counts.total, (AGREES, BY_FORM, DIFFERS))
    differing = counts.names(DIFFERS)
    explained = [overload for overload in differing if packet_of(overload[0]) in EXPLAINED]
    unexplained = [overload for overload in differing if packet_of(overload[0]) not in EXPLAINED]
    compared = agree + by_form + differ
    overloads = {name for name, _ in counts.calls}
    report.write("", f"Samples in {', '.join(dtypes)}, " + (f"at most {most} of each." if most else "all of them."))
    report.write("", "| | |", "|---|---:|")
    report.write(f"| overloads that torch calls | {len(overloads)} |", f"| calls | {counts.calls.total():,} |")
    known, unknown = (sum(count for _, count in operand) for operand in (explained, unexplained))
    report.write(f"| agree | {share(agree + by_form, compared)} |")
    report.write(f"| of these held by form alone: random numbers, memory as it comes | {by_form:,} |")
    report.write(f"| differ as explained below | {known:,} ({share(known, compared)}) |")
    report.write(f"| differ, unexplained | {unknown:,} ({share(unknown, compared)}) |")
    report.write(f"| of layouts and dtypes that opdsl has not | {counts.total(ELSEWHERE):,} |")
    report.write("", "## Explained", "", "| overload | calls | differ | why |", "|---|---:|---:|---|")
    for name, count in explained:
        total = sum(call for (result, _), call in counts.calls.items() if result == name)
        report.write(f"| {name} | {total} | {count} | {EXPLAINED[packet_of(name)]} |")
    report.write("", "## Unexplained", "")
    report.write(*[f"- {name} ({count}): {counts.shown[name]}" for name, count in unexplained] or ["None."])
    report.write("", "## Not declared", "", *list(undeclared(counts)) or ["Nothing."])


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{100 * part / max(whole, 1):.3f} %"


def undeclared(counts: Counts) -> Iterator[str]:
    """The overloads that opdsl lacks, by category."""
    categories = {f"aten::{entry.schema.name}": category_of(entry).name for entry in native.load(CORPUS)}
    result: dict[str, list[str]] = {}
    for name, count in counts.names(UNDECLARED):
        result.setdefault(categories.get(name, "of other namespaces"), []).append(f"{name} ({count})")
    for category, names in sorted(result.items()):
        yield f"- {category}: {', '.join(names)}"


def packet_of(name: str) -> str:
    """``add`` of ``aten::add.Tensor``."""
    return name.partition("::")[2].partition(".")[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--only", default="", help="operators with this in their name")
    parser.add_argument("--part", type=int, nargs=2, default=(1, 1), help="which part of how many")
    parser.add_argument("--dtypes", nargs="*", default=list(DTYPES), help="of the samples")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of each operator and dtype; 0 for all")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the time for all")
    parser.add_argument("--counts", type=Path, help="a file with the counts of other parts, which grows by this one's")
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    main("replay", lambda: run(Counts(own.counts), own.only, own.part, own.dtypes, own.samples, own.seconds))
