"""Benchmark of opdsl operators in torch, compared with ``custom_op``, torch's own operators and ``torch.compile``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from harness import Case, Measured, Report, compare, main

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register

CALLS = (
    Case("the operator", "mul(x, y)", "custom_mul(x, y)", 0.35),
    Case("an argument requires grad", "mul(w, y)", "custom_mul(w, y)", 0.5),
    Case("that, under no_grad", "without_grad(mul, w, y)", "without_grad(custom_mul, w, y)"),
    Case("forward and backward", "mul(w, y).backward(y)", "custom_mul(w, y).backward(y)"),
    Case("a Python kernel", "python_mul(x, y)", "custom_mul(x, y)"),
    Case("a composite, recorded call by call", "composite_mul(w, y)", "custom_mul(w, y)"),
)
FORMULA = (
    Case("against torch's operators", "damped(a, b)", "eager(a, b)", 0.4),
    Case("against torch.compile", "damped(a, b)", "compiled(a, b)", 1.1),
)

OPERATORS = 100
TURNS = 5

# Programs that processes run after `import torch`. They print processor seconds of three parts: registering operators;
# declaring and registering them; both, with importing opdsl and a first operator, which loads more.
OURS = f"""
import time, torch
started = time.process_time()
import opdsl
from opdsl.interop.torch import register
def declare(number):
    def operator(self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor: ...
    operator.__name__ = f"operator{{number}}"
    made = lib.op(operator)
    made.kernel("CPU", "Meta")(kernel)
    made.derivative("self", "other")(derivative)
def kernel(self, other):
    return self + other
def derivative(grad):
    return grad, grad
lib = opdsl.Library("first")
declare(0)
register(lib)
loaded = time.process_time()
lib = opdsl.Library("many")
for number in range({OPERATORS}):
    declare(number)
declared = time.process_time()
register(lib)
ended = time.process_time()
print(ended - declared, ended - loaded, ended - started)
"""
THEIRS = f"""
import time, torch
started = time.process_time()
def declare(number):
    def operator(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return self + other
    made = torch.library.custom_op(f"many::operator{{number}}", operator, mutates_args=())
    made.register_fake(lambda self, other: torch.empty_like(self))
    made.register_autograd(lambda ctx, grad: (grad, grad))
declare({OPERATORS})
loaded = time.process_time()
for number in range({OPERATORS}):
    declare(number)
ended = time.process_time()
print(ended - loaded, ended - loaded, ended - started)
"""

lib = Library("benchmark_torch")


@lib.op
@formula
def mul(self: Tensor, other: Tensor) -> Tensor:
    """``self * other``"""
    return self * other


@lib.op
def python_mul(self: Tensor, other: Tensor) -> Tensor:
    """Compute ``self * other`` by a Python kernel, as one operator of torch."""
    ...


@python_mul.kernel("CPU", "Meta")
def python_mul_kernel(self, other):
    return self * other


@lib.op
def composite_mul(self: Tensor, other: Tensor) -> Tensor:
    """Compute ``self * other`` as a composite."""
    return self * other


@lib.op
@formula
def damped(self: Tensor, other: Tensor) -> Tensor:
    """Compute ``tanh(self * other + 1) * exp(-self)``, five operations."""
    return opdsl.tanh(self * other + 1.0) * opdsl.exp(-self)


def eager(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Compute ``damped`` by torch."""
    return torch.tanh(x * y + 1.0) * torch.exp(-x)


@torch.library.custom_op("benchmark_torch::custom_mul", mutates_args=())
def custom_mul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Compute ``mul`` by torch's own kernel, as a custom operator."""
    return x * y


def set_up() -> None:
    """Register the operators in torch, and give ``custom_mul`` a meta function and a gradient, as ``mul`` has."""
    register(lib)

    def remember(ctx: object, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: object, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    custom_mul.register_fake(lambda x, y: torch.empty_like(x))
    custom_mul.register_autograd(backward, setup_context=remember)


def without_grad(operator: object, *values: torch.Tensor) -> torch.Tensor:
    """Call an operator under ``torch.no_grad``."""
    with torch.no_grad():
        return operator(*values)


def names() -> dict[str, object]:
    """Return the functions and tensors that the statements use, by name."""
    large = [torch.randn(4_194_304) for _ in range(2)]
    return {
        "mul": torch.ops.benchmark_torch.mul,
        "python_mul": torch.ops.benchmark_torch.python_mul,
        "composite_mul": torch.ops.benchmark_torch.composite_mul,
        "custom_mul": torch.ops.benchmark_torch.custom_mul,
        "damped": torch.ops.benchmark_torch.damped,
        "eager": eager,
        "compiled": torch.compile(eager),
        "without_grad": without_grad,
        "x": torch.randn(4),
        "y": torch.randn(4),
        "w": torch.randn(4, requires_grad=True),
        **dict(zip("ab", large, strict=True)),
    }


def registering() -> list[Measured]:
    """Return the least times of processes that import, declare and register, which alternate between both sides."""
    turns = [(_seconds(OURS), _seconds(THEIRS)) for _ in range(TURNS + 1)][1:]
    rows = []
    for index, (name, goal) in enumerate(
        (
            (f"registering {OPERATORS} operators", 0.3),
            ("declaring and registering them", None),
            ("that, with what the first operator loads", None),
        )
    ):
        ours, theirs = (min(side[index] for side in sides) for sides in zip(*turns, strict=True))
        rows.append(Measured(name, ours, theirs, ours / theirs, goal))
    return rows


def _seconds(program: str) -> list[float]:
    folder = Path(sys.executable).parent
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    return [float(part) for part in finished.stdout.split()]


def run() -> Report:
    """Measure calls, a formula and registration."""
    torch.set_num_threads(2)
    report = Report("Operators of opdsl in torch", threads=2)
    set_up()
    known = names()
    calls = compare(CALLS, known)
    report.comparison("Calls on 4 float32 elements, through torch.ops", calls, theirs="torch.library.custom_op")
    report.comparison("Five operations on 4M float32 elements", compare(FORMULA, known), theirs="torch")
    note = (
        "Processor time after `import torch`; `custom_op` declares and registers in one. What the first operator "
        "loads is opdsl itself, and beneath `custom_op` what torch imports late."
    )
    report.comparison("Registration", registering(), theirs="torch.library.custom_op", note=note)
    return report


if __name__ == "__main__":
    main("torch-bridge", run)
