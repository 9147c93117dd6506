"""Tests that the backward pass of recorded calls of known shapes uses a plan and runs no formula in Python again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.autograd.recorder import Recorder
from opdsl.dispatch.plans.policy import HOT_FROM
from opdsl.runtime.events import listening

Case = Callable[[Any, Any, Any], Any]


def functions(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else opdsl.nn.functional


# Functions of a library and two tensors of 4 x 6, which require grad.
CASES: dict[str, Case] = {
    "a product": lambda lib, x, y: x @ y.t(),
    "a product of a square": lambda lib, x, y: (x * x) @ (y * y).t(),
    "a linear layer": lambda lib, x, y: functions(lib).linear(x, y, y.sum(1)),
    "a row is broadcast": lambda lib, x, y: x * y[0] + 1.5,
    "a number": lambda lib, x, y: x * 0.5 + y * 3,
    "views": lambda lib, x, y: x.view(2, 12).reshape(8, 3).transpose(0, 1).unsqueeze(1).flatten(),
    "parts": lambda lib, x, y: x[1:3, ::2].sum() + y.select(1, 2).sum(),
    "chunks, one of them unused": lambda lib, x, y: x.chunk(3, 1)[0] * y.chunk(3, 1)[2],
    "joined": lambda lib, x, y: lib.cat([x, y, x], 1).tanh(),
    "stacked": lambda lib, x, y: lib.stack([x, y]).exp(),
    "reductions": lambda lib, x, y: x.sum(0) * y.mean(0, keepdim=True) * x.amax(),
    "a softmax": lambda lib, x, y: x.softmax(1) * y.log_softmax(0),
    "a norm": lambda lib, x, y: functions(lib).layer_norm(x, (6,), y[0], y[1]),
    "a batch norm": lambda lib, x, y: functions(lib).batch_norm(x, None, None, y[0], y[1], True),
    "a loss": lambda lib, x, y: functions(lib).cross_entropy(x, lib.tensor([0, 5, 2, 2])),
    "rows of a table": lambda lib, x, y: functions(lib).embedding(lib.tensor([[0, 3], [3, 3]]), x),
    "rows of a table with padding": lambda lib, x, y: functions(lib).embedding(lib.tensor([0, 3, 3]), x, padding_idx=3),
    "a convolution": lambda lib, x, y: functions(lib).conv2d(x.view(1, 1, 4, 6), y[:2, :4].reshape(1, 1, 2, 4)),
    "a mask": lambda lib, x, y: x.masked_fill(lib.tensor([[True], [False], [True], [False]]), 0.5),
    "a subscript of indices": lambda lib, x, y: x[lib.tensor([1, 1, 3])],
    "several results": lambda lib, x, y: x.max(1).values * y.min(1)[0],
    "a batch of products": lambda lib, x, y: lib.bmm(x.view(2, 2, 6), y.view(2, 2, 6).transpose(1, 2)),
}


def gradients(lib: Any, case: Case, n: int = 4) -> list[Any]:
    draw = numpy.random.default_rng(n)
    x, y = (lib.from_numpy(draw.normal(size=(n, 6))).requires_grad_() for _ in range(2))
    computed = case(lib, x, y)
    (computed * computed).sum().backward()
    return [x.grad, y.grad]


@pytest.mark.parametrize("name", CASES)
def test_no_formula_is_run_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2 * HOT_FROM + 4):  # direct calls, and views of tensors that plans of forms created
        gradients(opdsl, CASES[name])
    monkeypatch.setattr(Recorder, "gradients", lambda *_: pytest.fail("a formula was run"))
    hold_against_pytorch(CASES[name], 4)


# Functions of a library and two tensors of n x 6, which require grad; n differs in each call.
NEW_SIZES: dict[str, Case] = {
    "a product": lambda lib, x, y: x @ y.t(),
    "a product of an expanded gradient": lambda lib, x, y: (x @ y.t()).sum(),
    "a linear layer": lambda lib, x, y: functions(lib).linear(x, y, y.sum(1)),
    "a row is broadcast": lambda lib, x, y: x * y[0] + 1.5,
    "views": lambda lib, x, y: x.view(3, -1).t().reshape(2, -1).unsqueeze(1).flatten(),
    "parts": lambda lib, x, y: x[1:-1, ::2].sum() + y.select(1, 2).sum(),
    "chunks, one of them unused": lambda lib, x, y: x.chunk(3, 1)[0] * y.chunk(3, 1)[2],
    "joined": lambda lib, x, y: lib.cat([x, y, x], 1).tanh(),
    "expanded": lambda lib, x, y: x.sum(0).expand(x.shape[0], 6) * y.mean(1, keepdim=True),
    "a softmax": lambda lib, x, y: x.softmax(1) * y.log_softmax(0),
    "a norm": lambda lib, x, y: functions(lib).layer_norm(x, (6,), y[0], y[1]),
    "a loss": lambda lib, x, y: functions(lib).cross_entropy(x, lib.arange(x.shape[0]) % 6),
    "rows of a table": lambda lib, x, y: functions(lib).embedding(lib.arange(2 * x.shape[0]) % 3, x),
    "a mask": lambda lib, x, y: x.masked_fill(y > 0.2, 0.5),
    "several results": lambda lib, x, y: x.max(1).values * y.min(1)[0],
    "in order": lambda lib, x, y: x.sort(1)[0] * y.sort(0, descending=True)[0],
    "the first in order": lambda lib, x, y: x.topk(2, 1)[0] * y.kthvalue(2, 1, keepdim=True)[0],
    "medians": lambda lib, x, y: x.median(1)[0] * y.median(0)[0].sum(),
    "windows": lambda lib, x, y: x.unfold(0, 2, 1).sum(0) * y.unfold(1, 3, 2)[0],
    "strides": lambda lib, x, y: x.as_strided((3, 2), (2, 1)) * y.as_strided((3, 2), (1, 1), 1),
    "in place": lambda lib, x, y: (x * 2).mul_(y).tanh_().add_(1.0),
    "in place by itself": lambda lib, x, y: (lambda z: z.mul_(z))(x + y),
    "a row of a result": lambda lib, x, y: (lambda z: (z[1].mul_(y[0]), z)[1])(x * 1.0),
    "a row of new memory": lambda lib, x, y: (lambda z: (z[1:].copy_(x[1:]), z * y)[1])(
        lib.zeros(x.shape[0], 6).double()
    ),
}


@pytest.mark.parametrize("name", NEW_SIZES)
def test_new_sizes_run_no_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in (5, 11, 7, 20, 9, 14):
        hold_against_pytorch(NEW_SIZES[name], n)
    monkeypatch.setattr(Recorder, "gradients", lambda *_: pytest.fail("a formula was run"))
    monkeypatch.setattr(Recorder, "before", lambda *_: pytest.fail("a call was recorded without a plan"))
    for n in (13, 8):
        hold_against_pytorch(NEW_SIZES[name], n)
    monkeypatch.undo()
    for n in (2, 3, 1):  # an assumption of the first plan fails for n = 1
        hold_against_pytorch(NEW_SIZES[name], n)


def hold_against_pytorch(case: Case, n: int) -> None:
    try:
        wanted = gradients(torch, case, n)
    except (IndexError, RuntimeError):
        return
    for ours, theirs in zip(gradients(opdsl, case, n), wanted, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert n == 1 or ours.stride() == theirs.stride()  # the strides of a single element do not matter
            numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


def test_a_plan_serves_equal_and_distinct_arguments() -> None:
    x, y = (opdsl.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) for _ in range(2))
    for _ in range(4):
        for other in (x, y):
            (gradient,) = opdsl.autograd.grad((x @ other).sum(), x)
            wanted = [[6.0 + 1, 14.0 - 5], [4.0 + 5, 6.0 + 9]] if other is x else [[3.0, 7.0], [3.0, 7.0]]
            ones = numpy.ones((2, 2))
            matrix = numpy.array([[1.0, 2.0], [3.0, 4.0]])
            wanted = ones @ matrix.T + (matrix.T @ ones if other is x else 0)
            numpy.testing.assert_array_equal(gradient.numpy(), wanted)


def test_what_a_plan_saved_is_watched() -> None:
    for _ in range(5):
        x = opdsl.ones(2, 3, requires_grad=True)
        factor, result = opdsl.ones(3, 2), x.exp()
        product = result @ factor
        factor.add_(1.0)
        with pytest.raises(opdsl.errors.SavedTensorChangedError, match="mm"):
            product.sum().backward()
        softened = x.softmax(1)
        loss = (softened * softened).sum()
        softened.mul_(2.0)
        with pytest.raises(opdsl.errors.SavedTensorChangedError):
            loss.backward()


def test_data_of_another_shape_is_noticed() -> None:
    def gradient(*, replaces: bool) -> None:
        x, w = opdsl.ones(300, 300, requires_grad=True), opdsl.ones(300, 300, requires_grad=True)
        y = x * w
        if replaces:
            w.data = opdsl.ones(2, 2)
        y.sum().backward()

    for _ in range(3):
        gradient(replaces=False)
    with pytest.raises(opdsl.errors.ShapeError, match="300"):
        gradient(replaces=True)
    gradient(replaces=False)


def test_views_of_new_memory_that_is_written_are_followed(plans_at_once: None) -> None:
    with opdsl.Library("test_written_before") as lib:

        @lib.op
        @opdsl.traceable
        def filled(self: opdsl.Tensor, buffer: opdsl.Tensor) -> opdsl.Tensor:
            part = buffer[:1]
            buffer[0].copy_(self)
            return part.sum() * 2.0 + (buffer * 3.0).sum()

        for _ in range(3):
            x = opdsl.ones(3, requires_grad=True)
            (gradient,) = opdsl.autograd.grad(filled(x, opdsl.zeros(2, 3)), x)
            assert gradient.tolist() == [5.0] * 3


def test_overrides_invalidate_backward_plans() -> None:
    with opdsl.Library("test_backward_plans") as lib:

        @lib.op
        def tripled(self: opdsl.Tensor) -> opdsl.Tensor: ...

        @lib.op
        def factor_of(self: opdsl.Tensor) -> opdsl.Tensor: ...

        factor_of.kernel("CPU")(lambda self: self * 3.0)
        tripled.kernel("CPU")(lambda self: self * 3.0)

        @tripled.derivative("self")
        @opdsl.traceable
        def tripled_derivative(grad):
            return factor_of(grad)

        x = opdsl.ones(2, requires_grad=True)

        def gradient() -> float:
            (result,) = opdsl.autograd.grad(tripled(x).sum(), x)
            return float(result[0].item())

        assert [gradient() for _ in range(4)] == [3.0] * 4
        with opdsl.Library("test_backward_plans_too") as other:
            other.impl("test_backward_plans::factor_of", "CPU")(lambda self: self * 5.0)
            assert [gradient() for _ in range(4)] == [5.0] * 4
        assert gradient() == 3.0


@pytest.mark.parametrize("keep", [lambda g: g, lambda g: g.numpy(), lambda g: g.detach(), lambda g: g.view(-1)])
def test_referenced_gradients_are_not_accumulated_in_place(keep: Callable[[Any], Any]) -> None:
    kept: list[tuple[Any, list[float]]] = []
    for _ in range(3):
        x = opdsl.ones(3, requires_grad=True)
        passed = [x + 1.0, x + 2.0, x + 3.0]  # each has the gradients of x
        for shifted in passed:
            shifted.register_hook(lambda g: kept.append((keep(g), g.tolist())))
        (passed[0] * 2.0 + passed[1] * 3.0 + passed[2] * 4.0).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [9.0] * 3
        assert [gradient.tolist() for gradient, _ in kept] == [value for _, value in kept]


@pytest.mark.parametrize("training", [False, True])
def test_the_functional_variant_of_what_writes_an_argument_reads_the_result(training: bool) -> None:
    x = opdsl.tensor([-1.0, 2.0, -4.0, 0.5], requires_grad=True)
    for _ in range(3):
        y, slopes = opdsl.ops.aten.rrelu_with_noise_functional(x, opdsl.zeros(4), training=training)
        (gradient,) = opdsl.autograd.grad(y.sum(), [x])
        wanted = slopes if training else y / x
        numpy.testing.assert_allclose(gradient.numpy(), wanted.detach().numpy(), rtol=1e-6)


def test_gradients_of_a_leaf_have_one_geometry_whichever_views_led_to_it() -> None:
    paths: dict[str, Callable[[Any], Any]] = {
        "itself": lambda w: w * 2,
        "transposed twice": lambda w: (w.t() * 2).t(),
        "another shape": lambda w: w.view(3, 8) * 2,
        "a product": lambda w: opdsl.ones(2, 6) @ w.t(),
    }
    for path in paths.values():
        w = opdsl.ones(4, 6).requires_grad_()
        geometries = set()
        for _ in range(4):
            path(w).sum().backward()
            assert w.grad is not None
            assert (w.grad.numpy() == 2).all()
            geometries.add(w.grad.geometry)
            w.grad = None
        assert geometries == {opdsl.ones(4, 6).geometry}


def test_a_gradient_that_shows_a_part_of_memory_keeps_its_elements() -> None:
    for lib in (opdsl, torch):
        w = lib.arange(6, dtype=lib.float32).requires_grad_()
        (w.expand(2, 6) * lib.arange(12, dtype=lib.float32).view(2, 6)).sum().backward()
        z = lib.ones(3, dtype=lib.complex64).requires_grad_()
        (z.conj() * (1 + 2j)).sum().real.backward()
        assert w.grad.tolist() == [6.0, 8.0, 10.0, 12.0, 14.0, 16.0]
        assert z.grad.resolve_conj().tolist() == [1 + 2j] * 3


def test_the_third_training_step_makes_no_plans() -> None:
    rows = opdsl.ones(5, 6)
    parameters = [opdsl.ones(*shape).requires_grad_() for shape in ((4, 6), (4,), (4, 4), (4,), (3, 4), (3,))]
    linear = functions(opdsl).linear

    def step() -> None:
        x = linear(rows, *parameters[:2]).relu()
        x = linear(x, *parameters[2:4]).relu()
        linear(x, *parameters[4:]).square().mean().backward()
        with opdsl.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad, alpha=0.01)
                parameter.grad = None

    step()
    step()
    events: list[str] = []
    with listening(lambda event: events.append(event.name)):
        step()
    assert events == []


@pytest.mark.parametrize("compiled", [False, True])
def test_writes_of_masked_elements_have_gradients_for_every_count(compiled: bool) -> None:
    """The backward plan compares counts of masks that it cannot relate: they are equal in every call."""

    def doubled(x: Any) -> Any:
        written, mask = x * 1, x > 0
        written[mask] = written[mask] * 2
        return written

    run = opdsl.compile(doubled) if compiled else doubled
    for signs in ("++-+", "+-++", "--+-", "++--", "-+-+", "----", "++++", "+-+-+-+"):
        values = [float(sign + str(place + 1)) for place, sign in enumerate(signs)]
        ours, theirs = (lib.tensor(values, requires_grad=True) for lib in (opdsl, torch))
        (run(ours) * ours).sum().backward()
        (doubled(theirs) * theirs).sum().backward()
        assert ours.grad.tolist() == theirs.grad.tolist()
