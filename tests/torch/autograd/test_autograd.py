"""Tests that backward passes agree with PyTorch's: programs run in both libraries, and values and errors are
compared.
"""

from __future__ import annotations

import copy
import gc
import math
import threading
import weakref
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch

import opdsl
from tests.torch.twins import assert_agree, of, theirs

Program = Callable[..., Any]


def run(program: Program, library: Any, *arrays: Any) -> Any:
    """Run a program on leaves with the given elements, and return its result or, if it returns None, the leaves'
    gradients.
    """
    leaves = [library.tensor(array, dtype=library.float64, requires_grad=True) for array in arrays]
    result = program(library, *leaves)
    return [leaf.grad for leaf in leaves] if result is None else result


def assert_same(program: Program, *arrays: Any) -> None:
    assert_agree(run(program, opdsl, *arrays), run(program, torch, *arrays), tolerance=1e-13, strides=False)


MATRIX = [[1.0, 2.0], [-3.0, 0.5]]
ROW = [2.0, -1.0]


def chain(library, x, y):
    ((x * y + library.exp(x) / y).sum() * 2.0).backward()


def used_twice(library, x, y):
    z = x * x
    (z * y + z * z).sum().backward()


def two_passes(library, x, y):
    (x * y).sum().backward()
    (x * x).sum().backward()


def retained(library, x, y):
    z = (x * y).sum()
    z.backward(retain_graph=True)
    z.backward()


def with_gradient(library, x, y):
    (x * y).backward(library.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=library.float64))


def second_pass_where_no_tensor_is_kept(library, x, y):
    """Run two backward passes through sums, shapes and pieces, which save no tensors that the first pass could free."""
    z = library.cat([x.t().reshape(-1), y.expand(2, *y.shape).reshape(-1)])[2:].mean() + (x - y).sum()
    z.backward()
    z.backward()
    return x.grad, y.grad


def twice(library, x, y):
    z = (x * x * y).sum()
    (first,) = library.autograd.grad(z, x, create_graph=True)
    return library.autograd.grad((first * first).sum(), [x, y])


def thrice(library, x, y):
    result = (x * x * x * x * y).sum()
    for _ in range(3):
        (result,) = library.autograd.grad(result.sum(), x, create_graph=True)
    result.sum().backward()


def detached(library, x, y):
    (x.detach() * y + x * y.detach()).sum().backward()


def without_grad(library, x, y):
    with library.no_grad():
        z = x * y
    return [z.requires_grad, z.is_leaf, z.grad_fn is None]


def in_place(library, x, y):
    z = x * 2.0
    z.mul_(y)
    z.add_(x)
    z.sum().backward()


def in_place_needs_old_value(library, x, y):
    z = x * 2.0
    z.mul_(y * 1.0)
    z.exp_()
    z.sum().backward()


def inputs_alone(library, x, y):
    library.autograd.backward((x * y).sum(), inputs=[x])


def of_what_is_no_leaf(library, x, y):
    z = x * y
    return library.autograd.grad((z * z).sum(), [z, x])


def into_what_is_reached_once(library, x, y):
    z = x * y
    z.sum().backward(inputs=[z], retain_graph=True)
    x.sum().backward(inputs=[z])
    z.retain_grad()
    return [z.grad]


def unused(library, x, y):
    first, second = library.autograd.grad((x * x).sum(), [x, y], allow_unused=True)
    return [first, second is None]


def materialized(library, x, y):
    return library.autograd.grad((x * x).sum(), [x, y], materialize_grads=True)


def several_outputs(library, x, y):
    return library.autograd.grad([(x * y).sum(), (x * x).sum()], [x, y])


def retaining_grad(library, x, y):
    z = x * y
    z.retain_grad()
    (z * z).sum().backward()
    return [z.grad, z.retains_grad, x.retains_grad]


def hooked(library, x, y):
    z = x * y
    z.register_hook(lambda gradient: gradient * 3.0)
    x.register_hook(lambda gradient: gradient + 1.0)
    (z * z).sum().backward()


def hook_removed(library, x, y):
    handle = x.register_hook(lambda gradient: gradient * 3.0)
    handle.remove()
    (x * y).sum().backward()


def assigned(library, x, y):
    x.grad = library.ones(2, 2, dtype=library.float64)
    (x * y).sum().backward()


def leaf_flags(library, x, y):
    z = x * y
    numbers = [x.output_nr, x.unbind(0)[1].output_nr, z.detach().output_nr]
    return [x.is_leaf, z.is_leaf, z.requires_grad, numbers, x.grad_fn is None, z.detach().requires_grad]


