"""``opdsl.debug``: prints from scalar functions and formulas, element by element.

Kernels leave ``print`` out. Within ``opdsl.debug`` the Python function itself is run before the kernel: with NumPy for
each element of a scalar function, on tensors of one element for an elementwise formula. A formula that folds is run
once on its whole arguments.
"""

from __future__ import annotations

import builtins
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import ContextDecorator, ExitStack
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import numpy
import scipy.special

from opdsl.declare.adapting import parameter_names
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import DispatchMode, Operator, no_grad
from opdsl.formulas.programs import FormulaProgram
from opdsl.formulas.text import FormulaText
from opdsl.kernels import PointwiseDefinition
from opdsl.runtime import Tensor

__all__ = ["debug"]

# Functions of `math` that NumPy has under another name, or that SciPy has.
_OTHERWISE = {
    "acos": numpy.arccos,
    "acosh": numpy.arccosh,
    "asin": numpy.arcsin,
    "asinh": numpy.arcsinh,
    "atan": numpy.arctan,
    "atan2": numpy.arctan2,
    "atanh": numpy.arctanh,
    "pow": numpy.power,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "gamma": scipy.special.gamma,
    "lgamma": scipy.special.gammaln,
}

# `math` with functions that never raise but return inf or nan, as in kernels.
_MATH = SimpleNamespace(
    **{name: _OTHERWISE.get(name) or getattr(numpy, name, value) for name, value in vars(math).items()}
)


class debug(ContextDecorator):
    """Context manager that runs ``print`` of scalar functions and formulas, each with the index of the element.

    The function runs in Python only to print; the result comes from the kernel. This is slow: use small tensors.
    Tensors on other devices are copied to the CPU.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     @opdsl.formula
    ...     def halved(self: opdsl.Tensor) -> opdsl.Tensor:
    ...         half = self / 2
    ...         print("half is", half)
    ...         return half
    ...     with opdsl.debug():
    ...         y = halved(opdsl.tensor([1.0, 3.0]))
    example::halved[0]: half is 0.5
    example::halved[1]: half is 1.5
    """

    def __init__(self) -> None:
        self._stacks: list[ExitStack] = []

    def __enter__(self) -> None:
        """Enable printing in this thread or task."""
        with ExitStack() as stack:
            stack.enter_context(_Elements())
            stack.enter_context(_Programs())
            self._stacks.append(stack.pop_all())

    def __exit__(self, *error: object) -> None:
        """Disable printing."""
        self._stacks.pop().close()


class _Elements(DispatchMode):
    """Dispatch mode that also runs scalar functions and elementwise formulas in Python if they contain ``print``."""

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        declared: Operator = operator.operator
        formula = _formula(declared)
        if not isinstance(formula, FormulaProgram):
            arguments = _bound(declared, args, kwargs)
            for function in _printing(declared, arguments):
                run = _run_scalars if formula is None else _run_elements
                run(declared.name, function, arguments)
        return operator(*args, **kwargs)


class _Programs(DispatchMode):
    """Dispatch mode that also runs non-elementwise formulas in Python if they contain ``print``. It sees calls before
    composites are decomposed, since such formulas are composites.
    """

    before_decomposition = True

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        declared: Operator = operator.operator
        if isinstance(declared.formula, FormulaProgram):
            arguments = _bound(declared, args, kwargs)
            for function in _printing(declared, arguments):
                _run_whole(declared.name, function, arguments)
        return operator(*args, **kwargs)


def _formula(operator: Operator) -> FormulaText | FormulaProgram | None:
    """Return the formula of an operator or of its functional variant; None if it has none."""
    declaration = operator.declaration
    formula = declaration.main.formula if isinstance(declaration, Declaration) else None
    return formula if isinstance(formula, (FormulaText, FormulaProgram)) else None


def _printing(operator: Operator, arguments: Mapping[str, Any]) -> list[FunctionType]:
    """Return the functions with a ``print`` among those that compute a call of an operator."""
    declaration = operator.declaration
    if not isinstance(declaration, Declaration):
        return []
    functions: list[Any] = []
    formula = _formula(operator)
    if formula is not None:
        text = formula.text if isinstance(formula, FormulaProgram) else formula
        functions = [inspect.unwrap(text.source_for(tuple(arguments.values())).function)]
    elif isinstance(declaration.definition, PointwiseDefinition):
        functions = list(declaration.attached.values())
    return [function for function in functions if isinstance(function, FunctionType) and _prints(function.__code__)]


