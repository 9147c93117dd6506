"""Loader of the compiled entry functions for calls from torch (``machine``).

Tensor metadata is read through torch's stable C interface; ``places`` has the offsets of fields outside of it. Where
this torch lacks something, Python functions run every call.
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

# Functions outside the stable interface: library and mangled name.
_MANGLED = {
    # PyObject* THPVariable_Wrap(const at::TensorBase&), in torch/csrc/autograd/python_variable.h
    "THPVariable_Wrap": ("libtorch_python", "_Z16THPVariable_WrapRKN2at10TensorBaseE"),
    # c10::ScalarType c10::get_default_dtype_as_scalartype(), in c10/core/DefaultDtype.h
    "default_dtype": ("libc10", "_ZN3c1031get_default_dtype_as_scalartypeEv"),
}


@kept_forever
def code() -> engine.Code | None:
    """Return the compiled code; None if this torch lacks a function that it needs."""
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
    """Return the address of a function of torch.

    Raises:
        OSError: the library does not exist. AttributeError: the library does not have the function.
    """
    file, symbol = _MANGLED.get(name, (_STABLE, name))
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / f"{file}{suffix}"))
    return shared.address_of(getattr(library, symbol))


def _text() -> str:
    from opdsl.backends.cpu.machine.text import module_text

    return module_text([machine])


def entry(name: str, table: int, slow: Callable[..., Any], tests: int, owned: Iterable[object]) -> Callable[..., Any]:
    """Build the built-in function that torch calls as a kernel.

    Args:
        name: in its repr.
        table: the address of the plans: their number, then their addresses.
        slow: runs the calls that match no plan.
        tests: ``NOTHING``, ``MEMORY`` or ``RECORDED``.
        owned: objects to keep alive as long as the function.
    """
    loaded = code()
    assert loaded is not None, "the caller has asked"
    header = words(machine.Call, plans=table, function=id(slow), tests=tests, **_known())
    plan = plan_of(header, [loaded, slow, *owned])
    return function_of(name, loaded.address("torch_call"), plan, takes_names=True)


@kept_forever
def form_function() -> Callable[[object], int | None]:
    """Return a function that maps an argument to a number for its shape class, or to None.

    The number is given for a contiguous tensor that is plain memory, with all sizes at least two; None for anything
    else.
    """
    return _reader("torch_form")


@kept_forever
def array_function() -> Callable[[object], numpy.ndarray[Any, Any] | None]:
    """Return a function that maps a tensor to an array over its memory; None for other arguments or tensors of other
    kinds.
    """
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
    """Return the constants that every call compares with: classes, key sets, and the counter of dispatch modes."""
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
