"""Operator schemas: types, aliases, names, arguments and whole schemas, as frozen values.

``parse_schema`` parses schema text and ``str`` prints it; ``from_signature`` makes a schema from the annotations of a
Python signature, for the decorators and for the mypy plugin. May import: ``opdsl.errors``.
"""

from __future__ import annotations

from opdsl.schema.alias import Alias
from opdsl.schema.invariants import check
from opdsl.schema.model import GENERATED, Argument, Default, FunctionSchema, OperatorName, Return, SchemaKind, Symbol
from opdsl.schema.parser import examine_schema, parse_argument, parse_operator_name, parse_schema, parse_type
from opdsl.schema.precomputed import Precomputed
from opdsl.schema.signature import MISSING, Meaning, ParameterSpec, from_signature, type_of
from opdsl.schema.types import BaseType, ClassType, ListType, OptionalType, Type
from opdsl.schema.violation import Violation, violation_error

__all__ = [
    "GENERATED",
    "MISSING",
    "Alias",
    "Argument",
    "BaseType",
    "ClassType",
    "Default",
    "FunctionSchema",
    "ListType",
    "Meaning",
    "OperatorName",
    "OptionalType",
    "ParameterSpec",
    "Precomputed",
    "Return",
    "SchemaKind",
    "Symbol",
    "Type",
    "Violation",
    "check",
    "examine_schema",
    "from_signature",
    "parse_argument",
    "parse_operator_name",
    "parse_schema",
    "parse_type",
    "type_of",
    "violation_error",
]
