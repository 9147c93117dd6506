"""Law 6: results and gradients on CUDA agree with the CPU: dtypes, shapes and strides exactly, elements within
tolerances.

Products of integer matrices are excepted: as in PyTorch they do not exist on CUDA.

Without a CUDA device the law is reported as not tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from opdsl.autograd import grad
from opdsl.backends.cuda.product import NO_PRODUCTS
from opdsl.errors import OpdslError, UnsupportedDTypeError
from opdsl.kernels.outputs import tensor_over
from opdsl.runtime import Device, Tensor, from_numpy, manual_seed
from opdsl.runtime.dtype import Category
from opdsl.runtime.memory import device_memory
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.values import host_array
from opdsl.scalar.narrow_values import widen
from opdsl.schema import SchemaKind
from opdsl.testing.laws.variants import UNINITIALISED
from opdsl.testing.sample import Sample
from opdsl.testing.subject import LawNotTried, Subject

__all__ = ["TOLERANCES", "check", "disagreements"]

# Relative tolerance by dtype; a tenth of it, times the largest element, is the absolute tolerance, since the error of a
# sum with cancellation is relative to its terms. Other dtypes have to be equal. Generated code computes equal bits on
# both devices, but sums are computed in another order, and a few functions are those of NVIDIA's library.
TOLERANCES = {
    "float8_e5m2": 0.5,
    "float8_e4m3fn": 0.25,
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float64": 1e-12,
    "complex128": 1e-12,
}

_SEED = 2024

# Arguments that have to be on the CPU, by operator: PyTorch reads them there and refuses other devices.
_HOST_ARGUMENTS = {
    "randint_like": "high",  # "high must be a scalar tensor and on CPU"
    "tensor_split": "tensor_indices_or_sections",  # "expected tensor_indices_or_sections to be on cpu"
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), "batch_sizes"),  # "should be a 1D CPU int64 tensor"
    **dict.fromkeys(("_pack_padded_sequence_backward", "_pad_packed_sequence"), "batch_sizes"),
    "_pack_padded_sequence": "lengths",
}

# Index of the result that is on the CPU, by operator.
_HOST_RESULTS = {"_shape_as_tensor": 0, "_pack_padded_sequence": 1, "_pad_packed_sequence": 1}

# Operators whose result is on the device argument, the CPU by default, and not on the device of their tensors.
_PLACED_BY_NAME = frozenset(("linspace", "logspace"))

# Operators that exist for the CPU only, as in PyTorch, or copy tensors to the CPU.
_HOST_ONLY = frozenset(
    (
        "histogram",  # has no kernel for CUDA
        "from_file",
        "_to_cpu",
        "pin_memory",  # "Only dense CPU tensors can be pinned"
        "_pin_memory",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
    )
)

# Operators whose result depends on the device.
_TELLING_DEVICE = frozenset(("get_device", "_fused_sdp_choice"))

# Operators with a fused kernel on the CPU and a composite on CUDA: the strides of their gradients differ, and the fused
# kernel computes them from the rounded result, as PyTorch's does, in differences with cancellation.
_FUSED_ON_HOST = frozenset(("scaled_dot_product_attention",))

# Size of the terms that cancel there, for samples of a few small numbers.
_FUSED_TERMS = 20.0


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    from opdsl.backends.cuda.devices import is_available

    if not is_available():
        raise LawNotTried("there is no CUDA device")
    yield from disagreements(subject, Device("cuda:0"))


def disagreements(subject: Subject, device: Device) -> Iterator[str]:
    """Yield the differences of an operator's results between the CPU and a device, for each of its samples."""
    if subject.operator.schema.name.base in _HOST_ONLY | _TELLING_DEVICE:
        return
    for sample in subject.samples:
        yield from (f"{sample}: {text}" for text in _of_sample(sample, subject, device))


def _of_sample(sample: Sample, subject: Subject, device: Device) -> Iterator[str]:
    schema = subject.operator.schema
    here = _placed(sample.copy(), subject)
    there = _moved(_placed(sample.copy(), subject), subject, device)
    if there is None:
        return
    expected, outcome = _outcome(subject, here), _outcome(subject, there)
    if isinstance(outcome, UnsupportedDTypeError) and NO_PRODUCTS in str(outcome):
        return
    values = schema.name.base not in UNINITIALISED
    on_host = _HOST_RESULTS.get(schema.name.base)
    yield from _compared(expected, outcome, device, values=values, on_host=on_host)
    if isinstance(outcome, OpdslError) and not isinstance(expected, OpdslError):
        return
    if schema.is_mutable:
        for index, (one, other) in enumerate(zip(here.tensors(), there.tensors(), strict=True)):
            yield from (
                f"tensor {index} afterwards: {difference}" for difference in _differences(one, other, values=values)
            )
    elif schema.kind is SchemaKind.functional and values and not isinstance(outcome, OpdslError):
        expected, outcome = _gradients(subject, here), _gradients(subject, there)
        is_fused = schema.name.base in _FUSED_ON_HOST
        least = _FUSED_TERMS if is_fused else 1.0
        differing = _compared(expected, outcome, device, least=least, laid=not is_fused)
        yield from (f"gradients: {text}" for text in differing)


