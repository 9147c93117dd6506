"""Gradients of a formula as a traceable function: the formula is run and its calls are differentiated backward."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from opdsl.autograd.derivative import whole_gradients
from opdsl.dispatch import current
from opdsl.formulas.text import FormulaText
from opdsl.programs.reverse import followed, pulled_back
from opdsl.programs.tracer import Tracer
from opdsl.runtime import Tensor
from opdsl.runtime.scopes import Setting
from opdsl.scalar.source import FunctionSource

__all__ = ["FollowedText", "GradientText"]


class GradientText:
    """Function that computes the gradients of a formula by operators; it only runs in a trace.

    Args:
        text: the formula.
        names: names of its arguments.
        wanted: the arguments whose gradients are returned.
        results: number of the formula's results.
    """

    def __init__(self, text: FormulaText, names: tuple[str, ...], wanted: tuple[str, ...], results: int) -> None:
        self.text = text
        self.names = names
        self.wanted = wanted
        self.results = results
        self.order: int = 1 + (text.run.order if isinstance(text.run, GradientText) else 0)

    def __call__(self, *inputs: Any) -> Any:
        """Return a gradient for each wanted argument, given the gradients of the results and the arguments."""
        gradients, arguments = inputs[: self.results], inputs[self.results :]
        tracer = next(mode for mode in reversed(current.get().modes) if isinstance(mode, Tracer))
        begin = len(tracer.calls)
        outputs = self.text(*arguments)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        named = dict(zip(self.names, arguments, strict=True))
        required = {id(named[name]) for name in self.wanted}
        calls, _ = followed(tracer.calls[begin:], required)
        seeds: dict[int, tuple[Tensor, Tensor]] = {}
        for output, gradient in zip(outputs, gradients, strict=True):
            if gradient is None:
                continue
            known = seeds.get(id(output))
            seeds[id(output)] = (output, gradient if known is None else known[1] + gradient)
        with Setting(whole_gradients, True):
            tensors = pulled_back(calls, list(seeds.values()), _cast)
        wanted_gradients = tuple([_gradient_of(tensors.get(id(named[name])), named[name]) for name in self.wanted])
        return wanted_gradients if len(wanted_gradients) > 1 else wanted_gradients[0]


class FollowedText(FormulaText):
    """Formula that computes the gradients of another formula.

    Args:
        gradients: the function that computes them.
    """

    def __init__(self, gradients: GradientText) -> None:
        super().__init__(gradients.text.function, gradients, gradients.text.source)
        self._gradients = gradients

    @property
    def described(self) -> str:
        """See ``FormulaText``."""
        return self._gradients.text.described

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``FormulaText``."""
        return self._gradients.text.functions

    def source_for(self, arguments: Sequence[Any]) -> FunctionSource:
        """See ``FormulaText``."""
        return self._gradients.text.source_for(arguments[self._gradients.results :])


def _gradient_of(gradient: Tensor | None, leaf: Tensor) -> Tensor:
    return leaf.new_zeros(()) if gradient is None else gradient


def _cast(gradient: Tensor, form: Any) -> Tensor:
    """Convert a gradient to the dtype of its value; sums over broadcast dimensions are left to autograd."""
    return gradient if gradient.dtype is form.dtype else gradient.to(form.dtype)
