"""Planner of bfloat16 matrix products for the kernel in ``machine.narrow``, which uses a dot-product instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.machine import narrow
from opdsl.backends.cpu.machine.language import words
from opdsl.runtime.permanent import kept_forever
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import ProductCall

# The fewest rows that pay for packing, and the number of rows below which the transposed product is preferred.
_FEWEST_ROWS = 8
_FEW_ROWS = 64
# The number of multiplications that is worth a thread.
_SHARE = 1 << 19


def multiplies(call: ProductCall) -> bool:
    """Return whether the bfloat16 kernel supports a product with its memory layout on this processor."""
    return call.dtype.name == "bfloat16" and engine.has_feature("avx512bf16") and _oriented(call) is not None


def _oriented(call: ProductCall) -> tuple[ProductCall, tuple[int, int]] | None:
    """Return a product whose left factor has contiguous rows, and the indices of its two factors among the operands.

    It is the given product or its transpose; None if neither has the layout.
    """
    if 0 in (call.batch, call.inner, call.rows, call.columns):
        return None
    both = [(call, (1, 2)), (turned(call), (2, 1))]
    for product_call, places in reversed(both) if call.rows < _FEW_ROWS else both:
        if (product_call.first.column == 1 or product_call.inner == 1) and product_call.rows >= _FEWEST_ROWS:
            return product_call, places
    return None


def turned(call: ProductCall) -> ProductCall:
    """Return the call that computes the transposed product: factors exchanged, rows and columns exchanged."""
    first, second, out = (
        matrix_layout._replace(row=matrix_layout.column, column=matrix_layout.row)
        for matrix_layout in (call.first, call.second, call.out)
    )
    return call._replace(rows=call.columns, columns=call.rows, first=second, second=first, out=out)


def narrow_product(call: ProductCall) -> Kernel:
    """Plan a product for which ``multiplies`` is true, see ``Compiler.product``."""
    oriented = _oriented(call)
    assert oriented is not None, "there is a kernel"
    call, slots = oriented
    first, second, out = call.first, call.second, call.out
    elements, cost = call.batch * call.rows, call.inner * call.columns
    share = largest(_FEWEST_ROWS, -(-elements // native.usable_processors()), _SHARE // cost)
    details = words(
        narrow.NarrowPlan,
        first_slot=2 * slots[0],
        second_slot=2 * slots[1],
        rows=call.rows,
        inner=call.inner,
        columns=call.columns,
        first_row=first.row,
        second_row=second.row,
        second_column=second.column,
        out_row=out.row,
        out_column=out.column,
        first_matrix=first.batch,
        second_matrix=second.batch,
        out_matrix=out.batch,
    )
    loop = _code().address("narrow_product")
    work = Work(loop, elements, share if elements * cost > _SHARE else 0, narrow.HEIGHTS[0], details=details)
    inputs = [builtin.ARRAY, builtin.ARRAY, builtin.FLOAT, builtin.FLOAT]
    return builtin.builtin("narrow_product_cpu", work, inputs, [builtin.Given()], [_code()])


@kept_forever
def _code() -> engine.Code:
    return engine.compile_ir("narrow product", text, ["narrow_product"])


def text() -> str:
    """Return the LLVM IR of the kernel."""
    from opdsl.backends.cpu.machine.text import module_text
    from opdsl.backends.cpu.machine.vectors import ATTRIBUTES, given

    return module_text([narrow], given("float", 16), ATTRIBUTES)
