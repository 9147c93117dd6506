"""Declarations: a functional operator, the variants derived from it, and the implementations attached to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from opdsl.declare.options import Out
from opdsl.declare.scope import Scope
from opdsl.declare.signature import location
from opdsl.dispatch import DispatchKey, Operator
from opdsl.errors import DeclarationError, DuplicateOperatorError, KernelSignatureError
from opdsl.kernels import Definition
from opdsl.kernels.definitions.common import COMMON, NON_FUNCTIONAL, CommonKernel, OutKernelAdapter
from opdsl.primitives import LOOPS
from opdsl.schema.kinds import KINDS, Kind, Meta

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction


class Declaration:
    """Record of one ``@op`` declaration and of the implementations attached to it.

    library: the scope in which its operators are registered.
    function: the declared function.
    operators: operators by variant: ``functional``, ``inplace``, ``out``.
    structured: whether derived variants are exported as a structured group.
    out: options of its ``out=`` variant.
    untagged: the variants without declared tags; they get the tag that fits the attached implementation.
    definition: the shape function with its out-kernels, or the scalar functions; None for plain kernels.
    kind: record of the decorator that made the definition; None for a shape function.
    attached: attached functions by role, for example ``kernel CPU`` or ``pointwise {'mode': 'a'}``.
    detach_formula: removes the kernels of its formulas again; None if it has none.
    formulas: the attached scalar functions with their options, and the scalar function computed by each that is a body.
    functions: the callable of each variant, hand-written variants included.
    overloads: the declarations of further overloads that its body computes.
    """

    __slots__ = (
        "attached",
        "definition",
        "detach_formula",
        "formulas",
        "function",
        "functions",
        "kind",
        "library",
        "meta_reads_numbers",
        "operators",
        "out",
        "overloads",
        "structured",
        "untagged",
    )

    def __init__(
        self,
        library: Scope,
        function: FunctionType,
        operators: dict[str, Operator],
        *,
        structured: bool,
        out: Out,
        untagged: frozenset[str],
    ) -> None:
        self.library = library
        self.function = function
        self.operators = operators
        self.structured = structured
        self.out = out
        self.untagged = untagged
        self.definition: Definition | None = None
        self.kind: Kind | None = None
        self.detach_formula: Callable[[], None] | None = None
        self.meta_reads_numbers = True
        self.attached: dict[str, FunctionType] = {}
        self.formulas: list[tuple[FunctionType, Mapping[str, Any], ScalarFunction | None]] = []
        self.functions: dict[str, FunctionType] = {}
        self.overloads: tuple[Declaration, ...] = ()

    @property
    def main(self) -> Operator:
        """Return the operator that the declared function itself defines: the functional one if there is one."""
        return next(iter(self.operators.values()))

    @property
    def name(self) -> str:
        """Return the name of the main operator."""
        return self.main.name

    @property
    def is_composite(self) -> bool:
        """Return whether the declared function's body is its kernel."""
        return "body" in self.attached

    @property
    def is_structured(self) -> bool:
        """Return whether the declaration is a structured group in native_functions.yaml, which needs an ``out=``
        entry.
        """
        out = self.operators.get("out")
        if out is None:
            return False
        return bool(out.properties.get("structured")) or (self.definition is not None and self.structured)

    @property
    def out_is_explicit(self) -> bool:
        """Return whether a derived ``out=`` is exported as an entry even if torchgen could generate it."""
        out = self.operators.get("out")
        return out is not None and bool(out.properties.get("explicit"))

    def generates(self, operator: Operator) -> bool:
        """Return whether torchgen generates an operator of this declaration from its other entries (``autogen``)."""
        if operator is not self.operators.get("out") or operator is self.main:
            return False
        return not (self.is_structured or self.is_composite or self.out_is_explicit)

    def structured_option(self, name: str) -> object:
        """Return an entry option such as ``structured_inherits``, from the first variant that sets it."""
        values = (operator.properties.get(name) for operator in self.operators.values())
        return next((value for value in values if value is not None), None)

    def out_names(self) -> tuple[str, ...]:
        """Return the names of the output parameters."""
        out = self.operators.get("out")
        if out is not None:
            return tuple(argument.python_name for argument in out.schema.out)
        count = len(self.main.schema.returns)
        return ("out",) if count == 1 else tuple(f"out{index}" for index in range(count))

    # --------------------------------------------------------------------------------------------- attached functions

    def require_free(self, what: str, function: FunctionType) -> None:
        """Raise an error if an implementation of a role (such as ``kernel CPU``) is attached already, or none may be.

        Args:
            what: the role, for example ``kernel CPU``.
            function: the function to attach, for its location.

        Raises:
            DeclarationError: the entry says ``manual_kernel_registration=True``: kernels are registered apart (INV-25).
            DuplicateOperatorError: an implementation of this role is attached already.
        """
        if self.main.properties.get("manual_kernel_registration"):
            raise DeclarationError(
                f"{location(function)}: {self.name} is declared with manual_kernel_registration=True: its entry has no "
                f'kernel. Register the kernel separately: @library.impl("{self.name}", "CPU").'
            )
        present = self.attached.get(what)
        if present is not None:
            raise DuplicateOperatorError(
                f"{location(function)}: {self.name}: a second {what} is attached; the first is at {location(present)}. "
                "Remove one of them."
            )

    def claim(self, what: str, function: FunctionType) -> None:
        """Record a function as attached in a role (such as ``kernel CPU``); raises as ``require_free`` does."""
        self.require_free(what, function)
        self.attached[what] = function

    def require_one_way(self, kind: Kind, function: FunctionType, *, reads_numbers: bool | None = None) -> None:
        """Raise an error if an implementation conflicts with one that is attached already, or if it ignores
        ``reads_numbers``.

        Args:
            kind: record of the decorator: a way to compute, or ``meta``.
            function: the function to attach, for its location.
            reads_numbers: option of a shape function; None for that of the attached one.

        Raises:
            DuplicateOperatorError: the operator is computed in another way already.
            KernelSignatureError: ``reads_numbers=False`` is set, but this way to compute does not use it.
        """
        function_name = self.function.__name__
        attached = {what.partition(" ")[0]: value for what, value in self.attached.items()}
        present = [KINDS[key] for key in sorted(attached.keys() & KINDS.keys())]
        for other in present:
            reason = _conflict(kind, other)
            if reason:
                raise DuplicateOperatorError(
                    f"{location(function)}: {self.name}: {as_written(function_name, kind, function)} cannot be "
                    f"combined with {as_written(function_name, other, attached[other.name])}, which is attached at "
                    f"{location(attached[other.name])}: {reason}. Remove one of them."
                )
        if self.meta_reads_numbers if reads_numbers is None else reads_numbers:
            return
        ways = [(present_kind, attached[present_kind.name]) for present_kind in present] + [(kind, function)]
        without = [as_written(function_name, *way) for way in ways if way[0].is_way and not way[0].shares_plans]
        if without:
            raise KernelSignatureError(
                f"{location(function)}: {self.name}: reads_numbers=False only applies to pointwise operators, and not "
                f"to {min(without)}. Remove it."
            )

    # ---------------------------------------------------------------------------------------- registering definitions

    def register_structured(self, key: DispatchKey) -> None:
        """Register the definition's kernels of all variants under a dispatch key."""
        assert self.definition is not None, "a definition is made before it is registered"
        for variant, operator in self.operators.items():
            self.library.register(operator, key, self.definition.kernel(variant, operator, str(key)))

    def register_common(self) -> None:
        """Register kernels for backends that only implement the ``out=`` operator."""
        out = self.operators.get("out")
        if out is None:
            return
        assert self.definition is not None, "a definition is made before it is registered"
        definition = OutKernelAdapter(self.definition, out)
        for variant, operator in self.operators.items():
            key = COMMON if operator is out else NON_FUNCTIONAL
            self.library.register(operator, key, CommonKernel(definition, variant, operator))

    def infer_tag(self, tag: str) -> None:
        """Set the tag of the variants whose declaration gives no tags."""
        for variant in self.untagged:
            self.operators[variant].tags = (tag,)
            self.functions[variant].__dict__["tags"] = (tag,)

    def infer_entries(self, kind: Kind) -> None:
        """Set entry properties and tags that follow from a kind of implementation, unless the declaration sets them."""
        if kind.tag:
            self.infer_tag(kind.tag)
        copying = None if "functional" in self.operators else self.functions.get("functional")
        if copying is not None and not kind.is_structured:
            tagged: Any = copying
            tagged.operator.tags = tagged.tags = (*tagged.operator.tags, *self.main.tags)
        for variant, operator in self.operators.items():
            own = {**kind.entry, **kind.out_entry} if variant == "out" and self.structured else kind.entry
            _complete(operator.properties, own)


def as_written(name: str, kind: Kind, function: FunctionType) -> str:
    """Return the decorator of a function as written in source: ``@f.kernel``, ``primitives.elements(scaled)``.

    Args:
        name: name of the declared function.
        kind: record of the decorator or loop.
        function: the attached function.
    """
    return f"primitives.{LOOPS[kind.name]}({function.__name__})" if kind.name in LOOPS else f"@{name}.{kind.name}"


def _complete(properties: dict[str, object], wanted: Mapping[str, object]) -> None:
    for key, value in wanted.items():
        properties.setdefault(key, value)


def _conflict(one: Kind, other: Kind) -> str:
    """Return the reason why two kinds of implementation exclude each other; empty if they do not."""
    for way, beside in ((one, other), (other, one)):
        if way.meta is Meta.NONE and beside.name == "meta":
            return f"a {way.name} has the shape of its input"
    return "it is computed in one way" if one.is_way and other.is_way and one is not other else ""
