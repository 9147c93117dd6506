"""Compiles a typed graph with llvmlite and runs it over arrays, for tests."""

from __future__ import annotations

import ctypes
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from opdsl.backends.cpu.printer import boundary_type, declarations, function_ir
from opdsl.scalar import TypedGraph


@cache
def target_machine():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=3, jit=True, cpu=llvm.get_host_cpu_name(), features=features)


def loop_ir(graph: TypedGraph) -> str:
    """One contiguous loop: arguments are inputs, outputs, count."""
    inputs = [boundary_type(kind) for _, kind in graph.parameters]
    outputs = [boundary_type(kind) for kind in graph.result_types]
    operands = [f"ptr noalias %a{at}" for at in range(len(inputs) + len(outputs))]
    lines = [*sorted(declarations(graph)), function_ir(graph, "f")]
    lines += [f'define void @loop({", ".join(operands)}, i64 %n) "prefer-vector-width"="512" {{', "entry:"]
    lines += ["  %some = icmp sgt i64 %n, 0", "  br i1 %some, label %body, label %end", "body:"]
    lines += ["  %i = phi i64 [0, %entry], [%next, %body]"]
    for at, kind in enumerate([*inputs, *outputs]):
        lines.append(f"  %q{at} = getelementptr {kind}, ptr %a{at}, i64 %i")
    for at, kind in enumerate(inputs):
        lines.append(f"  %x{at} = load {kind}, ptr %q{at}")
    returned = outputs[0] if len(outputs) == 1 else "{ " + ", ".join(outputs) + " }"
    given = ", ".join(f"{kind} %x{at}" for at, kind in enumerate(inputs))
    lines.append(f"  %r = call {returned} @f({given})")
    for at, kind in enumerate(outputs):
        value = "%r"
        if len(outputs) > 1:
            value = f"%r{at}"
            lines.append(f"  {value} = extractvalue {returned} %r, {at}")
        lines.append(f"  store {kind} {value}, ptr %q{at + len(inputs)}")
    lines += ["  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %n", "  br i1 %more, label %body, label %end"]
    return "\n".join([*lines, "end:", "  ret void", "}"])


def optimise(text: str):
    """A module after the pipeline that the CPU backend uses."""
    machine = target_machine()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_unrolling = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    builder.getModulePassManager().run(module, builder)
    return module


def assembly(graph: TypedGraph) -> str:
    return target_machine().emit_assembly(optimise(loop_ir(graph)))


class Compiled:
    """A compiled graph; call it with one array for each parameter."""

    def __init__(self, graph: TypedGraph) -> None:
        self.graph = graph
        self.engine = llvm.create_mcjit_compiler(optimise(loop_ir(graph)), fresh_machine())
        self.engine.finalize_object()
        count = len(graph.parameters) + len(graph.results)
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count, ctypes.c_int64)
        self.function = prototype(self.engine.get_function_address("loop"))

    def __call__(self, *operands):
        kinds = [kind.value for _, kind in self.graph.parameters]
        operands = np.broadcast_arrays(*operands)
        inputs = [np.ascontiguousarray(one, dtype=kind) for one, kind in zip(operands, kinds, strict=True)]
        outputs = [np.empty(inputs[0].shape, kind.value) for kind in self.graph.result_types]
        self.function(*(one.ctypes.data for one in [*inputs, *outputs]), inputs[0].size)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def fresh_machine():
    """MCJIT takes its machine over, so each engine needs its own."""
    features = llvm.get_host_cpu_features().flatten()
    target_machine()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=3, jit=True, cpu=llvm.get_host_cpu_name(), features=features)
