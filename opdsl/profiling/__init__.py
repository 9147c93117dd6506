"""Profiles of programs: what calls of operators, plans and compiles take, as a table and as a trace.

``profile`` collects them, ``averages`` makes the table, ``trace`` the file that Perfetto and Chrome show.
"""

from __future__ import annotations

from opdsl.profiling.averages import Averages, KeyAverage
from opdsl.profiling.profiles import Profile, profile

__all__ = ["Averages", "KeyAverage", "Profile", "profile"]
