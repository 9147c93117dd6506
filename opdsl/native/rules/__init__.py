"""Rules of native_functions.yaml beyond the format of values: INV-17 to INV-57, each a small named function.

``check`` applies them to entries, ``check_text`` to a text, and includes the faults of its values. May import:
``opdsl.errors``, ``opdsl.schema``, and the modules of ``opdsl.native`` next to it.
"""

from __future__ import annotations

from opdsl.native.rules.checking import check, check_text

__all__ = ["check", "check_text"]
