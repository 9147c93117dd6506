"""What PyTorch's ``op_db`` has of the operators that we have, and its samples of them."""

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
torch.set_num_threads(1)  # of samples so small its threads would mostly wait for each other

# How many samples an operator is called with: of the dtypes in VARIED, and of the others.
MOST, FEW = 16, 6
# Elements of a sample that takes long.
LARGE = 100_000

# Operators that are not held against op_db, with the reason.
LEFT_OUT: dict[str, str] = {
    "to": "only one overload is declared",
    "nn.functional.triplet_margin_with_distance_loss": "its samples have PyTorch's functions of distances",
    "nn.functional.linear_cross_entropy.chunked": "options of how it is computed, which ours refuses",
    "nn.functional.linear_cross_entropy.chunked_none": "as chunked",
    "linalg.lstsq.grad_oriented": "the first two of the four results; linalg.lstsq is held",
    "linalg.pinv.singular": "a function of two factors, of whose product it is the pseudo-inverse",
}

# Those whose tenth argument is the probability that a weight is dropped.
DROPPING = {"nn.functional.multi_head_attention_forward"}

# Those that bring rows of the shape that is their second argument to mean 0.
NORMALISING = {"native_layer_norm", "nn.functional.layer_norm"}

# Dtypes that we do not have.
UNKNOWN = {torch.complex32, torch.uint16, torch.uint32, torch.uint64}

# The dtypes that the variants of an operator are tried with; its function is with all but what turns leave out.
VARIED = {torch.bool, torch.int64, torch.bfloat16, torch.float32, torch.complex64}

# Of each group an operator is tried with one dtype, the next operator with the next one. Integers are one scalar graph
# at several widths, complex numbers at two; 16-bit floats are computed in float32, and differ in how they are read and
# written.
OF_FUNCTIONS = (
    (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    (torch.float16, torch.bfloat16),
    (torch.complex64, torch.complex128),
)
# Methods and in-place variants hand their arguments to what the function calls, whatever the dtype; they are tried with
# float32, too.
OF_METHODS = ((torch.bool, torch.int64, torch.bfloat16, torch.complex64),)
# Operators are called in single precision every day, in the other dtypes that are left every second.
DAILY, DAYS = torch.float32, 2
# Outputs of whole and of other numbers are converted to in different ways.
OF_OUTPUTS = ((torch.bool, torch.int64), (torch.bfloat16, torch.complex64))

# Dtypes that ours refuses: PyTorch's results are far off.
REFUSED = {("matrix_exp", torch.float16), ("matrix_exp", torch.bfloat16)}

# Dtypes that nn/test_upsampling_of_bytes.py tries: some elements of a thousand are another byte, since we compute
# positions in single precision and PyTorch in double.
NEARLY_EQUAL = {
    (f"nn.functional.{name}", torch.uint8)
    for name in ("interpolate.bilinear", "interpolate.bicubic", "upsample_bilinear")
}


@functools.cache
def operators() -> tuple[Any, ...]:
    """Return what op_db has of the operators that we declare."""
    # Variants for the sake of Triton hold large samples of the same kernel.
    return tuple(
        info for info in common.op_db if "triton" not in info.variant_test_name and function_of(info) is not None
    )


def our_name(info: Any) -> str:
    """The name in PyTorch's schema: ``nn.functional.relu`` is ``relu`` there, ``linalg.det`` is ``linalg_det``."""
    name = str(info.name).removeprefix("nn.functional.").replace(".", "_")
    return "log_sigmoid" if name == "logsigmoid" else name


def function_of(info: Any) -> Callable[..., Any] | None:
    """Ours that stands where PyTorch's does: ``opdsl.nn.functional.relu``, ``opdsl.linalg.det``, a method, a packet."""
    name = our_name(info)
    if {name, info.name, name_of(info)} & LEFT_OUT.keys():
        return None
    if info.variant_test_name == "in_place":  # of `normal`, which is another operator than the functional one
        return getattr(opdsl.Tensor, info.inplace_variant.__name__, None) if f"{name}_" in METHODS else None
    if info.name in ADAPTED:
        return ADAPTED[info.name]
    if name.startswith("__"):
        return getattr(opdsl.Tensor, name) if name in METHODS else None
    *modules, own = info.name.split(".")
    if modules:
        place = functools.reduce(lambda result, name: getattr(result, name, None), modules, opdsl)
        return getattr(place, own, None)
    return getattr(opdsl, own, None) or getattr(opdsl.ops.aten, own, None)


def name_of(info: Any) -> str:
    return ".".join(filter(None, (info.name, info.variant_test_name)))


def cases(
    wanted: Callable[[Any], object] | None = None, turns: tuple[tuple[torch.dtype, ...], ...] = ()
) -> Iterator[Any]:
    """All operators and dtypes; with a condition, those of the operators that meet it, and fewer dtypes.

    turns: groups of dtypes, of each of which an operator takes one.
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
    """Whether weights are dropped."""
    return bool(sample.kwargs.get("dropout_p") or (info.name in DROPPING and sample.args[9]))


def samples(info: Any, dtype: torch.dtype, *, in_turn: bool = True) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the arguments of an operator's samples, with or without those that have their turn another day."""
    reference_inputs = info.reference_inputs if FULL else info.sample_inputs
    torch.manual_seed(0)
    chosen = thinned(reference_inputs("cpu", dtype), MOST if dtype in VARIED else FEW)
    for sample in half_of_today(chosen) if in_turn and len(chosen) > FEW else chosen:
        # What PyTorch makes of a row of one element is 0 but for rounding, and here 0.
        if is_random(info, sample):
            continue
        if info.name in NORMALISING and math.prod(sample.args[0]) == 1:
            continue
        yield (sample.input, *sample.args), sample.kwargs


def thinned(inputs: Iterable[Any], most: int = MOST) -> list[Any]:
    """Some samples, from all over: those of pools are every combination of their parameters; of large ones a fourth."""
    result = list(inputs)
    if FULL:
        return result
    result = result[:: 1 + len(result) // most]
    large = [sample for sample in result if isinstance(sample.input, torch.Tensor) and sample.input.numel() > LARGE]
    kept = {id(sample) for sample in large[::4]}
    return [sample for sample in result if id(sample) in kept or all(sample is not one for one in large)]
