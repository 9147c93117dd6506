"""CUDA C++ kernels that users write, see ``opdsl.kernels.definitions.cuda_source``.

The source can use the element type of the tensor ``x`` as ``x_t``, and everything in ``prelude.cuh``: ``load`` and
``store`` convert 16-bit floats to float and back. The launch configuration is computed once for each combination of
shapes, strides and numbers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.backends.arrays import DeviceArray, elements
from opdsl.backends.cuda import nvrtc
from opdsl.backends.cuda.copies import contiguous, copy
from opdsl.backends.cuda.dialect import CUDA
from opdsl.backends.cuda.launcher import runner
from opdsl.backends.cuda.program import Address, Argument, Constant, Launch, Program, Source, Variant
from opdsl.errors import KernelCompileError, KernelError, NumberError, UnsupportedDTypeError
from opdsl.kernels.calls import ArraySpec, Output
from opdsl.kernels.definitions.cuda_source import (
    ELEMENTS,
    NUMBERS,
    CudaSource,
    Handed,
    attached_source,
    taken_strides,
    typedef_of,
)

if TYPE_CHECKING:
    from opdsl.kernels.calls import AuthorCall

__all__ = ["TensorLayout", "author"]

_MOST_LAUNCHES = 256
_ARCHITECTURE_OF_CHECKS = "sm_80"


class TensorLayout(NamedTuple):
    """Description of a tensor that is passed to a user's launch function.

    shape: sizes.
    strides: in elements.
    dtype: of the elements.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return len(self.shape)

    def numel(self) -> int:
        """Return the number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count


def author(function: FunctionType, call: AuthorCall) -> Callable[..., None]:
    """Return a function that launches a user's CUDA kernel for the types of a call.

    Args:
        function: the launch function ``(tensors, scalars) -> grid, block, shared`` to which the source is attached.
        call: the types of arguments and outputs.

    Returns:
        A function of the arguments and outputs; it does not check their types.

    Raises:
        KernelError: no source is attached to ``function``.
        UnsupportedDTypeError: the kernel takes elements of another dtype.
    """
    cuda_source = attached_source(function)
    if cuda_source is None:
        raise KernelError(
            f"the out-kernel {function.__name__} for CUDA has no source. Write out_kernel('CUDA', source=...), or "
            "compiled=False for a function of tensors."
        )
    specs = dict(zip(cuda_source.parameters, (*call.inputs, *call.outputs), strict=True))
    for handed in cuda_source.handed:
        _check_dtype(cuda_source, handed, specs[handed.name])
    return _Kernel(function, cuda_source, specs).run


def _check_dtype(source: CudaSource, handed: Handed, spec: Any) -> None:
    if handed.what != "address" or not isinstance(spec, ArraySpec) or handed.c_type == typedef_of(handed.name):
        return
    if ELEMENTS[handed.c_type] is not spec.dtype:
        raise UnsupportedDTypeError(
            f"the CUDA kernel {source.entry} takes {handed.name} as {handed.c_type}, which is "
            f"{ELEMENTS[handed.c_type].name}, and got {spec.dtype.name}. Take it as {typedef_of(handed.name)} for "
            "every dtype."
        )


def source_of(source: CudaSource, specs: Mapping[str, Any]) -> Source:
    """Return the translation unit of a kernel: typedefs for the element types of a call, then the user's source."""
    types = [
        f"typedef {CUDA.stored_type(spec.dtype)} {typedef_of(name)};"
        for name, spec in specs.items()
        if isinstance(spec, ArraySpec)
    ]
    name = source.file.replace("\\", "\\\\").replace('"', '\\"')
    text = "\n".join([*types, f'#line {source.line} "{name}"', source.text])
    return Source.of(text)._replace(headers=("prelude",))


