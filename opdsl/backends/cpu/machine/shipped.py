"""Entry of kernels in packages of compiled operators, which are called without this package.

The caller fills the operands of a frame, and passes the sizes that a plan's template needs.
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.call import Plan, run_frame
from opdsl.backends.cpu.machine.forms import Form, filled
from opdsl.backends.cpu.machine.language import Pointer, Words, exported, local


@exported
def shipped_run(form: Form, numbers: Words, frame: Words) -> bool:
    """Run a template with the given sizes on a frame, and return false with an exception if that fails."""
    words = local(int, form.count)
    filled(form, words, numbers)
    plan = cast(Plan, words)
    cast(Pointer[Plan], frame)[0] = plan
    return run_frame(plan, frame)
