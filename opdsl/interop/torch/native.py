"""The machine code of calls from torch (``machine``), loaded, and the functions that it is entered by.

What a tensor is and where its memory lies is asked through torch's stable C interface; ``places`` knows of what has
none. Where something is not found, Python functions take every call.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy
import torch

from opdsl.backends.cpu import engine
from opdsl.backends.cpu import native as shared
from opdsl.backends.cpu.builtin import Table, function_of, plan_of
from opdsl.backends.cpu.machine.language import exports, library_names, words
from opdsl.interop.torch import machine
from opdsl.interop.torch.calls import MEMORY
from opdsl.interop.torch.places import key_set, places
from opdsl.runtime.dtype import ALL_DTYPES
from opdsl.runtime.permanent import kept_forever

__all__ = ["array_function", "code", "entry", "form_function"]

_STABLE = "libtorch_cpu"

# Functions of other libraries, and as what these have them.
_MANGLED = {
    # PyObject* THPVariable_Wrap(const at::TensorBase&), in torch/csrc/autograd/python_variable.h
    "THPVariable_Wrap": ("libtorch_python", "_Z16THPVariable_WrapRKN2at10TensorBaseE"),
    # c10::ScalarType c10::get_default_dtype_as_scalartype(), in c10/core/DefaultDtype.h
    "default_dtype": ("libc10", "_ZN3c1031get_default_dtype_as_scalartypeEv"),
}


@kept_forever
def code() -> engine.Code | None:
    """The machine code; None where this torch lacks what it needs."""
    lying = places()
    try:
        addresses = {name: _address(name) for name in library_names(machine.Torch) if name != "run_frame"}
    except (OSError, AttributeError):
        return None
    if lying is None:
        return None
    imports = {**shared.imports(), **addresses, "run_frame": shared.entry("run_frame")}
    source = hashlib.sha256(inspect.getsource(machine).encode()).hexdigest()
    return engine.compile_ir(f"torch {source} {lying}", _text, exports([machine]), imports, has_long_loops=False)


def _address(name: str) -> int:
    """Where a function of torch lies.

    Raises:
        OSError: there is no such library. AttributeError: it has no such function.
    """
    file, symbol = _MANGLED.get(name, (_STABLE, name))
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / f"{file}{suffix}"))
    return shared.address_of(getattr(library, symbol))


def _text() -> str:
    from opdsl.backends.cpu.machine.text import module_text

    return module_text([machine])


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
    header = words(machine.Call, plans=table, function=id(slow), tests=tests, **_known())
    plan = plan_of(header, [loaded, slow, *owned])
    return function_of(name, loaded.address("torch_call"), plan, takes_names=True)


@kept_forever
def form_function() -> Callable[[object], int | None]:
    """A function of an argument: a number that tells its form, where it is a contiguous tensor that is no more than
    memory, with sizes of two or more; None for anything else.
    """
    return _reader("torch_form")


@kept_forever
def array_function() -> Callable[[object], numpy.ndarray[Any, Any] | None]:
    """A function of an argument: an array over its memory; None where it is no tensor, or more than memory."""
    by_number = {dtype.code: dtype for dtype in ALL_DTYPES}
    dtypes = [by_number.get(number) for number in range(machine.MOST_DTYPES)]
    listed = [
        words(machine.ArrayDtype, dtype=id(dtype.numpy), itemsize=dtype.itemsize) if dtype else [0, 0]
        for dtype in dtypes
    ]
    table = Table([word for pair in listed for word in pair])
    return _reader("torch_array", {"dtypes": table}, [dtype.numpy for dtype in ALL_DTYPES])


def _reader(
    symbol: str, further: Mapping[str, int | Table] = MappingProxyType({}), owned: Iterable[object] = ()
) -> Callable[[object], Any]:
    loaded = code()
    assert loaded is not None, "the caller has asked"
    header: list[int | Table] = words(machine.Call, plans=0, function=0, tests=MEMORY, **_known(), **further)
    plan = plan_of(header, [loaded, *owned])
    return function_of(symbol, loaded.address(symbol), plan)


@kept_forever
def _known() -> dict[str, int]:
    """What every call compares with: classes, key sets, and what tells of modes."""
    with torch.inference_mode():
        inference = torch.empty(())
    return {
        "tensor": id(torch.Tensor),
        "parameter": id(torch.nn.Parameter),
        "keys": key_set(torch.empty(())),
        "inference_keys": key_set(inference),
        "modes": id(torch._C._len_torch_dispatch_stack),
        "zero": id(0),
        "counter": id(torch._C._increment_version),
    }
