"""What a call of an operator comes to, for ``opdsl show``: its plan, LLVM IR, CUDA C++."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from opdsl.cli.benching import sample_of
from opdsl.cli.output import Section
from opdsl.dispatch import Operator, registry
from opdsl.dispatch.plans.forms import lowered_at_once
from opdsl.runtime.dumping import Dumped, collected
from opdsl.testing import ahead

_DTYPE = "float32"
# What the code is for is printed alone: any architecture gives the same text.
_ARCHITECTURE = "sm_90"


def lowered_sections(operator: Operator, *, llvm: bool, cuda: bool) -> Iterator[Section]:
    """The plan of the form of the operator's first sample, or why it has none.

    Args:
        operator: what is called.
        llvm: whether to give the LLVM IR of its kernels, too.
        cuda: whether to give their CUDA C++.
    """
    function = registry.packets[operator.packet_name].operator_function(operator)
    with collected() as found, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = sample_of(operator, None, _DTYPE)
        if sample is None:
            yield Section("lowered", f"no sample takes tensors of {_DTYPE}")
            return
        operator.packet.forget()
        with lowered_at_once():
            sample.copy().call(function)
    plans = [each for each in found if each.suffix == ".py"]
    yield Section(f"lowered: {sample}", _joined(plans) or "a call of this kind is not lowered", "python")
    if llvm:
        yield Section("LLVM IR", _joined([each for each in found if each.suffix == ".ll"]), "llvm")
    if cuda:
        ahead.dry_run_on([_ARCHITECTURE])
        with collected() as found:
            ahead.run(ahead.Task(operator.name, _DTYPE, _ARCHITECTURE), first=True)
        yield Section("CUDA C++", _joined([each for each in found if each.suffix == ".cu"][-1:]), "cuda")


def _joined(dumped: list[Dumped]) -> str:
    return "\n\n".join(each.text.strip() for each in dumped)
