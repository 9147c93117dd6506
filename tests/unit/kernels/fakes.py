"""Reference compilers that follow the protocol literally, one element after another."""

from __future__ import annotations

import math

import numpy
from numpy.lib.stride_tricks import as_strided

from opdsl.kernels.kernel import Count, Index, Number, Part, Read
from opdsl.kernels.loops.making import part_of
from opdsl.runtime.geometry import geometry
from opdsl.scalar import evaluate
from opdsl.scalar.narrow_values import narrow, widen


def _run(graph, values):
    names = [name for name, _ in graph.parameters]
    return evaluate(graph, dict(zip(names, values, strict=False)))


def _load(array, spec):
    return widen(array, spec.dtype.name) if spec.dtype.is_encoded else array


def _store(target, spec, values):
    values = numpy.broadcast_to(values, target.shape)
    dtype = spec.dtype
    target[...] = narrow(values, dtype.name) if dtype.is_encoded else values.astype(dtype.numpy)


def compiling(kernel, layout):
    """Compile a kernel with one fold so that it folds elements in the order of the layout."""
    (kept, reduced), (fold,) = layout.sizes, kernel.loops
    count = math.prod(reduced)
    specs = dict(zip((operand.name for operand in kernel.operands), (*layout.inputs, *layout.outputs), strict=True))

    def run(*arguments):
        values = dict(zip(specs, arguments, strict=False))
        inputs = list(arguments[len(layout.inputs) :])

        def source(at, known):
            match kernel.sources[at]:
                case Read(operand):
                    elements = as_strided(values[operand], kept + reduced, specs[operand].strides)
                    return _load(elements, specs[operand]).reshape((*kept, count))[..., known["index"]]
                case Number(operand):
                    return values[operand]
                case Part(_, index):
                    return known["state"][index]
                case Index():
                    return known["index"]
                case Count():
                    return count

        def computed(results, **known):
            graph, used = part_of(kernel.graph, tuple(kernel.graph.results[at] for at in results))
            return _run(graph, [source(at, known) for at in used])

        state = [numpy.broadcast_to(numpy.asarray(initial), kept) for initial in fold.init]
        for index in range(count):
            state = _run(fold.combine, [*state, *computed(fold.values, index=index)])
        results = computed([write.value for write in kernel.writes], state=state)
        arrays = []
        for write, new, values in zip(kernel.writes, layout.allocate, results, strict=True):
            out = inputs.pop(0) if new is None else _empty(specs[write.operand], new)
            _store(as_strided(out, kept, specs[write.operand].strides), specs[write.operand], values)
            arrays.append(out)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    return run


def _empty(spec, new):
    from opdsl.backends.cpu import memory
    from opdsl.runtime import cpu

    form = geometry(spec.dtype, cpu, new.shape, new.strides)
    return memory.empty(form.shape, form.strides, form.dtype, cpu)
