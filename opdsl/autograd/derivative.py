"""Derivatives of operators: declared formulas, and their protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import Any, NamedTuple, Protocol

from opdsl.dispatch.layers.checked import require_annotated
from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.errors import GradientError, KernelSignatureError
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import (
    GRADIENTS,
    OUTPUT_MASK,
    Fault,
    derivative_fault,
    differentiable_fault,
    gradients_fault,
    result_names,
    returned_lengths,
)

__all__ = ["DeclaredDerivative", "Derivative", "Formula", "consumed", "reaching", "summed_to", "whole_gradients"]

# Parameters of declared formulas besides arguments and results of the operator.
_GIVEN = (*GRADIENTS, OUTPUT_MASK)

_VARIABLE = 0x04 | 0x08  # CO_VARARGS | CO_VARKEYWORDS


class Formula(NamedTuple):
    """Function that computes gradients of some arguments from those of the results.

    names: the arguments whose gradients it computes, in order.
    run: ``run(gradients, values, asked)``: the gradients of the results, the values that it ``reads`` by name, and for
        each of ``names`` whether its gradient is needed; returns a gradient for each of ``names``.
    reads: the arguments and results that it needs.
    forms: those of which it reads no elements.
    takes_all: whether it takes the gradients of all results, and not of the first alone.
    is_traceable: whether it only calls operators, as ``traceable`` promises.
    direct: for a formula that is an operator, for another framework's engine: a function of the first result's gradient
        and some arguments, by position; these arguments; and those of ``names`` that it returns gradients for, the
        gradients of others being that gradient.
    may_be_narrow: whether ``direct`` may return zeros of smaller shapes than an argument's, which ``reaching`` expands.
    unread: from the arguments of a call, by name, to those of ``reads`` whose elements are not read for these, in
        addition to ``forms``. It reads only dtype and number of dimensions of tensors.
    consumes: arguments that ``run`` may overwrite if ``consumed`` contains them: their memory is not shared then.
    takes_undefined: whether ``run`` takes None for the gradient of a result that nothing uses. Others get zeros, which
        make NaN of the infinite derivatives of such a result.
    """

    names: tuple[str, ...]
    run: Callable[[tuple[Any, ...], Mapping[str, Any], tuple[bool, ...]], Sequence[Any]]
    reads: tuple[str, ...]
    forms: frozenset[str]
    takes_all: bool
    is_traceable: bool = False
    direct: tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]] | None = None
    may_be_narrow: bool = False
    unread: Callable[[Mapping[str, Any]], frozenset[str]] | None = None
    consumes: tuple[str, ...] = ()
    takes_undefined: bool = False

    def unread_for(self, values: Mapping[str, Any]) -> frozenset[str]:
        """Return the result of ``unread``; an empty set without one."""
        return frozenset() if self.unread is None else self.unread(values)


consumed: ContextVar[frozenset[str]] = ContextVar("consumed", default=frozenset())
"""Names of the arguments whose memory the running derivative formula may overwrite."""


def reaching(gradient: Any, argument: Any) -> Any:
    """Return a gradient in a shape that sums to the argument's, or zeros for an argument that no result depends on.

    Args:
        gradient: in the shape of the results; None for none.
        argument: the tensor that it is the gradient of; another framework's, too.
    """
    if gradient is None:
        return None
    shape, own = gradient.shape, argument.shape
    before = len(shape) - len(own)
    if before >= 0 and all(map(_broadcasts, own, shape[before:])):
        return gradient
    return gradient.new_zeros(()).expand(own)


def _broadcasts(size: Any, target: Any) -> bool:
    """Return whether a size broadcasts to another one; for data-dependent sizes without a guard on their value."""
    return bool(size == 1 or size == target) if isinstance(size, int) else bool(size == target or size == 1)


def _is_summed(size: Any, target: Any) -> bool:
    """Return whether a dimension was broadcast from a size; a dimension of static size 1 counts as broadcast to a
    data-dependent size.
    """
    if isinstance(size, int) and size == 1:
        return not (isinstance(target, int) and target == 1)
    return bool(size != target)


whole_gradients: ContextVar[bool] = ContextVar("whole_gradients", default=False)
"""Whether derivative formulas return gradients in the shape of the results, not summed to the shapes of broadcast
arguments, for callers that read them element by element.
"""


def summed_to(gradient: Any, shape: Sequence[int]) -> Any:
    """Sum a gradient over the dimensions that were broadcast.

    Raises:
        GradientError: the shapes do not broadcast.
    """
    if gradient.shape == shape:
        return gradient
    before = gradient.ndim - len(shape)
    if before < 0 or not all(map(_broadcasts, shape, gradient.shape[before:])):
        raise GradientError(
            f"a gradient has shape {list(gradient.shape)}, but its tensor has shape {list(shape)}. Return a gradient "
            "of that shape from the derivative."
        )
    sizes = (1,) * before + tuple(shape)
    dims = [at for at, (size, target) in enumerate(zip(sizes, gradient.shape, strict=True)) if _is_summed(size, target)]
    dims = [*range(before), *(at for at in dims if at >= before)]
    return gradient.sum(dims, keepdim=True).reshape(shape)


class Derivative(Protocol):
    """Protocol of derivatives: how an operator's arguments get their gradients."""

    def formulas(self, required: Sequence[str], *, is_complex: bool) -> Sequence[Formula] | None:
        """Return the formulas that compute the gradients of the required arguments; None if one of them has none."""

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """Return for each result whether gradients flow through it, if its dtype has gradients."""

    @property
    def non_differentiable(self) -> frozenset[str]:
        """Return the names of arguments that get no gradients."""


