"""Wheel of ten compiled operators: built, installed where opdsl is missing, and compared with NumPy there.

    python examples/ship.py [FOLDER]

The folder, ``build/ship`` by default, gets the wheel and the environment, into which pip downloads NumPy.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent / "shipped"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/ship").absolute()
    subprocess.run([sys.executable, "-m", "opdsl", "build", PROJECT, "-o", folder / "dist"], check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    subprocess.run([python, "-I", PROJECT / "compare.py"], check=True)


if __name__ == "__main__":
    main()
