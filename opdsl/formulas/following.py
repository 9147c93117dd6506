"""Runs a formula and follows back what it called: the text of its gradients."""

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
    """The gradients of a formula as a function of operators, that only traces run.

    Args:
        text: of the formula.
        names: of its arguments.
        wanted: of these, those whose gradients it gives.
        results: how many the formula has.
    """

    def __init__(self, text: FormulaText, names: tuple[str, ...], wanted: tuple[str, ...], results: int) -> None:
        self.text = text
        self.names = names
        self.wanted = wanted
        self.results = results
        self.order: int = 1 + (text.run.order if isinstance(text.run, GradientText) else 0)

    def __call__(self, *inputs: Any) -> Any:
        """Return a gradient for each wanted argument, of the gradients of the results and the arguments."""
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
    """The gradients of a formula as a formula.

    Args:
        gradients: as a function of operators.
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


def _gradient_of(gradient: Tensor | None, argument: Tensor) -> Tensor:
    return argument.new_zeros(()) if gradient is None else gradient


def _cast(gradient: Tensor, form: Any) -> Tensor:
    """Return a gradient in the dtype of what it is of; what broadcasting repeated the engine sums."""
    return gradient if gradient.dtype is form.dtype else gradient.to(form.dtype)
