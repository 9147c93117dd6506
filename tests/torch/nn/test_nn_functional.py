"""Tests of ``opdsl.nn.functional``, compared with ``torch.nn.functional``: names, arguments, values and gradients."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as reference

import opdsl
import opdsl.nn.functional as functional

# Names in torch.nn.functional that belong to torch's own machinery.
HELPERS = {
    "assert_int_or_pair",
    "boolean_dispatch",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
}

# return_indices=True replaces the first two; quantized products have no dtypes.
MISSING = {
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d_with_indices",
    "scaled_grouped_mm",
    "scaled_mm",
}


def is_function(name: str) -> bool:
    value = getattr(reference, name)
    from_torch = (getattr(value, "__module__", "") or "").startswith("torch") or isinstance(value, BuiltinFunctionType)
    return callable(value) and not isinstance(value, type) and from_torch and not name.startswith("_")


NAMES = {name for name in dir(reference) if is_function(name)} - HELPERS


def test_what_is_missing_is_known() -> None:
    assert NAMES - set(functional.__all__) == MISSING
    assert set(functional.__all__) <= NAMES
    assert len(set(functional.__all__)) >= 0.95 * len(NAMES)


def documented(name: str) -> list[tuple[str, object]]:
    """Return the parameters of a built-in function, parsed from the first line of its docstring."""
    text = getattr(reference, name).__doc__ or ""
    result = re.search(rf"{name}\((.*?)\)\s*->", text, re.DOTALL)
    assert result, text
    parts = [part.strip() for part in result[1].split(",") if part.strip() not in ("*", "")]
    pairs = [part.partition("=") for part in parts]
    return [(key.strip(), eval(value) if eq else inspect.Parameter.empty) for key, eq, value in pairs]


def parameters(name: str) -> list[tuple[str, object]]:
    """Return the names and defaults of the parameters of torch's function."""
    function = getattr(reference, name)
    if isinstance(function, BuiltinFunctionType):
        return documented(name)
    if "pool" in name and name + "_with_indices" in dir(reference):  # a flag decides which of two functions runs
        function = getattr(reference, name + "_with_indices")
    return [(parameter.name, parameter.default) for parameter in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", sorted(set(functional.__all__) - {"conv_tbc"}))  # its documentation has no signature
def test_arguments_and_defaults(name: str) -> None:
    own = inspect.signature(getattr(functional, name)).parameters.values()
    assert [(parameter.name, parameter.default) for parameter in own] == parameters(name)


# ------------------------------------------------------------------------------------------------------------- samples


def x(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng([seed, *shape]).uniform(low, high, shape)


def classes(*shape: int, count: int = 3, seed: int = 1) -> numpy.ndarray:
    return numpy.random.default_rng([seed, *shape]).integers(0, count, shape)


def bools(*shape: int, seed: int = 2) -> numpy.ndarray:
    return numpy.random.default_rng([seed, *shape]).random(shape) < 0.5


def signs(*shape: int) -> numpy.ndarray:
    return numpy.where(bools(*shape), 1.0, -1.0)


def call(*args: object, **kwargs: object) -> tuple[tuple[object, ...], dict[str, object]]:
    return args, kwargs


image, volume, signal = x(2, 4, 6, 5), x(1, 2, 4, 5, 4), x(2, 4, 7)
lower = numpy.tril(numpy.ones((4, 4), bool))

ACTIVATIONS: dict[str, list[tuple[object, ...]]] = {
    "relu relu6 selu hardsigmoid hardswish silu mish sigmoid logsigmoid softsign tanh tanhshrink gelu glu": [()],
    "elu celu": [(), (0.5,)],
    "leaky_relu softplus hardshrink softshrink": [(), (0.3,)],
    "hardtanh": [(), (-0.5, 0.7)],
    "threshold": [(0.1, 20.0)],
    "rrelu": [(0.1, 0.3)],
    "softmax softmin log_softmax": [(1,), (-1,), ()],
}
LOSSES: dict[str, list[Any]] = {
    "l1_loss mse_loss smooth_l1_loss huber_loss": [call(x(3, 4), x(3, 4, seed=1))],
    "poisson_nll_loss": [
        call(x(3, 4), x(3, 4, low=0, seed=1)),
        call(x(3, 4, low=0.1), x(3, 4, low=0, seed=1), False, True),
    ],
    "gaussian_nll_loss": [
        call(x(3, 4), x(3, 4, seed=1), x(3, 4, low=0.1)),
        call(x(3, 4), x(3, 4, seed=1), x(3, low=0.1), True),
        call(x(3, 4), x(3, 4, seed=1), 0.5),
    ],
    "binary_cross_entropy": [call(x(3, 4, low=0.1, high=0.9), x(3, 4, low=0, high=1), x(4, low=0.1))],
    "binary_cross_entropy_with_logits": [call(x(3, 4), x(3, 4, low=0, high=1), pos_weight=x(4, low=0.1))],
    "kl_div": [call(x(3, 4), x(3, 4, low=0.1, high=1)), call(x(3, 4), x(3, 4), log_target=True)],
    "cross_entropy": [
        call(x(5, 3), classes(5)),
        call(x(5, 3), classes(5), x(3, low=0.1), label_smoothing=0.2, ignore_index=1),
        call(x(5, 3), x(5, 3, low=0, high=1)),
        call(x(2, 3, 4), classes(2, 4)),
    ],
    "nll_loss": [call(x(5, 3), classes(5)), call(x(5, 3), classes(5), x(3, low=0.1), None, 1)],
    "multi_margin_loss": [call(x(5, 3), classes(5)), call(x(5, 3), classes(5), 2, 0.5, x(3, low=0.1))],
    "multilabel_margin_loss": [call(x(2, 4), numpy.array([[3, 0, -1, 1], [1, -1, 0, 2]]))],
    "multilabel_soft_margin_loss": [call(x(3, 4), bools(3, 4) * 1.0, x(4, low=0.1))],
    "soft_margin_loss hinge_embedding_loss": [call(x(3, 4), signs(3, 4))],
    "margin_ranking_loss": [call(x(3), x(3, seed=1), signs(3), 0.3)],
    "cosine_embedding_loss": [call(x(3, 4), x(3, 4, seed=1), signs(3), 0.3)],
    "triplet_margin_loss": [call(x(3, 4), x(3, 4, seed=1), x(3, 4, seed=2), 0.7, 2, 1e-6, True)],
    "triplet_margin_with_distance_loss": [call(x(3, 4), x(3, 4, seed=1), x(3, 4, seed=2), margin=3.0, swap=True)],
    "linear_cross_entropy": [
        call(x(5, 4), x(3, 4), classes(5), linear_bias=x(3)),
        call(x(2, 4), x(3, 2, 4), classes(2, 2), label_smoothing=0.1),
    ],
    "ctc_loss": [
        call(x(6, 2, 4), classes(2, 3, count=3) + 1, numpy.array([6, 5]), numpy.array([3, 2])),
        call(x(6, 2, 4), numpy.array([1, 1, 2, 3]), numpy.array([6, 5]), numpy.array([3, 1])),
        call(x(2, 1, 4), numpy.array([[1, 1, 2]]), numpy.array([2]), numpy.array([3]), zero_infinity=True),
    ],
}
OTHERS: dict[str, list[Any]] = {
    "linear": [call(x(3, 4), x(2, 4), x(2))],
    "bilinear": [call(x(3, 4), x(3, 5), x(2, 4, 5), x(2))],
    "cosine_similarity pairwise_distance": [call(x(3, 4), x(3, 4, seed=1))],
    "pdist": [call(x(3, 4))],
    "prelu": [call(x(3, 4), x(4))],
    "normalize": [call(x(3, 4)), call(x(3, 4), 1.0, 0)],
    "grouped_mm": [
        call(x(6, 4).astype("f4"), x(2, 4, 8).astype("f4"), offs=numpy.array([2, 6], "i4")),
        call(x(2, 4, 4).astype("f4"), x(2, 4, 8).astype("f4")),
    ],
    "conv1d": [call(signal, x(6, 2, 3), x(6), 2, 1, 1, 2), call(signal, x(3, 4, 3), padding="same")],
    "conv2d": [call(image, x(3, 4, 3, 2), None, (2, 1), 1)],
    "conv3d": [call(volume, x(3, 2, 2, 2, 2))],
    "conv_transpose1d": [call(signal, x(4, 3, 3), x(3), 2, 1, 1)],
    "conv_transpose2d": [call(image, x(4, 3, 3, 2), None, 2)],
    "conv_transpose3d": [call(volume, x(2, 3, 2, 2, 2))],
    "conv_tbc": [call(x(5, 2, 3), x(3, 3, 4), x(4), 1)],
    "unfold": [call(image, (2, 3), 1, 1, 2)],
    "fold": [call(x(2, 8, 12), (4, 5), 2)],
    "batch_norm": [
        call(image, x(4), x(4, low=0.1), x(4), x(4)),
        call(image, x(4), x(4, low=0.1), x(4), x(4), True),
        call(image, None, None, training=True),
    ],
    "instance_norm": [call(image), call(image, x(4), x(4, low=0.1), x(4), x(4), False)],
    "layer_norm rms_norm": [call(x(3, 4, 5), (4, 5), x(4, 5)), call(x(3, 4, 5), [5])],
    "group_norm": [call(image, 2, x(4), x(4))],
    "local_response_norm": [call(image, 3), call(signal, 2, 0.1, 0.5, 2.0), call(volume, 2)],
    "avg_pool1d": [call(signal, 3, 2, 1, False, False)],
    "avg_pool2d": [call(image, (2, 3)), call(image, 2, 2, 1, True, True, 3)],
    "avg_pool3d": [call(volume, 2)],
    "adaptive_avg_pool1d": [call(signal, 3)],
    "adaptive_avg_pool2d": [call(image, (None, 2)), call(image, 2)],
    "adaptive_avg_pool3d": [call(volume, (2, None, 3))],
    "max_pool1d": [call(signal, 3, 2, 1), call(signal, 2, return_indices=True)],
    "max_pool2d": [call(image, (2, 3)), call(image, 2, return_indices=True)],
    "max_pool3d": [call(volume, 2), call(volume, 2, return_indices=True)],
    "max_pool1d_with_indices": [call(signal, 2)],
    "max_pool2d_with_indices": [call(image, 2)],
    "max_pool3d_with_indices": [call(volume, 2)],
    "adaptive_max_pool1d adaptive_max_pool1d_with_indices": [call(signal, 3)],
    "adaptive_max_pool2d adaptive_max_pool2d_with_indices": [call(image, (3, None))],
    "adaptive_max_pool3d adaptive_max_pool3d_with_indices": [call(volume, 2)],
    "max_unpool1d": [call(x(1, 2, 3), numpy.array([[[1, 2, 5], [0, 3, 4]]]), 2)],
    "max_unpool2d": [call(x(1, 2, 2), numpy.array([[[1, 6], [12, 13]]]), 2, output_size=(5, 5))],
    "max_unpool3d": [call(x(1, 2, 1, 1), numpy.array([[[[3]], [[12]]]]), 2)],
    # As many windows as possible, so that nothing is random.
    "fractional_max_pool2d": [call(x(1, 2, 4, 5), 2, (3, 4)), call(x(1, 2, 5, 5), 2, None, (0.8, 0.8))],
    "fractional_max_pool3d": [call(x(1, 1, 4, 5, 6), 2, 2)],
    "lp_pool1d": [call(x(2, 4, 7, low=0.1), 3, 2), call(signal, float("inf"), 2)],
    "lp_pool2d": [call(image, 2, (2, 3), 2, True)],
    "lp_pool3d": [call(volume, 2, 2)],
    "one_hot": [call(classes(4)), call(classes(2, 3), 5)],
    "embedding": [call(classes(2, 3, count=5), x(5, 4), -1), call(classes(4, count=5), x(5, 4), max_norm=1.0)],
    "embedding_bag": [
        call(classes(2, 3, count=5), x(5, 4)),
        call(classes(6, count=5), x(5, 4), numpy.array([0, 2, 2]), mode="sum", per_sample_weights=x(6)),
        call(classes(6, count=5), x(5, 4), numpy.array([0, 2, 6]), mode="max", include_last_offset=True),
        call(classes(6, count=5), x(5, 4), numpy.array([0, 4]), mode="mean", padding_idx=1),
    ],
    "pad": [call(signal, (1, 2)), call(image, (1, 2, 2, 1), "reflect"), call(signal, (1, 0), "replicate")],
    "pixel_shuffle": [call(image, 2)],
    "pixel_unshuffle": [call(x(1, 1, 4, 6), 2)],
    "channel_shuffle native_channel_shuffle": [call(image, 2)],
    "interpolate": [
        call(signal, 5),
        call(image, scale_factor=(1.5, 2.0)),
        call(volume, (3, 2, 5), mode="nearest-exact"),
        call(image, scale_factor=0.5, mode="area"),
        call(signal, 4, mode="linear"),
        call(image, scale_factor=1.7, mode="bilinear", align_corners=True),
        call(image, scale_factor=1.7, mode="bicubic", recompute_scale_factor=True),
        call(volume, (3, 7, 4), mode="trilinear"),
    ],
    "upsample upsample_nearest upsample_bilinear": [call(image, (3, 7))],
    "affine_grid": [
        call(x(2, 2, 3), (2, 3, 4, 5), False),
        call(x(2, 2, 3), (2, 3, 4, 1), True),
        call(x(1, 3, 4), [1, 2, 3, 4, 2], True),
    ],
    "grid_sample": [
        call(source, x(source.shape[0], *[3] * (source.ndim - 2), source.ndim - 2), mode, padding, aligned)
        for source in (image, volume)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for aligned in (False, True)
        if mode != "bicubic" or source.ndim == 4
    ],
    "scaled_dot_product_attention": [
        call(x(2, 3, 4, 5), x(2, 3, 6, 5), x(2, 3, 6, 2)),
        call(x(2, 4, 5), x(2, 6, 5), x(2, 6, 2), is_causal=True, scale=0.3),
        call(x(2, 4, 5), x(2, 4, 5), x(2, 4, 2), lower),
        call(x(2, 4, 5), x(2, 4, 5), x(2, 4, 2), x(4, 4)),
        call(x(2, 4, 5), x(2, 4, 5), x(2, 4, 2), lower & ~lower[::-1]),
        call(x(2, 4, 3, 5), x(2, 2, 6, 5), x(2, 2, 6, 5), enable_gqa=True),
    ],
    "multi_head_attention_forward": [
        call(x(3, 2, 4), x(5, 2, 4), x(5, 2, 4), 4, 2, x(12, 4), x(12), None, None, False, 0.0, x(4, 4), x(4)),
        call(x(3, 4), x(5, 4), x(5, 4), 4, 2, x(12, 4), None, None, None, False, 0.0, x(4, 4), None),
        call(
            *(x(3, 2, 4), x(5, 2, 4), x(5, 2, 4), 4, 2, None, x(12), x(1, 1, 4), x(1, 1, 4), True, 0.0, x(4, 4), x(4)),
            key_padding_mask=numpy.array([[False, True, False, False, True], [False] * 5]),
            attn_mask=x(3, 5),
            use_separate_proj_weight=True,
            q_proj_weight=x(4, 4),
            k_proj_weight=x(4, 4, seed=1),
            v_proj_weight=x(4, 4, seed=2),
            average_attn_weights=False,
        ),
    ],
}
# Random numbers differ from torch's, so only properties that do not depend on them are compared.
DRAWN = ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "gumbel_softmax"]


def samples() -> Iterator[Any]:
    for names, forms in ACTIVATIONS.items():
        for name in names.split():
            yield from (pytest.param(name, call(x(4, 6), *form), id=f"{name}-{form}") for form in forms)
            if "inplace" in inspect.signature(getattr(functional, name)).parameters:
                yield pytest.param(name, call(x(4, 6), *forms[-1], inplace=True), id=f"{name}-inplace")
    for names, calls in LOSSES.items():
        for name in names.split():
            reductions = ("mean", "sum", "none", *(["batchmean"] if name == "kl_div" else []))
            for position, (args, kwargs) in enumerate(calls):
                for reduction in reductions:
                    yield pytest.param(
                        name, (args, {**kwargs, "reduction": reduction}), id=f"{name}-{position}-{reduction}"
                    )
    for names, calls in OTHERS.items():
        for name in names.split():
            yield from (pytest.param(name, call, id=f"{name}-{position}") for position, call in enumerate(calls))


def covered() -> set[str]:
    tables = [*ACTIVATIONS, *LOSSES, *OTHERS, *DRAWN]
    return {name for names in tables for name in names.split()}


def test_every_function_has_a_sample() -> None:
    in_place = {name for name in functional.__all__ if name.endswith("_")}
    assert set(functional.__all__) - in_place == covered()


def carried(value: object, make: Callable[[Any], Any]) -> Any:
    return make(value) if isinstance(value, numpy.ndarray) else value


# Two write running statistics in some of their samples; torch has no gradient of native_channel_shuffle.
NO_GRADIENTS = ("batch_norm", "instance_norm", "native_channel_shuffle")

LOSS_NAMES = {name for names in LOSSES for name in names.split()}


def run(module: Any, name: str, sample: Any, make: Callable[[Any], Any]) -> tuple[list[numpy.ndarray], list[Any]]:
    """Return the results, and the gradients of their sum by each floating-point argument."""
    args, kwargs = sample
    operands = [carried(arg, make) for arg in args]
    named = {key: carried(value, make) for key, value in kwargs.items()}
    writes = kwargs.get("inplace") or kwargs.get("max_norm") or name in NO_GRADIENTS
    leaves = [value for value in operands if hasattr(value, "dtype") and str(value.dtype).endswith("float64")]
    if name in LOSS_NAMES:  # torch and opdsl differentiate by different targets and weights
        leaves = leaves[:1]
    if not writes:
        for leaf in leaves:
            leaf.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # torch's gradient of ctc_loss assumes log-probabilities that come from a softmax.
        first = [operands[0].log_softmax(-1), *operands[1:]] if name == "ctc_loss" else operands
        output = getattr(module, name)(*first, **named)
    results = [part for part in (output if isinstance(output, tuple) else (output,)) if part is not None]
    if not writes and results[0].requires_grad:
        results[0].sum().backward()
    if writes:
        results += [value for value in operands if hasattr(value, "dtype")]
    return [result.detach().numpy() for result in results], [
        None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves
    ]


@pytest.mark.parametrize(("name", "sample"), list(samples()))
def test_values_and_gradients(name: str, sample: Any) -> None:
    # Each call has its own copies, since some functions write to their input.
    own, own_grads = run(functional, name, sample, lambda array: opdsl.tensor(array))
    expected, expected_grads = run(reference, name, sample, lambda array: torch.tensor(array))
    for actual, other in zip(own, expected, strict=True):
        assert actual.dtype == other.dtype
        tolerance = 1e-5 if other.dtype == numpy.float32 else 1e-9
        numpy.testing.assert_allclose(actual, other, rtol=tolerance, atol=tolerance)
    for grad, other in zip(own_grads, expected_grads, strict=True):
        if other is not None and grad is not None:
            numpy.testing.assert_allclose(grad, other, rtol=1e-8, atol=1e-8)
        else:
            assert other is None or not other.any()


@pytest.mark.parametrize(
    "name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"]
)
@pytest.mark.filterwarnings("ignore:dropout2d")
def test_dropout_keeps_all_or_nothing(name: str) -> None:
    shape = {"dropout1d": (3, 4), "dropout3d": (3, 2, 2, 2)}.get(name, (3, 4, 5))
    sample = opdsl.tensor(x(*shape))
    function = getattr(functional, name)
    assert function(sample, 0.7, False).equal(sample)
    assert function(sample, 0.0, True).equal(sample)
    if "alpha" not in name:
        assert not function(sample, 1.0, True).any()
        kept = function(opdsl.ones(*shape), 0.5, True)
        assert set(kept.flatten().tolist()) <= {0.0, 2.0}
    if name[-2:] in ("1d", "3d"):
        per_channel = kept.flatten(1)
        assert (per_channel == per_channel[:, :1]).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        function(sample, 1.5)


