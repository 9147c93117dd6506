"""Law 5: first and second gradients agree with finite differences, and forward mode with reverse mode.

Outputs without incoming gradient count as zero gradients, and an argument's gradient does not depend on which other
arguments require grad. Samples are converted to double precision. A floating-point argument has a derivative, or is
declared ``non_differentiable`` and gets no gradient. A composite has the derivatives of the operators that it calls, so
that a missing one is reported for these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from opdsl.autograd import grad
from opdsl.errors import GradientError, LawError, MissingDerivativeError
from opdsl.runtime import DType, Tensor, complex128, float64, get_rng_state, manual_seed, set_rng_state
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema import SchemaKind
from opdsl.testing.gradients import GradientCheck, gradient_of, random_like
from opdsl.testing.sample import Sample
from opdsl.testing.samples import REFUSALS
from opdsl.testing.subject import Subject

_RANDOM = "nondeterministic_seeded"

# Message about an argument without derivative.
NO_DERIVATIVE = (
    'no derivative: declare one with .derivative("{0}"), or say that there is none with .non_differentiable("{0}")'
)


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    if subject.operator.schema.kind not in (SchemaKind.functional, SchemaKind.inplace):
        return
    underived: dict[str, None] = {}
    with random_state_kept():
        for sample in subject.samples:
            call = Call(subject, sample)
            try:
                faults = list(_faults(call)) if call.is_taken() else []
            except (LawError, GradientError) as error:
                faults = [str(error)]
            underived |= dict.fromkeys(call.underived)
            yield from (f"{sample}: {text}" for text in faults)
    if not subject.is_composite:
        yield from (f"{name} has {NO_DERIVATIVE.format(name)}" for name in underived)


def _faults(call: Call) -> Iterator[str]:
    yield from call.leaks()
    inputs = call.followed()
    if not inputs or call.is_unrelated(inputs):
        return
    partly = not call.is_finite()
    first = GradientCheck(call, inputs, names=call.names, finite_only=partly)
    first.projections()
    first.tangents()
    first.determinism()
    first.undefined()
    yield from _alone(call, inputs)
    gradient, more = gradient_of(call, inputs)
    if gradient(*more):
        names = [*call.names, *(f"the gradient of output {at}" for at in range(len(more) - len(inputs)))]
        GradientCheck(gradient, more, names=names, finite_only=partly).projections()


def _alone(call: Call, inputs: Sequence[Tensor]) -> Iterator[str]:
    """Check that an argument's gradient is the same whether or not other gradients are wanted (``output_mask``)."""
    wanted = [at for at, input in enumerate(inputs) if input.requires_grad]
    if len(wanted) < 2:
        return
    for at, expected in zip(wanted, call.gradients(inputs), strict=True):
        result = call.lone[at]
        if not numpy.allclose(numpy.asarray(result), numpy.asarray(expected), rtol=1e-9, atol=1e-12, equal_nan=True):
            yield f"{call.names[at]} gets another gradient where it alone requires grad"


def _cloned(value: Any) -> Any:
    return [tensor.clone() for tensor in value] if isinstance(value, (list, tuple)) else value.clone()


