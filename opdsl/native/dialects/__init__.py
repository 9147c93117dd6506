"""native_functions.yaml as it was: every form since PyTorch 0.4, found out, loaded, and rewritten into today's.

``signature`` takes schemas of any age apart; ``spellings``, ``options``, ``writes``, ``overloads`` and ``keys`` say
what each thing is today, ``retired`` what is no more; ``draft`` and ``edits`` change the text and leave the rest of it
alone; ``today`` writes what only today's rules ask for. May import: ``opdsl.errors``, ``opdsl.schema``, and the modules
of ``opdsl.native`` beside it.
"""

from __future__ import annotations

from opdsl.native.dialects.dialect import DIALECTS, TODAY, Dialect, dialect_of
from opdsl.native.dialects.draft import Change
from opdsl.native.dialects.upgrade import Upgrade, detect, load_older, upgrade

__all__ = ["DIALECTS", "TODAY", "Change", "Dialect", "Upgrade", "detect", "dialect_of", "load_older", "upgrade"]
