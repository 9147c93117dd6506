"""Runner of the examples in PyTorch's documentation, in both libraries."""

from __future__ import annotations

import contextlib
import doctest
import io
import itertools
import math
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy
import torch
import torch.nn.functional

import opdsl
import opdsl.nn.functional

SPACES = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.Tensor": torch.Tensor,
}

# Functions that change the state of the process.
LEFT_OUT = {
    "torch.set_default_device",
    "torch.set_default_dtype",
    "torch.set_default_tensor_type",
    "torch.set_flush_denormal",
    "torch.use_deterministic_algorithms",
}


class Documented(NamedTuple):
    """Examples of one function: statements that are run one after another."""

    name: str
    sources: tuple[str, ...]


def documented() -> Iterator[Documented]:
    """Yield the functions whose documentation has examples, each set of examples once."""
    parser, seen = doctest.DocTestParser(), set()
    for space, module in SPACES.items():
        for short in sorted(dir(module)):
            function, name = getattr(module, short), f"{space}.{short}"
            if short.startswith("_") or isinstance(function, type) or not callable(function) or name in LEFT_OUT:
                continue
            with contextlib.suppress(ValueError):  # Python's parser rejects some examples
                examples = parser.get_examples(function.__doc__ or "")
                sources = tuple(
                    example.source for example in examples if not example.exc_msg and "cuda" not in example.source
                )
                if sources and sources not in seen:
                    seen.add(sources)
                    yield Documented(name, tuple(map(without_torch, sources)))


def without_torch(source: str) -> str:
    """Return a statement that uses the given ``torch`` instead of importing it, as ``from torch import linalg as LA``
    does.
    """
    if re.fullmatch(r"import torch\s*", source):
        return "pass"
    return re.sub(r"^from (torch[.\w]*) import (\w+)(?: as (\w+))?", _assigned, source)


def _assigned(matched: re.Match[str]) -> str:
    return f"{matched[3] or matched[2]} = {matched[1]}.{matched[2]}"


class Run(NamedTuple):
    """Results of examples: the values of expressions, those of variables, and the printed text."""

    shown: list[object]
    named: dict[str, object]
    printed: str


def run(sources: Sequence[str], library: Any, functional: ModuleType) -> Run:
    """Run examples with ``torch`` and ``F`` replaced by a library; exceptions propagate."""
    inputs = {
        "torch": library,
        "F": functional,
        "nn": SimpleNamespace(functional=functional),
        "numpy": numpy,
        "np": numpy,
        "math": math,
        "itertools": itertools,
        "io": io,
    }
    names, shown = dict(inputs), list[object]()
    hook, sys.displayhook = sys.displayhook, lambda value: None if value is None else shown.append(value)
    printed = io.StringIO()
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            Path("storage.pt").write_bytes(bytes(64))
            for source in sources:
                exec(compile(source, "<documentation>", "single"), names)
    finally:
        sys.displayhook = hook
    named = {name: value for name, value in names.items() if name not in inputs and name != "__builtins__"}
    return Run(shown, named, printed.getvalue())


# Functions that draw random numbers or return uninitialized elements.
DRAWN = (
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "empty", "empty_like",
    "empty_strided", "empty_permuted",
)  # fmt: skip


