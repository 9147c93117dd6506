"""Options of ``op`` and of variants: ``EntryOptions``, ``Inplace``, ``Out``, ``Overload``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict, cast

import attrs

from opdsl.errors import DeclarationError
from opdsl.runtime.close_names import suggestion


def _tags(tags: object) -> object:
    """Return tags as a tuple; values that are no list stay unchanged for the type check."""
    if isinstance(tags, str):
        return (tags,)
    return tuple(tags) if isinstance(tags, Iterable) else tags


class EntryOptions(TypedDict, total=False):
    """Properties of a native_functions.yaml entry that ``@op``, ``Inplace`` and ``Out`` take as options.

    variants: ``"function"``, ``"method"`` or both, separated by a comma.
    tags: PyTorch's tags.
    device_check: ``"ExactSame"``: tensors on different devices are refused; ``"NoCheck"`` leaves the check to the
        kernel.
    device_guard: whether a backend's kernel runs with the tensors' device current.
    python_module: ``"nn"``, ``"linalg"``, ...: the Python module of the function; None for a variant that has none,
        unlike its declaration.
    category_override: ``"factory"`` gives the function a parameter ``requires_grad``, as factories have it; ``"dummy"``
        does not.
    manual_kernel_registration: whether ``Library.impl`` registers the entry's kernel, instead of the declaration.
    structured: for ``Out``, and for an ``out=`` operator declared by itself: whether its kernels are structured; the
        variants of the same declaration delegate to it. Attached elementwise formulas and ``.meta`` imply it.
    explicit: for ``Out``: whether the variant is exported as an entry although torchgen could generate it
        (``autogen``).
    structured_delegate: the structured ``out=`` operator that an operator declared by itself delegates to.
    structured_inherits: the base class of a structured kernel: ``"TensorIteratorBase"``, or a subclass of
        ``opdsl.kernels.MetaContext``, whose instance the shape function gets. Other names are those of C++ classes.
    ufunc_inner_loop: the inner loops of a structured kernel, each a name and the sets of dtypes, ``"add (Bool)"`` or
        ``("add", ["Bool"])``.
    precomputed: parameters that replace an argument of a structured kernel, ``{"dim": {"dim": int}}``; the key None
        has additional parameters. The lines of YAML are accepted too.
    autogen: the operators that torchgen generates from this entry.
    dispatch: the dispatch table to export in place of the one that follows from the registrations, or only its keys,
        ``"CPU, CUDA"``; None for no table, as for composites.
    """

    variants: str
    tags: str | Iterable[str]
    device_check: Literal["NoCheck", "ExactSame"]
    device_guard: bool
    python_module: str | None
    category_override: str | None
    structured: bool
    explicit: bool
    structured_delegate: str
    structured_inherits: str | type | None
    ufunc_inner_loop: Mapping[str, str | tuple[str, Iterable[str]]]
    precomputed: Mapping[str | None, Mapping[str, object]] | Iterable[str]
    autogen: str
    cpp_no_default_args: Iterable[str]
    manual_cpp_binding: bool
    manual_kernel_registration: bool
    use_const_ref_for_mutable_tensors: bool
    dispatch: Mapping[str, str] | str | None


KNOWN = frozenset(EntryOptions.__annotations__)

OF_DECLARATIONS = (
    "inplace",
    "out",
    "foreach",
    "functional",
    "kernel",
    "overloads",
    "accepts_numbers",
    "is_bound",
    "may_alias",
    "structured",
)
"""Names of options of ``op`` besides those of an entry."""

CASTS = ("same", "safe", "kind")
"""Values of ``Out(cast=...)``."""


@attrs.frozen(init=False)
class Inplace:
    """Options of the in-place variant, where it departs from torchgen's rule (``name_`` with the same overload).

    name: ``"pow_.Tensor"``; None follows the rule.
    options: the entry's keys, as ``@op`` takes them; others are inherited from the functional entry.

    >>> Inplace("pow_.Tensor", tags="pointwise").name
    'pow_.Tensor'
    """

    name: str | None
    options: Mapping[str, object]

    def __init__(self, name: str | None = None, **options: object) -> None:
        _check_options("Inplace", options)
        self.__attrs_init__(name, options)


@attrs.frozen(init=False)
class Out:
    """Options of the ``out=`` variant, where it departs from torchgen's rule (INV-45: overload ``out`` or ``X_out``,
    arguments ``out`` or ``out0``, ``out1``, ...).

    name: ``"add.out"``, or ``".out"`` for an overload of the same packet; None follows the rule.
    args: names of the out arguments; None follows the rule.
    named: whether its returns keep the names of the functional operator's returns.
    cast: dtypes that an output may have if the result is computed first and then copied: ``same`` (that of the result),
        ``safe`` (those that the result can be cast to), ``kind`` (other precisions of the same kind of numbers).
    contiguous: whether a resized output becomes contiguous; otherwise it gets the strides of the result.
    apart: whether it must share no memory with the inputs, although the result is computed before it is copied.
    options: the entry's keys, as ``@op`` takes them.

    >>> Out("max.dim_max", args=("max", "max_values")).args
    ('max', 'max_values')
    """

    name: str | None
    args: tuple[str, ...] | None
    named: bool
    cast: str
    contiguous: bool
    apart: bool
    options: Mapping[str, object]

    def __init__(
        self,
        name: str | None = None,
        *,
        args: Iterable[str] | None = None,
        named: bool = True,
        cast: Literal["same", "safe", "kind"] = "same",
        contiguous: bool = False,
        apart: bool = False,
        **options: object,
    ) -> None:
        _check_options("Out", options)
        if cast not in CASTS:
            raise DeclarationError(f"Out(cast={cast!r}): use one of {', '.join(CASTS)}.")
        names = None if args is None else tuple(args)
        self.__attrs_init__(name, names, named, cast, contiguous, apart, options)

    def without_name(self) -> Out:
        """Return a copy without the name, for the overloads of a table."""
        plain = Out.__new__(Out)
        plain.__attrs_init__(None, self.args, self.named, self.cast, self.contiguous, self.apart, self.options)
        return plain


@attrs.frozen(init=False)
class Overload:
    """Options of an overload that is computed by another operator's body; see ``overloads`` of ``op``.

    doc: its docstring; None for that of the operator.
    fixed: arguments that the overload lacks, with the values that the body gets.
    options: as ``@op`` takes them; others are the operator's, except ``autogen``, ``out``, ``inplace`` and others that
        belong to one entry.

    >>> Overload("The same from 0 on.", fixed={"start": 0}).fixed
    {'start': 0}
    """

    doc: str | None
    fixed: Mapping[str, object]
    options: Mapping[str, object]

    def __init__(
        self,
        doc: str | None = None,
        *,
        fixed: Mapping[str, object] | None = None,
        **options: object,
    ) -> None:
        self.__attrs_init__(doc, dict(fixed or {}), options)


def _check_options(where: str, options: Mapping[str, object], others: Iterable[str] = ()) -> None:
    """Raise an error for an unknown option; ``others`` are further names that the error message may suggest."""
    unknown = [option for option in options if option not in KNOWN]
    if unknown:
        listed = f"It takes: {', '.join(sorted(KNOWN))}."
        meant = suggestion(unknown[0], (*KNOWN, *others), listed)
        raise DeclarationError(f"{where}(...) has no option '{unknown[0]}'. {meant}")


def _check_values(where: str, options: Mapping[str, object]) -> None:
    """Check the type of every option against its annotation; typeguard is only imported for values that need it.

    Raises:
        DeclarationError: a value is of another type.
    """
    for option, value in options.items():
        if _PLAIN[option](value):
            continue
        from typing import get_type_hints

        from typeguard import TypeCheckError, check_type

        try:
            check_type(value, get_type_hints(EntryOptions)[option])
        except TypeCheckError as error:
            raise DeclarationError(
                f"{where}: the option {option}={value!r} does not fit: {error}. See opdsl.declare.EntryOptions for the "
                f"values of {option}."
            ) from error


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_text_or_none(value: object) -> bool:
    return value is None or type(value) is str


def _is_base(value: object) -> bool:
    return _is_text_or_none(value) or isinstance(value, type)


def _is_flag(value: object) -> bool:
    return type(value) is bool


def _are_texts(value: object) -> bool:
    return type(value) in (tuple, list) and all(type(member) is str for member in cast("Iterable[object]", value))


def _is_precomputed(value: object) -> bool:
    """Return whether a value of the option ``precomputed`` is a mapping from arguments to their replacements, or
    texts.
    """
    if type(value) is not dict:
        return _are_texts(value)
    if not all(type(replacements) is dict for replacements in value.values()):
        return False
    return _are_texts(
        [name for name in value if name is not None]
        + [name for replacements in value.values() for name in replacements]
    )


def _is_table(value: object) -> bool:
    return type(value) is dict and _are_texts((*value, *value.values()))


def _is_table_or_none(value: object) -> bool:
    return _is_text_or_none(value) or _is_table(value)


# Quick checks that accept common values: importing typeguard costs as much as declaring a hundred operators.
_PLAIN: dict[str, Callable[[object], bool]] = {
    "variants": _is_text,
    "tags": _are_texts,
    "device_check": ("NoCheck", "ExactSame").__contains__,
    "device_guard": _is_flag,
    "python_module": _is_text_or_none,
    "category_override": _is_text_or_none,
    "structured": _is_flag,
    "explicit": _is_flag,
    "structured_delegate": _is_text,
    "structured_inherits": _is_base,
    "ufunc_inner_loop": _is_table,
    "precomputed": _is_precomputed,
    "autogen": _is_text,
    "cpp_no_default_args": _are_texts,
    "manual_cpp_binding": _is_flag,
    "manual_kernel_registration": _is_flag,
    "use_const_ref_for_mutable_tensors": _is_flag,
    "dispatch": _is_table_or_none,
}


def normalised(options: Mapping[str, object], where: str) -> dict[str, Any]:
    """Return checked options of ``op`` in a uniform notation: tags as a tuple, variants as a comma-separated text.

    Raises:
        DeclarationError: an option is unknown or of another type, or variants are neither ``function`` nor ``method``.
    """
    _check_options(where, options, OF_DECLARATIONS)
    settled: dict[str, Any] = dict(options)
    if "tags" in settled:
        settled["tags"] = _tags(settled["tags"])
    _check_values(where, settled)
    variants = settled.get("variants", "function")
    names = [part.strip() for part in variants.split(",")] if isinstance(variants, str) else []
    if not names or any(name not in ("function", "method") for name in names):
        raise DeclarationError(
            f'{where}: variants={variants!r} is neither function nor method. Write variants="function, method".'
        )
    settled["variants"] = ", ".join(names)
    return settled
