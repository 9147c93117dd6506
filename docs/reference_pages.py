"""Generator of the reference: a page for each public module, made from docstrings, and a page for the command line."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Collection, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import click
from markdown import documented, fenced, signature_of

import opdsl
from opdsl import Tensor

MODULES = {
    "opdsl": "The language, tensors, programs, and the settings of a process",
    "opdsl.autograd": "Gradients",
    "opdsl.autograd.functional": "Functions of derivatives",
    "opdsl.autograd.forward": "Dual tensors",
    "opdsl.testing": "Checks of operators, gradients and results",
    "opdsl.errors": "Exceptions",
    "opdsl.scalar.intrinsics": "Functions that scalar and row functions may call",
    "opdsl.native": "native_functions.yaml as data",
    "opdsl.interop.torch": "Operators of opdsl in PyTorch, and of PyTorch in opdsl",
    "opdsl.interop.torch.overrides": "Kernels of opdsl for operators of PyTorch",
    "opdsl.interop.dask": "Operators on chunked arrays",
    "opdsl.notebook": "Pictures of tensors",
    "opdsl.cuda": "Devices, streams, events, memory and graphs",
    "opdsl.nn.functional": "PyTorch's functions for networks",
    "opdsl.array_api": "The array API standard",
    "opdsl.array_api.linalg": "The array API standard: linear algebra",
    "opdsl.array_api.fft": "The array API standard: Fourier transforms",
}

# The names with which the page of opdsl begins: those that declarations use. All others follow in alphabetical order.
_FIRST = (
    *("op", "formula", "Library", "Tensor", "traceable", "forward", "Overload", "Inplace", "Out", "Name", "check"),
    *("Alias", "Ints", "SymInts", "Bools", "TensorOptions", "dims", "dim", "Dim", "scan", "fold", "dynamic_size"),
    *("compile", "trace", "Program", "vmap", "tensor", "as_tensor", "from_numpy"),
)

# Names that the package imports for its own use.
_NOT_PUBLIC = {"Any", "TYPE_CHECKING", "annotations"}


def write(folder: Path, operators: Collection[str] = ()) -> None:
    """Write the pages of the reference.

    Args:
        folder: the folder to write to.
        operators: names of operators that have pages, to which functions of the same name link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pages = {name: module_page(name, operators) for name in MODULES}
    pages |= {"opdsl.Tensor": tensor_page(), "command_line": command_page()}
    contents = {"opdsl": MODULES["opdsl"], "opdsl.Tensor": "Methods and properties that are not operators", **MODULES}
    contents["command_line"] = "Commands and their options"
    entries = "\n".join(contents)
    titles = {name: name for name in pages} | {"command_line": "Command line"}
    listed = "\n".join(f"- [{titles[name]}]({name}.md): {text}" for name, text in contents.items())
    pages["index"] = f"# Reference\n\n{listed}\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


# --------------------------------------------------------------------------------------------------------- public names


