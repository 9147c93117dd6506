"""Execution of generated source code and modified syntax trees; no other module of the package executes generated
code.
"""

from __future__ import annotations

import ast
import linecache
import marshal
import sys
import weakref
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType
from typing import Any

__all__ = ["function_from_source", "function_from_tree", "keep_code"]

# Sources of as many characters take several times as long to compile as to load from a file.
_LONG = 900
# Functions that load and store bytes by a key, in files that only the user can write.
_kept: tuple[Callable[[str], bytes | None], Callable[[str, bytes], object]] | None = None

# Weak references to code objects by file name, whose callbacks remove the sources from linecache.
_watched: dict[str, weakref.ref[CodeType]] = {}


def function_from_source(
    name: str, source: str, namespace: dict[str, Any], *, title: str = "", location: tuple[str, int] | None = None
) -> FunctionType:
    """Compile source text, and return the function that it defines.

    Args:
        name: of the function in the text.
        source: of a module that defines it; consists of validated identifiers and ``repr``, never of unchecked text.
        namespace: the globals of the function, in which the source is executed.
        title: purpose of the function, shown in tracebacks, which show the source as well.
        location: file and line that tracebacks show instead: where the user wrote the code that it implements.
    """
    if location is None:
        exec(_code(source, title or name), namespace)
        function: FunctionType = namespace[name]
        return function
    file, line = location
    exec(compile(source, file, "exec"), namespace)
    function = namespace[name]
    function.__code__ = function.__code__.replace(co_firstlineno=line)
    return function


def keep_code(load: Callable[[str], bytes | None], store: Callable[[str, bytes], object]) -> None:
    """Keep the compiled code of long sources for later processes.

    Args:
        load: returns the bytes that are stored under a key, None if there are none. They are run, so it must return
            nothing that another user may have written.
        store: stores bytes under a key.
    """
    global _kept
    _kept = load, store


@lru_cache(maxsize=4096)
def _code(source: str, title: str) -> CodeType:
    """Compile source text; equal texts share the code object, since compiling takes longer than a call.

    ``linecache`` has the source as long as the defined function is alive.
    """
    filename = f"<opdsl {title} {abs(hash(source)):x}>"
    entry = (len(source), None, source.splitlines(keepends=True), filename)
    linecache.cache[filename] = entry
    code = _compiled(source, filename)
    function = next((constant for constant in code.co_consts if isinstance(constant, CodeType)), code)
    # ``weakref.finalize`` would import a module, and locks may be held here.
    _watched[filename] = weakref.ref(function, partial(_forget, filename, entry))
    return code


def _compiled(source: str, filename: str) -> CodeType:
    """Compile source text, or load its code if an earlier process has kept it."""
    if _kept is None or len(source) < _LONG:
        return compile(source, filename, "exec")
    load, store = _kept
    key = f"code {sys.hexversion:x} {sys.flags.optimize} {source}"
    payload = load(key)
    if payload is None:
        code = compile(source, "", "exec")
        store(key, marshal.dumps(code))
    else:
        code = marshal.loads(payload)
    return _named(code, filename)


def _named(code: CodeType, filename: str) -> CodeType:
    """Return code that tracebacks attribute to a file, with the code of its functions."""
    constants = [_named(value, filename) if isinstance(value, CodeType) else value for value in code.co_consts]
    return code.replace(co_filename=filename, co_consts=tuple(constants))


def _forget(filename: str, entry: object, watch: object) -> None:
    """Remove a source from ``linecache``, unless it has been compiled again since."""
    if linecache.cache.get(filename) is entry:
        linecache.cache.pop(filename, None)
    if _watched.get(filename) is watch:
        _watched.pop(filename, None)


def function_from_tree(
    tree: ast.FunctionDef, model: FunctionType, names: Mapping[str, object] | None = None
) -> FunctionType:
    """Return the function of a syntax tree, with the globals, closure, defaults and file of another function.

    Args:
        tree: of a function whose statements come from the other function.
        model: the other function.
        names: further variables that the statements read, with names that a user's code cannot contain.
    """
    added = dict(names or {})
    free = (*model.__code__.co_freevars, *added)
    outer = ast.FunctionDef(
        "outer",
        ast.arguments([], [ast.arg(text) for text in free], None, [], [], None, []),
        [tree, ast.Return(ast.Name(tree.name, ast.Load()))],
        [],
    )
    arguments = tree.args
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [None if default is None else ast.Constant(None) for default in arguments.kw_defaults]
    for parameter in (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ):
        if parameter is not None:
            parameter.annotation = None
    namespace: dict[str, Any] = {}
    module = ast.fix_missing_locations(ast.Module([outer], []))
    exec(compile(module, model.__code__.co_filename, "exec"), namespace)
    code: CodeType = namespace["outer"](*free).__code__
    cells = dict(zip(model.__code__.co_freevars, model.__closure__ or (), strict=True))
    cells |= {name: CellType(value) for name, value in added.items()}
    closure = tuple([cells[name] for name in code.co_freevars])
    function = FunctionType(code, model.__globals__, tree.name, model.__defaults__, closure)
    function.__kwdefaults__ = model.__kwdefaults__
    function.__module__ = model.__module__
    return function
