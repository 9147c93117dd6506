"""Data structures of programs: inputs, steps, results, and the expressions in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from opdsl.aten import load_packet
from opdsl.aten.catalog import PACKETS
from opdsl.dispatch import Operator, registry
from opdsl.kernels.definitions.structured import Definition
from opdsl.runtime import Device, DType
from opdsl.runtime.symbol import Symbol

__all__ = [
    "WORDS",
    "Call",
    "Expression",
    "Input",
    "Result",
    "Size",
    "Step",
    "counted",
    "names_in",
    "operator_named",
    "short_name",
    "sizes_of",
    "unfused",
]

WORDS = re.compile(r"[A-Za-z_]\w*")
"""Pattern of the names in an expression."""

UPDATING = frozenset(
    (
        "aten::_batch_norm_impl_index",
        "aten::batch_norm",
        "aten::batch_norm_update_stats",
        "aten::instance_norm",
        "aten::native_batch_norm",
    )
)
"""Names of operators that write the running statistics passed to them, which PyTorch's schemas do not declare."""

RUNNING = ("running_mean", "running_var")

Size = int | str


@attrs.frozen
class Expression:
    """Operand that depends on the call: the name of a tensor or a number, or an expression of sizes.

    text: the expression in Python.
    """

    text: str


@attrs.frozen
class Input:
    """Input of a program: a tensor or a number.

    name: of the parameter.
    kind: the type of a number; None for a tensor.
    dtype, device: of a tensor.
    shape: its sizes; names for symbolic ones.
    strides: strides in elements, for a tensor whose layout is no permutation of a contiguous one; None for others.
    """

    name: str
    kind: type | None = None
    dtype: DType | None = None
    device: Device | None = None
    shape: tuple[Size, ...] = ()
    strides: tuple[Size, ...] | None = None

    def __str__(self) -> str:
        if self.kind is not None:
            return f"{self.name}: {self.kind.__name__}"
        return f"{self.name}: {short_name(self.dtype)}[{', '.join(map(str, self.shape))}]"


@attrs.frozen
class Result:
    """Named tensor that a step returns.

    name: name by which later steps read it.
    dtype, shape, device: of the tensor; sizes are expressions.
    """

    name: str
    dtype: DType
    shape: tuple[Size, ...]
    device: Device

    def __str__(self) -> str:
        return f"{self.name}: {short_name(self.dtype)}[{', '.join(map(str, self.shape))}]"


def sizes_of(shape: Sequence[Any]) -> tuple[Size, ...]:
    """Return a shape as a program stores it: integers, and expressions of symbolic sizes."""
    return tuple([size.text if type(size) is Symbol else size for size in shape])


class Call(NamedTuple):
    """Prepared call of a step whose kernel consists of scalar functions, used by fusion.

    definition: definition of the operator, or of an equivalent one.
    arguments: its arguments in the order of the schema, as in the trace.
    operands: the same arguments as expressions of the program.
    state: the definition's prepared state, see ``PreparedCall``.
    """

    definition: Definition
    arguments: tuple[Any, ...]
    operands: tuple[Any, ...]
    state: Any


@attrs.frozen
class Step:
    """Call of an operator in a program.

    operator: the called operator.
    operands, options: the positional and the keyword arguments: expressions, constants, and tuples of these.
    results: results in order; None for one that is no tensor, or that is an argument which the operator writes.
    is_list: whether the operator returns its results as a list.
    parts: the steps that were fused into this one.
    call: its prepared call, if it may be of use for fusion.
    reads: the names in its operands.
    """

    operator: Operator
    operands: tuple[Any, ...]
    options: Mapping[str, Any]
    results: tuple[Result | None, ...]
    is_list: bool = False
    parts: tuple[Step, ...] = ()
    call: Call | None = attrs.field(default=None, eq=False, repr=False)
    reads: frozenset[str] = attrs.field(init=False, eq=False, repr=False)

    @reads.default
    def _names_read(self) -> frozenset[str]:
        return names_in((self.operands, tuple(self.options.values())))

    @property
    def name(self) -> str:
        """Return the operator's qualified name."""
        return self.operator.name

    @property
    def result_names(self) -> frozenset[str]:
        """Return the names of the step's results."""
        return frozenset(result.name for result in self.results if result is not None)

    @property
    def written(self) -> frozenset[str]:
        """Return the names of the operands that the step writes in place."""
        arguments = dict(
            zip((argument.python_name for argument in self.operator.schema.positional), self.operands, strict=False)
        )
        arguments |= self.options
        written = [argument.python_name for argument in self.operator.schema.written_arguments]
        written += RUNNING if self.operator.name in UPDATING else ()
        return names_in(tuple(arguments.get(text) for text in written))

    @property
    def writes(self) -> bool:
        """Return whether the step writes an argument in place."""
        return self.operator.schema.is_mutable or bool(self.written)

    @property
    def is_random(self) -> bool:
        """Return whether the step draws random numbers."""
        return "nondeterministic_seeded" in self.operator.tags

    @property
    def is_view(self) -> bool:
        """Return whether the step's results may share memory with its operands."""
        return self.operator.schema.is_view or self.operator.may_alias


def unfused(steps: Iterable[Step]) -> list[tuple[Step, ...]]:
    """Return, for each step, the steps that were fused into it; an unfused step is its own only part.

    A step that only reshapes the result of a fused step has no parts, since a part already returns that result in its
    final shape. A part of several fused steps is only listed for the first.
    """
    bound: set[str] = set()
    step_parts = []
    for step in steps:
        is_given = bool(step.result_names) and step.result_names <= bound
        parts = () if is_given else step.parts or (step,)
        parts = tuple([part for part in parts if not part.result_names or not part.result_names <= bound])
        bound = bound.union(*(part.result_names for part in parts))
        step_parts.append(parts)
    return step_parts


def operator_named(name: str) -> Operator:
    """Return the operator of a qualified name, importing the library module that may declare it.

    Raises:
        UnknownOperatorError: there is no such operator.
    """
    namespace, _, base = name.partition(".")[0].partition("::")
    if namespace in ("aten", "opdsl") and (base in PACKETS or name not in registry.operators):
        load_packet(base)
    return registry.operator(name)


def names_in(value: Any) -> frozenset[str]:
    """Return the names in the expressions of an operand."""
    if isinstance(value, Expression):
        return frozenset(WORDS.findall(value.text))
    if isinstance(value, (tuple, list)):
        return frozenset().union(*map(names_in, value))
    if isinstance(value, dict):
        return frozenset().union(*map(names_in, value.values()))
    return frozenset()


def short_name(dtype: DType | None) -> str:
    """Return the name of a dtype without the prefix ``opdsl.``."""
    return str(dtype).removeprefix("opdsl.")


def counted(number: int, word: str) -> str:
    """Format a count with its noun, in the plural if needed."""
    return f"{number} {word}{'s' * (number != 1)}"
