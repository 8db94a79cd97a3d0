"""Palette, sizes, and what matplotlib is told."""

from matplotlib import rc_context

BLUE, ORANGE, GREEN, PINK = "#2b7bd4", "#dd6b20", "#0d9f7e", "#c0599f"
COLOURS = (BLUE, ORANGE, GREEN, PINK)
MARKERS = ("o", "s", "^", "D")
DASHES = ("-", "--", "-.", ":")
FAINT = (0, 0, 0, 0.35)  # ink for frames and guides

WIDTH = 330  # SVG units: about the pixels a phone has for it, so a font size is its size there
ZOOM = 1.45  # at most this many pixels a unit on wider screens
TEXT, SMALL = 12, 11
STRONGEST = 0.5  # opacity of a full cell: the ink on it must keep its contrast
CELL, NARROWEST = 26, 24  # height of a cell, least width

STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": SMALL,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": (0, 0, 0, 0.6),
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": (0, 0, 0, 0.13),
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.markersize": 6.5,
}
drawing = rc_context(STYLE)
