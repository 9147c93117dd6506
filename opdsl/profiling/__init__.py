"""Profiler: collects the times of operator calls, plan creation and compilation, for a table or a trace.

``profile`` collects them, ``averages`` makes the table, ``trace`` the file that Perfetto and Chrome show.
"""

from __future__ import annotations

from opdsl.profiling.averages import Averages, KeyAverage
from opdsl.profiling.profiles import Profile, profile

__all__ = ["Averages", "KeyAverage", "Profile", "profile"]
