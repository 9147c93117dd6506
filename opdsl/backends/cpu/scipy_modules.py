"""SciPy's compiled modules, each loaded alone: its packages take longer to start than all of opdsl."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import threading
from pathlib import Path
from typing import Any

from opdsl.errors import MissingDependencyError
from opdsl.runtime.forking import held_across_fork

# Python's own lock of a module is not taken here; a child of a fork must not find one half made.
_LOCK = held_across_fork(threading.RLock())


def load(name: str) -> Any:
    """A compiled module of SciPy, by its full name.

    Raises:
        MissingDependencyError: there is no SciPy, or it has no such module.
    """
    with _LOCK:
        return _load(name)


def _load(name: str) -> Any:
    try:
        if name.rpartition(".")[0] in sys.modules:
            return importlib.import_module(name)
        import scipy

        folders = name.split(".")[1:-1]
        found = importlib.machinery.PathFinder.find_spec(
            name, [str(Path(each).joinpath(*folders)) for each in scipy.__path__]
        )
        if found is None or found.loader is None:
            return importlib.import_module(name)
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        # It is no attribute of its package: whoever imports that gets it from there.
        sys.modules.pop(name, None)
        return module
    except ImportError as error:
        raise MissingDependencyError(
            f"This needs SciPy's {name}, which cannot be imported: {error}. Install it: pip install scipy"
        ) from error
