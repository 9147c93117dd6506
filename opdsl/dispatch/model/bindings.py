"""Rules for where Python exposes aten's operators: in the package, a module such as ``opdsl.nn``, or ``opdsl.ops``.

The rules are those of PyTorch's ``gen_python_functions.py``. Functions that PyTorch binds by hand count as bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.model.packet import Packet
from opdsl.errors import UnknownOperatorError
from opdsl.runtime.close_names import suggestion
from opdsl.schema import GENERATED

PYTHON_MODULES = ("fft", "linalg", "nested", "nn", "sparse", "special")
"""Values of an entry's ``python_module``."""

# Endings of operators that compute parts of derivatives, or are a backend's implementation of another operator.
_ENDINGS = (
    "_backward", "_backward_out", "_backward_input", "_backward_weight", "_backward_bias", "_forward", "_forward_out",
    "_jvp", "_overrideable", "_affine_cachemask",
)  # fmt: skip

# Beginnings of operators that only the operator of that name calls.
_BEGINNINGS = (
    "_cholesky", "_cumprod", "_cumsum", "_inverse", "_prod", "_qr", "_range", "_solve", "_sum", "_svd", "_thnn_",
    "_triangular_solve", "_sparse_bsc_tensor", "_sparse_bsr_tensor", "_sparse_compressed_tensor", "_sparse_coo_tensor",
    "_sparse_csc_tensor", "_sparse_csr_tensor", "_sparse_div", "_sparse_mul", "_sparse_sub", "lift",
)  # fmt: skip

# Operators that Python has only as methods, attributes or subscripts, and those of functionalization.
_UNBOUND = (
    "_batch_norm_no_update _batch_norm_with_update _batch_norm_with_update_out _foreach_copy _fw_primal "
    "_has_same_storage_numel _local_scalar_dense _new_zeros_with_same_feature_meta _reshape_alias _reshape_copy "
    "_reshape_copy_out _sparse_add_out _sparse_dense_add_out _to_copy _to_copy_out _unsafe_view _version alias "
    "contiguous copy copy_ copy_sparse_to_sparse_ data dim get_device index index_out is_contiguous is_cuda is_leaf "
    "is_sparse is_sparse_csr item itemsize mH mT matrix_H nbytes nonzero_numpy nonzero_out normal_functional numel "
    "numpy_T output_nr replace_ requires_grad_ retains_grad set_ set_data size slice storage_offset stride "
    "sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride to unique_dim_consecutive"
)
_NAMES = frozenset(_UNBOUND.split())

# Bound, but excluded from the package again (``PRIVATE_OPS`` in torch/__init__.py).
_PRIVATE = frozenset(("unique_dim",))

# Those of the operators above that are methods or attributes, which PyTorch writes by hand.
_WRITTEN_BY_HAND = (
    "_version contiguous copy_ data dim get_device is_contiguous is_leaf item mH mT numel output_nr requires_grad_ "
    "retains_grad set_ size storage_offset stride"
)
_METHODS = frozenset(_WRITTEN_BY_HAND.split())


def is_bound(name: str, *, as_method: bool = False) -> bool:
    """Return whether a name of aten is exposed as a function (or a method of Tensor) outside of ``opdsl.ops``.

    >>> is_bound("exp"), is_bound("tanh_backward"), is_bound("item"), is_bound("item", as_method=True)
    (True, False, False, True)
    """
    if as_method and name in _METHODS:
        return True
    return not (name in _NAMES or name.endswith(_ENDINGS) or name.startswith(_BEGINNINGS))


def module_of(packet: Packet) -> str | None:
    """Return the ``python_module`` that exposes a packet's function; None for the package itself.

    Raises:
        UnknownOperatorError: Python exposes no function for the packet.
    """
    functions = [overload for overload in packet.overloads.values() if _is_function(overload)]
    if not functions or packet.base in _PRIVATE or not is_bound(packet.base):
        raise UnknownOperatorError(
            f"{packet.name} is no function of Python's. Call it as opdsl.ops.aten.{packet.base}."
        )
    modules = [function.properties.get("python_module") for function in functions]
    return None if None in modules else str(modules[0])


def _is_function(operator: Operator) -> bool:
    """Return whether Python exposes an overload as a function; of generated overloads, only copies of views are."""
    is_internal = GENERATED in operator.tags and "view_copy" not in operator.tags
    return "function" in str(operator.properties["variants"]) and not is_internal


class PythonModule:
    """Module such as ``opdsl.nn`` or ``opdsl.linalg``, whose attributes are the functions of one ``python_module``.

    Functions are found by the names of PyTorch's operators, ``linalg_norm``, and by those of its documentation,
    ``norm``.

    Args:
        name: the name of the module.
        find: returns the packet of a name of aten, loading it if necessary; None for an unknown name.
        names: returns all names of aten, loading them.
        listed: returns the names that may be suggested for an unknown one, without loading their operators.
    """

    def __init__(
        self,
        name: str,
        find: Callable[[str], Packet | None],
        names: Callable[[], Iterable[str]],
        listed: Callable[[], Iterable[str]],
    ) -> None:
        self._name = name
        self._find = find
        self._names = names
        self._listed = listed

    def __getattr__(self, name: str) -> Any:
        for full in (f"{self._name}_{name}", name):
            packet = None if name.startswith("__") else self._find(full)
            if packet is not None and self._holds(packet):
                self.__dict__[name] = packet.main.build()  # looked up once, like the names of the package
                return self.__dict__[name]
        known = [self._short(full) for full in self._listed() if not full.startswith("__")]
        hint = suggestion(name, known, "`opdsl list` shows every operator.")
        raise UnknownOperatorError(f"opdsl.{self._name} has no function {name!r}. {hint}")

    def _holds(self, packet: Packet) -> bool:
        try:
            return module_of(packet) == self._name
        except UnknownOperatorError:
            return False

    def __dir__(self) -> list[str]:
        packets = [self._find(name) for name in self._names()]
        return sorted({self._short(packet.base) for packet in packets if packet is not None and self._holds(packet)})

    def _short(self, name: str) -> str:
        return name.removeprefix(f"{self._name}_")

    def __repr__(self) -> str:
        return f"<python_module {self._name}: {len(self.__dir__())} functions>"


__all__ = ["PYTHON_MODULES", "PythonModule", "is_bound", "module_of"]
