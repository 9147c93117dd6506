"""Scalar functions of a reduction: their validation, and their typing for a dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.errors import KernelSignatureError, ScalarFunctionError, UnsupportedDTypeError
from opdsl.kernels.calls import Folding
from opdsl.kernels.definitions.monoid import fits, initial, read_function, typed
from opdsl.kernels.definitions.reduction_dtypes import ACCUMULATOR_RULES, DTYPE_RULES, RESULT_RULES
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.numbers import Number
from opdsl.runtime.dtype import DType
from opdsl.schema.parameters import NUMBERS, Parameter, Role, names

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

Init = Number | tuple[Number, ...]


class Fold(NamedTuple):
    """Scalar functions of one case of a reduction, with their options.

    init, lift, combine, finish: see ``Folding``; None denotes the identity.
    accumulators, results: keys of ``ACCUMULATOR_RULES`` and ``RESULT_RULES``.
    promote: a key of ``DTYPE_RULES``.
    when: values of arguments for which it applies.
    tensors: the arguments whose elements ``lift`` takes.
    numbers: the arguments that ``finish`` takes.
    lifted_numbers: which of them ``lift`` takes.
    with_index: whether ``lift`` takes the index of an element.
    in_order: whether ``combine`` takes adjacent elements only, the earlier one first.
    needs_elements: whether reducing no elements is an error.
    empty_is_all: whether ``dim=[]`` means all dimensions.
    """

    init: tuple[Number, ...]
    lift: ScalarFunction | None
    combine: ScalarFunction
    finish: ScalarFunction | None
    accumulators: tuple[str, ...]
    results: tuple[str, ...]
    promote: str
    when: Mapping[str, object]
    tensors: tuple[str, ...]
    numbers: tuple[Parameter, ...]
    lifted_numbers: tuple[int, ...]
    with_index: bool
    in_order: bool
    needs_elements: bool
    empty_is_all: bool

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """Return the author's Python functions."""
        return tuple(
            function.source.function for function in (self.lift, self.combine, self.finish) if function is not None
        )

    def default(self, number: Parameter) -> Any:
        """Return the value of a number argument that is None: the default of ``finish``'s parameter."""
        if self.finish is None:
            return None
        index = len(self.accumulators) + 1 + self.numbers.index(number)
        return self.finish.defaults.get(self.finish.parameters[index])

    def folding(self, value: DType, results: Sequence[DType], numbers: Sequence[DType]) -> Folding:
        """Return the functions typed for a call.

        Args:
            value: the dtype that is reduced.
            results: the dtypes of the results.
            numbers: those of the numbers.

        Raises:
            UnsupportedDTypeError: an operation does not exist for it.
        """
        accumulators = [ACCUMULATOR_RULES[accumulator](value).name for accumulator in self.accumulators]
        texts = [number.name for number in numbers]
        elements = [precision_of(value).name] * len(self.tensors)
        lifted = [*elements, *["int64"] * self.with_index, *(texts[at] for at in self.lifted_numbers)]
        try:
            return Folding(
                tuple(initial(number, kind) for number, kind in zip(self.init, accumulators, strict=True)),
                typed(self.lift, lifted, accumulators),
                typed(self.combine, accumulators * 2, accumulators),
                typed(self.finish, [*accumulators, "int64", *texts], [precision_of(kind).name for kind in results]),
                self.with_index,
                self.in_order,
                self.lifted_numbers,
            )
        except ScalarFunctionError as error:
            raise UnsupportedDTypeError(f"not implemented for '{value.scalar_type}': {error}") from error


