"""Check of a Python kernel's result against the schema of its operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opdsl.dispatch.binding.function_override import is_override
from opdsl.errors import KernelError
from opdsl.runtime import Tensor
from opdsl.schema import FunctionSchema, ListType


def written_values(schema: FunctionSchema, arguments: Sequence[object]) -> tuple[object, ...]:
    """Return the values of the arguments that the operator writes, out of all arguments in the order of the schema."""
    return tuple(
        value
        for declared, value in zip(schema.arguments, arguments, strict=True)
        if declared.alias is not None and declared.alias.write
    )


def checked_result(
    schema: FunctionSchema, arguments: Sequence[object], result: object, describe: Callable[[], str]
) -> object:
    """Return a kernel's result if it fits the schema; in place of None, return the arguments that it writes.

    Args:
        schema: the operator's schema.
        arguments: the arguments of the call, in the schema's order.
        result: the value that the kernel returned.
        describe: names the kernel in the message: ``"mylib::f: the kernel f_cpu (file.py:3)"``.

    Raises:
        KernelError: the result does not fit the schema.
    """
    returns = schema.returns
    if result is None and returns and all(returned.alias is not None and returned.alias.write for returned in returns):
        written = written_values(schema, arguments)
        if len(written) == len(returns):
            return written[0] if len(written) == 1 else written
    fits, wanted = _fits(schema, result)
    if fits:
        return result
    raise KernelError(
        f"{describe()} returned {type(result).__name__}, but the schema returns {wanted}: {schema}. {_remedy(result)}"
    )


def _remedy(result: object) -> str:
    if is_override(result):
        return "Order the dims of its result: value.order(..., i)."
    return "Return that type."


def _fits(schema: FunctionSchema, result: object) -> tuple[bool, str]:
    """Return whether a result fits the schema's returns, and a description of the expected result."""
    returns = schema.returns
    if not returns:
        return result is None, "nothing"
    if len(returns) > 1:
        return isinstance(result, tuple) and len(result) == len(returns), f"a tuple of {len(returns)}"
    text = str(returns[0].type)
    if text == "Tensor":
        return isinstance(result, Tensor), "a Tensor"
    if isinstance(returns[0].type, ListType) and text.startswith("Tensor"):
        fits = isinstance(result, (list, tuple)) and all(isinstance(element, Tensor) for element in result)
        return fits, "a list of Tensors"
    return True, text


__all__ = ["checked_result", "written_values"]
