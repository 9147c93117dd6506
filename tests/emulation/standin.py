"""Runner of Python scripts in processes whose ``libcuda.so.1`` is a stand-in (``libcuda.c``)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

__all__ = ["needs_standin", "run", "standin"]

_HERE = Path(__file__).parent
_ROOT = _HERE.parent.parent
_COMPILER = shutil.which("cc") or shutil.which("g++")

needs_standin = pytest.mark.skipif(
    _COMPILER is None or not sys.platform.startswith("linux"), reason="needs a C compiler, on Linux"
)


def standin(folder: Path) -> Path:
    """Compile the stand-in library into a folder, and return its path."""
    library = folder / "libcuda.so.1"
    language = () if shutil.which("cc") else ("-x", "c")
    command = [str(_COMPILER), *language, "-shared", "-fPIC", "-O1", "-w", str(_HERE / "libcuda.c"), "-o", str(library)]
    subprocess.run([*command, "-lpthread"], check=True, capture_output=True, timeout=120)
    return library


def run(library: Path, script: str, **settings: int) -> str:
    """Run a script with the stand-in, and return the output of both; ``libcuda.c`` lists the settings at its head."""
    places = [str(library.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = os.environ | {
        "LD_LIBRARY_PATH": ":".join(filter(None, places)),
        "PYTHONPATH": str(_ROOT),
        **{f"STANDIN_{name.upper()}": str(setting) for name, setting in settings.items()},
    }
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=_ROOT,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    return ended.stdout + ended.stderr
