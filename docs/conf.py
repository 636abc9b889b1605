"""Settings of the documentation, and the two parts of it that are generated from the package."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "src"))

import headrace  # noqa: E402

project = "headrace"
author = "the headrace authors"
project_copyright = author
version = release = headrace.__version__

extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_generated", "Thumbs.db", ".DS_Store"]
html_theme = "furo"
html_title = f"headrace {release}"
templates_path = ["_templates"]
html_static_path = ["_static"]
# Of a site with several versions, see tools/docs_site.py; alone, a page has no choice to offer.
html_js_files = [("../../versions.js", {"defer": "defer"}), ("versions.js", {"defer": "defer"})]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
# A name in single backticks in a docstring is code, as in Markdown.
default_role = "literal"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

# The public packages: what they list may be relied upon.
PUBLIC = ["headrace.common", "headrace.datastream", "headrace.metrics", "headrace.testing"]


def public_modules() -> list[str]:
    """The public packages and the modules in them, without those that start with ``_``."""
    names = []
    for package in PUBLIC:
        module = importlib.import_module(package)
        names.append(package)
        for info in pkgutil.walk_packages(getattr(module, "__path__", []), f"{package}."):
            if not any(part.startswith("_") for part in info.name.split(".")):
                names.append(info.name)
    return names


def write_if_changed(path: Path, text: str) -> None:
    """Leaves an unchanged file alone, so that the next build reads only what is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_api_pages(app: Sphinx) -> None:
    """One page for each public module; a name is described where it is defined, and only there."""
    pages = DOCS / "api" / "generated"
    names = public_modules()
    for name in names:
        text = (
            f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n"
            "   :members:\n   :undoc-members:\n   :show-inheritance:\n   :ignore-module-all:\n"
        )
        write_if_changed(pages / f"{name}.rst", text)
    for page in pages.glob("*.rst"):
        if page.stem not in names:
            page.unlink()


def write_option_reference(app: Sphinx) -> None:
    """The table of configuration options, as the package declares them."""
    from headrace.common.settings.reference import render_markdown

    write_if_changed(DOCS / "_generated" / "options.md", render_markdown())


def setup(app: Sphinx) -> None:
    """Writes the generated parts before Sphinx looks for its pages."""
    app.connect("config-inited", lambda app, config: write_api_pages(app))
    app.connect("config-inited", lambda app, config: write_option_reference(app))
