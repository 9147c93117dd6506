"""Which operators of aten Python finds where: as a function of the package, of ``opdsl.nn`` and its kin, or in
``opdsl.ops`` alone.

The rules are those of PyTorch's ``gen_python_functions.py``. What PyTorch binds by hand counts as bound.
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
"""What ``python_module`` of an entry may be."""

# Halves of derivatives, and one backend's share of another operator.
_ENDINGS = (
    "_backward", "_backward_out", "_backward_input", "_backward_weight", "_backward_bias", "_forward", "_forward_out",
    "_jvp", "_overrideable", "_affine_cachemask",
)  # fmt: skip

# What only the operator of that name calls.
_BEGINNINGS = (
    "_cholesky", "_cumprod", "_cumsum", "_inverse", "_prod", "_qr", "_range", "_solve", "_sum", "_svd", "_thnn_",
    "_triangular_solve", "_sparse_bsc_tensor", "_sparse_bsr_tensor", "_sparse_compressed_tensor", "_sparse_coo_tensor",
    "_sparse_csc_tensor", "_sparse_csr_tensor", "_sparse_div", "_sparse_mul", "_sparse_sub", "lift",
)  # fmt: skip

# Methods, attributes, subscripts, and operators of functionalization.
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

# Bound, and left out of the package again (``PRIVATE_OPS`` in torch/__init__.py).
_PRIVATE = frozenset(("unique_dim",))

# Methods and attributes of those that PyTorch writes by hand.
_WRITTEN_BY_HAND = (
    "_version contiguous copy_ data dim get_device is_contiguous is_leaf item mH mT numel output_nr requires_grad_ "
    "retains_grad set_ size storage_offset stride"
)
_METHODS = frozenset(_WRITTEN_BY_HAND.split())


def is_bound(name: str, *, as_method: bool = False) -> bool:
    """Whether Python has a function (or a method of Tensor) for a name of aten, outside of ``opdsl.ops``.

    >>> is_bound("exp"), is_bound("tanh_backward"), is_bound("item"), is_bound("item", as_method=True)
    (True, False, False, True)
    """
    if as_method and name in _METHODS:
        return True
    return not (name in _NAMES or name.endswith(_ENDINGS) or name.startswith(_BEGINNINGS))


def module_of(packet: Packet) -> str | None:
    """The ``python_module`` that a packet's function belongs to; None for one of the package itself.

    Raises:
        UnknownOperatorError: Python has no function for it.
    """
    functions = [overload for overload in packet.overloads.values() if _is_function(overload)]
    if not functions or packet.base in _PRIVATE or not is_bound(packet.base):
        raise UnknownOperatorError(
            f"{packet.name} is no function of Python's. Call it as opdsl.ops.aten.{packet.base}."
        )
    modules = [function.properties.get("python_module") for function in functions]
    return None if None in modules else str(modules[0])


def _is_function(operator: Operator) -> bool:
    """Whether the overload is a function; of those that torchgen generates, only copies of views are."""
    is_internal = GENERATED in operator.tags and "view_copy" not in operator.tags
    return "function" in str(operator.properties["variants"]) and not is_internal


class PythonModule:
    """``opdsl.nn``, ``opdsl.linalg``, ...: the functions of one ``python_module`` as attributes.

    They have their names in PyTorch's operators, ``linalg_norm``, and those of its documentation, ``norm``.

    Args:
        name: of the module.
        find: the packet of a name of aten, loaded if need be; None for a name that there is not.
        names: every name of aten.
    """

    def __init__(self, name: str, find: Callable[[str], Packet | None], names: Callable[[], Iterable[str]]) -> None:
        self._name = name
        self._find = find
        self._names = names

    def __getattr__(self, name: str) -> Any:
        for full in (f"{self._name}_{name}", name):
            packet = None if name.startswith("__") else self._find(full)
            if packet is not None and self._holds(packet):
                self.__dict__[name] = packet.main.build()  # found once, as the names of the package are
                return self.__dict__[name]
        known = [self._short(full) for full in self._names() if not full.startswith("__")]
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
