"""Entries of native_functions.yaml to the source of Python declarations.

What a declaration derives is not written: in-place and ``out=`` entries are folded into their functional one where the
rule of ``opdsl.declare.variants`` gives their schemas. May import: what ``opdsl.declare`` may.
"""

from __future__ import annotations

from opdsl.declare.source.module import Progress, Written, write_module

__all__ = ["Progress", "Written", "write_module"]
