"""The report of an analysis."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from html import escape

import numpy as np

from steelyard.cards import FEW
from steelyard.errors import OptionError, choices
from steelyard.identifiable.analysis import Analysis, Status
from steelyard.identifiable.explanation import Again, candidates, changed
from steelyard.identifiable.practical import Excitation, excitation, regression_basis
from steelyard.identifiable.scale_words import MARK, WALKING, marked, scale_lines, scale_sentence
from steelyard.identifiable.structural import Identifiability, identifiability
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Robot
from steelyard.sheets import latex_text, markdown_text
from steelyard.terms import layout_of

MEASURED = {"joints": "joint torques", "base": "a wrench sensor under the robot"}
LOGGED = "commands of drives"


def opening(result: Analysis, analyse: Again) -> tuple[str, ...]:
    """Three sentences on a whole robot, or four: what there is, what this experiment shows of it, where drives log
    commands whether with its scale, and what it cannot show. analyse: the function that made the result, for changed
    experiments."""
    scale = (scale_sentence(result),) if result.scales else ()
    return _all_there_is(result), _shown(result), *scale, _not_shown(result, analyse)


def _all_there_is(result: Analysis) -> str:
    layout = result.mechanism.layout
    bodies, inertial = len(layout.body_names), layout.inertial.stop - layout.inertial.start
    links = f"{bodies} moving link{'s' * (bodies != 1)}"
    text = (
        f"{result.robot.name} has {result.size} parameters: mass, centre of mass and inertia (ten numbers) of {links}"
    )
    return f"{text}{f', and {result.size - inertial} of its drives' * (result.size > inertial)}."


def _shown(result: Analysis) -> str:
    setup = result.setup
    how = "Poses held at rest" if setup.motion == "static" else "Motion"
    if setup.contacts is not None:
        how += " on feet that stand still" if any(setup.contacts.sets) else " in flight"
    words = MEASURED | ({"joints": LOGGED} if result.scales else {})
    measured = " and ".join(words.get(each, each) for each in setup.sensors)
    verb = "recorded" if result.scales else "measured"
    alone = sum(status is Status.ALONE for status in result.status)
    sums = sum(status in (Status.BASE, Status.COMBINED) for status in result.status)
    return (
        f"{how} with {measured} {verb} can show {result.count} independent values: "
        f"{alone} parameters by themselves, {sums} more only in sums with others, however good the data."
    )


def _not_shown(result: Analysis, analyse: Again) -> str:
    hidden = [status is Status.UNIDENTIFIABLE for status in result.status]
    spans = [result.mechanism.layout.body(b) for b in range(len(result.mechanism.layout.body_names))]
    links = [
        name
        for name, at in zip(result.mechanism.layout.body_names, spans, strict=True)
        if any(hidden[at.start : at.stop])
    ]
    of = f" (of {', '.join(links[:FEW])}{' and others' * (len(links) > FEW)})" if links else ""
    lead = f"{sum(hidden)} have no effect on these measurements at all{of}" if any(hidden) else "None is without effect"
    tried = candidates(result, partial(changed, analyse, result))
    gains = [(after.count - result.count, -n, words) for n, (words, after) in enumerate(tried)]
    best = max(gains, default=(0, 0, ""))
    if best[0] <= 0:
        return f"{lead}; no other base, mounting or sensor would show more."
    values = f"{best[0]} more value{'s' * (best[0] != 1)}"
    return f"{lead}; of other experiments, {best[2]} would show most: {values}."


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
    """A few sentences, table, scales of drives, base parameters, explanations of links and the excitation of a log.

    format: "text", "markdown", "html" (a fragment), "latex" or "json" (`document`). explain: links, or "all".
    expressions: whether base parameters are written out. log: one or several, with q, v and a of this robot. coupling:
    as of `coupled_motors`. width: characters of a line of text, longer ones go on indented but for rows of the table;
    None keeps each whole. options: of `identifiability`, whose errors are raised; OptionError for an unknown format.
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
    sentences = opening(result, identifiability)
    if format == "json":
        found = {"opening": list(sentences)} | document(result, links=links, motors=motors, data=data)
        return json.dumps(found, indent=1, ensure_ascii=False)
    sections = [("Scale", [_folded(line, width) for line in scale_lines(result)])] if result.scales else []
    if result.scales and result.robot.floating:
        sections.append(("Walking", [_folded(WALKING, width)]))
    if result.hidden is not None and result.hidden.lines:
        sections.append(("Contacts", [_folded(line, width) for line in result.hidden.lines]))
    if expressions:
        written = zip(result.expressions(), result.scaled[result.columns], strict=True)
        sums = [_folded(marked(line, scaled), width, sum=True) for line, scaled in written]
        sections.append((f"Base parameters{f' ({MARK} up to a scale)' * bool(result.scaled.any())}", sums))
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
    first = [_paragraph(sentences, width, format), "\n".join(table)]
    return "\n\n".join([*first, *(_section(title, lines, format) for title, lines in sections)])


