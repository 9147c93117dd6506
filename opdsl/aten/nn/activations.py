"""Activation functions of neural networks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from opdsl.aten._shared.checks import category_of, is_boolean, real
from opdsl.aten._shared.entries import CORE_UNARY
from opdsl.aten.nn.activation_gradients import require_name, sigmoid_backward, softshrink_backward
from opdsl.aten.pointwise.clamping import between
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Library, Out, Row, forward, op
from opdsl.errors import OptionError
from opdsl.kernels import check
from opdsl.kernels.iteration.numbers import convert
from opdsl.runtime import Category, Tensor, int64, uint8
from opdsl.scalar.intrinsics import rounded

lib = Library("aten")

UNTAGGED = Inplace(tags=())


class LogSigmoid(NamedTuple):
    """The results of ``log_sigmoid_forward``."""

    output: Tensor
    buffer: Tensor


# ------------------------------------------------------------------------------------------------ sigmoid, log_sigmoid

sigmoid = lib.table(
    {"sigmoid(Tensor self) -> Tensor": Row("``1 / (1 + exp(-self))``", lambda x: 1.0 / (1.0 + math.exp(-x)))},
    pointwise={"promote": "int_to_float"},
    derivative={"self": lambda grad, result: sigmoid_backward(grad, result)},  # of the result, as in PyTorch
    **CORE_UNARY,
)["sigmoid"]


@op(
    "aten::log_sigmoid_forward",
    python_module="nn",
    tags=(),
    structured=False,
    device_check="NoCheck",
    out=Out(".output", args=("output", "buffer"), explicit=True, named=False),
)
def log_sigmoid_forward(self: Tensor) -> LogSigmoid:
    """``log(sigmoid(self))``, and ``exp(-abs(self))``, which its gradient is made of."""
    ...


@log_sigmoid_forward.pointwise(dtypes="floating")
def log_sigmoid_scalar_function(self):
    buffer = math.exp(-self if self > 0 else self)
    return (0.0 if self > 0 else self) - math.log1p(buffer), buffer


@op("aten::log_sigmoid", python_module="nn", device_check="NoCheck", out=Out(explicit=True))
@forward(log_sigmoid_forward, result=0)
def log_sigmoid(self: Tensor) -> Tensor:
    """``log(sigmoid(self))``"""


# -------------------------------------------------------------------------------------------------------------- checks


def require_bounds(ctx, self, min_val, max_val):
    """That elements can be held between two bounds.

    Raises:
        ShapeError, OptionError: they cannot.
    """
    check(not is_boolean(self), "Bool inputs not supported for hardtanh")
    if category_of(self) is Category.INT:
        check(
            self.dtype is not uint8 or min(convert(each, int64) for each in (min_val, max_val)) >= 0,
            "cannot do hardtanh on an unsigned type with negative limits",
        )
    if real(min_val) > real(max_val):
        raise OptionError("min_val cannot be greater than max_val")


def require_distance(ctx, lambd):
    """That elements move towards 0."""
    check(real(lambd) >= 0, f"lambda must be greater or equal to 0, but found to be {real(lambd):g}.")


# ---------------------------------------------------------------------------------------------------- scalar functions


def hardsigmoid_of(x):
    inside = x > -3.0 and x < 3.0
    return (x + 3.0) / 6.0 if inside else 0.0 if x <= -3.0 else 1.0 if x >= 3.0 else math.nan


def gelu_of(x: Any, approximate: Any) -> Any:
    if approximate == "none":
        return 0.5 * x * (1.0 + math.erf(math.sqrt(0.5) * x))
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + math.tanh(inner))


def elu_of(x, alpha, scale, input_scale):
    return math.expm1(x * input_scale) * (alpha * scale) if x <= 0 else x * scale


# ------------------------------------------------------------------------------------------------------------ operators

CORE = ("core", "pointwise")

made = lib.table(
    {
        # PyTorch's relu is no structured operator, so ours is exported as a plain one. At 0 nothing passes, as there.
        "relu(Tensor self) -> Tensor": Row(
            "``max(self, 0)``",
            lambda x: max(0, x),
            meta=lambda ctx, self: check(not is_boolean(self), "Boolean inputs not supported for relu"),
            pointwise=True,
            derivative={"self": lambda grad, result: where(result <= 0, 0.0, grad)},
            structured=False,
            **{**CORE_UNARY, "python_module": None},
        ),
        "silu(Tensor self) -> Tensor": Row(
            "``self * sigmoid(self)``",
            lambda x: x / (1.0 + math.exp(-x)),
            pointwise={"dtypes": ("floating", "complex")},
            device_check="ExactSame",
            out=True,
        ),
        "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor": Row(
            "``self``, times ``negative_slope`` where it is negative.",
            lambda x, negative_slope: x if x > 0 else x * negative_slope,
            tags=CORE,
        ),
        # At the bounds none of the gradient passes, as in PyTorch.
        "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor": Row(
            "``self`` between two bounds.",
            between,
            meta=require_bounds,
            pointwise={"dtypes": ("integer", "floating")},
            derivative={
                "self": lambda grad, self, min_val, max_val: where((self <= min_val) + (self >= max_val), 0.0, grad)
            },
            structured=False,
            tags=CORE,
            out=Out(tags=(), explicit=True),
        ),
        "hardsigmoid(Tensor self) -> Tensor": Row("``self / 6 + 1 / 2`` between 0 and 1.", hardsigmoid_of),
        # At the kinks the gradient is that of the straight pieces, as in PyTorch.
        "hardswish(Tensor self) -> Tensor": Row(
            "``self * hardsigmoid(self)``",
            lambda x: x * min(max(x + 3.0, 0.0), 6.0) / 6.0,
            derivative={
                "self": lambda grad, self: where(self <= -3.0, 0.0, where(self < 3.0, grad * (self / 3.0 + 0.5), grad))
            },
            structured=False,
            device_check="NoCheck",
            tags=(),
            out=Out(explicit=True),
        ),
        "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor": Row(
            "``value`` where ``self`` is no larger than a threshold.",
            lambda x, threshold, value: value if x <= threshold else x,
            pointwise={"dtypes": ("integer", "floating")},
            python_module=None,
            inplace=UNTAGGED,
        ),
        "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor": Row(
            "0 where the magnitude is at most ``lambd``.",
            lambda x, lambd: 0.0 if x >= -rounded(lambd) and x <= rounded(lambd) else x,
            variants="function, method",
            python_module=None,
            inplace=False,
        ),
        "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor": Row(
            "``self``, moved by ``lambd`` towards 0.",
            lambda x, lambd: x - lambd if x > lambd else x * 0.0 if x >= -lambd else x + lambd,
            derivative={"self": softshrink_backward},
            meta=require_distance,
            inplace=False,
        ),
        "gelu(Tensor self, *, str approximate='none') -> Tensor": Row(
            '``self`` times the probability that a normal variable is less; ``"tanh"`` approximates that.',
            tags=CORE,
            inplace=UNTAGGED,
        ),
        "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor": Row(
            "``scale * self``; of negative elements ``scale * alpha * (exp(input_scale * self) - 1)``.",
            elu_of,
            tags=CORE,
        ),
        "celu(Tensor self, Scalar alpha=1.0) -> Tensor": Row(
            "``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``",
            lambda x, alpha: elu_of(x, alpha, 1, 1.0 / alpha),
            meta=lambda ctx, alpha: check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU"),
            structured=False,
            python_module=None,
            dispatch={"CompositeExplicitAutograd": "celu"},
            inplace=Inplace(dispatch={"CompositeExplicitAutograd": "celu_"}),
        ),
        "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor": Row(
            "``log(1 + exp(beta * self)) / beta``; ``self`` where ``beta * self`` is larger than the threshold.",
            lambda x, beta, threshold: x if x * beta > threshold else math.log1p(math.exp(x * beta)) / beta,
            inplace=False,
        ),
        "mish(Tensor self) -> Tensor": Row(
            "``self * tanh(log(1 + exp(self)))``",
            lambda x: x * math.tanh(math.log1p(math.exp(x))),
            device_check="ExactSame",
            inplace=UNTAGGED,
        ),
    },
    pointwise={"dtypes": "floating"},
    python_module="nn",
    tags="pointwise",
    inplace=True,
    out=Out(tags=()),
)
relu, leaky_relu, gelu, elu, hardtanh = (made[each] for each in ("relu", "leaky_relu", "gelu", "elu", "hardtanh"))
gelu.meta(reads_numbers=False)(require_name)
gelu.pointwise(dtypes="floating")(gelu_of)

SELU: dict[str, Any] = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}

lib.table(
    {
        "relu6(Tensor self) -> Tensor": Row(
            "``self`` between 0 and 6.", forward(hardtanh, min_val=0, max_val=6), python_module="nn", inplace=UNTAGGED
        ),
        "selu(Tensor self) -> Tensor": Row(
            "``elu`` with the numbers that keep mean and variance (Klambauer et al., 2017).",
            forward(elu, input_scale=1, **SELU),
            device_check="NoCheck",
            inplace=True,
        ),
    },
    tags="pointwise",
)
