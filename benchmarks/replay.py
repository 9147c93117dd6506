"""Replay of PyTorch's operator database: every overload that a sample reaches runs in torch and in opdsl.

Each call is compared: results, errors, written arguments and shared memory. Differences are explained by
``tests/torch/explained.py`` or reported as unexplained; overloads that opdsl does not declare are listed. Parts can be
run one at a time, into one table::

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

sys.path.insert(0, str(Path(__file__).parent.parent))  # tests.torch has tolerances and known differences

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
    """Numbers of calls by overload and outcome, such as "agrees" or "differs".

    calls: the number of calls of each overload with each outcome.
    shown: for an overload the first difference, with the sample that showed it.
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
        """Write the counts to the file that a later part reads."""
        if self.path is not None:
            calls = [(*key, count) for key, count in sorted(self.calls.items())]
            self.path.write_text(json.dumps({"calls": calls, "shown": self.shown}, indent=1))

    def total(self, what: str) -> int:
        """Return the number of calls with an outcome."""
        return sum(count for (_, result), count in self.calls.items() if result == what)

    def names(self, what: str) -> list[tuple[str, int]]:
        """Return the overloads that have calls with an outcome, with the numbers of these calls."""
        return sorted((name, count) for (name, result), count in self.calls.items() if result == what)


class Replay(TorchDispatchMode):
    """Torch dispatch mode that runs each operator that torch calls in opdsl, too, and counts the outcomes.

    Args:
        counts: the counts to add to.
        info: the entry of op_db whose samples are run.
        dtype: the dtype of the samples.
    """

    def __init__(self, counts: Counts, info: Any, dtype: str) -> None:
        super().__init__()
        self.counts, self.info, self.dtype = counts, info, dtype

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operator in both libraries and return the result of torch."""
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
        """Return the outcome of a call, and a description of the first difference."""
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
        }  # opdsl has other generators
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
    """Comparison of factorizations whose factors are unique up to phases only, by the products of the factors.

    Args:
        free: the indices of the results that are not unique.
        sides: computes two tensors from the results and the arguments, which must be equal.
    """

    free: tuple[int, ...]
    sides: Callable[..., tuple[torch.Tensor, torch.Tensor]]

    def is_free(self, difference: str) -> bool:
        """Return whether a difference is in the elements of a factor that is not unique."""
        match = re.match(r"\[(\d)\] \d+ of \d+ values", difference)
        return match is not None and int(match[1]) in self.free

    def differences(self, output: Any, *args: Any, **kwargs: Any) -> list[str]:
        """Return how far the product of the factors is off, as a list that is empty if it is close enough."""
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
    """``V diag(L) V.mH = A``, where one triangle of ``A`` is read."""
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
    """Return a context manager that lets calls see a dispatch key that torch hides from operators called by a mode."""
    return torch._C._SetExcludeDispatchKeyGuard(key, False)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values in nested lists and tuples."""
    if isinstance(value, list | tuple):
        for member in value:
            yield from leaves(member)
    else:
        yield value


def is_ours(value: Any) -> bool:
    """Return whether opdsl can represent an argument: it lacks some layouts and dtypes."""
    if isinstance(value, torch.Tensor):
        return value.layout is torch.strided and value.dtype not in UNKNOWN
    return value not in UNKNOWN if isinstance(value, torch.dtype) else True


def replay(counts: Counts, info: Any, dtype: torch.dtype, most: int) -> None:
    """Run the samples of an operator in one dtype; samples that torch rejects are skipped."""
    torch.manual_seed(0)
    sample_inputs = list(info.sample_inputs("cpu", dtype))
    for sample in sample_inputs[:: 1 + len(sample_inputs) // most] if most else sample_inputs:
        try:
            with Replay(counts, info, str(dtype).removeprefix("torch.")):
                info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # this build of torch does not support the sample
            continue


def run(counts: Counts, only: str, part: tuple[int, int], dtypes: list[str], most: int, seconds: float) -> Report:
    """Replay a part of the database, and report the counts of all parts so far."""
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
    """Write the tables of the report."""
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
    """Format a part of a whole in percent."""
    return f"{100 * part / max(whole, 1):.3f} %"


def undeclared(counts: Counts) -> Iterator[str]:
    """Yield the overloads that opdsl lacks, by category."""
    categories = {f"aten::{entry.schema.name}": category_of(entry).name for entry in native.load(CORPUS)}
    result: dict[str, list[str]] = {}
    for name, count in counts.names(UNDECLARED):
        result.setdefault(categories.get(name, "of other namespaces"), []).append(f"{name} ({count})")
    for category, names in sorted(result.items()):
        yield f"- {category}: {', '.join(names)}"


def packet_of(name: str) -> str:
    """Return the packet of an overload: ``add`` for ``aten::add.Tensor``."""
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
