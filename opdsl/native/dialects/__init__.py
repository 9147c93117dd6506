"""Dialects of native_functions.yaml: detects, loads and upgrades every form of the file since PyTorch 0.4.

``signature`` parses schemas of any age; ``spellings``, ``options``, ``writes``, ``overloads`` and ``keys`` convert the
parts of an entry to today's form, ``retired`` lists former features; ``draft`` and ``edits`` change the text and keep
the rest of it; ``today`` adds values that only today's rules require. May import: ``opdsl.errors``,
``opdsl.schema``, and the modules of ``opdsl.native`` next to it.
"""

from __future__ import annotations

from opdsl.native.dialects.dialect import DIALECTS, TODAY, Dialect, dialect_of
from opdsl.native.dialects.draft import Change
from opdsl.native.dialects.upgrade import Upgrade, detect, load_older, upgrade

__all__ = ["DIALECTS", "TODAY", "Change", "Dialect", "Upgrade", "detect", "dialect_of", "load_older", "upgrade"]