def detached_in_place(library, x, y):
    z = x * y
    same = z.detach_() is z
    (z.requires_grad_() * x).sum().backward()
    return [same, z.is_leaf, z.grad_fn is None, z.grad, x.grad, y.grad is None]


def turned_in_place(library, x, y):
    z = x * y
    z.t_()
    z.unsqueeze_(0).squeeze_(0).transpose_(0, 1)
    (z * y).sum().backward()


def view_turned_in_place(library, x, y):
    z = x * y
    first = z[0:1]
    first.t_()
    first.mul_(3.0)
    (z * z).sum().backward()


def gradients_of_two_leaves(library, x, y):
    (x + y).sum().backward()
    x.grad.add_(1.0)
    return [x.grad, y.grad]


def gradient_that_the_caller_gave(library, x, y):
    seed = library.ones(2, 2, dtype=library.float64)
    x.backward(seed)
    x.backward(seed)
    return [x.grad, seed]


def gradient_that_grows_in_place(library, x, y):
    (x * y).sum().backward()
    before = x.grad
    (x * y).sum().backward()
    return [before is x.grad, before]


def strides_of_gradients(library, x, y):
    (x.t() * y).sum().backward()
    return [list(x.grad.stride()), list(y.grad.stride())]


def node_hooked(library, x, y):
    z = x * y
    z.grad_fn.register_prehook(lambda gradients: (gradients[0] * 3.0,))
    z.grad_fn.register_hook(lambda sent, gradients: (sent[0] * 2.0, sent[1] + gradients[0]))
    z.sum().backward()


def hooked_after_accumulation(library, x, y):
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
    (x * y).sum().backward()
    (x * y).sum().backward()
    return seen


def composites_in_place(library, x, y):
    z = x * 1.0
    z.square_()
    z.arctan2_(y)
    z.addmm_(x, y)
    z.sum().backward()


def deep_copied(library, x, y):
    (x * y).sum().backward()
    other = copy.deepcopy(x)
    return [other.requires_grad, other.is_leaf, other.grad, other.grad is x.grad]