def make_fold(
    combine: FunctionType | ScalarFunction,
    parameters: Sequence[Parameter],
    returns: int,
    refuse: Callable[[str], KernelSignatureError],
    *,
    init: Init,
    lift: FunctionType | ScalarFunction | None = None,
    finish: FunctionType | ScalarFunction | None = None,
    promote: str = "default",
    accumulators: Iterable[str] = ("value",),
    results: Iterable[str] | None = None,
    when: Mapping[str, object] | None = None,
    in_order: bool | None = None,
    needs_elements: bool = False,
    empty_is_all: bool = True,
    known: Mapping[str, object] | None = None,
) -> Fold:
    """Read the scalar functions of a reduction, and check them against the operator.

    Args:
        combine: see ``ReductionDefinition.add``, also for the options.
        parameters: the operator's arguments besides ``dim``, ``keepdim`` and ``dtype``.
        returns: how many results the operator has.
        refuse: makes an error from the description of a problem.
        known: constants for arguments, with which the functions are read.
    """
    kinds = tuple(accumulators)
    condition = dict(when or {})
    present = [
        parameter for parameter in parameters if parameter.name not in condition and parameter.name not in (known or ())
    ]
    tensors = tuple(parameter.name for parameter in present if parameter.role is Role.TENSOR)
    numbers = tuple(parameter for parameter in present if parameter.role is not Role.TENSOR)
    names_of_numbers = [number.name for number in numbers]
    lifting = None if lift is None else read_function(lift, known)
    further = () if lifting is None else lifting.parameters[len(tensors) :]
    indices = [text for text in further if text not in names_of_numbers]
    fold = Fold(
        init if isinstance(init, tuple) else (init,),
        lifting,
        read_function(combine, known),
        None if finish is None else read_function(finish, known),
        kinds,
        kinds if results is None else tuple(results),
        promote,
        condition,
        tensors,
        numbers,
        tuple(names_of_numbers.index(text) for text in further if text in names_of_numbers),
        bool(indices),
        bool(indices) if in_order is None else in_order,
        needs_elements,
        empty_is_all,
    )
    for holds, demand in _demands(fold, parameters, returns):
        if not holds:
            raise refuse(demand)
    return fold


def _demands(fold: Fold, parameters: Sequence[Parameter], returns: int) -> Iterable[tuple[bool, str]]:
    """Yield the conditions that a fold has to meet, each with its description for an error."""
    count, lift, finish, read = len(fold.accumulators), fold.lift, fold.finish, len(fold.tensors)
    unknown = [text for text in fold.when if text not in {parameter.name for parameter in parameters}]
    yield fold.promote in DTYPE_RULES, f"promote={fold.promote!r} is unknown; use one of {', '.join(DTYPE_RULES)}"
    yield set(fold.accumulators) <= set(ACCUMULATOR_RULES), f"accumulators are {', '.join(ACCUMULATOR_RULES)}"
    yield set(fold.results) <= set(RESULT_RULES), f"results are {', '.join(RESULT_RULES)}"
    yield not unknown, f"when={unknown} names no arguments"
    yield len(fold.init) == count, f"init has {len(fold.init)} values for {count} accumulators"
    yield len(fold.results) == returns, f"there are {len(fold.results)} results for {returns} returns"
    yield fits(fold.combine, 2 * count, count), f"combine takes {2 * count} accumulators and returns {count}"
    yield read > 0, "there is no tensor that is folded"
    yield count == 1 or lift is not None, "several accumulators need a lift"
    yield read == 1 or lift is not None, f"a lift is needed, which takes an element each of {', '.join(fold.tensors)}"
    if lift is not None:
        after = lift.parameters[read : read + fold.with_index]
        taken = read + fold.with_index + len(fold.lifted_numbers)
        in_place = not any(number.name in after for number in fold.numbers)
        wanted = f"elements of {' and '.join(fold.tensors)}, perhaps their index" + (
            f", then any of {names(fold.numbers)}" if fold.numbers else ""
        )
        yield in_place and len(lift.parameters) == taken, f"lift takes {wanted}"
        yield _fit(lift.parameters, fold.tensors), f"lift takes {wanted}, in this order"
        yield len(lift.results) == count, f"lift returns {count} accumulators"
    if finish is not None:
        wanted = f"{count} accumulators, the number of elements and {len(fold.numbers)} arguments"
        yield (
            fits(finish, count + 1 + len(fold.numbers), returns),
            f"finish takes {wanted}, and returns {returns} results",
        )
        texts = [number.name for number in fold.numbers]
        order = f"finish takes {wanted} in the order of the schema ({', '.join(texts)})"
        yield _fit(finish.parameters[count + 1 :], texts), order
    yield finish is not None or count == returns, "accumulators are no results: a finish is needed"
    yield (
        all(number.role in NUMBERS for number in fold.numbers),
        "arguments besides dim, keepdim and dtype are numbers, or chosen by their value with when=",
    )


def _fit(parameters: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the parameters, which are passed by position, are in order: none of them has the name of a wanted
    parameter at another position.
    """
    return all(name == text or name not in wanted for name, text in zip(parameters, wanted, strict=False))
