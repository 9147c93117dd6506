"""native_functions.yaml as data: entries with every key as a typed value, groups of variants, reading and writing.

May import: ``opdsl.errors``, ``opdsl.schema``; PyYAML only when a text is read.
"""

from __future__ import annotations

from opdsl.native.dump import dumps
from opdsl.native.entry import (
    Delegate,
    DeviceCheck,
    DispatchEntry,
    Kernel,
    NativeFunction,
    Plain,
    Precomputed,
    Structured,
    UfuncInnerLoop,
    UfuncKey,
    Variant,
)
from opdsl.native.groups import VariantGroup, ViewGroup, structured_groups, variant_groups, view_groups
from opdsl.native.load import load, loads
from opdsl.native.source import Fault, Location

__all__ = [
    "Delegate",
    "DeviceCheck",
    "DispatchEntry",
    "Fault",
    "Kernel",
    "Location",
    "NativeFunction",
    "Plain",
    "Precomputed",
    "Structured",
    "UfuncInnerLoop",
    "UfuncKey",
    "Variant",
    "VariantGroup",
    "ViewGroup",
    "dumps",
    "load",
    "loads",
    "structured_groups",
    "variant_groups",
    "view_groups",
]