def _prints(code: CodeType) -> bool:
    return "print" in code.co_names or any(_prints(part) for part in code.co_consts if isinstance(part, CodeType))


def _bound(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, defaults included, without ``out``."""
    inputs = [argument for argument in operator.schema.arguments if argument not in operator.schema.out]
    arguments = dict(zip((input.name for input in inputs), args, strict=False)) | dict(kwargs)
    defaults = {input.name: input.default.value for input in inputs if input.default is not None}
    return {input.name: arguments.get(input.name, defaults.get(input.name)) for input in inputs}


def _run_scalars(name: str, function: FunctionType, arguments: Mapping[str, Any]) -> None:
    """Run a scalar function for each element, on NumPy numbers."""
    parameters = list(inspect.signature(function).parameters)
    # A scalar function takes the arguments by name, or by position.
    chosen = parameters if arguments.keys() >= set(parameters) else list(arguments)[: len(parameters)]
    values = [arguments[key] for key in chosen]
    arrays = [_array(value) for value in values if isinstance(value, Tensor)]
    shape = numpy.broadcast_shapes(*(array.shape for array in arrays))
    spread = iter([numpy.broadcast_to(array, shape) for array in arrays])
    columns = [next(spread) if isinstance(value, Tensor) else value for value in values]
    for position in numpy.ndindex(shape):
        element = [column[position] if isinstance(column, numpy.ndarray) else column for column in columns]
        with numpy.errstate(all="ignore"):
            _with_print(function, _printer(name, position))(*element)


def _run_elements(name: str, function: FunctionType, arguments: Mapping[str, Any]) -> None:
    """Run an elementwise formula once for each element, on tensors of one element."""
    tensors = {key: value.detach().cpu() for key, value in arguments.items() if isinstance(value, Tensor)}
    shape = numpy.broadcast_shapes(*(tensor.shape for tensor in tensors.values()))
    spread = {key: tensor.expand(shape) for key, tensor in tensors.items()}
    for position in numpy.ndindex(shape):
        element = {key: tensor[position] if position else tensor for key, tensor in spread.items()}
        with no_grad():
            _with_print(function, _printer(name, position))(**_taken(function, {**arguments, **element}))


def _run_whole(name: str, function: FunctionType, arguments: Mapping[str, Any]) -> None:
    """Run a formula once; each printed tensor is printed element by element."""

    def printed(*values: Any, **options: Any) -> None:
        shapes = [value.shape for value in values if isinstance(value, Tensor)]
        for position in numpy.ndindex(numpy.broadcast_shapes(*shapes)):
            _printer(name, position)(*(_element(value, position) for value in values), **options)

    with no_grad():
        _with_print(function, printed)(**_taken(function, arguments))


def _taken(function: FunctionType, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, by name, that a function has parameters for; an attached formula may take only some."""
    return {name: arguments[name] for name in parameter_names(function)}


def _element(value: Any, position: tuple[int, ...]) -> Any:
    """Return the element of a printed value at an index into the broadcast shape of all values printed together."""
    if not isinstance(value, Tensor):
        return value
    own = position[len(position) - value.ndim :]
    return value[tuple(0 if size == 1 else index for index, size in zip(own, value.shape, strict=True))]


def _printer(name: str, position: tuple[int, ...]) -> Callable[..., None]:
    """Return a ``print`` that first prints the operator and the index of the element."""
    start = f"{name}[{', '.join(map(str, position))}]:"

    def printed(*values: Any, **options: Any) -> None:
        numbers = [value.item() if isinstance(value, Tensor | numpy.generic) else value for value in values]
        text = (options.pop("sep", None) or " ").join(map(str, numbers))
        builtins.print(start, text, **{"file": sys.stdout, **options})

    return printed


def _with_print(function: FunctionType, printed: Callable[..., None]) -> FunctionType:
    """Return a copy of a function with another ``print``, and with NumPy functions, which never raise, for those of
    ``math``.
    """
    names = {name: _MATH if value is math else value for name, value in function.__globals__.items()}
    function_type = FunctionType(
        function.__code__, {**names, "print": printed}, function.__name__, function.__defaults__, function.__closure__
    )
    function_type.__kwdefaults__ = function.__kwdefaults__
    return function_type


def _array(tensor: Tensor) -> numpy.ndarray[Any, Any]:
    """Return the elements of a tensor as a NumPy array, those that NumPy lacks as float32."""
    host = tensor.detach().cpu()
    return numpy.asarray((host.float() if host.dtype.is_encoded else host).numpy())
