"""Operator library: PyTorch's own operators, written in the operator language, with a folder per kind and a module per
topic.

A topic is imported when one of its operators is first looked up; ``catalog`` maps operators to topics. May import:
everything below; nothing private of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from opdsl.aten.catalog import METHODS, PACKETS
from opdsl.collecting import without_collecting
from opdsl.dispatch.model.registry import declaring_into, registry
from opdsl.runtime import Tensor, install_late_methods
from opdsl.runtime.importing import is_importing
from opdsl.runtime.init_hooks import prepare

if TYPE_CHECKING:
    from opdsl.declare.options import EntryOptions

# Names of modules, such as "pointwise.arithmetic".
TOPICS = tuple(sorted({*PACKETS.values(), *METHODS.values()}))


def _entries() -> Mapping[str, EntryOptions]:
    """Return the table of options, which the first declaration imports."""
    from opdsl.aten.torch_entries import ENTRIES

    return ENTRIES


registry.entry_tables["aten"] = _entries

_is_loaded = False


def load() -> None:
    """Import every topic, which registers its operators, and install every method of Tensor; do nothing if called
    again.
    """
    global _is_loaded
    if _is_loaded:
        return
    with without_collecting():
        for topic in TOPICS:
            load_topic(topic)
        for name in METHODS:
            getattr(Tensor, name, None)
    _is_loaded = True


def load_topic(topic: str) -> ModuleType:
    """Import the module of a topic (such as ``pointwise.arithmetic``), or wait for a thread that is importing it.

    Importing a topic may create tensors, so Tensor's methods are prepared first.
    """
    prepare()
    # The first call may come from a module that declares into another registry; the library belongs to the process's
    # own.
    with without_collecting(), declaring_into(registry):
        return importlib.import_module(f"opdsl.aten.{topic}")


def load_packet(name: str) -> None:
    """Import the topic that declares a packet, or every topic if ``catalog`` lists no topic for the name."""
    if name in PACKETS:
        load_topic(PACKETS[name])
    else:
        load()


class _Methods:
    """Loader of the methods of Tensor that topics install."""

    def load(self, name: str) -> None:
        """Import the topic that installs a method of Tensor, and install the method."""
        topic = load_topic(METHODS[name])
        install = getattr(topic, "install", None)
        if install is not None:
            install(name)

    def is_loading(self, name: str) -> bool:
        """Return whether the topic of a method is being imported."""
        return is_importing(f"opdsl.aten.{METHODS[name]}")


def prepare_tensor() -> None:
    """Install placeholders for Tensor's methods, each of which loads its method when it is first looked up."""
    install_late_methods(METHODS, _Methods())
