"""The settings of the documentation site, which `make docs` builds into build/docs."""

from __future__ import annotations

import sys
from pathlib import Path

import optree

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "optree"
author = "The optree developers"
copyright = "The optree developers, BSD-3-Clause"
version = release = optree.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "house",
    "mathml",
]
exclude_patterns = ["_site"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
_ROUTING = "get_metadata_routing, set_fit_request, set_predict_request, set_score_request"  # scikit-learn's own
autodoc_default_options = {"members": True, "inherited-members": "object", "exclude-members": _ROUTING}
autodoc_typehints = "none"
napoleon_numpy_docstring, napoleon_google_docstring = True, False
napoleon_use_rtype = False
napoleon_use_ivar = True
strip_signature_backslash = True  # tree_ keeps its underscore
default_role = "code"
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"optree {release}"
html_static_path = ["_site/static"]
templates_path = ["_site/templates"]
_SIDEBAR = ("brand", "search", "scroll-start", "results", "navigation", "scroll-end")
html_sidebars = {"**": [f"sidebar/{name}.html" for name in _SIDEBAR]}
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
