"""Formulas that are not elementwise: programs of a few kernels, fused from the operators that the formula calls."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.dispatch import current
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.errors import PositionError
from opdsl.formulas.forms import Form, form_of, leaves_of
from opdsl.formulas.needless import has_declared_gradients, has_needless_gradients
from opdsl.formulas.reading import forms_of, traced_formula
from opdsl.formulas.text import FormulaText
from opdsl.formulas.underlining import underlining_dims
from opdsl.programs.attention import with_attention
from opdsl.programs.compiled import FUSING_PASSES, UNFUSED_PASSES, optimised
from opdsl.programs.lifting import with_lifted_folds
from opdsl.programs.program import Program
from opdsl.runtime import Tensor, storage_root
from opdsl.runtime.device import backends
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import is_symbol
from opdsl.runtime.symbols import is_symbolic

__all__ = ["FormulaProgram", "recorded"]

_HOSTS = frozenset(("cpu", "meta"))

# Number of programs to keep per form; they differ in the outcomes of guards on sizes and numbers.
_MOST_PROGRAMS = 64


class _Reading(NamedTuple):
    """Programs of a formula for calls of one form with the same guards on sizes and numbers.

    fused: the program whose steps are kernels.
    recorded: the program for calls that need gradients: without folds of values that a fused kernel computes itself,
        and without fusion that would change gradients.
    """

    fused: Program
    recorded: Program


class FormulaProgram:
    """Formula compiled to programs, cached by the form of its arguments. It is called with all arguments in schema
    order.

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
        self._readings: dict[Form, tuple[_Reading, ...]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the program for the form of the arguments, tracing it if needed.

        Under a dispatch mode, in a trace, and on devices without a compiler the formula is run operator by operator.
        """
        leaves = leaves_of(arguments)
        if current.get().modes or any(map(_is_traced_elsewhere, leaves)) or any(map(_is_uncompiled, leaves)):
            with underlining_dims():
                return self.fresh(*arguments)
        form = form_of(self.names, arguments, current.get().default_dtype, with_layout=True)
        is_recorded = current.get().grad_mode and any(
            isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves
        )
        try:
            for reading in self._readings.get(form, ()):
                result = _run(reading, leaves, is_recorded)
                if result is not GUARD_FAILED:
                    return result
            return _run(self._read(form, arguments), leaves, is_recorded)
        except PositionError:
            self.fresh(*arguments)  # raises an error that names the read
            raise

    def fresh(self, *arguments: Any) -> Any:
        """Run the formula operator by operator; results that share memory with an argument or another result are
        copied.
        """
        results = self.text(*arguments)
        listed = list(results) if isinstance(results, (tuple, list)) else [results]
        known = [storage_root(tensor) for tensor in tensors_in(arguments)]
        for at, output in enumerate(listed):
            if isinstance(output, Tensor):
                root = storage_root(output)
                listed[at] = output.clone() if any(root is other for other in known) else output
                known.append(root)
        return tuple(listed) if isinstance(results, (tuple, list)) else listed[0]

    def _read(self, form: Form, arguments: Sequence[Any]) -> _Reading:
        """Trace the formula for some arguments and return the programs, which are cached (the latest ones).

        Raises:
            FormulaError: the source contains code that no kernel can be compiled from.
        """
        source = self.text.source_for(arguments)
        traced, _ = traced_formula(self.fresh, source, form, arguments, forms_of(arguments), is_masked=True)
        unfused = optimised(traced, UNFUSED_PASSES)  # without the lock, since user code runs
        fused = optimised(unfused, FUSING_PASSES)
        attending = with_attention(unfused)
        whole = fused if attending is unfused else optimised(attending, FUSING_PASSES)
        reading = _Reading(with_lifted_folds(whole), recorded(traced, fused))
        with self._lock:
            known = self._readings.get(form, ())
            self._readings[form] = (*known[-_MOST_PROGRAMS:], reading)
        return reading

    @property
    def readings(self) -> Mapping[Form, tuple[Program, ...]]:
        """Return the cached programs by form, for inspection."""
        return {
            form: tuple([reading.fused for reading in readings]) for form, readings in tuple(self._readings.items())
        }


def recorded(traced: Program, fused: Program) -> Program:
    """Return the program for calls that need gradients: the fused one, unless fusion changes gradients."""
    is_apart = has_needless_gradients(traced, fused) or has_declared_gradients(fused)
    return optimised(traced, UNFUSED_PASSES) if is_apart else fused


def _run(reading: _Reading, leaves: Sequence[Any], is_recorded: bool) -> Any:
    program = reading.recorded if is_recorded else reading.fused
    return program.function(*leaves, *program.constants.values())


def _is_uncompiled(value: Any) -> bool:
    """Return whether a tensor is on a device that has memory but no compiler."""
    kind = value.device.type if isinstance(value, Tensor) else "cpu"
    return kind not in _HOSTS and not backends.has(kind, "compiler")


def _is_traced_elsewhere(value: Any) -> bool:
    """Return whether a meta tensor has symbolic sizes of another library (such as PyTorch), for which no form can be
    made.
    """
    is_meta = isinstance(value, Tensor) and value.device.type == "meta"
    return is_meta and any(is_symbolic(size) and not is_symbol(size) for size in value.geometry.shape)
