"""Loader of users' modules, which declare operators when they are imported."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from pathlib import Path
from traceback import extract_tb
from types import ModuleType, TracebackType
from typing import ParamSpec, TypeVar

import click

from opdsl.dispatch import Operator, Registry, declaring_into, registry
from opdsl.errors import OpdslError

P = ParamSpec("P")
R = TypeVar("R")

# Importing a module may load parts of the library, whose operators are not the module's own.
_LIBRARY = "opdsl.aten"


class ModuleError(click.ClickException):
    """Raised when a user's module does not exist, or raises an error on import."""


def module_option(command: Callable[P, R]) -> Callable[P, R]:
    """Add the option ``--module``, which may be given several times, to a command."""
    return click.option(
        "--module",
        "modules",
        multiple=True,
        metavar="FILE_OR_MODULE",
        help="Load the operators that a file or module declares: my_ops.py, or mylib.ops.",
    )(command)


def load_modules(texts: Iterable[str], into: Registry = registry) -> list[Operator]:
    """Import modules, and return the operators that they declare.

    Args:
        texts: files, package folders, or dotted names.
        into: the registry in which they declare operators.

    Returns:
        The operators that they declare, directly or by imports.

    Raises:
        ModuleError: a module does not exist, raises an error, or declares no operator.
    """
    declared: list[Operator] = []
    for text in texts:
        before = set(into)
        module = load_module(text)
        own = [
            operator
            for operator in into
            if _declared_in(operator, module.__name__)
            or (operator not in before and not _declared_in(operator, _LIBRARY))
        ]
        if not own:
            raise ModuleError(f"{text} declares no operator. Write @opdsl.op above a function in it.")
        declared += own
    return declared


def load_apart(texts: Iterable[str]) -> Registry:
    """Import modules into a new registry, in which they may declare operators that exist already.

    Then they are removed from ``sys.modules``, so that they can be loaded again.
    """
    with declaring_into(Registry()) as own:
        load_modules(texts, own)
    for operator in own:
        function = getattr(operator.declaration, "function", None)
        sys.modules.pop(getattr(function, "__module__", ""), None)
    return own


def _declared_in(operator: Operator, module: str) -> bool:
    """Return whether an operator is declared in a module or in one of its submodules."""
    function = getattr(operator.declaration, "function", None)
    return f"{getattr(function, '__module__', '')}.".startswith(f"{module}.")


def load_module(text: str) -> ModuleType:
    """Import a module, by file or dotted name.

    Raises:
        ModuleError: the module does not exist, or raises an error.
    """
    path = Path(text)
    if path.suffix == ".py" or path.exists() or os.sep in text:
        return _load_path(path)
    _search(Path.cwd())
    if not _is_there(text):
        raise ModuleError(f"there is no module {text!r} in {Path.cwd()} or on Python's path. Give a file: {text}.py")
    return _import(text, text, lambda: importlib.import_module(text))


def _is_there(name: str) -> bool:
    """Return whether the outermost package of a dotted name can be found, without importing it."""
    parts = name.split(".")
    try:
        return all(parts) and importlib.util.find_spec(parts[0]) is not None
    except ValueError:  # a module without a specification, such as __main__
        return False


def _load_path(path: Path) -> ModuleType:
    """Import a file under its qualified name in the package that contains it."""
    file = (path / "__init__.py" if path.is_dir() else path).absolute()
    if not file.is_file():
        raise ModuleError(f"there is no file {file}")
    root = file.parent
    parts = [] if file.name == "__init__.py" else [file.name.removesuffix(".py")]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    module_name = ".".join(parts)
    present = sys.modules.get(parts[0])
    if present is not None and not _is_within(present, root, parts[0]):
        raise ModuleError(f"{path}: Python has another module {parts[0]!r} loaded; give the file another name.")
    _search(root)
    if len(parts) > 1 or file.name == "__init__.py":
        return _import(str(path), module_name, lambda: importlib.import_module(module_name))
    return _import(str(path), module_name, lambda: _execute(file, module_name))


def _is_within(module: ModuleType, root: Path, top: str) -> bool:
    """Return whether a loaded module comes from a folder."""
    origin = getattr(module, "__file__", None)
    if origin is None:
        return False
    location = Path(origin).resolve()
    return location in ((root / f"{top}.py").resolve(), (root / top / "__init__.py").resolve())


def _execute(file: Path, name: str) -> ModuleType:
    """Import a file with any name, even one that is not an identifier."""
    present = sys.modules.get(name)
    if present is not None:
        return present
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ModuleError(f"{file} is no Python file; its name has to end in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _search(folder: Path) -> None:
    """Add a folder to the import path, as for a script in this folder."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import(text: str, name: str, load: Callable[[], ModuleType]) -> ModuleType:
    """Import a module, and convert any error to one message.

    Raises:
        ModuleError: with the location in the user's code.
    """
    try:
        with redirect_stdout(sys.stderr):  # keep text that a module prints out of this command's output
            return load()
    except (KeyboardInterrupt, click.ClickException):
        raise
    except BaseException as error:  # sys.exit() in a module ends its import, not this process
        raise ModuleError(_message(text, error)) from error


def _message(name: str, error: BaseException) -> str:
    """Format an error of a module as ``file:line: description``."""
    place = _place(error, error.__traceback__) or name
    text = str(error)
    if isinstance(error, SyntaxError):
        return f"{place}: {type(error).__name__}: {error.msg}"
    if not isinstance(error, OpdslError):
        return f"{place}: {type(error).__name__}: {text}" if text else f"{place}: {type(error).__name__}"
    return text if _leads_with_place(text) else f"{place}: {text}"


def _leads_with_place(text: str) -> bool:
    """Return whether a message begins with a file and a line already."""
    file, colon, rest = text.partition(".py:")
    return bool(colon) and " " not in Path(file).name and rest[:1].isdigit()


_INSTALLED = tuple(Path(text).resolve() for text in (os.path.dirname(os.__file__), Path(__file__).parents[1]))


def _place(error: BaseException, traceback: TracebackType | None) -> str | None:
    """Return the location of the innermost frame outside of Python, installed packages and opdsl."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    for frame in reversed(extract_tb(traceback)):
        path = Path(frame.filename)
        if path.is_file() and not any(path.resolve().is_relative_to(folder) for folder in _INSTALLED):
            return f"{frame.filename}:{frame.lineno}"
    return None