class Call:
    """Sample in double precision, as a function of its tensors that can have gradients.

    names: of the tensors, after their arguments.
    owners: the arguments that the tensors belong to.
    tensors: their values in the sample.
    underived: the arguments that have turned out to have no derivative.
    lone: the gradients of differentiable tensors, by index, each computed where it alone requires grad.
    """

    def __init__(self, subject: Subject, sample: Sample) -> None:
        self.operator = subject.operator
        self.function = subject.function
        self.__name__ = self.operator.name
        self.writes = self.operator.schema.kind is SchemaKind.inplace
        copy = sample.copy()
        names = [argument.python_name for argument in self.operator.schema.positional]
        self.positional = len(copy.positional)
        self.arguments = {**dict(zip(names, map(_doubled, copy.positional), strict=False))}
        self.arguments |= {name: _doubled(value) for name, value in copy.named.items()}
        self.names: list[str] = []
        self.owners: list[str] = []
        self.tensors: list[Tensor] = []
        self.underived: list[str] = []
        self.lone: dict[int, Tensor] = {}
        for name, value in self.arguments.items():
            tensors = [tensor for tensor in tensors_in(value) if _has_gradients(tensor)]
            self.names += [f"{name}[{at}]" if isinstance(value, (list, tuple)) else name for at in range(len(tensors))]
            self.owners += [name] * len(tensors)
            self.tensors += tensors

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Return the results that require grad, for the given tensors."""
        return tuple(result for result in self.results(*tensors) if result.requires_grad)

    def results(self, *tensors: Tensor) -> list[Tensor]:
        """Return all results that are tensors, for the given tensors."""
        manual_seed(0)  # makes random operators deterministic
        replacements = iter(tensors)
        arguments = [_replaced(argument, replacements) for argument in self.arguments.values()]
        if self.writes:
            arguments[0] = _cloned(arguments[0])
        named = dict(zip(list(self.arguments)[self.positional :], arguments[self.positional :], strict=True))
        function = self.function(*arguments[: self.positional], **named)
        return list(tensors_in(arguments[0] if self.writes and not self.operator.schema.returns else function))

    def is_taken(self) -> bool:
        """Return whether there are tensors that can have gradients, and the operator accepts the call in double
        precision.
        """
        try:
            return bool(self.tensors) and bool(self.results(*self.tensors))
        except REFUSALS:
            return False

    def is_finite(self) -> bool:
        """Return whether all results are finite numbers."""
        return all(bool(numpy.isfinite(numpy.asarray(result)).all()) for result in self.results(*self.tensors))

    def leaves(self, *places: int) -> list[Tensor]:
        """Return copies of the tensors, of which those at the given indices require grad."""
        return [tensor.detach().requires_grad_(at in places) for at, tensor in enumerate(self.tensors)]

    def gradients(self, inputs: Sequence[Tensor], results: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
        """Return the gradients of the inputs that require grad, for fixed gradients of the results.

        Args:
            inputs: of the call.
            results: of the call; computed by default.
        """
        random = numpy.random.default_rng(0)
        tensors = self.results(*inputs) if results is None else results
        pairs = [(tensor, random_like(tensor, random)) for tensor in filter(_has_gradients, tensors)]
        results, seeds = zip(*(pair for pair in pairs if pair[0].requires_grad), strict=True)
        return grad(results, [input for input in inputs if input.requires_grad], seeds, materialize_grads=True)

    def followed(self) -> list[Tensor]:
        """Return the tensors, with grad required for those that get gradients; an empty list if none does."""
        places = self.followed_places()
        return self.leaves(*places) if places else []

    def followed_places(self) -> list[int]:
        """Return the indices of the tensors that get gradients."""
        return [at for at in range(len(self.tensors)) if self._is_followed(at)]

    def _is_followed(self, at: int) -> bool:
        if self.owners[at] in self._silent:
            return False
        leaves = self.leaves(at)
        results = self.results(*leaves)
        if not any(result.requires_grad for result in results):
            return False
        try:
            (self.lone[at],) = self.gradients(leaves, results)
        except MissingDerivativeError:
            self.underived.append(self.owners[at])
            return False
        return True

    @property
    def _silent(self) -> frozenset[str]:
        """Return the arguments that are declared non-differentiable."""
        derivative = self.operator.derivative
        return frozenset() if derivative is None else derivative.non_differentiable

    def leaks(self) -> Iterator[str]:
        """Yield a violation if gradients reach arguments that are declared non-differentiable."""
        silent = self._silent
        places = [at for at, owner in enumerate(self.owners) if owner in silent]
        leaves = self.leaves(*places)
        if not places or not self(*leaves):
            return
        # An in-place operator's result still requires grad, but its gradient with respect to the argument is 0.
        if not self.writes or any(bool((gradient != 0).any()) for gradient in self.gradients(leaves)):
            yield f"{', '.join(sorted(silent))} is declared non_differentiable, but a result requires grad"

    def is_unrelated(self, inputs: Sequence[Tensor]) -> bool:
        """Return whether a random operator declares a zero gradient for all inputs, which finite differences cannot
        confirm.
        """
        return _RANDOM in self.operator.tags and not any(
            bool((gradient != 0).any()) for gradient in self.gradients(inputs)
        )


def _has_gradients(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _doubled(value: Any) -> Any:
    """Convert an argument to double precision."""
    dtype = value.dtype if isinstance(value, Tensor) else value
    if isinstance(dtype, DType):
        wide = complex128 if dtype.is_complex else float64 if dtype.is_floating_point else dtype
        return value.to(wide) if isinstance(value, Tensor) else wide
    return type(value)(map(_doubled, value)) if isinstance(value, (list, tuple)) else value


def _replaced(value: Any, tensors: Iterator[Tensor]) -> Any:
    """Replace the tensors in an argument that can have gradients by the next ones of an iterator."""
    if isinstance(value, Tensor):
        return next(tensors) if _has_gradients(value) else value
    return type(value)(_replaced(element, tensors) for element in value) if isinstance(value, (list, tuple)) else value


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Return a context manager that restores the state of the default generator."""
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
