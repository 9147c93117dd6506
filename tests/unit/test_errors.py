"""Tests of all classes of ``opdsl.errors``: documented, raised, and caught by code that was written for PyTorch.

A mistake is made with opdsl and, if PyTorch has an equivalent, with PyTorch: opdsl's class derives from the one that
PyTorch raises.
"""

# Wrong on purpose, in all these ways:
# mypy: disable-error-code="empty-body, no-untyped-def, no-untyped-call, call-overload, type-arg, name-defined"

from __future__ import annotations

import ast
import inspect
import io
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import torch
from cuda.bindings import driver
from torch._subclasses import FakeTensorMode
from torch.library import infer_schema

import opdsl
from opdsl import by_name, errors, native
from opdsl.backends.cuda.driver import Driver
from opdsl.cli.creating import make_library
from opdsl.errors import OpdslError
from opdsl.interop.torch import register, wrap

PACKAGE = Path(errors.__file__).parent

CLASSES = [
    var
    for var in vars(errors).values()
    if inspect.isclass(var) and issubclass(var, OpdslError) and var is not OpdslError
]


class Mistake(NamedTuple):
    """Mistake of a user, made with opdsl and with PyTorch.

    error: opdsl's class of error.
    ours: makes the mistake with opdsl.
    theirs: makes it with PyTorch; the built-in exception to expect if PyTorch has no equivalent, with the reason in a
        comment.
    """

    error: type[OpdslError]
    ours: Callable[[], object]
    theirs: Callable[[], object] | type[Exception]


def zeros(*shape: int, dtype: Any = opdsl.float32, device: str = "cpu") -> Any:
    """Return a tensor of zeros, for mistakes in which a shape or a zero is at fault."""
    return opdsl.zeros(shape, dtype=dtype, device=device)


def without_annotation(self) -> opdsl.Tensor: ...


def with_dict(self: dict) -> opdsl.Tensor: ...


def plain(self: opdsl.Tensor) -> opdsl.Tensor: ...


def declare(function: Callable[..., object], *, attach: Callable[[Any], object] | None = None) -> None:
    """Declare an operator in a temporary library, attach something to it, and remove the library."""
    with opdsl.Library("errors_test") as library:
        operator = library.op(function)
        if attach is not None:
            attach(operator)


def declare_twice() -> None:
    with opdsl.Library("errors_test") as library:
        library.op("f")(plain)
        library.op("f")(without_body)


def without_body(self: opdsl.Tensor) -> opdsl.Tensor: ...


def declare_twice_in_torch() -> None:
    library = torch.library.Library("errors_test", "DEF")
    library.define("f(Tensor self) -> Tensor")
    library.define("f(Tensor self) -> Tensor")


def infer_in_torch(function: Callable[..., object]) -> None:
    infer_schema(function, mutates_args=())


def torch_without_annotation(x) -> torch.Tensor: ...


def torch_with_dict(x: dict) -> torch.Tensor: ...


def sort_unknown_sizes() -> None:
    import dask.array as da

    from opdsl.interop.dask import lazy

    x = da.ones(4, chunks=2)
    lazy(opdsl.sort)(x[x > 0])


def compute_with_another_version() -> None:
    from opdsl.interop.dask.blocks import Edition

    Edition("0.0.1", "").require("aten::exp", Edition("0.1.0", ""))


def call_without_kernel() -> None:
    with opdsl.Library("errors_test") as library:
        library.op(plain)(zeros(2))


def call_without_kernel_in_torch() -> None:
    library = torch.library.Library("errors_test", "DEF")
    library.define("f(Tensor self) -> Tensor")
    library.impl("f", lambda tensor: tensor, "CUDA")
    torch.ops.errors_test.f(torch.zeros(2))


def trace_without_tag() -> None:
    with opdsl.Library("errors_test") as library, FakeTensorMode() as mode:
        function = library.op(plain)
        function.kernel("Meta")(lambda self: opdsl.empty((opdsl.dynamic_size(),), device="meta"))
        register(library)
        torch.ops.errors_test.plain(mode.from_tensor(torch.zeros(2)))


