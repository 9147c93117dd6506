"""List of the layers around the kernel that a call reaches in an operator's table.

Modes, autograd, the choice of a backend and overrides are rows of the table, and not layers: their kernels look up the
next kernel themselves.
"""

from __future__ import annotations

from opdsl.dispatch.layers.checked import checked_kernel
from opdsl.dispatch.layers.devices import on_device
from opdsl.dispatch.layers.in_place_or_view import in_place_or_view
from opdsl.dispatch.layers.noting import noted
from opdsl.dispatch.layers.rehearsal import rehearsed
from opdsl.dispatch.model.operator import Layer

__all__ = ["LAYERS"]

LAYERS: tuple[Layer, ...] = (noted, on_device, rehearsed, checked_kernel, in_place_or_view)
"""Layers around kernels, the innermost first."""
