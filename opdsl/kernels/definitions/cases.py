"""Row kernels and scans that compare string arguments or test for None: one definition for each case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from opdsl.kernels.definitions.rowwise import Rowwise, RowwiseDefinition
from opdsl.kernels.definitions.structured import Arguments, CompiledCall, Definition, PreparedCall
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import optional_names, text_names

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

Case = tuple[Mapping[str, object], Mapping[str, object]]


def cases_of(functions: Sequence[object], schema: FunctionSchema, *, rows: bool = False) -> Iterator[Case]:
    """Yield the cases of string and None arguments that functions distinguish.

    Args:
        functions: Python functions of an author; other objects distinguish nothing.
        schema: of the operator.
        rows: whether they may fold rows.

    Returns:
        For each case the argument values that select it, and the constants with which the functions are read. The first
        case that matches a call applies; if no function distinguishes cases, there is a single one without values.

    Raises:
        ScalarFunctionError: a function contains an expression that no scalar graph can represent, in one of the cases.
    """
    written = [function for function in functions if isinstance(function, FunctionType)]
    texts, optional = text_names(schema), optional_names(schema)
    taken = {name for function in written for name in _parameters(function)}
    if taken.isdisjoint(texts | optional):
        yield {}, {}
        return
    from opdsl.scalar.cases import known_cases

    yield from known_cases(written, texts, optional, rows=rows)


def _parameters(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class CasesDefinition(Definition):
    """Definition of a row operator or a scan whose function compares strings or tests for None.

    Args:
        schema: of the operator.
        name: its name, for messages.
        kind: the class of the definition of each case.
    """

    __slots__ = ("cases", "definition_class")

    def __init__(self, schema: FunctionSchema, name: str, kind: type[RowwiseDefinition]) -> None:
        super().__init__(schema, name)
        self.definition_class = kind
        self.cases: list[tuple[Mapping[str, object], Any]] = []

    @property
    def derived_by(self) -> str:
        """See ``Definition.derived_by``."""
        return "opdsl.autograd.cases:CasesDerivative" if super().derived_by else ""

    def add(self, function: FunctionType, **options: Any) -> None:
        """Read the functions for each case; see ``add`` of the class of the cases' definitions."""
        functions = (function, *(option for name, option in options.items() if name != "meta"))
        for values, known in cases_of(functions, self.schema, rows="meta" in options):
            definition: Any = self.definition_class(self.schema, self.name)
            definition.add(function, known=known, **options)
            self.cases.append((values, definition))

    def case(self, arguments: Mapping[str, object]) -> int:
        """Return the index of the case that the arguments of a call select."""
        is_meant = (all(_is(arguments[name], value) for name, value in values.items()) for values, _ in self.cases)
        return list(is_meant).index(True)

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        kind: str = self.cases[0][1].kind
        return kind

    @property
    def decorator(self) -> str:
        """See ``Definition.decorator``."""
        decorator: str = self.cases[0][1].decorator
        return decorator

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``."""
        return [function for _, definition in self.cases for function in definition.latest()]

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        functions: tuple[FunctionType, ...] = self.cases[0][1].functions(key)
        return functions

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        named = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        prepared: PreparedCall = self.cases[self.case(named)][1].prepare(arguments, tensors)
        return prepared

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``."""
        _owner(prepared).check_given(prepared, spec, output, inplace=inplace)

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """See ``Definition.needs_proxy``."""
        return _owner(prepared).needs_proxy(prepared, spec, output, aliased=aliased)

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """See ``Definition.compile_call``."""
        return _owner(prepared).compile_call(prepared, arguments, outputs, key, allocate=allocate)


def _is(value: object, wanted: object) -> bool:
    return value is None if wanted is None else isinstance(value, str) and value == wanted


def _owner(prepared: PreparedCall) -> RowwiseDefinition:
    state: Rowwise = prepared.state
    return state.owner
