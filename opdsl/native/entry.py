"""Entries of native_functions.yaml as frozen values, with one field for each key."""

from __future__ import annotations

import enum

import attrs

from opdsl.native.known import COMPOSITE_IMPLICIT, DTYPE_CLASSES, PT2_TAG, UFUNC_KEYS
from opdsl.native.source import Location, Origin
from opdsl.schema import FunctionSchema, OperatorName, Precomputed, SchemaKind

MOST_KERNEL_NAMESPACES = 3
"""Maximum number of namespace levels in a kernel's name (INV-26)."""

METADATA_ONLY = frozenset(("resize_", "resize_as_"))
"""Operators with the tag ``inplace_view`` that are no views. Source: torchgen's note "resize_ in Functionalization"."""

MADE = Location("<made>", 1, 1)
"""Location of entries that were not read from a file."""


class Variant(enum.Enum):
    """Variant of an operator in Python: function or method."""

    function = "function"
    method = "method"


class DeviceCheck(enum.Enum):
    """Check of whether all Tensors are on one device."""

    NoCheck = "NoCheck"
    ExactSame = "ExactSame"


class UfuncKey(enum.Enum):
    """Kind of ufunc kernel that an inner loop is used for."""

    Generic = "Generic"
    ScalarOnly = "ScalarOnly"
    CPUScalar = "CPUScalar"
    CPUVector = "CPUVector"
    CUDAFunctor = "CUDAFunctor"
    CUDAFunctorOnSelf = "CUDAFunctorOnSelf"
    CUDAFunctorOnOther = "CUDAFunctorOnOther"


@attrs.frozen
class Kernel:
    r"""C++ function that implements an entry for some dispatch keys.

    namespace: ``a::b`` as written; empty for the default, ``at``.
    name: of the function.

    >>> from opdsl.native import loads
    >>> (relu,) = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: relu")
    >>> str(relu.kernels["CPU"])
    'relu'
    """

    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}::{self.name}" if self.namespace else self.name

    @property
    def takes_symbolic_sizes(self) -> bool:
        """Return whether the kernel takes SymInt arguments, as its name indicates."""
        return "_symint" in self.name


@attrs.frozen
class DispatchEntry:
    r"""Line of ``dispatch``: dispatch keys that share a kernel, and the kernel.

    keys: as written.
    kernel: the function.

    >>> from opdsl.native import loads
    >>> (relu,) = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: relu")
    >>> print(relu.dispatch[0])
    CPU, CUDA: relu
    """

    keys: tuple[str, ...]
    kernel: Kernel

    def __str__(self) -> str:
        return f"{', '.join(self.keys)}: {self.kernel}"


@attrs.frozen
class UfuncInnerLoop:
    r"""Scalar C++ function from which kernels with loops are generated.

    dtypes: dtypes and classes of them, as written.
    key: the kind of kernels.
    name: of the function.

    >>> from opdsl.native import loads
    >>> (relu,) = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: relu")
    >>> from opdsl.native import UfuncInnerLoop, UfuncKey
    >>> print(UfuncInnerLoop(UfuncKey.Generic, "add", ("Half", "Float")))
    add (Half, Float)
    """

    key: UfuncKey
    name: str
    dtypes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.dtypes)})"

    @property
    def supported(self) -> tuple[str, ...]:
        """Return the dtypes in order, with dtype classes expanded."""
        return tuple(dict.fromkeys(dtype for name in self.dtypes for dtype in DTYPE_CLASSES.get(name, (name,))))


@attrs.frozen
class Plain:
    r"""Structure of an entry whose YAML says neither ``structured`` nor ``structured_delegate``.

    >>> from opdsl.native import loads
    >>> (relu,) = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: relu")
    >>> relu.structure
    Plain()
    """


@attrs.frozen
class Structured:
    r"""Structure of an out entry whose meta function is shared by the other variants.

    inherits: the class that its meta class derives from.
    precomputed: the values that the meta function computes for the kernel.
    ufunc: scalar functions from which kernels are generated.

    >>> from opdsl.native import loads
    >>> (relu,) = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: relu")
    >>> text = "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
    >>> (out,) = loads(f"{text}  dispatch:\n    CPU: f_out")
    >>> out.structure
    Structured(inherits=None, precomputed=None, ufunc=())
    """

    inherits: str | None = None
    precomputed: Precomputed | None = None
    ufunc: tuple[UfuncInnerLoop, ...] = ()


