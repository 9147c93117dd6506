"""What is known of an operator's gradients: declared formulas, or one derived from its scalar function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple, Protocol

from opdsl.errors import GradientError, KernelSignatureError
from opdsl.schema import Argument, FunctionSchema, ListType, OptionalType

__all__ = ["DeclaredDerivative", "Derivative", "Formula", "differentiable_names", "result_names"]

_MASK = "output_mask"

# Parameters of declared formulas that are no arguments or results of the operator.
_GIVEN = ("grad", "grads", _MASK)


class Formula(NamedTuple):
    """Gradients of some arguments, as a function of those of the results.

    names: the arguments whose gradients it gives, in order.
    run: ``run(gradients, values, asked)``: the gradients of the results, what it ``reads`` by name, and for each of
        ``names`` whether its gradient is asked for; returns a gradient for each of ``names``.
    reads: the arguments and results that it needs.
    forms: those of which it reads no elements.
    takes_all: whether it takes the gradients of all results, and not of the first alone.
    direct: for generated code, where there is such: a function of the first result's gradient and some arguments, by
        place; these arguments; and those of ``names`` that it returns gradients for, the others' being that gradient.
    """

    names: tuple[str, ...]
    run: Callable[[tuple[Any, ...], Mapping[str, Any], tuple[bool, ...]], Sequence[Any]]
    reads: tuple[str, ...]
    forms: frozenset[str]
    takes_all: bool
    direct: tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]] | None = None


class Derivative(Protocol):
    """How an operator's arguments get their gradients."""

    def formulas(self, required: Sequence[str], *, is_complex: bool) -> Sequence[Formula] | None:
        """The formulas that give the gradients of these arguments; None where one of them has none."""

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """For each result whether gradients come through it, where its dtype has any."""

    @property
    def non_differentiable(self) -> frozenset[str]:
        """Arguments that gradients do not go to."""


def is_differentiable(argument: Argument) -> bool:
    """Whether an argument is a tensor, or a list of them, or may be."""
    kind = argument.type
    while isinstance(kind, OptionalType | ListType):
        kind = kind.element
    return str(kind) == "Tensor"


def differentiable_names(schema: FunctionSchema) -> tuple[str, ...]:
    """The arguments that can have gradients; outputs are none."""
    outs = {each.name for each in schema.out}
    return tuple(each.python_name for each in schema.arguments if is_differentiable(each) and each.name not in outs)


def result_names(schema: FunctionSchema) -> tuple[str, ...]:
    """What formulas call the results: their names, or ``result``, or ``result0``, ``result1``, ..."""
    returns = schema.returns
    if len(returns) == 1:
        return (returns[0].name or "result",)
    return tuple(each.name or f"result{place}" for place, each in enumerate(returns))


class Declared(NamedTuple):
    """A formula as it was attached."""

    names: tuple[str, ...]
    function: FunctionType
    parameters: tuple[str, ...]

    @property
    def takes_all(self) -> bool:
        """Whether it takes the gradients of all results."""
        return "grads" in self.parameters