def test_gumbel_softmax() -> None:
    logits = opdsl.tensor(x(500, 3)).requires_grad_()
    soft = functional.gumbel_softmax(logits, 0.5)
    assert opdsl.allclose(soft.sum(-1), opdsl.ones(500, dtype=opdsl.float64))
    hard = functional.gumbel_softmax(logits, hard=True)
    assert set(hard.detach().round().flatten().tolist()) == {0.0, 1.0}
    hard[:, 0].sum().backward()
    assert logits.grad.abs().sum() > 0
    equal = functional.gumbel_softmax(opdsl.zeros(6000, 2), hard=True)
    assert abs(equal[:, 0].mean().item() - 0.5) < 0.05


@pytest.mark.parametrize("name", [name for name in sorted(functional.__all__) if name.endswith("_")])
def test_functions_that_write(name: str) -> None:
    forms = {"threshold_": (0.1, 20.0), "rrelu_": (0.1, 0.3)}.get(name, ())
    written = opdsl.tensor(x(3, 4))
    returned = getattr(functional, name)(written, *forms)
    expected = getattr(reference, name)(torch.tensor(x(3, 4)), *forms)
    assert returned is written
    numpy.testing.assert_allclose(written.numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("cross_entropy", call(x(5, 3), classes(5), reduction="average")),
        ("gaussian_nll_loss", call(x(3), x(3), x(3, low=-2, high=-1))),
        ("gaussian_nll_loss", call(x(3, 4), x(3, 4), x(2, low=0.1))),
        ("binary_cross_entropy", call(x(3, low=0.1, high=0.9), x(2, low=0, high=1))),
        ("triplet_margin_loss", call(x(3, 4), x(3, 4), x(3, 4), -1.0)),
        ("margin_ranking_loss", call(x(3), x(3), x(3, 1))),
        ("interpolate", call(image, 3, 2.0)),
        ("interpolate", call(image, 3, mode="trilinear")),
        ("interpolate", call(image, 3, align_corners=True)),
        ("grid_sample", call(image, x(2, 3, 3, 2), "cubic", align_corners=False)),
        ("affine_grid", call(x(2, 2, 2), (2, 3, 4, 5), False)),
        ("embedding", call(classes(3), x(3, 4), 7)),
        ("embedding_bag", call(classes(3), x(3, 4))),
        ("embedding_bag", call(classes(3), x(3, 4), numpy.array([0]), per_sample_weights=x(3))),
        ("batch_norm", call(x(1, 3), None, None, training=True)),
        ("max_unpool2d", call(x(1, 2, 2), numpy.array([[[1, 6], [12, 13]]]), 2, output_size=(9, 9))),
        ("local_response_norm", call(x(3, 4), 2)),
    ],
)
def test_refusals(name: str, sample: Any) -> None:
    """Calls that torch rejects raise an error of opdsl that is also an instance of torch's error class."""
    with pytest.raises(Exception) as theirs:
        called(reference, name, sample, torch.tensor)
    kind = ValueError if isinstance(theirs.value, AssertionError) else type(theirs.value)
    with pytest.raises(kind) as ours:
        called(functional, name, sample, opdsl.tensor)
    assert isinstance(ours.value, opdsl.errors.OpdslError)


def called(module: Any, name: str, sample: Any, make: Callable[[Any], Any]) -> Any:
    args, kwargs = sample
    named = {key: carried(value, make) for key, value in kwargs.items()}
    return getattr(module, name)(*(carried(arg, make) for arg in args), **named)


def test_bags_of_narrow_numbers_are_summed_in_wide_ones() -> None:
    table, numbers = (
        numpy.random.default_rng(0).standard_normal((50, 4)),
        numpy.random.default_rng(1).integers(0, 50, 1000),
    )
    narrow = torch.tensor(table).bfloat16()
    exact = narrow.double()[torch.tensor(numbers)].sum(0)
    sums = functional.embedding_bag(
        opdsl.tensor(numbers), opdsl.tensor(table, dtype=opdsl.bfloat16), opdsl.tensor([0]), mode="sum"
    )
    assert numpy.allclose(sums.to(opdsl.float64).numpy()[0], exact.numpy(), rtol=2**-8, atol=2**-6)
