"""Sphinx configuration of the documentation site; tools/docs_site.py gathers the pages and runs it."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import docstring_markdown

project = "Steelyard"
author = "Steelyard developers"
release = version = installed("steelyard")
html_title = f"Steelyard {version}"
copyright = f"{author}, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # excerpts of XML leave out attributes
nitpicky = False  # types of other packages have no pages here
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"  # no fonts, scripts or pictures from elsewhere
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # would read pages again, which browsers refuse without a server
html_static_path = ["site"]
html_css_files = ["extra.css"]


def setup(app):
    app.connect("autodoc-process-docstring", docstring_markdown.process)
