"""Attachment of kernels to declarations whose body is a formula, or that have attached formulas."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.declare.attachment import ALL_BACKENDS, Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.defining import function_of
from opdsl.declare.definitions import check_by_meta, refuse_shape_function
from opdsl.declare.formulas import dtypes_of, is_formula
from opdsl.declare.kernels import record_as_one, register_plain
from opdsl.declare.signature import is_of_library, location
from opdsl.dispatch import traceable
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.errors import DuplicateOperatorError, FormulaError
from opdsl.formulas.choosing import FormulaCase, FormulaChoice
from opdsl.formulas.definition import FormulaDefinition
from opdsl.formulas.forms import NotElementwiseError, RandomNumbersError
from opdsl.formulas.text import FormulaText
from opdsl.runtime import Tensor
from opdsl.schema.kinds import KINDS

__all__ = ["attach_case", "attach_formula", "share_formula"]


def attach_formula(declaration: Declaration) -> None:
    """Compile and attach the kernels of a declaration whose body is a formula, for every variant and backend.

    Raises:
        FormulaError: the source contains code that no kernel can be compiled from.
    """
    function = declaration.function
    _require_values(declaration)
    declaration.claim("formula", function)
    _attach(declaration, FormulaText(function, dtypes=dtypes_of(function)))


def attach_case(attachment: Attachment) -> None:
    """Attach a formula that computes an operator for some dtypes or argument values only, next to its other formulas;
    see ``attach_formula``.

    Raises:
        KernelSignatureError: its parameters or options do not fit.
        DuplicateOperatorError: another one is for the same arguments, or the operator is computed in another way.
    """
    from opdsl.formulas.programs import FormulaProgram

    declaration, function = attachment.declaration, attachment.function
    declaration.require_one_way(attachment.kind, function)
    if "body" in declaration.attached and not is_formula(declaration.function):
        raise DuplicateOperatorError(
            f"{location(function)}: {declaration.name}: {attachment.decorator} cannot be attached: the operator is "
            f"computed by its body at {location(declaration.function)}. Write @formula above the body, or replace the "
            "body by `...`."
        )
    _require_values(declaration)
    checks = attachment.checks()
    checks.require_names([argument.python_name for argument in declaration.main.schema.arguments])
    checks.require_result()
    checks.require_types(Tensor)
    case = FormulaCase(
        function, declaration.main.schema, attachment.options.get("dtypes", ()), attachment.options.get("when") or {}
    )
    before = declaration.main.formula
    known = before.text if isinstance(before, FormulaProgram) else before
    cases = known.cases if isinstance(known, FormulaChoice) else ()
    declared = known.declared if isinstance(known, FormulaChoice) else known
    assert declared is None or isinstance(declared, FormulaText), "formulas are attached by this module"
    choice = FormulaChoice(declaration.main.schema, declared, [*cases, case], declaration.function)
    what = f"formula {case}".strip()
    declaration.require_free(what, function)
    with declaration.library.all_or_nothing():
        _attach(declaration, choice)
    declaration.claim(what, function)


def share_formula(declaration: Declaration, other: Declaration) -> None:
    """Compile the formulas of an operator for the argument types of one of its overloads, and attach the kernels to it.

    Args:
        declaration: of the overload.
        other: of the operator that has the formulas.

    Raises:
        FormulaError: its argument types do not fit the source of a formula.
    """
    text = other.main.formula
    assert isinstance(text, FormulaText), "an operator of elements keeps its text"
    declaration.claim("formula", other.function)
    _attach(declaration, text)


def _require_values(declaration: Declaration) -> None:
    function, schema = declaration.function, declaration.main.schema
    if schema.is_mutable or schema.is_view:
        raise FormulaError(
            f"{location(function)}: formula {function.__name__}: its signature, {schema}, writes or aliases an "
            "argument. Return the new values, and derive the in-place variant: inplace=True."
        )


def _attach(declaration: Declaration, text: FormulaText) -> None:
    """Attach the kernels of a formula, replacing those that were attached before.

    Raises:
        FormulaError: the source contains code that no kernel can be compiled from; the former kernels stay.
    """
    definition = FormulaDefinition(declaration.main.schema, declaration.name, text)
    draws = False
    try:
        is_of_elements = is_of_library(declaration.function) or _is_of_elements(definition)
    except RandomNumbersError:
        is_of_elements, draws = False, True
    if declaration.detach_formula is not None:
        declaration.detach_formula()
    declaration.detach_formula = _detaching(declaration)
    if draws:
        declaration.infer_tag(KINDS["random"].tag)
    if is_of_elements:
        declaration.main.formula = text
        _attach_elements(declaration, definition)
    else:
        _attach_program(declaration, text)


def _detaching(declaration: Declaration) -> Callable[[], None]:
    """Return a function that undoes later changes to a declaration: it removes kernels, tags and properties set from
    now on.
    """
    operators = declaration.operators
    tags = {variant: operator.tags for variant, operator in operators.items()}
    properties = {variant: dict(operator.properties) for variant, operator in operators.items()}
    kernels = {
        variant: {key: tuple(known) for key, known in operator.registrations.items()}
        for variant, operator in operators.items()
    }

    def detach() -> None:
        declaration.definition = declaration.kind = None
        declaration.attached.pop("body", None)
        for variant, operator in operators.items():
            if variant in declaration.untagged:
                operator.tags = tags[variant]
                declaration.functions[variant].__dict__["tags"] = tags[variant]
            operator.properties = dict(properties[variant])
            for key, present in list(operator.registrations.items()):
                for kernel in present:
                    if kernel not in kernels[variant].get(key, ()):
                        declaration.library.registry.deregister(operator, key, kernel)

    return detach


def _is_of_elements(definition: FormulaDefinition) -> bool:
    """Return whether a formula is elementwise: it computes each element of its results from the elements at the same
    index.

    Raises:
        FormulaError: the source contains code that no kernel can be compiled from.
        RandomNumbersError: it draws random numbers.
    """
    try:
        return definition.try_forms() is not None
    except RandomNumbersError:
        raise
    except NotElementwiseError:
        return False


def _attach_elements(declaration: Declaration, definition: FormulaDefinition) -> None:
    kind = KINDS["pointwise"]
    if "meta" in declaration.attached:
        check_by_meta(declaration, definition, kind)
    declaration.definition, declaration.kind = definition, kind
    declaration.infer_entries(kind)
    for key in ALL_BACKENDS:
        declaration.register_structured(key)
    declaration.register_common()


def _attach_program(declaration: Declaration, text: FormulaText) -> None:
    from opdsl.formulas.programs import FormulaProgram

    if "meta" in declaration.attached:
        refuse_shape_function(declaration, declaration.attached["meta"])
    declaration.claim("body", declaration.function)
    schema, code = declaration.main.schema, declaration.function.__code__
    names = tuple(argument.python_name for argument in schema.arguments)
    program = declaration.main.formula = FormulaProgram(text, names, declaration.name)

    def run(*positional: object, **named: object) -> object:
        arguments = dict(zip(names, positional, strict=False)) | named
        return program(*[arguments[name] for name in names])

    place = code.co_filename, code.co_firstlineno
    body = traceable(function_of(schema, run, module=declaration.function.__module__, place=place))
    register_plain(declaration, body, COMPOSITE_KEY)
    if declaration.main.derivative is not None:
        record_as_one(declaration)
