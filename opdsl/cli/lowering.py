"""Command options of ``opdsl show`` that print lowered code: the plan, loop programs, LLVM IR, CUDA C++ of a call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from opdsl.cli.benching import function_of, samples_for
from opdsl.cli.output import Section
from opdsl.dispatch import Operator
from opdsl.dispatch.plans.policy import lowered_at_once
from opdsl.runtime.dumping import Dumped, collected
from opdsl.testing import ahead
from opdsl.testing.sample import Sample
from opdsl.testing.samples import REFUSALS

_DTYPE = "float32"
# Any architecture gives the same source.
_ARCHITECTURE = "sm_90"

# View -> title, suffix of the dumped code, language to highlight, text if there is no code.
_VIEWS = {
    "lowered": ("plan", ".py", "python", "# A call of this kind is not lowered."),
    "loops": ("loops", ".loops", "text", "# No kernel of this call is made from a loop program."),
    "llvm": ("LLVM IR", ".ll", "llvm", "; This call compiles no kernel."),
    "cuda": ("CUDA C++", ".cu", "cuda", "// This call compiles no CUDA kernel."),
}


def view_sections(operator: Operator, views: Sequence[str]) -> list[Section]:
    """Return one section for each view of a call with the first sample that the operator accepts.

    Args:
        operator: the operator to call.
        views: names among ``lowered``, ``loops``, ``llvm`` and ``cuda``.
    """
    sample, dumped = _call_dumped(operator)
    sections = []
    for view in views:
        title, suffix, language, nothing = _VIEWS[view]
        texts = _cuda_dumped(operator) if view == "cuda" else [item for item in dumped if item.suffix == suffix]
        content = "\n\n".join(item.text.strip() for item in texts) or nothing
        if sample is None:
            content = f"no sample takes tensors of {_DTYPE}"
        sections.append(Section(title if sample is None else f"{title}: {sample}", content, language, key=view))
    return sections


def _call_dumped(operator: Operator) -> tuple[Sample | None, list[Dumped]]:
    """Call the first sample that the operator accepts without cached plans; return the sample and the generated
    code.
    """
    function = function_of(operator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples_for(operator, None, _DTYPE):
            with collected() as dumped:
                operator.packet.forget()
                try:
                    with lowered_at_once():
                        sample.copy().call(function)
                except REFUSALS:
                    continue
            return sample, dumped
    return None, []


def _cuda_dumped(operator: Operator) -> list[Dumped]:
    """Compile the first sample's kernels for CUDA; return the source of the last one."""
    ahead.dry_run_on([_ARCHITECTURE])
    with collected() as dumped:
        ahead.run(ahead.Task(operator.name, _DTYPE, _ARCHITECTURE), first=True)
    return [item for item in dumped if item.suffix == ".cu"][-1:]