def _placed(sample: Sample, subject: Subject) -> Sample:
    """Return the call without options that other devices lack: without ``pin_memory``, and with ``device`` for
    factories.
    """
    named = {name: value for name, value in sample.named.items() if name != "pin_memory"}
    takes_device = any(argument.name == "device" for argument in subject.operator.schema.arguments)
    if takes_device and (not sample.tensors() or subject.operator.schema.name.base in _PLACED_BY_NAME):
        named = {"device": Device("cpu"), **named}
    return Sample(*sample.positional, **named)


def _moved(sample: Sample, subject: Subject, device: Device) -> Sample | None:
    """Return the call with its tensors on a device; None where there is nothing to move."""
    schema = subject.operator.schema
    stays = _HOST_ARGUMENTS.get(schema.name.base)
    names = [argument.python_name for argument in schema.positional]
    positional = [
        value if index < len(names) and names[index] == stays else _on(value, device)
        for index, value in enumerate(sample.positional)
    ]
    named = {name: value if name == stays else _on(value, device) for name, value in sample.named.items()}
    moved = Sample(*positional, **named)
    has_device = any(isinstance(value, Device) for value in (*positional, *named.values()))
    return moved if moved.tensors() or has_device else None


def _on(value: Any, device: Device) -> Any:
    """Return an argument on a device; tensors keep their strides."""
    if isinstance(value, Tensor) and value.is_cpu:
        form = value.geometry.replace(device=device, is_view=False, requires_grad=False)
        output = tensor_over(device_memory(device).from_host(value.array, device, value.dtype), form)
        return output.requires_grad_() if value.requires_grad else output
    if isinstance(value, Device):
        return device if value.type == "cpu" else value
    return type(value)(_on(element, device) for element in value) if type(value) in (list, tuple) else value


def _outcome(subject: Subject, sample: Sample) -> Any:
    """Return the result of a call, or the error that it raises."""
    manual_seed(_SEED)
    try:
        return sample.call(subject.function)
    except OpdslError as error:
        return error


def _gradients(subject: Subject, sample: Sample) -> Any:
    """Return the gradients of all floating-point tensors of a call, zero-dim CPU tensors among them, or the error."""
    leaves = [tensor for tensor in sample.tensors() if tensor.dtype.category >= Category.FLOAT]
    random = numpy.random.default_rng(_SEED)
    manual_seed(_SEED)
    try:
        for leaf in leaves:
            leaf.requires_grad_()
        outputs = [tensor for tensor in tensors_in(sample.call(subject.function)) if tensor.requires_grad]
        weights = [_weights(output, random) for output in outputs]
        return grad(outputs, leaves, weights, allow_unused=True) if outputs else ()
    except OpdslError as error:
        return error


def _weights(output: Tensor, random: numpy.random.Generator) -> Tensor:
    """Return random weights as gradient of an output, the same on all devices."""
    numbers = random.standard_normal((2, *output.shape))
    chosen = numbers[0] + 1j * numbers[1] if output.dtype.is_complex else numbers[0]
    weights: Tensor = from_numpy(numpy.asarray(chosen)).to(output.dtype).to(output.device)
    return weights


def _compared(
    expected: Any,
    actual: Any,
    device: Device,
    *,
    values: bool = True,
    least: float = 0.0,
    laid: bool = True,
    on_host: int | None = None,
) -> Iterator[str]:
    if isinstance(expected, OpdslError) or isinstance(actual, OpdslError):
        if type(expected) is not type(actual):
            yield f"the CPU {_told(expected)}, {device} {_told(actual)}"
        return
    ours, theirs = list(tensors_in(expected)), list(tensors_in(actual))
    if len(ours) != len(theirs):
        yield f"{len(theirs)} tensors on {device} instead of {len(ours)}"
        return
    if not ours and expected != actual:
        yield f"{actual!r} on {device} instead of {expected!r}"
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one.is_cpu and other.device is not device and index != on_host:
            yield f"a result is on {other.device}"
        yield from _differences(one, other, values=values, least=least, laid=laid)


def _told(outcome: Any) -> str:
    return f"raises {type(outcome).__name__} ({outcome})" if isinstance(outcome, OpdslError) else "does not raise"


def _differences(
    one: Tensor, other: Tensor, *, values: bool = True, least: float = 0.0, laid: bool = True
) -> Iterator[str]:
    """Yield the differences of two tensors.

    least: lower bound for the scale of absolute errors. laid: whether strides have to be equal.
    """
    for what in ("dtype", "shape", *(("strides",) if laid else ())):
        if getattr(one, what) != getattr(other, what):
            yield f"the {what} {getattr(other, what)} instead of {getattr(one, what)}"
            return
    if not values or one.is_meta:
        return
    expected, numbers = _numbers(one), _numbers(other)
    tolerance = TOLERANCES.get(one.dtype.name)
    if tolerance is None:
        wrong = expected != numbers
    else:
        largest = numpy.abs(expected[numpy.isfinite(expected)]).max(initial=least)
        wrong = ~numpy.isclose(numbers, expected, rtol=tolerance, atol=tolerance / 10 * largest, equal_nan=True)
    if wrong.any():
        place = tuple(int(coordinate) for coordinate in numpy.argwhere(wrong)[0])
        yield (
            f"{int(wrong.sum())} elements of {wrong.size}: {numbers[place]!r} instead of {expected[place]!r} at {place}"
        )


def _numbers(tensor: Tensor) -> numpy.ndarray[Any, Any]:
    array = host_array(tensor)
    return widen(array, tensor.dtype.name) if tensor.dtype.is_encoded else array
