"""Generator of Python declarations from entries of native_functions.yaml.

Derived operators are not written: in-place and ``out=`` entries are folded into their functional entry if the rule of
``opdsl.declare.variants`` gives their schemas. May import: the packages that ``opdsl.declare`` may.
"""

from __future__ import annotations

from opdsl.declare.source.module import Progress, Written, write_module

__all__ = ["Progress", "Written", "write_module"]
