"""Tests of the layers of the package, read from the sources: the modules that each may import, without cycles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "opdsl"
STUBS = PACKAGE.parent / "stubs"

# From bottom to top: a module imports from lower layers and from its own.
LAYERS = (
    "errors",
    "tracebacks",
    "deprecation",
    "collecting",
    "generated",
    "schema",
    "native",
    "scalar",
    "runtime",
    "notebook",
    "dispatch",
    "kernels",
    "sharding",
    "autograd",
    "loop_bodies",
    "primitives",
    "declare",
    "backends",
    "cuda",
    "aten",
    "programs",
    "formulas",
    "_attributes",
    "by_name",
    "array_api",
    "nn",
    "interop",
    "profiling",
    "shipping",
    "typing",
    "testing",
    "cli",
)

# Layers that may import only some of the layers below them.
NARROW = {
    "native": {"errors", "collecting", "schema"},
    "scalar": {"errors"},
}

# Heavy packages, with the only modules that may name them.
EDGES = {
    "click": ("opdsl.cli",),
    "cuda": ("opdsl.backends.cuda", "opdsl.cli"),
    "dask": ("opdsl.interop",),
    "hypothesis": ("opdsl.testing",),
    "llvmlite": ("opdsl.backends.cpu", "opdsl.cli"),
    "ml_dtypes": ("opdsl.runtime", "opdsl.interop"),
    "mypy": ("opdsl.typing",),
    "numba": ("opdsl.backends.cpu", "opdsl.backends.cuda", "opdsl.backends.dsl", "opdsl.cli"),
    "pyopencl": ("opdsl.backends.opencl",),
    "rich": ("opdsl.cli",),
    "torch": ("opdsl.interop", "opdsl.shipping.runtime", "opdsl.testing"),
    "typeguard": ("opdsl.dispatch", "opdsl.declare"),
    "yaml": ("opdsl.native",),
}


# Higher layers that modules name in strings, and the purpose: each is imported on first use.
UPWARD_BY_NAME = {
    ("_attributes", "profiling"): "opdsl.profile",
    ("declare", "formulas"): "@formula",
    ("dispatch", "by_name"): "functions of operators in pickles",
    ("dispatch", "backends"): "the native DSLs that there are from the start",
    ("dispatch", "interop"): "the native DSL of PyTorch's kernels",
    ("formulas", "_attributes"): "operators of the library, by their public names",
    ("kernels", "autograd"): "the derivative of a definition",
    ("primitives", "_attributes"): "operators of the library, by their public names",
    ("programs", "formulas"): "the module that compares sizes and numbers for formulas",
    ("programs", "interop"): "Program.to_fx",
    ("runtime", "array_api"): "methods of Tensor that NumPy and the standard ask for",
    ("runtime", "backends"): "the backend of a device",
    ("runtime", "formulas"): "subscripts and orders of tensors by dims",
    ("schema", "autograd"): "the derivative of a kind of definition",
    ("schema", "kernels"): "the class of a kind of definition",
    ("schema", "runtime"): "the Python classes of base types",
}


class Import(NamedTuple):
    """Import statement of a module: the importing module, the imported one, and the line."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


