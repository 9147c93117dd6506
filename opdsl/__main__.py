"""Entry point of ``python -m opdsl``: the command line."""

from __future__ import annotations

from opdsl.cli import main

if __name__ == "__main__":
    main()
