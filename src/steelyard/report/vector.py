"""Vector files of our figures, drawn by Matplotlib: no browser, fonts embedded, one axis pair a figure.

Only what our figures use is translated: lines, markers with error bars, stacked bars, boxes of given quantiles,
horizontal lines, linear and logarithmic axes.
"""

from html import unescape
from pathlib import Path

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.extras import extra

FORMATS = (".svg", ".pdf", ".png", ".eps")
DASHES = {"dot": ":", "dash": "--", "dashdot": "-.", "solid": "-", None: "-"}
MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "x": "x",
    "cross": "P",
    "star": "*",
}
STYLE: dict = {
    "font.size": 8,
    "axes.linewidth": 0.6,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "steelyard",
}
MM = 1 / 25.4
PIXEL = 0.75  # points


def save(figure, path, *, width: float = 85.0, height: float = 60.0, title: bool = False) -> Path:
    """Write a figure of `sy.plot` to .svg, .pdf, .eps or .png (300 dpi).

    width, height: mm; 85 is one column of a paper. title: whether it stands above; captions of papers say it. Returns
    the path. Raises OptionError for other formats, for figures in 3D, for a path that cannot be written, and without
    Matplotlib (`pip install steelyard[figures]`).
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"Figures are written as {choices(FORMATS)}; got '{path.name}'. For HTML: figure.write_html.")
    with extra("Writing vector files"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    with rc_context(STYLE):
        drawing = Figure(figsize=(width * MM, height * MM), layout="constrained")
        axes = drawing.add_subplot()
        _dress(axes, figure.layout, title)
        floor = 0.0
        for trace in figure.data:
            floor = _trace(axes, trace, floor)
        _lines_across(axes, figure.layout)
        _legend(axes, figure)
        try:
            drawing.savefig(path, dpi=300, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
        except OSError as error:
            raise OptionError(f"Figure {path} cannot be written: {error.strerror or error}.") from error
    return path


def _plain(text: str | None) -> str:
    """Text of a Plotly label as Matplotlib shows it as it is: dollars would start mathematics."""
    return unescape(text or "").replace("$", r"\$")


def _dress(axes, layout, title: bool):
    axes.set_xlabel(_plain(layout.xaxis.title.text))
    axes.set_ylabel(_plain(layout.yaxis.title.text))
    if title:
        axes.set_title(_plain(layout.title.text), loc="left")
    axes.grid(color="#e3e3e3", linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if layout.xaxis.type == "log":
        axes.set_xscale("log")
    if layout.yaxis.type == "log":
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    if layout.xaxis.tickvals is not None:
        labels = [_plain(text) for text in layout.xaxis.ticktext]
        steep = 90 if len(labels) > 6 or max(map(len, labels), default=0) > 8 else 0
        axes.set_xticks(list(layout.xaxis.tickvals), labels, rotation=steep)
    if layout.xaxis.range is not None:
        axes.set_xlim(*layout.xaxis.range)


def _trace(axes, trace, floor):
    """Draw one trace; floor: where a stack of bars begins. Returns where the next one does."""
    if trace.type == "bar":
        heights = np.asarray(trace.y, dtype=float)
        axes.bar(trace.x, heights, bottom=floor, color=trace.marker.color, label=_plain(trace.name), width=0.8)
        return floor + heights
    if trace.type == "box":
        _boxes(axes, trace)
    elif trace.type == "scatter":
        _scatter(axes, trace)
    else:
        raise OptionError(f"A {trace.type} has no vector form; use figure.write_html or a picture of the page.")
    return floor


def _scatter(axes, trace):
    x, y = (np.array(values, dtype=float) for values in (trace.x, trace.y))
    label = _plain(trace.name) if trace.name and trace.showlegend is not False else None
    if "lines" in (trace.mode or "lines"):
        look = {"color": trace.line.color, "linewidth": PIXEL * (trace.line.width or 2)}
        axes.plot(x, y, DASHES[trace.line.dash], label=label, **look)
        return
    hollow = str(trace.marker.symbol or "").endswith("-open")
    colors = np.broadcast_to(np.array(trace.marker.color, dtype=object), len(x))
    symbols = np.broadcast_to(np.array(trace.marker.symbol or "circle", dtype=object), len(x))
    for color, symbol in dict.fromkeys(zip(colors, symbols, strict=True)):
        chosen = (colors == color) & (symbols == symbol)
        axes.plot(
            x[chosen],
            y[chosen],
            MARKERS[symbol.removesuffix("-open")],
            color=color,
            markerfacecolor="none" if hollow else color,
            markersize=0.6 * PIXEL * (trace.marker.size or 8),
            alpha=trace.marker.opacity,
            label=label,
        )
        label = None
    if trace.error_y.array is not None:
        spans = np.array([trace.error_y.arrayminus, trace.error_y.array], dtype=float)
        axes.errorbar(x, y, yerr=spans, fmt="none", ecolor=trace.error_y.color, elinewidth=0.8, capsize=2)


def _boxes(axes, trace):
    keys = {"whislo": "lowerfence", "q1": "q1", "med": "median", "q3": "q3", "whishi": "upperfence"}
    stats = [
        dict(zip(keys, row, strict=True)) | {"fliers": []}
        for row in zip(*(getattr(trace, name) for name in keys.values()), strict=True)
    ]
    line = {"color": trace.marker.color, "linewidth": 0.8}
    drawn = axes.bxp(
        stats,
        positions=list(trace.x),
        widths=trace.width,
        manage_ticks=False,
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": "none", "edgecolor": trace.marker.color, "linewidth": 0.8},
        medianprops=line,
        whiskerprops=line,
        capprops=line,
    )
    drawn["boxes"][0].set_label(_plain(trace.name))


def _lines_across(axes, layout):
    for shape in layout.shapes or ():
        look = {"color": shape.line.color, "linewidth": PIXEL * (shape.line.width or 1)}
        axes.axhline(shape.y0, linestyle=DASHES[shape.line.dash], **look)


def _legend(axes, figure):
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) > 1 and figure.layout.showlegend is not False:
        columns = min(3, len(handles))
        axes.figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False)
