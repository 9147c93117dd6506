"""Compiler of the OpenCL backend, called by ``opdsl.kernels``: each kind of kernel is a loop program, printed on first
run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.backends.arrays import DeviceArray
from opdsl.backends.opencl.arrays import new_array
from opdsl.backends.opencl.launcher import runner
from opdsl.errors import MissingKernelError
from opdsl.kernels.abilities import Abilities
from opdsl.kernels.calls import Layout, Ordering, Output, ProductCall, outputs_of
from opdsl.kernels.compiler import Compiled
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.kernel import Kernel
from opdsl.kernels.loops.lowering import loops_of, without_memory
from opdsl.kernels.loops.ordering import sorting
from opdsl.kernels.loops.products import matrix_product
from opdsl.runtime.dtype import int64
from opdsl.runtime.strides import contiguous_strides
from opdsl.scalar.types import ScalarType

# Elements that a group of work items sorts in local memory.
_TILE = 1024

ABILITIES = Abilities(counts=True, multiplies=True)
"""Optional abilities of this compiler."""


def compile(kernel: Kernel, layout: Layout) -> Compiled:
    """Return a function that runs a kernel, see ``Compiler.compile``."""
    return runner(without_memory(loops_of(kernel, layout)), outputs_of(layout))


def order(ordering: Ordering, layout: Layout) -> Compiled:
    """Return a function that sorts rows stably, see ``Compiler.order``."""
    kind = ScalarType(precision_of(layout.inputs[0].dtype).name)
    steps, scratch, shape = sorting(ordering, layout, kind, _TILE)
    runs = [(runner(step.loops, ()), step.memory) for step in steps]

    def run(source: DeviceArray, values: DeviceArray, indices: DeviceArray) -> None:
        memory = {"source": source, "values": values, "indices": indices}
        for name in scratch:
            memory[name] = new_array(shape, contiguous_strides(shape), int64, source.index)
        for step, names in runs:
            step(*(memory[name] for name in names))

    return run


def product(call: ProductCall) -> Compiled:
    """Return a function that multiplies matrices, see ``Compiler.product``."""
    kind = ScalarType(precision_of(call.dtype).name)
    outputs = [Output(call.dtype, None)]
    both = [runner(matrix_product(call, kind, reads_out=reads_out), outputs) for reads_out in (False, True)]

    def run(first: Any, second: Any, alpha: complex, beta: complex, out: Any) -> None:
        both[beta != 0](first, second, alpha, beta, out)

    return run


def multiplies(call: ProductCall) -> bool:
    """Return True: this backend multiplies matrices of float16 and bfloat16, with sums in float32."""
    return True


def author(function: Callable[..., object], call: Any) -> Compiled:
    """Raise an error, since a user's kernel is written for numba or in CUDA C++, which OpenCL cannot run.

    Raises:
        MissingKernelError: always.
    """
    name = getattr(function, "__name__", "an author's kernel")
    raise MissingKernelError(
        f"{name} is no kernel for OpenCL. Write it as a scalar function (pointwise, indexed), or as a kernel in Python "
        "that calls operators."
    )
