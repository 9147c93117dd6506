"""Definitions that consist of scalar functions, from which the kernels of all variants and backends are compiled."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from opdsl.declare.attachment import ALL_BACKENDS, Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.derivatives import attach_formulas
from opdsl.declare.signature import is_of_library, location
from opdsl.errors import KernelSignatureError
from opdsl.runtime import Tensor
from opdsl.schema.implementation import differentiable_names
from opdsl.schema.kinds import KINDS, Kind, Meta

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction


def attach_definition(attachment: Attachment) -> None:
    """Attach a scalar function (elementwise, fold, scan, ...) with its options; kernels of all variants are compiled
    from it.

    Raises:
        ScalarFunctionError: a function contains code that a scalar graph cannot represent.
        KernelSignatureError: a function does not fit, an option is unknown, or the shape function is missing.
        DuplicateOperatorError: the operator is computed in another way already.
    """
    declaration, kind, function, options = (
        attachment.declaration,
        attachment.kind,
        attachment.function,
        attachment.options,
    )
    what = _name_of(attachment)
    declaration.require_one_way(kind, function)
    declaration.require_free(what, function)
    shape = {}
    if kind.meta is Meta.SHAPE or (kind.meta is Meta.PERHAPS and "meta" in declaration.attached):
        shape["meta"] = _shape_function(attachment)
    keys = attachment.keys()
    own = () if attachment.scalar else (function,)
    for implementation in (*own, *(options.get(name) for name, option in kind.options.items() if option.is_function)):
        if isinstance(implementation, FunctionType):
            attachment.checks(implementation).require_numbers()
    is_further = declaration.kind is kind
    definition: Any = declaration.definition if is_further else _made(attachment)
    is_late = hasattr(definition, "add_later") and is_of_library(function)
    (definition.add_later if is_late else definition.add)(attachment.scalar or function, **shape, **options)
    declaration.claim(what, function)
    declaration.formulas.append((function, options, attachment.scalar))
    if kind.derivative and not is_late:
        _tell_underived(declaration, definition.latest())
    if is_further:
        return
    if kind.meta is Meta.CHECK and "meta" in declaration.attached:
        check_by_meta(declaration, definition, kind)
    declaration.definition, declaration.kind = definition, kind
    declaration.infer_entries(kind)
    for key in keys or ALL_BACKENDS:
        declaration.register_structured(key)
    if not kind.is_structured:  # neither the overwritten values nor the parameters of random numbers have a gradient
        zero = cast("FunctionType", _no_gradient)
        formulas = dict.fromkeys(differentiable_names(declaration.main.schema), zero)
        attach_formulas(declaration, KINDS["derivative"], formulas, {})
    if not keys:
        declaration.register_common()


def _no_gradient(grad: Tensor) -> Tensor:
    return grad.new_zeros(grad.shape)


def check_by_meta(declaration: Declaration, definition: Any, kind: Kind) -> None:
    """Make a definition call the operator's shape function, which then only checks the arguments of calls."""
    definition.check = declaration.attached["meta"]
    if kind.shares_plans:
        definition.check_reads_numbers = declaration.meta_reads_numbers


def refuse_shape_function(declaration: Declaration, meta: FunctionType) -> None:
    """Refuse a shape function beside a formula that is run as a program, which would never call it.

    Raises:
        KernelSignatureError: always.
    """
    raise KernelSignatureError(
        f"{location(meta)}: {declaration.name}: a shape function has no effect beside a formula that folds, draws "
        "numbers or reads at dims: shapes and dtypes follow from its text. Remove it, and check arguments in the "
        "formula by opdsl.check."
    )


def _name_of(attachment: Attachment) -> str:
    """Return the role of an attached function, such as ``pointwise {'mode': 'a'}``: its kind, with dtypes and argument
    values.
    """
    condition = attachment.options.get("when")
    parts = [
        attachment.kind.name,
        *([str(dict(condition))] if condition else []),
        *attachment.options.get("dtypes", ()),
    ]
    return " ".join(parts)


def _shape_function(attachment: Attachment) -> FunctionType:
    declaration, kind = attachment.declaration, attachment.kind
    shape_function = declaration.attached.get("meta")
    if shape_function is None:
        raise KernelSignatureError(
            f"{location(attachment.function)}: {declaration.name}: {attachment.decorator} needs a shape function, "
            f"which sets the outputs and the dimensions of a {kind.name}. Write @{declaration.function.__name__}.meta "
            "above it."
        )
    return shape_function


def _made(attachment: Attachment) -> Any:
    declaration, kind = attachment.declaration, attachment.kind
    definition_class = _class_of(kind.stepping if kind.stepping and _is_step(attachment) else kind.definition)
    if kind.by_cases:
        from opdsl.kernels.definitions.cases import cases_of

        functions, is_row = (attachment.function, *attachment.options.values()), kind.meta is Meta.SHAPE
        if list(cases_of(functions, declaration.main.schema, rows=is_row)) != [({}, {})]:
            return _class_of(kind.by_cases)(declaration.main.schema, declaration.name, definition_class)
    return definition_class(declaration.main.schema, declaration.name)


def _is_step(attachment: Attachment) -> bool:
    """Return whether a function is the step of a scan: it takes carried values, then operator arguments, and is no
    combination of two accumulators.
    """
    init = attachment.options.get("init")
    count = len(init) if isinstance(init, tuple) else 1
    schema = attachment.declaration.main.schema
    arguments = {argument.python_name for argument in (*schema.positional, *schema.keyword_only)}
    code = attachment.function.__code__
    named = code.co_varnames[count : code.co_argcount]
    return "lift" not in attachment.options and bool(named) and arguments.issuperset(named)


@cache
def _class_of(path: str) -> Any:
    """Import and return a definition class by its path ``module:name``; unused kinds of definitions are not loaded."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def _tell_underived(declaration: Declaration, functions: Sequence[ScalarFunction]) -> None:
    """Warn if no derivative can be derived from the scalar functions, and none has been declared."""
    if declaration.main.derivative is not None:
        return
    function, error = next(
        ((function, function.underived()) for function in functions if function.underived()), (None, None)
    )
    if function is not None:
        message = f"{declaration.name}: no gradient can be derived. {error}"
        code = function.source.function.__code__
        warnings.warn_explicit(
            message, UserWarning, code.co_filename, code.co_firstlineno, function.source.function.__module__
        )
