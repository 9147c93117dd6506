"""Generator of stub files for type checkers from declarations; ``opdsl stubs`` on the command line.

``files`` lists the files; ``packets`` and ``tensor`` write classes; ``libraries`` and ``sources`` the stubs of modules;
``forms`` converts signatures to overloads; ``annotations``, ``names`` and ``layout`` write text.
"""

from __future__ import annotations

from opdsl.typing.stubs.files import stub_files

__all__ = ["stub_files"]
