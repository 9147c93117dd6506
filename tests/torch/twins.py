"""Copies of PyTorch tensors as tensors of opdsl ("twins"), which share memory as the originals do; and comparisons."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy
import torch

import opdsl
from opdsl.errors import OpdslError
from opdsl.runtime import View, become, make_view, share_storage, to_dtype, wrap
from opdsl.runtime.values import host_array

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)
FLOATING = tuple(dtype for dtype in DTYPES if dtype.is_floating_point)
INTEGERS = tuple(dtype for dtype in DTYPES if not dtype.is_floating_point and dtype is not torch.bool)

# Relative errors that two correct implementations may show: a few units in the last place.
TOLERANCE = {
    torch.float16: 1e-3,
    torch.bfloat16: 8e-3,
    torch.float32: 5e-7,
    torch.float64: 1e-15,
    torch.complex64: 1e-6,
    torch.complex128: 2e-15,
}

# A relative error, for each dtype of results or for all; None selects that of TOLERANCE.
Tolerance: TypeAlias = float | Callable[[torch.dtype], float | None] | None

# Messages of unintended errors in PyTorch: the variance of all bfloat16 numbers with a wider output raises one.
BUGS = ("std_var_all: Unsupported dtype",)


class Twins:
    """Converter of PyTorch's values to opdsl's; tensors that share a storage become tensors that share one."""

    def __init__(self) -> None:
        self._made: dict[int, opdsl.Tensor] = {}
        self._roots: dict[int, opdsl.Tensor] = {}
        self._kept: list[torch.Tensor] = []

    def of(self, value: Any) -> Any:
        """Return the counterpart of a tensor, dtype, device or another option, also in lists, tuples and dicts."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (torch.Size, tuple)):
            return tuple(self.of(element) for element in value)
        if isinstance(value, list):
            return [self.of(element) for element in value]
        if isinstance(value, Mapping):
            return {key: self.of(element) for key, element in value.items()}
        translate = _OPTIONS.get(type(value))
        return value if translate is None else translate(value)

    def _tensor(self, tensor: torch.Tensor) -> opdsl.Tensor:
        twin = self._made.get(id(tensor))
        if twin is None:
            self._kept.append(tensor)
            twin = self._made[id(tensor)] = self._copy(tensor)
        return twin

    def _copy(self, tensor: torch.Tensor) -> opdsl.Tensor:
        if tensor.is_meta:
            return opdsl.empty(tuple(tensor.shape), dtype=of(tensor.dtype), device="meta")
        for is_set, turned in ((tensor.is_neg, "_neg_view"), (tensor.is_conj, "_conj")):
            if is_set():
                copy: opdsl.Tensor = getattr(self._tensor(getattr(torch, turned)(tensor)), turned)()
                return copy
        tensor = tensor.detach() if tensor._base is None else tensor
        storage = tensor.untyped_storage()
        root = self._roots.get(storage._cdata) if tensor._base is None else self._tensor(tensor._base)
        if root is not None:
            return make_view(root, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), of(tensor.dtype))
        owner = _owner(tensor)
        self._roots[storage._cdata] = owner
        return owner


