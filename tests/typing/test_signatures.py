"""Tests of law 8: for every operator the stub, the signature of its function and the schema agree.

The stub is read as text. This module has its own table of the Python types of schema types.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from keyword import iskeyword
from pathlib import Path

import pytest

import opdsl
from opdsl import runtime
from opdsl._attributes import names
from opdsl.aten.catalog import METHODS
from opdsl.dispatch import Operator, registry
from opdsl.dispatch.binding.arguments import MISSING, converter
from opdsl.schema import Argument, FunctionSchema
from opdsl.schema.vocabulary import Reduction

STUBS = Path(__file__).resolve().parents[2] / "stubs" / "opdsl"

TAKEN = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Scalar": "Scalar",
    "Scalar[]": "Sequence[Scalar]",
    "int": "int",
    "int[]": "Sequence[int]",
    "SymInt": "int",
    "SymInt[]": "Sequence[int]",
    **{f"{name}[{size}]": "int | Sequence[int]" for name in ("int", "SymInt") for size in range(1, 7)},
    "float": "float",
    "float[]": "Sequence[float]",
    "bool": "bool",
    "SymBool": "bool",
    **{f"bool[{size}]": "bool | Sequence[bool]" for size in range(2, 5)},
    "str": "str",
    "ScalarType": "DType",
    "Layout": "Layout",
    "Device": "Device | str | int",
    "MemoryFormat": "MemoryFormat",
    "Generator": "Generator",
    "Storage": "Storage",
    "Stream": "Stream",
}

GIVEN = {
    "Tensor": "Tensor",
    "Tensor[]": "list[Tensor]",
    "Scalar": "Scalar",
    "int": "int",
    "SymInt": "int",
    "bool": "bool",
    "SymBool": "bool",
    "float": "float",
    "ScalarType": "DType",
}


@cache
def classes(file: str) -> dict[str, ast.ClassDef]:
    """Return the classes of a stub file."""
    tree = ast.parse((STUBS / file).read_text(encoding="utf-8"))
    return {statement.name: statement for statement in tree.body if isinstance(statement, ast.ClassDef)}


@cache
def operators() -> dict[str, Operator]:
    """Return every operator of aten by its full name, also the generated ones."""
    assert dir(opdsl.ops.aten)  # loads all operators
    return {name: operator for name, operator in registry.operators.items() if name.startswith("aten::")}


def stub_of(operator: Operator) -> ast.FunctionDef:
    """Return the static method that is the stub of an overload."""
    name = operator.schema.name
    packet = classes("_operators.pyi")[f"_packet_{name.base}"]
    members = {statement.name: statement for statement in packet.body if isinstance(statement, ast.FunctionDef)}
    return members[name.overload or "default"]


def written(node: ast.expr | None) -> str:
    """Return an annotation as text, without the underscores of names that a class shadows."""
    assert node is not None
    names = (child for child in ast.walk(node) if isinstance(child, ast.Name))
    for name in names:
        name.id = name.id.removeprefix("_") if not name.id.startswith("_results") else name.id
    return ast.unparse(node)


def taken(argument: Argument, *, accepts_numbers: bool) -> str:
    """Return the expected annotation of an argument."""
    text = str(argument.type)
    annotation = TAKEN[text.removesuffix("?")]
    if argument.python_name in ("dim", "dims") and text.removesuffix("?").partition("[")[0] == "int":
        annotation = "AnyDims" if "[" in text else "AnyDim"
    if accepts_numbers and text.startswith("Tensor") and "[" not in text:
        annotation += " | Scalar"
    return f"{annotation} | None" if text.endswith("?") else annotation


def annotation_of_results(schema: FunctionSchema) -> str:
    """Return the expected annotation of the result, or the expected fields of named results."""
    texts = [GIVEN[str(output.type)] for output in schema.returns]
    if len(texts) > 1 and all(output.name for output in schema.returns):
        return ", ".join(f"{output.name}: {text}" for output, text in zip(schema.returns, texts, strict=True))
    return {0: "None", 1: "".join(texts)}.get(len(texts), f"tuple[{', '.join(texts)}]")


def returned(stub: ast.FunctionDef) -> str:
    """Return the stub's annotation of the result, or the fields if it is a named tuple."""
    text = written(stub.returns)
    output = classes("_operators.pyi").get(text)
    return text if output is None else ", ".join(ast.unparse(statement) for statement in output.body)


def parameters(stub: ast.FunctionDef, *, first: int = 0) -> list[tuple[str, str, str, str | None]]:
    """Return name, kind, annotation and default of each parameter of a stub, from the index ``first`` on."""
    places, named = stub.args.args[first:], stub.args.kwonlyargs
    defaults = [None] * (len(places) - len(stub.args.defaults)) + stub.args.defaults
    rows = [("place", place, default) for place, default in zip(places, defaults, strict=True)]
    rows += [("name", parameter, default) for parameter, default in zip(named, stub.args.kw_defaults, strict=True)]
    return [
        (parameter.arg, kind, written(parameter.annotation), None if default is None else written(default))
        for kind, parameter, default in rows
    ]


def names_of_all() -> list[str]:
    return sorted(name for name in operators() if not iskeyword(operators()[name].schema.name.overload))


def test_no_operator_is_left_out_but_those_that_no_program_can_name() -> None:
    left_out = {name for name in operators() if iskeyword(operators()[name].schema.name.overload)}
    assert all(name.endswith(".from") for name in left_out)
    assert set(names_of_all()) | left_out == set(operators())


