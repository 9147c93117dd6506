"""Stub of a module from its source: imports, constants, functions without bodies, classes.

Packets replace the operator declarations of a module; the caller inserts them.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import ModuleType

from opdsl.declare import Library
from opdsl.declare.source.expressions import quoted
from opdsl.typing.stubs.layout import Statement, class_of, function, import_from, module, variable

# Calls that have to appear in the stub, since type checkers evaluate them.
_SEEN = frozenset(("ParamSpec", "TypeVar", "TypeVarTuple", "NewType", "NamedTuple", "TypedDict", "namedtuple"))

_KEPT_DECORATORS = ("property", "staticmethod", "classmethod", "overload", "setter", "deleter", "final", "override")

_FOR_TYPES = ("TYPE_CHECKING", "typing.TYPE_CHECKING")

_BRACKETS = re.compile(r"\b(Tensor|CPUTensor|CUDATensor)\[(?:Alias\([^()]*\))\]")


def plain(annotation: str) -> str:
    """Return an annotation that type checkers read without a plugin: ``Tensor`` for ``Tensor[Alias("a")]``.

    >>> plain('list[Tensor[Alias("a", write=True)]]')
    'list[Tensor]'
    """
    return _BRACKETS.sub(r"\1", annotation)


class Source:
    """Parsed source of a module.

    Args:
        text: of the module.
        values: the module's names at run time, for the types of constants.
        is_package: whether the module re-exports its imports.
    """

    def __init__(self, text: str, values: Mapping[str, object], *, is_package: bool = False) -> None:
        self.text = text
        self.values = values
        self.tree = ast.parse(text)
        # Column offsets in a tree count bytes.
        self._lines = [line.encode() for line in text.splitlines(keepends=True)]
        self.is_package = is_package
        self.all = next(
            (
                statement
                for statement in self.tree.body
                if isinstance(statement, ast.Assign) and _target(statement) == "__all__"
            ),
            None,
        )

    @property
    def doc(self) -> str | None:
        """Return the module's docstring."""
        return ast.get_docstring(self.tree)

    def nodes(self) -> Iterator[ast.stmt]:
        """Yield the statements that a type checker analyzes, including those in conditions."""
        yield from _flat(self.tree.body)

    def names(self) -> dict[str, str]:
        """Return the names that the module has, with the modules that they are imported from, or with ``""``."""
        names: dict[str, str] = {}
        for node in self.nodes():
            if isinstance(node, ast.ImportFrom):
                names.update(
                    {alias.asname or alias.name: "." * node.level + (node.module or "") for alias in node.names}
                )
            elif isinstance(node, ast.Import):
                names.update({alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names})
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names[node.name] = ""
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                names[_target(node)] = ""
        return names

    def statements(self, *, without: Collection[str] = ()) -> tuple[list[Statement], list[Statement]]:
        """Return the imports, and the other statements.

        Args:
            without: names to leave out, since they are defined elsewhere.
        """
        body = [statement for name, node in self.by_name() if name not in without for statement in self.statement(node)]
        return self.imports(), [*body, *self.given()]

    def imports(self) -> list[Statement]:
        """Return the import statements."""
        nodes = (node for node in self.nodes() if isinstance(node, (ast.Import, ast.ImportFrom)))
        return [statement for node in nodes for statement in self._import(node)]

    def given(self) -> list[Statement]:
        """Return ``__all__``, if the module has it."""
        if self.all is None:
            return []
        return [Statement("variable", tuple(self._segment(self.all, keep_lines=True).split("\n")))]

    def by_name(self) -> Iterator[tuple[str, ast.stmt]]:
        """Yield the names that the module defines, in order, with their statements."""
        return _defined(self.nodes())

    def statement(self, node: ast.stmt, indent: int = 0) -> Iterator[Statement]:
        """Yield the stub of one statement; nothing for a statement that defines no name."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield self.function(node, indent)
        elif isinstance(node, ast.ClassDef):
            yield self.class_(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            is_filled = node.value is not None and indent and "ClassVar" not in ast.unparse(node.annotation)
            line = f"{node.target.id}: {self.annotation(node.annotation)}{' = ...' if is_filled else ''}"
            yield Statement("variable", (line,))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield self._assignment(node.targets[0].id, node.value, indent)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, indent: int = 0) -> Statement:
        """Return a function without its body; missing annotations become Any."""
        result = "None" if node.name == "__init__" else None if node.returns is None else self.annotation(node.returns)
        return function(
            node.name,
            self.parameters(node.args, is_method=bool(indent)),
            "Any" if result is None else result,
            ast.get_docstring(node),
            decorators=[self._segment(decorator) for decorator in node.decorator_list if not self._attaches(decorator)],
            indent=indent,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            comment=self._comment(node),
        )

    def _attaches(self, decorator: ast.expr) -> bool:
        """Return whether a decorator is of an operator or a library, so that it returns the function unchanged."""
        names = (node for node in ast.walk(decorator) if isinstance(node, ast.Name))
        value = self.values.get(next(names, ast.Name("")).id)
        return hasattr(value, "operator") or isinstance(value, Library)

    def parameters(self, arguments: ast.arguments, *, is_method: bool = False) -> list[str]:
        """Return the parameters of a function as text."""
        places = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(places) - len(arguments.defaults)) + [*arguments.defaults]
        written = [
            self._parameter(place, default, bare=is_method and not position)
            for position, (place, default) in enumerate(zip(places, defaults, strict=True))
        ]
        if arguments.posonlyargs:
            written.insert(len(arguments.posonlyargs), "/")
        if arguments.vararg is not None:
            written.append("*" + self._parameter(arguments.vararg, None))
        elif arguments.kwonlyargs:
            written.append("*")
        pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        written += [self._parameter(arg, default) for arg, default in pairs]
        if arguments.kwarg is not None:
            written.append("**" + self._parameter(arguments.kwarg, None))
        return written

    def class_(self, node: ast.ClassDef) -> Statement:
        """Return a class with its members."""
        bases = [self._segment(base) for base in node.bases]
        bases += [f"{keyword.arg}={self._segment(keyword.value)}" for keyword in node.keywords if keyword.arg]
        statement = class_of(node.name, bases, self.members(node), ast.get_docstring(node))
        decorators = [f"@{self._segment(decorator)}" for decorator in node.decorator_list]
        return Statement(statement.kind, (*decorators, *statement.lines))

    def members(self, node: ast.ClassDef) -> list[Statement]:
        """Return the stubs of a class's members."""
        defined = list(_defined(_flat(node.body, for_types=False)))
        names = {name for name, _ in defined}
        attributes = [variable(name, type, indent=1) for name, type in self._attributes(node) if name not in names]
        return [*attributes, *(stub for _, statement in defined for stub in self.statement(statement, indent=1))]

    def _attributes(self, node: ast.ClassDef) -> Iterator[tuple[str, str]]:
        """Yield the attributes that ``__init__`` sets, with their types."""
        function_def = next(
            (
                statement
                for statement in node.body
                if isinstance(statement, ast.FunctionDef) and statement.name == "__init__"
            ),
            None,
        )
        if function_def is None:
            return
        expressions = {arg.arg: arg.annotation for arg in (*function_def.args.args, *function_def.args.kwonlyargs)}
        seen: set[str] = set()
        for child in ast.walk(function_def):
            target: ast.expr | None = child.target if isinstance(child, ast.AnnAssign) else None
            if isinstance(child, ast.Assign):
                target = child.targets[0]
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if not isinstance(part, ast.Attribute) or ast.unparse(part.value) != "self" or part.attr in seen:
                    continue
                seen.add(part.attr)
                value = getattr(child, "value", None)
                typed = getattr(child, "annotation", None)
                typed = expressions.get(value.id) if typed is None and isinstance(value, ast.Name) else typed
                yield part.attr, "Any" if typed is None else self.annotation(typed)

    def annotation(self, node: ast.expr) -> str:
        """Return an annotation as text, without quotes, which stubs do not need."""
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else self._segment(node)
        return plain(text)

    def _parameter(self, parameter: ast.arg, default: ast.expr | None, *, bare: bool = False) -> str:
        if parameter.annotation is None and bare:
            return parameter.arg
        typed = "Any" if parameter.annotation is None else self.annotation(parameter.annotation)
        written = f"{parameter.arg}: {typed}"
        return written if default is None else f"{written} = {self._default(default)}"

    def _default(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return quoted(node.value)
        is_simple = isinstance(node, (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp))
        is_empty = isinstance(node, ast.Tuple) and not node.elts
        return self._segment(node) if is_simple or is_empty else "..."

    def _assignment(self, name: str, value: ast.expr, indent: int) -> Statement:
        if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in _SEEN:
            return Statement("variable", (f"{name} = {self._segment(value)}",))
        is_member = bool(indent) and isinstance(value, (ast.Constant, ast.Name, ast.Attribute, ast.Tuple))
        if name == "__slots__" or is_member or (not indent and self._is_type(value)):
            return Statement("variable", (f"{name} = {self._segment(value)}",))
        return variable(name, self._type_of(name))

    def _is_type(self, value: ast.expr) -> bool:
        """Return whether a value is a type alias: ``Shape = tuple[int, ...]``."""
        if isinstance(value, (ast.Subscript, ast.BinOp)):
            return all(
                isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Tuple, ast.List, ast.Constant))
                for node in ast.walk(value)
                if isinstance(node, ast.expr)
            ) and not isinstance(_evaluated(value, self.values), (int, float, str, bytes, list, tuple, dict, set))
        return isinstance(value, (ast.Name, ast.Attribute)) and isinstance(_evaluated(value, self.values), type)

    def _type_of(self, name: str) -> str:
        """Return the type of a constant by its value."""
        if name not in self.values:
            return "Any"
        kind = type(self.values[name])
        if kind in (bool, int, float, complex, str, bytes, object):
            return kind.__name__
        if kind in (list, tuple, dict, set, frozenset):
            return f"{kind.__name__}[{'Any, ...' if kind is tuple else 'Any, Any' if kind is dict else 'Any'}]"
        return kind.__name__ if self.values.get(kind.__name__) is kind else "Any"

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Statement]:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return
        if isinstance(node, ast.Import):
            written = (f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in node.names)
            yield from (Statement("import", (f"import {text}",)) for text in written)
            return
        module = "." * node.level + (node.module or "")
        yield import_from(module, [self._imported(alias) for alias in node.names])

    def _imported(self, name: ast.alias) -> str:
        own = name.asname or name.name
        is_given = self.is_package and self.all is None and not own.startswith("_") and name.name != "*"
        return f"{name.name} as {own}" if name.asname or is_given else name.name

    def _comment(self, node: ast.stmt) -> str:
        """Return a ``# type:`` comment on the first line of a definition, or an empty string."""
        line = self._lines[node.lineno - 1].decode().rstrip()
        mark = line.find("# type:")
        return line[mark:] if mark >= 0 else ""

    def _segment(self, node: ast.expr | ast.stmt, keep_lines: bool = False) -> str:
        """Return the text of a node, joined to one line unless ``keep_lines`` is set."""
        first, last, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1, node.end_col_offset
        if first != last and not keep_lines:
            return ast.unparse(node)
        lines = [*self._lines[first:last], self._lines[last][:end]]
        return b"".join([lines[0][node.col_offset :], *lines[1:]]).decode()


