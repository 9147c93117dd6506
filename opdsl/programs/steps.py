"""What programs are made of: inputs, steps, and the expressions in them."""

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
"""The names in an expression."""

UPDATING = frozenset(
    (
        "aten::_batch_norm_impl_index",
        "aten::batch_norm",
        "aten::batch_norm_update_stats",
        "aten::instance_norm",
        "aten::native_batch_norm",
    )
)
"""Operators that write the running statistics that they are given, which PyTorch's schemas do not say."""

RUNNING = ("running_mean", "running_var")

Size = int | str


@attrs.frozen
class Expression:
    """An operand that a call decides: the name of a tensor or a number, or what is computed of sizes.

    text: in Python.
    """

    text: str


@attrs.frozen
class Input:
    """An argument of a program.

    name: of the parameter.
    kind: the type of a number; None for a tensor.
    dtype, device: of a tensor.
    shape: its sizes; names for those that may differ from call to call.
    strides: in elements, of a tensor whose layout no order of dimensions tells; None for others.
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
    """What a step gives: a tensor.

    name: by which later steps read it.
    dtype, shape, device: of it; sizes are expressions.
    """

    name: str
    dtype: DType
    shape: tuple[Size, ...]
    device: Device

    def __str__(self) -> str:
        return f"{self.name}: {short_name(self.dtype)}[{', '.join(map(str, self.shape))}]"


def sizes_of(shape: Sequence[Any]) -> tuple[Size, ...]:
    """Sizes as a program has them: numbers, and expressions of those that calls decide."""
    return tuple([size.text if type(size) is Symbol else size for size in shape])


class Call(NamedTuple):
    """What a step comes to whose kernel is made of scalar functions.

    definition: of the operator, or of another one that gives the same.
    arguments: of that call, in the order of its schema, as they were when it was traced.
    operands: the same as a program has them.
    state: what the definition has made of them: see ``PreparedCall``.
    """

    definition: Definition
    arguments: tuple[Any, ...]
    operands: tuple[Any, ...]
    state: Any


@attrs.frozen
class Step:
    """A call of an operator.

    operator: which is called.
    operands, options: the positional and the keyword arguments: expressions, constants, and tuples of these.
    results: in order; one that is None is no tensor. None instead of the tuple where the operator returns none of its
        own, as one that writes its argument does.
    parts: the steps that a fused one stands for.
    call: what it comes to, where that is known and may be of use for fusion.
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
        """The operator's qualified name."""
        return self.operator.name

    @property
    def result_names(self) -> frozenset[str]:
        """The names of its results."""
        return frozenset(result.name for result in self.results if result is not None)

    @property
    def written(self) -> frozenset[str]:
        """The names in operands that it writes."""
        arguments = dict(
            zip((argument.python_name for argument in self.operator.schema.positional), self.operands, strict=False)
        )
        arguments |= self.options
        written = [argument.python_name for argument in self.operator.schema.written_arguments]
        written += RUNNING if self.operator.name in UPDATING else ()
        return names_in(tuple(arguments.get(text) for text in written))

    @property
    def writes(self) -> bool:
        """Whether it writes an argument."""
        return self.operator.schema.is_mutable or bool(self.written)

    @property
    def is_random(self) -> bool:
        """Whether it draws random numbers."""
        return "nondeterministic_seeded" in self.operator.tags

    @property
    def is_view(self) -> bool:
        """Whether its results may share memory with its operands."""
        return self.operator.schema.is_view or self.operator.may_alias


def unfused(steps: Iterable[Step]) -> list[tuple[Step, ...]]:
    """The parts of each step, which one that is not fused is itself.

    What gives a result of a fused step another shape has none: a part has given that result as it should be. A part of
    several fused steps is one of the first alone.
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
    """The operator of a qualified name; the library is loaded where it may have it.

    Raises:
        UnknownOperatorError: there is none.
    """
    namespace, _, base = name.partition(".")[0].partition("::")
    if namespace == "aten" and (base in PACKETS or name not in registry.operators):
        load_packet(base)
    return registry.operator(name)


def names_in(value: Any) -> frozenset[str]:
    """The names in the expressions of an operand."""
    if isinstance(value, Expression):
        return frozenset(WORDS.findall(value.text))
    if isinstance(value, (tuple, list)):
        return frozenset().union(*map(names_in, value))
    if isinstance(value, dict):
        return frozenset().union(*map(names_in, value.values()))
    return frozenset()


def short_name(dtype: DType | None) -> str:
    """The name of a dtype without that of the package."""
    return str(dtype).removeprefix("opdsl.")


def counted(number: int, word: str) -> str:
    """So many of something."""
    return f"{number} {word}{'s' * (number != 1)}"
