"""Stub files for type checkers, written from the declarations; ``opdsl stubs`` on the command line.

``files`` says which files there are; ``packets`` and ``tensor`` write classes; ``libraries`` and ``sources`` the stubs
of modules; ``forms`` turns signatures into overloads; ``annotations``, ``names`` and ``layout`` write text.
"""

from __future__ import annotations

from opdsl.typing.stubs.files import stub_files

__all__ = ["stub_files"]