def trace_without_fake_in_torch() -> None:
    library = torch.library.Library("errors_test", "DEF")
    library.define("f(Tensor self) -> Tensor")
    with FakeTensorMode() as mode:
        torch.ops.errors_test.f(mode.from_tensor(torch.zeros(2)))


def two_parameters(self, other):
    return self + other


def looking(self: opdsl.Tensor) -> opdsl.Tensor:
    return self * self.item()


def endless(self):
    while True:
        self = self + 1
    return self


ENDLESS = opdsl.primitives.elements(endless)


def added(total, other):
    return total + other


HALVES = opdsl.primitives.fold(added, init=0, lift=lambda x: 0.5 * x)


def folded_halves(self: opdsl.Tensor) -> opdsl.Tensor:
    return HALVES(self)


def returns_text(self):
    return "text"


def call_a_wrong_kernel() -> None:
    with opdsl.Library("errors_test") as library:
        operator = library.op(plain)
        operator.kernel("CPU")(returns_text)
        operator(zeros(2))


def like_self(ctx, self):
    ctx.set_output(0, self.shape, like=self)


def asks_for_the_impossible(self, out):
    out[0] = no_such_function(self)  # noqa: F821


def call_what_leaves_its_array() -> object:
    from opdsl.backends.cpu.author import checked_bounds

    with opdsl.Library("errors") as library:

        @library.op
        def far(self: opdsl.Tensor) -> opdsl.Tensor: ...

        @far.meta
        def far_meta(ctx, self):
            ctx.set_output(0, self.shape, like=self)

        @far.out_kernel("CPU")
        def far_cpu(self, out):
            out[0] = self[self.shape[0]]

        with checked_bounds():
            return far(zeros(2))


def call_what_does_not_compile() -> None:
    with opdsl.Library("errors_test") as library:
        operator = library.op(plain)
        operator.meta(like_self)
        operator.out_kernel("CPU")(asks_for_the_impossible)
        operator(zeros(2))


def write_read_only() -> None:
    array = numpy.zeros(2)
    array.flags.writeable = False
    opdsl.from_numpy(array).add_(1)


def write_read_only_in_numpy() -> None:
    array = numpy.zeros(2)
    array.flags.writeable = False
    array += 1


def need_what_is_missing() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numba", None)
        # If an earlier test has compiled a kernel, the module that needs numba is loaded already.
        patch.delitem(sys.modules, "opdsl.backends.cpu.author_compiler", raising=False)
        call_what_does_not_compile()


def returns_its_argument(self):
    return self


def break_a_law() -> None:
    with opdsl.Library("errors_test") as library:
        operator = library.op(plain)
        operator.kernel("CPU", "Meta")(returns_its_argument)
        opdsl.testing.check_op(operator)


def second_backward(library: Any) -> None:
    x = library.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def write_saved(library: Any) -> None:
    x = library.ones(2, requires_grad=True) * 2
    y = (x * x).sum()
    x.add_(1)
    y.backward()


def backward_without_derivative() -> None:
    with opdsl.Library("without_derivative") as library:

        @library.op
        def twice(self: opdsl.Tensor) -> opdsl.Tensor: ...

        @twice.kernel("CPU")
        def twice_kernel(self):
            return self + self

        twice(opdsl.ones(2, requires_grad=True)).sum().backward()


class RefusingApi:
    """Fake of cuda-python's driver functions whose driver fails with the same error each time."""

    def __init__(self, error: Any) -> None:
        self.error = error
        self.CUresult = driver.CUresult

    def cuCtxSynchronize(self) -> tuple[Any]:
        return (self.error,)

    def cuGetErrorName(self, error: Any) -> tuple[int, bytes]:
        return 0, error.name.encode()

    cuGetErrorString = cuGetErrorName


def ask_a_driver_that(error: Any) -> None:
    output = object.__new__(Driver)
    output._api = RefusingApi(error)
    output.synchronize()


def take_too_much() -> None:
    ask_a_driver_that(driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY)


def meet_a_failed_driver() -> None:
    ask_a_driver_that(driver.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS)


