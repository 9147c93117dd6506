"""Model of native_functions.yaml: entries with every key as a typed value, read, checked, grouped, compared and
written.

``rules`` has the invariants; further modules read derivatives.yaml, tags.yaml and selected_operators.yaml.

May import: ``opdsl.errors``, ``opdsl.schema``; PyYAML only when a text is read.
"""

from __future__ import annotations

from opdsl.native.derivatives import Derivative, Formula, FormulaKind, load_derivatives, read_derivatives
from opdsl.native.dialects import Change, Dialect, Upgrade, detect, upgrade
from opdsl.native.dump import dumps
from opdsl.native.entry import (
    Delegate,
    DeviceCheck,
    DispatchEntry,
    Kernel,
    NativeFunction,
    Plain,
    Structured,
    UfuncInnerLoop,
    UfuncKey,
    Variant,
)
from opdsl.native.generated import generated
from opdsl.native.groups import VariantGroup, ViewGroup, structured_groups, variant_groups, view_groups
from opdsl.native.json_form import json_schema, to_json
from opdsl.native.loading import load, loads
from opdsl.native.rules import check, check_text
from opdsl.native.selection import SelectedOperator, Selection, load_selection, select
from opdsl.native.source import Fault, Location
from opdsl.native.tags import load_tags
from opdsl.schema import Precomputed

__all__ = [
    "Change",
    "Delegate",
    "Derivative",
    "DeviceCheck",
    "Dialect",
    "DispatchEntry",
    "Fault",
    "Formula",
    "FormulaKind",
    "Kernel",
    "Location",
    "NativeFunction",
    "Plain",
    "Precomputed",
    "SelectedOperator",
    "Selection",
    "Structured",
    "UfuncInnerLoop",
    "UfuncKey",
    "Upgrade",
    "Variant",
    "VariantGroup",
    "ViewGroup",
    "check",
    "check_text",
    "detect",
    "dumps",
    "generated",
    "json_schema",
    "load",
    "load_derivatives",
    "load_selection",
    "load_tags",
    "loads",
    "read_derivatives",
    "select",
    "structured_groups",
    "to_json",
    "upgrade",
    "variant_groups",
    "view_groups",
]