@attrs.frozen
class Delegate:
    r"""Structure of an entry that is implemented by a structured out entry.

    to: the name of the out entry.

    >>> from opdsl.native import loads
    >>> (relu,) = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: relu")
    >>> (f,) = loads("- func: f(Tensor self) -> Tensor\n  structured_delegate: f.out")
    >>> str(f.structure.to)
    'f.out'
    """

    to: OperatorName


PLAIN = Plain()


@attrs.frozen
class NativeFunction:
    r"""Entry of native_functions.yaml.

    schema: ``func``.
    dispatch: None if the key is missing, which means a composite kernel by default; empty for ``{}``.
    tags: as written; ``all_tags`` includes the inferred ones.
    structure: plain, structured, or a delegate; contains the keys of structured entries.
    origin: where it was read, not part of its value; None for a constructed entry.
    declared_at: the location of a constructed entry's declaration, not part of its value either.
    variants, autogen, device_check, device_guard, python_module, cpp_no_default_args: the keys of these names.
    manual_cpp_binding, manual_kernel_registration, category_override: the keys of these names.
    use_const_ref_for_mutable_tensors: the key of this name.

    The other fields are the keys of the same name, with their defaults.

    >>> from opdsl.native import loads
    >>> (relu,) = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: relu")
    >>> str(relu.schema), sorted(relu.kernels), relu.is_view
    ('relu(Tensor self) -> Tensor', ['CPU', 'CUDA'], False)
    """

    schema: FunctionSchema
    variants: frozenset[Variant] = frozenset((Variant.function,))
    dispatch: tuple[DispatchEntry, ...] | None = None
    tags: tuple[str, ...] = ()
    structure: Plain | Structured | Delegate = PLAIN
    autogen: tuple[OperatorName, ...] = ()
    device_check: DeviceCheck = DeviceCheck.ExactSame
    device_guard: bool = True
    python_module: str | None = None
    cpp_no_default_args: tuple[str, ...] = ()
    manual_cpp_binding: bool = False
    manual_kernel_registration: bool = False
    category_override: str | None = None
    use_const_ref_for_mutable_tensors: bool = False
    origin: Origin | None = attrs.field(default=None, eq=False, repr=False)
    declared_at: Location = attrs.field(default=MADE, eq=False, repr=False)

    @property
    def name(self) -> OperatorName:
        """Return the operator's name."""
        return self.schema.name

    @property
    def kind(self) -> SchemaKind:
        """Return the kind of the schema."""
        return self.schema.kind

    @property
    def is_structured(self) -> bool:
        """Return whether the entry is structured or delegates to a structured one."""
        return not isinstance(self.structure, Plain)

    @property
    def all_tags(self) -> frozenset[str]:
        """Return the tags as written, and those that follow from name and schema (INV-23)."""
        inferred = {PT2_TAG} if self.name.namespace in (None, "aten") else set()
        if self.schema.out:
            inferred.add("out")
        if self.name.is_inplace:
            inferred.add("inplace")
        return frozenset(self.tags) | inferred

    @property
    def default_kernel(self) -> Kernel:
        """Return the kernel of an entry without ``dispatch``."""
        return Kernel(self.name.base + ("_out" if self.schema.out else ""))

    @property
    def kernels(self) -> dict[str, Kernel]:
        """Return the kernel of each dispatch key: as written, by default (INV-29), or generated from a ufunc."""
        kernels = {key: line.kernel for line in self.dispatch or () for key in line.keys}
        if self.dispatch is None and not self.is_structured:
            kernels[COMPOSITE_IMPLICIT] = self.default_kernel
        if isinstance(self.structure, Structured) and self.structure.ufunc:
            kernels |= {key: Kernel(f"ufunc_{self.name.base}_{key}") for key in UFUNC_KEYS}
        return kernels

    @property
    def is_view(self) -> bool:
        """Return whether a result shares memory with an argument, or an argument becomes a view (INV-46)."""
        return self.schema.is_view or ("inplace_view" in self.tags and str(self.name) not in METADATA_ONLY)

    def location(self, *path: str | int) -> Location:
        """Return the location of the entry in its file, or of the node at ``path``: ``("dispatch", "CPU")``, ``("tags",
        0)``.

        Args:
            path: keys of mappings and indices of lists, from the outside to the inside.
        """
        return self.declared_at if self.origin is None else self.origin.location(*path)