PROGRAMS = (
    into_what_is_reached_once,
    chain, used_twice, two_passes, retained, with_gradient, twice, thrice, detached, without_grad, in_place,
    in_place_needs_old_value, inputs_alone, of_what_is_no_leaf, unused, materialized, several_outputs, retaining_grad,
    hooked, hook_removed, assigned, leaf_flags, detached_in_place, turned_in_place, view_turned_in_place,
    gradients_of_two_leaves, gradient_that_the_caller_gave, gradient_that_grows_in_place, strides_of_gradients,
    node_hooked, hooked_after_accumulation, composites_in_place, deep_copied, second_pass_where_no_tensor_is_kept,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_agree(program: Program) -> None:
    assert_same(program, MATRIX, MATRIX)


@pytest.mark.parametrize("program", [chain, used_twice, twice, in_place], ids=lambda program: program.__name__)
def test_programs_agree_where_an_operand_is_broadcast(program: Program) -> None:
    assert_same(program, MATRIX, ROW)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_plans_agree_with_unplanned_calls(program: Program) -> None:
    first = run(program, opdsl, MATRIX, MATRIX)
    again = run(program, opdsl, MATRIX, MATRIX)
    assert [theirs(value).tolist() if isinstance(value, opdsl.Tensor) else value for value in again] == [
        theirs(value).tolist() if isinstance(value, opdsl.Tensor) else value for value in first
    ]


# --------------------------------------------------------------------------------------------------------------- errors


def second_backward(library, x, y):
    z = (x * y).sum()
    z.backward()
    z.backward()


def of_a_matrix(library, x, y):
    (x * y).backward()


def of_what_needs_none(library, x, y):
    (x.detach() * 2.0).sum().backward()


def gradient_of_another_shape(library, x, y):
    (x * y).backward(library.ones(2, dtype=library.float64))


def changed_in_place(library, x, y):
    z = x * 2.0
    w = z * z
    z.add_(1.0)
    w.sum().backward()


def leaf_in_place(library, x, y):
    x.add_(1.0)


def view_of_a_leaf_in_place(library, x, y):
    x[0].mul_(2.0)


def out_that_requires_grad(library, x, y):
    library.mul(x, y, out=library.empty(2, 2, dtype=library.float64))


def integers(library, x, y):
    library.ones(2, dtype=library.int64).requires_grad_()


def flag_of_what_was_computed(library, x, y):
    (x * y).requires_grad_(False)


def unused_input(library, x, y):
    library.autograd.grad((x * x).sum(), [x, y])


def input_without_grad(library, x, y):
    library.autograd.grad((x * x).sum(), x.detach())


def hook_of_what_needs_none(library, x, y):
    x.detach().register_hook(lambda gradient: gradient)


def grad_of_another_shape_assigned(library, x, y):
    x.grad = library.ones(3, dtype=library.float64)


def to_numpy(library, x, y):
    x.numpy()


def view_detached_in_place(library, x, y):
    (x * y)[0].detach_()


def computed_deep_copied(library, x, y):
    copy.deepcopy(x * y)


def hook_of_an_accumulation_that_is_none(library, x, y):
    (x * y).register_post_accumulate_grad_hook(lambda leaf: None)


def leaf_turned_in_place(library, x, y):
    x.t_()


def out_of_a_composite_that_requires_grad(library, x, y):
    library.square(x, out=library.empty(2, 2, dtype=library.float64))


def leaf_as_output(library, x, y):
    library.exp(y.detach(), out=x)


def one_of_several_views_in_place(library, x, y):
    first, _ = (x * y).unbind(0)
    first.add_(1.0)


def hook_that_returns_another_shape(library, x, y):
    x.register_hook(lambda gradient: gradient[0])
    (x * y).sum().backward()


REFUSED = (
    second_backward, of_a_matrix, of_what_needs_none, gradient_of_another_shape, changed_in_place, leaf_in_place,
    view_of_a_leaf_in_place, out_that_requires_grad, integers, flag_of_what_was_computed, unused_input,
    input_without_grad, hook_of_what_needs_none, grad_of_another_shape_assigned, to_numpy, view_detached_in_place,
    computed_deep_copied, hook_of_an_accumulation_that_is_none, leaf_turned_in_place,
    out_of_a_composite_that_requires_grad, leaf_as_output, one_of_several_views_in_place,
    hook_that_returns_another_shape,
)  # fmt: skip


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_what_pytorch_refuses_is_refused(program: Program) -> None:
    with pytest.raises(Exception) as expected:
        run(program, torch, MATRIX, MATRIX)
    with pytest.raises(type(expected.value)) as refusal:
        run(program, opdsl, MATRIX, MATRIX)
    assert isinstance(refusal.value, opdsl.errors.OpdslError)


def test_a_refused_write_changes_nothing() -> None:
    x = opdsl.tensor(MATRIX, requires_grad=True)
    with pytest.raises(opdsl.errors.RequiresGradError):
        x.add_(1.0)
    assert x.tolist() == MATRIX


# ----------------------------------------------------------------------------------------------------------- the engine


def test_a_long_chain_does_not_overflow_the_stack() -> None:
    x = opdsl.ones(2, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_long_chain_is_freed_without_recursion() -> None:
    y = opdsl.ones(2, requires_grad=True)
    for _ in range(100_000):
        y = y * 1.0
    del y


def test_the_graph_is_freed_with_its_results() -> None:
    x = opdsl.ones(2, requires_grad=True)
    middle = x * 2.0
    seen = weakref.ref(middle)
    gc.disable()
    try:
        computed = opdsl.sin(middle)
        del middle
        assert seen() is not None
        computed.sum().backward()
        assert seen() is None
    finally:
        gc.enable()


def hook_of_a_leaf() -> opdsl.Tensor:
    x = opdsl.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * x.detach())
    x.sum().backward()
    return x


def hook_after_a_leaf() -> opdsl.Tensor:
    x = opdsl.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda _: x.detach())
    x.sum().backward()
    return x


def hook_of_a_result() -> opdsl.Tensor:
    y = opdsl.ones(2, requires_grad=True) * 2.0
    y.register_hook(lambda grad: grad * y.detach())
    y.sum().backward()
    return y


def hook_of_a_node() -> opdsl.Tensor:
    y = opdsl.ones(2, requires_grad=True) * 2.0
    y.grad_fn.register_hook(lambda *_: y.detach() and None)
    y.grad_fn.register_prehook(lambda *_: y.detach() and None)
    return y


def gradient_that_leads_back() -> opdsl.Tensor:
    y = opdsl.ones(2, requires_grad=True).exp()
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    return y


