"""Formulas that fold, or make other shapes: programs of few kernels, fused from what the text calls."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from opdsl.dispatch import current
from opdsl.dispatch.plans.forms import UNSERVED
from opdsl.errors import FormulaError
from opdsl.formulas.reading import Form, FormulaText, form_of, forms_of, is_leaf, traced_formula
from opdsl.programs.compiled import PASSES, optimised
from opdsl.programs.program import Program
from opdsl.runtime.forking import held_across_fork

__all__ = ["FormulaProgram"]

# More ways in which sizes and numbers decide what is computed are no branches that anybody wrote.
_MOST_PROGRAMS = 64


class FormulaProgram:
    """A formula as programs, one for each form of its arguments. Called with all of them, in the order of the schema.

    Args:
        text: the formula.
        names: of the arguments.
        name: of the operator, for messages.
    """

    def __init__(self, text: FormulaText, names: tuple[str, ...], name: str) -> None:
        self.text = text
        self.names = names
        self.name = name
        self._lock = held_across_fork(threading.Lock())
        self._programs: dict[Form, tuple[Program, ...]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the program of the arguments' form; where a mode looks on, or in a trace, what the text calls."""
        if current.get().modes:
            return self.text(*arguments)
        form = form_of(self.names, arguments, current.get().default_dtype, with_layout=True)
        leaves = [each for each in arguments if is_leaf(each)]
        for program in self._programs.get(form, ()):
            result = program.function(*leaves, *program.constants.values())
            if result is not UNSERVED:
                return result
        program = self.read(form, arguments)
        return program.function(*leaves, *program.constants.values())

    def read(self, form: Form, arguments: Sequence[Any]) -> Program:
        """Return a new program for some arguments, which is kept.

        Raises:
            FormulaError: the formula holds what no kernel can be made of, or decides by too many sizes.
        """
        traced, _ = traced_formula(self.text, form, arguments, forms_of(arguments))
        program = optimised(traced, PASSES)  # without the lock: the text is a user's
        with self._lock:
            known = self._programs.get(form, ())
            if len(known) >= _MOST_PROGRAMS:
                raise FormulaError(
                    f"{self.name}: sizes and numbers have decided in {_MOST_PROGRAMS} ways what is computed. Decide by "
                    "elements (opdsl.where), or take a body of @op, which Python runs."
                )
            self._programs[form] = (*known, program)
        return program

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs so far, to look at."""
        return tuple(program for each in self._programs.values() for program in each)
