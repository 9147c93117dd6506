"""Tests of complex elements in loops: memory layouts, conversions, numbers, outputs, folds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import torch

from opdsl.backends.cpu import pool
from opdsl.backends.cpu.forms import Form
from opdsl.backends.cpu.operands import Operand
from opdsl.backends.cpu.pointwise import text_of
from opdsl.runtime.dtype import complex64, complex128, float32, to_dtype
from tests.unit.kernels.computations import elements

from .plans import add, graph_of, plan, same
from .test_reduction import folding, mean, run

pytestmark = pytest.mark.usefixtures("plans_at_once")

KINDS = ("complex64", "complex128")
STORED = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", *KINDS)


def times(x, y):  # type: ignore[no-untyped-def]
    return x * y


def magnitude(x):  # type: ignore[no-untyped-def]
    return abs(x)


def both(a, i, b, j):  # type: ignore[no-untyped-def]
    return a + b, i + j


def counted(x, index):  # type: ignore[no-untyped-def]
    return x, index


def value_and_count(a, i, count):  # type: ignore[no-untyped-def]
    return a, i


def numbers(kind: str, *shape: int) -> numpy.ndarray[Any, Any]:
    """Return complex numbers with small integers as parts, whose sums are exact in any order."""
    real = numpy.arange(numpy.prod(shape)).reshape(shape) % 101 - 50
    return (real + 1j * (real[..., ::-1] * 3 % 71)).astype(kind)


LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T,
    "sliced": lambda x: x[::2, 1::3],
    "reversed rows": lambda x: numpy.ascontiguousarray(x)[:, 5:],
    "row": lambda x: x[0],
    "column": lambda x: x[:, :1],
    "single": lambda x: x[3:4, 4:5],
}


def pairs_of_layouts() -> Iterator[tuple[str, str]]:
    """Yield the pairs of memory layouts whose shapes broadcast."""
    shapes = {name: layout(numpy.empty((40, 40))).shape for name, layout in LAYOUTS.items()}
    for first, second in itertools.product(LAYOUTS, LAYOUTS):
        pairs = itertools.zip_longest(reversed(shapes[first]), reversed(shapes[second]), fillvalue=1)
        if all(one == two or 1 in (one, two) for one, two in pairs):
            yield first, second


@pytest.mark.parametrize(("first", "second"), list(pairs_of_layouts()))
@pytest.mark.parametrize("kind", KINDS)
def test_layouts(first: str, second: str, kind: str) -> None:
    x, y = LAYOUTS[first](numbers(kind, 40, 40)), LAYOUTS[second](numbers(kind, 40, 40)[::-1])
    shape = numpy.broadcast_shapes(x.shape, y.shape)
    result = plan(graph_of(times, kind, kind), shape, (x, y), (to_dtype(kind),))(x, y)
    numpy.testing.assert_array_equal(result, x * y)


@pytest.mark.parametrize(
    ("source", "target"), [pair for pair in itertools.product(STORED, STORED) if {*pair}.intersection(KINDS)]
)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_conversions(source: str, target: str) -> None:
    x = (numpy.arange(35) - (0 if source == "uint8" else 3)).astype(source)
    if source in KINDS:
        x = (x + 1j * (numpy.arange(35) % 3)).astype(source)
    wider = {"float16": "float32"}
    for kind in {wider.get(source, source), wider.get(target, target)}:
        if source in KINDS and kind not in KINDS:
            continue
        out = numpy.empty(35, target)
        plan(graph_of(same, kind), (35,), (x,), (out,))(x, out)
        expected = torch.from_numpy(x).to(getattr(torch, target)).numpy()
        numpy.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("number", (1 - 2j, 2.5, 3, True, numpy.complex128(1j)), ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_numbers(number: Any, kind: str) -> None:
    x = numbers(kind, 50)
    result = plan(graph_of(add, kind, kind), (50,), (x, to_dtype(kind)), (to_dtype(kind),))(x, number)
    numpy.testing.assert_array_equal(result, x + complex(number))


def test_what_is_no_number() -> None:
    x = numbers("complex64", 5)
    call = plan(graph_of(add, "complex64", "complex64"), (5,), (x, complex64), (complex64,))
    with pytest.raises(TypeError):
        call(x, "1j")


def test_in_place() -> None:
    x = numbers("complex64", 3000)
    expected = x + x
    plan(graph_of(add, "complex64", "complex64"), (3000,), (x, x), (x,))(x, x, x)
    numpy.testing.assert_array_equal(x, expected)


def test_elements_that_are_not_aligned() -> None:
    memory = numpy.zeros(8 * 20 + 1, numpy.uint8)[1:].view("complex64")
    memory[:] = numbers("complex64", 20)
    result = plan(graph_of(add, "complex64", "complex64"), (20,), (memory, memory), (complex64,))(memory, memory)
    numpy.testing.assert_array_equal(result, 2 * numbers("complex64", 20))


def test_real_results() -> None:
    x = numpy.array([3 + 4j, -1j, numpy.inf + 1j, complex(numpy.nan, numpy.inf), 0], "complex64")
    result = plan(graph_of(magnitude, "complex64"), (5,), (x,), (float32,))(x)
    numpy.testing.assert_array_equal(result, [5, 1, numpy.inf, numpy.inf, 0])


def test_large_arrays_are_shared_out() -> None:
    x = numbers("complex128", 1 << 20)
    before = pool.get_num_threads()
    pool.set_num_threads(2)
    try:
        result = plan(graph_of(add, "complex128", "complex128"), (1 << 20,), (x, x), (complex128,))(x, x)
    finally:
        pool.set_num_threads(before)
    numpy.testing.assert_array_equal(result, x + x)


@pytest.mark.parametrize("dims", ((0,), (1,), (0, 1)))
@pytest.mark.parametrize("shape", ((3, 4), (1, 3000), (3000, 1), (100, 100), (5, 70_000), (0, 3), (3, 0)), ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_sums(kind: str, shape: tuple[int, int], dims: tuple[int, ...]) -> None:
    x = numbers(kind, *shape)
    result = run(folding(add, kind), x, dims, to_dtype(kind))
    numpy.testing.assert_array_equal(result, x.astype("complex128").sum(axis=dims).astype(kind))
    turned = numpy.asfortranarray(x)
    numpy.testing.assert_array_equal(run(folding(add, kind), turned, dims, to_dtype(kind)), result)


def test_mean() -> None:
    x = numbers("complex64", 4, 8)
    result = run(folding(add, "complex64", finish=mean), x, (1,), complex64)
    numpy.testing.assert_allclose(result, x.mean(axis=1), rtol=1e-6)


def test_an_initial_complex_number() -> None:
    product = run(folding(times, "complex128", 1), numpy.array([1j, 2 + 1j, -1j]), (0,), complex128)
    assert complex(product) == 1j * (2 + 1j) * -1j


def test_complex_accumulators_beside_others() -> None:
    """A fold may have complex and integer accumulators, and receives the indices of elements in order."""
    from opdsl.kernels.calls import Folding
    from opdsl.runtime.dtype import int64

    pair = ("complex128", "int64")
    fold = Folding(
        (0, 0),
        graph_of(counted, *pair),
        graph_of(both, *pair, *pair),
        graph_of(value_and_count, *pair, "int64"),
        with_index=True,
        in_order=True,
    )
    x = numbers("complex128", 3, 500)
    values, positions = run(fold, x, (1,), complex128, int64)
    numpy.testing.assert_array_equal(values, x.sum(axis=1))
    numpy.testing.assert_array_equal(positions, [sum(range(500))] * 3)


@pytest.mark.parametrize("kind", KINDS)
def test_products_vectorise(kind: str) -> None:
    import llvmlite.binding as llvm

    from tests.unit.scalar.harness import optimise, target_machine

    target_machine()
    graph = graph_of(times, kind, kind)
    operand = Operand(kind, kind)
    form = Form((operand, operand), (operand,), "ccc")
    text = text_of(elements(graph, (), form.specs[:2], form.specs[2:])[0], form)
    assert isinstance(llvm.parse_assembly(text), llvm.ModuleRef)
    part = "float" if kind == "complex64" else "double"
    assert f"x {part}> " in str(optimise(text))