MISTAKES = {
    "schema": Mistake(
        errors.SchemaError, lambda: opdsl.parse_schema("f(Tensor"), lambda: torch._C.parse_schema("f(Tensor")
    ),
    # torchgen raises AssertionError, which is no error for users.
    "native yaml": Mistake(errors.NativeYamlError, lambda: native.loads("- func: f(Tensor"), ValueError),
    "no such release": Mistake(errors.DialectError, lambda: native.loads("", dialect="0.3"), ValueError),
    "no annotation": Mistake(
        errors.DeclarationError,
        lambda: declare(without_annotation),
        lambda: infer_in_torch(torch_without_annotation),
    ),
    "annotation": Mistake(errors.AnnotationError, lambda: declare(with_dict), lambda: infer_in_torch(torch_with_dict)),
    # PyTorch reports it when the kernel is called.
    "kernel signature": Mistake(
        errors.KernelSignatureError,
        lambda: declare(plain, attach=lambda operator: operator.kernel("CPU")(two_parameters)),
        TypeError,
    ),
    # PyTorch has no scalar functions.
    "scalar function": Mistake(
        errors.ScalarFunctionError,
        lambda: declare(plain, attach=lambda operator: operator.formula(lambda self: ENDLESS(self))),
        TypeError,
    ),
    "formula": Mistake(errors.FormulaError, lambda: declare(opdsl.formula(looking)), TypeError),
    "rounded result": Mistake(
        errors.RoundedResultError,
        lambda: declare(opdsl.formula(folded_halves)),
        TypeError,
    ),
    "declared twice": Mistake(errors.DuplicateOperatorError, declare_twice, declare_twice_in_torch),
    "operator": Mistake(errors.UnknownOperatorError, lambda: opdsl.ops.aten.no_such, lambda: torch.ops.aten.no_such),
    "dispatch key": Mistake(
        errors.DispatchKeyError, lambda: opdsl.DispatchKey("No"), lambda: torch._C._dispatch_key_parse("No")
    ),
    "argument": Mistake(errors.ArgumentError, lambda: opdsl.add("a", "b"), lambda: torch.add("a", "b")),
    # An AssertionError, so that pytest takes it for a failed test.
    "law": Mistake(errors.LawError, break_a_law, AssertionError),
    "option": Mistake(errors.OptionError, lambda: opdsl.cat([]), lambda: torch.cat([])),
    "unsupported dtype": Mistake(
        errors.UnsupportedDTypeError,
        lambda: opdsl.mm(zeros(2, 2, dtype=opdsl.bool), zeros(2, 2, dtype=opdsl.bool)),
        lambda: torch.mm(torch.zeros(2, 2, dtype=torch.bool), torch.zeros(2, 2, dtype=torch.bool)),
    ),
    "mode": Mistake(
        errors.UnsupportedModeError,
        lambda: opdsl.nn.pad(zeros(2, 2), (1, 1), "mirror"),
        lambda: torch.nn.functional.pad(torch.zeros(2, 2), (1, 1), "mirror"),
    ),
    "number": Mistake(
        errors.NumberError,
        lambda: opdsl.tensor([1], dtype=opdsl.int8).add_(1, alpha=1000),
        lambda: torch.tensor([1], dtype=torch.int8).add_(1, alpha=1000),
    ),
    "item": Mistake(errors.ConversionError, lambda: zeros(2).item(), lambda: torch.zeros(2).item()),
    "int": Mistake(errors.ConversionError, lambda: int(zeros(2)), lambda: int(torch.zeros(2))),
    "data": Mistake(errors.ConversionError, lambda: opdsl.tensor([[1, 2], [3]]), lambda: torch.tensor([[1, 2], [3]])),
    "text": Mistake(errors.ConversionError, lambda: opdsl.tensor("text"), lambda: torch.tensor("text")),
    "no elements": Mistake(
        errors.NoElementsError,
        lambda: zeros(2, device="meta").to("cpu"),
        lambda: torch.zeros(2, device="meta").to("cpu"),
    ),
    "shape": Mistake(errors.ShapeError, lambda: zeros(2) + zeros(3), lambda: torch.zeros(2) + torch.zeros(3)),
    "position": Mistake(
        errors.PositionError,
        lambda: opdsl.index_select(zeros(2), 0, opdsl.tensor([5])),
        lambda: torch.index_select(torch.zeros(2), 0, torch.tensor([5])),
    ),
    "dimension": Mistake(errors.DimensionError, lambda: opdsl.sum(zeros(2), 5), lambda: torch.sum(torch.zeros(2), 5)),
    "dtype": Mistake(
        errors.DTypeError,
        lambda: opdsl.add(zeros(2), 1, out=zeros(2, dtype=opdsl.int32)),
        lambda: torch.add(torch.zeros(2), 1, out=torch.zeros(2, dtype=torch.int32)),
    ),
    "division": Mistake(
        errors.DivisionError,
        lambda: opdsl.tensor([1, 2]).fmod(opdsl.tensor([1, 0])),
        lambda: torch.tensor([1, 2]).fmod(torch.tensor([1, 0])),
    ),
    "linear algebra": Mistake(
        errors.LinearAlgebraError,
        lambda: opdsl.linalg.inv(zeros(2, 2)),
        lambda: torch.linalg.inv(torch.zeros(2, 2)),
    ),
    "device": Mistake(errors.DeviceError, lambda: opdsl.Device("no"), lambda: torch.device("no")),
    "devices": Mistake(
        errors.DeviceError,
        lambda: zeros(2) + zeros(2, device="meta"),
        lambda: torch.zeros(2) + torch.zeros(2, device="meta"),
    ),
    "overlap": Mistake(
        errors.OverlapError, lambda: zeros(1).expand((3,)).add_(1), lambda: torch.zeros(1).expand(3).add_(1)
    ),
    # PyTorch accepts the array, warns, and writes into it.
    "read only": Mistake(errors.ReadOnlyError, write_read_only, write_read_only_in_numpy),
    "no kernel": Mistake(errors.MissingKernelError, call_without_kernel, call_without_kernel_in_torch),
    "shapes untold": Mistake(errors.MissingMetaError, trace_without_tag, trace_without_fake_in_torch),
    "missing package": Mistake(errors.MissingDependencyError, need_what_is_missing, ImportError),
    # PyTorch's compilers (Inductor, Triton) raise their own classes, which derive from RuntimeError.
    "does not compile": Mistake(errors.KernelCompileError, call_what_does_not_compile, RuntimeError),
    # PyTorch's compiled kernels check no indices; Python's own sequences do.
    "outside of an array": Mistake(errors.BoundsError, call_what_leaves_its_array, lambda: [0][1]),
    # Few machines that run this have a GPU: a fake driver raises the error.
    "out of memory": Mistake(errors.OutOfMemoryError, take_too_much, MemoryError),
    "driver": Mistake(errors.DriverError, meet_a_failed_driver, RuntimeError),
    "wrong result": Mistake(errors.KernelError, call_a_wrong_kernel, RuntimeError),
    "array of texts": Mistake(
        errors.InterchangeError,
        lambda: opdsl.from_numpy(numpy.array(["text"])),
        lambda: torch.from_numpy(numpy.array(["text"])),
    ),
    "negative strides": Mistake(
        errors.InterchangeError,
        lambda: opdsl.from_numpy(numpy.zeros(3)[::-1]),
        lambda: torch.from_numpy(numpy.zeros(3)[::-1]),
    ),
    "library where something is": Mistake(
        errors.DuplicateFileError, lambda: make_library("tides", Path(__file__)), FileExistsError
    ),
    "no file of tensors": Mistake(errors.FileFormatError, lambda: opdsl.load(io.BytesIO(b"text")), ValueError),
    "pickle of an operator that is not here": Mistake(
        errors.PickledOperatorError, lambda: by_name.ops.no_namespace.f, pickle.UnpicklingError
    ),
    "pickled library": Mistake(
        errors.NotPickledError, lambda: pickle.dumps(opdsl.Library("pickled")), pickle.PicklingError
    ),
    "gradient of a matrix": Mistake(
        errors.GradientError,
        lambda: opdsl.ones(2, requires_grad=True).backward(),
        lambda: torch.ones(2, requires_grad=True).backward(),
    ),
    "integers that require grad": Mistake(
        errors.RequiresGradError,
        lambda: opdsl.tensor([1]).requires_grad_(),
        lambda: torch.tensor([1]).requires_grad_(),
    ),
    "second backward": Mistake(errors.GraphFreedError, lambda: second_backward(opdsl), lambda: second_backward(torch)),
    "saved tensor written": Mistake(
        errors.SavedTensorChangedError, lambda: write_saved(opdsl), lambda: write_saved(torch)
    ),
    "refused by torch": Mistake(
        errors.TorchError,
        lambda: wrap("aten::bmm")(zeros(2), zeros(2)),
        lambda: torch.bmm(torch.zeros(2), torch.zeros(2)),
    ),
    "a worker of another version": Mistake(errors.VersionError, compute_with_another_version, RuntimeError),
    "sizes that are unknown": Mistake(errors.ShardingError, sort_unknown_sizes, NotImplementedError),
    "no derivative": Mistake(errors.MissingDerivativeError, backward_without_derivative, NotImplementedError),
    # torch.export raises a RuntimeError for a branch on elements.
    "trace": Mistake(
        errors.TraceError, lambda: opdsl.trace(lambda x: x if x.sum() > 0 else -x, opdsl.ones(2)), RuntimeError
    ),
    # functorch.dim raises ValueError.
    "a fold over a dim that is not there": Mistake(
        errors.DimError, lambda: opdsl.ones(2)[opdsl.dim()].sum(opdsl.dim()), ValueError
    ),
    "elements of a value over dims": Mistake(
        errors.DimAttributeError, lambda: opdsl.ones(2)[opdsl.dim()].numpy(), AttributeError
    ),
    "program": Mistake(
        errors.ProgramError, lambda: opdsl.trace(lambda x: x, opdsl.ones(2))(opdsl.ones(2, 2)), RuntimeError
    ),
}


