"""Out-kernels in CUDA C++: the source that an author passes, and the meaning of the kernel's parameters.

The name of a kernel parameter says which value is passed: an argument of the operator, an output, or a property
of a tensor among these. ``x_numel`` is the number of elements of ``x``, ``x_size_1`` a size, ``x_stride_1`` a stride in
elements. A tensor none of whose strides the kernel takes is passed contiguous.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Final, NamedTuple

from opdsl.errors import KernelSignatureError
from opdsl.runtime.dtype import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from opdsl.schema import BaseType, OptionalType, Type

__all__ = ["ELEMENTS", "NUMBERS", "CudaSource", "Handed", "attached_source", "cuda_source", "typedef_of"]

# The dtypes of elements, by the C++ types that a kernel may declare for them.
ELEMENTS: Final[dict[str, DType]] = {
    "bool": bool_,
    "StoredBool": bool_,
    "unsigned char": uint8,
    "uint8_t": uint8,
    "signed char": int8,
    "int8_t": int8,
    "short": int16,
    "int16_t": int16,
    "int": int32,
    "int32_t": int32,
    "long": int64,
    "long long": int64,
    "int64_t": int64,
    "Half": float16,
    "__half": float16,
    "half": float16,
    "BFloat16": bfloat16,
    "__nv_bfloat16": bfloat16,
    "float": float32,
    "double": float64,
    "Complex<float>": complex64,
    "float2": complex64,
    "Complex<double>": complex128,
    "double2": complex128,
}

# The format characters of ``struct`` that pack numbers, by the C++ types of the kernel's parameters.
NUMBERS: Final[dict[str, str]] = {
    "bool": "?",
    "int": "i",
    "int32_t": "i",
    "unsigned": "I",
    "unsigned int": "I",
    "long": "q",
    "long long": "q",
    "int64_t": "q",
    "size_t": "Q",
    "float": "f",
    "double": "d",
}

# The C++ types that a parameter for an argument may have, by the argument's schema type.
_INTEGERS: Final = ("int", "int32_t", "unsigned", "unsigned int", "long", "long long", "int64_t", "size_t")
_FLOATS: Final = ("float", "double")
_TAKEN_AS: Final[dict[Type, tuple[str, ...]]] = {
    BaseType.int: _INTEGERS,
    BaseType.SymInt: _INTEGERS,
    BaseType.bool: ("bool",),
    BaseType.SymBool: ("bool",),
    BaseType.float: _FLOATS,
    BaseType.Scalar: (*_FLOATS, *_INTEGERS, "bool"),
}

_OF_TENSOR: Final = re.compile(r"(?P<name>\w+?)_(?P<what>numel|size_(?P<size>\d+)|stride_(?P<stride>\d+))")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_QUALIFIERS: Final = re.compile(r"\b(?:const|__restrict__|volatile)\b")
_HEAD: Final = re.compile(r'(?P<extern>extern\s+"C"\s+)?__global__(?P<rest>(?:(?!__global__)[^;{}])*+)(?P<body>\{?)')
_CALL: Final = re.compile(r"(?<!\w)(?P<name>\w++)\s*\((?P<parameters>[^()]*)\)")
_PARAMETER: Final = re.compile(r"(?P<type>[\w<>: ]*[\w<>:])(?P<star> ?\* ?| |(?<=>))(?P<name>\w+)")


class Handed(NamedTuple):
    """Value that is passed for one parameter of a kernel.

    c_type: its type, without ``const``; for an array that of its elements.
    name: of the argument or output that it comes from.
    what: ``address`` of a tensor, ``number``, ``numel``, ``size`` or ``stride``.
    dimension: of a size or stride.
    """

    c_type: str
    name: str
    what: str
    dimension: int = 0


class CudaSource(NamedTuple):
    """Out-kernel in CUDA C++: its source text, entry point and parameters.

    text: the translation unit.
    file, line: the position of its first line, for messages.
    entry: the kernel's name.
    handed: its parameters in order.
    parameters: the names of an out-kernel's values: arguments, precomputed values, outputs.
    outputs: how many of these are outputs, the last ones.
    """

    text: str
    file: str
    line: int
    entry: str
    handed: tuple[Handed, ...]
    parameters: tuple[str, ...]
    outputs: int


_ATTRIBUTE: Final = "__opdsl_cuda_source__"


def attached_source(function: object) -> CudaSource | None:
    """Return the CUDA source that is attached to a launch function; None for none."""
    source: CudaSource | None = getattr(function, "__dict__", {}).get(_ATTRIBUTE)
    return source


def typedef_of(name: str) -> str:
    """Return the C++ type name under which a source can use the element type of a tensor.

    >>> typedef_of("self")
    'self_t'
    """
    return f"{name}_t"


def cuda_source(
    launch: FunctionType,
    source: str,
    entry: str | None,
    parameters: Sequence[str],
    types: Mapping[str, Type],
    outputs: int,
    *,
    operator: str,
) -> CudaSource:
    """Parse an author's source, check the kernel's parameters against the operator's, and attach it to the launch
    function.

    Args:
        launch: the function that computes the launch configuration; the source is attached to it.
        source: CUDA C++, or the name of a ``.cu`` file in the folder of the function's module.
        entry: the kernel's name; None for the name of the function.
        parameters: the names of arguments, precomputed values and outputs.
        types: the schema types of arguments, by name; names that are missing are precomputed values or outputs.
        outputs: how many of the parameters are outputs, the last ones.
        operator: for messages.

    Raises:
        KernelSignatureError: there is no such file or kernel, or a parameter does not fit.
    """
    text, file, line = _located(launch, source, operator)
    name = entry or launch.__name__
    reader = _Reader(operator, f"{file}:{line}", name, parameters, types, outputs)
    kernel_source = CudaSource(text, file, line, name, reader.handed(text), tuple(parameters), outputs)
    launch.__dict__[_ATTRIBUTE] = kernel_source
    return kernel_source


def _located(launch: FunctionType, source: str, operator: str) -> tuple[str, str, int]:
    """Return the text of a source, and the file and line where it begins."""
    module = Path(launch.__code__.co_filename)
    if "\n" not in source and source.endswith(".cu"):
        path = module.parent / source
        try:
            return path.read_text(encoding="utf-8"), str(path), 1
        except OSError as error:
            raise KernelSignatureError(
                f"{operator}: the CUDA source {source!r} cannot be read: {error}. It has to be in the folder of "
                f"{module}."
            ) from error
    whole = "".join(_lines_of(launch))
    place = whole.find(source)
    return source, str(module), whole.count("\n", 0, place) + 1 if place >= 0 else 1


def _lines_of(launch: FunctionType) -> list[str]:
    try:
        return inspect.findsource(launch)[0]
    except (OSError, TypeError):  # typed at a prompt
        return []


class _Reader:
    """Parser of the parameters of a CUDA kernel.

    Args:
        place: position of the source, for messages.
        entry: the kernel's name.
        others: see ``cuda_source``.
    """

    def __init__(
        self,
        operator: str,
        place: str,
        entry: str,
        parameters: Sequence[str],
        types: Mapping[str, Type],
        outputs: int,
    ) -> None:
        self.operator = operator
        self.place = place
        self.entry = entry
        self.parameters = parameters
        self.types = types
        self.outputs = parameters[len(parameters) - outputs :]

    def handed(self, text: str) -> tuple[Handed, ...]:
        """Parse the parameters of the kernel in a source text."""
        plain = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        calls = [(head, call) for head in _HEAD.finditer(plain) for call in _CALL.finditer(head["rest"])]
        named = [(head, call) for head, call in calls if call["name"] == self.entry]
        if not named:
            bodies = [call for head, call in calls if head["body"] and call.end() == len(head["rest"].rstrip())]
            kernels = [call["name"] for call in bodies]
            raise self._refuse(
                f"there is no kernel of that name (have {', '.join(kernels) or 'none'})", "Name it: entry="
            )
        head, call = named[0]
        if head["extern"] is None:
            raise self._refuse(
                'it is no extern "C" function, so its name is mangled', 'Write extern "C" before __global__'
            )
        handed = tuple(self._parameter(part) for part in call["parameters"].split(",") if part.strip())
        missing = [name for name in self.outputs if not any(handed.name == name for handed in handed)]
        if missing:
            raise self._refuse(f"it does not take the output {missing[0]!r}", f"Add a parameter: float* {missing[0]}")
        return handed

    def _parameter(self, declaration: str) -> Handed:
        """Parse one parameter declaration, ``[const] type [*] name``."""
        match = _PARAMETER.fullmatch(" ".join(_QUALIFIERS.sub(" ", declaration).split()))
        if match is None:
            raise self._refuse(f"{declaration.strip()!r} is no supported parameter", _FORMS)
        c_type, name = " ".join(match["type"].split()), match["name"]
        if match["star"].strip():
            return self._array(c_type, name)
        if name in self.parameters:
            return self._number(c_type, name)
        of = _OF_TENSOR.fullmatch(name)
        if of is None or of["name"] not in self.parameters or not self._may_be_tensor(of["name"]):
            have = ", ".join(self.parameters)
            raise self._refuse(f"{name!r} is no argument and no output (have {have})", _FORMS)
        if c_type not in _INTEGERS:
            raise self._refuse(f"{name!r} is an integer, which cannot be passed as {c_type}", _FORMS)
        what = of["what"].partition("_")[0]
        return Handed(c_type, of["name"], what, int(of["size"] or of["stride"] or 0))

    def _array(self, c_type: str, name: str) -> Handed:
        if name not in self.parameters or not self._may_be_tensor(name):
            raise self._refuse(f"{name!r} is an address, but there is no tensor of that name", _FORMS)
        if c_type not in ELEMENTS and c_type != typedef_of(name):
            known = f"{typedef_of(name)}, {', '.join(dict.fromkeys(ELEMENTS))}"
            raise self._refuse(
                f"{name!r} points to {c_type}, which is the element type of no dtype", f"Use one of {known}"
            )
        return Handed(c_type, name, "address")

    def _number(self, c_type: str, name: str) -> Handed:
        kind = self.types.get(name)
        kind = kind.element if isinstance(kind, OptionalType) else kind
        allowed = tuple(NUMBERS) if kind is None and name not in self.outputs else _TAKEN_AS.get(kind, ())  # type: ignore[arg-type]
        if c_type not in allowed:
            what = "a tensor" if self._may_be_tensor(name) else f"of type {kind}"
            wanted = (
                f"{typedef_of(name)}* {name}" if self._may_be_tensor(name) else " or ".join(allowed) or "no parameter"
            )
            raise self._refuse(f"{name!r} is {what}, which cannot be passed as {c_type}", f"Take it as {wanted}")
        return Handed(c_type, name, "number")

    def _may_be_tensor(self, name: str) -> bool:
        """Return whether a name may denote a tensor; the types of precomputed values are unknown."""
        kind = self.types.get(name)
        kind = kind.element if isinstance(kind, OptionalType) else kind
        return kind is None or kind == BaseType.Tensor

    def _refuse(self, problem: str, remedy: str) -> KernelSignatureError:
        return KernelSignatureError(
            f"{self.place}: {self.operator}: the CUDA kernel {self.entry} does not fit: {problem}. {remedy}."
        )


_FORMS: Final = (
    "A parameter is an argument or output (float* x, double factor), or of a tensor among them: long long x_numel, "
    "x_size_0, x_stride_0"
)


def taken_strides(handed: Iterable[Handed]) -> frozenset[str]:
    """Return the names of the tensors whose strides a kernel takes; others are passed contiguous."""
    return frozenset(parameter.name for parameter in handed if parameter.what == "stride")
