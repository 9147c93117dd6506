"""Names that a stub file uses, and the imports for them."""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Mapping

from opdsl.declare.source.expressions import DTYPES
from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.typing.stubs.layout import Statement, import_from

_TENSOR = "opdsl.runtime.tensor"
_VOCABULARY = "opdsl.schema.vocabulary"

OPERATORS = "opdsl._operators"
"""Module of all packets and results, which exists for type checkers only."""

HOMES: dict[str, str] = {
    "Any": "typing",
    **dict.fromkeys(("AnyDim", "AnyDims"), "opdsl.formulas.dims"),
    "Callable": "collections.abc",
    "EllipsisType": "types",
    "Iterator": "collections.abc",
    "NamedTuple": "typing",
    "ParamSpec": "typing",
    "Protocol": "typing",
    "Sequence": "collections.abc",
    "TypeVar": "typing",
    "overload": "typing",
    "Literal": "typing",
    "Index": _TENSOR,
    "Operator": "opdsl.declare.operator",
    "Operators": "opdsl.dispatch.model.namespaces",
    "_operator": OPERATORS,
    "Tensor": _TENSOR,
    **{python_type.name: python_type.module for python_type in PYTHON_TYPES.values() if python_type.module},
    "Reduction": _VOCABULARY,
    **dict.fromkeys(DTYPES.values(), "opdsl.runtime.dtype"),
}
"""Modules that define the names of generated annotations."""

_PUBLIC = ("opdsl.declare.operator", "opdsl.runtime.", _VOCABULARY)

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")

# A name that is not a parameter's name.
_VALUE = re.compile(r"(?<![\w.])[A-Za-z_]\w*\b(?!: (?!\.\.\.$))", re.MULTILINE)


class Names:
    """Names of other modules that a file uses.

    Args:
        own: the names that the file has itself, with the modules that it imports them from, or with ``""``.
        module: the file's module; modules of opdsl import names from their definitions, others from ``opdsl``.
    """

    def __init__(self, own: Mapping[str, str], module: str) -> None:
        self._own = dict(own)
        self._module = module
        self._used: set[tuple[str, str]] = set()

    def use(self, annotation: str, shadowed: Collection[str] = ()) -> str:
        """Return an annotation as it has to be written in the file, and record the names that it uses.

        Args:
            annotation: text whose names refer to ``HOMES`` or to builtins.
            shadowed: the names that the enclosing class redefines; they are imported with an underscore.
        """
        return _NAME.sub(lambda match: self._name(match.group(), shadowed), annotation)

    def use_builtins(self, line: str, shadowed: Collection[str]) -> str:
        """Return a line of a class with builtins that its members shadow replaced by their imported names."""
        return _VALUE.sub(
            lambda match: self._name(match.group(), shadowed) if match.group() in shadowed else match.group(), line
        )

    def use_parameter(self, parameter: str, shadowed: Collection[str] = ()) -> str:
        """Return a parameter as it has to be written; its own name is kept."""
        name, colon, rest = parameter.partition(":")
        return f"{name}{colon}{self._use_outside_of_strings(rest, shadowed)}"

    def _use_outside_of_strings(self, annotation: str, shadowed: Collection[str]) -> str:
        annotation, equals, default = annotation.partition(" = ")
        is_text = default[:1] in ("'", '"')
        return f"{self.use(annotation, shadowed)}{equals}{default if is_text else self.use(default, shadowed)}"

    def _name(self, name: str, shadowed: Collection[str]) -> str:
        is_builtin = hasattr(builtins, name)
        home = HOMES.get(name, "builtins" if is_builtin else None)
        if name.startswith(("_results_", "_packet_")):
            home = OPERATORS
        if home is None or home == self._module or name in ("None", "True", "False"):
            if name in shadowed and name in self._own:
                self._used.add((self._module, f"{name} as _{name}"))
                return f"_{name}"
            return name
        origin = self._own.get(name)
        is_meant = origin is not None and origin.startswith(("opdsl", "typing", "collections.abc"))
        if name in shadowed or (origin is not None and not is_meant):
            self._used.add((home, f"{name} as _{name}"))
            return f"_{name}"
        if not is_builtin and origin is None:
            self._used.add((home, name))
        return name

    def imports(self) -> list[Statement]:
        """Return the import statements for the used names, ordered by module."""
        by_module: dict[str, set[str]] = {}
        for home, name in self._used:
            is_public = not self._module.startswith("opdsl.") and home.startswith(_PUBLIC)
            by_module.setdefault("opdsl" if is_public else home, set()).add(name)
        return [import_from(text, by_module[text]) for text in sorted(by_module)]
