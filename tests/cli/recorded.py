"""Program that prints the forms of a script's calls of ``ported::swish``: ``recorded.py PROJECT SCRIPT``."""

from __future__ import annotations

import sys
from pathlib import Path

from opdsl.cli.modules import load_modules
from opdsl.shipping.recording import recorded_forms

if __name__ == "__main__":
    operators = load_modules([str(Path(sys.argv[1]) / "ported")])
    for form in recorded_forms(Path(sys.argv[2]), operators)["ported::swish"]:
        print(form)
