"""From a declaration whose body is a formula to its kernels."""

from __future__ import annotations

from opdsl.declare.attachment import ALL_BACKENDS
from opdsl.declare.declaration import Declaration
from opdsl.declare.defining import function_of
from opdsl.declare.formulas import dtypes_of
from opdsl.declare.kernels import COMPOSITE_KEY, register_plain
from opdsl.dispatch import traceable
from opdsl.errors import FormulaError
from opdsl.formulas.definition import FormulaDefinition
from opdsl.formulas.forms import NotElementwiseError
from opdsl.formulas.text import FormulaText
from opdsl.schema.kinds import KINDS

__all__ = ["attach_formula"]


def attach_formula(declaration: Declaration) -> None:
    """Make the kernels of a declaration whose body is a formula, for every variant and backend.

    Raises:
        FormulaError: the text holds what no kernel can be made of.
    """
    function, schema = declaration.function, declaration.main.schema
    if schema.is_mutable or schema.is_view:
        raise FormulaError(
            f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: formula {function.__name__}: its "
            f"signature, {schema}, writes or shows an argument. Return what is computed, and derive the variant that "
            "writes it: inplace=True."
        )
    text = FormulaText(function, dtypes=dtypes_of(function))
    declaration.main.formula = text
    definition = FormulaDefinition(schema, declaration.name, text)
    if _is_of_elements(definition):
        _attach_elements(declaration, definition)
    else:
        _attach_program(declaration, text)


def _is_of_elements(definition: FormulaDefinition) -> bool:
    """Return whether a formula computes element by element.

    Raises:
        FormulaError: the text holds what no kernel can be made of.
    """
    try:
        return definition.try_forms() is not None
    except NotElementwiseError:
        return False


def _attach_elements(declaration: Declaration, definition: FormulaDefinition) -> None:
    kind = KINDS["pointwise"]
    declaration.claim(kind.name, declaration.function)
    declaration.definition, declaration.kind = definition, kind
    declaration.infer_entries(kind)
    for key in ALL_BACKENDS:
        declaration.register_structured(key)
    declaration.register_common()


def _attach_program(declaration: Declaration, text: FormulaText) -> None:
    declaration.claim("body", declaration.function)
    from opdsl.formulas.programs import FormulaProgram

    schema, code = declaration.main.schema, declaration.function.__code__
    names = tuple(each.python_name for each in schema.arguments)
    program = declaration.main.formula = FormulaProgram(text, names, declaration.name)

    def run(*positional: object, **named: object) -> object:
        given = dict(zip(names, positional, strict=False)) | named
        return program(*[given[name] for name in names])

    place = code.co_filename, code.co_firstlineno
    body = traceable(function_of(schema, run, module=declaration.function.__module__, place=place))
    register_plain(declaration, body, COMPOSITE_KEY)