class FunctionalDerivative:
    """Derivative of a functional variant, from that of the operator that writes an argument besides its results.

    A written argument that the other's formulas read is a result here.

    Args:
        derivative: of the operator that writes.
        mutable, functional: the schemas.
    """

    def __init__(self, derivative: Derivative, mutable: FunctionSchema, functional: FunctionSchema) -> None:
        self.derivative = derivative
        self.mutable = mutable
        written = [argument.python_name for argument in mutable.written_arguments]
        self.names = dict(zip(written, result_names(functional)[len(mutable.returns) :], strict=True))

    @property
    def non_differentiable(self) -> frozenset[str]:
        """See ``Derivative``."""
        return self.derivative.non_differentiable

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``."""
        formulas = self.derivative.formulas(required, is_complex=is_complex)
        return None if formulas is None else [self._renamed(formula) for formula in formulas]

    def _renamed(self, formula: Formula) -> Formula:
        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            return formula.run(gradients, {name: values[self.names.get(name, name)] for name in formula.reads}, asked)

        reads = tuple(self.names.get(read, read) for read in formula.reads)
        forms = frozenset(self.names.get(form, form) for form in formula.forms)
        return formula._replace(run=run, reads=reads, forms=forms, direct=None, unread=None)

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: written arguments have no gradient."""
        return (*self.derivative.differentiable_results(self.mutable), *(False for _ in self.names))


class Declared(NamedTuple):
    """Declared formula: the arguments whose gradients it computes, the Python function and its parameters."""

    names: tuple[str, ...]
    function: FunctionType
    parameters: tuple[str, ...]

    @property
    def takes_all(self) -> bool:
        """Return whether the formula takes the gradients of all results."""
        return "grads" in self.parameters


