"""Tests of torch's operators on tensors of opdsl (``opdsl.interop.torch.wrap``), compared with torch."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.errors import (
    ArgumentError,
    DeclarationError,
    DimensionError,
    GraphFreedError,
    InterchangeError,
    OptionError,
    ReadOnlyError,
    RequiresGradError,
    SavedTensorChangedError,
    TorchError,
    UnknownOperatorError,
)
from opdsl.interop.torch import wrap
from opdsl.testing import check_op, gradcheck, gradgradcheck
from tests.torch.twins import agree, assert_agree, of, theirs

# ------------------------------------------------------------------------------------------------------------- results


def test_the_schema_is_torchs_in_a_namespace_of_its_own() -> None:
    schema = str(wrap("aten::cosine_similarity").schema)
    assert schema == f"torch_{torch.ops.aten.cosine_similarity.default._schema}"


def test_wrapping_twice_gives_the_same_function() -> None:
    assert wrap("aten::addcmul") is wrap("aten::addcmul")


@pytest.mark.parametrize("target", ["aten::addcmul", torch.ops.aten.addcmul, torch.ops.aten.addcmul.default])
def test_an_operator_may_be_named_or_given(target: Any) -> None:
    x = torch.rand(3, 3)
    assert_agree(wrap(target)(of(x), of(x), of(x), value=2), torch.addcmul(x, x, x, value=2))


def test_it_is_found_among_the_operators() -> None:
    wrap("aten::dist")
    assert opdsl.ops.torch_aten.dist.default.schema is wrap("aten::dist").schema


def test_one_overload_takes_what_its_schema_says_alone() -> None:
    with pytest.raises(ArgumentError):
        wrap("aten::pow.Tensor_Tensor")(opdsl.ones(2), 2)


def test_overloads_are_chosen_by_arguments() -> None:
    power, x = wrap("aten::pow"), torch.tensor([1.0, 2.0, 3.0])
    mine = of(x)
    result = [power(mine, 2), power(2, mine), power(mine, mine)]
    assert_agree(result, [x**2, 2**x, x**x])


def test_variants_are_torchs() -> None:
    variants = wrap("aten::mul").variants
    assert {name: str(variant.schema.name) for name, variant in variants.items()} == {
        "functional": "torch_aten::mul.Tensor",
        "inplace": "torch_aten::mul_.Tensor",
        "out": "torch_aten::mul.out",
    }


def test_the_kernel_is_composite_over_backends() -> None:
    table = wrap("aten::cosine_similarity").dispatch_table()
    assert {str(table[key].registered_at) for key in ("CPU", "CUDA", "Meta")} == {"CompositeExplicitAutograd"}


def test_an_operator_of_a_users_own_library() -> None:
    lib = torch.library.Library("opdsl_wrap_test", "DEF")
    lib.define("halved(Tensor self) -> Tensor")
    lib.impl("halved", lambda self: self / 2, "CompositeImplicitAutograd")
    x = opdsl.tensor([1.0, 4.0], requires_grad=True)
    y = wrap("opdsl_wrap_test::halved")(x)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([0.5, 2.0], [0.5, 0.5])
    lib._destroy()


# ------------------------------------------------------------------------------------------------------------- memory


def test_torch_reads_our_memory() -> None:
    x = opdsl.zeros(3)
    y = wrap("aten::view")(x, [3, 1])
    x.fill_(5)
    assert y.tolist() == [[5.0], [5.0], [5.0]]


def test_a_view_shows_the_memory_of_its_tensor() -> None:
    x = opdsl.zeros(2, 3)
    row = wrap("aten::select")(x, 0, 1)
    row.fill_(7)
    assert x.tolist() == [[0.0] * 3, [7.0] * 3]


def test_a_view_knows_its_base() -> None:
    x = opdsl.zeros(2, 3)
    assert wrap("aten::transpose")(x, 0, 1)._base is x


def test_a_view_as_another_dtype() -> None:
    x = opdsl.zeros(2, dtype=opdsl.complex64)
    wrap("aten::view_as_real")(x)[1, 1] = 3
    assert x.tolist() == [0j, 3j]


def test_a_tensor_that_torch_returns_as_it_is() -> None:
    x = opdsl.zeros(2, 3)
    assert wrap("aten::contiguous")(x) is x


def test_offsets_are_counted_from_the_beginning_of_the_storage() -> None:
    shifted = opdsl.arange(6.0)[2:]
    assert wrap("aten::as_strided")(shifted, [2], [1], 0).tolist() == [0.0, 1.0]


def test_results_of_conjugation_hold_conjugated_elements() -> None:
    x = torch.tensor([1 + 2j])
    assert_agree(wrap("aten::conj")(of(x)), x.conj().resolve_conj())


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
                                   "float16", "bfloat16", "float32", "float64", "complex64", "complex128"])  # fmt: skip
def test_every_dtype_crosses(dtype: str) -> None:
    x = torch.tensor([0, 1, 1]).to(getattr(torch, dtype))
    assert_agree(wrap("aten::roll")(of(x), [1]), x.roll(1))


def test_results_of_a_dtype_that_is_not_ours_are_refused() -> None:
    with pytest.raises(InterchangeError, match="complex32"):
        wrap("aten::view_as_complex_copy")(opdsl.ones(2, 2, dtype=opdsl.float16))


def test_read_only_memory_is_read() -> None:
    array = numpy.ones(3, "f4")
    array.setflags(write=False)
    assert wrap("aten::neg")(opdsl.from_numpy(array)).tolist() == [-1.0] * 3


def test_read_only_memory_is_not_written() -> None:
    array = numpy.ones(3, "f4")
    array.setflags(write=False)
    with pytest.raises(ReadOnlyError):
        wrap("aten::neg_")(opdsl.from_numpy(array))


# ------------------------------------------------------------------------------------------------ writing and outputs


def test_writing_counts_as_a_version() -> None:
    x = opdsl.tensor([1.0])
    wrap("aten::add_")(x, 1)
    assert (x.tolist(), x._version) == ([2.0], 1)


def test_an_inplace_operator_returns_its_tensor() -> None:
    x = opdsl.ones(3)
    assert wrap("aten::sin_")(x) is x


def test_shapes_changed_in_place_are_taken_over() -> None:
    matrix = opdsl.arange(6.0).view(2, 3)
    wrap("aten::t_")(matrix)
    assert (matrix.shape, matrix.strides, matrix.tolist()) == ((3, 2), (1, 3), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]])


def test_lists_are_written_in_place() -> None:
    x, y = opdsl.ones(2), opdsl.zeros(3)
    wrap("aten::_foreach_add_")([x, y], 2)
    assert (x.tolist(), y.tolist()) == ([3.0] * 2, [2.0] * 3)


def test_out_is_filled_where_it_lies() -> None:
    out = opdsl.zeros(4)[1:3]
    assert wrap("aten::mul")(opdsl.ones(2), 3.0 * opdsl.ones(2), out=out) is out
    assert out._base.tolist() == [0.0, 3.0, 3.0, 0.0]


@pytest.mark.parametrize("shape", [(0,), (2,), (7,), (3, 3)], ids=str)
def test_out_is_resized(shape: tuple[int, ...]) -> None:
    def call(lib: Any, x: Any, out: Any) -> Any:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            result = torch.sin(x, out=out) if lib is torch else wrap("aten::sin")(x, out=out)
        return result, out

    agree(call, torch.arange(5.0), torch.zeros(shape), repeat=1)


def test_resizing_a_tensor_with_elements_warns() -> None:
    with pytest.warns(UserWarning, match="was resized since it had shape"):
        wrap("aten::cosh")(opdsl.ones(5), out=opdsl.zeros(2))


def test_several_outputs() -> None:
    x = torch.rand(4, 3)
    values, indices = opdsl.empty(0), opdsl.empty(0, dtype=opdsl.int64)
    result = wrap("aten::max")(of(x), 1, out=(values, indices))
    assert_agree([*result], [*x.max(1)])
    assert result[0] is values


def test_an_out_that_overlaps_what_is_read_is_refused() -> None:
    x = opdsl.ones(5)
    with pytest.raises(TorchError, match="single memory location"):
        wrap("aten::add")(x[1:], 1, out=x[:-1])


# ---------------------------------------------------------------------------------------------------- meta, factories


def test_meta_gives_torchs_shapes() -> None:
    x = torch.empty(2, 3, 8, 8, device="meta")
    mine = opdsl.empty(2, 3, 8, 8, device="meta")
    weight = (4, 3, 3, 3)
    assert_agree(
        wrap("aten::conv2d")(mine, opdsl.empty(weight, device="meta")),
        torch.conv2d(x, torch.empty(weight, device="meta")),
    )


def test_meta_of_tensors_on_the_cpu_runs_no_kernel() -> None:
    transposed = wrap("aten::transpose").meta(opdsl.ones(2, 3), 0, 1)
    assert (transposed.is_meta, transposed.shape, transposed.strides) == (True, (3, 2), (1, 3))


def test_a_view_on_meta_keeps_its_offset() -> None:
    x = opdsl.empty(4, 5, device="meta")
    assert wrap("aten::slice")(x, 0, 2).storage_offset() == 10


def test_a_factory_takes_our_options() -> None:
    filled = wrap("aten::full")([2], 3, dtype=opdsl.float64, device="cpu")
    assert (filled.dtype, filled.tolist()) == (opdsl.float64, [3.0, 3.0])


def test_a_factory_on_meta() -> None:
    assert wrap("aten::zeros")([2, 3], device="meta").is_meta


def test_a_factory_may_make_the_first_tensor_of_a_process() -> None:
    code = "from opdsl.interop.torch import wrap; print((wrap('aten::ones')([2]) + 1).tolist())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout.strip() == "[2.0, 2.0]"


@pytest.mark.parametrize("name", ["add", "transpose", "atan2", "softmax", "lerp", "unbind"])
def test_a_wrapped_operator_keeps_the_laws(name: str) -> None:
    check_op(wrap(f"aten::{name}"))


def test_random_numbers_are_torchs() -> None:
    torch.manual_seed(3)
    mine = wrap("aten::rand")([4])
    torch.manual_seed(3)
    assert_agree(mine, torch.rand(4))


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: wrap("aten::bmm")(opdsl.ones(2), opdsl.ones(2)), TorchError),
        (lambda: wrap("aten::sum.dim_IntList")(opdsl.ones(2), [5]), DimensionError),
        (lambda: wrap("aten::sum")(opdsl.ones(2), "x"), ArgumentError),
        (lambda: wrap("aten::to_sparse")(opdsl.ones(2)), InterchangeError),
        (lambda: wrap("aten::rand.generator")([2], generator=opdsl.Generator()), OptionError),
    ],
)
def test_errors_are_ours(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_an_error_names_the_operator_and_keeps_torchs() -> None:
    with pytest.raises(TorchError, match=r"torch_aten::bmm: batch1 must be a 3D tensor") as caught:
        wrap("aten::bmm")(opdsl.ones(2), opdsl.ones(2))
    assert type(caught.value.__cause__) is RuntimeError


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("aten::cosine_similarty", UnknownOperatorError, "Did you mean aten::cosine_similarity"),
        ("nowhere::f", UnknownOperatorError, "Import the module"),
        ("cosine_similarity", UnknownOperatorError, 'wrap\\("aten::cosine_similarity"\\)'),
        ("aten::add.Nothing", UnknownOperatorError, "It has Tensor, Scalar, out"),
        ("aten::", UnknownOperatorError, "aten::add"),
        ("aten::tensor", DeclarationError, "TorchScript"),
        ("higher_order::cond", DeclarationError, "no operator with a schema"),
        ("aten::get_gradients", DeclarationError, "Dict"),
        (3, DeclarationError, "takes the name"),
    ],
)
def test_what_cannot_be_wrapped(target: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrap(target)


# ----------------------------------------------------------------------------------------------------------- gradients

DOUBLE = {"dtype": opdsl.float64, "requires_grad": True}


def random(*shape: int, seed: int = 0) -> opdsl.Tensor:
    array = numpy.random.default_rng(seed).uniform(0.2, 1.0, shape)
    return opdsl.from_numpy(array).requires_grad_()


TWICE: dict[str, tuple[Callable[..., Any], tuple[opdsl.Tensor, ...]]] = {
    "cosine_similarity": (lambda x, y: wrap("aten::cosine_similarity")(x, y), (random(3, 4), random(3, 4, seed=1))),
    "addmm": (lambda x, y, z: wrap("aten::addmm")(x, y, z, beta=2), (random(2, 2), random(2, 3), random(3, 2, seed=2))),
    "softmax": (lambda x: wrap("aten::softmax")(x, 1), (random(2, 3),)),
    "layer_norm": (
        lambda x, w, b: wrap("aten::layer_norm")(x, [3], w, b),
        (random(2, 3), random(3), random(3, seed=1)),
    ),
    "conv2d": (lambda x, w: wrap("aten::conv2d")(x, w), (random(1, 1, 3, 3), random(1, 1, 2, 2))),
    "svd": (lambda x: wrap("aten::linalg_svdvals")(x), (random(3, 2),)),
    "cat": (lambda x, y: wrap("aten::cat")([x, y], 1), (random(2, 1), random(2, 2))),
    "unbind": (lambda x: wrap("aten::unbind")(x, 0)[1], (random(3, 2),)),
    "view": (lambda x: wrap("aten::transpose")(x, 0, 1).exp(), (random(3, 2),)),
    "same tensor twice": (lambda x: wrap("aten::mul")(x, x), (random(3),)),
    "in place": (lambda x, y: wrap("aten::mul_")(x * 2, y), (random(3), random(3, seed=1))),
    "part in place": (lambda x, y: written(x, y), (random(3, 2), random(2, seed=1))),
    "complex": (lambda x: wrap("aten::abs")(x), (opdsl.tensor([1 + 2j, 3 - 1j], dtype="complex128"),)),
}


def written(x: opdsl.Tensor, y: opdsl.Tensor) -> opdsl.Tensor:
    whole = x * 2
    wrap("aten::mul_")(whole[1], y)
    return whole


@pytest.mark.parametrize("name", TWICE)
def test_gradients_hold_against_finite_differences(name: str) -> None:
    function, inputs = TWICE[name]
    assert gradcheck(function, [input.requires_grad_() for input in inputs])


@pytest.mark.parametrize("name", TWICE)
def test_gradients_of_gradients_hold_against_finite_differences(name: str) -> None:
    function, inputs = TWICE[name]
    assert gradgradcheck(function, [input.requires_grad_() for input in inputs])


def test_a_list_written_in_place_has_gradients() -> None:
    x, y = random(2), random(2, seed=1)
    products = [x * 2, y * 3]
    wrap("aten::_foreach_mul_")(products, [y, x])
    (products[0].sum() + products[1].sum()).backward()
    assert_agree(x.grad, 5 * theirs(y.detach()))


def test_views_of_one_tensor_pass_their_gradients() -> None:
    x = random(4)
    first, second = wrap("aten::split")(x, 2)
    (first * second).sum().backward()
    assert_agree(x.grad, theirs(x.detach()).roll(2))


def test_one_of_several_views_is_not_written() -> None:
    x = random(4) * 1
    with pytest.raises(RequiresGradError, match="multiple views"):
        wrap("aten::split")(x, 2)[0].mul_(2)


def test_detached_results_have_no_history() -> None:
    assert not wrap("aten::detach")(random(2)).requires_grad


def test_integers_beside_gradients_have_none() -> None:
    values, indices = wrap("aten::max.dim")(random(3, 2), 1)
    assert (values.requires_grad, indices.requires_grad) == (True, False)


def test_without_gradients_nothing_is_recorded() -> None:
    with opdsl.no_grad():
        assert not wrap("aten::erf")(random(3)).requires_grad


def test_gradients_under_torchs_inference_mode() -> None:
    x = random(3)
    with torch.inference_mode():
        wrap("aten::mul")(x, x).sum().backward()
    assert_agree(x.grad, 2 * theirs(x.detach()))


class Seen(opdsl.DispatchMode):
    """Dispatch mode that records the names of called operators."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def dispatch(self, operator: Any, args: Any, kwargs: Any) -> Any:
        """Record the name and call the operator."""
        self.names.append(str(operator.schema.name))
        return operator(*args, **kwargs)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_modes_see_wrapped_operators(requires_grad: bool) -> None:
    x = random(3).detach().requires_grad_(requires_grad)
    with Seen() as mode:
        y = wrap("aten::sin")(x)
    assert (mode.names, y.requires_grad) == (["torch_aten::sin"], requires_grad)


