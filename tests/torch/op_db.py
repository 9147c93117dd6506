"""Access to the entries of PyTorch's ``op_db`` for operators of opdsl, and to their samples."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch

import opdsl
from opdsl.aten.catalog import METHODS
from tests.by_date import FULL, half_of_today, is_its_turn
from tests.torch.adapters import ADAPTED

common = pytest.importorskip("torch.testing._internal.common_methods_invocations")
torch.set_num_threads(1)  # with samples so small, threads would mostly wait

# Largest number of samples of an operator: for the dtypes in VARIED, and for the others.
MOST, FEW = 16, 6
# Number of elements from which a sample is slow.
LARGE = 100_000

# Operators that are not tested on op_db, with the reason.
LEFT_OUT: dict[str, str] = {
    "to": "only one overload is declared",
    "nn.functional.triplet_margin_with_distance_loss": "its samples have PyTorch's functions of distances",
    "nn.functional.linear_cross_entropy.chunked": "options of how it is computed, which ours refuses",
    "nn.functional.linear_cross_entropy.chunked_none": "as chunked",
    "linalg.lstsq.grad_oriented": "the first two of the four results; linalg.lstsq is held",
    "linalg.pinv.singular": "a function of two factors, of whose product it is the pseudo-inverse",
}

# Operators whose tenth argument is the probability that a weight is dropped.
DROPPING = {"nn.functional.multi_head_attention_forward"}

# Operators that normalize rows, whose shape is the second argument, to mean 0.
NORMALISING = {"native_layer_norm", "nn.functional.layer_norm"}

# Dtypes that opdsl lacks.
UNKNOWN = {torch.complex32, torch.uint16, torch.uint32, torch.uint64}

# Dtypes for tests of an operator's variants; its function is tested with all dtypes, unless groups leave some out.
VARIED = {torch.bool, torch.int64, torch.bfloat16, torch.float32, torch.complex64}

# An operator is tested with one dtype of each group, the next operator with the next dtype. Integers use one scalar
# graph at several widths, complex numbers at two; 16-bit floats are computed in float32, and differ in loads and
# stores.
OF_FUNCTIONS = (
    (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    (torch.float16, torch.bfloat16),
    (torch.complex64, torch.complex128),
)
# Methods and in-place variants pass their arguments to the function's operator for every dtype; float32 is always
# tested, too.
OF_METHODS = ((torch.bool, torch.int64, torch.bfloat16, torch.complex64),)
# Operators are tested in single precision every day, in the other chosen dtypes every second day.
DAILY, DAYS = torch.float32, 2
# Conversions to integer and to floating-point outputs differ.
OF_OUTPUTS = ((torch.bool, torch.int64), (torch.bfloat16, torch.complex64))

# Dtypes that opdsl rejects since PyTorch's results are far off.
REFUSED = {("matrix_exp", torch.float16), ("matrix_exp", torch.bfloat16)}

# Dtypes that nn/test_upsampling_of_bytes.py tests: a few bytes in a thousand differ, since opdsl computes positions in
# single precision and PyTorch in double.
NEARLY_EQUAL = {
    (f"nn.functional.{name}", torch.uint8)
    for name in ("interpolate.bilinear", "interpolate.bicubic", "upsample_bilinear")
}


@functools.cache
def operators() -> tuple[Any, ...]:
    """Return the entries of op_db for operators that opdsl declares."""
    # Variants for Triton have large samples of the same kernel.
    return tuple(
        info for info in common.op_db if "triton" not in info.variant_test_name and function_of(info) is not None
    )


def our_name(info: Any) -> str:
    """Return the name in PyTorch's schema: ``relu`` for ``nn.functional.relu``, ``linalg_det`` for ``linalg.det``."""
    name = str(info.name).removeprefix("nn.functional.").replace(".", "_")
    return "log_sigmoid" if name == "logsigmoid" else name


def function_of(info: Any) -> Callable[..., Any] | None:
    """Return opdsl's function for an entry: ``opdsl.nn.functional.relu``, ``opdsl.linalg.det``, a method or a
    packet.
    """
    name = our_name(info)
    if {name, info.name, name_of(info)} & LEFT_OUT.keys():
        return None
    if info.variant_test_name == "in_place":  # `normal_` is another operator than the functional `normal`
        return getattr(opdsl.Tensor, info.inplace_variant.__name__, None) if f"{name}_" in METHODS else None
    if info.name in ADAPTED:
        return ADAPTED[info.name]
    if name.startswith("__"):
        return getattr(opdsl.Tensor, name) if name in METHODS else None
    *modules, own = info.name.split(".")
    if modules:
        place = functools.reduce(lambda home, name: getattr(home, name, None), modules, opdsl)
        return getattr(place, own, None)
    return getattr(opdsl, own, None) or getattr(opdsl.ops.aten, own, None)


def name_of(info: Any) -> str:
    return ".".join(filter(None, (info.name, info.variant_test_name)))


def cases(
    wanted: Callable[[Any], object] | None = None, turns: tuple[tuple[torch.dtype, ...], ...] = ()
) -> Iterator[Any]:
    """Yield test parameters of operators and dtypes; a condition selects operators and reduces the dtypes.

    wanted: the condition.
    turns: groups of dtypes; from each group an operator is tested with one dtype.
    """
    for index, info in enumerate(operators()):
        if wanted is not None and not wanted(info):
            continue
        dtypes = info.dtypes - UNKNOWN
        for group in () if FULL else turns:
            possible = [dtype for dtype in group if dtype in dtypes]
            dtypes -= {dtype for dtype in possible if dtype is not possible[index % len(possible)]}
        for place, dtype in enumerate(sorted(dtypes if FULL or wanted is None else dtypes & VARIED, key=str)):
            if dtype is not DAILY and not is_its_turn(index + place, DAYS):
                continue
            if not str(dtype).startswith("torch.float8") and (name_of(info), dtype) not in REFUSED | NEARLY_EQUAL:
                yield pytest.param(info, dtype, id=f"{name_of(info)}-{str(dtype).removeprefix('torch.')}")


def is_random(info: Any, sample: Any) -> bool:
    """Return whether a sample drops weights at random."""
    return bool(sample.kwargs.get("dropout_p") or (info.name in DROPPING and sample.args[9]))


def samples(info: Any, dtype: torch.dtype, *, in_turn: bool = True) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the arguments of an operator's samples; ``in_turn`` leaves out those that are tested on another day."""
    reference_inputs = info.reference_inputs if FULL else info.sample_inputs
    torch.manual_seed(0)
    chosen = thinned(reference_inputs("cpu", dtype), MOST if dtype in VARIED else FEW)
    for sample in half_of_today(chosen) if in_turn and len(chosen) > FEW else chosen:
        # For rows of one element PyTorch returns rounding errors, opdsl 0.
        if is_random(info, sample):
            continue
        if info.name in NORMALISING and math.prod(sample.args[0]) == 1:
            continue
        yield (sample.input, *sample.args), sample.kwargs


def thinned(inputs: Iterable[Any], most: int = MOST) -> list[Any]:
    """Return some samples, spread evenly, and a fourth of the large ones; pools have every combination of
    parameters.
    """
    chosen = list(inputs)
    if FULL:
        return chosen
    chosen = chosen[:: 1 + len(chosen) // most]
    large = [sample for sample in chosen if isinstance(sample.input, torch.Tensor) and sample.input.numel() > LARGE]
    kept = {id(sample) for sample in large[::4]}
    return [sample for sample in chosen if id(sample) in kept or all(sample is not one for one in large)]