class DeclaredDerivative:
    """Derivative that consists of declared formulas, which an author attaches to an operator.

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

    def copy(self) -> DeclaredDerivative:
        """Return a copy to which formulas can be added."""
        copy = DeclaredDerivative(self.schema, self.name)
        copy.declared, copy.without, copy.results = [*self.declared], {*self.without}, self.results
        return copy

    @property
    def non_differentiable(self) -> frozenset[str]:
        """See ``Derivative``."""
        return frozenset(self.without)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``."""
        relevant = [declared for declared in self.declared if not set(declared.names).isdisjoint(required)]
        covered = {name for declared in relevant for name in declared.names}
        return [self._formula(declared) for declared in relevant] if covered.issuperset(required) else None

    def _formula(self, declared: Declared) -> Formula:
        from opdsl.autograd.saving import form_only  # parses the function's source

        names, function, parameters = declared
        formula = self._formulas.get(function)
        if formula is None:
            reads = tuple(parameter for parameter in parameters if parameter not in _GIVEN)
            run = _runner(function, names, parameters, f"{self.name}: the derivative {function.__name__}")
            forms, promised = form_only(function), is_traceable(function)
            formula = Formula(names, run, reads, forms, declared.takes_all, is_traceable=promised)
            self._formulas[function] = formula
        return formula

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``; formulas that read only ``grad`` make the first result alone differentiable."""
        if self.results is not None:
            return self.results
        count = len(schema.returns)
        if count > 1 and self.declared and not any(declared.takes_all for declared in self.declared):
            return (True,) + (False,) * (count - 1)
        return (True,) * count

    def add(self, names: Iterable[str], function: FunctionType) -> None:
        """Add a formula.

        Args:
            names: the arguments whose gradients it computes.
            function: its parameters are ``grad`` (of the first result) or ``grads`` (a tuple), and, by name, any
                arguments and results of the schema; ``output_mask`` has a bool for each gradient: whether it is needed.

        Raises:
            KernelSignatureError: a name is no tensor argument, has a formula already, or a parameter is unknown.
        """
        wanted = tuple(names)
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        fault = derivative_fault(self.schema, wanted, parameters) or gradients_fault(
            self.schema, wanted, returned_lengths(code)
        )
        if code.co_flags & _VARIABLE:
            fault = Fault("it takes *args or **kwargs", "Name each parameter")
        if fault is not None:
            raise self._error(function, fault)
        self._check_free(wanted, function)
        self.declared.append(Declared(wanted, function, parameters))

    def exclude(self, names: Iterable[str]) -> None:
        """Declare that arguments get no gradients.

        Raises:
            KernelSignatureError: a name is no tensor argument, or has a formula.
        """
        wanted = tuple(names)
        fault = differentiable_fault(self.schema, wanted)
        if fault is not None:
            raise self._error(None, fault)
        self._check_free(wanted, None)
        self.without.update(wanted)

    def _check_free(self, names: Sequence[str], function: FunctionType | None) -> None:
        taken = {name for declared in self.declared for name in declared.names} | self.without
        for name in names:
            if name in taken:
                raise self._error(function, Fault(f"{name!r} has a formula already", "Remove one of them"))

    def _error(self, function: FunctionType | None, fault: Fault) -> KernelSignatureError:
        place, what = "", "non_differentiable"
        if function is not None:
            code = function.__code__
            place, what = f"{code.co_filename}:{code.co_firstlineno}: ", function.__name__
        return KernelSignatureError(
            f"{place}{self.name}: the derivative {what} does not fit: {fault.problem}. {fault.remedy}."
        )


def _runner(function: FunctionType, names: tuple[str, ...], parameters: Sequence[str], what: str) -> Callable[..., Any]:
    """Wrap a declared formula as ``Formula.run``."""
    is_annotated = "return" in function.__annotations__

    def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
        special = {"grad": gradients[0], "grads": gradients, OUTPUT_MASK: asked}
        arguments = {
            parameter: special[parameter] if parameter in special else values[parameter] for parameter in parameters
        }
        result = function(**arguments)
        if is_annotated:
            require_annotated(what, function, result)
        if len(names) == 1:
            return (result,)
        if not isinstance(result, (tuple, list)) or len(result) != len(names):
            raise GradientError(
                f"{what} returned {type(result).__name__} for the gradients of {', '.join(names)}. "
                f"Return a tuple of {len(names)}."
            )
        return result

    return run
