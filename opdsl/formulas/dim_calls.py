"""Calls of operators with ``DimTensor`` arguments, each mapped to a call of the operator on plain tensors.

Pointwise operators broadcast dims by name. Operators along dimensions get the dims that are passed as dimensions; the
other dims are leading batch dimensions. The body of a composite is run on the values and calls such operators.
"""

from __future__ import annotations

from typing import Any

from opdsl.dispatch import KeySet
from opdsl.dispatch.binding.function_override import OverriddenFunction
from opdsl.errors import ArgumentError, DimError
from opdsl.formulas.dim_axes import computed_later, dim_tensors, over, union
from opdsl.formulas.dim_binding import Axis, Call, Pack, bound_call
from opdsl.formulas.dim_folds import along, contracted, is_along
from opdsl.formulas.dim_rules import (
    BY_NAME,
    broadcast,
    full,
    invoke,
    is_pointwise,
    mapped,
    operands,
    require_no_mask,
    results,
)
from opdsl.formulas.dim_scatter import scatter
from opdsl.formulas.dim_tensor import Dim, DimTensor, functions, names
from opdsl.formulas.dim_windows import affine_call
from opdsl.formulas.ragged import spread_all
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.programs.branches import Conditions, MaskedBranch, conditions, masked_branch
from opdsl.runtime import Tensor
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import is_symbol

_KEYS = KeySet("CPU")


