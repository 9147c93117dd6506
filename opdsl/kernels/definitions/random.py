"""Random definitions: an element as a function of random numbers and of the operator's arguments.

The author writes how an element is computed from uniform numbers. Which numbers of the generator's sequence an element
gets depends on its index alone, so that every backend fills a tensor with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any, cast

from opdsl.errors import KernelError, KernelSignatureError
from opdsl.generated import function_from_source
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.kernels.definitions.structured import Definition, OperatorLike
from opdsl.kernels.iteration.numbers import floating
from opdsl.kernels.outputs import OutputSpec
from opdsl.kernels.primitives.random import block, fill_random_, inner, unit
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import draws_of, random_fault
from opdsl.schema.parameters import Role

_PAIRS = ("a, b", "c, d")
"""Pairs of words of a random block, one pair for each random number."""


class RandomDefinition(Definition):
    """Definition of an in-place operator that fills a tensor with random numbers.

    Args:
        schema: of the operator.
        name: its name, for messages.
    """

    __slots__ = ("check", "distribution", "function", "numbers")

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        super().__init__(schema, name)
        self.check: Callable[..., object] | None = None

    def add(self, function: FunctionType, *, from_zero: Collection[str] = ()) -> None:
        """Set the function that computes an element.

        Args:
            function: takes one or two random numbers, then arguments of the operator, and values that the shape
                function returns, by name.
            from_zero: names of random numbers in [0, 1); others are in (0, 1).

        Raises:
            ScalarFunctionError: the function contains an expression that no scalar graph can represent.
            KernelSignatureError: it does not fit the schema.
        """
        from opdsl.scalar import read

        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        fault = random_fault(self.schema, names)
        draws = draws_of(self.schema, names)
        unknown = next((text for text in from_zero if text not in draws), None)
        if unknown is not None:
            raise self._unfit(function, f"from_zero= names {unknown!r}", f"Random numbers are {', '.join(draws)}")
        if fault is not None:
            raise self._unfit(function, fault.problem, fault.remedy)
        read(function)
        self.function, self.numbers = function, names[len(draws) :]
        pairs = [
            f"{'unit' if name in from_zero else 'inner'}({pair})" for name, pair in zip(draws, _PAIRS, strict=False)
        ]
        text = ", ".join(self.numbers)
        source = (
            f"def drawn(row, column, seed{', ' if text else ''}{text}):\n"
            "    a, b, c, d = block(row + column, seed)\n"
            f"    return element({', '.join((*pairs, *self.numbers))})\n"
        )
        namespace = {"element": function, "block": block, "unit": unit, "inner": inner, "__name__": __name__}
        self.distribution = function_from_source("drawn", source, namespace, title=f"elements of {self.name}")

    def _unfit(self, function: FunctionType, problem: str, remedy: str) -> KernelSignatureError:
        return KernelSignatureError(
            f"{self.name}: the random function {function.__name__} does not fit: {problem}. {remedy}."
        )

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "random"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return (self.function,)

    def kernel(self, variant: str, operator: OperatorLike, key: str) -> Any:
        """Return the kernel that fills the first argument; it computes no shape and allocates nothing."""
        schema = operator.schema
        places = {argument.python_name: place for place, argument in enumerate(schema.arguments)}
        roles = {parameter.name: parameter.role for parameter in self.parameters}

        def filled(*arguments: Any) -> Tensor:
            target: Tensor = arguments[0]
            stated = self._stated(arguments)
            numbers = []
            for name in self.numbers:
                if name in stated:
                    value = stated[name]
                elif name in places:
                    value = arguments[places[name]]
                else:
                    remedy = f"Return {{{name!r}: ...}} from @f.meta, or name an argument"
                    raise KernelError(f"{self.name}: {name!r} is unknown. {remedy}.")
                if isinstance(value, Tensor):
                    value = value.expand(target.shape)
                elif roles.get(name) in (Role.FLOAT, Role.SCALAR):
                    value = floating(value)
                numbers.append(value)
            return fill_random_(target, self.distribution, numbers, arguments[places["generator"]])

        return PythonKernel(cast("FunctionType", filled), schema, operator.name, bumps_version=True)

    def _stated(self, arguments: tuple[Any, ...]) -> dict[str, Any]:
        """Return the numbers that the shape function returns, by name."""
        if self.check is None:
            return {}
        context = MetaContext(self.name, self.results, arguments[:1], arguments[0].device)
        returned = self.check(context, *arguments)
        form = arguments[0].geometry
        context.require_same((OutputSpec(form.dtype, form.device, form.shape, form.strides),))
        return dict(cast("dict[str, Any]", returned)) if returned is not None else {}
