"""Spans of ``torch.profiler`` for calls of operators on opdsl tensors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import torch

__all__ = ["open_span"]


def open_span(name: str) -> Callable[[], object]:
    """Open a profiler span, and return the function that closes it; cheap if the profiler is not running.

    Args:
        name: of the span.
    """
    if not torch.autograd.profiler._is_profiler_enabled:
        return _nothing
    stack = ExitStack()
    stack.enter_context(torch.autograd.profiler.record_function(name))
    return stack.close


def _nothing() -> None:
    """Do nothing; closes a span that was not opened."""