def public_names(module: str) -> dict[str, Any]:
    """Return the public names of a module: those in ``__all__``, or else those defined without an underscore.

    For opdsl itself return every name but submodules and operators, which have their own pages.
    """
    imported = importlib.import_module(module)
    if module == "opdsl":
        names = sorted({*opdsl.__all__, *(name for name in dir(opdsl) if not name.startswith("_"))} - _NOT_PUBLIC)
        names.sort(key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
        values = {name: getattr(opdsl, name) for name in names}
        return {name: value for name, value in values.items() if not inspect.ismodule(value) and not is_operator(value)}
    names = list(getattr(imported, "__all__", None) or (var for var in vars(imported) if _is_own(imported, var)))
    return {name: getattr(imported, name) for name in sorted(names)}


def _is_own(module: Any, name: str) -> bool:
    value = getattr(module, name)
    return not name.startswith("_") and getattr(value, "__module__", "") == module.__name__


def is_operator(value: object) -> bool:
    """Return whether a value is the function of an operator."""
    return hasattr(value, "dispatch_table") and hasattr(value, "schema")


def is_documentable(value: object) -> bool:
    """Return whether a value can have its own docstring, as functions and classes can."""
    return inspect.isclass(value) or inspect.isroutine(value)


def members(kind: type) -> dict[str, Any]:
    """Return the public methods and properties that a class itself defines."""
    return {
        name: value
        for name, value in vars(kind).items()
        if not name.startswith("_") and (isinstance(value, property) or inspect.isroutine(getattr(kind, name)))
    }


# --------------------------------------------------------------------------------------------------------------- pages


def module_page(name: str, operators: Collection[str] = ()) -> str:
    """Return the page of a module; see ``write``."""
    module = importlib.import_module(name)
    about = re.sub(r"(?s)\s*\bMay import:.*?(?=\n\n|\Z)", "", module.__doc__ or "")
    about = re.sub(r"\bdocs/(\w+)\.md", r"[\1](../\1.md)", about)
    parts = [f"# {name}\n", documented(about)]
    constants = []
    for key, value in public_names(name).items():
        if is_operator(value):
            parts.append(f"## {key}\n\n{documented(value.__doc__)}")
        elif value is Tensor:
            parts.append("## Tensor\n\nSee [its page](opdsl.Tensor.md).\n")
        elif is_documentable(value):
            parts += _entry(key, value)
            if key in operators and inspect.isfunction(value):
                parts.append(f"What it computes: [the operator `{key}`](../operators/{key}.md).\n")
        elif not inspect.ismodule(value):
            constants.append(f"- `{key}`: `{_short(value)}`")
    if constants:
        parts.append("## Constants\n\n" + "\n".join(constants) + "\n")
    return "\n".join(parts)


def _short(value: object) -> str:
    text = repr(value).partition("\n")[0]
    text = text.partition(" object at ")[0] + ">" if " object at " in text else text
    return text if len(text) < 90 else f"{text[:90]}..."


def _entry(name: str, value: Any) -> Iterator[str]:
    yield f"## {name}\n"
    if not value.__module__.startswith("opdsl"):
        yield f"It is `{value.__module__}.{value.__qualname__}`.\n"
        return
    if inspect.isclass(value) and issubclass(value, BaseException):
        bases = " and ".join(f"`{base.__name__}`" for base in value.__bases__)
        yield f"{documented(value.__doc__)}\nSubclass of {bases}.\n"
        return
    yield fenced(signature_of(value, name))
    yield documented(value.__doc__)
    if inspect.isclass(value) and not issubclass(value, Enum):
        for key, member in members(value).items():
            yield from _member(key, member)


def _member(name: str, member: Any) -> Iterator[str]:
    doc = inspect.getdoc(member)
    if doc:
        function = getattr(member, "__func__", member)
        title = name if isinstance(member, property) else signature_of(function, name)
        yield f"### {name}\n"
        if not isinstance(member, property):
            yield fenced(title)
        yield documented(doc)


def tensor_page() -> str:
    """Return the page of the methods and properties of tensors that are not operators."""
    parts = ["# opdsl.Tensor\n", documented(Tensor.__doc__)]
    parts.append("Its other methods are operators: [their pages](../operators/index.md) have them.\n")
    for name, member in members(Tensor).items():
        if not is_operator(member) and "source" not in getattr(member, "__dict__", {}):
            parts += [part.replace("### ", "## ", 1) for part in _member(name, member)]
    return "\n".join(parts)


def command_page() -> str:
    """Return the page with the help text of every command of ``opdsl``."""
    from opdsl.cli import main

    parts = ["# Command line\n", documented(main.help)]
    for name in sorted(main.commands):
        command = main.commands[name]
        context = click.Context(command, info_name=f"opdsl {name}", max_content_width=100)
        parts.append(f"## opdsl {name}\n\n{fenced(command.get_help(context), 'text')}")
    return "\n".join(parts)
