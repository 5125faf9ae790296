"""The pages of docs/ in reading order, by title: `python tools/docs_index.py` writes docs/README.md.

What the site has in its navigation, for readers of the folder; a test compares it with the pages.
"""

import os
from pathlib import Path

from site_pages import FROM_ROOT, NAVIGATION

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "README.md"
HEAD = """# Documentation

In reading order. `make docs` builds the same pages as a site, with the API from the docstrings.
"""


def index() -> str:
    """Markdown: the headings of the navigation, and the title of each page that is a file."""
    lines = [HEAD]
    for heading, pages in NAVIGATION.items():
        files = [ROOT / FROM_ROOT.get(page, f"docs/{page}.md") for page in pages]
        lines += [f"## {heading}\n", *(f"- [{title(file)}]({link(file)})" for file in files if file.exists()), ""]
    return "\n".join(lines)


def title(file: Path) -> str:
    return next(line for line in file.read_text("utf-8").splitlines() if line.startswith("# ")).removeprefix("# ")


def link(file: Path) -> str:
    return Path(os.path.relpath(file, INDEX.parent)).as_posix()


if __name__ == "__main__":
    INDEX.write_text(index(), "utf-8")
