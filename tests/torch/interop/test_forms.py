"""Tests of calls from torch with new shapes: results of plans of forms equal torch's."""

from __future__ import annotations

import random

import pytest
import torch

import opdsl
from opdsl import Library, Scalar, Tensor, formula
from opdsl.dispatch.plans.policy import lowered_at_once
from opdsl.errors import InterchangeError
from opdsl.interop.torch import deregister, native, register
from opdsl.interop.torch.registration import bridge_of
from tests.torch.interop.bridge import declare_loops


@pytest.fixture(scope="module")
def lib():
    with Library("interop_forms") as library:
        declare(library)
        register(library)
        yield library


@pytest.fixture
def ops(lib):
    with lowered_at_once():
        yield torch.ops.interop_forms


def declare(lib: Library) -> None:
    scaled = declare_loops(lib)

    @lib.op
    @formula
    def arc(self: Tensor, by: Scalar) -> Tensor:
        return opdsl.atan2(opdsl.tensor(by), self)

    @lib.op(out=True)
    @opdsl.formula
    def total(self: Tensor, dim: list[int], keepdim: bool = False) -> Tensor:
        return self.sum(dim, keepdim, dtype=self.dtype)

    @lib.op
    @opdsl.traceable
    def energy(self: Tensor, other: Tensor) -> Tensor:
        return (self * other + other).exp().sum(-1)

    @lib.op
    @opdsl.traceable
    def mixed(self: list[Tensor], weight: Tensor) -> list[Tensor]:
        return [(part * weight).t().reshape(-1) for part in self]

    @lib.op
    @opdsl.traceable
    def first(self: Tensor, other: Tensor) -> Tensor:
        return self

    @lib.op
    @opdsl.traceable
    def normalised(self: Tensor, scale: float, dim: int = -1) -> tuple[Tensor, Tensor]:
        centred = self - self.mean(dim, keepdim=True)
        spread = opdsl.add(centred.square().mean(dim, keepdim=True), 1.0, alpha=0.5).sqrt()
        joined = opdsl.cat([centred / spread, self.narrow(0, 0, self.shape[0] - 1)], 0)
        return scaled(joined, joined, scale), spread.reshape(-1)

    @lib.op
    @opdsl.traceable
    def widest(self: Tensor) -> Tensor:
        return self * 2 if self.shape[0] > self.shape[1] else self.t() - self.shape[0]

    @lib.op
    @opdsl.traceable
    def counted(self: Tensor) -> Tensor:
        copy = self * 1
        copy.add_(1)
        return copy

    @lib.op
    @opdsl.traceable
    def turned(self: Tensor) -> Tensor:
        return self.t()

    @lib.op
    def gated(self: Tensor, gate: Tensor, by: float = 2.0) -> tuple[Tensor, Tensor]: ...

    @gated.kernel("CPU", "Meta")
    @opdsl.traceable
    def gated_kernel(self, gate, by):
        return self * gate * by, gate.exp()

    @gated.derivative("self", "gate")
    @opdsl.traceable
    def gated_derivative(grads, self, gate, by, result1, output_mask):
        first, second = grads
        first = self.new_zeros(self.shape) if first is None else first
        for_gate = first * self * by
        if second is not None:
            for_gate = for_gate + second * result1
        return (first * gate * by if output_mask[0] else None), (for_gate if output_mask[1] else None)


