"""The rules of native_functions.yaml beyond how its values are written: INV-17 to INV-57, each a small named function.

``check`` applies them to entries, ``check_text`` to a text, with the faults of its values along with them. May import:
``opdsl.errors``, ``opdsl.schema``, and the modules of ``opdsl.native`` beside it.
"""

from __future__ import annotations

from opdsl.native.rules.checking import check, check_text

__all__ = ["check", "check_text"]