class DeclaredDerivative:
    """Formulas that were attached beneath an operator's declaration.

    Args:
        schema: of the operator.
        name: its name, for messages.
    """

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        self.schema = schema
        self.name = name
        self.declared: list[Declared] = []
        self.without: set[str] = set()
        self.results: tuple[bool, ...] | None = None
        self._formulas: dict[FunctionType, Formula] = {}

    @property
    def non_differentiable(self) -> frozenset[str]:
        """See ``Derivative``."""
        return frozenset(self.without)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``."""
        found = [each for each in self.declared if not set(each.names).isdisjoint(required)]
        covered = {name for each in found for name in each.names}
        return [self._formula(each) for each in found] if covered.issuperset(required) else None

    def _formula(self, declared: Declared) -> Formula:
        from opdsl.autograd.saving import form_only  # reads the function's text

        names, function, parameters = declared
        found = self._formulas.get(function)
        if found is None:
            reads = tuple(each for each in parameters if each not in _GIVEN)
            run = _runner(function, names, parameters, f"{self.name}: the derivative {function.__name__}")
            found = Formula(names, run, reads, form_only(function), declared.takes_all)
            self._formulas[function] = found
        return found

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``; a formula that reads only ``grad`` has the first result in mind."""
        if self.results is not None:
            return self.results
        count = len(schema.returns)
        if count > 1 and self.declared and not any(each.takes_all for each in self.declared):
            return (True,) + (False,) * (count - 1)
        return (True,) * count

    def add(self, names: Iterable[str], function: FunctionType) -> None:
        """Take a formula.

        Args:
            names: the arguments whose gradients it gives.
            function: its parameters are ``grad`` (of the first result) or ``grads`` (a tuple), and, by name, any
                arguments and results of the schema; ``output_mask`` tells which of several gradients are asked for.

        Raises:
            KernelSignatureError: a name is no tensor argument, has a formula already, or a parameter is unknown.
        """
        wanted = tuple(names)
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self._check_names(wanted, function)
        self._check_parameters(wanted, parameters, function)
        self.declared.append(Declared(wanted, function, parameters))

    def exclude(self, names: Iterable[str]) -> None:
        """Say that gradients do not go to these arguments.

        Raises:
            KernelSignatureError: a name is no tensor argument, or has a formula.
        """
        wanted = tuple(names)
        self._check_names(wanted, None)
        self.without.update(wanted)

    def _check_names(self, names: Sequence[str], function: FunctionType | None) -> None:
        known = differentiable_names(self.schema)
        if not names:
            raise self._error(function, "it names no argument", f"Name some of {', '.join(known)}")
        taken = {name for each in self.declared for name in each.names} | self.without
        for name in names:
            if name not in known:
                have = ", ".join(known) or "none"
                raise self._error(function, f"{name!r} is no tensor argument", f"Name some of: {have}")
            if name in taken or names.count(name) > 1:
                raise self._error(function, f"{name!r} has a formula already", "Remove one of them")

    def _check_parameters(self, names: Sequence[str], parameters: Sequence[str], function: FunctionType) -> None:
        arguments = [each.python_name for each in self.schema.arguments]
        known = {*_GIVEN, *arguments, *result_names(self.schema)}
        if function.__code__.co_flags & 0x0C:
            raise self._error(function, "it takes *args or **kwargs", "Name each parameter")
        for each in parameters:
            if each not in known:
                raise self._error(function, f"{each!r} is no argument and no result", f"There are {', '.join(known)}")
        if ("grad" in parameters) == ("grads" in parameters):
            problem = "it takes both grad and grads" if "grad" in parameters else "it takes neither grad nor grads"
            raise self._error(function, problem, "Take grad, the first result's gradient, or grads, a tuple of all")
        if _MASK in parameters and len(names) == 1:
            raise self._error(function, "output_mask is for several arguments", "Remove it")

    def _error(self, function: FunctionType | None, problem: str, remedy: str) -> KernelSignatureError:
        place, what = "", "non_differentiable"
        if function is not None:
            code = function.__code__
            place, what = f"{code.co_filename}:{code.co_firstlineno}: ", function.__name__
        return KernelSignatureError(f"{place}{self.name}: the derivative {what} does not fit: {problem}. {remedy}.")


def _runner(function: FunctionType, names: tuple[str, ...], parameters: Sequence[str], what: str) -> Callable[..., Any]:
    """A declared formula as ``Formula.run``."""

    def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
        special = {"grad": gradients[0], "grads": gradients, _MASK: asked}
        given = {name: special[name] if name in special else values[name] for name in parameters}
        result = function(**given)
        if len(names) == 1:
            return (result,)
        if not isinstance(result, (tuple, list)) or len(result) != len(names):
            raise GradientError(
                f"{what} returned {type(result).__name__} for the gradients of {', '.join(names)}. "
                f"Return a tuple of {len(names)}."
            )
        return result

    return run
