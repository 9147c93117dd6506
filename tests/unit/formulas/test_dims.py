"""Tests of values over dims: names, sizes, operators, folds and order, against NumPy."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opdsl
from opdsl import Tensor, dim, dims
from opdsl.errors import DimensionError, DimError, OpdslError


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return opdsl.from_numpy(numpy.random.default_rng(seed).standard_normal(shape))


def close(tensor: Tensor, wanted: object) -> None:
    assert isinstance(tensor, Tensor)
    numpy.testing.assert_allclose(tensor.numpy(), wanted, rtol=1e-12, atol=1e-12)


sizes = st.sampled_from([0, 1, 2, 3])


# -------------------------------------------------------------------------------------------------------- names, sizes


def test_dims_are_named_by_what_they_are_assigned_to() -> None:
    batch, _row = dims(2)
    one = dim()
    single = dims(1)
    listed = [dims(1), *dims(2)]
    assert [str(operand) for operand in (batch, _row, one, single)] == ["batch", "_row", "one", "single"]
    assert [str(dimension) for dimension in listed] == ["d0", "d0", "d1"]


def test_a_read_determines_the_size_of_a_dim() -> None:
    i, j = dims(2)
    numbers(3, 4)[i, j]
    assert (i.size, j.size) == (3, 4)
    h, w = dims(2, [5, None])
    assert h.size == 5
    with pytest.raises(DimError, match=r"the size of w is unknown"):
        w.size  # noqa: B018


@pytest.mark.parametrize("first", ["long", "short"])
def test_a_size_of_1_broadcasts_in_any_order(first: str) -> None:
    i = dim()
    long, short = numbers(4), numbers(1)
    values = [long[i], short[i]] if first == "long" else [short[i], long[i]]
    close((values[0] + values[1]).order(i), long.numpy() + short.numpy())
    assert i.size == 4


def test_a_size_of_1_counts_for_each_position() -> None:
    i = dim()
    long, short = numbers(4), numbers(1)
    long[i]
    close(short[i].sum(i).order(), 4 * short.numpy()[0])
    close(short[i].order(i), numpy.broadcast_to(short.numpy(), 4))


def test_reads_that_disagree_name_both() -> None:
    i, j = dims(2)
    numbers(3, 4)[i, j]
    with pytest.raises(DimError, match=r"i has size 3 by the read \[i, j\] of .* \(3, 4\), but size 5 by .*\[i\]"):
        numbers(5)[i]
    (inputs,) = (dims(1, [1]),)
    with pytest.raises(DimError, match="the size that it was made with"):
        numbers(2)[inputs]


def test_a_size_of_1_that_was_used_is_not_changed() -> None:
    i = dim()
    total = numbers(1)[i].sum(i)
    assert total.order().shape == ()
    with pytest.raises(DimError, match=r"sum\(\) used it before"):
        numbers(2)[i]


@pytest.mark.parametrize(
    "make",
    [
        lambda: dims(0),
        lambda: dims(True),
        lambda: dims(2, [1]),
        lambda: dims(1, [-1]),
        lambda: dims(1, [2.0]),  # type: ignore[list-item]
        lambda: dims(2, 3),  # type: ignore[arg-type]
        lambda: dim("k"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_size_is_refused(make: object) -> None:
    with pytest.raises(DimError):
        make()  # type: ignore[operator]


def test_a_dim_is_the_tensor_of_its_positions() -> None:
    i, j = dims(2, [3, 2])
    assert (i * 2 + j).order(i, j).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert (i + 0).dtype is opdsl.int64
    assert (i * 0.5).dtype is opdsl.float32
    assert (i.to(opdsl.float64) * 0.5).dtype is opdsl.float64
    assert opdsl.where(i < j, 1, 0).order(i, j).tolist() == [[0, 1], [0, 0], [0, 0]]
    assert i.sum(i).order().tolist() == 3 and i.amax((i,)).order().tolist() == 2
    assert opdsl.stack([i, j]).order(i, j, ...).tolist() == [[[a, b] for b in range(2)] for a in range(3)]
    u = dim(range(1, 9, 3))
    assert (u + 0).order(u).tolist() == [1, 4, 7]


def test_dims_count_as_dimensions_for_promotion() -> None:
    i = dim()
    total = opdsl.ones(3)[i] + opdsl.tensor(1.0, dtype=opdsl.float64)
    assert total.dtype is opdsl.float32
    assert (opdsl.ones(3)[i] + opdsl.ones(1, dtype=opdsl.float64)).dtype is opdsl.float64


# ------------------------------------------------------------------------------------------------------------ operators


@given(sizes, sizes, sizes)
def test_operators_align_dims_by_name(n: int, m: int, p: int) -> None:
    i, j = dims(2)
    x, y = numbers(n, m, p), numbers(m, n, seed=1)
    a, b = x[i, j], y[j, i]
    xs, ys = x.numpy(), y.numpy().T[:, :, None]
    close((a - b).order(i, j, ...), xs - ys)
    close((b / (a.square() + 1)).order(i, j, ...), ys / (xs * xs + 1))
    close(opdsl.maximum(a, b).order(..., j, i), numpy.maximum(xs, ys).transpose(2, 1, 0))
    close(opdsl.where(a > b, a, 2.0).order(i, j, ...), numpy.where(xs > ys, xs, 2.0))
    close((2.0 - a).exp().order(i, j, ...), numpy.exp(2.0 - xs))
    close((1.0 / (1 + abs(a))).order(i, j, ...), 1 / (1 + abs(xs)))


def test_every_operator_of_python_is_there() -> None:
    i, j = dims(2)
    x, y = opdsl.tensor([5, 6, 7]), opdsl.tensor([2, 3])
    a, b = x[i], y[j]
    xs, ys = x.numpy()[:, None], y.numpy()[None]
    pairs = [
        (a + b, xs + ys), (a - b, xs - ys), (a * b, xs * ys), (a / b, xs / ys), (a // b, xs // ys), (a % b, xs % ys),
        (a**b, xs**ys), (a & b, xs & ys), (a | b, xs | ys), (a ^ b, xs ^ ys), (a << b, xs << ys), (a >> b, xs >> ys),
        (a == b, xs == ys), (a != b, xs != ys), (a < b, xs < ys), (a <= b, xs <= ys), (a > b, xs > ys),
        (a >= b, xs >= ys), (-a + b, -xs + ys), (~a + b, ~xs + ys), (+a + b, xs + ys),
        (9 - a + 0 * b, 9 - xs + 0 * ys), (2**a + 0 * b, 2**xs + 0 * ys), (20 // a + 0 * b, 20 // xs + 0 * ys),
        (20 % a + 0 * b, 20 % xs + 0 * ys), (1 / a + 0 * b, 1 / xs + 0 * ys),
    ]  # fmt: skip
    for computed, wanted in pairs:
        numpy.testing.assert_allclose(computed.order(i, j).numpy(), wanted, rtol=1e-6)


def test_plain_tensors_and_arrays_stand_on_either_side() -> None:
    i = dim()
    x, y = numbers(3, 2), numbers(2, seed=1)
    for other in (y, y.numpy()):
        close((x[i] + other).order(i, ...), x.numpy() + y.numpy())
        close((other - x[i]).order(i, ...), y.numpy() - x.numpy())
    close(y.add(x[i]).order(i, ...), x.numpy() + y.numpy())


@given(sizes, st.sampled_from([1, 2, 3]), sizes)
def test_products_of_matrices_go_per_position(n: int, m: int, p: int) -> None:
    i, j = dims(2)
    x, y = numbers(n, 2, m), numbers(p, m, 2, seed=1)
    close((x[i] @ y[j]).order(i, j, ...), x.numpy()[:, None] @ y.numpy()[None])
    close((x[i] @ y[j, :, 0]).order(i, j, ...), numpy.einsum("iam,jm->ija", x.numpy(), y.numpy()[..., 0]))
    close((x[i, 0] @ y[j]).order(i, j, ...), numpy.einsum("im,jmb->ijb", x.numpy()[:, 0], y.numpy()))
    close((x[i, 0] @ y[j, :, 0]).order(i, j), x.numpy()[:, 0] @ y.numpy()[..., 0].T)


def test_views_name_positional_dimensions() -> None:
    i = dim()
    x = numbers(3, 4, 5)
    a, xs = x[i], x.numpy()
    close(a.transpose(0, 1).order(i, ...), xs.transpose(0, 2, 1))
    close(a.t().order(i, ...), xs.transpose(0, 2, 1))
    close(a.permute(1, 0).order(i, ...), xs.transpose(0, 2, 1))
    close(a.reshape(2, 10).order(i, ...), xs.reshape(3, 2, 10))
    close(a.flatten().order(i, ...), xs.reshape(3, 20))
    close(a.unsqueeze(0).order(i, ...), xs[:, None])
    close(a.unsqueeze(-1).order(i, ...), xs[..., None])
    close(a.unflatten(0, (2, 2)).order(i, ...), xs.reshape(3, 2, 2, 5))
    close(a.expand(2, 4, 5).order(i, ...), numpy.broadcast_to(xs[:, None], (3, 2, 4, 5)))
    close(a[1].order(i, ...), xs[:, 1])
    close(a[..., 1:3].order(i, ...), xs[:, :, 1:3])
    close(a.flip(0).order(i, ...), xs[:, ::-1])
    close(opdsl.cat([a, a], 1).order(i, ...), numpy.concatenate([xs, xs], 2))
    close(opdsl.stack([a, a], 0).order(i, ...), numpy.stack([xs, xs], 1))
    close(next(iter(a)).order(i, ...), xs[:, 0])
    assert a.shape == (4, 5) and a.ndim == 2 and a.dim() == 2 and a.size(0) == 4 and len(a) == 4


def test_bodies_and_other_operators_go_per_position() -> None:
    i = dim()
    x = numbers(3, 4, 4)
    layer = opdsl.nn.functional
    close(layer.softplus(x[i]).order(i, ...), layer.softplus(x).numpy())
    close(layer.layer_norm(x[i], (4,)).order(i, ...), layer.layer_norm(x, (4,)).numpy())
    close(opdsl.linalg.inv(x[i]).order(i, ...), numpy.linalg.inv(x.numpy()))
    windows = layer.avg_pool1d(x[i], 2)
    close(windows.order(i, ...), layer.avg_pool1d(x, 2).numpy())


# ---------------------------------------------------------------------------------------------------------------- folds


@given(st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2]))
def test_folds_take_dims_and_positional_dimensions(n: int, m: int, p: int) -> None:
    i, j = dims(2)
    x = numbers(n, m, p)
    a, xs = x[i, j], x.numpy()
    close(a.sum(j).order(i, ...), xs.sum(1))
    close(a.sum((i, j)), xs.sum((0, 1)))
    close(a.mean([j, ...]).order(i), xs.mean((1, 2)))
    close(a.amax((j, -1)).order(i), xs.max((1, 2)))
    close(a.amin(0).order(i, j), xs.min(2))
    close(a.prod(i).order(j, ...), xs.prod(0))
    close(a.logsumexp((i, j)), numpy.log(numpy.exp(xs).sum((0, 1))))
    close(a.argmax((i, j)).to(opdsl.float64), xs.reshape(-1, p).argmax(0))
    close(a.max(j).values.order(i, ...), xs.max(1))
    close(a.var(j, correction=0).order(i, ...), xs.var(1))
    close(a.softmax(j).sum(j).order(i, ...), numpy.ones((n, p)))
    close(a.cumsum(j).order(i, j, ...), xs.cumsum(1))
    close(a.sort(j).values.order(i, j, ...), numpy.sort(xs, 1))
    close(opdsl.sum(a, dim=(j,)).order(i, ...), xs.sum(1))


def test_folds_of_all_are_of_positional_dimensions() -> None:
    i, j = dims(2)
    x = numbers(3, 4, 5)
    a, xs = x[i], x.numpy()
    for total in (a.sum(), a.sum(None), a.sum([]), a.sum(...), a.sum((0, 1))):
        close(total.order(i), xs.sum((1, 2)))
    close(a.max().order(i), xs.max((1, 2)))
    close(a.argmax().order(i).to(opdsl.float64), xs.reshape(3, -1).argmax(1))
    close(a.argmax(keepdim=True).order(i, ...).to(opdsl.float64), xs.reshape(3, -1).argmax(1)[:, None, None])
    close(a.sum(keepdim=True, dim=None).order(i, ...), xs.sum((1, 2), keepdims=True))
    close(a.std().order(i), xs.reshape(3, -1).std(1, ddof=1))
    close(a.norm().order(i), numpy.linalg.norm(xs.reshape(3, -1), axis=1))
    close(x[i, j, 0].sum().order(i, j), xs[..., 0])
    close(x[i, j, 0].amax(-1).order(i, j), xs[..., 0])
    assert (x[i, j, 0] > 0).any(dim=[]).order(i, j).tolist() == (xs[..., 0] > 0).tolist()
    assert opdsl.ones(3, dtype=opdsl.int32)[dim()].sum().dtype is opdsl.int64


@given(sizes, st.lists(st.sampled_from(["ik", "jk", "ij", "k", "i"]), min_size=2, max_size=3))
def test_sums_of_products_are_einsums(n: int, reads: list[str]) -> None:
    by_name = dict(zip("ijk", dims(3, [2, 3, n]), strict=True))
    shape = {"i": 2, "j": 3, "k": n}
    tensors = [numbers(*(shape[name] for name in read), seed=seed) for seed, read in enumerate(reads)]
    values = [factor[tuple(by_name[name] for name in read)] for factor, read in zip(tensors, reads, strict=True)]
    product = values[0]
    for value in values[1:]:
        product = product * value
    names = sorted(set("".join(reads)))
    for folded in (["k"], ["i", "j"], names):
        there = [name for name in folded if name in names]
        if not there:
            continue
        kept = "".join(name for name in names if name not in there)
        wanted = numpy.einsum(",".join(reads) + "->" + kept, *(factor.numpy() for factor in tensors))
        close(product.sum(tuple(by_name[name] for name in there)).order(*(by_name[name] for name in kept)), wanted)


def test_a_contraction_does_not_compute_the_product() -> None:
    def products(x: Tensor, y: Tensor) -> Tensor:
        i, j, k = dims(3)
        return (x[i, k] * y[j, k]).sum(k).order(i, j)

    x, y = numbers(3, 4), numbers(5, 4)
    close(products(x, y), x.numpy() @ y.numpy().T)
    source = opdsl.trace(products, x, y).source
    assert "bmm" in source and "aten.mul" not in source


def test_a_product_whose_factor_is_written_is_refused() -> None:
    i, j, k = dims(3)
    x, y = numbers(3, 4), numbers(5, 4)
    product = x[i, k] * y[j, k]
    x.zero_()
    with pytest.raises(DimError, match="was written between"):
        product.sum(k)


def test_a_size_of_1_is_summed_for_each_position_of_a_contraction() -> None:
    i, j, k = dims(3, [2, 3, 5])
    x, y = numbers(2, 1), numbers(3, 1)
    close((x[i, k] * y[j, k]).sum(k).order(i, j), 5 * x.numpy() * y.numpy().T)


# ---------------------------------------------------------------------------------------------------------------- order


def test_order_places_flattens_and_keeps() -> None:
    i, j = dims(2)
    x = numbers(2, 3, 4)
    a, xs = x[i, j], x.numpy()
    close(a.order(j, ..., i), xs.transpose(1, 2, 0))
    close(a.order((j, i), ...), xs.transpose(1, 0, 2).reshape(6, 4))
    close(a.order(..., (i, j)), xs.transpose(2, 0, 1).reshape(4, 6))
    close(a.order(i, ...).order(j, ...), xs.transpose(1, 0, 2))
    close(numbers(2).order(...), numbers(2).numpy())
    last = a.order(j, ...)[-1]
    close(last.order(i, ...), xs[:, -1])
    assert x[i, j].order(i, j, ...).data_ptr() == x.data_ptr()


def test_faults_of_order_say_what_would_do() -> None:
    i, j, k = dims(3)
    a = numbers(2, 3, 4)[i, j]
    for targets, message in [
        ((i, j), r"\.\.\. is missing"),
        ((i, i, j, ...), "more than once"),
        ((i, j, k, ...), r"does not vary along \(k,\)"),
        ((..., i, ..., j), r"\.\.\. has to be listed once"),
        ((i, 1), "takes dims"),
    ]:
        with pytest.raises(DimError, match=message):
            a.order(*targets)
    with pytest.raises(DimError, match="does not vary"):
        numbers(2).order(i)


# --------------------------------------------------------------------------------------------------------------- faults


def test_faults_of_folds_say_what_would_do() -> None:
    i, j, k = dims(3)
    a = numbers(2, 3)[i, j]
    with pytest.raises(DimError, match=r"does not vary along \(k,\)"):
        a.sum(k)
    with pytest.raises(DimError, match="does not vary along"):
        numbers(2).sum(i)
    with pytest.raises(DimError, match="keepdim=True"):
        a.sum(i, keepdim=True)
    with pytest.raises(DimError, match="more than once"):
        a.sum((i, i))
    with pytest.raises(DimensionError):
        a.sum((i, 0))
    with pytest.raises(DimError, match="another size than the dim"):
        a.topk(1, i)


def test_what_only_plain_tensors_have_is_refused() -> None:
    i = dim()
    a = numbers(2, 3)[i]
    for ask in (bool, int, float, complex):
        with pytest.raises(DimError, match="order"):
            ask(a)
    for ask in (lambda: a.add_(1), lambda: opdsl.exp(a, out=opdsl.empty(2)), lambda: a.item(), lambda: a.numpy()):
        with pytest.raises(DimError):
            ask()
    with pytest.raises(AttributeError):
        a.nothing_like_that  # noqa: B018
    assert not hasattr(a, "data_ptr") and not hasattr(a, "__array__")
    x = numbers(3)
    with pytest.raises(DimError, match="order"):
        x[i] = 1.0
    with pytest.raises(DimError, match="order"):
        x[0] = a
    with pytest.raises(OpdslError):
        x.add(a, alpha="one")
    with pytest.raises(OpdslError):
        x.reshape(i, 2)


def test_arguments_stay_as_they_were() -> None:
    i = dim()
    x = numbers(3)
    before = x.clone()
    y = x[i]
    y += 1
    close(x, before.numpy())
    close(y.order(i), before.numpy() + 1)


@pytest.mark.parametrize("name", ["bool", "byte", "double", "float", "half", "int", "long"])
def test_methods_that_convert(name: str) -> None:
    i = dim()
    x = opdsl.tensor([[0.0, 1.5], [3.0, 2.0]])
    converted, wanted = getattr(x[i], name)(), getattr(x, name)()
    assert converted.dtype is wanted.dtype
    assert converted.order(i, ...).tolist() == wanted.tolist()


def test_squeezing_a_value_without_dimensions_of_size_1() -> None:
    i = dim()
    x = numbers(2, 3)
    close(x[i].squeeze().order(i, ...), x.numpy())


def test_norms_along_a_dim() -> None:
    i, k = dims(2)
    x = numbers(2, 3)
    wanted = numpy.linalg.norm(x.numpy(), axis=1)
    close(x[i, k].norm(dim=k).order(i), wanted)
    close(opdsl.norm(x[i, k], dim=k).order(i), wanted)


def test_dims_are_values_before_there_is_a_tensor() -> None:
    code = "import opdsl; i = opdsl.dim(3); print((i * i).order(i).tolist())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[0, 1, 4]"


def test_a_value_prints_with_its_dims() -> None:
    i, j = dims(2)
    assert repr(opdsl.tensor([1.0])[i]) == "tensor([1.])\nwith dims=(i,) sizes=(1)"
    assert "once all of them have sizes" in repr(j + 1)
    assert math.isfinite(hash(i))
