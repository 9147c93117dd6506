"""PyTorch's ``_foreach_`` operators: each is another operator, called for every element of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.aten.create.conversions import copy_functional
from opdsl.aten.pointwise.arithmetic import mul
from opdsl.aten.pointwise.division import div
from opdsl.aten.pointwise.powers import number_pow
from opdsl.aten.reduce.norms import linalg_vector_norm
from opdsl.declare import Library
from opdsl.declare.lists import list_body, written_lists
from opdsl.dispatch.plans.traceable import traceable
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema import FunctionSchema, parse_schema

lib = Library("aten")

# Bodies that call operators, so that gradients are those of what they call; PyTorch has formulas, and so other kernels.
_ENTRY: dict[str, Any] = {"device_check": "NoCheck", "dispatch": {"CompositeExplicitAutograd": "foreach_slow"}}

SCHEMAS: list[FunctionSchema] = []
"""The schemas of all list forms."""

UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)

_LIST, _SCALAR, _SCALARS, _TENSOR = (
    "List(Tensor[] self, Tensor[] other",
    "Scalar(Tensor[] self, Scalar scalar",
    "ScalarList(Tensor[] self, Scalar[] scalars",
    "Tensor(Tensor[] self, Tensor other",
)

# What is called, what its list forms take, by the names of those.
FORMS: dict[str, tuple[str, ...]] = {
    UNARY: ("(Tensor[] self",),
    "add": (f"{_LIST}, *, Scalar alpha=1", _SCALAR, _SCALARS, f"{_TENSOR}, *, Scalar alpha=1"),
    "sub": (f"{_LIST}, *, Scalar alpha=1", _SCALAR, _SCALARS),
    "mul div": (_LIST, _SCALAR, _SCALARS, _TENSOR),
    "clamp_max clamp_min maximum minimum": (_LIST, _SCALAR, _SCALARS),
    "pow": (
        "List(Tensor[] self, Tensor[] exponent",
        "Scalar(Tensor[] self, Scalar exponent",
        "ScalarList(Tensor[] self, Scalar[] exponent",
    ),
    "lerp": (
        "List(Tensor[] self, Tensor[] tensors1, Tensor[] weights",
        "Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight",
        "ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight",
    ),
    "addcdiv addcmul": (
        "Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1",
        "ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars",
        "Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars",
    ),
}

# Which method of a tensor it is, where that has another name.
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def method(name: str) -> Callable[..., Any]:
    """A method of tensors, as it is called for elements of lists."""
    if not name.startswith("addc"):

        def call(first: Tensor, *others: Any, **named: Any) -> Any:
            return getattr(first, name)(*others, **named)

        return call

    def scaled(first: Tensor, one: Tensor, other: Tensor, value: Any = 1) -> Any:
        return getattr(first, name)(one, other, value=value)

    return scaled


def scaled_by_elements(name: str) -> Callable[..., Any]:
    """``addcmul`` and its kin by the elements of a vector, which are not read: so they may lie on a device."""
    product = mul if name.startswith("addcmul") else div
    added = "add_" if name.endswith("_") else "add"

    def call(first: Tensor, one: Tensor, other: Tensor, value: Tensor) -> Any:
        return getattr(first, added)(value * product(one, other))

    return call


def elements_of(body: Callable[..., Any]) -> Callable[..., Any]:
    """Takes the elements of the last argument, a vector, as a list."""

    @traceable
    def call(*given: Any) -> Any:
        scalars = given[-1]
        check(scalars.ndim == 1, f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead.")
        return body(*given[:-1], list(scalars.unbind(0)))

    return call


def declare_methods() -> None:
    """Declare the list forms of methods, and those in place."""
    for names, forms in FORMS.items():
        for name in names.split():
            for form in forms:
                overload, _, arguments = form.partition("(")
                full = f"_foreach_{name}.{overload}" if overload else f"_foreach_{name}"
                schema = parse_schema(f"{full}({arguments}) -> Tensor[]")
                called = _METHODS.get(name, name)
                made = {"autogen": f"{full}_out" if overload else f"{full}.out"}
                _declare(schema, called, **made if name == "lerp" else {})  # said of both there
                _declare(written_lists(schema), f"{called}_", **made)


def _declare(schema: FunctionSchema, called: str, **options: Any) -> None:
    takes_vector = schema.positional[-1].name == "scalars" and schema.name.overload == "Tensor"
    if takes_vector:
        listed = parse_schema(str(schema).replace("Tensor scalars", "Tensor[] scalars"))
        body = elements_of(list_body(listed, scaled_by_elements(called)))
    else:
        body = list_body(schema, method(called))
    SCHEMAS.append(schema)
    lib.define(schema, body, **_ENTRY, **options)


declare_methods()

# ---------------------------------------------------------------------------------------------------------- all others

OTHERS: dict[str, Callable[..., Any]] = {
    "_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]": number_pow,
    "_foreach_max(Tensor[] self) -> Tensor[]": lambda self: self.max(),
    "_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]": lambda self, mat2: self.mm(mat2),
    "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]": (
        lambda self, ord, dtype: linalg_vector_norm(self, ord, None, False, dtype=dtype)
    ),
    "_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]": (
        lambda self, ord, dtype: self.abs().pow(ord).sum(dtype=dtype)
    ),
    "_foreach_zero_(Tensor(a!)[] self) -> ()": lambda self: self.zero_(),
    "_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]": (
        lambda self, memory_format: self.clone(memory_format=memory_format)
    ),
    "_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()": (
        lambda self, src, non_blocking: self.copy_(src, non_blocking)
    ),
    "_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out": (
        lambda self, src, non_blocking: copy_functional(self, src, non_blocking)
    ),
}

# The operators that torchgen makes of them, where it makes any.
_GENERATED = {
    "_foreach_max": "_foreach_max.out",
    "_foreach_norm.Scalar": "_foreach_norm.Scalar_out",
    "_foreach_powsum.Scalar": "_foreach_powsum.Scalar_out",
    "_foreach_zero_": "_foreach_zero, _foreach_zero.out",
    "_foreach_clone": "_foreach_clone.out",
    "_foreach_copy_": "_foreach_copy.out",
}

for text, function in OTHERS.items():
    made = _GENERATED.get(text.partition("(")[0])
    options: dict[str, Any] = {} if made is None else {"autogen": made}
    SCHEMAS.append(parse_schema(text))
    lib.define(text, list_body(SCHEMAS[-1], function), **_ENTRY, **options)