def test_gradients_pass_a_mode() -> None:
    x = random(3)
    with Seen():
        y = wrap("aten::sin")(x)
    y.sum().backward()
    assert_agree(x.grad, theirs(x.detach()).cos())


def test_shapes_changed_in_place_pass_their_gradients() -> None:
    x = random(2, 3)
    y = x * 1
    wrap("aten::t_")(y)
    (y * opdsl.from_numpy(numpy.arange(6.0).reshape(3, 2))).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]


def test_out_with_gradients_is_refused() -> None:
    with pytest.raises(RequiresGradError, match="out="):
        wrap("aten::mul")(random(2), random(2), out=opdsl.empty(2, dtype=opdsl.float64))


def test_a_leaf_is_not_written_in_place() -> None:
    with pytest.raises(RequiresGradError, match="leaf"):
        wrap("aten::mul_")(random(2), 2)


@pytest.mark.parametrize("which", ["argument", "result"])
def test_writing_what_torch_has_saved_is_found(which: str) -> None:
    x = random(3) * 1
    y = wrap("aten::exp")(x) if which == "result" else wrap("aten::sin")(x)
    (y if which == "result" else x).detach().mul_(2)
    with pytest.raises(SavedTensorChangedError, match="modified by an inplace operation"):
        y.sum().backward()


def test_writing_what_torch_has_not_saved_is_allowed() -> None:
    x = random(3)
    y = wrap("aten::add")(x, 1)
    x.detach().mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_a_second_pass_needs_the_graph() -> None:
    y = wrap("aten::sin")(random(3)).sum()
    y.backward()
    with pytest.raises(GraphFreedError):
        y.backward()


def test_a_kept_graph_is_passed_twice() -> None:
    x = random(3)
    y = wrap("aten::sin")(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert_agree(x.grad, 2 * theirs(x.detach()).cos())


def test_random_operators_have_the_gradient_of_what_they_drew() -> None:
    x = random(1000)
    y = wrap("aten::dropout")(x, 0.5, True)
    y.sum().backward()
    assert_agree(x.grad * x.detach(), theirs(y.detach()))


def test_tangents_pass_through() -> None:
    x = random(3).detach()
    _, tangent = opdsl.autograd.functional.jvp(lambda x: wrap("aten::sin")(x), x, opdsl.ones(3, dtype=opdsl.float64))
    assert_agree(tangent, theirs(x).cos())