def _paragraph(sentences: Iterable[str], width: int | None, format: str) -> str:
    if format == "html":
        return f"<p>{'<br>'.join(map(escape, sentences))}</p>"
    if format == "latex":
        return "\n".join(map(latex_text, sentences))
    if format == "markdown":
        return "  \n".join(map(markdown_text, sentences))
    return "\n".join(_folded(each, width) for each in sentences)


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


def document(
    result: Identifiability, *, links: Iterable[str] = (), motors: Iterable[str] = (), data: Excitation | None = None
) -> dict:
    """All that the table and its sections say, with links explained in words, sentences on shared motors and excitation
    by data. regroups of base parameters has all terms; status is a name of `Status`, value what the model states,
    scaled whether it shows only up to one of the `scales` that nothing fixes."""
    parameters = zip(result.names, result.units, result.values, result.status, result.scaled, strict=True)
    factors, least = result.basis.regrouping, THRESHOLDS.negligible  # below, factors are rounding
    sizes = np.abs(factors) * result.mechanism.scale
    found = {
        "robot": result.robot.name,
        "count": result.count,
        "size": result.size,
        "method": result.method,
        "bodies": list(result.mechanism.layout.body_names),
        "parameters": [
            {"name": name, "unit": unit, "value": float(value), "status": status.name, "scaled": bool(scaled)}
            for name, unit, value, status, scaled in parameters
        ],
        "base_parameters": [
            {
                "name": result.names[c],
                "expression": text,
                "regroups": [[float(row[j]), result.names[j]] for j in np.flatnonzero(size > least * size.max())],
                "scaled": bool(result.scaled[c]),
            }
            for c, text, row, size in zip(result.columns, result.expressions(), factors, sizes, strict=True)
        ],
        "scales": [asdict(scale) | {"fixed": scale.fixed} for scale in result.scales],
        "hidden_by_contacts": list(result.hidden.lines) if result.hidden is not None else [],
        "dimensions": [asdict(each) for each in result.dimensions or ()],
        "explained": {link: result.explain(link) for link in links},
        "shared_motors": list(motors),
        "notes": list(result.mechanism.notes),
    }
    if data is not None:
        found["excitation"] = {
            "rank": data.rank,
            "condition": data.condition if data.agrees else None,
            "level": {name: float(level) for name, level in zip(data.names, data.level, strict=True)},
            "weakest": list(data.weakest),
        }
    return found


def coupled_motors(result: Identifiability, coupling) -> Iterator[str]:
    """One line a column of the couplings: known on its own account, or which columns it is one with. Raises OptionError
    unless the robot moves freely and all joint torques are measured, and for unknown joints."""
    setup = result.setup
    if setup.base is not None or setup.locked or setup.motion != "dynamic" or setup.sensors != ("joints",):
        raise OptionError(
            "Couplings are analysed where every joint of the robot, as it stands, moves and its torque is measured; "
            "leave out the other base, static poses, sensors and locked joints."
        )
    terms = {"friction": setup.friction, "armature": setup.armature, "rotors": setup.motors}
    layout = layout_of(result.robot, **terms, coupling=coupling)
    basis = regression_basis(result.robot, layout)
    for column, extra in enumerate(layout.extras, start=layout.extra.start):
        made_of = basis.regrouping[:, column]
        if column in basis.columns:
            yield f"{extra.name}: identifiable beside everything else"
        elif not np.any(np.abs(made_of) > THRESHOLDS.negligible_in_motor):
            yield f"{extra.name}: not identifiable"
        else:
            names = [
                layout.names[basis.columns[k]] for k in np.flatnonzero(np.abs(made_of) > THRESHOLDS.negligible_in_motor)
            ]
            yield f"{extra.name}: not to be told from {', '.join(names)}"