def _owner(tensor: torch.Tensor) -> opdsl.Tensor:
    """Return a tensor of opdsl over a copy of the whole storage."""
    dtype = of(tensor.dtype)
    storage = tensor.untyped_storage()
    # Cloned, since a storage that NumPy has accessed cannot be resized any more.
    buffer = torch.empty(0, dtype=torch.uint8).set_(storage).clone().numpy()
    elements = buffer[: buffer.size // dtype.itemsize * dtype.itemsize].view(dtype.numpy)
    return become(wrap(elements, dtype), View(tuple(tensor.shape), tensor.stride(), tensor.storage_offset()))


_OPTIONS: dict[type, Callable[[Any], Any]] = {
    torch.dtype: lambda value: to_dtype(str(value)),
    torch.device: lambda value: opdsl.Device(str(value)),
    torch.memory_format: lambda value: opdsl.MemoryFormat[str(value).removeprefix("torch.")],
    torch.layout: lambda value: opdsl.Layout[str(value).removeprefix("torch.")],
}


def of(value: Any) -> Any:
    """Return the counterpart of a single value."""
    return Twins().of(value)


def theirs(tensor: opdsl.Tensor) -> torch.Tensor:
    """Return a contiguous copy of an opdsl tensor as a tensor of PyTorch."""
    dtype = getattr(torch, tensor.dtype.name)
    array = numpy.array(host_array(tensor), order="C", copy=True)
    if dtype is torch.bfloat16:
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def differences(ours: Any, expected: Any, *, tolerance: Tolerance = None, strides: bool = True) -> list[str]:
    """Return descriptions of the differences between a result and PyTorch's, or an empty list.

    Args:
        ours, expected: tensors, numbers, or lists and tuples of them.
        tolerance: relative errors; by default those of ``TOLERANCE``. 0 compares finite values bit by bit, infinity
            compares no values.
        strides: whether strides have to agree, too.
    """
    if isinstance(expected, (list, tuple)) and not isinstance(expected, torch.Size):
        if not isinstance(ours, (list, tuple)) or len(ours) != len(expected):
            return [f"{type(ours).__name__} for {type(expected).__name__} of {len(expected)}"]
        return [
            f"[{index}] {text}"
            for index, (one, two) in enumerate(zip(ours, expected, strict=True))
            for text in differences(one, two, tolerance=tolerance, strides=strides)
        ]
    if not isinstance(expected, torch.Tensor):
        same = type(ours) is type(expected) and ours == expected
        return [] if same else [f"{ours!r} for {expected!r}"]
    if not isinstance(ours, opdsl.Tensor):
        return [f"{type(ours).__name__} for Tensor"]
    problems = _form_differences(ours, expected, strides)
    if problems or expected.is_meta or expected.numel() == 0 or tolerance == math.inf:
        return problems
    return _value_differences(theirs(ours), expected, tolerance)


def _form_differences(ours: opdsl.Tensor, expected: torch.Tensor, strides: bool) -> list[str]:
    pairs = {
        "dtype": (f"torch.{ours.dtype.name}", str(expected.dtype)),
        "shape": (ours.shape, tuple(expected.shape)),
        "device": (str(ours.device), str(expected.device)),
    }
    if strides:
        pairs["strides"] = (ours.stride(), expected.stride())
    return [f"{what} {mine} for {wanted}" for what, (mine, wanted) in pairs.items() if mine != wanted]


def _value_differences(ours: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> list[str]:
    expected = expected.detach().resolve_conj().resolve_neg()
    if callable(tolerance):
        tolerance = tolerance(expected.dtype)
    relative = TOLERANCE.get(expected.dtype, 0.0) if tolerance is None else tolerance
    smallest = torch.finfo(expected.dtype).smallest_normal * relative if expected.dtype in TOLERANCE else 0.0
    if tolerance:  # errors of sums that cancel are relative to their summands, whose size the other results show
        finite = expected[expected.isfinite()].to(torch.complex128).abs()
        smallest = max(smallest, float(finite.mean()) * tolerance if len(finite) else 0.0)
    close = torch.isclose(ours, expected, rtol=relative, atol=smallest, equal_nan=True)
    if expected.is_complex():  # `isclose` ignores the finite part of an infinite number
        close |= _parts_close(ours, expected, relative, smallest)
    if bool(close.all()):
        return []
    place = tuple(int(index) for index in (~close).nonzero()[0])
    count = int((~close).sum())
    return [f"{count} of {close.numel()} values; at {place} {ours[place].item()!r} for {expected[place].item()!r}"]


def _parts_close(ours: torch.Tensor, expected: torch.Tensor, relative: float, smallest: float) -> torch.Tensor:
    """Return a mask of complex numbers with an equal infinite part; the other part is close or arbitrary."""
    mine, wanted = torch.view_as_real(ours), torch.view_as_real(expected)
    close = torch.isclose(mine, wanted, rtol=relative, atol=smallest, equal_nan=True)
    infinite = wanted.isinf() & (mine == wanted)
    # The difference of infinite products depends on the order in which they are added.
    return (close | infinite | infinite.flip(-1)).all(-1) & infinite.any(-1)


def assert_agree(ours: Any, expected: Any, *, tolerance: float | None = None, strides: bool = True) -> None:
    """Raise an AssertionError with the differences between a result and PyTorch's, if there are any."""
    problems = differences(ours, expected, tolerance=tolerance, strides=strides)
    if problems:
        raise AssertionError("; ".join(problems))


def agree(
    call: Callable[..., Any], *operands: Any, tolerance: float | None = 0.0, strides: bool = True, repeat: int = 2
) -> None:
    """Check that ``call(lib, *operands)`` has equal results in PyTorch and opdsl, without and with a plan.

    Args:
        call: takes ``torch`` or ``opdsl``, and operands of that library.
        operands: tensors of PyTorch, which are copied for opdsl.
        tolerance, strides: see ``differences``.
        repeat: how often opdsl's call is made.
    """
    twins = Twins().of(operands)
    for _ in range(repeat):
        assert_agree(call(opdsl, *twins), call(torch, *operands), tolerance=tolerance, strides=strides)


def agree_or_fail(call: Callable[..., Any], *operands: Any, tolerance: float | None = 0.0) -> None:
    """Check a call as ``agree`` does; where PyTorch raises, opdsl raises the same built-in class and changes no
    operand.
    """
    twins = Twins().of(operands)
    for _ in range(2):
        try:
            expected = call(torch, *operands)
        except Exception as error:
            assert_fails(lambda: call(opdsl, *twins), error)
        else:
            assert_agree(call(opdsl, *twins), expected, tolerance=tolerance)
    for one, two in zip(twins, operands, strict=True):
        assert_agree(one, two, tolerance=tolerance)


def assert_fails(call: Callable[[], Any], expected: Exception) -> None:
    """Check that a call raises an error of opdsl that is also an instance of the built-in class of PyTorch's error."""
    try:
        actual = call()
    except OpdslError as error:
        if not isinstance(error, type(expected)):
            raise AssertionError(f"{type(error).__name__} for {type(expected).__name__}: {error}") from error
        return
    raise AssertionError(f"{actual!r} for {type(expected).__name__}: {expected}")


def outcome(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return the result or exception of a call, and its warnings about resizing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            result = error
    return result, [str(warning.message)[:60] for warning in caught if "was resized" in str(warning.message)]


def compare(
    ours: Callable[..., Any],
    torchs: Callable[..., Any],
    inputs: tuple[Any, ...],
    named: dict[str, Any],
    tolerance: Tolerance,
) -> list[str]:
    """Return the differences of a call: its result or error, its warnings, written arguments and shared memory."""
    own, own_named = Twins().of((inputs, named))
    expected, expected_warnings = outcome(lambda: torchs(*inputs, **named))
    if isinstance(expected, torch.Tensor) and expected.dtype is torch.complex32:
        return []  # the result of float16 and a complex number
    actual, found_warnings = outcome(lambda: ours(*own, **own_named))
    if isinstance(expected, Exception) and any(bug in str(expected) for bug in BUGS):
        return []
    if isinstance(expected, Exception):
        try:
            assert_fails(lambda: _again(actual), expected)
        except AssertionError as error:
            return [str(error)]
        return []
    if isinstance(actual, Exception):
        return [f"{actual!r} for a result"]
    wrong = differences(actual, expected, tolerance=tolerance)
    if found_warnings != expected_warnings:
        wrong.append(f"warnings {found_warnings} for {expected_warnings}")
    for one, other in zip(own, inputs, strict=True):
        if isinstance(other, torch.Tensor):
            wrong += [f"argument: {difference}" for difference in differences(one, other, tolerance=tolerance)]
            wrong += _sharing(actual, one, expected, other)
    return wrong


def _again(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def _sharing(result: Any, argument: opdsl.Tensor, expected: Any, other: torch.Tensor) -> list[str]:
    if not isinstance(expected, torch.Tensor) or expected.numel() == 0:
        return []
    same = expected.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    shared = share_storage(result, argument)
    if same != shared:
        return [f"shares memory: {shared} for {same}"]
    return bit_differences(result, expected) if shared and expected is not other else []


def bit_differences(ours: opdsl.Tensor, expected: torch.Tensor) -> list[str]:
    """Return whether conjugate and negative bits differ; PyTorch sets them on some results that share no memory."""
    bits, wanted = (ours.is_conj(), ours.is_neg()), (expected.is_conj(), expected.is_neg())
    return [] if bits == wanted else [f"is_conj, is_neg: {bits} for {wanted}"]
