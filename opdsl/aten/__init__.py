"""The operator library: PyTorch's own operators, written in the language, one module a topic.

Loaded on first use, by ``load``. May import: everything below; nothing private of it.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from opdsl.dispatch.facade import deferred_sources

_TOPICS = (
    "views",
    "factories",
    "copying",
    "indexing",
    "arithmetic",
    "mathematics",
    "comparison",
    "reductions",
    "linear_algebra",
    "joining",
    "special_methods",
    "subscripts",
)


def load() -> None:
    """Import every topic, which registers its operators."""
    with deferred_sources(), without_collecting():
        for topic in _TOPICS:
            importlib.import_module(f"opdsl.aten.{topic}")


@contextmanager
def without_collecting() -> Iterator[None]:
    """Hold garbage collection back: declarations make many objects that all stay, and looking at them takes long."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
