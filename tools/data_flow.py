"""Draw the layers of the library, from the import contract in pyproject.toml and each package's own first sentence.

`python tools/data_flow.py` writes docs/images/data_flow.svg; a test compares it with the code.
"""

import ast
import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "data_flow.svg"
WIDTH, HEIGHT, GAP = 920, 32, 6  # px: of the picture, of a layer, between layers
NAME, PURPOSE = 50, 165  # px from the left
STYLE = """<style>
text { font: 12.5px system-ui, sans-serif; fill: #1c2b33 }
.name { font: 600 13px ui-monospace, monospace }
rect { fill: #e8f1f2; stroke: #5b8a8f }
</style>"""


def layers() -> list[list[str]]:
    """Packages and modules by layer, the command line first; what shares a layer does not import one another."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contract = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]
    return [[name.strip().removeprefix("steelyard.") for name in layer.split("|")] for layer in contract["layers"]]


def purpose(name: str) -> str:
    """First sentence of a module's docstring, without references to papers."""
    path = ROOT / "src" / "steelyard" / name
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")
    line = (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]
    return re.sub(r" \(paper \w\)", "", re.split(r"(?<=\.) ", line)[0]).replace("`", "").rstrip(".")


def svg() -> str:
    """The picture: one box a module, layers from top to bottom, an arrow for the only way imports go."""
    rows, y = [], 10
    for layer in layers():
        height = HEIGHT * len(layer)
        rows.append(f'<rect x="40" y="{y}" width="{WIDTH - 50}" height="{height}" rx="5"/>')
        for i, name in enumerate(layer):
            line = y + HEIGHT * i + 21
            rows.append(f'<text class="name" x="{NAME}" y="{line}">{escape(name)}</text>')
            rows.append(f'<text x="{PURPOSE}" y="{line}">{escape(purpose(name))}</text>')
        y += height + GAP
    arrow = f'<path d="M20 12V{y - 18}m-6 -10l6 12l6 -12" fill="none" stroke="#5b8a8f" stroke-width="2"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img">'
    title = "<title>Layers of Steelyard: imports only go down</title>"
    ground = f'<rect width="{WIDTH}" height="{y}" style="fill:#fff;stroke:none"/>'
    return "\n".join([head, title, STYLE, ground, arrow, *rows, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(svg(), "utf-8")
