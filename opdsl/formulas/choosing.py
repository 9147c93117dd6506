"""Operators with several formulas, each for some dtypes or values of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from opdsl.declare.signature import location
from opdsl.errors import (
    ArgumentError,
    DuplicateOperatorError,
    KernelSignatureError,
    OpdslError,
    UnsupportedDTypeError,
)
from opdsl.formulas.text import FormulaText, Trial, promoted_dtype
from opdsl.runtime.dtype import DType
from opdsl.runtime.symbols import symbolic_kind
from opdsl.scalar.source import FunctionSource
from opdsl.schema import BaseType, FunctionSchema, Type
from opdsl.schema.defaults import fits, takes

__all__ = ["FormulaCase", "FormulaChoice"]


class FormulaCase:
    """Formula that is attached for some dtypes and values of arguments.

    Args:
        function: the user's function; it takes arguments of the operator by name.
        schema: the operator's schema.
        dtypes: kinds and names of dtypes to which its tensors are promoted; all dtypes if empty.
        when: values of arguments for which it is used.

    Raises:
        KernelSignatureError: an option names no argument, an impossible value of one, or no dtype.
    """

    def __init__(
        self, function: FunctionType, schema: FunctionSchema, dtypes: Sequence[str], when: Mapping[str, object]
    ) -> None:
        kinds = {argument.python_name: argument.type for argument in schema.arguments}
        for name, value in when.items():
            if name not in kinds:
                raise _unfit(
                    function, schema, f"when={when!r}: {name!r} is no argument", f"Name one of {_listed(kinds)}"
                )
            if value is not None and not isinstance(value, (bool, int, float, str)):
                problem = f"when={when!r}: {value!r} is no bool, number, text or None"
                raise _unfit(function, schema, problem, "Test for it within the formula by `if`")
            if not fits(value, kinds[name]):
                raise _unfit(
                    function, schema, f"when={when!r}: {name!r} is never {value!r}", f"It is {takes(kinds[name])}"
                )
        self.when = {name: _meant(value, kinds[name]) for name, value in when.items()}
        self.names = tuple(dtypes)
        self.text = FormulaText(function, dtypes=dtypes, names=tuple(kinds))

    def __str__(self) -> str:
        """Return the dtypes and values of the case as text: ``dtypes integer, mode='fast'``."""
        parts = [f"dtypes {', '.join(self.names)}"] if self.names else []
        return ", ".join([*parts, *[f"{name}={value!r}" for name, value in self.when.items()]]) or "all arguments"

    def takes(self, named: Mapping[str, Any]) -> bool:
        """Return whether argument values are those for which the formula is attached."""
        return all(_same(named[name], value) for name, value in self.when.items())

    def overlaps(self, other: FormulaCase) -> bool:
        """Return whether this case and another one both match some arguments."""
        shared = self.when.keys() & other.when.keys()
        agrees = all(_same(self.when[name], other.when[name]) for name in shared)
        return agrees and not self.text.dtypes.isdisjoint(other.text.dtypes)


class FormulaChoice(FormulaText):
    """Formulas of an operator, one of which each call selects by its argument values and dtypes.

    Args:
        schema: the operator's schema.
        declared: the declared body, used if no case matches; None if the declaration has no body.
        cases: the attached formulas.
        function: the declared function.

    Raises:
        DuplicateOperatorError: two cases match the same arguments, or the body would never be used.
    """

    def __init__(
        self,
        schema: FunctionSchema,
        declared: FormulaText | None,
        cases: Sequence[FormulaCase],
        function: FunctionType,
    ) -> None:
        super().__init__(function)
        self.declared = declared
        self.cases = tuple(cases)
        self.arguments = tuple(argument.python_name for argument in schema.arguments)
        self._require_one(schema)
        texts = [*([] if declared is None else [declared]), *[case.text for case in cases]]
        self.dtypes = frozenset[DType]().union(*[text.dtypes for text in texts])
        self._texts = tuple(texts)

    def _require_one(self, schema: FunctionSchema) -> None:
        *before, last = self.cases
        function = last.text.function
        other = next((case for case in before if case.overlaps(last)), None)
        if other is not None:
            raise DuplicateOperatorError(
                f"{location(function)}: {schema.name.qualified}: two formulas are for the same arguments: "
                f"{function.__name__} ({last}) and {other.text.function.__name__} ({other}), at "
                f"{location(other.text.function)}. Use other dtypes= or when= for one of them."
            )
        if self.declared is not None and not last.when and self.declared.dtypes <= last.text.dtypes:
            raise DuplicateOperatorError(
                f"{location(function)}: {schema.name.qualified}: with {function.__name__} ({last}), the body at "
                f"{location(self.declared.function)} would never be used. Restrict the formula by dtypes= or when=."
            )

    @property
    def described(self) -> str:
        """See ``FormulaText``."""
        return repr([text.described for text in self._texts] + [str(case) for case in self.cases])

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``FormulaText``."""
        return tuple(text.function for text in self._texts)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """See ``FormulaText``; returns the trials of all formulas."""
        taken = [case.text.dtypes for case in self.cases if not case.when]
        own = () if self.declared is None else (Trial(self.declared.dtypes.difference(*taken), {}),)
        return (*own, *[Trial(case.text.dtypes, case.when) for case in self.cases])

    @property
    def source(self) -> FunctionSource:
        """See ``FormulaText``; returns the source of the first formula."""
        return self._texts[0].source

    def source_for(self, arguments: Sequence[Any]) -> FunctionSource:
        """See ``FormulaText``."""
        return self.chosen(arguments).source

    def __call__(self, *arguments: Any) -> Any:
        """Run the formula that matches the arguments, operator by operator.

        Raises:
            ArgumentError: no formula matches the values of the arguments.
            UnsupportedDTypeError: no formula matches their dtype.
        """
        return self.chosen(arguments)(*arguments)

    def chosen(self, arguments: Sequence[Any]) -> FormulaText:
        """Return the formula that matches the arguments; raises as a call does."""
        named = dict(zip(self.arguments, arguments, strict=True))
        meant = [case for case in self.cases if case.takes(named)]
        dtype = promoted_dtype(arguments)
        for case in meant:
            if dtype is None or dtype in case.text.dtypes:
                return case.text
        if self.declared is not None and (dtype is None or dtype in self.declared.dtypes):
            return self.declared
        raise self._uncovered(named, dtype, bool(meant))

    def _uncovered(self, named: Mapping[str, Any], dtype: DType | None, is_meant: bool) -> OpdslError:
        """Return the error for a call that matches no formula.

        Args:
            named: its arguments, by name.
            dtype: promoted dtype of its tensors.
            is_meant: whether a formula matches the values of its arguments.
        """
        function_name = self.function.__name__
        there = "; ".join(f"{case.text.function.__name__} ({case})" for case in self.cases)
        if self.declared is not None:
            there += f"; the body (dtypes {', '.join(self.declared.names)})"
        if dtype is None or not (is_meant or self.declared is not None):
            options = dict.fromkeys(option for case in self.cases for option in case.when)
            asked = ", ".join(f"{option}={named[option]!r}" for option in options)
            return ArgumentError(f"{function_name}: no formula supports {asked}. Available: {there}.")
        return UnsupportedDTypeError(
            f"{function_name}: not implemented for '{dtype.scalar_type}' ({dtype.name}): no formula supports it. "
            f"Available: {there}. Convert the tensors with .to(dtype)."
        )


def _same(value: Any, wanted: object) -> bool:
    kind = symbolic_kind(value) or value.__class__
    return kind is wanted.__class__ and bool(value == wanted)


def _meant(value: object, kind: Type) -> object:
    """Convert the value of the option ``when`` to the type that calls pass: an int for a float argument becomes a
    float.
    """
    return float(value) if kind.base is BaseType.float and isinstance(value, int) else value


def _unfit(function: FunctionType, schema: FunctionSchema, problem: str, remedy: str) -> KernelSignatureError:
    return KernelSignatureError(
        f"{location(function)}: {schema.name.qualified}: the formula {function.__name__} does not fit {schema}: "
        f"{problem}. {remedy}."
    )


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(names)
