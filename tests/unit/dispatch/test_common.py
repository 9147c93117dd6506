"""Tests of the dispatch key Common: a backend that registers one out-kernel gets all variants, checks, outputs and
device guard.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import opdsl
from opdsl import Library, Tensor, check
from opdsl.errors import DTypeError, KernelError, MissingKernelError, ShapeError
from opdsl.runtime.storage import version_of
from tests.unit.dispatch import recorder


@pytest.fixture
def lib() -> Iterator[Library]:
    recorder.install()
    with Library("testcommon") as library:
        yield library


@pytest.fixture
def doubled(lib: Library):
    """Declare a structured operator that records calls of its shape function, with a CPU kernel."""

    @lib.op(inplace=True, out=True)
    def doubled(self: Tensor, times: int = 2) -> Tensor: ...

    @doubled.meta
    def doubled_meta(ctx, self, times):
        recorder.events.append("meta")
        check(self.ndim == 1, "expected a vector", got=self.shape)
        ctx.set_output(0, self.shape, like=self)

    @doubled.out_kernel("CPU", compiled=False)
    def doubled_cpu(self, times, out):
        opdsl.mul(self, times, out=out)

    recorder.events.clear()
    return doubled


@pytest.fixture
def registered(lib: Library, doubled):
    """Register an out-kernel of the recorder backend for ``doubled``, and return the operator."""

    @lib.impl("doubled.out", "PrivateUse1")
    def doubled_recorder(self, times, out):
        recorder.events.append("kernel")
        numpy.multiply(self.array, times, out=out.array)
        return out

    return doubled


def there(*values: float) -> Tensor:
    tensor = opdsl.tensor(list(values), device="recorder:0")
    recorder.events.clear()
    return tensor


WHOLE = ["enter recorder:0", "meta", "kernel", "leave recorder:0"]


def test_the_functional_variant_comes_from_the_out_kernel(registered) -> None:
    result = registered(there(1.0, 2.0), 3)
    assert (result.tolist(), str(result.device)) == ([3.0, 6.0], "recorder:0")


def test_the_in_place_variant_comes_from_it(registered) -> None:
    remote = there(1.0, 2.0)
    assert registered.variants["inplace"](remote) is remote
    assert remote.tolist() == [2.0, 4.0]


def test_an_output_that_is_given_is_filled(registered) -> None:
    out = there(0.0, 0.0)
    assert registered(there(1.0, 2.0), out=out) is out
    assert out.tolist() == [2.0, 4.0]


def test_an_empty_output_is_resized(registered) -> None:
    out = opdsl.empty((0,), device="recorder:0")
    registered(there(1.0, 2.0), out=out)
    assert out.tolist() == [2.0, 4.0]


def test_an_output_of_another_shape_is_resized_with_a_warning(registered) -> None:
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        registered(there(1.0, 2.0), out=there(0.0))


@pytest.mark.parametrize("variant", ["functional", "inplace", "out"])
def test_shapes_are_checked_once_and_the_device_is_entered_once(registered, variant: str) -> None:
    inputs = {"out": there(0.0, 0.0)} if variant == "out" else {}
    remote = there(1.0, 2.0)
    (registered.variants["inplace"] if variant == "inplace" else registered)(remote, 5, **inputs)
    first = recorder.events[: len(WHOLE)]
    assert first == WHOLE and recorder.events.count("kernel") == 1


@pytest.mark.parametrize("variant", ["functional", "out"])
def test_a_planned_call_checks_no_shapes(registered, variant: str) -> None:
    inputs = {"out": there(0.0, 0.0)} if variant == "out" else {}
    remote = there(1.0, 2.0)
    registered(remote, **inputs)
    registered(remote, **inputs)
    recorder.events.clear()
    result = registered(remote, **inputs)
    assert recorder.events == ["enter recorder:0", "kernel", "leave recorder:0"]
    assert result.tolist() == [2.0, 4.0]


def test_bad_shapes_are_refused_before_the_kernel(registered) -> None:
    matrix = opdsl.empty((2, 2), device="recorder:0")
    recorder.events.clear()
    with pytest.raises(ShapeError, match="expected a vector"):
        registered(matrix)
    assert "kernel" not in recorder.events


def test_an_output_of_another_dtype_is_refused(registered) -> None:
    out = opdsl.empty((2,), dtype=opdsl.float64, device="recorder:0")
    with pytest.raises(DTypeError, match="Expected out tensor to have dtype"):
        registered(there(1.0, 2.0), out=out)


def test_an_output_that_is_also_read_is_filled_after_it_was_read(registered) -> None:
    remote = there(1.0, 2.0)
    assert registered(remote, out=remote).tolist() == [2.0, 4.0]


@pytest.mark.parametrize(("variant", "versions"), [("functional", 0), ("inplace", 1), ("out", 1)])
def test_a_write_is_counted_once(registered, variant: str, versions: int) -> None:
    out, remote = there(0.0, 0.0), there(1.0, 2.0)
    function = registered.variants["inplace"] if variant == "inplace" else registered
    result = function(remote, **({"out": out} if variant == "out" else {}))
    assert version_of(result) == versions


@pytest.mark.parametrize("variant", ["functional", "inplace", "out"])
def test_without_a_kernel_the_error_names_what_to_register(doubled, variant: str) -> None:
    function = doubled.variants["inplace"] if variant == "inplace" else doubled
    inputs = {"out": there(0.0)} if variant == "out" else {}
    with pytest.raises(MissingKernelError, match=r"no PrivateUse1 kernel"):
        function(there(1.0), **inputs)


def test_a_kernel_that_fails_is_named_with_its_place(lib: Library, doubled) -> None:
    @lib.impl("doubled.out", "PrivateUse1")
    def doubled_failing(self, times, out):
        raise ZeroDivisionError("none")

    with pytest.raises(KernelError, match=r"doubled_failing \(.*test_common\.py:\d+\) raised ZeroDivisionError: none"):
        doubled(there(1.0))


# --------------------------------------------------------------------------------------------- backends that opt out


def test_a_fused_backend_checks_shapes_once(registered) -> None:
    registered(opdsl.tensor([1.0]), out=opdsl.tensor([0.0]))
    first_call = recorder.events.count("meta")
    registered(opdsl.tensor([1.0, 2.0]))
    assert (first_call, recorder.events.count("meta")) == (1, 2)


def test_a_plain_kernel_of_a_fused_backend_is_handed_its_output_as_it_is(lib: Library, doubled) -> None:
    seen = []

    @lib.impl("doubled.out", "CPU")
    def doubled_own(self, times, out):
        seen.append(out.shape)

    doubled(opdsl.tensor([1.0, 2.0]), out=opdsl.empty((0,)))
    assert seen == [(0,)]


def test_a_backend_opts_out_by_its_package(registered, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules["opdsl_recorder"], "FUSED", True, raising=False)
    out = there(0.0, 0.0)
    registered(there(1.0, 2.0), out=out)
    assert recorder.events[:3] == ["enter recorder:0", "kernel", "leave recorder:0"]


# ---------------------------------------------------------------------------------------------- pointwise operators


def test_a_pointwise_operator_of_aten_needs_an_out_kernel_only(lib: Library) -> None:
    @lib.impl("aten::mul.out", "PrivateUse1")
    def mul_recorder(self, other, out):
        numpy.multiply(self.array, getattr(other, "array", other), out=out.array)

    one, two = there(1.0, 2.0), opdsl.tensor([[3], [4]], device="recorder:0")
    assert (one * two).tolist() == [[3.0, 6.0], [4.0, 8.0]]
    assert (one * 3).tolist() == [3.0, 6.0]
    one *= one
    assert one.tolist() == [1.0, 4.0]


def test_the_result_has_the_promoted_dtype(lib: Library) -> None:
    @lib.impl("aten::add.out", "PrivateUse1")
    def add_recorder(self, other, alpha, out):
        numpy.add(self.array, other.array, out=out.array, casting="same_kind")

    whole = opdsl.tensor([1, 2], device="recorder:0")
    assert (whole + there(0.5, 0.5)).dtype is opdsl.float32


def test_an_out_kernel_beneath_the_declaration_serves_a_backend_without_a_compiler(lib: Library, doubled) -> None:
    @doubled.out_kernel("PrivateUse1")
    def doubled_recorder(self, times, out):
        numpy.multiply(self, times, out=out)

    assert doubled(there(1.0, 2.0), 3).tolist() == [3.0, 6.0]
    assert doubled(there(1.0, 2.0), 3).tolist() == [3.0, 6.0]


# --------------------------------------------------------------------------------------------------- composite kernels


@pytest.mark.parametrize(
    "key", ["CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"]
)
@pytest.mark.parametrize("device", ["cpu", "meta", "recorder:0"])
def test_a_composite_kernel_serves_every_backend(lib: Library, key: str, device: str) -> None:
    @lib.op
    def same(self: Tensor) -> Tensor: ...

    @same.kernel(key)
    def same_kernel(self):
        return self.reshape(-1)

    assert same(opdsl.empty((2, 2), device=device)).shape == (4,)


def test_a_backends_own_kernel_comes_before_a_composite_one(lib: Library) -> None:
    @lib.op
    def place(self: Tensor) -> Tensor: ...

    @place.kernel("CompositeExplicitAutograd")
    def place_composite(self):
        return opdsl.zeros(())

    @place.kernel("PrivateUse1")
    def place_recorder(self):
        return opdsl.ones(())

    assert (place(there(1.0)).item(), place(opdsl.tensor([1.0])).item()) == (1.0, 0.0)


def test_one_kernel_serves_several_backends(lib: Library) -> None:
    @lib.op
    def same(self: Tensor) -> Tensor: ...

    @same.kernel("CPU", "PrivateUse1")
    def same_kernel(self):
        return self

    for numbers in (there(1.0), opdsl.tensor([1.0])):
        assert same(numbers) is numbers
    with pytest.raises(MissingKernelError, match="no Meta kernel"):
        same(opdsl.empty((1,), device="meta"))
