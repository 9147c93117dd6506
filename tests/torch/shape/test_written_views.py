"""Tests of in-place writes through views, compared with PyTorch's: changed histories, version counts, errors."""

from __future__ import annotations

import gc
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.autograd import views
from tests.torch.twins import assert_fails

Facts = tuple[Any, ...]

BASES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda x: x,
    "leaf": lambda x: x.requires_grad_(),
    "computed": lambda x: x.requires_grad_() * 2,
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.t(),
    "view of a view": lambda x: x.view(3, 4)[1],
    "one of several": lambda x: x.unbind(0)[1],
    "view of one of several": lambda x: x.split(2)[1].view(3, 2),
    "detached": lambda x: x.detach(),
    "view of a detached": lambda x: x.detach()[0],
    "data": lambda x: x.data,
    "expanded": lambda x: x[:1].expand(2, 3),
}
MODES = ("enable_grad", "no_grad", "inference_mode")
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "mul_": lambda lib, view: view.mul_(3),
    "add_ of what requires grad": lambda lib, view: view.add_(lib.ones(view.shape, requires_grad=True)),
    "out": lambda lib, view: lib.add(lib.ones(view.shape), 1, out=view),
    "subscript": lambda lib, view: view.__setitem__(..., 3.0),
    "in-place view": lambda lib, view: view.unsqueeze_(0),
    "zero_": lambda lib, view: view.zero_(),
}


def written(lib: Any, base: str, view: str, viewing: str, writing: str, write: str) -> Facts:
    """Return the autograd properties of a view and its base before and after a write."""
    x = lib.ones(4, 3)
    whole = BASES[base](x)
    with getattr(lib, viewing)():
        piece = VIEWS[view](whole)
    before = (piece.requires_grad, piece.is_leaf, piece.grad_fn is None, piece._is_view())
    with getattr(lib, writing)():
        WRITES[write](lib, piece)
    after = [(side.requires_grad, side.is_leaf, side.grad_fn is None, side._version) for side in (piece, whole)]
    if not whole.requires_grad:
        return before, after, whole.tolist()
    whole.sum().backward()
    return before, after, whole.tolist(), None if not x.is_leaf or x.grad is None else x.grad.tolist()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_through_a_view(base: str, view: str) -> None:
    for viewing, writing, write in itertools.product(MODES, MODES, WRITES):
        case = (base, view, viewing, writing, write)
        try:
            expected = written(torch, *case)
        except RuntimeError as error:
            if (view, write) == ("expanded", "zero_") and "more than one element" in str(error):
                # PyTorch accepts the write, and fails in the backward pass.
                assert written(opdsl, *case)[2:] == ([[0.0] * 3, *[[2.0] * 3] * 3],) * 2
            else:
                assert_fails(lambda case=case: written(opdsl, *case), error)
        else:
            assert written(opdsl, *case) == expected, case


# Writes between the forward pass and the backward pass that needs the value.
MEANWHILE: dict[str, Callable[[Any], Any]] = {
    "through a view": lambda w: w[0].add_(1),
    "through a view of a view": lambda w: w.view(3, 1)[0].zero_(),
    "through a detached tensor": lambda w: w.detach().add_(1),
    "through a view of a detached one": lambda w: w.detach()[0].add_(1),
    "through its data": lambda w: w.data.add_(1),
    "through a view of its data": lambda w: w.data[0].add_(1),
    "through NumPy": lambda w: w.numpy().fill(3),
}


@pytest.mark.parametrize("write", MEANWHILE)
def test_a_saved_tensor_that_is_written(write: str) -> None:
    def gradient(lib: Any) -> Any:
        x, w = lib.ones(3, requires_grad=True), lib.ones(3)
        total = (x * w).sum()
        MEANWHILE[write](w)
        total.backward()
        return x.grad.tolist()

    try:
        expected = gradient(torch)
    except RuntimeError as error:
        assert_fails(lambda: gradient(opdsl), error)
    else:
        assert gradient(opdsl) == expected


