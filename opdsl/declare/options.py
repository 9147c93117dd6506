"""What a declaration says besides its signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypedDict

import attrs

from opdsl.errors import DeclarationError


def _tags(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


class EntryOptions(TypedDict, total=False):
    """The keys of a native_functions.yaml entry that ``@op``, ``Inplace`` and ``Out`` take, under their YAML names.

    variants: ``"function"``, ``"method"`` or both, separated by a comma.
    tags: PyTorch's tags.
    device_check: ``"NoCheck"`` or ``"ExactSame"``.
    device_guard: whether the kernel runs with the tensors' device current.
    python_module: ``"nn"``, ``"linalg"``, ... where Python finds the function.
    structured_inherits: the C++ base class of a structured kernel.
    ufunc_inner_loop: the inner loops of a structured kernel, dtype sets in parentheses.
    precomputed: the ``precomputed`` lines of a structured kernel.
    autogen: the operators that torchgen makes from this entry.
    dispatch: the dispatch table to export in place of the one that follows from the registrations.
    """

    variants: str
    tags: str | Iterable[str]
    device_check: Literal["NoCheck", "ExactSame"]
    device_guard: bool
    python_module: str
    category_override: str
    structured_inherits: str
    ufunc_inner_loop: Mapping[str, str]
    precomputed: Iterable[str]
    autogen: str
    cpp_no_default_args: Iterable[str]
    manual_cpp_binding: bool
    manual_kernel_registration: bool
    dispatch: Mapping[str, str]


KNOWN = frozenset(EntryOptions.__annotations__)


@attrs.frozen(init=False)
class Inplace:
    """How the in-place variant departs from the rule (torchgen's: ``name_`` with the same overload).

    name: ``"pow_.Tensor"``; None follows the rule.
    options: the entry's keys, as ``@op`` takes them; those not given are the functional's.

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
    """How the ``out=`` variant departs from the rule (INV-45: overload ``out`` or ``X_out``, arguments ``out`` or
    ``out0``, ``out1``, ...).

    name: ``"add.out"``; None follows the rule.
    args: names of the out arguments; None follows the rule.
    explicit: whether it is exported as an entry of its own where torchgen could generate it (``autogen``).
    options: the entry's keys, as ``@op`` takes them.

    >>> Out("max.dim_max", args=("max", "max_values")).args
    ('max', 'max_values')
    """

    name: str | None
    args: tuple[str, ...] | None
    explicit: bool
    options: Mapping[str, object]

    def __init__(
        self,
        name: str | None = None,
        *,
        args: Iterable[str] | None = None,
        explicit: bool = False,
        **options: object,
    ) -> None:
        _check_options("Out", options)
        self.__attrs_init__(name, None if args is None else tuple(args), explicit, options)


def _check_options(where: str, options: Mapping[str, object]) -> None:
    unknown = [each for each in options if each not in KNOWN]
    if unknown:
        raise DeclarationError(f"{where}(...) has no option '{unknown[0]}'. It takes: {', '.join(sorted(KNOWN))}.")


def normalised(options: Mapping[str, object], where: str) -> dict[str, object]:
    """Options with tags as a tuple and variants checked.

    Raises:
        DeclarationError: an unknown option, or variants that are neither ``function`` nor ``method``.
    """
    _check_options(where, options)
    result = dict(options)
    if "tags" in result:
        result["tags"] = _tags(result["tags"])  # type: ignore[arg-type]
    variants = result.get("variants", "function")
    names = [each.strip() for each in variants.split(",")] if isinstance(variants, str) else []
    if not names or any(each not in ("function", "method") for each in names):
        raise DeclarationError(
            f'{where}: variants={variants!r} is neither function nor method. Write variants="function, method".'
        )
    result["variants"] = ", ".join(names)
    return result
