"""The table of options of `identify` in docs/command_line.md, from the fields of a `Job`.

`python tools/option_tables.py` writes it; tests/cli/test_option_tables.py holds the page up to date.
"""

import re
from pathlib import Path

from typer.main import get_command

import steelyard
from steelyard.app import app
from steelyard.app.signature import stub
from steelyard.job import Corrections, Job
from steelyard.job_options import flag, options_of

STUB = Path(steelyard.__file__).with_suffix(".pyi")
PAGE = Path(__file__).parents[1] / "docs" / "command_line.md"
TABLE = re.compile(r"(?<=\| option \| meaning \|\n\|---\|---\|\n)(?:\|.*\n)+")


def table(name: str = "identify") -> str:
    """Rows of a subcommand's options, in the order of its help."""
    more = {flag(key, how): how.more for record in (Job, Corrections) for key, (_, how) in options_of(record).items()}
    rows = []
    for each in get_command(app).commands[name].params:  # type: ignore[attr-defined]
        if each.param_type_name != "option" or each.name == "help":
            continue
        names = sorted([*each.opts, *each.secondary_opts], key=lambda text: not text.startswith("--"))
        names[-1] += f" {each.metavar}" if each.metavar else ""
        said = " ".join(part for part in (each.help, more.get(each.opts[0], "")) if part)
        told = each.show_default and isinstance(each.default, str | float) and not isinstance(each.default, bool)
        default = f" Default: `{each.default}`." if told else ""
        cells = ", ".join(f"`{text}`" for text in names), f"{said}{default}"
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |\n")
    return "".join(rows)


def page(text: str) -> str:
    """The page with its first table of options, that of `identify`, as it should be."""
    return TABLE.sub(lambda _: table(), text, count=1)


def keywords(text: str) -> str:
    """The stub of the package with `identify` at its end, as it should be."""
    return text.partition("def identify(")[0] + stub(steelyard.identify) + "\n"


if __name__ == "__main__":
    STUB.write_text(keywords(STUB.read_text("utf-8")), "utf-8")
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