# Each call is made twice, so that a plan serves the second one.
COUNTED: dict[str, Callable[[Any, Any], Any]] = {
    "in place": lambda lib, x: x.exp_(),
    "out": lambda lib, x: lib.add(x, 1, out=x),
    "copy_": lambda lib, x: x.copy_(lib.ones(3)),
    "fill_": lambda lib, x: x.fill_(2),
    "random": lambda lib, x: x.normal_(),
    "mask": lambda lib, x: x.masked_fill_(x > 0, 1.0),
    "subscript": lambda lib, x: x.__setitem__(0, 1.0),
    "indices": lambda lib, x: x.index_put_((lib.tensor([0]),), lib.tensor(1.0)),
    "several outputs": lambda lib, x: lib.sort(x, out=(x, lib.zeros(3, dtype=lib.int64))),
    "range": lambda lib, x: lib.arange(3.0, out=x),
    "transpose": lambda lib, x: x.swapdims_(0, 0),
    "nothing": lambda lib, x: x + 1,
}


@pytest.mark.parametrize("call", COUNTED)
def test_a_call_counts_once(call: str) -> None:
    def counts(lib: Any) -> list[int]:
        x = lib.tensor([0.5, -1.0, 2.0])
        versions = [x._version]
        for _ in range(2):
            COUNTED[call](lib, x)
            versions += [x._version, x[1:]._version, x.detach()._version, x.data._version]
        return versions

    assert counts(opdsl) == counts(torch)


# ---------------------------------------------------------------------------------------------------------------- data


def read_and_written(lib: Any) -> Facts:
    x = lib.ones(4, 3)
    data = x.data
    view = data[1].add_(1)
    versions = [x._version, data._version, view._version]
    return versions, x.tolist(), data._is_view(), view._is_view(), view.storage_offset(), data.requires_grad


def written_unseen(lib: Any) -> Facts:
    x = lib.ones(3, requires_grad=True)
    y = x * x
    x.data.mul_(5)
    y.sum().backward()
    return x.grad.tolist(), x._version, x.is_leaf


def replaced(lib: Any) -> Facts:
    x = lib.ones(4, 3, requires_grad=True)
    x.data = lib.arange(6.0)[2:]
    (x * 2).sum().backward()
    return x.tolist(), x.grad.tolist(), x.storage_offset(), x.requires_grad, x._version, x._is_view()


def replaced_by_another_dtype(lib: Any) -> Facts:
    x = lib.ones(4)
    x.data = lib.ones(2, dtype=lib.int64)
    return str(x.dtype), x.tolist(), (x + 1).tolist()


@pytest.mark.parametrize("program", (read_and_written, written_unseen, replaced, replaced_by_another_dtype))
def test_data(program: Callable[[Any], Facts]) -> None:
    expected = program(torch)
    assert str(program(opdsl)).replace("opdsl.", "torch.") == str(expected)


def integers_for_what_requires_grad(lib: Any) -> None:
    lib.ones(3, requires_grad=True).data = lib.ones(3, dtype=lib.int64)


def nothing_for_data(lib: Any) -> None:
    lib.ones(3).data = None


def data_on_meta(lib: Any) -> None:
    lib.ones(3).data = lib.ones(3, device="meta")


@pytest.mark.parametrize("program", (integers_for_what_requires_grad, nothing_for_data, data_on_meta))
def test_data_that_does_not_fit(program: Callable[[Any], None]) -> None:
    with pytest.raises(Exception) as expected:
        program(torch)
    assert_fails(lambda: program(opdsl), expected.value)


# ------------------------------------------------------------------------------------------------------ inference mode

