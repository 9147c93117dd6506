"""Test harness that compiles a typed graph with llvmlite and runs it over arrays."""

from __future__ import annotations

import ctypes
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from opdsl.backends.cpu.printer import boundary_type, declarations, function_ir, rare_ir
from opdsl.scalar import TypedGraph


@cache
def target_machine():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=3, jit=True, cpu=llvm.get_host_cpu_name(), features=features)


def loop_ir(graph: TypedGraph) -> str:
    """Return LLVM code of ``@loop(inputs..., outputs..., count)``; for graphs with rare parts it tests blocks of 1024
    elements first.
    """
    operands = ", ".join(f"ptr %a{at}" for at in range(len(graph.parameters) + len(graph.results)))
    head = f"define void @loop({operands}, i64 %n)"
    function, variants = function_ir(graph, "f"), rare_ir(graph, "f")
    texts = [*sorted({*declarations(graph), SMALLER}), function, STRETCH]
    if variants is None:
        return "\n".join([*texts, pass_ir(graph, "f", "all"), f"{head} {{", call_ir("all", operands, "0", "%n"), END])
    passes = [pass_ir(graph, "f", "all"), pass_ir(graph, "f.fast", "fast"), rare_pass_ir(graph)]
    lines = [
        f"{head} {{", "entry:", "  %some = icmp sgt i64 %n, 0", "  br i1 %some, label %stretch, label %done",
        "stretch:", "  %begin = phi i64 [0, %entry], [%end, %next]",
        "  %end = call i64 @stretch_end(i64 %begin, i64 %n)",
        f"  %rare = call i8 @rare({operands}, i64 %begin, i64 %end)", "  %slow = icmp ne i8 %rare, 0",
        "  br i1 %slow, label %exact, label %fast", "exact:", call_ir("all", operands, "%begin", "%end"),
        "  br label %next", "fast:", call_ir("fast", operands, "%begin", "%end"), "  br label %next", "next:",
        "  %more = icmp slt i64 %end, %n", "  br i1 %more, label %stretch, label %done", "done:", END,
    ]  # fmt: skip
    return "\n".join([*texts, variants, *passes, *lines])


END = "  ret void\n}"
SMALLER = "declare i64 @llvm.smin.i64(i64, i64)"
STRETCH = """define internal i64 @stretch_end(i64 %begin, i64 %n) alwaysinline {
  %far = add i64 %begin, 1024
  %end = call i64 @llvm.smin.i64(i64 %far, i64 %n)
  ret i64 %end
}"""


def call_ir(name: str, operands: str, begin: str, end: str) -> str:
    return f"  call void @{name}({operands}, i64 {begin}, i64 {end})"


def operand_lines(graph: TypedGraph) -> list[str]:
    """Return LLVM code for the addresses of all operands at index ``%i``, and for loading the inputs."""
    inputs = [boundary_type(kind) for _, kind in graph.parameters]
    outputs = [boundary_type(kind) for kind in graph.result_types]
    lines = [f"  %q{at} = getelementptr {kind}, ptr %a{at}, i64 %i" for at, kind in enumerate([*inputs, *outputs])]
    return lines + [f"  %x{at} = load {kind}, ptr %q{at}" for at, kind in enumerate(inputs)]


def given(graph: TypedGraph) -> str:
    return ", ".join(f"{boundary_type(kind)} %x{at}" for at, (_, kind) in enumerate(graph.parameters))


def pass_ir(graph: TypedGraph, function: str, name: str) -> str:
    """Return LLVM code of a loop over ``[begin, end)`` that calls a function for each element."""
    count = len(graph.parameters)
    outputs = [boundary_type(kind) for kind in graph.result_types]
    operands = ", ".join(f"ptr noalias %a{at}" for at in range(count + len(outputs)))
    returned = outputs[0] if len(outputs) == 1 else "{ " + ", ".join(outputs) + " }"
    lines = [f'define internal void @{name}({operands}, i64 %begin, i64 %end) "prefer-vector-width"="512" {{', "entry:"]
    lines += ["  %some = icmp slt i64 %begin, %end", "  br i1 %some, label %body, label %done", "body:"]
    lines += ["  %i = phi i64 [%begin, %entry], [%next, %body]", *operand_lines(graph)]
    lines.append(f"  %r = call {returned} @{function}({given(graph)})")
    for at, kind in enumerate(outputs):
        value = "%r"
        if len(outputs) > 1:
            value = f"%r{at}"
            lines.append(f"  {value} = extractvalue {returned} %r, {at}")
        lines.append(f"  store {kind} {value}, ptr %q{at + count}")
    lines += [
        "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %end",
        "  br i1 %more, label %body, label %done",
    ]
    return "\n".join([*lines, "done:", END])


def rare_pass_ir(graph: TypedGraph) -> str:
    """Return LLVM code of a loop over ``[begin, end)`` that computes whether any element needs the rare variant."""
    operands = ", ".join(f"ptr %a{at}" for at in range(len(graph.parameters) + len(graph.results)))
    lines = [f'define internal i8 @rare({operands}, i64 %begin, i64 %end) "prefer-vector-width"="512" {{', "entry:"]
    lines += ["  br label %body", "body:", "  %i = phi i64 [%begin, %entry], [%next, %body]"]
    lines += ["  %found = phi i8 [0, %entry], [%both, %body]", *operand_lines(graph)]
    lines += [f"  %r = call i8 @f.rare({given(graph)})", "  %both = or i8 %found, %r", "  %next = add i64 %i, 1"]
    lines += ["  %more = icmp slt i64 %next, %end", "  br i1 %more, label %body, label %done"]
    return "\n".join([*lines, "done:", "  ret i8 %both", "}"])


def optimise(text: str):
    """Return the module of a text, optimized by the passes that the CPU backend uses."""
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
    """Compiled graph, callable with one array for each parameter."""

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
    """Return a new target machine, since each MCJIT engine owns its machine."""
    features = llvm.get_host_cpu_features().flatten()
    target_machine()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=3, jit=True, cpu=llvm.get_host_cpu_name(), features=features)
