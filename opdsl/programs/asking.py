"""Code that compares symbolic sizes while a function is traced: which of its guards a program needs."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

from opdsl.runtime.symbol import Symbol

if TYPE_CHECKING:
    from opdsl.dispatch import Operator

__all__ = ["is_asked_by_operators", "takes_views"]

# Modules that compare symbols for the code that calls them.
_COMPARING = frozenset((Symbol.__module__, "opdsl.formulas.control"))
# Packages whose functions are bodies of operators and modules, and trace as a user's function does.
_BODIES = ("opdsl.aten.", "opdsl.nn.", "opdsl.formulas.")


def is_asked_by_operators() -> bool:
    """Return whether the code that compares a symbol is the traced function, or the body of an operator.

    Call it in the callback that receives a comparison: the module of the innermost frame outside of
    ``_COMPARING`` decides, since comparisons by opdsl's own code, such as those of strides, hold for all sizes.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") in _COMPARING:
        frame = frame.f_back
    module = str(frame.f_globals.get("__name__")) if frame is not None else ""
    return not module.startswith("opdsl.") or module.startswith(_BODIES)


def takes_views(operator: Operator) -> bool:
    """Return whether an operator returns views, so that guards of its kernel decide their number and their shapes."""
    schema = operator.schema
    is_view = any(output.alias is not None for output in schema.returns) and not schema.is_mutable
    return is_view or "inplace_view" in operator.tags
