"""SciPy's compiled modules, each loaded alone: its packages take longer to start than all of opdsl."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from opdsl.errors import MissingDependencyError
from opdsl.runtime.permanent import kept_forever


def load(name: str) -> ModuleType:
    """A compiled module of SciPy, by its full name.

    Raises:
        MissingDependencyError: there is no SciPy, or it has no such module.
    """
    try:
        importlib.import_module("scipy")  # before the lock: imports have their own
        return _load(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"This needs SciPy's {name}, which cannot be imported: {error}. Install it: pip install scipy"
        ) from error


# Python's own lock of a module is not taken here.
@kept_forever
def _load(name: str) -> ModuleType:
    if name.rpartition(".")[0] in sys.modules:
        return importlib.import_module(name)
    folders = name.split(".")[1:-1]
    spec = importlib.machinery.PathFinder.find_spec(
        name, [str(Path(text).joinpath(*folders)) for text in sys.modules["scipy"].__path__]
    )
    if spec is None or spec.loader is None:
        return importlib.import_module(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # It is no attribute of its package: whoever imports that gets it from there.
    sys.modules.pop(name, None)
    return module