class _Kernel:
    """User's CUDA kernel for the types of a call.

    launch: the launch function.
    source: the user's source.
    specs: types of the arguments and outputs, by name.
    """

    def __init__(self, launch: FunctionType, source: CudaSource, specs: Mapping[str, Any]) -> None:
        self.launch = launch
        self.source = source
        self.arrays = [name for name, spec in specs.items() if isinstance(spec, ArraySpec)]
        self.outputs = source.parameters[len(source.parameters) - source.outputs :]
        self.unit = source_of(source, specs)
        strided = taken_strides(source.handed)
        taken = {handed.name for handed in source.handed if handed.what == "address"}
        self.dense = [
            index for index, name in enumerate(self.arrays) if name in taken - strided and specs[name].layout != "C"
        ]
        self._prepared: dict[tuple[object, ...], Callable[..., None]] = {}

    def run(self, *values: Any) -> None:
        """Launch the kernel on arrays, numbers and outputs, through contiguous copies where the kernel takes no
        strides.
        """
        arrays = [value for value in values if isinstance(value, DeviceArray)]
        handed = list(arrays)
        for place in self.dense:
            handed[place] = contiguous(arrays[place], fill=self.arrays[place] not in self.outputs)
        forms = tuple([(device_array.shape, device_array.strides) for device_array in handed])
        numbers = tuple([value for value in values if not isinstance(value, DeviceArray)])
        key = (forms, numbers, tuple(map(type, numbers)))
        prepared = self._prepared.get(key)
        if prepared is None:
            if len(self._prepared) >= _MOST_LAUNCHES:
                self._prepared.clear()
            prepared = self._prepared[key] = self._prepare(
                dict(zip(self.source.parameters, values, strict=True)), handed
            )
        self._start(prepared, handed)
        for place in self.dense:
            if self.arrays[place] in self.outputs:
                copy(handed[place], arrays[place])

    def _prepare(self, values: Mapping[str, Any], handed: Sequence[DeviceArray]) -> Callable[..., None]:
        """Compute the launch for given shapes, strides and numbers, and return a function that runs it."""
        tensors = {
            name: TensorLayout(array.shape, elements(array), array.dtype)
            for name, array in zip(self.arrays, handed, strict=True)
        }
        scalars = {name: value for name, value in values.items() if name not in tensors}
        if any(tensors[name].numel() == 0 for name in self.outputs):
            return lambda *arrays: None
        grid, block, shared = self._configuration(tensors, scalars)
        arguments = tuple(self._argument(argument, tensors, scalars) for argument in self.source.handed)
        launch = Launch(self.source.entry, grid, block, arguments, shared)
        program = Program(self.unit, (True,) * len(self.arrays), (Variant(1, (launch,)),))
        outputs = [Output(array.dtype, None) for array in handed[len(handed) - len(self.outputs) :]]
        return runner(f"{self.source.entry}_cuda", program, outputs)

    def _configuration(
        self, tensors: Mapping[str, TensorLayout], scalars: Mapping[str, Any]
    ) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
        said = self.launch(tensors, scalars)
        try:
            grid, block, shared = said
            return _three(grid), _three(block), int(shared)
        except (TypeError, ValueError) as error:
            raise KernelError(
                f"the launch function {self.launch.__name__} of the CUDA kernel {self.source.entry} returned {said!r}. "
                "Return grid, block, shared: two tuples of up to three sizes, and bytes of shared memory."
            ) from error

    def _argument(self, handed: Handed, tensors: Mapping[str, TensorLayout], scalars: Mapping[str, Any]) -> Argument:
        if handed.what == "address":
            # The address of an optional tensor that is missing is null.
            return Address(self.arrays.index(handed.name)) if handed.name in tensors else Constant(bytes(8), "void*")
        if handed.what == "number":
            return self._number(handed, scalars.get(handed.name))
        form = tensors.get(handed.name)
        if form is None:
            return self._number(handed, 0)
        if handed.what == "numel":
            return self._number(handed, form.numel())
        if handed.dimension >= form.ndim:
            raise KernelError(
                f"the CUDA kernel {self.source.entry} takes {handed.name}_{handed.what}_{handed.dimension}, but "
                f"{handed.name} has {form.ndim} dimensions. Raise an error for such tensors in the shape function."
            )
        return self._number(handed, (form.shape if handed.what == "size" else form.strides)[handed.dimension])

    def _number(self, handed: Handed, value: Any) -> Constant:
        try:
            return Constant(struct.pack(f"={NUMBERS[handed.c_type]}", value), handed.c_type)
        except (struct.error, OverflowError, TypeError) as error:
            raise NumberError(
                f"the CUDA kernel {self.source.entry} takes {handed.name} as {handed.c_type}, which cannot hold "
                f"{value!r}"
            ) from error

    def _start(self, prepared: Callable[..., None], handed: Sequence[DeviceArray]) -> None:
        try:
            prepared(*handed)
        except KernelCompileError as error:
            raise explained(self.source, error) from error


def _three(sizes: Any) -> tuple[int, int, int]:
    numbers = (sizes,) if isinstance(sizes, int) else tuple(map(int, sizes))
    if not 1 <= len(numbers) <= 3 or any(number < 1 for number in numbers):
        raise ValueError(f"expected one to three sizes of at least 1 (got {sizes!r})")
    first, second, third = (*numbers, 1, 1)[:3]
    return first, second, third


_NVRTC_ERROR = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): (?:catastrophic )?error:? *(?P<text>.*)$", re.MULTILINE)


def explained(source: CudaSource, error: KernelCompileError) -> KernelCompileError:
    """Return an error that shows NVRTC's messages together with the lines of the user's source that they refer to."""
    lines = source.text.splitlines()
    parts = []
    for match in _NVRTC_ERROR.finditer(str(error)):
        place = int(match["line"]) - source.line
        shown = f"\n    {lines[place].strip()}" if match["file"] == source.file and 0 <= place < len(lines) else ""
        parts.append(f"{match['file']}:{match['line']}: {match['text']}{shown}")
    said = "\n".join(parts) or str(error)
    return KernelCompileError(f"NVRTC cannot compile the CUDA kernel {source.entry}:\n{said}")


def check_source(source: CudaSource, specs: Mapping[str, Any], architecture: str = _ARCHITECTURE_OF_CHECKS) -> bytes:
    """Compile a user's kernel for the types of a call, which needs no GPU, and return the CUBIN.

    Raises:
        KernelCompileError: NVRTC rejects the source; the message shows the lines of the source.
    """
    try:
        return nvrtc.compile_cubin(source_of(source, specs), architecture)
    except KernelCompileError as error:
        raise explained(source, error) from error
