"""Tests of variants derived from views: in-place operators, copies, and copies with a replaced part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Alias, Inplace, Library, SymInt, Tensor
from opdsl.errors import DeclarationError, ShapeError
from opdsl.runtime import views


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("viewing") as lib:
        yield lib


def first_of(library: Library, **options: Any) -> Any:
    @library.op("viewing::first.count", **options)
    def first(self: Tensor[Alias("a")], count: SymInt = 1) -> Tensor[Alias("a")]:
        """Return a view of the first elements."""
        ...

    @first.view_kernel
    def first_view(self: views.View, count: int) -> views.View:
        return views.narrow(self, 0, 0, count)

    return first


def test_inplace_turns_the_tensor_into_the_view(library: Library) -> None:
    first = first_of(library, inplace=True)
    x = opdsl.tensor([1.0, 2.0, 3.0])
    memory = x.data_ptr()
    assert first.variants["inplace"](x, 2) is x
    assert x.tolist() == [1, 2] and x.data_ptr() == memory


def test_inplace_is_tagged_as_one_that_reads_no_elements(library: Library) -> None:
    turned = first_of(library, inplace=Inplace("first_")).variants["inplace"]
    assert turned.tags == ("inplace_view",)
    assert str(turned.schema) == "viewing::first_(Tensor(a!) self, SymInt count=1) -> Tensor(a!)"


def test_inplace_has_the_gradient_of_the_view(library: Library) -> None:
    first = first_of(library, inplace=True)
    leaf = opdsl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = leaf * 1
    first.variants["inplace"](x, 2)
    (x * x).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2, 4, 0]


def test_what_does_not_fit_leaves_the_tensor_as_it_is(library: Library) -> None:
    first = first_of(library, inplace=True)
    x = opdsl.tensor([1.0])
    with pytest.raises(ShapeError):
        first.variants["inplace"](x, 2)
    assert x.tolist() == [1]


def test_a_copy_has_memory_of_its_own(library: Library) -> None:
    copy = first_of(library).view_copy()
    x = opdsl.tensor([1.0, 2.0, 3.0])
    copy(x, 2)[0] = 5.0
    assert x.tolist() == [1, 2, 3] and copy(x, 2).tolist() == [1, 2]


def test_a_copy_is_declared_with_the_schema_of_the_view(library: Library) -> None:
    assert (
        str(first_of(library).view_copy().schema) == "viewing::first_copy.count(Tensor self, SymInt count=1) -> Tensor"
    )


def test_a_copy_has_the_gradient_of_the_view(library: Library) -> None:
    x = opdsl.tensor([1.0, 2.0], requires_grad=True)
    first_of(library).view_copy()(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 0]


def test_copies_of_lists_are_written_into_given_tensors(library: Library) -> None:
    @library.op
    def halves(self: Tensor[Alias("a", after="*")]) -> list[Tensor[Alias("a")]]: ...

    halves.kernel(lambda self: [self[: self.shape[0] // 2], self[self.shape[0] // 2 :]])
    halves.view_copy()
    outs = [opdsl.empty(1), opdsl.empty(1)]
    opdsl.ops.viewing.halves_copy.out(opdsl.tensor([1.0, 2.0]), out=outs)
    assert [out.tolist() for out in outs] == [[1], [2]]


def test_a_scatter_replaces_what_the_view_shows(library: Library) -> None:
    scatter = first_of(library).view_scatter()
    x = opdsl.ones(3)
    assert scatter(x, opdsl.zeros(2), 2).tolist() == [0, 0, 1] and x.tolist() == [1, 1, 1]


def test_a_scatter_takes_the_replacement_after_the_tensor(library: Library) -> None:
    schema = "viewing::first_scatter(Tensor self, Tensor src, SymInt count=1) -> Tensor"
    assert str(first_of(library).view_scatter().schema) == schema


def test_a_scatter_has_gradients(library: Library) -> None:
    scatter = first_of(library).view_scatter()
    x, y = opdsl.ones(3, dtype=opdsl.float64), opdsl.ones(2, dtype=opdsl.float64)
    assert opdsl.testing.gradcheck(lambda a, b: scatter(a, b, 2) ** 2, (x.requires_grad_(), y.requires_grad_()))


def test_a_scatter_refuses_another_shape(library: Library) -> None:
    with pytest.raises(ShapeError, match="expected src to have a size equal to the slice of self"):
        first_of(library).view_scatter()(opdsl.ones(3), opdsl.ones(2), 1)


@pytest.mark.parametrize("what", ["copy", "scatter"])
def test_what_returns_no_view_has_neither(library: Library, what: str) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(DeclarationError, match=f"viewing::f has no {what}: it returns no view"):
        getattr(f, f"view_{what}")()


def test_the_copy_of_several_views_is_a_tuple(library: Library) -> None:
    @library.op
    def halves(self: Tensor[Alias("a")]) -> tuple[Tensor[Alias("a")], Tensor[Alias("a")]]: ...

    @halves.kernel
    def halves_kernel(self):
        return self[::2], self[1::2]

    copy: Any = halves.view_copy()
    x = opdsl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    even, odd = copy(x)
    assert (even.tolist(), odd.tolist()) == ([1.0, 3.0], [2.0])
    assert even.data_ptr() != x.data_ptr()
    (even.sum() * 2 + odd.sum() * 3).backward()
    assert x.grad.tolist() == [2.0, 3.0, 2.0]
