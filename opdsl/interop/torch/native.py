"""The machine code of calls from torch (``call.ll``), and where torch keeps what that code reads.

What a tensor is and where its memory lies is asked through torch's stable C interface. Three more things have no
interface: where in a Python tensor its handle lies, and where behind that its dispatch keys and what autograd knows.
Each place is found by looking for known values in tensors that have them. Where one is not found, Python functions
take every call.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch

from opdsl.backends.cpu import engine
from opdsl.backends.cpu import native as shared
from opdsl.backends.cpu.builtin import Table, function_of, plan_of
from opdsl.backends.cpu.machine.language import fields
from opdsl.backends.cpu.machine.objects import WRITEABLE, Array
from opdsl.interop.torch.calls import MEMORY, NOTHING, RECORDED
from opdsl.runtime.dtype import ALL_DTYPES

__all__ = ["Places", "array_function", "code", "entry", "form_function"]

_PYTHON_FUNCTIONS = (
    "Py_IncRef",
    "Py_DecRef",
    "PyObject_Vectorcall",
    "PyObject_CallNoArgs",
    "PyObject_RichCompareBool",
    "PyFloat_AsDouble",
    "PyErr_Clear",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "PyObject_CallFunctionObjArgs",
    "PyLong_FromLongLong",
)
_NUMPY_NAMES = ("PyArray_Type", "PyArray_NewFromDescr", "PyArray_SetBaseObject")
_TORCH_FUNCTIONS = (
    "aoti_torch_get_dtype",
    "aoti_torch_get_dim",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_storage_offset",
    "aoti_torch_get_storage_size",
    "aoti_torch_empty_strided",
    "aoti_torch_delete_tensor_object",
)
# PyObject* THPVariable_Wrap(const at::TensorBase&), in torch/csrc/autograd/python_variable.h
_WRAP = "_Z16THPVariable_WrapRKN2at10TensorBaseE"
# c10::ScalarType c10::get_default_dtype_as_scalartype(), in c10/core/DefaultDtype.h
_DEFAULT_DTYPE = "_ZN3c1031get_default_dtype_as_scalartypeEv"


class Places(NamedTuple):
    """Where things lie, in bytes.

    handle: the ``at::Tensor`` in a Python tensor.
    keys: the dispatch key set in what the handle points to.
    autograd: the pointer to what autograd knows of a tensor, there too; null where it knows nothing.
    """

    handle: int
    keys: int
    autograd: int


_WORD = 8
_MOST_DTYPES = 64
_IMPLEMENTATION_WORDS = 24  # a c10::TensorImpl has no fewer


@functools.cache
def places() -> Places | None:
    """Where torch keeps things; None where that is not clear."""
    samples = _samples()
    outer = [_words(id(each), type(each).__basicsize__ // _WORD) for each in samples]
    inner = [_words(each._cdata, _IMPLEMENTATION_WORDS) for each in samples]
    handles = _common(outer, [each._cdata for each in samples])
    keys = _common(inner, [_key_set(each) for each in samples])
    follows = [each.requires_grad for each in samples]
    autograd = [word for word in range(_IMPLEMENTATION_WORDS) if [each[word] != 0 for each in inner] == follows]
    found = (handles, keys, autograd)
    if any(len(each) != 1 for each in found):
        return None
    return Places(*(each[0] * _WORD for each in found))


def _samples() -> list[torch.Tensor]:
    """Tensors of several key sets, with and without gradients, of several shapes."""
    shapes: list[tuple[int, ...]] = [(), (3,), (2, 0), (4, 5, 6, 7, 8, 9)]
    plain = [torch.empty(shape, dtype=dtype) for shape in shapes for dtype in (torch.float32, torch.complex128)]
    views = [plain[3].conj(), plain[1].view(1, 1, 1)]
    return [*plain, *(each.detach() for each in views), *(torch.empty(each, requires_grad=True) for each in shapes)]


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _common(found: Sequence[list[int]], wanted: Sequence[int]) -> list[int]:
    """Where in every list of words the wanted one of it stands."""
    count = min(map(len, found))
    return [at for at in range(count) if [each[at] for each in found] == list(wanted)]


def _key_set(tensor: torch.Tensor) -> int:
    keys: int = torch._C._dispatch_keys(tensor).raw_repr()
    return keys


@functools.cache
def code() -> engine.Code | None:
    """The machine code; None where this torch lacks what it needs."""
    lying = places()
    library = Path(torch.__file__).parent / "lib"
    try:
        addresses = _addresses(ctypes.CDLL(str(library / "libtorch_cpu.so")), _TORCH_FUNCTIONS)
        wrap = _addresses(ctypes.CDLL(str(library / "libtorch_python.so")), (_WRAP,))
        default = _addresses(ctypes.CDLL(str(library / "libc10.so")), (_DEFAULT_DTYPE,))
    except (OSError, AttributeError):
        return None
    if lying is None:
        return None
    imports = {
        **addresses,
        **_addresses(ctypes.pythonapi, _PYTHON_FUNCTIONS),
        "THPVariable_Wrap": wrap[_WRAP],
        "default_dtype": default[_DEFAULT_DTYPE],
        "PyFloat_Type": id(float),
        "_Py_NoneStruct": id(None),
        **{name: shared.imports()[name] for name in _NUMPY_NAMES},
        "run_frame": shared.code().address("run_frame"),
    }
    text = _text(lying)
    fingerprint = f"torch {hashlib.sha256(text.encode()).hexdigest()}"
    return engine.compile_ir(
        fingerprint, lambda: text, ["torch_call", "torch_form", "torch_array"], imports, has_long_loops=False
    )


def _addresses(library: Any, names: Iterable[str]) -> dict[str, int]:
    return {name: shared.address_of(getattr(library, name)) for name in names}


def _text(lying: Places) -> str:
    words = {
        "CDATA_OFFSET": lying.handle,
        "KEYS_OFFSET": lying.keys,
        "AUTOGRAD_OFFSET": lying.autograd,
        "TYPE_OFFSET": fields(Array)["type"].offset,
        "DATA_OFFSET": fields(Array)["data"].offset,
        "ARRAY_WRITEABLE": WRITEABLE,
        "DTYPES": _MOST_DTYPES,
        "NOTHING": NOTHING,
        "RECORDED": RECORDED,
    }
    lines = (Path(__file__).parent / "call.ll").read_text().splitlines()
    pattern = re.compile(r"\b(" + "|".join(words) + r")\b")
    return "\n".join(pattern.sub(lambda match: str(words[match[1]]), line.split(";")[0]) for line in lines)


def entry(name: str, table: int, slow: Callable[..., Any], tests: int, owned: Iterable[object]) -> Callable[..., Any]:
    """A built-in function for torch to call.

    Args:
        name: in its repr.
        table: the address of the plans: their number, then their addresses.
        slow: takes the calls that no plan serves.
        tests: ``NOTHING``, ``MEMORY`` or ``RECORDED``.
        owned: what has to live as long.
    """
    loaded = code()
    assert loaded is not None, "the caller has asked"
    plan = plan_of([table, id(slow), tests, *_known()], [slow, *owned])
    return function_of(name, loaded.address("torch_call"), plan, takes_names=True)


@functools.cache
def form_function() -> Callable[[object], int | None]:
    """A function of an argument: a number that tells its form, where it is a contiguous tensor that is no more than
    memory, with sizes of two or more; None for anything else.
    """
    return _reader("torch_form", [])


@functools.cache
def array_function() -> Callable[[object], numpy.ndarray[Any, Any] | None]:
    """A function of an argument: an array over its memory; None where it is no tensor, or more than memory."""
    words = [0] * (2 * _MOST_DTYPES)
    dtypes = [each.numpy for each in ALL_DTYPES]
    for each in ALL_DTYPES:
        words[2 * each.code : 2 * each.code + 2] = id(each.numpy), each.itemsize
    return _reader("torch_array", [Table(words)], dtypes)


def _reader(symbol: str, further: Sequence[Table], owned: Iterable[object] = ()) -> Callable[[object], Any]:
    loaded = code()
    assert loaded is not None, "the caller has asked"
    plan = plan_of([0, 0, MEMORY, *_known(), *further], [loaded, *owned])
    return function_of(symbol, loaded.address(symbol), plan)


@functools.cache
def _known() -> tuple[int, ...]:
    """What every call compares with: classes, key sets, and what tells of modes."""
    with torch.inference_mode():
        inference = torch.empty(())
    keys = _key_set(torch.empty(())), _key_set(inference)
    modes, counter = torch._C._len_torch_dispatch_stack, torch._C._increment_version
    return id(torch.Tensor), id(torch.nn.Parameter), *keys, id(modes), id(0), id(counter)
