"""The keys of native_functions.yaml entries as keyword arguments of ``op``, ``Inplace`` and ``Out``."""

from __future__ import annotations

from opdsl.declare.source.expressions import Expressions, listed, quoted
from opdsl.declare.source.layout import Group
from opdsl.native import Delegate, DeviceCheck, NativeFunction, Structured, UfuncInnerLoop, Variant
from opdsl.schema import Argument, Precomputed

Options = dict[str, Group | str]
"""Keyword arguments of a declaration: their names and expressions."""

FUNCTION_ONLY = frozenset((Variant.function,))

ABSENT = {
    "variants": '"function"',
    "tags": "[]",
    "device_check": '"ExactSame"',
    "device_guard": "True",
    "python_module": "None",
    "category_override": "None",
    "structured_inherits": "None",
}
"""Expressions for absent keys, among those that variants inherit."""


def options_of(entry: NativeFunction, expressions: Expressions) -> Options:
    """Return the keys of an entry that are not at their defaults, as keyword arguments."""
    options: Options = {}
    if entry.variants != FUNCTION_ONLY:
        options["variants"] = quoted(", ".join(variant.name for variant in Variant if variant in entry.variants))
    if entry.tags:
        options["tags"] = listed(entry.tags)
    if entry.device_check is not DeviceCheck.ExactSame:
        options["device_check"] = quoted(entry.device_check.name)
    if not entry.device_guard:
        options["device_guard"] = "False"
    for key in ("python_module", "category_override"):
        text = getattr(entry, key)
        if text is not None:
            options[key] = quoted(text)
    options |= _structure(entry, expressions)
    if entry.dispatch is not None:
        lines = (f"{quoted(', '.join(line.keys))}: {quoted(str(line.kernel))}" for line in entry.dispatch)
        options["dispatch"] = Group("{", tuple(lines), "}")
    if entry.autogen:
        options["autogen"] = quoted(", ".join(map(str, entry.autogen)))
    if entry.cpp_no_default_args:
        options["cpp_no_default_args"] = listed(entry.cpp_no_default_args)
    for key in ("manual_cpp_binding", "manual_kernel_registration", "use_const_ref_for_mutable_tensors"):
        if getattr(entry, key):
            options[key] = "True"
    return options


def variant_options(
    variant: NativeFunction, base: NativeFunction, expressions: Expressions, *, is_structured: bool
) -> Options:
    """Return the keys of a derived variant that differ from those that it would inherit from its declaration.

    is_structured: whether the declaration is structured: its variants then delegate to its out variant implicitly.
    """
    own = options_of(variant, expressions)
    inherited = _inherited(options_of(base, expressions), base, keeps_variants=not variant.schema.out)
    for key, absent in ABSENT.items():
        has, would_have = own.get(key, absent), inherited.get(key, absent)
        if has == would_have:
            own.pop(key, None)
        else:
            own[key] = has
    if is_structured:
        own.pop("structured_delegate", None)
    return own


def _inherited(options: Options, base: NativeFunction, *, keeps_variants: bool) -> Options:
    """Return the options that a variant inherits from its declaration, without torchgen's tag ``core``."""
    inherited: Options = {key: options[key] for key in ABSENT if key in options}
    tags = [tag for tag in base.tags if tag != "core"]
    inherited["tags"] = listed(tags)
    if not keeps_variants:
        inherited.pop("variants", None)
    return inherited


def _structure(entry: NativeFunction, expressions: Expressions) -> Options:
    structure = entry.structure
    if isinstance(structure, Delegate):
        return Options(structured_delegate=quoted(str(structure.to)))
    if not isinstance(structure, Structured):
        return {}
    options: Options = {"structured": "True"}
    if structure.inherits is not None:
        options["structured_inherits"] = quoted(structure.inherits)
    if structure.precomputed is not None:
        options["precomputed"] = _precomputed(structure.precomputed, expressions)
    if structure.ufunc:
        options["ufunc_inner_loop"] = Group("{", tuple(map(_inner_loop, structure.ufunc)), "}")
    return options


def _precomputed(precomputed: Precomputed, expressions: Expressions) -> Group:
    parts = [_arguments(quoted(name), arguments, expressions) for name, arguments in precomputed.replaced]
    if precomputed.added:
        parts.append(_arguments("None", precomputed.added, expressions))
    return Group("{", tuple(parts), "}")


def _arguments(key: str, arguments: tuple[Argument, ...], expressions: Expressions) -> Group:
    parts = (f"{quoted(argument.name)}: {expressions.annotation(argument.type)}" for argument in arguments)
    return Group(f"{key}: {{", tuple(parts), "}")


def _inner_loop(loop: UfuncInnerLoop) -> str:
    return f"{quoted(loop.key.name)}: ({quoted(loop.name)}, {listed(loop.dtypes)})"
