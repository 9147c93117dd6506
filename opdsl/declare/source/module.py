"""Source of whole modules of declarations, generated from entries of native_functions.yaml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Set
from keyword import issoftkeyword

import attrs

from opdsl.declare.options import Inplace, Out
from opdsl.declare.source.expressions import DTYPES, SIZED, Expressions, quoted
from opdsl.declare.source.layout import WIDTH, Group, rendered
from opdsl.declare.source.options import Options, options_of, variant_options
from opdsl.declare.variants import inplace_schema, out_schema
from opdsl.errors import DeclarationError
from opdsl.native import Delegate, NativeFunction, Structured
from opdsl.native.generated import by_signature
from opdsl.schema import Argument, BaseType, FunctionSchema, OptionalType, SchemaKind
from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.schema.model import DEFAULT_NAMESPACE, FORBIDDEN, TENSOR_OPTIONS

HEADER = '''"""Operators, imported from {file}. Attach implementations beneath the declarations."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations
'''

HOMES = {
    "Annotated": "typing",
    "ClassVar": "typing",
    **dict.fromkeys(("BoolList", "DimVector", "FloatList", "SymIntList"), "opdsl.schema.vocabulary"),
    "spelled": "opdsl.schema.spelling",
    "bool_": "opdsl.runtime",
}
"""Modules from which names are imported that are not in ``opdsl`` itself."""

LANGUAGE = (
    frozenset(python_type.name for python_type in PYTHON_TYPES.values())
    | frozenset((*HOMES, *DTYPES.values(), *SIZED.values(), "Alias", "Inplace", "Name", "Out", "Reduction", "Size"))
    | frozenset(("TensorOptions", "annotations", "list", "object", "op", "tuple"))
)
"""Names that a module of declarations may use; no function may have one of them."""

OF_MODULES = frozenset(
    (
        *("__all__", "__annotations__", "__builtins__", "__cached__", "__class__", "__dict__", "__dir__", "__doc__"),
        *("__file__", "__getattr__", "__loader__", "__name__", "__package__", "__path__", "__spec__"),
    )
)
"""Names that Python itself reads from a module."""

Progress = Callable[[int, int], None]
"""Callback that gets the number of entries written, and the number of all entries."""


@attrs.frozen
class Written:
    """Generated module of declarations.

    source: its text.
    inplace, out: number of entries that are folded into others as such variants.
    """

    source: str
    inplace: int
    out: int


@attrs.frozen
class Fold:
    """Functional entry with the entries of the variants that one declaration can derive from it."""

    functional: NativeFunction
    inplace: NativeFunction | None
    out: NativeFunction | None

    @property
    def is_structured(self) -> bool:
        """Return whether the out variant is structured and the others delegate to it."""
        return self.out is not None and isinstance(self.out.structure, Structured)


def write_module(
    entries: Iterable[NativeFunction], *, file: str = "native_functions.yaml", progress: Progress | None = None
) -> Written:
    """Return the source of a module that declares entries.

    Args:
        entries: in the order of the module; a folded entry is declared with its functional one.
        file: name of the entries' origin in the module's first line.
        progress: called after each entry with the number of entries done and their total.

    Raises:
        DeclarationError: an entry cannot be expressed as a declaration.
    """
    listed = tuple(entries)
    folds = folds_of(listed)
    folded = {id(function) for fold in folds.values() for function in (fold.inplace, fold.out) if function is not None}
    writer = Writer(listed)
    blocks = []
    for index, entry in enumerate(listed):
        if id(entry) not in folded:
            blocks.append(writer.declaration(folds.get(id(entry), Fold(entry, None, None))))
        if progress is not None:
            progress(index + 1, len(listed))
    head = HEADER.format(file=" ".join("".join(filter(str.isprintable, file)).replace("\\", "/").split('"')))
    source = "\n\n\n".join(["\n".join([head, *writer.imports()]), *writer.classes(), *blocks]) + "\n"
    counts = [sum(getattr(fold, which) is not None for fold in folds.values()) for which in ("inplace", "out")]
    return Written(source, *counts)


# ------------------------------------------------------------------------------------------------------------- folding


def folds_of(entries: tuple[NativeFunction, ...]) -> dict[int, Fold]:
    """Return the functional entries from which other entries can be derived, keyed by ``id``."""
    folds = {}
    for kinds in by_signature(entries).values():
        functional = kinds.get(SchemaKind.functional)
        if functional is None:
            continue
        out = kinds.get(SchemaKind.out)
        if out is not None and not _derives_out(functional, out):
            out = None
        inplace = kinds.get(SchemaKind.inplace)
        if inplace is not None and not _derives_inplace(functional, inplace, out):
            inplace = None
        if out is not None or inplace is not None:
            folds[id(functional)] = Fold(functional, inplace, out)
    return folds


def _derives_out(functional: NativeFunction, out: NativeFunction) -> bool:
    if not _go_together(functional, out, out):
        return False
    how = Out(_plain_name(out), args=[argument.name for argument in out.schema.out])
    return _derived(lambda: out_schema(functional.schema, how)) == out.schema


def _derives_inplace(functional: NativeFunction, inplace: NativeFunction, out: NativeFunction | None) -> bool:
    if not _go_together(functional, inplace, out):
        return False
    how = Inplace(_plain_name(inplace))
    return _derived(lambda: inplace_schema(functional.schema, how)) == inplace.schema


def _go_together(functional: NativeFunction, variant: NativeFunction, out: NativeFunction | None) -> bool:
    """Return whether one declaration can express how two entries are structured (delegates, structured kernels)."""
    if functional.name.namespace != variant.name.namespace:
        return False
    if out is None or not isinstance(out.structure, Structured):
        return not isinstance(functional.structure, Structured) and functional.structure == variant.structure
    wanted = Delegate(attrs.evolve(out.name, namespace=None))
    return all(function is out or function.structure == wanted for function in (functional, variant))


def _plain_name(entry: NativeFunction) -> str:
    return str(attrs.evolve(entry.name, namespace=None))


def _derived(derive: Callable[[], FunctionSchema]) -> FunctionSchema | None:
    try:
        return derive()
    except DeclarationError:
        return None


# ------------------------------------------------------------------------------------------------------------- writing


class Writer:
    """Generator of the source of declarations, and of the imports and classes that they need."""

    def __init__(self, entries: tuple[NativeFunction, ...]) -> None:
        self.expressions = Expressions()
        self.packets: dict[str, str] = {}
        self.taken: set[str] = set(LANGUAGE | OF_MODULES)
        self.tries: Counter[str] = Counter()
        self.bases = {entry.name.base for entry in entries}

    def imports(self) -> list[str]:
        """Return the lines of the import statements that the generated declarations need."""
        homes: dict[str, list[str]] = {}
        for name in sorted(self.expressions.names | ({"ClassVar"} if self.expressions.classes else set())):
            homes.setdefault(HOMES.get(name, "opdsl"), []).append(name)
        lines = []
        for home in sorted(homes, key=lambda text: (text != "typing", text)):
            line = f"from {home} import {', '.join(homes[home])}"
            lines.append(
                line if len(line) <= WIDTH else rendered(Group(f"from {home} import (", tuple(homes[home]), ")"))
            )
            lines += [""] * (home == "typing")
        return lines

    def classes(self) -> list[str]:
        """Return the source of placeholder classes for custom class types."""
        return [
            f"class {name}:\n    __schema_type__: ClassVar[str] = {quoted(text)}"
            for text, name in self.expressions.classes.items()
        ]

    def declaration(self, fold: Fold) -> str:
        """Return the source of one declaration: its decorator and its ``def``."""
        entry = fold.functional
        # Types are named before functions, so that no function gets the name of a type.
        signature = self._signature(entry.schema)
        options = options_of(entry, self.expressions)
        if fold.is_structured:
            options.pop("structured_delegate", None)
        if fold.inplace is not None:
            options["inplace"] = self._inplace(fold.inplace, fold)
        if fold.out is not None:
            options["out"] = self._out(fold.out, fold)
        decorator, name = self._decorator(entry)
        call = Group(f"@{decorator[0]}(", (decorator[1], *_keywords(options)), ")")
        return f"{rendered(call)}\n{self._definition(name, entry.schema, signature)}"

    def _definition(self, name: str, schema: FunctionSchema, signature: tuple[tuple[str, ...], str]) -> str:
        """Return the source of a ``def``, with a long return annotation broken into lines."""
        text = rendered(Group(f"def {name}(", *signature))
        above, newline, last = text.rpartition("\n")
        if len(last) <= WIDTH or len(schema.returns) < 2:
            return text
        head = last[: last.index("tuple[") + len("tuple[")]
        parts = tuple(
            self.expressions.annotation(returned.type, returned.alias, returned.name) for returned in schema.returns
        )
        return f"{above}{newline}{rendered(Group(head, parts, ']: ...'))}"

    def _decorator(self, entry: NativeFunction) -> tuple[tuple[str, str], str]:
        """Return the decorator of a declaration and its function's name: ``op`` for the first of a packet, else
        ``.overload``.
        """
        operator_name = entry.name
        packet = self.packets.get(operator_name.packet)
        if packet is not None:
            wanted = f"{operator_name.base}_{operator_name.overload or 'default'}"
            return (f"{packet}.overload", quoted(operator_name.overload)), self._function(wanted, self.bases)
        function = self.packets[operator_name.packet] = self._function(
            operator_name.base, self.bases - {operator_name.base}
        )
        full = f"{operator_name.namespace or DEFAULT_NAMESPACE}::{_plain_name(entry)}"
        return (self.expressions.use("op"), quoted(full)), function

    def _function(self, wanted: str, others: Set[str]) -> str:
        """Return a function name that is unique in the module."""
        first = name = f"_{wanted}" if wanted[:1].isdigit() else wanted
        while name in self.taken or name in others or name in FORBIDDEN or issoftkeyword(name):
            self.tries[first] += 1
            name = f"{first}_op{self.tries[first] if self.tries[first] > 1 else ''}"
        self.taken.add(name)
        return name

    def _inplace(self, inplace: NativeFunction, fold: Fold) -> Group | str:
        base = fold.functional
        rule = inplace_schema(base.schema, Inplace())
        positional = [] if rule.name == inplace.name else [quoted(_plain_name(inplace))]
        options = variant_options(inplace, base, self.expressions, is_structured=fold.is_structured)
        return self._variant("Inplace", positional, options)

    def _out(self, out: NativeFunction, fold: Fold) -> Group | str:
        base = fold.functional
        options: Options = {}
        rule = out_schema(base.schema, Out())
        names = [argument.name for argument in out.schema.out]
        if [argument.name for argument in rule.out] != names:
            options["args"] = f"({', '.join(map(quoted, names))}{',' * (len(names) == 1)})"
        if not fold.is_structured:
            options["explicit"] = "True"
        options |= variant_options(out, base, self.expressions, is_structured=fold.is_structured)
        positional = [] if rule.name == out.name else [quoted(_plain_name(out))]
        return self._variant("Out", positional, options)

    def _variant(self, kind: str, positional: list[str], options: Options) -> Group | str:
        if not positional and not options:
            return "True"
        return Group(f"{self.expressions.use(kind)}(", (*positional, *_keywords(options)), ")")

    # --------------------------------------------------------------------------------------------------- signatures

    def _signature(self, schema: FunctionSchema) -> tuple[tuple[str, ...], str]:
        """Return the source of a ``def``'s parameters, and the text that follows them."""
        parameters = [self._parameter(argument) for argument in schema.positional]
        keywords = self._keywords(schema)
        if keywords:
            parameters += ["*", *keywords]
        return tuple(parameters), f") -> {self.expressions.returns(schema.returns)}: ..."

    def _keywords(self, schema: FunctionSchema) -> list[str]:
        arguments = schema.keyword_only + schema.out
        options = schema.tensor_options
        if not options or not all(_is_option(*pair) for pair in zip(options, TENSOR_OPTIONS, strict=True)):
            return [self._parameter(argument) for argument in arguments]
        start = arguments.index(options[0])
        before, after = arguments[:start], arguments[start + len(options) :]
        together = f"options: {self.expressions.use('TensorOptions')}"
        return [*map(self._parameter, before), together, *map(self._parameter, after)]

    def _parameter(self, argument: Argument) -> str:
        own_name = argument.name if argument.python_name != argument.name else None
        annotation = self.expressions.annotation(argument.type, argument.alias, own_name)
        text = f"{argument.python_name}: {annotation}"
        return text if argument.default is None else f"{text} = {self.expressions.default(argument)}"


def _is_option(argument: Argument, option: tuple[str, BaseType]) -> bool:
    """Return whether an argument is equal to the one that ``options: TensorOptions`` denotes."""
    if argument.default is None or argument.default.text != "None":
        return False
    return (argument.name, argument.type) == (option[0], OptionalType(option[1]))


def _keywords(options: Options) -> tuple[Group | str, ...]:
    """Return options as the source of keyword arguments."""
    return tuple(
        value._replace(head=f"{key}={value.head}") if isinstance(value, Group) else f"{key}={value}"
        for key, value in options.items()
    )
