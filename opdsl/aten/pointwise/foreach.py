"""PyTorch's ``_foreach_`` operators, each of which calls another operator for corresponding elements of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import attrs

from opdsl.aten.create.copying import copy_functional
from opdsl.aten.pointwise.arithmetic import mul
from opdsl.aten.pointwise.division import div
from opdsl.aten.pointwise.powers import number_pow
from opdsl.aten.reduce.norms import linalg_vector_norm
from opdsl.declare import Library, op
from opdsl.declare.declaring import require_declaration
from opdsl.declare.defining import function_of
from opdsl.declare.lists import list_body, written_lists
from opdsl.declare.signature import schema_of
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.dispatch.plans.traceable import traceable
from opdsl.kernels import check
from opdsl.runtime import DType, MemoryFormat, Tensor
from opdsl.schema import Alias, BaseType, FunctionSchema, ListType, OperatorName
from opdsl.schema.vocabulary import Name, Scalar

lib = Library("aten")

# Bodies call other operators and get gradients from these; PyTorch has derivative formulas, and so other kernels.
_ENTRY: dict[str, Any] = {"device_check": "NoCheck", "dispatch": {"CompositeExplicitAutograd": "foreach_slow"}}

SCHEMAS: list[FunctionSchema] = []
"""Schemas of all ``_foreach_`` operators."""

UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)

# ------------------------------------------------------------------------------------------------------ list arguments


def alone(self: list[Tensor]) -> list[Tensor]:
    raise NotImplementedError


def with_list(self: list[Tensor], other: list[Tensor]) -> list[Tensor]:
    raise NotImplementedError


def with_scaled_list(self: list[Tensor], other: list[Tensor], *, alpha: Scalar = 1) -> list[Tensor]:
    raise NotImplementedError


def with_number(self: list[Tensor], scalar: Scalar) -> list[Tensor]:
    raise NotImplementedError


def with_numbers(self: list[Tensor], scalars: list[Scalar]) -> list[Tensor]:
    raise NotImplementedError


def with_tensor(self: list[Tensor], other: Tensor) -> list[Tensor]:
    raise NotImplementedError


def with_scaled_tensor(self: list[Tensor], other: Tensor, *, alpha: Scalar = 1) -> list[Tensor]:
    raise NotImplementedError


def to_list(self: list[Tensor], exponent: list[Tensor]) -> list[Tensor]:
    raise NotImplementedError


def to_number(self: list[Tensor], exponent: Scalar) -> list[Tensor]:
    raise NotImplementedError


def to_numbers(self: list[Tensor], exponent: list[Scalar]) -> list[Tensor]:
    raise NotImplementedError


def towards_list(self: list[Tensor], tensors1: list[Tensor], weights: list[Tensor]) -> list[Tensor]:
    raise NotImplementedError


def towards_by_number(self: list[Tensor], tensors1: list[Tensor], weight: Scalar) -> list[Tensor]:
    raise NotImplementedError


def towards_by_numbers(self: list[Tensor], tensors1: list[Tensor], weight: list[Scalar]) -> list[Tensor]:
    raise NotImplementedError


def with_pair(self: list[Tensor], tensor1: list[Tensor], tensor2: list[Tensor], value: Scalar = 1) -> list[Tensor]:
    raise NotImplementedError


def with_pair_by_numbers(
    self: list[Tensor], tensor1: list[Tensor], tensor2: list[Tensor], scalars: list[Scalar]
) -> list[Tensor]:
    raise NotImplementedError


def with_pair_by_vector(
    self: list[Tensor], tensor1: list[Tensor], tensor2: list[Tensor], scalars: Tensor
) -> list[Tensor]:
    raise NotImplementedError


# For each method, the signatures of its _foreach_ operator by overload name.
FORMS: dict[str, dict[str, Callable[..., list[Tensor]]]] = {
    UNARY: {"": alone},
    "add": {
        "List": with_scaled_list,
        "Scalar": with_number,
        "ScalarList": with_numbers,
        "Tensor": with_scaled_tensor,
    },
    "sub": {"List": with_scaled_list, "Scalar": with_number, "ScalarList": with_numbers},
    "mul div": {"List": with_list, "Scalar": with_number, "ScalarList": with_numbers, "Tensor": with_tensor},
    "clamp_max clamp_min maximum minimum": {"List": with_list, "Scalar": with_number, "ScalarList": with_numbers},
    "pow": {"List": to_list, "Scalar": to_number, "ScalarList": to_numbers},
    "lerp": {"List": towards_list, "Scalar": towards_by_number, "ScalarList": towards_by_numbers},
    "addcdiv addcmul": {
        "Scalar": with_pair,
        "ScalarList": with_pair_by_numbers,
        "Tensor": with_pair_by_vector,
    },
}

# The tensor method of a _foreach_ operator whose name differs.
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def method(name: str) -> Callable[..., Any]:
    """Return a function that calls a method of the first tensor with the corresponding elements of the other lists."""
    if not name.startswith("addc"):

        def call(first: Tensor, *others: Any, **named: Any) -> Any:
            return getattr(first, name)(*others, **named)

        return call

    def scaled(first: Tensor, one: Tensor, other: Tensor, value: Any = 1) -> Any:
        return getattr(first, name)(one, other, value=value)

    return scaled


def scaled_by_elements(name: str) -> Callable[..., Any]:
    """Return a function for ``addcmul`` or ``addcdiv`` whose scale is a tensor element, which stays on the device."""
    product = mul if name.startswith("addcmul") else div
    added = "add_" if name.endswith("_") else "add"

    def call(first: Tensor, one: Tensor, other: Tensor, value: Tensor) -> Any:
        return getattr(first, added)(value * product(one, other))

    return call


def elements_of(body: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its last argument, a vector, is passed as the list of its elements."""

    @traceable
    def call(*arguments: Any) -> Any:
        scalars = arguments[-1]
        check(scalars.ndim == 1, f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead.")
        return body(*arguments[:-1], list(scalars.unbind(0)))

    return call


def declare_methods() -> None:
    """Declare the ``_foreach_`` operators of tensor methods, functional and in place."""
    for names, forms in FORMS.items():
        for name in names.split():
            for overload, form in forms.items():
                schema = schema_of(require_declaration(form), OperatorName(None, f"_foreach_{name}", overload), {})
                full = str(schema.name)
                called = _METHODS.get(name, name)
                generated = {"autogen": f"{full}_out" if overload else f"{full}.out"}
                _declare(schema, called, **generated if name == "lerp" else {})  # lerp has autogen on both variants
                _declare(written_lists(schema), f"{called}_", **generated)


def _declare(schema: FunctionSchema, called: str, **options: Any) -> None:
    *others, last = schema.positional
    if last.name == "scalars" and last.type is BaseType.Tensor:
        vector = attrs.evolve(last, type=ListType(BaseType.Tensor))
        listed = attrs.evolve(schema, positional=(*others, vector))
        body = elements_of(list_body(listed, scaled_by_elements(called)))
    else:
        body = list_body(schema, method(called))
    SCHEMAS.append(schema)
    lib.define(schema, body, **_ENTRY, **options)


declare_methods()

# ----------------------------------------------------------------------------------------------------------- all others


def call_for_each(operator: Any, function: Callable[..., Any]) -> None:
    """Register the kernel of a ``_foreach_`` operator.

    Args:
        operator: the ``_foreach_`` operator.
        function: is called with corresponding elements of the lists.
    """
    SCHEMAS.append(operator.schema)
    code = operator.__wrapped__.__code__
    body = list_body(operator.schema, function)
    place = code.co_filename, code.co_firstlineno
    operator.kernel(str(COMPOSITE_KEY))(function_of(operator.schema, body, module=__name__, place=place))


@op("aten::_foreach_pow.ScalarAndTensor", **_ENTRY)
def foreach_number_pow(self: Scalar, exponent: list[Tensor]) -> list[Tensor]: ...


call_for_each(foreach_number_pow, number_pow)


@op("aten::_foreach_max", autogen="_foreach_max.out", **_ENTRY)
def foreach_max(self: list[Tensor]) -> list[Tensor]: ...


call_for_each(foreach_max, lambda self: self.max())


@op("aten::_foreach_mm", **_ENTRY)
def foreach_mm(self: list[Tensor], mat2: list[Tensor]) -> list[Tensor]: ...


call_for_each(foreach_mm, lambda self, mat2: self.mm(mat2))


@op("aten::_foreach_norm.Scalar", autogen="_foreach_norm.Scalar_out", **_ENTRY)
def foreach_norm(self: list[Tensor], ord: Scalar = 2, dtype: DType | None = None) -> list[Tensor]: ...


call_for_each(foreach_norm, lambda self, ord, dtype: linalg_vector_norm(self, ord, None, False, dtype=dtype))


@op("aten::_foreach_powsum.Scalar", autogen="_foreach_powsum.Scalar_out", **_ENTRY)
def foreach_powsum(self: list[Tensor], ord: Scalar = 2, dtype: DType | None = None) -> list[Tensor]: ...


call_for_each(foreach_powsum, lambda self, ord, dtype: self.abs().pow(ord).sum(dtype=dtype))


@op("aten::_foreach_zero_", autogen="_foreach_zero, _foreach_zero.out", **_ENTRY)
def foreach_zero_(self: list[Tensor[Alias("a", write=True)]]) -> None: ...


call_for_each(foreach_zero_, lambda self: self.zero_())


@op("aten::_foreach_clone", autogen="_foreach_clone.out", **_ENTRY)
def foreach_clone(self: list[Tensor], *, memory_format: MemoryFormat | None = None) -> list[Tensor]: ...


call_for_each(foreach_clone, lambda self, memory_format: self.clone(memory_format=memory_format))


@op("aten::_foreach_copy_", autogen="_foreach_copy.out", **_ENTRY)
def foreach_copy_(
    self: list[Tensor[Alias("a", write=True)]], src: list[Tensor], non_blocking: bool = False
) -> None: ...


call_for_each(foreach_copy_, lambda self, src, non_blocking: self.copy_(src, non_blocking))


@op("aten::_foreach_copy", **_ENTRY)
def foreach_copy(
    self: list[Tensor], src: list[Tensor], non_blocking: bool = False
) -> Annotated[list[Tensor], Name("self_out")]: ...


call_for_each(foreach_copy, lambda self, src, non_blocking: copy_functional(self, src, non_blocking))
