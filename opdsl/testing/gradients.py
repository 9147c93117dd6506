"""Comparison of gradients with finite differences.

All computations are with real numbers: a complex element counts as two, its real and imaginary part. The gradient of a
real number with respect to a complex one has the derivatives by these two as its parts (PyTorch's convention), so the
same comparison works for real and complex functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from opdsl.autograd import grad
from opdsl.autograd.functional import pushed
from opdsl.dispatch import no_grad
from opdsl.errors import GradientError, LawError
from opdsl.runtime import Tensor, complex128, float64

__all__ = ["gradcheck", "gradgradcheck"]

Function = Callable[..., Any]
_Array = numpy.ndarray[Any, Any]


class Tolerance(NamedTuple):
    """Step and tolerances of a gradient check.

    step: of the finite differences.
    absolute, relative: errors that are allowed.
    nondeterminism: how far two backward passes may differ.
    """

    step: float
    absolute: float
    relative: float
    nondeterminism: float


TOLERANCE = Tolerance(step=1e-6, absolute=1e-5, relative=1e-3, nondeterminism=0.0)


def gradcheck(
    function: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the gradients of a function with central finite differences.

    Args:
        function: takes ``inputs``, returns a tensor or several.
        inputs: arguments; the tensors that require grad are float64 or complex128, and their elements do not overlap.
        eps: the step of the differences.
        atol, rtol: errors that are allowed.
        raise_exception: whether a failure raises an error; otherwise False is returned.
        nondet_tol: how far two backward passes may differ.
        check_undefined_grad: whether to check gradients also where some of several outputs have no incoming gradient.
        fast_mode: whether random projections are compared instead of every entry of the Jacobian.

    Returns:
        Whether they agree.

    Raises:
        LawError: they disagree; the message names the entry, and shows the analytic and the numeric value.
        GradientError: an input is not float64 or complex128, or none requires grad.

    >>> import opdsl
    >>> x = opdsl.tensor([0.5, -2.0], dtype=opdsl.float64, requires_grad=True)
    >>> gradcheck(opdsl.tanh, x)
    True
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    check = GradientCheck(function, tensors, Tolerance(eps, atol, rtol, nondet_tol))
    try:
        if fast_mode:
            check.projections()
        else:
            check.entries()
        check.determinism()
        if check_undefined_grad:
            check.undefined()
    except LawError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    function: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the second gradients of a function with finite differences of the first.

    Args:
        function, inputs: see ``gradcheck``.
        grad_outputs: the outputs' gradients; random ones by default.
        eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, fast_mode: see ``gradcheck``.

    Returns:
        Whether they agree.

    Raises:
        LawError, GradientError: see ``gradcheck``.

    >>> import opdsl
    >>> x = opdsl.tensor([0.5, -2.0], dtype=opdsl.float64, requires_grad=True)
    >>> gradgradcheck(lambda x: opdsl.exp(x) * x, x)
    True
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    first, more = gradient_of(function, tensors, grad_outputs)
    return gradcheck(
        first,
        more,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        fast_mode=fast_mode,
    )


def gradient_of(
    function: Function, inputs: Sequence[Any], seeds: Sequence[Tensor] | None = None
) -> tuple[Function, list[Any]]:
    """Return the gradient of a function as a function of its inputs and of the gradients of its outputs.

    Args:
        function, inputs: the function and its arguments.
        seeds: the gradients of the outputs; random ones by default.

    Returns:
        The gradient function, and arguments for it.
    """
    random = numpy.random.default_rng(0)
    tensors = (
        seeds if seeds is not None else [random_like(tensor, random) for tensor in differentiable(function(*inputs))]
    )
    count = len(inputs)

    def first(*arguments: Any) -> tuple[Tensor, ...]:
        own, gradients = arguments[:count], arguments[count:]
        wanted = [leaf for leaf in own if isinstance(leaf, Tensor) and leaf.requires_grad]
        derivatives = grad(
            differentiable(function(*own)), wanted, gradients, create_graph=True, allow_unused=True,
            materialize_grads=True,
        )  # fmt: skip
        return tuple(derivative for derivative in derivatives if derivative.requires_grad)

    first.__name__ = f"the gradient of {getattr(function, '__name__', repr(function))}"
    return first, [*inputs, *(leaf.detach().requires_grad_() for leaf in tensors)]


class GradientCheck:
    """Comparison of a function's gradients with finite differences.

    wanted: indices of the inputs whose gradients are checked.
    names: of the inputs in messages; by default their indices.
    finite_only: whether entries are skipped whose gradients or differences are NaN or infinite.
    """

    def __init__(
        self,
        function: Function,
        inputs: list[Any],
        tolerance: Tolerance = TOLERANCE,
        *,
        names: Sequence[str] = (),
        finite_only: bool = False,
    ) -> None:
        self.function = function
        self.inputs = inputs
        self.tolerance = tolerance
        self.names = names or [f"input {at}" for at in range(len(inputs))]
        self.finite_only = finite_only
        self.name = getattr(function, "__name__", repr(function))
        self.wanted = [at for at, input in enumerate(inputs) if isinstance(input, Tensor) and input.requires_grad]
        if not self.wanted:
            raise GradientError(f"gradcheck of {self.name}: no input requires grad. Call requires_grad_() on one.")
        for at in self.wanted:
            if inputs[at].dtype not in (float64, complex128):
                raise GradientError(
                    f"gradcheck of {self.name}: input {at} is {inputs[at].dtype}, in which differences are too coarse. "
                    "Give float64 or complex128."
                )

    # ------------------------------------------------------------------------------------------------- evaluating

    def outputs(self) -> list[Tensor]:
        """Return the outputs that require grad."""
        return differentiable(self.function(*self.inputs))

    def gradients(self, outputs: Sequence[Tensor], seeds: Sequence[Tensor]) -> list[_Array]:
        """Return the gradients of the wanted inputs as real numbers."""
        gradients = grad(
            outputs, [self.inputs[at] for at in self.wanted], seeds, retain_graph=True, allow_unused=True,
            materialize_grads=True,
        )  # fmt: skip
        return [_real(gradient) for gradient in gradients]

    def values_beside(self, place: int, change: _Array) -> list[_Array]:
        """Return the outputs, as real numbers, after adding a change to one input."""
        source = self.inputs[place]
        moved = source.detach().clone()
        numbers = moved.numpy()
        numbers[...] = numbers + change
        inputs = [moved if at == place else input for at, input in enumerate(self.inputs)]
        moved.requires_grad_()  # needed by functions that compute gradients
        return [_real(tensor) for tensor in differentiable(self.function(*inputs))]

    def difference(self, place: int, change: _Array) -> list[_Array]:
        """Return the numeric derivative of the outputs in a direction of one input."""
        step = self.tolerance.step
        above, below = self.values_beside(place, change * step), self.values_beside(place, change * -step)
        return [(more - less) / (2 * step) for more, less in zip(above, below, strict=True)]

    # ------------------------------------------------------------------------------------------------- comparing

    def entries(self) -> None:
        """Compare every entry of the Jacobian."""
        outputs = self.outputs()
        gradients = [[self.gradients(outputs, seeds) for seeds in _basis(outputs, at)] for at in range(len(outputs))]
        for number, index in enumerate(self.wanted):
            for entry, change in enumerate(_directions(self.inputs[index])):
                for at, numeric in enumerate(self.difference(index, change)):
                    analytic = numpy.array([arrays[number][entry] for arrays in gradients[at]])
                    self.compare(analytic, numeric, at, index, entry)

    def projections(self) -> None:
        """Compare products of the Jacobian with random directions of inputs and outputs."""
        random = numpy.random.default_rng(0)
        outputs = self.outputs()
        directions = [random_like(self.inputs[index], random) for index in self.wanted]
        seeds = [random_like(output, random) for output in outputs]
        if self.finite_only:
            arrays = self.gradients(outputs, seeds)
            directions = [_masked(direction, [array]) for direction, array in zip(directions, arrays, strict=True)]
        differences = [
            self.difference(index, numpy.asarray(direction))
            for index, direction in zip(self.wanted, directions, strict=True)
        ]
        if self.finite_only:
            seeds = [_masked(seed, [difference[at] for difference in differences]) for at, seed in enumerate(seeds)]
        gradients = self.gradients(outputs, seeds)
        for number, index in enumerate(self.wanted):
            numeric = sum(map(_product, map(_real, seeds), differences[number]))
            analytic = _product(_real(directions[number]), gradients[number])
            self.compare(numpy.array([analytic]), numpy.array([numeric]), 0, index, 0)

    def compare(self, analytic: _Array, numeric: _Array, output: int, place: int, entry: int) -> None:
        """Raise an error for an entry whose analytic and numeric derivative differ."""
        close = numpy.isclose(
            analytic, numeric, atol=self.tolerance.absolute, rtol=self.tolerance.relative, equal_nan=True
        )
        if close.all():
            return
        row = int(numpy.argmin(close))
        raise LawError(
            f"{self.name}: the gradient of output {output} at {row} with respect to {self.names[place]} at {entry} is "
            f"{analytic[row]!r}, but finite differences give {numeric[row]!r}. "
            "(Entries are counted in row-major order; a complex one counts as two.)"
        )

    def tangents(self) -> None:
        """Check that forward mode and reverse mode agree, on random directions."""
        random = numpy.random.default_rng(0)
        outputs = self.outputs()
        directions = [random_like(self.inputs[index], random) for index in self.wanted]
        seeds = [random_like(output, random) for output in outputs]
        tensors = pushed(outputs, [self.inputs[index] for index in self.wanted], directions, create_graph=False)
        tangents = [(seed, tangent) for seed, tangent in zip(seeds, tensors, strict=True) if tangent is not None]
        forward = sum(_product(_real(seed), _real(tangent)) for seed, tangent in tangents)
        backward = sum(map(_product, map(_real, directions), self.gradients(outputs, seeds)))
        if self.finite_only and not (numpy.isfinite(forward) and numpy.isfinite(backward)):
            return
        if not numpy.isclose(forward, backward, atol=self.tolerance.absolute, rtol=self.tolerance.relative):
            raise LawError(
                f"{self.name}: forward mode gives {forward!r} between a direction of the inputs and one of the "
                f"outputs, but backward mode {backward!r}. Formulas have to be linear in the incoming gradients."
            )

    def determinism(self) -> None:
        """Check that two backward passes give equal gradients."""
        outputs = self.outputs()
        seeds = [random_like(output, numpy.random.default_rng(0)) for output in outputs]
        once, again = self.gradients(outputs, seeds), self.gradients(outputs, seeds)
        for index, first, second in zip(self.wanted, once, again, strict=True):
            if first.size and float(numpy.abs(first - second).max()) > self.tolerance.nondeterminism:
                raise LawError(
                    f"{self.name}: two backward passes give different gradients of {self.names[index]}. "
                    "Pass nondet_tol= if that is intended."
                )

    def undefined(self) -> None:
        """Check that an output without incoming gradient counts as one whose gradient is zero.

        Where the output's slope is infinite, zero times it is NaN, which a gradient need not be.
        """
        outputs = self.outputs()
        for at in range(len(outputs) if len(outputs) > 1 else 0):
            seeds = [random_like(output, numpy.random.default_rng(at)) for output in outputs]
            zeros = [seed * 0 if index != at else seed for index, seed in enumerate(seeds)]
            alone = self.gradients(outputs[at : at + 1], seeds[at : at + 1])
            for index, one, other in zip(self.wanted, alone, self.gradients(outputs, zeros), strict=True):
                known = ~numpy.isnan(other)
                if not numpy.allclose(one[known], other[known], atol=1e-12, rtol=1e-9, equal_nan=True):
                    raise LawError(
                        f"{self.name}: with gradients of output {at} alone, {self.names[index]} gets another gradient "
                        "than with zeros for the other outputs. Undefined gradients (None) have to count as zeros."
                    )


def differentiable(outputs: Any) -> list[Tensor]:
    """Return the outputs that require grad."""
    listed = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    return [tensor for tensor in listed if isinstance(tensor, Tensor) and tensor.requires_grad]


def _real(tensor: Tensor) -> _Array:
    """Return the elements as real numbers in row-major order."""
    with no_grad():
        numbers = numpy.ascontiguousarray(tensor.detach()).ravel()
    return numbers.view(numpy.float64) if tensor.dtype.is_complex else numbers.astype(numpy.float64)


def _masked(source: Tensor, numbers: Sequence[_Array]) -> Tensor:
    """Copy a tensor, with 0 where one of several arrays of its real numbers is not finite."""
    kept = numpy.logical_and.reduce([numpy.isfinite(number) for number in numbers])
    output = source.clone()
    array = output.numpy()
    array[...] = numpy.where(kept, _real(source), 0.0).view(array.dtype).reshape(source.shape)
    return output


def _product(weights: _Array, numbers: _Array) -> float:
    """Return the dot product, in which infinite numbers of weight 0 are ignored."""
    kept = weights != 0
    return float(weights[kept] @ numbers[kept])


def _directions(tensor: Tensor) -> Iterator[_Array]:
    """Yield a unit change for each real number of a tensor."""
    kind = numpy.complex128 if tensor.dtype.is_complex else numpy.float64
    for at in range(tensor.numel()):
        for unit in (1, 1j) if tensor.dtype.is_complex else (1,):
            change = numpy.zeros(tensor.numel(), kind)
            change[at] = unit
            yield change.reshape(tensor.shape)


def _basis(outputs: Sequence[Tensor], place: int) -> Iterator[list[Tensor]]:
    """Yield gradients of the outputs that select one real number of one output after another."""
    zeros = [output.detach() * 0 for output in outputs]
    for change in _directions(outputs[place]):
        seed = zeros[place].clone()
        seed.numpy()[...] = change
        yield [seed if at == place else zero for at, zero in enumerate(zeros)]


def random_like(tensor: Tensor, random: numpy.random.Generator) -> Tensor:
    """Return a tensor with the same shape and dtype and with random elements."""
    output = tensor.detach().clone()
    numbers = output.numpy()
    values: Any = random.standard_normal(tensor.shape)
    if tensor.dtype.is_complex:
        values = values + 1j * random.standard_normal(tensor.shape)
    numbers[...] = values
    return output
