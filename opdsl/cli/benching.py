"""``opdsl bench``: what calls of operators cost, alone and beside torch's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from opdsl.cli.compiling import dtype_named
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

_STYLES = ("bold", "", "green", "cyan", "")
_ROUNDS = 15


@click.command("bench", short_help="Time calls of operators.")
@click.argument("pattern", default="")
@click.option("--size", type=click.IntRange(min=1), help="Elements of each tensor; for pointwise operators.")
@click.option("--dtype", default="float32", metavar="NAME", help="Of the tensors.", show_default=True)
@click.option("--beside", type=click.Choice(["torch"]), help="Time torch's operator of the same name in turns.")
@module_option
def bench(pattern: str, size: int | None, dtype: str, beside: str | None, modules: tuple[str, ...]) -> None:
    """Time calls of operators on the CPU: medians, of functional operators whose names match PATTERN.

    Each is called with its first sample of tensors (`opdsl.testing.samples_of`), again and again, so that what is
    timed is its plan. With --beside torch both sides run in turns, and the ratio is ours to theirs.
    """
    wanted = load(modules)
    found = [each for each in registry if namespace_of(each) in wanted and matches(each.name, pattern)]
    found = [each for each in found if not each.schema.is_mutable]
    if not found:
        raise UnknownOperatorError(f"no functional operator of {', '.join(wanted)} matches {pattern!r}.")
    header = ("operator", "arguments", "call", *(("torch", "ratio") if beside else ()))
    rows = [row for each in found for row in timed(each, size, dtype, beside is not None)]
    if not rows:
        where = "" if beside is None else f" and is in {beside}"
        raise OptionError(
            f"none of {len(found)} operators that match {pattern!r} takes tensors of {dtype}"
            f"{'' if size is None else f' and size {size}'}{where}. Leave out --size, or give another --dtype."
        )
    print_rows(rows, header=header, styles=_STYLES[: len(header)])


def timed(operator: Operator, size: int | None, dtype: str, beside: bool) -> Iterable[Row]:
    """The line of an operator; none where no sample can be called, or torch has no such operator."""
    from opdsl.testing.peer import peer_of
    from opdsl.testing.timing import Case, compare, median_time, shown

    sample = sample_of(operator, size, dtype)
    if sample is None:
        return
    names: dict[str, Any] = {"ours": _function(operator), "given": sample.given, "named": sample.named}
    statement = "{}(*{}given, **{}named)"
    ours = statement.format("ours", "", "")
    if not beside:
        yield operator.name, repr(sample), shown(median_time(ours, names, rounds=_ROUNDS))
        return
    peer = peer_of(operator, sample)
    if peer is not None:
        names |= {"theirs": peer.function, "their_given": peer.given, "their_named": peer.named}
        case = Case(operator.name, ours, statement.format("theirs", "their_", "their_"))
        (found,) = compare([case], names, rounds=_ROUNDS)
        yield operator.name, repr(sample), shown(found.ours), shown(found.theirs), f"{found.ratio:.2f}"


def sample_of(operator: Operator, size: int | None, dtype: str) -> Sample | None:
    """The first sample with elements that the operator takes; of another size, all its tensors are vectors."""
    from opdsl.testing.making import Maker
    from opdsl.testing.sample import Sample
    from opdsl.testing.samples import REFUSALS, samples_of

    kind = dtype_named(dtype)
    make = Maker(kind)
    function = _function(operator)
    for sample in samples_of(operator, kind):
        if not any(each.numel() for each in sample.tensors()):
            continue
        if size is not None:
            if not is_pointwise(operator):
                return None
            given = [make(size) if isinstance(each, Tensor) else each for each in sample.given]
            sample = Sample(*given, **sample.named)
        try:
            sample.call(function)
        except REFUSALS:
            continue
        return sample
    return None


def is_pointwise(operator: Operator) -> bool:
    """Whether the operator's kernel on the CPU is made of a scalar function."""
    kernels = (kernel for kernel, *_ in operator.registrations.values())
    return any(isinstance(each, Kernel) and each.kind == "pointwise" for each in kernels)


def _function(operator: Operator) -> Any:
    return registry.packets[operator.packet_name].operator_function(operator)
