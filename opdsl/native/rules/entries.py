"""Rules INV-18 to INV-37, about single entries, beyond the format of values.

Not here, because no entry can be constructed that violates them: the values of INV-20, INV-22, INV-26, INV-32 and
INV-33, and the parts of INV-17, INV-30 and INV-31 about keys that exclude each other. The loader reports these, by the
same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from keyword import iskeyword

from opdsl.native.entry import Delegate, DeviceCheck, NativeFunction, Plain, Structured, Variant
from opdsl.native.known import (
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    COMPOSITE_NON_FUNCTIONAL,
    COMPOSITES,
    KEYWORD_ARGUMENTS,
    PYTHON_MODULES,
    STRUCTURED_KEYS,
    STRUCTURED_PARENTS,
    UFUNC_KEYS,
)
from opdsl.native.rules.breach import Breach, EntryRule, argument, dispatch_key, item, name, part, value
from opdsl.schema import BaseType, OptionalType, SchemaKind, Type

SEEDED = "nondeterministic_seeded"


def inv_18_out(entry: NativeFunction) -> Iterator[Breach]:
    """Check that an operator with out arguments is a function only."""
    if entry.schema.out and entry.variants != {Variant.function}:
        message = f"{entry.name} has out arguments, so it is a function only: variants: function"
        yield Breach(message, value(entry, "variants"))


def inv_19_method(entry: NativeFunction) -> Iterator[Breach]:
    """Check that a function of a Python module is not a method."""
    if entry.python_module is not None and Variant.method in entry.variants:
        message = f"{entry.name} is found in torch.{entry.python_module}, so it is no method: drop method"
        yield Breach(message, part(entry, "method", "variants"))


def inv_19_module(entry: NativeFunction) -> Iterator[Breach]:
    """Check that the Python module exists; torchgen accepts any."""
    module = entry.python_module
    if module is not None and module not in PYTHON_MODULES:
        message = f"{module} is no Python module of functions{_meant(module, PYTHON_MODULES)}"
        yield Breach(message, value(entry, "python_module"))


def inv_20_foreach(entry: NativeFunction) -> Iterator[Breach]:
    """Check that foreach operators, which take Tensors of several devices, have no device check."""
    if entry.name.base.startswith("_foreach") and entry.device_check is not DeviceCheck.NoCheck:
        message = f"{entry.name} takes lists of Tensors from any devices: device_check: NoCheck"
        yield Breach(message, value(entry, "device_check"))


def inv_21(entry: NativeFunction) -> Iterator[Breach]:
    """Check that operators with out arguments do not request const references to written Tensors."""
    if entry.use_const_ref_for_mutable_tensors and entry.schema.out:
        message = "out arguments are never const references: drop use_const_ref_for_mutable_tensors"
        yield Breach(message, value(entry, "use_const_ref_for_mutable_tensors"))


def inv_23(entry: NativeFunction) -> Iterator[Breach]:
    """Check that the tags ``out`` and ``inplace`` do not contradict name and schema."""
    for tag, holds in (("out", bool(entry.schema.out)), ("inplace", entry.name.is_inplace)):
        if tag in entry.tags and not holds:
            yield Breach(
                f"the tag {tag} follows from the schema, and {entry.name} is {entry.kind}", item(entry, tag, "tags")
            )


def inv_24(entry: NativeFunction) -> Iterator[Breach]:
    """Check that random operators are tagged as such."""
    if SEEDED in entry.tags:
        return
    reason = _randomness(entry)
    if reason:
        yield Breach(f"{entry.name} {reason}, so it needs the tag {SEEDED}", name(entry))


def _randomness(entry: NativeFunction) -> str:
    """Return the reason why an entry counts as random; an empty string if it does not. As torchgen, it searches the
    name.
    """
    text = str(entry.name)
    if "rand" in text:
        return 'has "rand" in its name'
    is_about_dropout = "dropout" in text
    for declared in entry.schema.arguments:
        if (declared.type.element if isinstance(declared.type, OptionalType) else declared.type) is BaseType.Generator:
            return "takes a Generator"
        is_about_dropout = is_about_dropout or "dropout" in declared.name
    if is_about_dropout and "backward" not in text and entry.name.base != "_cudnn_init_dropout_state":
        return "is about dropout"
    return ""


def inv_25(entry: NativeFunction) -> Iterator[Breach]:
    """Check that kernels are registered either manually or by ``dispatch``."""
    if entry.manual_kernel_registration and entry.dispatch is not None:
        message = "with manual_kernel_registration, dispatch has no effect: drop one of them"
        yield Breach(message, value(entry, "manual_kernel_registration"), (value(entry, "dispatch"),))


def inv_27(entry: NativeFunction) -> Iterator[Breach]:
    """Check that there is at most one composite kernel, besides one for nested tensors."""
    if not entry.dispatch:
        return
    keys = [key for line in entry.dispatch for key in line.keys if key in COMPOSITES]
    if len(keys) < 2:
        return
    if len(keys) == 2 and COMPOSITE_IMPLICIT_NESTED in keys and COMPOSITE_NON_FUNCTIONAL not in keys:
        return
    places = [dispatch_key(entry, key) for key in keys]
    yield Breach(f"{' and '.join(keys)} each serve every backend: keep one", places[-1], tuple(places[:-1]))


def inv_28(entry: NativeFunction) -> Iterator[Breach]:
    """Check that a dispatch table is left out if it only has the default kernel, possibly with another name."""
    lines = entry.dispatch
    if lines is None or len(lines) != 1 or lines[0].keys != (COMPOSITE_IMPLICIT,):
        return
    kernel = lines[0].kernel
    if kernel == entry.default_kernel:
        yield Breach("this is the kernel that an entry without dispatch has: drop dispatch", value(entry, "dispatch"))
    elif not (kernel.takes_symbolic_sizes or isinstance(entry.structure, Delegate)):
        message = f"a lone composite kernel has the default name: call it {entry.default_kernel} and drop dispatch"
        yield Breach(message, value(entry, "dispatch", COMPOSITE_IMPLICIT))


def inv_29(entry: NativeFunction) -> Iterator[Breach]:
    """Check that factories have a dispatch table, since they are not to be decomposed."""
    if entry.dispatch is not None or not isinstance(entry.structure, Plain):
        return
    base, schema = entry.name.base, entry.schema
    options = schema.tensor_options and not any(has_tensor(argument.type) for argument in schema.arguments)
    if options or base.startswith("new_") or base.endswith("_like"):
        message = f"{entry.name} makes new Tensors, so it needs a dispatch table: CompositeExplicitAutograd: {base}"
        yield Breach(message, name(entry))


def has_tensor(type: Type) -> bool:
    """Return whether a type is a Tensor, a list of Tensors, or an optional one."""
    return BaseType.Tensor.value in str(type)


def inv_30_structured(entry: NativeFunction) -> Iterator[Breach]:
    """Check that a structured entry is an out variant, and keeps its device guard."""
    if not isinstance(entry.structure, Structured):
        return
    if entry.kind not in (SchemaKind.out, SchemaKind.mutable, SchemaKind.scratch):
        message = f"{entry.name} is {entry.kind}, and structured belongs to the out variant: use structured_delegate"
        yield Breach(message, value(entry, "structured"))
    if not entry.device_guard:
        yield Breach("structured kernels always have a device guard: drop device_guard", value(entry, "device_guard"))


def inv_30_inherits(entry: NativeFunction) -> Iterator[Breach]:
    """Check that the base class of a structured kernel exists; torchgen accepts any."""
    inherits = entry.structure.inherits if isinstance(entry.structure, Structured) else None
    if inherits is not None and inherits not in STRUCTURED_PARENTS:
        message = f"{inherits} is no class that structured kernels derive from{_meant(inherits, STRUCTURED_PARENTS)}"
        yield Breach(message, value(entry, "structured_inherits"))


def inv_30_kernels(entry: NativeFunction) -> Iterator[Breach]:
    """Check that a structured entry has kernels; torchgen accepts one without."""
    structure = entry.structure
    if isinstance(structure, Structured) and not entry.dispatch and not structure.ufunc:
        yield Breach(f"{entry.name} is structured, but no kernel is named: add dispatch", value(entry, "structured"))


def inv_31(entry: NativeFunction) -> Iterator[Breach]:
    """Check that a delegate is not an out variant, keeps its device guard, and leaves the kernels to the structured
    entry.
    """
    if not isinstance(entry.structure, Delegate):
        return
    if entry.kind is SchemaKind.out:
        message = f"{entry.name} is the out variant, which the others delegate to: structured: True"
        yield Breach(message, value(entry, "structured_delegate"))
    if not entry.device_guard:
        yield Breach("structured kernels always have a device guard: drop device_guard", value(entry, "device_guard"))
    for key in STRUCTURED_KEYS:
        if entry.dispatch and key in entry.kernels:
            message = f"the {key} kernel of {entry.name} is that of {entry.structure.to}, to which it delegates"
            yield Breach(message, dispatch_key(entry, key))


def inv_32_targets(entry: NativeFunction) -> Iterator[Breach]:
    """Check that names which a meta function replaces are arguments; torchgen ignores others."""
    precomputed = entry.structure.precomputed if isinstance(entry.structure, Structured) else None
    if precomputed is None:
        return
    names = [argument.name for argument in entry.schema.positional + entry.schema.keyword_only]
    for index, (replaced, _) in enumerate(precomputed.replaced):
        if replaced not in names:
            message = f"{entry.name} has no argument {replaced}{_meant(replaced, names)}"
            yield Breach(message, part(entry, replaced, "precomputed", index))


def inv_33_dispatch(entry: NativeFunction) -> Iterator[Breach]:
    """Check that kernels generated from a ufunc are not named."""
    if not isinstance(entry.structure, Structured) or not entry.structure.ufunc:
        return
    for line in entry.dispatch or ():
        for key in UFUNC_KEYS:
            if key in line.keys:
                yield Breach(f"the {key} kernel is generated from ufunc_inner_loop", dispatch_key(entry, key))


def inv_34(entry: NativeFunction) -> Iterator[Breach]:
    """Check that ``cpp_no_default_args`` names arguments with a default."""
    for text in entry.cpp_no_default_args:
        if not any(argument.name == text and argument.default is not None for argument in entry.schema.arguments):
            yield Breach(
                f"{entry.name} has no argument {text} with a default", item(entry, text, "cpp_no_default_args")
            )


def inv_37(entry: NativeFunction) -> Iterator[Breach]:
    """Check that no argument's name is a keyword of Python."""
    for index, parameter in enumerate(entry.schema.arguments):
        if iskeyword(parameter.name) and (str(entry.name), parameter.name) not in KEYWORD_ARGUMENTS:
            yield Breach(f"{parameter.name} is a keyword of Python: rename the argument", argument(entry, index))


def _meant(text: str, known: list[str] | tuple[str, ...]) -> str:
    close = get_close_matches(text, known, n=1)
    return f": did you mean {close[0]}?" if close else f" (have {', '.join(known)})" if known else ""


ENTRY_RULES: tuple[EntryRule, ...] = (
    inv_18_out,
    inv_19_method,
    inv_19_module,
    inv_20_foreach,
    inv_21,
    inv_23,
    inv_24,
    inv_29,
    inv_34,
    inv_37,
)
"""Rules for all entries."""

DISPATCH_RULES: tuple[EntryRule, ...] = (inv_25, inv_27, inv_28)
"""Rules for entries with a dispatch table."""

STRUCTURED_RULES: tuple[EntryRule, ...] = (
    inv_30_structured,
    inv_30_inherits,
    inv_30_kernels,
    inv_31,
    inv_32_targets,
    inv_33_dispatch,
)
"""Rules for structured entries and delegates."""