@pytest.mark.parametrize(
    "make", [hook_of_a_leaf, hook_after_a_leaf, hook_of_a_result, hook_of_a_node, gradient_that_leads_back]
)
def test_what_a_hook_or_a_gradient_refers_to_is_freed(make: Callable[[], opdsl.Tensor]) -> None:
    seen = weakref.ref(make())
    gc.collect()
    assert seen() is None


def test_threads_accumulate_into_one_leaf() -> None:
    x = opdsl.zeros(64, requires_grad=True)

    def work() -> None:
        for _ in range(50):
            (x * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [200.0] * 64


def test_an_operator_without_derivative_names_itself() -> None:
    with opdsl.Library("underived") as library:

        @library.op
        def twice(self: opdsl.Tensor) -> opdsl.Tensor: ...

        @twice.kernel("CPU")
        def twice_kernel(self):
            return self + self

        x = opdsl.ones(2, requires_grad=True)
        with pytest.raises(opdsl.errors.MissingDerivativeError, match="underived::twice"):
            twice(x).sum().backward()


def test_an_in_place_view_without_a_functional_variant_names_itself() -> None:
    with opdsl.Library("underived") as library:

        @library.op(tags=["inplace_view"])
        def turn_(
            self: Annotated[opdsl.Tensor, opdsl.Alias("a", write=True)],
        ) -> Annotated[opdsl.Tensor, opdsl.Alias("a", write=True)]: ...

        @turn_.kernel("CPU")
        def turn_kernel(self):
            return self.t_()

        x = opdsl.ones(2, 3, requires_grad=True)
        with pytest.raises(opdsl.errors.MissingDerivativeError, match="underived::turn_"):
            turn_(x * 1).sum().backward()


def test_a_saved_list_is_watched_and_formulas_may_take_keywords() -> None:
    with opdsl.Library("lists") as library:

        @library.op
        def product_of(tensors: list[opdsl.Tensor]) -> opdsl.Tensor: ...

        @product_of.kernel("CPU")
        def product_of_kernel(tensors):
            return tensors[0] * tensors[1]

        @product_of.derivative("tensors")
        def product_of_derivative(grad, *, tensors):
            return [grad * tensors[1], grad * tensors[0]]

        x = opdsl.tensor([2.0], requires_grad=True)
        for _ in range(3):  # without plans, then by plans
            y = x * 3
            inputs = [x, y]
            product = product_of(inputs)
            inputs[0] = y
            assert opdsl.autograd.grad(product, x, retain_graph=True)[0].tolist() == [12.0]  # 3 x^2 for x^3
            with opdsl.no_grad():
                y.add_(1)
            with pytest.raises(opdsl.errors.SavedTensorChangedError):
                product.backward()


def test_a_declared_derivative_wins_over_a_derived_one() -> None:
    with opdsl.Library("declared") as library:

        @library.op
        @opdsl.formula
        def threshold(self: opdsl.Tensor) -> opdsl.Tensor:
            return opdsl.clamp_min(self, 0.0)

        @threshold.derivative("self")
        def threshold_derivative(grad, self):
            return grad * 7.0

        x = opdsl.tensor([-1.0, 2.0], requires_grad=True)
        threshold(x).sum().backward()
        assert x.grad.tolist() == [7.0, 7.0]


def test_nothing_is_recorded_for_tensors_that_need_none() -> None:
    x = opdsl.ones(2)
    assert (x * x).grad_fn is None


CHOSEN = [(name, torch.float64) for name in ("angle", "erfinv", "nan_to_num")]
CHOSEN += [(name, torch.complex128) for name in ("angle", "sgn")]


@pytest.mark.parametrize(("name", "dtype"), CHOSEN, ids=str)
def test_gradients_of_functions_chosen_by_dtype(name: str, dtype: torch.dtype) -> None:
    """Each dtype has the derivative of its own scalar function."""
    values = [0.3 + 0.5j, -0.6 - 0.2j, 0.45 - 1j] if dtype.is_complex else [0.3, -0.6, 0.45]
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    ours = of(x.detach()).requires_grad_(True)
    (getattr(torch, name)(x) * weights).abs().sum().backward()
    (getattr(opdsl, name)(ours) * of(weights)).abs().sum().backward()
    torch.testing.assert_close(theirs(ours.grad), x.grad)


@pytest.mark.parametrize("x", [math.nan, 0.0, -2.0])
@pytest.mark.parametrize("gradient", [math.nan, math.inf, 1.0])
def test_abs_does_not_hide_nan_gradients(x: float, gradient: float) -> None:
    leaf = torch.tensor(x, requires_grad=True)
    leaf.abs().backward(torch.tensor(gradient))
    ours = of(leaf.detach()).requires_grad_(True)
    ours.abs().backward(of(torch.tensor(gradient)))
    torch.testing.assert_close(theirs(ours.grad), leaf.grad, equal_nan=True)


def test_declared_results_alone_have_gradients() -> None:
    with opdsl.Library("differentiability") as lib:

        @lib.op
        def split_sign(self: opdsl.Tensor) -> tuple[opdsl.Tensor, opdsl.Tensor]: ...

        @split_sign.kernel("CPU")
        def split_sign_kernel(self):
            return self.sign(), self.abs()

        @split_sign.derivative("self", output_differentiability=(False, True))
        def split_sign_derivative(grads, self):
            return grads[1] * self.sign()

        x = opdsl.tensor([-2.0, 3.0], requires_grad=True)
        sign, size = split_sign(x)
        assert (sign.requires_grad, size.requires_grad) == (False, True)
        size.sum().backward()
        assert x.grad.tolist() == [-1.0, 1.0]

        with pytest.raises(opdsl.errors.KernelSignatureError, match=r"has 1 values, but .* returns 2"):

            @split_sign.derivative("self", output_differentiability=[True])
            def other_derivative(grads, self):
                return grads[1]


def test_a_result_that_the_formula_does_not_read_may_be_written() -> None:
    with opdsl.Library("not_saved") as lib:

        @lib.op
        def cubed(self: opdsl.Tensor) -> opdsl.Tensor: ...

        @cubed.kernel("CPU")
        def cubed_kernel(self):
            return self**3

        @cubed.derivative("self")
        def cubed_derivative(grad, self):
            return grad * 3 * self**2

        for _ in range(3):  # without plans, then by plans
            x = opdsl.tensor([2.0], requires_grad=True)
            computed = cubed(x)
            computed.mul_(5)
            computed.sum().backward()
            assert x.grad.tolist() == [60.0]


def test_second_gradients_where_some_views_have_none() -> None:
    def program(library: Any, x: Any) -> Any:
        _, second, _ = x.split(1)
        (once,) = library.autograd.grad((second**3).sum(), x, create_graph=True)
        return library.autograd.grad(once.sum(), x)

    assert_same(program, [1.0, 2.0, 3.0])


def _no_grad(lib, y):
    with lib.no_grad():
        y.mul_(2)


WRITES = {
    "recorded": lambda lib, y: y.mul_(2),
    "not recorded": _no_grad,
    "into a view": lambda lib, y: y[0].mul_(2),
    "into an element": lambda lib, y: y.__setitem__(0, 0.5),
    "detached": lambda lib, y: y.detach().mul_(2),
    "as out": lambda lib, y: lib.ones(3, out=y.detach()),
    "a copy": lambda lib, y: y.copy_(y * 3),
}


@pytest.mark.parametrize("name", WRITES)
def test_gradients_of_a_written_and_freed_result_raise(name):
    """Computing gradients of a result that was written in place raises, also if the result is no longer referenced."""

    def loss(lib, x):
        y = x.exp()
        WRITES[name](lib, y)
        return (y * 1).sum()

    for _ in range(3):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss(torch, torch.ones(3, requires_grad=True)).backward()
        with pytest.raises(opdsl.errors.SavedTensorChangedError):
            loss(opdsl, opdsl.ones(3, requires_grad=True)).backward()


def test_dead_weak_proxies_do_not_break_writes():
    """A write that searches all objects for views of the tensor ignores weak proxies of dead objects."""

    class Gone:
        pass

    proxy = weakref.proxy(Gone())
    x, y = opdsl.zeros(3, 4), opdsl.ones(3, 4, requires_grad=True)
    view = x[0]
    x.add_(y * 2)
    view.sum().backward()
    assert y.grad.tolist() == [[2.0] * 4, [0.0] * 4, [0.0] * 4]
    del proxy


@pytest.mark.parametrize("join", [lambda x: opdsl.cat([x, x * 1.0]), lambda x: opdsl.block_diag(x, x * 1.0)])
def test_concatenation_saves_no_operands(join: Callable[[Any], Any]) -> None:
    for rows in (2, 2, 3, 3):  # without plans, then by plans
        joined = opdsl.ones(rows, 3, requires_grad=True) * 2.0
        operand = weakref.ref(joined)
        computed = join(joined)
        del joined
        gc.collect()
        assert operand() is None
        computed.sum().backward()
