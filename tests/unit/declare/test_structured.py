"""Tests of options of structured declarations: bases, precomputed values, names, refinements, derived variants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Alias, Array, CPUTensor, CUDATensor, Library, Tensor
from opdsl.errors import DeclarationError, KernelError, KernelSignatureError, ShapeError
from opdsl.kernels import MetaContext


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("structured_test") as lib:
        yield lib


def iterated(library: Library, promote: str = "default") -> Any:
    """Declare an operator with TensorIterator as base and its own loop."""

    @library.op(inplace=True, out=True, structured_inherits="TensorIteratorBase")
    def paired(self: Tensor, other: Tensor) -> Tensor: ...

    @paired.meta
    def paired_meta(ctx, self, other):
        ctx.build(self, other, promote=promote)

    @paired.out_kernel("CPU")
    def paired_cpu(self: Array, other: Array, out: Array) -> None:
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = self[i, j] - other[i, j]

    return paired


def test_tensor_iterator_broadcasts_and_promotes(library: Library) -> None:
    one, two = opdsl.arange(3).view(1, 3), opdsl.tensor([[0.5], [1.5]])
    difference = iterated(library)(one, two)
    assert difference.tolist() == (one - two).tolist()
    assert difference.dtype is opdsl.float32


def test_tensor_iterator_gives_outputs_the_strides_of_the_inputs(library: Library) -> None:
    one, two = opdsl.rand(3, 2).t(), opdsl.rand(3, 2).t()
    assert iterated(library)(one, two).stride() == (1, 2)


def test_tensor_iterator_promotes_as_asked(library: Library) -> None:
    one = opdsl.ones(2, 2, dtype=opdsl.int32)
    assert iterated(library, "int_to_float")(one, one).dtype is opdsl.float32


def test_tensor_iterator_refuses_shapes_that_do_not_broadcast(library: Library) -> None:
    with pytest.raises(ShapeError):
        iterated(library)(opdsl.ones(2, 2), opdsl.ones(2, 3))


def test_a_base_of_ones_own(library: Library) -> None:
    class Matrices(MetaContext):
        def rows(self, tensor: Tensor) -> int:
            return tensor.shape[0]

        def operands(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
            return tuple(matrix * 2 if isinstance(matrix, Tensor) else matrix for matrix in arguments)

    @library.op(out=True, structured_inherits=Matrices)
    def sums(self: Tensor) -> Tensor: ...

    @sums.meta
    def sums_meta(ctx, self):
        ctx.set_output(0, (ctx.rows(self),), like=self)

    @sums.out_kernel("CPU")
    def sums_cpu(self: Array, out: Array) -> None:
        for row in range(self.shape[0]):
            out[row] = self[row].sum()

    for _ in range(2):
        assert sums(opdsl.ones(2, 3)).tolist() == [6.0, 6.0]


def test_a_base_that_is_no_context_is_refused(library: Library) -> None:
    @library.op(out=True, structured_inherits=int)
    def odd(self: Tensor) -> Tensor: ...

    with pytest.raises(DeclarationError, match="MetaContext"):

        @odd.meta
        def odd_meta(ctx, self): ...


def precomputing(library: Library, returned: Any) -> Any:
    @library.op(out=True, precomputed={"dim": {"place": int}, None: {"size": int}})
    def scaled(self: Tensor, dim: int) -> Tensor: ...

    @scaled.meta
    def scaled_meta(ctx, self, dim):
        ctx.set_output(0, self.shape, like=self)
        return returned(self, dim)

    @scaled.out_kernel("CPU")
    def scaled_cpu(self: Array, place, size, out: Array) -> None:
        out[:] = self * size + place

    return scaled


def test_precomputed_values_stand_for_an_argument_and_beside_the_others(library: Library) -> None:
    scaled = precomputing(library, lambda self, dim: {"place": dim % self.ndim, "size": self.shape[dim]})
    for _ in range(2):
        assert scaled(opdsl.ones(2, 3), -1).tolist() == [[4.0] * 3] * 2
        assert scaled(opdsl.ones(2, 3), 0, out=opdsl.empty(0)).tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("returned", [None, {"place": 0}, {"place": 0, "size": 1, "more": 2}], ids=str)
def test_precomputed_values_that_miss_are_refused(library: Library, returned: Any) -> None:
    with pytest.raises(KernelError, match="has to return place, size"):
        precomputing(library, lambda self, dim: returned)(opdsl.ones(2, 3), 0)


def named(library: Library, names: Any = ("N", None)) -> Any:
    @library.op(out=True)
    def same(self: Tensor) -> Tensor: ...

    @same.meta
    def same_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self, names=names)

    @same.out_kernel("CPU")
    def same_cpu(self: Array, out: Array) -> None:
        out[:] = self

    return same


def test_names_are_the_result_s(library: Library) -> None:
    same = named(library)
    for _ in range(2):
        assert same(opdsl.ones(2, 3)).names == ("N", None)
    assert same.meta(opdsl.ones(2, 3)).names == ("N", None)
    assert opdsl.ones(2, 3).names == (None, None)


def test_names_of_an_output_are_held_against_the_result_s(library: Library) -> None:
    out = named(library)(opdsl.ones(2, 3))
    with library:
        pass
    with Library("structured_test_more") as other, pytest.raises(ShapeError, match="'N'"):
        named(other, ("C", None))(opdsl.ones(2, 3), out=out)


@pytest.mark.parametrize("names", [("N",), ("N", "N")], ids=str)
def test_names_that_do_not_fit(library: Library, names: Any) -> None:
    with pytest.raises(KernelError, match="names"):
        named(library, names)(opdsl.ones(2, 3))


def test_a_kernel_refined_to_another_backend_is_refused(library: Library) -> None:
    @library.op
    def moved(self: Tensor) -> Tensor: ...

    with pytest.raises(KernelSignatureError, match="CUDATensor"):

        @moved.kernel("CPU")
        def moved_cpu(self: CUDATensor) -> Tensor:
            return self

    with pytest.raises(KernelSignatureError, match="CPUTensor"):

        @moved.kernel("CompositeExplicitAutograd")
        def moved_anywhere(self: CPUTensor) -> Tensor:
            return self

    @moved.kernel("CPU")
    def moved_here(self: CPUTensor) -> CPUTensor:
        return self + 1

    assert moved(opdsl.ones(1)).tolist() == [2.0]


def test_one_composite_out_kernel_serves_all_variants(library: Library) -> None:
    @library.op(inplace=True, out=True)
    def increased(self: Tensor) -> Tensor: ...

    @increased.meta
    def increased_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)

    @increased.out_kernel("CompositeExplicitAutograd", compiled=False)
    def increased_out(self, out):
        opdsl.add(self, 1, out=out)

    numbers = opdsl.zeros(3)
    assert increased(numbers).tolist() == [1.0] * 3
    assert increased(numbers, out=opdsl.empty(0)).tolist() == [1.0] * 3
    assert opdsl.ops.structured_test.increased_(numbers).tolist() == [1.0] * 3


def test_a_functional_operator_derived_of_an_in_place_body(library: Library) -> None:
    @library.op(functional=True)
    def grow_(self: Tensor[Alias("a", write=True)], by: float = 2.0) -> Tensor[Alias("a", write=True)]:
        return self.mul_(by)

    grown = opdsl.ones(2)
    grow = grow_.variants["functional"]
    assert str(grow.schema) == "structured_test::grow(Tensor self, float by=2.0) -> Tensor"
    assert grow(grown, 3.0).tolist() == [3.0, 3.0]
    assert grown.tolist() == [1.0, 1.0]


def test_a_functional_operator_derives_of_in_place_ones_only(library: Library) -> None:
    with pytest.raises(DeclarationError, match="functional=True"):

        @library.op(functional=True)
        def plain(self: Tensor) -> Tensor:
            return self + 1


def test_shapes_of_any_size_take_no_memory() -> None:
    huge = opdsl.empty((10**9, 10**9), device="meta")
    assert opdsl.ops.aten.add.Tensor.meta(huge, huge.t()).shape == (10**9, 10**9)


def test_the_kernel_without_the_dispatcher(library: Library) -> None:
    same = named(library, None)
    out = opdsl.zeros(2, 2)
    assert same.direct("CPU")(opdsl.ones(2, 2)).tolist() == [[1.0, 1.0]] * 2
    assert same.direct("CPU")(opdsl.ones(2, 2), out=out) is out
    assert opdsl.ops.aten.clone.direct("CPU")(opdsl.ones(2)).tolist() == [1.0, 1.0]


def test_an_annotation_of_an_optional_tensor_takes_none():
    lib = Library("optional_annotation")

    @lib.op(out=True)
    def scaled(self: Tensor, weight: Tensor | None = None) -> Tensor: ...

    @scaled.meta
    def scaled_meta(ctx, self, weight):
        ctx.set_output(0, self.shape, like=self)

    @scaled.out_kernel("CPU", compiled=False)
    def scaled_cpu(self: Tensor, weight: Tensor | None, out: Tensor) -> None:
        out.copy_(self if weight is None else self * weight)

    assert scaled(opdsl.ones(2), opdsl.full((2,), 3.0)).tolist() == [3.0, 3.0]
    lib.close()
