"""The operator library: PyTorch's own operators, written in the language, one room a kind, one module a topic.

A topic is loaded when one of its operators is first asked for: ``catalog`` knows which one that is. May import:
everything below; nothing private of it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from opdsl.aten.catalog import METHODS, PACKETS
from opdsl.collecting import without_collecting
from opdsl.dispatch.model.registry import declaring_into, registry
from opdsl.runtime import Tensor, install_late_methods
from opdsl.runtime.importing import is_importing
from opdsl.runtime.init_hooks import prepare

# "pointwise.arithmetic" and its kin.
TOPICS = tuple(sorted({*PACKETS.values(), *METHODS.values()}))

_is_loaded = False


def load() -> None:
    """Import every topic, which registers its operators, and install every method; a second time does nothing."""
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
    """Import a topic (``"pointwise.arithmetic"``), or wait for a thread that does.

    Its operators may make the first tensor, so that has methods then.
    """
    prepare()
    # A module that is looked at apart may be the first to call one: the operators are the process's own all the same.
    with without_collecting(), declaring_into(registry):
        return importlib.import_module(f"opdsl.aten.{topic}")


def load_packet(name: str) -> None:
    """Import the topic that declares a packet; every topic for a name that none of them has."""
    if name in PACKETS:
        load_topic(PACKETS[name])
    else:
        load()


class _Methods:
    """The methods of Tensor that topics install."""

    def load(self, name: str) -> None:
        """Have a method installed, by loading what it needs."""
        topic = load_topic(METHODS[name])
        install = getattr(topic, "install", None)
        if install is not None:
            install(name)

    def is_loading(self, name: str) -> bool:
        """Return whether the topic of a method is being imported."""
        return is_importing(f"opdsl.aten.{METHODS[name]}")


def prepare_tensor() -> None:
    """Give Tensor its methods, each loaded when it is first looked up."""
    install_late_methods(METHODS, _Methods())