def call(function: OverriddenFunction, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Compute the call of an operator that has ``DimTensor`` arguments, or dims as dimensions.

    Raises:
        DimError: the operator writes a tensor, or cannot be computed over dims.
    """
    branch = masked_branch.get()
    if branch is not None and function.name == "scatter":
        branch.cross([args, list(kwargs.values())])
    if function.name == "scatter" and len(args) > 1 and isinstance(args[1], (tuple, list)):
        return scatter(*args, **kwargs)  # type: ignore[arg-type]  # other values are refused
    if kwargs.get("out") is not None:
        raise DimError(
            f"{function.name}(..., out=...) of values with dims: write the result afterwards, "
            "out.copy_(value.order(...))."
        )
    bound = bound_call(function, args, kwargs)
    operator = bound.operator
    under = conditions.get()
    if under:
        return _in_branch(bound, under, function, args, kwargs)
    if operator.schema.is_mutable:
        raise DimError(
            f"{operator.name} writes to its argument, and a read at dims is a value that cannot be written. Write to a "
            "plain tensor: x.copy_(value.order(...))."
        )
    values = [value for value in operands(bound.arguments) if isinstance(value, DimTensor)]
    if not values:
        raise DimError(
            f"{operator.name}: the tensor does not vary along {_named(bound)}. Read it at the dim first: x[..., i]."
        )
    if any(value.lacks_sizes for value in values):
        return computed_later(lambda: _computed(bound), list(bound.arguments))
    return _computed(bound)


def _in_branch(
    bound: Call, under: Conditions, function: OverriddenFunction, args: tuple[object, ...], kwargs: dict[str, object]
) -> Any:
    """Compute a call in a branch of a formula; pointwise operators get operands that are 0 where the branch is not
    taken.

    Args:
        bound: the call.
        under: the conditions of the branch and of those around it.
    """
    branch = masked_branch.get()
    is_masked = branch is not None and is_pointwise(bound.operator)
    if branch is not None and not is_masked:
        dims, is_positional = _goes_along(bound)
        branch.cross([args, list(kwargs.values())], dims, is_positional=is_positional)
    tests = [test for test, _ in under]
    result: Any
    if any(value.lacks_sizes for value in dim_tensors([*bound.arguments, *tests])):
        result = computed_later(lambda: _under(under, branch, function, args, kwargs), [*args, *tests])
    else:
        nothing: MaskedBranch | None = None
        with Setting(conditions, ()), Setting(masked_branch, nothing):
            call_args = tuple([_masked(arg, branch.conditions()) for arg in args]) if branch and is_masked else args
            result = call(function, call_args, kwargs)
    if branch is not None and is_masked:
        branch.keep(result, [args, list(kwargs.values())])
    elif branch is not None:
        branch.hand_on([args, list(kwargs.values())], result)
    return result


def _goes_along(bound: Call) -> tuple[list[Dim], bool]:
    """Return the dims that a call names as dimensions, and whether it may also work along positional dimensions."""
    named: list[Any] = []
    for value in bound.arguments:
        for one in value if isinstance(value, tuple) else (value,):
            named += one.targets if isinstance(one, Pack) else [one] if isinstance(one, Axis) else []
    dims = [one.dim for one in named if isinstance(one, Axis)]
    return dims, not dims or len(dims) < len(named)


def _under(
    under: Conditions,
    branch: MaskedBranch | None,
    function: OverriddenFunction,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> Any:
    """Run a deferred call under the branch conditions that held where it was written."""
    with Setting(conditions, under), Setting(masked_branch, branch):
        return call(function, args, kwargs)


def _masked(value: Any, under: Conditions) -> Any:
    """Return an operand that is 0 where the conditions do not hold, so that gradients flow only where they do."""
    if not isinstance(value, DimTensor) or not (value.dtype.is_floating_point or value.dtype.is_complex):
        return value
    where = functions().where
    for condition, outcome in under:
        value = where(condition, value, 0.0) if outcome else where(condition, 0.0, value)
    return value


def _named(bound: Call) -> str:
    """Return the names of the dims that a call names as dimensions, for messages."""
    listed: list[Any] = []
    for value in bound.arguments:
        for one in value if isinstance(value, tuple) else (value,):
            listed += one.targets if isinstance(one, Pack) else [one]
    return names(tuple([one.dim for one in listed if isinstance(one, Axis)]))


def _computed(bound: Call) -> Any:
    """Compute a bound call whose dims have sizes, by the first rule that applies to its operator."""
    bound = bound._replace(arguments=spread_all(bound.arguments))
    for rule in (contracted, _product, *_rules(bound)):
        result = rule(bound)
        if result is not NotImplemented:
            if all(map(_is_of_dims, operands(bound.arguments))):
                for value in dim_tensors(result):
                    value.is_of_dims = True
                    value.affine = affine_call(bound)
            return result
    raise AssertionError("the last rule answers or raises")


def _is_of_dims(value: Any) -> bool:
    """Return whether a value is computed only from dims and numbers, so that it may be moved to any device."""
    return value.is_of_dims if isinstance(value, DimTensor) else value.ndim == 0 and value.is_cpu


def _rules(bound: Call) -> list[Any]:
    """Return the rules that may compute an operator; the last one computes it or raises an error."""
    operator = bound.operator
    if is_pointwise(operator):
        return [broadcast]
    first = BY_NAME.get(operator.name)
    if first is not None:
        return [first, _body, _one_by_one]
    if is_along(bound):
        return [along, _body, _one_by_one]
    return [_body, _one_by_one]


def _product(bound: Call) -> Any:
    """Defer the computation of a product, so that its sum over dims can become a contraction (``einsum``)."""
    if bound.operator.name != "aten::mul.Tensor":
        return NotImplemented
    left, right = bound.arguments
    if not isinstance(left, DimTensor) or not isinstance(right, DimTensor):
        return NotImplemented
    factors = (*_factors(left), *_factors(right))
    dims = [factor.dims for factor in factors]
    one, *others = {factor.dtype for factor in factors}
    is_exact = others or not (one.is_floating_point or one.is_complex)
    if is_exact or len(set(map(frozenset, dims))) == 1 or any(factor.mask is not None for factor in factors):
        return NotImplemented
    if any(factor.ndim for factor in factors) and not _fit(factors):
        return NotImplemented
    return computed_later(lambda: broadcast(bound), [*factors], factors=factors)


def _factors(value: DimTensor) -> tuple[DimTensor, ...]:
    """Return the factors of a deferred product; any other value itself."""
    later = value.pending
    return later.factors if later is not None and later.factors else (value,)


def _fit(factors: tuple[DimTensor, ...]) -> bool:
    """Return whether factors have equal positional shapes, counted from the last dimension, except for missing leading
    ones.
    """
    longest = max((factor.shape for factor in factors), key=len)
    return all(
        one == other
        for factor in factors
        for one, other in zip(reversed(factor.shape), reversed(longest), strict=False)
    )


def _body(bound: Call) -> Any:
    """Run the body of a composite operator on ``DimTensor`` arguments; return ``NotImplemented`` if that is not
    possible.
    """
    operator = bound.operator
    kernel = operator.find_in(_KEYS) if operator.is_composite(_KEYS) else None
    if not isinstance(kernel, PythonKernel):
        return NotImplemented
    require_no_mask(bound)
    arguments, keywords = [], {}
    for declared, value in zip(operator.schema.arguments, bound.arguments, strict=True):
        if declared in operator.schema.keyword_only:
            keywords[declared.python_name] = value
        else:
            arguments.append(value)
    try:
        return kernel.function(*arguments, **keywords)
    except (AttributeError, ArgumentError, TypeError):  # the body does more than call operators
        return NotImplemented


def _one_by_one(bound: Call) -> Any:
    """Compute any operator by ``opdsl.vmap`` over all indices of the dims."""
    require_no_mask(bound)
    dims = union(dim_tensors(bound.arguments))
    sizes = [dim.settle(bound.operator.name) for dim in dims]
    if any(is_symbol(size) for size in sizes) or _named(bound) != "()":
        raise DimError(
            f"{bound.operator.name} is not supported over {names(dims)}: it is neither a reduction nor elementwise nor "
            "composed of such operators. Order the dims first: x.order(..., i)."
        )
    count = 1
    for size in sizes:
        count *= size
    batches = [
        full(value, dims, bound.operator.name).reshape(count, *value.shape)
        for value in operands(bound.arguments)
        if isinstance(value, DimTensor)
    ]

    def for_one(*elements: Tensor) -> Any:
        place = iter(elements)
        return invoke(
            bound.operator,
            mapped(bound.arguments, lambda value: next(place) if isinstance(value, DimTensor) else value),
        )

    batched = functions().vmap(for_one)(*batches)
    return results(batched, lambda tensor: over(tensor.unflatten(0, sizes), dims))
