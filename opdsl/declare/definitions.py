"""Scalar functions as definitions, from which the kernels of all variants and backends come."""

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


def attach_definition(given: Attachment) -> None:
    """Take a scalar function, with those that its options hold, for every variant, and every backend or some.

    Raises:
        ScalarFunctionError: a function holds what a scalar graph cannot.
        KernelSignatureError: a function does not fit, an option is unknown, or the shape function is missing.
        DuplicateOperatorError: the operator is computed in another way already.
    """
    declaration, kind, function, options = given.declaration, given.kind, given.function, given.options
    what = _name_of(given)
    declaration.require_one_way(kind, function)
    declaration.require_free(what, function)
    shape = {}
    if kind.meta is Meta.SHAPE or (kind.meta is Meta.PERHAPS and "meta" in declaration.attached):
        shape["meta"] = _shape_function(given)
    keys = given.keys()
    own = () if given.scalar else (function,)
    for each in (*own, *(options.get(name) for name, option in kind.options.items() if option.is_function)):
        if isinstance(each, FunctionType):
            given.checks(each).require_numbers()
    is_further = declaration.kind is kind
    definition: Any = declaration.definition if is_further else _made(given)
    is_late = kind.name == "pointwise" and is_of_library(function)
    (definition.add_later if is_late else definition.add)(given.scalar or function, **shape, **options)
    declaration.claim(what, function)
    declaration.formulas.append((function, options, given.scalar))
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
    if not kind.is_structured:  # what is written over has no influence, nor has what numbers are drawn by
        zero = cast("FunctionType", _no_gradient)
        formulas = dict.fromkeys(differentiable_names(declaration.main.schema), zero)
        attach_formulas(declaration, KINDS["derivative"], formulas, {})
    if not keys:
        declaration.register_common()


def _no_gradient(grad: Tensor) -> Tensor:
    return grad.new_zeros(grad.shape)


def check_by_meta(declaration: Declaration, definition: Any, kind: Kind) -> None:
    """Have a definition ask the shape function whether arguments fit."""
    definition.check = declaration.attached["meta"]
    if kind.shares_plans:
        definition.check_reads_numbers = declaration.meta_reads_numbers


def _name_of(given: Attachment) -> str:
    """What is attached: functions of one kind may be for some values of other arguments, or some dtypes, each."""
    condition = given.options.get("when")
    parts = [given.kind.name, *([str(dict(condition))] if condition else []), *given.options.get("dtypes", ())]
    return " ".join(parts)


def _shape_function(given: Attachment) -> FunctionType:
    declaration, kind = given.declaration, given.kind
    found = declaration.attached.get("meta")
    if found is None:
        raise KernelSignatureError(
            f"{location(given.function)}: {declaration.name}: {given.decorator} has no shape function, which sets the "
            f"outputs and says which dimensions a {kind.name} has. Write @{declaration.function.__name__}.meta above "
            "it."
        )
    return found


def _made(given: Attachment) -> Any:
    declaration, kind = given.declaration, given.kind
    made = _class_of(kind.stepping if kind.stepping and _is_step(given) else kind.definition)
    if kind.by_cases:
        from opdsl.kernels.definitions.cases import cases_of

        functions, is_row = (given.function, *given.options.values()), kind.meta is Meta.SHAPE
        if list(cases_of(functions, declaration.main.schema, rows=is_row)) != [({}, {})]:
            return _class_of(kind.by_cases)(declaration.main.schema, declaration.name, made)
    return made(declaration.main.schema, declaration.name)


def _is_step(given: Attachment) -> bool:
    """Whether a function takes what is carried, then arguments of the operator, and combines no accumulators."""
    init = given.options.get("init")
    count = len(init) if isinstance(init, tuple) else 1
    schema = given.declaration.main.schema
    arguments = {each.python_name for each in (*schema.positional, *schema.keyword_only)}
    code = given.function.__code__
    named = code.co_varnames[count : code.co_argcount]
    return "lift" not in given.options and bool(named) and arguments.issuperset(named)


@cache
def _class_of(path: str) -> Any:
    """The class of a definition, with what it needs: kinds that nobody declares load nothing."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _tell_underived(declaration: Declaration, functions: Sequence[ScalarFunction]) -> None:
    """Warn of a scalar function of floating-point numbers that gives no derivative, unless one has been declared."""
    if declaration.main.derivative is not None:
        return
    function, error = next(((each, each.underived()) for each in functions if each.underived()), (None, None))
    if function is not None:
        message = f"{declaration.name}: no gradient can be derived. {error}"
        code = function.source.function.__code__
        warnings.warn_explicit(
            message, UserWarning, code.co_filename, code.co_firstlineno, function.source.function.__module__
        )
