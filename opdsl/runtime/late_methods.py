"""Class ``Tensor`` with all its methods, where pickle looks up methods, even before the first tensor is made."""

from __future__ import annotations

from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.tensor import Tensor

__all__ = ["Tensor"]

prepare()
