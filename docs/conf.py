"""Sphinx: what ``make docs`` builds. The pages of operators and names are written when a build begins."""

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
# Whether links lead somewhere is an error here, not a matter of taste.
nitpicky = True

html_theme = "furo"
html_title = f"opdsl {version}"
html_static_path = ["static"]
html_css_files = ["opdsl.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# Of blocks that name none: schemas, pictures, what programs print.
highlight_language = "text"
# Sources with prompts, tables and schemas are no Python that Pygments must like.
suppress_warnings = ["misc.highlighting_failure"]


def _write_pages(app: Any) -> None:
    """Write the generated pages; OPDSL_DOCS=softmax,add writes those operators only, for quick looks."""
    import operator_pages
    import reference_pages

    only = tuple(filter(None, os.environ.get("OPDSL_DOCS", "").split(",")))
    written = operator_pages.write(HERE / "operators", only)
    reference_pages.write(HERE / "reference", written)


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