def source_of(module: ModuleType) -> Source:
    """Return the parsed source of an imported module."""
    assert module.__file__ is not None, "a module that is written in Python"
    with open(module.__file__, encoding="utf-8") as file:
        return Source(file.read(), vars(module), is_package=hasattr(module, "__path__"))


def file_of(doc: str | None, imports: Sequence[Statement], body: Sequence[Statement]) -> str:
    """Return the text of a stub file.

    Args:
        doc: the module's docstring.
        imports: only those whose names are used, or re-exported by ``from a import b as b``, are kept.
        body: everything else.
    """
    used: set[str] = set()
    for statement in body:
        text = "\n".join(statement.lines)
        used.update(_IDENTIFIER.findall(text if text.startswith("__all__") else _STRING.sub("", text)))
    kept = merged(imports, used)
    if "Any" in used and not any("Any" in _IDENTIFIER.findall(line) for statement in kept for line in statement.lines):
        kept = merged([*imports, import_from("typing", ["Any"])], used)
    return HEADER + module(doc, [*kept, *body])


# A name that is neither an attribute nor the name of a parameter or variable, which an annotation follows.
_IDENTIFIER = re.compile(r"(?<![\w.])(?<!def )[A-Za-z_]\w*\b(?!: (?!\.\.\.$))", re.MULTILINE)

