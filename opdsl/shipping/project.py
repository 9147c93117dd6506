"""Settings of a project that is shipped: ``[tool.opdsl.build]`` of its ``pyproject.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from opdsl.dispatch import Operator
from opdsl.errors import OptionError
from opdsl.shipping.forms import Form, parse_form
from opdsl.shipping.plans import parameters_of
from opdsl.shipping.runtime.keys import TENSOR

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
        about = content["project"]
        name, version = str(about["name"]), str(about["version"])
    except OSError:
        raise OptionError(f"there is no {path}. `opdsl new` makes a project.") from None
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise OptionError(f"{path}: {error} is missing or wrong; [project] needs a name and a version.") from None
    settings: Mapping[str, Any] = content.get("tool", {}).get("opdsl", {}).get("build", {})
    unknown = sorted(set(settings) - set(_KEYS))
    if unknown:
        raise OptionError(f"{path}: [tool.opdsl.build] has no setting {unknown[0]} (it has {', '.join(_KEYS)}).")
    module = settings.get("module", name.replace("-", "_"))
    return Project(
        name,
        version,
        module,
        tuple(settings.get("targets", ())),
        tuple(settings.get("dtypes", ("float32",))),
        tuple(settings.get("ranks", (1, 2))),
        {key: tuple(texts) for key, texts in settings.get("forms", {}).items()},
    )


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
    texts = [f"{dtype}[{', '.join(_LETTERS[:rank]) or '()'}]" for dtype in project.dtypes for rank in project.ranks]
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
