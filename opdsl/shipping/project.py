"""Settings of a project that is shipped: ``[tool.opdsl.build]`` of its ``pyproject.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from opdsl.dispatch import Operator
from opdsl.errors import OptionError
from opdsl.schema.model import is_plain_name
from opdsl.shipping.forms import MOST_DIMENSIONS, Form, parse_form
from opdsl.shipping.runtime.keys import TENSOR
from opdsl.shipping.samples import parameters_of

__all__ = ["Project", "forms_of", "is_named", "read_project", "unknown_names"]

_KEYS = ("dtypes", "forms", "module", "ranks", "targets")
_LETTERS = "nmklpqrs"


@attrs.frozen
class Project:
    """Settings of a project.

    name, version: of the distribution.
    module: that declares the operators; the package has its name.
    targets: that code is compiled for; empty for all of this machine's architecture.
    dtypes, ranks: the tensors of operators without forms of their own.
    forms: for operators by name, the forms of their calls.
    """

    name: str
    version: str
    module: str
    targets: tuple[str, ...]
    dtypes: tuple[str, ...]
    ranks: tuple[int, ...]
    forms: Mapping[str, tuple[str, ...]]


def read_project(folder: Path) -> Project:
    """Return the settings of a project.

    Raises:
        OptionError: there is no project, or a setting is wrong.
    """
    path = folder / "pyproject.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise OptionError(f"there is no {path}. `opdsl new` makes a project.") from None
    except ValueError as error:
        raise OptionError(f"{path} is no TOML file: {error}.") from None
    about = _Settings(path, "project", content.get("project", {}))
    name = about.value("name", "", _is_distribution, "the name of a distribution, such as mylib")
    version = about.value("version", "", _is_version, "a version, such as 1.0")
    own: Any = content
    for key in ("tool", "opdsl", "build"):
        own = own.get(key, {}) if isinstance(own, dict) else own
    settings = _Settings(path, "tool.opdsl.build", own)
    unknown = sorted(settings.values.keys() - set(_KEYS))
    if unknown:
        raise OptionError(f"{path}: [tool.opdsl.build] has no setting {unknown[0]} (it has {', '.join(_KEYS)}).")
    return Project(
        name,
        version,
        settings.value("module", name.replace("-", "_"), _is_module, "the name of a module"),
        tuple(settings.value("targets", [], _is_list_of(str), 'a list of targets, such as ["x86-64-v3"]')),
        tuple(settings.value("dtypes", ["float32"], _is_list_of(str), 'a list of dtypes, such as ["float32"]')),
        tuple(settings.value("ranks", [1, 2], _are_ranks, f"a list of integers from 0 to {MOST_DIMENSIONS}")),
        {key: tuple(texts) for key, texts in settings.value("forms", {}, _are_forms, "lists of forms by name").items()},
    )


class _Settings:
    """Table of a project's file.

    Args:
        path: of the file.
        name: of the table.
        values: what the file has there.

    Raises:
        OptionError: it is no table.
    """

    def __init__(self, path: Path, name: str, values: object) -> None:
        if not isinstance(values, dict):
            raise OptionError(f"{path}: [{name}] has to be a table (got {values!r}).")
        self.path, self.name, self.values = path, name, values

    def value(self, key: str, default: Any, fits: Callable[[Any], bool], wanted: str) -> Any:
        """Return a setting, or its default.

        Raises:
            OptionError: it does not fit; ``wanted`` says what does.
        """
        value = self.values.get(key, default)
        if not fits(value):
            raise OptionError(f"{self.path}: {key} in [{self.name}] has to be {wanted} (got {value!r}).")
        return value


def _is_distribution(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", value) is not None


def _is_version(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z.!+_]*", value) is not None


def _is_module(value: object) -> bool:
    return isinstance(value, str) and is_plain_name(value)


def _is_list_of(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(type(element) is kind for element in value)


def _are_ranks(value: Any) -> bool:
    return _is_list_of(int)(value) and all(0 <= rank <= MOST_DIMENSIONS for rank in value)


def _are_forms(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_list_of(str), value.values()))


def forms_of(operator: Operator, project: Project) -> list[Form]:
    """Return the forms for which an operator is compiled: those that the project names, or tensors of its dtypes and
    ranks.

    Raises:
        OptionError: a text is no form.
    """
    named = _named(operator, project.forms)
    if named is not None:
        return [parse_form(text, f"forms.{operator.schema.name.base}") for text in named]
    kinds = dict(parameters_of(operator))
    required = [argument for argument in operator.schema.positional if argument.default is None]
    if not required or any(kinds[argument.python_name] != TENSOR for argument in required):
        return []
    texts = [
        f"{dtype}[{', '.join(_LETTERS[k : k + 1] or f'n{k}' for k in range(rank)) or '()'}]"
        for dtype in project.dtypes
        for rank in project.ranks
    ]
    return [parse_form(", ".join([text] * len(required)), "dtypes and ranks") for text in texts]


def is_named(operator: Operator, project: Project) -> bool:
    """Return whether a project names forms of an operator."""
    return _named(operator, project.forms) is not None


def _named(operator: Operator, forms: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    name = operator.schema.name
    return forms.get(f"{name.base}.{name.overload}" if name.overload else name.base)


def unknown_names(operators: Sequence[Operator], project: Project) -> list[str]:
    """Return the names of forms that no operator has."""
    known = [
        f"{name.base}.{name.overload}" if name.overload else name.base
        for name in (operator.schema.name for operator in operators)
    ]
    return [name for name in project.forms if name not in known]
