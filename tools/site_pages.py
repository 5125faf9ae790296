"""What the documentation site consists of, in order: `python tools/site_pages.py` writes docs/README.md.

That index has the pages by title, for readers of the folder without the site; a test compares it with the pages.
"""

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "README.md"
HEAD = """# Documentation

In reading order. `make docs` builds the same pages as a site, with the API from the docstrings.
"""

FROM_ROOT = {
    "index": "README.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
}
FOLDERS = ("evidence/claims",)  # the one page of its folder in the guide, which leads to the others

NAVIGATION = {
    "Start": ("tutorial", "record_a_log", "report", "troubleshooting"),
    "Tasks": (
        "known",
        "drives",
        "legged",
        "payload",
        "excitation",
        "check",
        "write_back",
        "controller_code",
        "fleet",
        "closed_loops",
    ),
    "Method": ("identifiability", "fitting", "uncertainty", "diagnosis", "information", "inertia"),
    "Reference": ("command_line", "logs", "side_file", "files", "conventions", "derivatives", "api/index"),
    "Evidence": ("gallery", "comparison", "papers", "evidence/claims"),
    "Project": ("install", "dependencies", "contributing", "changelog"),
}

API = (
    "steelyard",
    "errors",
    "model",
    "model.library",
    "model.side",
    "log",
    "log.checks",
    "log.filters",
    "prepare",
    "pipeline",
    "information",
    "identifiable",
    "fit",
    "diagnose",
    "excite",
    "simulate",
    "drives",
    "payload",
    "calibration",
    "dynamics",
    "dynamics.closed_loop",
    "dynamics.gradients",
    "check",
    "viewer",
    "fleet",
    "plot",
    "report",
    "report.schema",
    "terms",
    "inertia",
    "inertia.pseudo",
    "inertia.conventions",
    "inertia.log_cholesky",
    "inertia.exponential",
    "inertia.principal",
    "inertia.divergence",
    "inertia.realizability",
    "inertia.mesh",
)


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