_STRING = re.compile(r'"""(?:\\.?|[^"\\]|"(?!""))*+(?:"""|\Z)|"[^"\n]*"', re.DOTALL)


def merged(imports: Sequence[Statement], used: Collection[str]) -> list[Statement]:
    """Return one import statement per module, in order, for the names that are used or re-exported."""
    plain_imports: set[str] = set()
    by_module: dict[str, set[str]] = {}
    for statement in imports:
        node = ast.parse("\n".join(statement.lines)).body[0]
        assert isinstance(node, (ast.Import, ast.ImportFrom)), "an import"
        for alias in node.names:
            own = alias.asname or alias.name.partition(".")[0]
            if own not in used and alias.asname != alias.name and own != "*":
                continue
            written = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
            if isinstance(node, ast.Import):
                plain_imports.add(f"import {written}")
            else:
                by_module.setdefault("." * node.level + (node.module or ""), set()).add(written)
    statements = [Statement("import", (plain_import,)) for plain_import in sorted(plain_imports)]
    for home in sorted(by_module):
        everything, names = by_module[home] & {"*"}, by_module[home] - {"*"}
        statements += [import_from(home, some) for some in (everything, names) if some]
    return statements


HEADER = """\
# Written by `opdsl stubs` from the declarations; not to be edited.
# A static method may have a parameter `self`: schemas have one.
# pyright: reportSelfClsParameterName=false
"""