@cache
def modules() -> dict[str, Path]:
    """Return the path of every module of the package by its full name."""
    result = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        result[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return result


def base_of(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Return the absolute module name of a ``from`` statement: ``from ..x import y`` in ``opdsl.a.b`` gives
    ``opdsl.x``.
    """
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def imports_in(module: str, path: Path) -> Iterator[Import]:
    """Yield every import of a module, including those within functions."""
    is_package = path.name == "__init__.py"

    def visit(node: ast.AST) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = base_of(node, module, is_package)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield Import(module, name if name in modules() else base, node.lineno)
        else:
            for child in ast.iter_child_nodes(node):
                yield from visit(child)

    yield from visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(dependency for module, path in modules().items() for dependency in imports_in(module, path))


def layer_of(module: str) -> str:
    """Return the layer of a module; empty for the package's own ``__init__`` and ``__main__``, which are above all
    layers.
    """
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else ""


def breaks_layering(dependency: Import) -> bool:
    if dependency.imported != "opdsl" and not dependency.imported.startswith("opdsl."):
        return False
    above, below = layer_of(dependency.importer), layer_of(dependency.imported)
    if not above or above == below:
        return False
    if not below:
        return True  # the package's __init__ imports the layers; none of them imports it
    allowed = NARROW.get(above) or set(LAYERS[: LAYERS.index(above)])
    return below not in allowed


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan), each sorted."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                result.append(sorted(component))

    for node in sorted(edges):
        if node not in order:
            visit(node)
    return result


# -------------------------------------------------------------------------------------------------------------- rules


def test_every_module_stands_in_a_layer() -> None:
    assert {layer_of(module) for module in modules()} - {""} <= set(LAYERS)


def test_a_module_imports_lower_layers_only() -> None:
    assert [str(dependency) for dependency in all_imports() if breaks_layering(dependency)] == []


def test_a_mypy_plugin_imports_the_schema_only() -> None:
    """The plugin for mypy imports only the layers that it needs, because mypy's process should not load the rest."""
    plugins = {dependency.importer for dependency in all_imports() if dependency.imported.split(".")[0] == "mypy"}
    layers = {"", "errors", "schema", "typing"}
    wrong = [
        str(dependency)
        for dependency in all_imports()
        if dependency.importer in plugins
        and dependency.imported.startswith("opdsl.")
        and layer_of(dependency.imported) not in layers
    ]
    assert wrong == []


def test_modules_import_each_other_without_cycles() -> None:
    """No imports form a cycle: a package may import its modules in ``__init__``, but they do not import the package.

    Imports for type checkers count, too.
    """
    edges: dict[str, set[str]] = {module: set() for module in modules()}
    for dependency in all_imports():
        if dependency.imported in edges:
            edges[dependency.importer].add(dependency.imported)
    assert cycles(edges) == []


def own_imports(module: str, path: Path) -> tuple[bool, list[str]]:
    """Return whether a module imports modules of its own package, and the imports that it makes from that package
    itself.
    """
    is_package = path.name == "__init__.py"
    package = module if is_package else module.rpartition(".")[0]
    statements = ast.parse(path.read_text()).body
    named = [alias.name for statement in statements if isinstance(statement, ast.Import) for alias in statement.names]
    froms = [
        base_of(statement, module, is_package) for statement in statements if isinstance(statement, ast.ImportFrom)
    ]
    return any(name.startswith(f"{package}.") for name in (*named, *froms)), [base for base in froms if base == package]


def test_no_module_waits_for_a_package_that_imports_it() -> None:
    """Modules do not import from a package that imports them, which would deadlock two threads that import both at
    once.
    """
    collecting = {name for name, path in modules().items() if path.name == "__init__.py" and own_imports(name, path)[0]}
    wrong = [
        f"{name} imports from {package}"
        for name, path in modules().items()
        if path.name != "__init__.py"
        for package in own_imports(name, path)[1]
        if package in collecting
    ]
    assert wrong == []


def test_heavy_packages_are_named_at_the_edge_only() -> None:
    wrong = []
    for dependency in all_imports():
        allowed = EDGES.get(dependency.imported.split(".")[0])
        if allowed is not None and not dependency.importer.startswith(allowed):
            wrong.append(str(dependency))
    assert wrong == []


def test_type_checkers_do_not_reach_torch() -> None:
    """No import that a type checker follows from ``import opdsl`` reaches torch, neither in stubs nor within
    functions.

    Reading torch takes three quarters of the time that mypy needs for a user's program.
    """
    stubs = {path: ".".join(path.relative_to(STUBS).with_suffix("").parts) for path in STUBS.rglob("*.pyi")}
    imported: dict[str, set[str]] = {module: set() for module in modules()}
    for dependency in all_imports():
        imported[dependency.importer].add(dependency.imported)
    for path, module in stubs.items():
        name = module.removesuffix(".__init__")
        imported[name] = {dependency.imported for dependency in imports_in(name, path)}
    reached, waiting = set(), ["opdsl"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += [*imported.get(module, ()), *filter(None, [module.rpartition(".")[0]])]
    assert "opdsl.testing.laws.in_pytorch" in reached
    assert {
        reachable for reachable in reached if reachable.startswith(("torch", "opdsl.interop", "opdsl.testing.pytorch"))
    } == set()


NAME = re.compile(r"(opdsl(?:\.\w+)+)(?::(\w+))?")


def named_in(module: str, path: Path) -> Iterator[tuple[Import, str]]:
    """Yield the modules that a module names in strings for late imports, each with the attribute that it names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        parts = NAME.fullmatch(node.value)
        if parts is not None and (parts[2] or parts[1] in modules()):
            yield Import(module, parts[1], node.lineno), parts[2] or ""


def all_named() -> list[tuple[Import, str]]:
    return [named for module, path in modules().items() for named in named_in(module, path)]


def defined_in(path: Path) -> set[str]:
    """Return the classes and functions that a module defines."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def test_higher_layers_are_named_where_it_is_known() -> None:
    upward = {
        (layer_of(dependency.importer), layer_of(dependency.imported))
        for dependency, _ in all_named()
        if breaks_layering(dependency)
    }
    assert upward == UPWARD_BY_NAME.keys()


def test_what_is_named_is_there() -> None:
    named = all_named()
    assert len(named) > 20  # they are found
    missing = [
        f"{dependency}:{name}"
        for dependency, name in named
        if dependency.imported not in modules() or (name and name not in defined_in(modules()[dependency.imported]))
    ]
    assert missing == []


def test_operators_name_no_backend() -> None:
    """Operators do not import backends, whose compilers, memory and libraries they reach by protocols."""
    at_the_edge = {"", "backends", "cuda", "interop", "shipping", "testing", "cli"}
    wrong = [
        str(dependency)
        for dependency in all_imports()
        if layer_of(dependency.importer) not in at_the_edge and layer_of(dependency.imported) == "backends"
    ]
    assert wrong == []


def test_every_package_says_what_lives_there() -> None:
    silent = [
        module
        for module, path in modules().items()
        if path.name == "__init__.py" and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


# --------------------------------------------------------------------------------------------- tests of this test


@pytest.mark.parametrize(
    ("importer", "imported", "breaks"),
    [
        ("opdsl.dispatch.keys", "opdsl.errors", False),
        ("opdsl.dispatch.keys", "opdsl.dispatch.table", False),
        ("opdsl.runtime.tensor", "opdsl.dispatch.state", True),
        ("opdsl.scalar.graph", "opdsl.schema", True),
        ("opdsl.native.load", "opdsl.schema.model", False),
        ("opdsl.kernels.calls", "opdsl", True),
        ("opdsl", "opdsl.cli", False),
        ("opdsl.kernels.calls", "numpy", False),
    ],
)
def test_layering_is_judged_right(importer: str, imported: str, breaks: bool) -> None:
    assert breaks_layering(Import(importer, imported, 1)) is breaks


@pytest.mark.parametrize(
    ("module", "is_package", "statement", "expected"),
    [
        ("opdsl.a.b", False, "from .c import d", "opdsl.a.c"),
        ("opdsl.a.b", False, "from .. import d", "opdsl"),
        ("opdsl.a", True, "from .c import d", "opdsl.a.c"),
        ("opdsl.a", True, "from ..c import d", "opdsl.c"),
        ("opdsl.a.b", False, "from opdsl.x import d", "opdsl.x"),
    ],
)
def test_relative_imports_are_resolved(module: str, is_package: bool, statement: str, expected: str) -> None:
    node = ast.parse(statement).body[0]
    assert isinstance(node, ast.ImportFrom)
    assert base_of(node, module, is_package) == expected


def test_cycles_are_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
