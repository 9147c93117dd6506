"""Sphinx configuration of ``make docs``, which generates the pages of operators and modules when a build begins."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "opdsl"
author = "The opdsl authors"
version = release = version_of("opdsl")

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
# A link that leads nowhere is an error.
nitpicky = True

html_theme = "furo"
html_title = f"opdsl {version}"
html_static_path = ["static"]
html_css_files = ["opdsl.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# No page describes names by directives, so a general index would be empty.
html_use_index = False
# Language of code blocks that name none: schemas, plots, output of programs.
highlight_language = "text"
# Pygments need not be able to parse sources with prompts, tables and schemas as Python.
suppress_warnings = ["misc.highlighting_failure"]


def _write_pages(app: Any) -> None:
    """Write the generated pages; ``OPDSL_DOCS=softmax,add`` restricts them to those operators, for quick looks."""
    import operator_pages
    import reference_pages

    only = tuple(filter(None, os.environ.get("OPDSL_DOCS", "").split(",")))
    written = operator_pages.write(HERE / "operators", only)
    reference_pages.write(HERE / "reference", written)


def setup(app: Any) -> dict[str, Any]:
    """Connect the page generators to a Sphinx build; Sphinx calls this function."""
    app.connect("builder-inited", _write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