def test_the_stub_has_no_other_overloads() -> None:
    overloads = {
        f"aten::{packet.removeprefix('_packet_')}" + (f".{statement.name}" if statement.name != "default" else "")
        for packet, node in classes("_operators.pyi").items()
        if packet.startswith("_packet_")
        for statement in node.body
        if isinstance(statement, ast.FunctionDef) and statement.name != "__call__"
    }
    assert overloads == set(names_of_all())


def differences(operator: Operator) -> list[str]:
    """Return the differences between the stub and the schema."""
    stub, schema = stub_of(operator), operator.schema
    places = {argument.name for argument in schema.positional}
    expected = [
        (
            argument.python_name,
            "place" if argument.name in places else "name",
            taken(argument, accepts_numbers=operator.accepts_numbers),
        )
        for argument in schema.arguments
    ]
    actual = parameters(stub)
    problems = []
    if expected != [row[:3] for row in actual]:
        problems.append(f"{schema}: parameters {actual}")
    if annotation_of_results(schema) != returned(stub):
        problems.append(f"{schema}: returns {returned(stub)}")
    for argument, (_, _, _, default) in zip(schema.arguments, actual, strict=False):
        if not same_default(argument, default):
            problems.append(f"{schema}: {argument.name}={default}")
    return problems


# Names that the expressions of defaults use.
NAMES = {**vars(runtime), "Reduction": Reduction}


def same_default(argument: Argument, default: str | None) -> bool:
    """Return whether a stub's expression has the value of the schema's default."""
    if argument.default is None or default is None:
        return argument.default is None and default is None
    value = eval(default, NAMES)
    text = argument.default.text
    if hasattr(value, "name"):
        return str(value.name).removeprefix("int64") in ("", text) and (value.name == text or text == "long")
    return repr(value).strip("()").rstrip(",") == text.strip("[]").replace(",", ", ").replace(",  ", ", ") or (
        value == ast.literal_eval(text)
    )


def test_the_stubs_say_what_the_schemas_say() -> None:
    assert [difference for name in names_of_all() for difference in differences(operators()[name])] == []


def runtime_differences(operator: Operator) -> list[str]:
    """Return the differences between the signature of the generated function and the stub."""
    operator.packet.build(operator)
    signature = inspect.signature(operator.function, follow_wrapped=False)
    stub = parameters(stub_of(operator))
    result = []
    spread = [name for name, parameter in signature.parameters.items() if parameter.kind is parameter.VAR_POSITIONAL]
    own = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    # Extra parameters of signatures: all outputs by one name, and the parameters of PyTorch's factories.
    for name in {"out", "requires_grad"} - {argument.name for argument in operator.schema.arguments}:
        own.pop(name, None)
    if list(own) != [name for name, _, _, _ in stub]:
        return [f"{operator.schema}: takes {signature}"]
    for argument, (name, kind, _, default) in zip(operator.schema.arguments, stub, strict=True):
        parameter = own[name]
        # A list of ints that is the last positional parameter accepts separate arguments; later parameters are
        # keyword-only.
        if not spread and (parameter.kind is parameter.KEYWORD_ONLY) != (kind == "name"):
            result.append(f"{operator.schema}: {name} is {parameter.kind.description}")
        is_required = parameter.default in (parameter.empty, MISSING)
        if name not in spread and is_required != (default is None):
            result.append(f"{operator.schema}: {name}={parameter.default}, stub {default}")
        if not is_required and default is not None:
            meant = converter(argument.type)(eval(default, NAMES))
            meant = int(meant) if isinstance(meant, Reduction) else meant
            if parameter.default != meant or type(parameter.default) is not type(meant):
                result.append(f"{operator.schema}: {name}={parameter.default}, stub {meant}")
    return result


def test_the_functions_take_what_the_stubs_say() -> None:
    assert [
        runtime_difference for name in names_of_all() for runtime_difference in runtime_differences(operators()[name])
    ] == []


def test_every_call_of_a_packet_is_a_form_of_its_stub() -> None:
    """Each overload that a call of a packet reaches has a definition in the stub with all of its parameters."""
    missing = []
    for packet in {operator.packet for operator in operators().values()}:
        node = classes("_operators.pyi")[f"_packet_{packet.base}"]
        calls = [
            statement
            for statement in node.body
            if isinstance(statement, ast.FunctionDef) and statement.name == "__call__"
        ]
        forms = [[(name, default) for name, _, _, default in parameters(one, first=1)] for one in calls]
        for signature in packet.signatures():
            names = {parameter.name for parameter in signature.parameters} | ({"out"} if signature.out else set())
            required = {parameter.name for parameter in signature.parameters if parameter.default is MISSING}
            if not any(
                names <= {name for name, _ in form}
                and {name for name, default in form if default is None} <= required | {"out"}
                for form in forms
            ):
                missing.append(f"{packet.name}{signature}")
    assert missing == []


def test_every_name_of_the_package_is_in_its_stub() -> None:
    tree = ast.parse((STUBS / "__init__.pyi").read_text(encoding="utf-8"))
    known = {name.asname for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}
    known |= {ast.unparse(statement.targets[0]) for statement in tree.body if isinstance(statement, ast.Assign)}
    known |= {ast.unparse(statement.target) for statement in tree.body if isinstance(statement, ast.AnnAssign)}
    assert names() - known == set()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_is_in_the_stub_of_tensor(name: str) -> None:
    members = {
        statement.name
        for statement in classes("runtime/tensor.pyi")["Tensor"].body
        if isinstance(statement, ast.FunctionDef)
    }
    assert name in members
