"""Writing in place through views, as PyTorch does: which histories change, what counts as a write, what is refused."""

from __future__ import annotations

import gc
import itertools
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
    """All that autograd says of a view and its base before and after a write."""
    x = lib.ones(4, 3)
    whole = BASES[base](x)
    with getattr(lib, viewing)():
        piece = VIEWS[view](whole)
    before = (piece.requires_grad, piece.is_leaf, piece.grad_fn is None, piece._is_view())
    with getattr(lib, writing)():
        WRITES[write](lib, piece)
    after = [(each.requires_grad, each.is_leaf, each.grad_fn is None, each._version) for each in (piece, whole)]
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
            assert_fails(lambda case=case: written(opdsl, *case), error)
        else:
            assert written(opdsl, *case) == expected, case


# What is written between the forward pass and the backward pass that needs it.
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


# Each is called twice, so that a plan counts, too.
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
    "saved": lambda lib, made, x: x * made,
    "saved by a product": lambda lib, made, x: x @ made,
    "not saved": lambda lib, made, x: (x + made).requires_grad,
    "computed from": lambda lib, made, x: (made + 1).is_inference(),
    "copied": lambda lib, made, x: [made.clone().is_inference(), made.double().is_inference()],
    "viewed": lambda lib, made, x: [made[0].is_inference(), made.reshape(3, 1).is_inference(), made[0]._is_view()],
    "detached": lambda lib, made, x: [made.detach().is_inference(), made.data.is_inference()],
    "written": lambda lib, made, x: made.add_(1),
    "written through a view": lambda lib, made, x: made[0].zero_(),
    "written as data": lambda lib, made, x: made.data.add_(1).tolist(),
    "given as out": lambda lib, made, x: lib.add(lib.ones(3), 1, out=made),
    "written by a subscript": lambda lib, made, x: made.__setitem__(0, 1.0),
    "turned": lambda lib, made, x: made.unsqueeze_(0),
    "asked to require grad": lambda lib, made, x: made.requires_grad_(),
    "asked for its version": lambda lib, made, x: made._version,
    "read": lambda lib, made, x: [made.tolist(), made.numpy().tolist(), made.sum().item()],
}


@pytest.mark.parametrize("use", OF_INFERENCE_TENSORS)
def test_outside_of_inference_mode(use: str) -> None:
    def used(lib: Any) -> Any:
        with lib.inference_mode():
            made = lib.ones(3)
        return OF_INFERENCE_TENSORS[use](lib, made, lib.ones(3, requires_grad=True))

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
            views = [each.is_inference() for each in (x[0], x.detach(), x.clone())]
            x.add_(1)
            with lib.inference_mode(False):
                within = [lib.ones(1).is_inference(), lib.is_grad_enabled(), (x * 2).requires_grad]
        return views, within, x._version

    assert facts(opdsl) == facts(torch)


def test_a_detached_tensor_has_its_own_history() -> None:
    """What is written into it is no business of what it was detached from."""

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


@pytest.mark.parametrize("size", [4, 1000])  # small memory is NumPy's, large memory is kept for the next tensor
@pytest.mark.parametrize("view", VIEWS_BEFORE)
def test_views_from_before_the_first_recorded_write_are_followed(view: str, size: int) -> None:
    def gradients(lib: Any) -> list[Any]:
        found = []
        for _ in range(3):
            x = lib.arange(size * size, dtype=lib.float64).reshape(size, size).requires_grad_()
            y = lib.zeros(size, size, dtype=lib.float64)
            seen = VIEWS_BEFORE[view](y)
            y.copy_(x)
            assert seen.requires_grad
            (seen * seen).sum().backward()
            found.append(x.grad.numpy())
        return found

    for ours, theirs in zip(gradients(opdsl), gradients(torch), strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


def test_views_are_not_looked_for_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through all objects of a large process takes seconds."""
    monkeypatch.setattr(views.gc, "get_referrers", lambda *_: pytest.fail("all objects were looked through"))
    x = opdsl.ones(3, requires_grad=True)
    for _ in range(3):
        assert opdsl.zeros(3).copy_(x).requires_grad
        y = opdsl.zeros(2, 3)
        y[0] = x
        assert y.add_(x).requires_grad


def test_young_views_are_found_without_a_look_at_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views.gc, "get_referrers", lambda *_: pytest.fail("all objects were looked through"))
    x = opdsl.ones(2, 3, requires_grad=True)
    gc.collect()
    gc.disable()  # nothing may grow old meanwhile
    try:
        for _ in range(3):
            y = opdsl.zeros(2, 3)
            seen = y[0], y.t(), y.view(-1)
            assert y.copy_(x).requires_grad
            assert all(each.requires_grad for each in seen)
    finally:
        gc.enable()
