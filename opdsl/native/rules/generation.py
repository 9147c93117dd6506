"""Rules INV-49 to INV-53 and INV-57, which PyTorch's code generators require of entries."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.native.entry import NativeFunction, Structured, UfuncKey, Variant
from opdsl.native.known import COMPOSITE_IMPLICIT, COMPOSITE_NON_FUNCTIONAL, LONE_MUTABLE
from opdsl.native.rules.breach import Breach, EntryRule, argument, dispatch_key, name, part, returned, value
from opdsl.native.rules.corpus import Corpus, CorpusRule
from opdsl.schema import BaseType, ListType, OptionalType, SchemaKind, Type


def inv_49(entry: NativeFunction) -> Iterator[Breach]:
    """Check that a method has an argument ``self``."""
    if Variant.method in entry.variants and entry.schema.self_argument is None:
        message = f"{entry.name} has no argument self, so it is no method"
        yield Breach(message, part(entry, "method", "variants"))


def inv_50_dispatch(entry: NativeFunction) -> Iterator[Breach]:
    """Check that kernels generated for structured entries are not named."""
    if not isinstance(entry.structure, Structured):
        return
    for line in entry.dispatch or ():
        for key in ("Meta", COMPOSITE_NON_FUNCTIONAL):
            if key in line.keys:
                message = f"the {key} kernel of a structured entry is generated: drop it"
                yield Breach(message, dispatch_key(entry, key))


def inv_50_schema(entry: NativeFunction) -> Iterator[Breach]:
    """Check that structured operators are functional, in-place or out, and take no TensorOptions."""
    if not entry.is_structured:
        return
    if entry.kind in (SchemaKind.mutable, SchemaKind.scratch):
        yield Breach(f"{entry.name} is {entry.kind}, and such operators are never structured", name(entry))
    options = entry.schema.tensor_options
    if options:
        message = f"{entry.name} takes TensorOptions, which structured kernels do not know"
        yield Breach(message, argument(entry, entry.schema.arguments.index(options[0])))


def inv_51_arguments(entry: NativeFunction) -> Iterator[Breach]:
    """Check that lists of bools have a size, as C++ requires."""
    for index, parameter in enumerate(entry.schema.arguments):
        type = parameter.type.element if isinstance(parameter.type, OptionalType) else parameter.type
        if isinstance(type, ListType) and type.element is BaseType.bool and type.size is None:
            yield Breach(f"{parameter.name} is a list of bools, which needs a size: bool[2]", argument(entry, index))


def inv_51_returns(entry: NativeFunction) -> Iterator[Breach]:
    """Check that returned lists have no size and are new, and that only Tensors are returned as optional values."""
    for index, declared in enumerate(entry.schema.returns):
        fault = _return_fault(declared.type, declared.is_written)
        if fault:
            yield Breach(f"{declared.type} {fault}", returned(entry, index))


def _return_fault(type: Type, is_written: bool) -> str:
    if isinstance(type, ListType):
        if type.size is not None:
            return "is returned, and returned lists have no size"
        return "is written, and written lists are not returned: write -> ()" if is_written else ""
    if isinstance(type, OptionalType) and type.element is not BaseType.Tensor:
        return "is returned, and the only result that may be missing is a Tensor"
    return ""


def inv_52(entry: NativeFunction) -> Iterator[Breach]:
    """Check that all kernels of an operator are in one C++ namespace."""
    lines = entry.dispatch or ()
    for line in lines[1:]:
        if line.kernel.namespace != lines[0].kernel.namespace:
            message = (
                f"{line.kernel} and {lines[0].kernel} live in two namespaces: the kernels of an operator share one"
            )
            yield Breach(message, value(entry, "dispatch", line.keys[0]), (value(entry, "dispatch", lines[0].keys[0]),))


def inv_53(corpus: Corpus) -> Iterator[Breach]:
    """Check that a mutable operator has a functional and an out variant, or is composite."""
    for variants in corpus.sets.values():
        # INV-44 covers an out variant without other variants.
        if variants.is_group or variants.kinds.keys() == {SchemaKind.out}:
            continue
        for entry in variants.members:
            if not entry.schema.is_mutable or entry.is_view or COMPOSITE_IMPLICIT in entry.kernels:
                continue
            if not LONE_MUTABLE & {str(entry.name), entry.name.base}:
                message = f"{entry.name} writes, so it needs variants that do not: add autogen, or their entries"
                yield Breach(message, name(entry))


def inv_57_tensors(entry: NativeFunction) -> Iterator[Breach]:
    """Check that functors on ``self`` and ``other`` are declared only for operators of two Tensors."""
    loops = entry.structure.ufunc if isinstance(entry.structure, Structured) else ()
    tensors = [argument for argument in entry.schema.positional if argument.type is BaseType.Tensor]
    for loop in loops:
        if loop.key in (UfuncKey.CUDAFunctorOnSelf, UfuncKey.CUDAFunctorOnOther) and len(tensors) != 2:
            message = f"{loop.key.name} is for operators of two Tensors; {entry.name} takes {len(tensors)}"
            yield Breach(message, value(entry, "ufunc_inner_loop", loop.key.name))


def inv_57_names(entry: NativeFunction) -> Iterator[Breach]:
    """Check that ScalarOnly and Generic name the same function, since CUDA has one for both."""
    loops = entry.structure.ufunc if isinstance(entry.structure, Structured) else ()
    by_key = {loop.key: loop for loop in loops}
    one, other = by_key.get(UfuncKey.ScalarOnly), by_key.get(UfuncKey.Generic)
    if one is not None and other is not None and one.name != other.name:
        message = f"ScalarOnly and Generic name one function for CUDA, not {one.name} and {other.name}"
        places = (value(entry, "ufunc_inner_loop", loop.key.name) for loop in (one, other))
        first, second = sorted(places, key=lambda place: place.node.start.index)
        yield Breach(message, second, (first,))


GENERATION_RULES: tuple[EntryRule, ...] = (
    inv_49,
    inv_51_arguments,
    inv_51_returns,
)
"""Rules for all entries."""

GENERATION_RULES_OF_DISPATCH: tuple[EntryRule, ...] = (inv_52,)
"""Rules for entries with a dispatch table."""

GENERATION_RULES_OF_STRUCTURED: tuple[EntryRule, ...] = (
    inv_50_dispatch,
    inv_50_schema,
    inv_57_tensors,
    inv_57_names,
)
"""Rules for structured entries and delegates."""

GENERATION_RULES_ACROSS: tuple[CorpusRule, ...] = (inv_53,)
"""Rules that compare an entry with other entries."""
