"""The operator library: PyTorch's own operators, written in the language, one room a kind, one module a topic.

A topic is loaded when one of its operators is first asked for: ``catalog`` knows which one that is. May import:
everything below; nothing private of it.
"""

from __future__ import annotations

import importlib
import threading
from types import ModuleType

from opdsl.aten.catalog import METHODS, PACKETS
from opdsl.collecting import without_collecting
from opdsl.dispatch.model.loading import library_loads
from opdsl.dispatch.model.registry import declaring_into, registry
from opdsl.runtime import install_late_methods
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.init_hooks import prepare

# "pointwise.arithmetic" and its kin.
TOPICS = tuple(sorted({*PACKETS.values(), *METHODS.values()}))


# One thread loads at a time: another that needs the same method waits until it is there.
_loading = held_across_fork(threading.RLock())
_is_loaded = False


def load() -> None:
    """Import every topic, which registers its operators, and install every method; a second time does nothing."""
    global _is_loaded
    if _is_loaded:
        return
    with _loading:
        for topic in TOPICS:
            load_topic(topic)
        for name in METHODS:
            load_method(name)
        _is_loaded = True


def load_topic(topic: str) -> ModuleType:
    """Import a topic (``"pointwise.arithmetic"``). Its operators may make the first tensor, so it has methods then."""
    prepare()
    # A module that is looked at apart may be the first to call one: the operators are the process's own all the same.
    with _loading, library_loads, without_collecting(), declaring_into(registry):
        return importlib.import_module(f"opdsl.aten.{topic}")


def load_packet(name: str) -> None:
    """Import the topic that declares a packet; every topic for a name that none of them has."""
    if name in PACKETS:
        load_topic(PACKETS[name])
    else:
        load()


def load_method(name: str) -> None:
    """Install a method of Tensor, by loading what it needs."""
    with _loading:
        topic = load_topic(METHODS[name])
        install = getattr(topic, "install", None)
        if install is not None:
            install(name)


def prepare_tensor() -> None:
    """Give Tensor its methods, each loaded when it is first looked up."""
    install_late_methods(METHODS, load_method)