def normalised_by_torch(x: torch.Tensor, scale: float, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    centred = x - x.mean(dim, keepdim=True)
    spread = torch.add(centred.square().mean(dim, keepdim=True), 1.0, alpha=0.5).sqrt()
    joined = torch.cat([centred / spread, x.narrow(0, 0, x.shape[0] - 1)], 0)
    return joined + joined * scale, spread.reshape(-1)


def forms_of(name: str, overload: str = "default") -> int:
    """Return the number of plans of forms of an operator."""
    bridge = bridge_of(getattr(getattr(opdsl.ops.interop_forms, name), overload).operator)
    table = bridge.plans._forms.table
    return sum(len(form.variants) for form in table._known.values())


def graphs_of(name: str) -> int:
    """Return the number of plans of torch's operators that a composite has."""
    bridge = bridge_of(getattr(opdsl.ops.interop_forms, name).default.operator)
    return sum(len(form.variants) for form in bridge.graphs.table._known.values())


def drawn(source: random.Random, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    """Return a random tensor, perhaps not contiguous, broadcast, or with a storage offset."""
    numbers = torch.randn([size + 1 for size in shape], generator=torch.Generator().manual_seed(source.randrange(999)))
    numbers = numbers.to(dtype)
    kind = source.randrange(5)
    if kind == 0:
        return numbers[tuple(slice(1, None) for _ in shape)]
    numbers = numbers[tuple(slice(size) for size in shape)].contiguous()
    if kind == 1:
        return numbers.mT.contiguous().mT if len(shape) > 1 else numbers
    if kind == 2 and shape:
        return numbers[:1].expand(shape)
    return numbers


DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.complex64)


@pytest.mark.parametrize("seed", range(4))
def test_random_shapes(ops, seed):
    source = random.Random(seed)
    for _ in range(60):
        shape = [source.choice((0, 1, 2, 3, 5, 8)) for _ in range(source.randrange(4))]
        dtype = source.choice(DTYPES)
        x, y = drawn(source, shape, dtype), drawn(source, shape, dtype)
        scaled, expected = ops.scaled(x, y, 0.5), x + y * 0.5
        torch.testing.assert_close(scaled, expected)
        assert scaled.stride() == expected.stride()
        torch.testing.assert_close(ops.rotated(x, y), (x - y, x + y))
        if shape:
            dims = sorted(source.sample(range(len(shape)), source.randrange(1, len(shape) + 1)))
            expected = x.sum(dims, keepdim=len(shape) == 2)
            torch.testing.assert_close(ops.total(x, dims, len(shape) == 2), expected, rtol=2e-2, atol=5e-2)
        if len(shape) == 2 and dtype in (torch.float32, torch.float64) and min(shape):
            torch.testing.assert_close(ops.energy(x, y), (x * y + y).exp().sum(-1))
            for one, other in zip(ops.mixed([x, y, x], y), [x, y, x], strict=True):
                torch.testing.assert_close(one, (other * y).t().reshape(-1))


def test_new_sizes_are_served_by_one_plan(ops):
    for name, call in {
        "scaled": lambda x: ops.scaled(x, x, 3.0),
        "energy": lambda x: ops.energy(x, x),
        "mixed": lambda x: ops.mixed([x, x], x),
    }.items():
        call(torch.randn(3, 17))
        before = forms_of(name)
        for size in range(18, 40):
            call(torch.randn(3, size))
        assert forms_of(name) == before > 0


def test_numbers_are_read_anew(ops):
    for size, by in ((3, 1.0), (4, 0.0), (5, -0.0), (6, 2), (7, -3), (8, True)):
        x = -torch.ones(size)
        torch.testing.assert_close(ops.arc(x, by), torch.atan2(torch.full((size,), float(by)), x))


def test_the_default_dtype_is_read_anew(ops):
    dtypes = []
    for size, dtype in ((3, torch.float32), (4, torch.float64), (5, torch.float32)):
        torch.set_default_dtype(dtype)
        try:
            dtypes.append(ops.arc(torch.arange(size), 1.0).dtype)
        finally:
            torch.set_default_dtype(torch.float32)
    assert dtypes == [torch.float32, torch.float64, torch.float32]


def test_an_argument_that_is_returned_is_copied(ops):
    for size in range(2, 8):
        x = torch.randn(size)
        result = ops.first(x, x)
        assert torch.equal(result, x)
        assert result.data_ptr() != x.data_ptr()


def test_tensors_that_are_more_than_memory_are_not_read_as_memory(ops):
    for size in range(2, 6):
        x = torch.randn(size, dtype=torch.complex64)
        torch.testing.assert_close(ops.scaled(x.conj(), x), x.conj() + x)
        torch.testing.assert_close(ops.scaled(x.conj().imag, x.real), x.real - x.imag)
        doubled = torch.func.vmap(lambda one: ops.scaled(one, one))(torch.ones(size, 3))
        assert doubled.tolist() == [[2.0] * 3] * size


def test_a_storage_that_shrank_is_refused(ops):
    for size in (4, 5):
        ops.scaled(torch.ones(size), torch.ones(size))
    x = torch.ones(6)
    x.untyped_storage().resize_(8)
    with pytest.raises(InterchangeError, match="storage"):
        ops.scaled(x, torch.ones(6))


def test_shapes_that_do_not_fit_are_refused_as_before(ops):
    for size in (3, 4, 5):
        ops.scaled(torch.ones(2, size), torch.ones(2, size))
    with pytest.raises(RuntimeError, match="must match the size"):
        ops.scaled(torch.ones(2, 6), torch.ones(2, 7))


def test_modes_see_calls_of_new_shapes(ops):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class See(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    ops.scaled(torch.ones(3), torch.ones(3))
    x = torch.ones(4)
    with See():
        ops.scaled(x, x)
    assert seen == ["interop_forms.scaled.default"]


def test_writing_at_new_shapes(ops):
    source = random.Random(7)
    for _ in range(60):
        shape = [source.choice((1, 2, 3, 5, 8)) for _ in range(source.randrange(1, 4))]
        x, y = drawn(source, shape, torch.float32), drawn(source, shape, torch.float32)
        x, out = x.clone() if 0 in x.stride() else x, torch.empty(shape)
        expected, versions = x + y * 0.5, [tensor._version for tensor in (x, out)]
        assert ops.scaled(x, y, 0.5, out=out) is out
        assert ops.scaled_(x, y, 0.5) is x
        torch.testing.assert_close((x, out), (expected, expected))
        assert [tensor._version for tensor in (x, out)] == [version + 1 for version in versions]
        summed = torch.empty(x.sum(0).shape)
        assert ops.total(x, [0], out=summed) is summed
        torch.testing.assert_close(summed, x.sum(0))
    assert forms_of("scaled_") > 0
    assert forms_of("scaled", "out") > 0


def test_written_memory_that_is_read_is_seen_at_new_shapes(ops):
    for size in (4, 5, 6):
        ops.scaled_(torch.ones(size), torch.ones(size))
        ops.scaled(torch.ones(size), torch.ones(size), out=torch.empty(size))
    memory = torch.arange(8.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        ops.scaled_(memory[:7], memory[1:])
    other = torch.from_numpy(memory.numpy())
    with pytest.raises(RuntimeError, match="single memory location"):
        ops.scaled(memory[:7], memory[:7], out=other[1:])
    assert memory.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert ops.scaled_(memory, memory).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    ops.scaled_(other, memory)
    assert memory.tolist() == [0, 4, 8, 12, 16, 20, 24, 28]


def test_outputs_are_resized_at_new_shapes(ops):
    for size in (3, 4, 5, 6):
        x, out = torch.ones(size), torch.empty(size)
        assert ops.scaled(x, x, out=out).tolist() == [2.0] * size
        out = torch.empty(0)
        assert ops.scaled(x, x, out=out).tolist() == [2.0] * size
        assert out.shape == (size,)


def test_versions_are_not_counted_in_inference_mode(ops):
    with torch.inference_mode():
        for size in (3, 4, 5):
            x = torch.ones(size)
            assert ops.scaled_(x, x).tolist() == [2.0] * size


def test_gradients_of_new_shapes(ops):
    for size in range(2, 9):
        x, y = (torch.randn(3, size, requires_grad=True) for _ in range(2))
        expected = torch.autograd.grad((x + y * 0.5).square().sum(), (x, y))
        gradients = torch.autograd.grad(ops.scaled(x, y, 0.5).square().sum(), (x, y))
        torch.testing.assert_close(gradients, expected)


def test_gradients_of_composites_at_new_shapes(ops):
    for rows, columns, scale, dim in (
        (2, 3, 0.5, 1),
        (4, 5, 2.0, 1),
        (5, 5, -1.0, 0),
        (3, 7, 0.25, -1),
        (1, 4, 1.0, 1),
    ):
        x = torch.randn(rows, columns, dtype=torch.float64, requires_grad=True)
        normalised, expected = ops.normalised(x, scale, dim), normalised_by_torch(x, scale, dim)
        torch.testing.assert_close(normalised, expected)
        weights = [torch.randn_like(tensor) for tensor in expected]
        pairs = [torch.autograd.grad(output, x, weights, create_graph=True) for output in (normalised, expected)]
        torch.testing.assert_close(*pairs)
        torch.testing.assert_close(*[torch.autograd.grad(pair[0].square().sum(), x) for pair in pairs])
    assert graphs_of("normalised") > 0


@pytest.mark.parametrize("wanted", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("results", [(0,), (1,), (0, 1)])
def test_declared_derivatives_at_new_shapes(ops, wanted, results):
    for columns, by in ((2, 2.0), (3, 0.5), (4, -1.0), (1, 3.0)):
        values = [torch.randn(3, columns, dtype=torch.float64, requires_grad=index in wanted) for index in (0, 1)]
        expected = values[0] * values[1] * by, values[1].exp()
        actual = ops.gated(*values, by)
        torch.testing.assert_close(actual, expected)
        inputs = [values[index] for index in wanted]
        for _ in range(2):
            totals = [sum(outputs[index].square().sum() for index in results) for outputs in (actual, expected)]
            if not totals[1].requires_grad:
                break
            pairs = [torch.autograd.grad(total, inputs, create_graph=True, materialize_grads=True) for total in totals]
            torch.testing.assert_close(*pairs)
            actual, expected = ([pair[0], pair[-1]] for pair in pairs)


def test_composites_are_called_with_tangents_and_in_batches(ops):
    for columns in (3, 4, 5):
        x, tangent = torch.randn(2, columns), torch.randn(2, columns)
        result = torch.func.jvp(lambda y: ops.normalised(y, 0.5)[0], (x,), (tangent,))
        expected = torch.func.jvp(lambda y: normalised_by_torch(y, 0.5, -1)[0], (x,), (tangent,))
        torch.testing.assert_close(result, expected)
        result = torch.func.vmap(lambda y: ops.normalised(y, 0.5)[0])(torch.stack([x, tangent]))
        torch.testing.assert_close(result[1], normalised_by_torch(tangent, 0.5, -1)[0])


def test_bodies_that_look_at_sizes(ops):
    for shape in ((2, 3), (3, 2), (4, 5), (5, 4), (3, 3), (1, 2), (2, 1)):
        x = torch.randn(shape, requires_grad=True)
        expected = x * 2 if shape[0] > shape[1] else x.t() - shape[0]
        actual = ops.widest(x)
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close(torch.autograd.grad(actual.sum(), x), torch.autograd.grad(expected.sum(), x))


def test_bodies_that_write_and_views_of_arguments(ops):
    for size in (2, 3, 4):
        x = torch.randn(size, 3, requires_grad=True)
        torch.testing.assert_close(ops.counted(x), x + 1)
        result = ops.turned(x)
        assert torch.equal(result, x.t())
        assert result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        torch.testing.assert_close(torch.autograd.grad(result.square().sum(), x)[0], 2 * x.detach())


def test_an_operator_that_a_composite_calls_is_registered_again(ops, lib):
    x = torch.randn(3, 6, requires_grad=True)
    expected = normalised_by_torch(x, 0.5, -1)
    for _ in range(2):
        torch.testing.assert_close(ops.normalised(x, 0.5), expected)
        deregister(opdsl.ops.interop_forms.scaled)
        register(opdsl.ops.interop_forms.scaled)
    torch.testing.assert_close(ops.normalised(x, 0.5), expected)


def test_a_kernel_registered_later_is_called(ops):
    for size in (3, 4):
        ops.scaled(torch.ones(size), torch.ones(size))
    with Library("interop_forms") as other:

        @other.impl("interop_forms::scaled", "CPU")
        def less(self, other, by):
            return self - by

        assert ops.scaled(torch.ones(5), torch.ones(5)).tolist() == [0.0] * 5
    assert ops.scaled(torch.ones(6), torch.ones(6)).tolist() == [2.0] * 6


def test_a_kernel_of_what_a_body_calls_is_called(ops):
    x = torch.ones(2, 3)
    for size in (3, 4):
        ops.energy(torch.ones(2, size), torch.ones(2, size))
    with Library("aten") as other:

        @other.impl("aten::exp", "CPU")
        def nothing(self):
            return self.clone()

        assert ops.energy(torch.ones(2, 5), torch.ones(2, 5)).tolist() == [10.0] * 2
    torch.testing.assert_close(ops.energy(x, x), (2 * x).exp().sum(-1))


def test_sizes_that_come_again_get_plans_of_their_own(ops):
    x = torch.ones(3, 7)
    for _ in range(60):
        assert ops.scaled(x, x).tolist() == [[2.0] * 7] * 3
    bridge = bridge_of(opdsl.ops.interop_forms.scaled.default.operator)
    assert bridge.plans._kept


def test_arrays_over_torch_memory_hold_the_tensor():
    import weakref

    base = torch.arange(6.0).reshape(2, 3)
    turned = base.t()
    array = native.array_function()(turned)
    held = weakref.ref(turned)
    assert array.tolist() == turned.tolist()
    assert array.strides == (4, 12)
    array[0, 0] = 9
    assert base[0, 0] == 9
    for other in (3, None, torch.empty(2, 0), torch.ones(2).to_sparse(), torch.empty(2, device="meta")):
        assert native.array_function()(other) is None
        assert native.form_function()(other) is None
    del base, turned
    assert held() is not None
    assert array.sum() == 24
    del array
    assert held() is None