def _flat(body: Sequence[ast.stmt], *, for_types: bool = True) -> Iterator[ast.stmt]:
    """Yield statements, including those in conditions and ``try`` blocks.

    for_types: whether code for type checkers only is included.
    """
    for node in body:
        if isinstance(node, ast.If):
            if ast.unparse(node.test) not in _FOR_TYPES:
                yield from _flat([*node.body, *node.orelse], for_types=for_types)
            elif for_types:
                yield from _flat(node.body)
        elif isinstance(node, ast.Try):
            yield from _flat([*node.body, *node.orelse], for_types=for_types)
        elif isinstance(node, ast.With):
            yield from _flat(node.body, for_types=for_types)
        else:
            yield node


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _name(node: ast.stmt) -> str | None:
    """Return the name that a statement defines, or None."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return None if _target(node) == "__all__" else _target(node) or None
    return None


def _defined(nodes: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the statements that define names, without the implementations of overloads."""
    seen: set[str] = set()
    for node in nodes:
        name = _name(node)
        if name is not None and (name not in seen or _is_overload(node)):
            seen.add(name)
            yield name, node


def _is_overload(node: ast.stmt) -> bool:
    """Return whether a function with the name of an earlier one is a further definition of it, such as an overload."""
    decorators = getattr(node, "decorator_list", [])
    return any(_is_kept(ast.unparse(decorator)) for decorator in decorators)


def _is_kept(decorator: str) -> bool:
    return decorator.partition("(")[0].rpartition(".")[2] in _KEPT_DECORATORS


def _evaluated(node: ast.expr, values: Mapping[str, object]) -> object:
    """Return the value of a dotted name; None for anything else."""
    if isinstance(node, ast.Name):
        return values.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        return getattr(_evaluated(node.value, values), node.attr, None)
    return None
