"""Layer that records the operators that a plan depends on while a call is lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opdsl.dispatch.state import current
from opdsl.runtime.lowering import lowering
from opdsl.runtime.symbol import NotLoweredError

if TYPE_CHECKING:
    from opdsl.dispatch.model.kernel import Kernel
    from opdsl.dispatch.model.operator import Operator, Reached

__all__ = ["noted"]


def noted(operator: Operator, kernel: Kernel, reached: Reached) -> Kernel:
    """Record that the plan being lowered depends on an operator; return the kernel unchanged.

    Raises:
        NotLoweredError: the kernel must see each call.
    """
    state = current.get()
    if not state.lowering:
        return kernel
    if reached.kernel.sees_calls:
        raise NotLoweredError(f"a kernel of {operator.name} sees every call")
    recorder = lowering.get()
    assert recorder is not None, "a state that lowers has a recorder"
    if recorder.followed and not recorder.originals:
        raise NotLoweredError("a call after something was written that requires grad since")
    recorder.packets.setdefault(operator.packet, operator.packet.generation)
    return kernel