OF_INFERENCE_TENSORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "saved": lambda lib, output, x: x * output,
    "saved by a product": lambda lib, output, x: x @ output,
    "not saved": lambda lib, output, x: (x + output).requires_grad,
    "computed from": lambda lib, output, x: (output + 1).is_inference(),
    "copied": lambda lib, output, x: [output.clone().is_inference(), output.double().is_inference()],
    "viewed": lambda lib, output, x: [
        output[0].is_inference(),
        output.reshape(3, 1).is_inference(),
        output[0]._is_view(),
    ],
    "detached": lambda lib, output, x: [output.detach().is_inference(), output.data.is_inference()],
    "written": lambda lib, output, x: output.add_(1),
    "written through a view": lambda lib, output, x: output[0].zero_(),
    "written as data": lambda lib, output, x: output.data.add_(1).tolist(),
    "given as out": lambda lib, output, x: lib.add(lib.ones(3), 1, out=output),
    "written by a subscript": lambda lib, output, x: output.__setitem__(0, 1.0),
    "turned": lambda lib, output, x: output.unsqueeze_(0),
    "asked to require grad": lambda lib, output, x: output.requires_grad_(),
    "asked for its version": lambda lib, output, x: output._version,
    "read": lambda lib, output, x: [output.tolist(), output.numpy().tolist(), output.sum().item()],
}


@pytest.mark.parametrize("use", OF_INFERENCE_TENSORS)
def test_outside_of_inference_mode(use: str) -> None:
    def used(lib: Any) -> Any:
        with lib.inference_mode():
            output = lib.ones(3)
        return OF_INFERENCE_TENSORS[use](lib, output, lib.ones(3, requires_grad=True))

    try:
        expected = used(torch)
    except RuntimeError as error:
        for _ in range(2):
            assert_fails(lambda: used(opdsl), error)
    else:
        assert [used(opdsl), used(opdsl)] == [expected, expected]


MADE: tuple[Callable[[Any], Any], ...] = (
    lambda lib: lib.empty(3),
    lambda lib: lib.tensor([1.0]),
    lambda lib: lib.arange(3),
    lambda lib: lib.ones(3) + 1,
    lambda lib: lib.ones(3)[1:],
    lambda lib: lib.ones(3, 3).mm(lib.ones(3, 3)),
    lambda lib: lib.ones(3).softmax(0),
    lambda lib: lib.ones(3).sort()[0],
    lambda lib: lib.cat([lib.ones(2)]),
    lambda lib: lib.rand(2),
)


@pytest.mark.parametrize("make", MADE)
def test_what_inference_mode_makes(make: Callable[[Any], Any]) -> None:
    for _ in range(2):
        with opdsl.inference_mode():
            assert make(opdsl).is_inference()
        assert not make(opdsl).is_inference()


def test_normal_tensors_in_inference_mode() -> None:
    def facts(lib: Any) -> Facts:
        x = lib.ones(3, requires_grad=True)
        with lib.inference_mode():
            views = [tensor.is_inference() for tensor in (x[0], x.detach(), x.clone())]
            x.add_(1)
            with lib.inference_mode(False):
                within = [lib.ones(1).is_inference(), lib.is_grad_enabled(), (x * 2).requires_grad]
        return views, within, x._version

    assert facts(opdsl) == facts(torch)


def test_a_detached_tensor_has_its_own_history() -> None:
    """Writing to a detached tensor does not change the history of the original."""

    def facts(lib: Any) -> Facts:
        x, w = lib.ones(3, requires_grad=True), lib.ones((), requires_grad=True)
        apart = x.detach()
        apart[0] = w * 2
        apart.sum().backward()
        return apart.requires_grad, x.grad, w.grad.item(), x.tolist()

    assert facts(opdsl) == facts(torch)


def test_an_array_of_numpy_is_shared_by_data() -> None:
    array = numpy.ones(3)
    x = opdsl.from_numpy(array)
    x.data.mul_(2)
    assert array.tolist() == [2.0, 2.0, 2.0]


VIEWS_BEFORE: dict[str, Callable[[Any], Any]] = {
    "row": lambda y: y[1],
    "transposed": lambda y: y.t(),
    "of a view that is gone": lambda y: y.t()[0],
    "of another shape": lambda y: y.view(-1),
    "strided": lambda y: y.as_strided((3,), (2,)),
    "of one element": lambda y: y[0, 0],
    "expanded": lambda y: y[0].expand(2, y.shape[1]),
}


