"""Reference compilers that follow the protocol literally, one element after another."""

from __future__ import annotations

import math

import numpy
from numpy.lib.stride_tricks import as_strided

from opdsl.runtime import bfloat16, bfloat16_values
from opdsl.runtime.geometry import geometry
from opdsl.scalar import evaluate


def _run(graph, values):
    names = [name for name, _ in graph.parameters]
    return evaluate(graph, dict(zip(names, values, strict=False)))


def _load(array, spec):
    return bfloat16_values.widen(array) if spec.dtype is bfloat16 else array


def _store(target, spec, values):
    values = numpy.broadcast_to(values, target.shape)
    target[...] = bfloat16_values.narrow(values) if spec.dtype is bfloat16 else values.astype(spec.dtype.numpy)


def reduction(folding, call):
    """Compile a reduction that folds elements in the order of the call."""

    def run(source, *rest):
        numbers, inputs = rest[: len(call.numbers)], list(rest[len(call.numbers) :])
        elements = _load(as_strided(source, call.kept + call.reduced, call.inputs[0].strides), call.inputs[0])
        count = math.prod(call.reduced)
        elements = elements.reshape((*call.kept, count))
        state = [numpy.broadcast_to(numpy.asarray(initial), call.kept) for initial in folding.init]
        for index in range(count):
            further = [index] * folding.with_index + [numbers[at] for at in folding.lifted_numbers]
            lifted = _run(folding.lift, [elements[..., index], *further])
            state = _run(folding.combine, [*state, *lifted])
        results = _run(folding.finish, [*state, count, *numbers])
        output = []
        for spec, new, values in zip(call.outputs, call.allocate, results, strict=True):
            out = inputs.pop(0) if new is None else _empty(spec, new)
            _store(as_strided(out, call.kept, spec.strides), spec, values)
            output.append(out)
        return output[0] if len(output) == 1 else tuple(output)

    return run


def _empty(spec, new):
    from opdsl.backends.cpu import memory
    from opdsl.runtime import cpu

    form = geometry(spec.dtype, cpu, new.shape, new.strides)
    return memory.empty(form.shape, form.strides, form.dtype, cpu)
