"""The analysis of a robot as one document, for the command line and for reports."""

import json
import re
import textwrap
from collections.abc import Iterable
from html import escape

from steelyard.errors import OptionError, choices
from steelyard.identifiable.analyze import identifiability
from steelyard.identifiable.document import document
from steelyard.identifiable.excitation import excitation
from steelyard.identifiable.shared import coupled_motors
from steelyard.model import Robot

FORMATS = ("text", "markdown", "html", "latex", "json")
ROW, BODIES = re.compile(r"dim [VKT] +\d| "), re.compile(r"\d+ \S+  ")  # of the table, and the names below it
KEPT = "\N{NO-BREAK SPACE}"


def analyze_report(
    robot: Robot,
    *,
    format: str = "text",
    explain: str | Iterable[str] = (),
    expressions: bool = True,
    log=None,
    coupling=(),
    width: int | None = None,
    **options,
) -> str:
    """Table, base parameters, explanations of some links and the excitation of a log.

    format: "text", "markdown", "html" (a fragment), "latex" or "json" (`document`). explain: links, or "all". log: a
    Log (or several) with q, v and a of this robot. coupling: joints that share a motor, see `coupled_motors`. width:
    characters of a line of text, longer ones go on indented but for rows of the table; None keeps each whole. options:
    of `identifiability`. Raises its errors, and OptionError for an unknown format.
    """
    if format not in FORMATS:
        raise OptionError(f"format is one of {choices(FORMATS)}; got '{format}'.")
    result = identifiability(robot, **options)
    links = (
        result.mechanism.layout.body_names if explain == "all" else (explain,) if isinstance(explain, str) else explain
    )
    terms = {"friction": result.setup.friction, "armature": result.setup.armature}
    motors = tuple(coupled_motors(result, coupling)) if coupling else ()
    data = None if log is None else excitation(log, robot, **terms)
    if format == "json":
        return json.dumps(document(result, links=links, motors=motors, data=data), indent=1, ensure_ascii=False)
    sums = [_folded(line, width, sum=True) for line in result.expressions()] if expressions else []
    sections = [("Base parameters", sums)] if expressions else []
    for link in links:
        lines = result.explain(link).splitlines()  # sums are indented there, and sentences with a colon
        sections.append((link, [_folded(line, width, sum=line.startswith(" ") and ":" not in line) for line in lines]))
    if motors:
        sections.append(("Motors shared by joints", list(motors)))
    if data is not None:
        sections.append(("Excitation", data.summary().splitlines()))
    table = result.table(format).splitlines()
    if format == "text":
        table = [line if ROW.match(line) else _folded(line, width, sum=bool(BODIES.match(line))) for line in table]
    return "\n\n".join(["\n".join(table), *(_section(title, lines, format) for title, lines in sections)])


def _section(title: str, lines: list[str], format: str) -> str:
    if format == "html":
        return f"<h2>{escape(title)}</h2>\n<pre>{escape(chr(10).join(lines))}</pre>"
    body = "\n".join(lines)
    if format == "markdown":
        return f"## {title}\n\n```\n{body}\n```"
    if format == "latex":
        return f"\\paragraph{{{title.replace('_', chr(92) + '_')}}}\n\\begin{{verbatim}}\n{body}\n\\end{{verbatim}}"
    return f"{title}\n{body}"


def _folded(line: str, width: int | None, *, sum: bool = False) -> str:
    """A line in several, indented from the second: at blanks, or of a sum before the sign of a term."""
    if width is None:
        return line
    bound = re.sub(r"(?<=\S) (?![-+] )", KEPT, line) if sum else line
    folded = textwrap.fill(bound, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return re.sub(r" +$", "", folded.replace(KEPT, " "), flags=re.MULTILINE)
