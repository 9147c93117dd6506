"""Command ``opdsl bench``: times calls of operators, alone and compared with torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from opdsl.cli.compiling import dtype_named
from opdsl.cli.completing import complete_operators
from opdsl.cli.json_output import json_option, print_json
from opdsl.cli.listing import matches
from opdsl.cli.modules import module_option
from opdsl.cli.operators import load, namespace_of
from opdsl.cli.output import Row, print_rows
from opdsl.dispatch import Operator, registry
from opdsl.dispatch.model.kernel import Kernel
from opdsl.errors import OptionError, UnknownOperatorError
from opdsl.runtime import Tensor

if TYPE_CHECKING:
    from opdsl.testing.sample import Sample
    from opdsl.testing.timing import Times

_STYLES = ("bold", "", "green", "green", "cyan", "")
_ROUNDS = 15

# Limit of the relative interquartile range, above which a ratio of times is unreliable.
_NOISY = 0.15


@click.command("bench", short_help="Time calls of operators.")
@click.argument("pattern", default="", shell_complete=complete_operators)
@click.option("--size", type=click.IntRange(min=1), help="Elements of each tensor, for pointwise operators.")
@click.option("--dtype", default="float32", metavar="NAME", help="The dtype of the tensors.", show_default=True)
@click.option("--beside", type=click.Choice(["torch"]), help="Also time torch's operator of the same name.")
@module_option
@json_option
def bench(
    pattern: str, size: int | None, dtype: str, beside: str | None, modules: tuple[str, ...], as_json: bool
) -> None:
    """Time calls of functional operators on the CPU whose names match PATTERN, and print medians.

    Each is called repeatedly with its first sample that has elements (`opdsl.testing.samples_of`), so that its plan is
    timed. With --beside torch, both sides run alternately, and the ratio is our column divided by torch's.

    The spread is the interquartile range of a call's timings, relative to their median. A line whose spread is above
    15 % is marked as noisy: time it again while the machine is idle.
    """
    wanted = load(modules)
    operators = [
        operator for operator in registry if namespace_of(operator) in wanted and matches(operator.name, pattern)
    ]
    operators = [operator for operator in operators if not operator.schema.is_mutable]
    if not operators:
        raise UnknownOperatorError(f"no functional operator of {', '.join(wanted)} matches {pattern!r}.")
    timings = [timing for operator in operators for timing in timed(operator, size, dtype, beside is not None)]
    if not timings:
        where = "" if beside is None else f" and is in {beside}"
        raise OptionError(
            f"none of {len(operators)} operators that match {pattern!r} takes tensors of {dtype}"
            f"{'' if size is None else f' and size {size}'}{where}. Leave out --size, or give another --dtype."
        )
    if as_json:
        print_json("bench", {"timings": [timing.as_json() for timing in timings]})
    else:
        header = ("operator", "arguments", "call", *(("torch", "ratio") if beside else ()), "spread")
        styles = (*_STYLES[: len(header) - 1], "")
        print_rows([timing.row() for timing in timings], header=header, styles=styles, is_headed=True)
    noisy = sum(timing.is_noisy for timing in timings)
    if noisy:
        click.echo(f"noisy: {noisy} of {len(timings)} lines; time them again on a quiet machine", err=True)


class Timing(NamedTuple):
    """Times of an operator's calls, and of torch's if both were timed."""

    operator: str
    arguments: str
    ours: Times
    theirs: Times | None

    @property
    def ratio(self) -> float | None:
        """Return our median time divided by torch's, or None."""
        return None if self.theirs is None else self.ours.median / self.theirs.median

    @property
    def spread(self) -> float:
        """Return the larger relative spread of both sides."""
        return max(times.spread for times in (self.ours, self.theirs) if times is not None)

    @property
    def is_noisy(self) -> bool:
        """Return whether the spread is too large for the times to be reliable."""
        return self.spread > _NOISY

    def row(self) -> Row:
        """Return the cells of the timing's table row."""
        from opdsl.testing.timing import shown

        beside = () if self.theirs is None else (shown(self.theirs.median), f"{self.ratio:.2f}")
        spread = f"{self.spread:.0%}{' noisy' if self.is_noisy else ''}"
        return self.operator, self.arguments, shown(self.ours.median), *beside, spread

    def as_json(self) -> dict[str, object]:
        """Return the timing as a JSON object; times are in seconds."""
        beside = {} if self.theirs is None else {"torch": self.theirs.median, "ratio": self.ratio}
        facts = {"operator": self.operator, "arguments": self.arguments, "call": self.ours.median}
        return facts | beside | {"spread": self.spread, "is_noisy": self.is_noisy}


def timed(operator: Operator, size: int | None, dtype: str, beside: bool) -> Iterable[Timing]:
    """Time an operator; yield nothing if no sample can be called, or torch has no such operator."""
    from opdsl.testing.peer import peer_of
    from opdsl.testing.timing import times_in_turns

    sample = sample_of(operator, size, dtype)
    if sample is None:
        return
    names: dict[str, Any] = {"ours": function_of(operator), "positional": sample.positional, "named": sample.named}
    statements = ["ours(*positional, **named)"]
    if beside:
        peer = peer_of(operator, sample)
        if peer is None:
            return
        names |= {"theirs": peer.function, "their_positional": peer.positional, "their_named": peer.named}
        statements.append("theirs(*their_positional, **their_named)")
    ours, *theirs = times_in_turns(statements, names, rounds=_ROUNDS)
    yield Timing(operator.name, repr(sample), ours, theirs[0] if theirs else None)


def sample_of(operator: Operator, size: int | None, dtype: str) -> Sample | None:
    """Return the first sample with elements that the operator accepts."""
    from opdsl.testing.samples import REFUSALS

    function = function_of(operator)
    for sample in samples_for(operator, size, dtype):
        try:
            sample.call(function)
        except REFUSALS:
            continue
        return sample
    return None


def samples_for(operator: Operator, size: int | None, dtype: str) -> Iterator[Sample]:
    """Yield the samples that have elements. If a size is given, their tensors are replaced by vectors of this size."""
    from opdsl.testing.making import Maker
    from opdsl.testing.sample import Sample
    from opdsl.testing.samples import samples_of

    kind = dtype_named(dtype)
    make = Maker(kind)
    for sample in samples_of(operator, kind):
        if not any(tensor.numel() for tensor in sample.tensors()):
            continue
        if size is None:
            yield sample
        elif is_pointwise(operator):
            values = [make(size) if isinstance(value, Tensor) else value for value in sample.positional]
            yield Sample(*values, **sample.named)


def is_pointwise(operator: Operator) -> bool:
    """Return whether the operator's CPU kernel applies a scalar function to each element."""
    kernels = (kernel for kernel, *_ in operator.registrations.values())
    return any(isinstance(kernel, Kernel) and kernel.kind == "pointwise" for kernel in kernels)


def function_of(operator: Operator) -> Any:
    """Return the function that calls an operator."""
    return registry.packets[operator.packet_name].operator_function(operator)