def raised(mistake: Callable[[], object]) -> BaseException:
    """Return the exception that a mistake raises."""
    with pytest.raises(Exception) as caught:
        mistake()
    return caught.value


def builtin_of(error: type[BaseException]) -> type[BaseException]:
    """Return the built-in exception that a class is or derives from."""
    return next(base for base in error.__mro__ if base.__module__ == "builtins")


# --------------------------------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_mistake_raises_the_class(mistake: Mistake) -> None:
    assert type(raised(mistake.ours)) is mistake.error


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_class_derives_from_what_pytorch_raises(mistake: Mistake) -> None:
    theirs = mistake.theirs
    wanted = theirs if isinstance(theirs, type) else builtin_of(type(raised(theirs)))
    assert wanted is not Exception and issubclass(mistake.error, wanted)


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_message_is_a_text(mistake: Mistake) -> None:
    assert len(str(raised(mistake.ours))) > 20


def test_every_class_has_its_mistake() -> None:
    assert {error.__name__ for error in CLASSES} == {mistake.error.__name__ for mistake in MISTAKES.values()}


@pytest.mark.parametrize("error", CLASSES)
def test_every_class_is_documented(error: type[OpdslError]) -> None:
    assert (error.__doc__ or "").strip().endswith(".")


@pytest.mark.parametrize("error", CLASSES)
def test_every_class_ends_in_error(error: type[OpdslError]) -> None:
    assert error.__name__.endswith("Error")


@pytest.mark.parametrize("error", CLASSES)
def test_every_class_is_raised_somewhere(error: type[OpdslError]) -> None:
    assert error.__name__ in raised_names()


@cache
def raised_names() -> frozenset[str]:
    """Return the names in raise statements and calls anywhere in the package except errors.py."""
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "errors.py"]
    return frozenset(name for file in files for name in made_in(ast.parse(file.read_text(encoding="utf-8"))))


def made_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from names_in(node.exc)
        elif isinstance(node, ast.Call):
            yield from names_in(node.func)


def names_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("abs", "abs(Tensor self, *, Tensor out = None)"),
        ("sub", "sub(Tensor self, Tensor other, *, Number alpha = 1, Tensor out = None)"),
    ],
)
def test_a_wrong_call_shows_the_signature(name: str, text: str) -> None:
    with pytest.raises(opdsl.errors.ArgumentError) as error:
        getattr(opdsl, name)("text")
    assert f"It is {text}." in str(error.value)
