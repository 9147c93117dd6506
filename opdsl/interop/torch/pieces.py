"""Subgraphs of torch's graphs that opdsl runs: optimized programs with plans on the memory of torch tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch._C._dynamo.guards import assert_size_stride
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

from opdsl.dispatch import State
from opdsl.dispatch.binding.arguments import Kind
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.lowered import Given, lower_form
from opdsl.dispatch.plans.plan_holders import Dependencies, publish
from opdsl.errors import OpdslError
from opdsl.interop.torch.crossing import Crossing
from opdsl.interop.torch.lowered import MemoryPrinter, MemoryReader
from opdsl.interop.torch.reading import GraphReader
from opdsl.interop.torch.states import state_of_call
from opdsl.interop.torch.tensors import geometry_of, over
from opdsl.programs.compiled import optimised
from opdsl.programs.leaves import LEAF, Leaves
from opdsl.programs.program import Program
from opdsl.programs.steps import Step
from opdsl.programs.tracing import traced
from opdsl.runtime import Tensor
from opdsl.runtime.lowering import SymbolicArray
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.storage import storage_root
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["NotRunHereError", "Piece"]

# Maximum number of kernels that one piece may run.
_MOST_STEPS = 20_000
# Maximum number of programs, each with its own guards on sizes; torch runs calls that match none.
_MOST_PROGRAMS = 8


class NotRunHereError(Exception):
    """Raised when a subgraph cannot be lowered.

    names: of the results of the steps that cannot be lowered; empty if they are unknown.
    """

    def __init__(self, reason: str, names: frozenset[str] = frozenset()) -> None:
        super().__init__(reason)
        self.names = names


class _LiesOtherwiseError(NotLoweredError):
    """Raised when results have other strides than torch expects, which plans views of them.

    names: of the nodes that return them.
    """

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__("its results lie otherwise than torch's")
        self.names = names


class _Printer(MemoryPrinter):
    """Emitter of plans whose tensors are torch tensors; results may be arguments, and views of arguments."""

    def _tensor(self, tensor: Tensor) -> str:
        known = self.texts.get(id(tensor)) or self.tensor_names.get(id(tensor))
        if known is not None:
            return known
        root = self.recorder.arguments.get(storage_root(tensor))
        if root is None or type(getattr(tensor, "array", None)) is not SymbolicArray:
            return super()._tensor(tensor)
        entry = next((pair for pair in self.tensors if self.recorder.arguments.get(pair[0]) == root), None)
        if entry is None or entry[0].geometry.dtype is not tensor.geometry.dtype:
            raise NotLoweredError("a result that shares an argument's memory, as another dtype")
        variable = self.tensor_names[id(tensor)] = self.recorder.name("tensor")
        form, text = tensor.geometry, entry[1]
        offset = self.recorder.source(tensor.storage_offset())
        self._add(
            f"{variable} = {text}.as_strided({self._sizes(form.shape)}, {self._sizes(form.strides)}, "
            f"{text}.storage_offset() + {offset})"
        )
        return variable


class _Reader(MemoryReader):
    """Reader of arguments that emits guards on the sizes and strides that the plan was made for: numbers, or
    symbols.
    """

    def _stand_in(self, source: torch.Tensor, text: str) -> Tensor:
        known = len(self.symbols)
        stand_in = super()._stand_in(source, text)
        form = stand_in.geometry
        sizes = ", ".join(
            f"({''.join(f'{self.recorder.source(size)}, ' for size in numbers)})"
            for numbers in (form.shape, form.strides)
        )
        # A symbolic size is at least 2; sizes 0 and 1 are constants of the plan.
        self.checks += [f"{symbol.text} < 2" for symbol in list(self.symbols.values())[known:]]
        self.lines.append(f"{self.recorder.constant(assert_size_stride)}({text}, {sizes})")
        return stand_in


class _Plans:
    """Plans of one optimized program, keyed by the dispatch state.

    Args:
        program: the program.
        constants: tensors that the program reads in addition to its arguments.
        wanted: for each result the node that returns it.
    """

    def __init__(self, program: Program, constants: Sequence[torch.Tensor], wanted: Sequence[torch.fx.Node]) -> None:
        self.generation = 0
        self.program = program
        self.constants = tuple(constants)
        self.wanted = wanted
        self.plans: dict[State, list[Plan]] = {}
        # The nodes' metadata is valid for the sizes that the graph was traced with only.
        self.is_first = True

    def forget(self) -> None:
        """Drop all plans, after a kernel has changed."""
        self.generation += 1
        self.plans.clear()

    def run(self, state: State, values: Sequence[Any]) -> Any:
        """Run a call by a plan; return ``GUARD_FAILED`` if none matches."""
        for plan in self.plans.get(state, ()):
            try:
                result = plan(*values, *self.constants)
            except (AssertionError, OverflowError):  # strides differ, or numbers are out of range
                continue
            if result is not GUARD_FAILED:
                return result
        return GUARD_FAILED

    def lower_for(self, state: State, values: Sequence[Any], *, is_exact: bool) -> None:
        """Make a plan for calls like the given one.

        Args:
            state: of the call.
            values: its arguments.
            is_exact: whether all calls have exactly these geometries.

        Raises:
            NotLoweredError: the program cannot be lowered for such calls.
        """
        # Lowering for exact geometries fails where elements decide the computation: torch runs such calls.
        lowered = [self._made(values, is_exact=True)]
        if not is_exact:
            lowered.append(self._made(values, is_exact=False))
        self.is_first = False
        plans = self.plans.setdefault(state, [])
        for plan, made_of in lowered:
            publish(self, made_of, partial(plans.append, plan))

    def _made(self, values: Sequence[Any], *, is_exact: bool) -> tuple[Plan, Dependencies]:
        arguments = (*values, *self.constants)
        names = [f"argument{index}" for index in range(len(arguments))]

        def run(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
            results = _served(self.program.function(*positional))
            if is_exact and self.is_first:
                self._hold(results)
            return results

        kinds = [Kind.TENSOR if isinstance(argument, torch.Tensor) else Kind.NUMBER for argument in arguments]
        handed = [Given(name, None, value, {kind}) for name, value, kind in zip(names, arguments, kinds, strict=True)]
        return lower_form(
            self.program.name,
            run,
            None,
            names,
            handed,
            reader=_Reader,
            printer=_Printer,
            most_steps=_MOST_STEPS,
            is_exact=is_exact,
        )

    def _hold(self, results: Sequence[Any]) -> None:
        """Check the strides of results against the nodes' metadata, whose sizes are numbers or symbols with example
        values.

        Raises:
            _LiesOtherwiseError: strides differ.
        """
        wrong = []
        for node, result in zip(self.wanted, results, strict=True):
            form = result.geometry
            strides = zip(form.shape, form.strides, _example(node.meta["val"].stride()), strict=True)
            if form.numel and any(size != 1 and one != other for size, one, other in strides):
                wrong.append(node.name)
        if wrong:
            raise _LiesOtherwiseError(frozenset(wrong))


def _served(result: Any) -> Any:
    if result is GUARD_FAILED:
        raise NotLoweredError("a guard does not hold")
    return result


def reshape_views(nodes: Iterable[torch.fx.Node]) -> None:
    """Replace ``view`` by ``reshape``, so that torch copies where it cannot create a view.

    Results may have other strides than their fakes: torch's batch norm of transposed tensors is contiguous, but its
    fake is not.

    Args:
        nodes: nodes that torch runs, of a functional graph.
    """
    for node in nodes:
        if node.target is torch.ops.aten.view.default:
            node.target = torch.ops.aten.reshape.default


class Piece(torch.nn.Module):
    """Module for a subgraph that runs it by opdsl's plans, and otherwise by the graph module of its nodes.

    Args:
        module: the subgraph, whose nodes have metadata of their results.

    Raises:
        NotRunHereError: the subgraph cannot be lowered.
    """

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__()
        self.inner = module
        self.reader = GraphReader(module.graph.nodes, module)
        self.source = self.reader.program(str(module._get_name()))  # type: ignore[no-untyped-call]
        reshape_views(module.graph.nodes)
        module.recompile()
        self.wanted: Any = module.graph.output_node().args[0]
        self.running: list[_Plans] = []
        values = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
        self.is_exact = all(map(_is_fixed, values))
        try:
            with FakeTensorMode():
                examples = [_example(value) for value in values]
            with _disable_current_modes():  # kernels are not compiled for fake tensors
                self._add(state_of_call(), examples)
        except (NotLoweredError, OpdslError) as error:
            names = error.names if isinstance(error, _LiesOtherwiseError) else self._blamed(error)
            raise NotRunHereError(str(error), names) from error

    @property
    def programs(self) -> tuple[Program, ...]:
        """Return the programs that run, one for each set of guards."""
        return tuple(plans.program for plans in self.running)

    def forward(self, *values: Any) -> Any:
        """Run the subgraph by a plan; torch runs calls that no program can run."""
        state = state_of_call()
        for plans in self.running:
            result = plans.run(state, values)
            if result is not GUARD_FAILED:
                return result
        result = self._lowered_now(state, values)
        return self.inner(*values) if result is GUARD_FAILED else result

    def _lowered_now(self, state: State, values: Sequence[Any]) -> Any:
        """Lower a call that no plan matches, and run it; return ``GUARD_FAILED`` if it cannot be lowered."""
        try:
            dropped = next((plans for plans in self.running if state not in plans.plans), None)
            if dropped is not None:
                dropped.lower_for(state, values, is_exact=self.is_exact)
                result = dropped.run(state, values)
                if result is not GUARD_FAILED:
                    return result
            return self._add(state, values).run(state, values) if len(self.running) < _MOST_PROGRAMS else GUARD_FAILED
        except (NotLoweredError, OpdslError):
            return GUARD_FAILED

    def _add(self, state: State, values: Sequence[Any]) -> _Plans:
        """Trace and optimize a program for calls like the given one, and make a plan for it."""
        source = self.source

        def function(*arguments: Any) -> Any:
            return _served(source.function(*arguments, *source.constants.values()))

        stand_ins = tuple(
            over(None, geometry_of(value)) if isinstance(value, torch.Tensor) else value for value in values
        )
        names = tuple(input.name for input in source.inputs)
        program = optimised(traced(function, Leaves(names, stand_ins, ((LEAF,) * len(stand_ins), {}))))
        constants = [Crossing().tensor(constant) for constant in program.constants.values()]
        plans = _Plans(program.replace(name=source.name), constants, self.wanted)
        plans.is_first = not self.running
        self.running.append(plans)
        plans.lower_for(state, values, is_exact=self.is_exact)
        return plans

    def _blamed(self, error: BaseException) -> frozenset[str]:
        """Return the nodes whose step caused an error of lowering, found by the line in the traceback."""
        programs = [self.source, *self.programs]
        codes = {program.function.__code__: program for program in programs}
        base_exception: BaseException | None = error
        while base_exception is not None:
            trace = base_exception.__traceback__
            while trace is not None:
                program = codes.get(trace.tb_frame.f_code)
                if program is not None:
                    step = _step_of(program, trace.tb_lineno)
                    parts = () if step is None else step.parts or (step,)
                    names = [result.name for part in parts for result in part.results if result is not None]
                    return frozenset(self.reader.node_names[name] for name in names if name in self.reader.node_names)
                trace = trace.tb_next
            base_exception = base_exception.__cause__ or base_exception.__context__
        return frozenset()


def _step_of(program: Program, line: int) -> Step | None:
    """Return the step on a line of a program's function: steps are the last lines before the result, one per line."""
    code = program.function.__code__
    last = max(number for *_, number in code.co_lines() if number is not None)
    index = line - (last - len(program.steps))
    return program.steps[index] if 0 <= index < len(program.steps) else None


def _is_fixed(value: Any) -> bool:
    """Return whether a value is a tensor whose geometry has no symbolic sizes."""
    if isinstance(value, torch.Tensor):
        return all(type(size) is int for size in (*value.shape, *value.stride()))
    return False


def _example(value: Any) -> Any:
    """Return an example of an argument, with torch's hints in place of symbolic sizes."""
    if isinstance(value, torch.Tensor):
        shape, strides = _example(tuple(value.shape)), _example(value.stride())
        return torch.empty_strided(shape, strides, dtype=value.dtype, device="cpu")
    if isinstance(value, tuple):
        return tuple(map(_example, value))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        if value.node.hint is None:
            raise NotLoweredError("elements decide sizes")
        return value.node.hint
    return value
