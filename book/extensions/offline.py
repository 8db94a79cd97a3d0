"""Mathematics without a network: MathJax is copied into the site from an installed package.

The SVG build is one file that needs no fonts, so it also works from a file:// address;
its "full" form holds every TeX extension, so that no macro makes it fetch another file.
"""

from importlib import resources
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset_file

MATHJAX = "tex-svg-full.js"


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Put MathJax where `mathjax_path` says that pages find it."""
    if app.builder.format == "html" and not exception:
        source = resources.files("mathjax") / "static/mathjax/es5" / MATHJAX
        copy_asset_file(str(source), Path(app.outdir) / "_static" / MATHJAX)


def use_local_mathjax(_app: Sphinx, config) -> None:
    config.mathjax_path = MATHJAX


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", use_local_mathjax)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
