"""Pooling: where the operands of a call lie, as the words that ``pooling_text`` reads."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.pooling_text import DIMENSIONS, LANES, Dimension, Form, Words, module_ir
from opdsl.backends.cpu.storage import MEMORY, PART
from opdsl.kernels.calls import PoolSpec
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import PoolingCall

# Elements of windows that are worth a thread of their own.
_SHARE = 1 << 14

# Fewer lanes than this are gone through one by one.
_FEWEST_ACROSS = 8

# Elements from one lane to the next that there are kernels of their own for.
_STEPS = (1, 2)

_NO_DIMENSION = Dimension(PoolSpec(1, 1, 0, 1, 1, 1, 1, 0), 0, 0, 0)


@functools.cache
def _code(form: Form) -> engine.Code:
    return engine.compile_ir(str(form), lambda: module_ir(form), [form.kind], has_long_loops=bool(form.across))


def pooling(call: PoolingCall) -> Kernel | None:
    """Plan a pool, see ``Compiler.pooling``."""
    dtype = call.dtype.name
    if dtype not in MEMORY or dtype in PART or dtype == "bool":
        return None
    across, lane = _lanes(call)
    chunks = -(-call.channels // LANES) if across == "channels" else call.channels
    code = _code(Form(call.kind, dtype, across, next((step for step in _STEPS if lane == step), 0)))
    words = Words(
        channels=call.channels,
        chunks=chunks,
        divisor=call.divisor,
        x_sample=call.images[0],
        x_channel=call.images[1],
        out_sample=call.results[0],
        out_channel=call.results[1],
        place_sample=call.places[0],
        place_channel=call.places[1],
        x_lane=lane,
    )
    strides = zip(call.windows, call.images[2:], call.results[2:], call.places[2:], strict=True)
    given = [Dimension(*each) for each in strides]
    dimensions = [_NO_DIMENSION] * (DIMENSIONS - len(given)) + given
    rows = 1 if call.kind == "share" else math.prod(each.windows for each in call.windows[:-1])
    units = call.samples * chunks * rows
    looked_at = math.prod(each.windows * each.reach // (each.parts * each.dilation) + 1 for each in call.windows)
    total = call.samples * call.channels * looked_at
    work = Work(
        loop=code.address(call.kind),
        elements=units,
        grain=largest(1, _SHARE * units // total) if total > 2 * _SHARE else 0,
        details=[*words, *(word for each in dimensions for word in each.words)],
    )
    outputs = [builtin.Given()] * (2 if call.kind == "largest" else 1)
    return builtin.builtin(f"{call.kind}_cpu", work, [builtin.ARRAY], outputs, [code])


def _lanes(call: PoolingCall) -> tuple[str, int]:
    """What lanes are across, see ``Form``, and how many elements of the images lie from one to the next."""
    last, results = call.windows[-1], [call.results, *([call.places] if call.kind == "largest" else [])]
    if (
        call.images[-1] != 1
        and call.channels >= _FEWEST_ACROSS
        and all(each[1] == 1 for each in [call.images, *results])
    ):
        return "channels", 1
    if last.parts == 1 and last.windows >= _FEWEST_ACROSS and all(each[-1] == 1 for each in results):
        return "windows", last.step * call.images[-1]
    return "", 1
