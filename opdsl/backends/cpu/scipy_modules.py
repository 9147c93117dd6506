"""Loader of single compiled modules of SciPy, because importing SciPy's packages takes longer than importing all of
opdsl.
"""

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
    """Load a compiled module of SciPy by its full name, without the package that contains it.

    Raises:
        MissingDependencyError: SciPy is not installed, or has no such module.
    """
    try:
        importlib.import_module("scipy")  # before taking our lock: imports take their own lock
        return _load(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"This needs SciPy's {name}, which cannot be imported: {error}. Install it: pip install scipy"
        ) from error


# Loading bypasses the import system's lock per module, so a lock of ours is held instead.
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
    # It is not registered: an import of its package loads it again, as an attribute of the package.
    sys.modules.pop(name, None)
    return module
