"""The book's figures: drawn by matplotlib, shown as inline SVG that follows its page.

``plots.NAME(...)`` in a notebook is the function NAME of ``plots/NAME.py``; what it takes (its
panels, boxes, blocks) stands there as well:

============================  ======================================================
:func:`matrices`              small matrices side by side, their numbers in the cells
:func:`lookup`                one query asks every key and mixes their values
:func:`attention_view`        weights to explore: layer, head and token can be chosen
:func:`curves`                quantities against x, lines and measured points
:func:`bars`                  amounts to compare
:func:`hull`                  weighted averages within the hull of their points
:func:`pipeline`              how shapes flow through a computation
:func:`blocks`                what a model is made of
:func:`tiles`                 one moment of attention in tiles
:func:`clocks`                angles as clock faces
:func:`sheets`                sheets of paper, folded and cut
:func:`verdicts`              which candidate passes which test
:func:`show`                  presents one of them (or any matplotlib figure) on a page
============================  ======================================================

Present a figure by ``show(curves(...), alt="...", caption="...")``, several moments of one thing
by :func:`show_steps`. The other modules are what these share: ``style`` (palette and sizes),
``strokes`` (canvas, words, cells, chips, links), ``labels`` (numbers as a book prints them),
``axes``, and ``svg`` (from matplotlib to the page).

Each function covers the module of its name: here ``plots.matrices`` is the function.

Matplotlib's black stands for ink: it becomes ``currentColor`` and turns light in a dark
theme. Data colours are mid-tones that keep 3:1 against both backgrounds. Text stays text, in
the page's font, and each label is one element, so a translation can replace it; hence no
mathtext (write dₖ, Kᵀ, √) and no line breaks within a label.
"""

from transformer_lib.plots.attention_view import attention_view
from transformer_lib.plots.bars import bars
from transformer_lib.plots.blocks import Block, blocks
from transformer_lib.plots.clocks import clocks
from transformer_lib.plots.curves import curves
from transformer_lib.plots.hull import hull
from transformer_lib.plots.lookup import lookup
from transformer_lib.plots.matrices import Panel, matrices
from transformer_lib.plots.pipeline import Box, pipeline
from transformer_lib.plots.sheets import Sheet, sheets
from transformer_lib.plots.show import BookFigure, show, show_steps
from transformer_lib.plots.style import BLUE, COLOURS, GREEN, ORANGE, PINK
from transformer_lib.plots.tiles import tiles
from transformer_lib.plots.verdicts import verdicts

__all__ = [
    "BLUE",
    "COLOURS",
    "GREEN",
    "ORANGE",
    "PINK",
    "Block",
    "BookFigure",
    "Box",
    "Panel",
    "Sheet",
    "attention_view",
    "bars",
    "blocks",
    "clocks",
    "curves",
    "hull",
    "lookup",
    "matrices",
    "pipeline",
    "sheets",
    "show",
    "show_steps",
    "tiles",
    "verdicts",
]