class WithDrawnNumbers:
    """Wrapper of a library whose random numbers come from a NumPy generator, so that both libraries draw equal numbers.

    Every other attribute is that of the library.
    """

    def __init__(self, library: ModuleType) -> None:
        self._library = library
        self._generator = numpy.random.default_rng(0)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._library, name)
        return self._drawing(attribute, name) if name in DRAWN else attribute

    def _drawing(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def drawn(*inputs: Any, **named: Any) -> Any:
            named.pop("generator", None)
            original = function(*inputs, **named)
            shape = tuple(original.shape)
            if name == "randperm":
                numbers = self._generator.permutation(original.numel())
            elif name.startswith("randint"):
                bounds = inputs[:2] if len(inputs) > 2 else (0, inputs[0])
                numbers = self._generator.integers(*bounds, shape)
            elif name.startswith("rand") and not name.startswith("randn"):
                numbers = self._generator.random(shape)
            else:
                numbers = self._generator.standard_normal(shape)
            if original.dtype.is_complex:
                numbers = numbers + 1j * self._generator.standard_normal(shape)
            with self._library.no_grad():
                original.copy_(self._library.asarray(numpy.asarray(numbers)))
            return original

        return drawn


def both(sources: Sequence[str]) -> tuple[Run, Run]:
    """Run examples in opdsl and in PyTorch and return both results.

    Raises:
        Undocumented: PyTorch itself cannot run the examples.
    """
    torch.manual_seed(0)
    kept = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    options = vars(torch._tensor_str.PRINT_OPTS).copy()
    try:
        theirs = run(sources, WithDrawnNumbers(torch), torch.nn.functional)
    except BaseException as error:
        raise Undocumented(repr(error)) from error
    finally:
        torch.set_default_dtype(kept)
        vars(torch._tensor_str.PRINT_OPTS).update(options)
    kept_of_ours = opdsl.get_default_dtype()
    try:
        return run(sources, WithDrawnNumbers(opdsl), opdsl.nn.functional), theirs
    finally:
        opdsl.set_default_dtype(kept_of_ours)
        opdsl.set_printoptions(profile="default")


class Undocumented(Exception):
    """Raised when PyTorch cannot run its own examples, for example because they need CUDA or undefined names."""


# ----------------------------------------------------------------------------------------------------------- comparing


def differences(ours: Run, theirs: Run, forms_only: bool) -> list[str]:
    """Return descriptions of the differences between two runs.

    forms_only: whether elements are not compared, since they are random or one of several right answers.
    """
    problems: list[str] = []
    if len(ours.shown) != len(theirs.shown):
        problems.append(f"{len(ours.shown)} values for {len(theirs.shown)}")
    for at, (one, other) in enumerate(zip(ours.shown, theirs.shown, strict=False)):
        _compare(one, other, f"value {at}", forms_only, problems)
    for name in sorted(theirs.named):
        _compare(ours.named.get(name), theirs.named[name], name, forms_only, problems)
    printed = (
        theirs.printed.replace("torch.Size([", "(").replace("])", ")") if "Size" in theirs.printed else theirs.printed
    )
    if ours.printed.replace("opdsl.", "torch.") != printed and not forms_only:
        problems.append(f"printed {ours.printed!r} for {theirs.printed!r}")
    return problems


def _compare(ours: Any, theirs: Any, where: str, forms_only: bool, differences: list[str]) -> None:
    if isinstance(theirs, torch.Tensor):
        differences += [f"{where}: {difference}" for difference in _of_tensors(ours, theirs, forms_only)]
    elif isinstance(theirs, (torch.dtype, torch.device, torch.layout)):
        if str(ours).removeprefix("opdsl.") != str(theirs).removeprefix("torch."):
            differences.append(f"{where}: {ours} for {theirs}")
    elif isinstance(theirs, (tuple, list)):
        if not isinstance(ours, (tuple, list)) or len(ours) != len(theirs):
            differences.append(f"{where}: {ours!r} for {theirs!r}")
        else:
            for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                _compare(one, other, f"{where}[{at}]", forms_only, differences)
    elif isinstance(theirs, (bool, str, int, float, complex)):
        same = ours == theirs if isinstance(theirs, (bool, str, int)) else numpy.isclose(ours, theirs, 1e-5, 1e-6)
        if type(ours) is not type(theirs) or not (same or forms_only):
            differences.append(f"{where}: {ours!r} for {theirs!r}")
    elif isinstance(theirs, numpy.ndarray) and not numpy.allclose(ours, theirs, equal_nan=True):
        differences.append(f"{where}: {ours} for {theirs}")


def _of_tensors(ours: Any, theirs: torch.Tensor, forms_only: bool) -> Iterator[str]:
    if not isinstance(ours, opdsl.Tensor):
        yield f"{ours!r} for a tensor"
        return
    if str(theirs.dtype).removeprefix("torch.") != ours.dtype.name or tuple(theirs.shape) != ours.shape:
        yield f"{ours.dtype} of {ours.shape} for {theirs.dtype} of {tuple(theirs.shape)}"
    elif ours.requires_grad != theirs.requires_grad:
        yield f"requires_grad is {ours.requires_grad}"
    elif not forms_only and ours.device.type == "cpu" and theirs.numel():
        one, other = ours.detach().resolve_conj().resolve_neg(), theirs.detach().resolve_conj().resolve_neg()
        if theirs.dtype in (torch.bfloat16, torch.float16):
            one, other = one.double(), other.double()
        digits = 2e-3 if theirs.dtype in (torch.bfloat16, torch.float16) else 1e-5
        finite = other[other.isfinite()].to(torch.complex128).abs()
        most = float(finite.max()) if finite.numel() else 0.0
        if not numpy.allclose(one.numpy(), other.numpy(), 10 * digits, digits * max(1.0, most), equal_nan=True):
            yield f"{one} for {other}"