@pytest.mark.parametrize("size", [4, 1000])  # NumPy allocates small memory, large memory is reused
@pytest.mark.parametrize("view", VIEWS_BEFORE)
def test_views_from_before_the_first_recorded_write_are_followed(view: str, size: int) -> None:
    def gradients(lib: Any) -> list[Any]:
        gradients = []
        for _ in range(3):
            x = lib.arange(size * size, dtype=lib.float64).reshape(size, size).requires_grad_()
            y = lib.zeros(size, size, dtype=lib.float64)
            seen = VIEWS_BEFORE[view](y)
            y.copy_(x)
            assert seen.requires_grad
            (seen * seen).sum().backward()
            gradients.append(x.grad.numpy())
        return gradients

    for ours, theirs in zip(gradients(opdsl), gradients(torch), strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


def test_writes_without_views_do_not_search_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes to tensors without views do not search all objects, which takes seconds in a large process."""
    monkeypatch.setattr(views.gc, "get_referrers", lambda *_: pytest.fail("all objects were looked through"))
    x = opdsl.ones(3, requires_grad=True)
    for _ in range(3):
        assert opdsl.zeros(3).copy_(x).requires_grad
        y = opdsl.zeros(2, 3)
        y[0] = x
        assert y.add_(x).requires_grad


def test_young_views_are_found_without_searching_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views.gc, "get_referrers", lambda *_: pytest.fail("all objects were looked through"))
    x = opdsl.ones(2, 3, requires_grad=True)
    gc.collect()
    gc.disable()  # no object may move to an older generation
    try:
        for _ in range(3):
            y = opdsl.zeros(2, 3)
            seen = y[0], y.t(), y.view(-1)
            assert y.copy_(x).requires_grad
            assert all(view.requires_grad for view in seen)
    finally:
        gc.enable()


# --------------------------------------------------------------------------------------- writes that begin a history


def _rows(lib: Any, x: Any) -> Any:
    y = lib.zeros((2, 3), dtype=x.dtype)
    y[0] = x
    y[1] = x * x
    return y.sum(0) * y[1]


def _views(lib: Any, x: Any) -> Any:
    y = lib.zeros((2, 3), dtype=x.dtype)
    before, row = y.view(6), y[0]
    row.copy_(x)
    row.mul_(x)
    return (before * y.view(6)).sum() * row


def _whole(lib: Any, x: Any) -> Any:
    y = lib.zeros((3,), dtype=x.dtype)
    before = y.view(3, 1)
    y.add_(x)
    return y * before


def _detached(lib: Any, x: Any) -> Any:
    return x.detach().clone().mul_(x).mul_(x)


@pytest.mark.parametrize("body", [_rows, _views, _whole, _detached])
def test_bodies_may_write_what_they_have_made(body: Callable[[Any, Any], Any]) -> None:
    with opdsl.Library("beginnings") as library:

        @library.op
        @opdsl.traceable
        def composite(self: opdsl.Tensor) -> opdsl.Tensor:
            return body(opdsl, self)

        theirs = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        expected = body(torch, theirs)
        expected.sum().backward()
        assert theirs.grad is not None
        for _ in range(3):
            x = opdsl.tensor([1.0, 2.0, 3.0], requires_grad=True)
            actual = composite(x)
            actual.sum().backward()
            assert (actual.tolist(), x.grad.tolist()) == (expected.tolist(), theirs.grad.tolist())


# Operators whose kernels return views of memory that no other tensor has.
IN_HIDDEN_MEMORY: dict[str, Callable[[Any, Any], Any]] = {
    "repeat": lambda lib, x: x.repeat(2, 1),
    "roll": lambda lib, x: x.roll(1, 0),
    "embedding": lambda lib, x: lib.embedding(x, lib.tensor([[1, 0], [1, 1]])),
    "group_norm": lambda lib, x: lib.group_norm(x.reshape(1, 4, 3), 2),
    "pixel_shuffle": lambda lib, x: lib.pixel_shuffle(x.reshape(1, 4, 1, 3), 2),
    "slice_scatter": lambda lib, x: lib.slice_scatter(x, x[:1] * 2, 0, 1, 2),
    "dot": lambda lib, x: lib.dot(x[0], x[1]),
}


@pytest.mark.parametrize("name", IN_HIDDEN_MEMORY)
def test_results_in_hidden_memory_are_no_views(name: str) -> None:
    def gradients(lib: Any) -> list[Any]:
        gradients = []
        for _ in range(3):
            x = lib.arange(12, dtype=lib.float64).reshape(4, 3).requires_grad_()
            y = IN_HIDDEN_MEMORY[name](lib, x)
            assert not y._is_view()
            y.mul_(y.detach().clone())
            y[..., None].view(-1)[0].mul_(3)
            y.sum().backward()
            gradients.append((y._version, x.grad.numpy()))
        return gradients

    for ours, theirs in zip(gradients(opdsl), gradients(torch), strict=True):
        assert ours[0] == theirs[0]
        numpy.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-12)


# -------------------------------------------------------------------------------------------------- allowed overlaps

# Operators whose gradients are computed from their results.
OF_RESULTS = ("exp", "exp2", "expm1", "sigmoid", "sqrt", "rsqrt", "reciprocal", "tan", "tanh", "relu")


@pytest.mark.parametrize("name", OF_RESULTS)
def test_tensors_that_gradients_do_not_read_may_be_written(name: str) -> None:
    def gradients(lib: Any, dtype: str) -> Any:
        slopes = []
        for _ in range(3):
            x = lib.tensor([[0.3, 0.7], [1.1, 0.2]], dtype=getattr(lib, dtype)).requires_grad_()
            y = x * 1
            z = getattr(y, name)()
            y.mul_(2)
            (first,) = lib.autograd.grad((z * z).sum().abs(), x, create_graph=True)
            # In place, through a view.
            getattr(y.t(), f"{name}_")()
            (second,) = lib.autograd.grad((y * y).sum().abs(), x, create_graph=True)
            (third,) = lib.autograd.grad((second * second).sum().abs(), x)
            slopes += [gradient.detach().numpy() for gradient in (first, second, third)]
        return slopes

    for dtype in ("float64", *(["complex128"] if name != "relu" else [])):
        for ours, theirs in zip(gradients(opdsl, dtype), gradients(torch, dtype), strict=True):
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    x = opdsl.ones(2, requires_grad=True)
    z = getattr(x, name)()
    with pytest.raises(opdsl.errors.SavedTensorChangedError, match="result"):
        z.mul_(2).sum().backward()


FILLS: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    "zero_": (lambda y, number: y.unfold(0, 3, 1).zero_(), 0.0),
    "fill_": (lambda y, number: y.unfold(0, 3, 1).fill_(2), 0.0),
    "of a piece": (lambda y, number: y.view(2, 3).t()[1:].unfold(0, 2, 1).zero_(), 0.0),
    "with a tensor": (lambda y, number: y.unfold(0, 3, 1).fill_(number), 30.0),
    "a piece with a tensor": (lambda y, number: y[1:5].unfold(0, 2, 1).fill_(number), 20.0),
}


@pytest.mark.parametrize("name", FILLS)
def test_views_that_overlap_themselves_are_filled(name: str) -> None:
    """Filling an overlapping view counts each element once in the number's gradient; PyTorch counts shared elements
    twice.
    """
    fill, slope = FILLS[name]

    def filled(lib: Any) -> Any:
        x = lib.arange(6, dtype=lib.float64).requires_grad_()
        number = lib.tensor(2.0, dtype=lib.float64, requires_grad=True)
        y = x * 1
        fill(y, number)
        (y * y + y).sum().backward()
        return y.tolist(), x.grad.tolist(), number

    ours, theirs = filled(opdsl), filled(torch)
    assert ours[:2] == theirs[:2]
    assert (0.0 if ours[2].grad is None else ours[2].grad.item()) == slope


@pytest.mark.parametrize("write", [lambda y, x: y[1:].mul_(x[1:]), lambda y, x: y[1:].unfold(0, 2, 1).zero_()])
def test_the_gradient_of_what_was_written_may_be_a_piece_itself(write: Callable[[Any, Any], Any]) -> None:
    def gradient(lib: Any) -> Any:
        x = lib.arange(1, 5, dtype=lib.float64).requires_grad_()
        y = x * 1
        write(y, x)
        whole = lib.cat([x * 3, y])
        whole.backward(lib.arange(10, 18, dtype=lib.float64))
        return x.grad.tolist()

    assert gradient(opdsl) == gradient(torch)


COPIES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda m: m.__setitem__(slice(None), m),
    "an element": lambda m: m.view(-1)[:1].__setitem__(0, m[0, 0]),
    "a row onto it": lambda m: m[:1].__setitem__(slice(None), m[0]),
    "the first row": lambda m: m.__setitem__(slice(None), m[0]),
    "a later row": lambda m: m.__setitem__(slice(None), m[2]),
    "a column": lambda m: m.__setitem__(slice(None), m[:, 1:2]),
    "one element": lambda m: m.__setitem__(slice(None), m[1, 2]),
    "every other row": lambda m: m[::2].__setitem__(slice(None), m[2]),
    "of a transposed one": lambda m: m.t().__setitem__(slice(None), m.t()[1]),
    "behind others": lambda m: m[1:].__setitem__(slice(None), m[3]),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64"])
def test_what_is_copied_onto_itself_may_be_read(name: str, dtype: str) -> None:
    for _ in range(2):
        ours = opdsl.arange(12).to(getattr(opdsl, dtype)).reshape(4, 3)
        theirs = torch.arange(12).to(getattr(torch, dtype)).reshape(4, 3)
        COPIES[name](ours)
        COPIES[name](theirs)
        assert ours.tolist() == theirs.tolist()


SHIFTED: dict[str, Callable[[Any], Any]] = {
    "by one": lambda m: m[1:].copy_(m[:-1]),
    "transposed": lambda m: m[:3].copy_(m[:3].t()),
    "a row that is not among them": lambda m: m[::2].copy_(m[1].expand(2, 3)[:, :].as_strided((2, 3), (0, 1), 1)),
    "other steps": lambda m: m.view(-1)[:4].copy_(m.view(-1)[::3]),
    "converted": lambda m: m.copy_(m.view(opdsl.int32)[0]),
    "from behind the last row": lambda m: m.as_strided((2, 4), (1, 2)).copy_(m.as_strided((4,), (2,), 2)),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_what_is_overwritten_before_it_is_read_is_refused(name: str) -> None:
    ours = opdsl.arange(12.0).reshape(4, 3)
    before = ours.tolist()
    with pytest.raises(opdsl.errors.OverlapError):
        SHIFTED[name](ours)
    assert ours.tolist() == before


def test_arrays_may_share_memory_without_a_base() -> None:
    memory = numpy.arange(12.0)
    whole, row, shifted = (opdsl.from_numpy(array) for array in (memory.reshape(4, 3), memory[3:6], memory[1:4]))
    with pytest.raises(opdsl.errors.OverlapError):
        whole[:] = shifted
    whole[:] = row
    assert memory.tolist() == [3.0, 4.0, 5.0] * 4


def test_what_a_copy_overwrites_gets_no_gradient_of_infinities() -> None:
    x = opdsl.ones(2, requires_grad=True)
    y = x * 1
    y.copy_(opdsl.zeros(2, requires_grad=True))
    y.backward(opdsl.tensor([math.inf, math.nan]))
    assert x.grad.tolist() == [0.0, 0.0]


def test_gradients_that_others_have_are_not_written_where_a_view_was() -> None:
    kept: list[tuple[Any, list[float]]] = []

    def gradients(lib: Any) -> list[Any]:
        x = lib.arange(6, dtype=lib.float64).reshape(2, 3).requires_grad_()
        y, z = x * 1.0, x * 2.0
        y[0] = x[1] * 3.0
        joined = y + z  # both get the same gradient
        if lib is opdsl:
            joined.register_hook(lambda g: kept.append((g, g.flatten().tolist())))
        seed = lib.ones(2, 3, dtype=lib.float64)
        joined.backward(seed)
        return [x.grad.tolist(), seed.tolist()]

    for _ in range(3):
        assert gradients(opdsl) == gradients(torch)
    assert all(gradient.flatten().tolist() == values for gradient, values in kept)
