"""A report as sections of text, figures and tables: the same for the page and for Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.report.numbers import number, plural
from steelyard.report.sheet import Sheet
from steelyard.report.sheets import data, links, parameters, payload, runs, torques

FEW = 8  # joints whose figures stand open; of more, only the worst do
WORST = 4


@dataclass(frozen=True)
class Part:
    """Paragraph, command, list, table and group of figures, as far as given, in this order.

    figures: keys of figures; robot: whether the 3D view stands here; folded: words that stand for all this until the
    reader opens it.
    """

    text: str = ""
    code: str = ""
    items: tuple[str, ...] = ()
    sheet: Sheet | None = None
    figures: tuple[tuple[str, int], ...] = ()
    robot: bool = False
    folded: str = ""


@dataclass(frozen=True)
class Section:
    """title: of the heading; anchor: its address in the page, and its name in the list of sections."""

    title: str
    anchor: str
    parts: tuple[Part, ...]


def sections(summary: dict) -> list[Section]:
    """Everything below the first screen of an identification, in the order of questions."""
    return [
        Section("Torques the fit has not seen", "Torques", tuple(_torques(summary))),
        Section("What could not be known, and what would show it", "Unknown", tuple(_unknown(summary))),
        Section("Links", "Links", tuple(_links(summary))),
        Section("Friction and motors", "Friction", tuple(_friction(summary))),
        Section("Every number, with its interval", "Parameters", tuple(_parameters(summary))),
        Section("What is left, and what it looks like", "Residuals", tuple(_residuals(summary))),
        Section("The data", "Data", tuple(_data(summary))),
        Section("Certificates", "Certificates", tuple(_certificates(summary["fit"]))),
        Section("Where this comes from, and how to repeat it", "Repeat", tuple(_repeat(summary))),
    ]


def compared(summary: dict) -> list[Section]:
    """Everything below the first screen of a comparison."""
    errors = [Part(sheet=runs.runs(summary))]
    if summary["joints"]:
        errors += [Part(figures=(("run_errors", 0),)), Part(sheet=runs.joints(summary))]
    found = [Section("What was compared", "Results", tuple(errors))]
    if summary["values"]:
        parts = Part(figures=(("run_differences", 0),)), Part(sheet=runs.values(summary))
        found.append(Section("Do the numbers repeat?", "Repeatability", parts))
    if summary["masses"]:
        found.append(Section("Links", "Links", (Part(figures=(("run_masses", 0),)), Part(sheet=runs.masses(summary)))))
    commands = "\n".join(run["command"] for run in summary["runs"])
    return [*found, Section("How to repeat these results", "Repeat", (Part(code=commands),))]


def carried(summary: dict) -> list[Section]:
    """Everything below the first screen of a payload run."""
    found = summary["payload"]
    channels = [Part(sheet=payload.channels(summary)), Part(figures=(("unexplained", 0),))]
    channels.append(Part(figures=tuple(("wrench", i) for i in range(len(summary["channels"])))))
    method = Part(text=f"Method {found['method']}: {found['why']}.")
    sections = [
        Section("The payload", "Payload", (Part(sheet=payload.values(summary)), method)),
        Section("What it explains", "Signals", tuple(channels)),
    ]
    if summary["export"]:
        parts = [Part(text=f"{name}:", code=text) for name, text in summary["export"].items()]
        sections.append(Section("Settings for controllers and files", "Export", tuple(parts)))
    if found["notes"]:
        sections.append(Section("What was assumed and done", "Notes", (Part(items=tuple(found["notes"])),)))
    return [*sections, Section("Where this comes from, and how to repeat it", "Repeat", tuple(_repeat(summary)))]


def _unknown(summary: dict) -> Iterator[Part]:
    if not summary["unknown"]:
        yield Part(text="Every parameter has an effect on the recorded torques that tells it from all others.")
    for entry in summary["unknown"]:
        yield Part(text=f"{entry['why']} {entry['remedy']}", code=entry["command"])
        yield Part(items=tuple(_by_link(entry["names"])), folded=f"the {plural(len(entry['names']), 'name')}")


def _by_link(names: list[str]) -> Iterator[str]:
    """`link1: m, hx, hy` of `link1.m`, `link1.hx`, ..."""
    owned: dict[str, list[str]] = {}
    for name in names:
        owner, _, parameter = name.rpartition(".")
        owned.setdefault(owner, []).append(parameter)
    yield from (f"{owner}: {', '.join(each)}" if owner else ", ".join(each) for owner, each in owned.items())


def _torques(summary: dict) -> Iterator[Part]:
    joints = summary["held_out"]["joints"]
    shown = range(len(joints))
    yield Part(figures=(("errors", 0), ("contributions", 0)))
    yield Part(sheet=torques.errors(summary))
    if len(joints) > FEW:
        worst = sorted(shown, key=lambda i: -(joints[i]["relative_after"] or 0.0))[:WORST]
        yield Part(text=f"The {WORST} joints with the largest relative errors:")
        yield Part(figures=tuple(_of_joints(sorted(worst))))
        rest = [i for i in shown if i not in worst]
        yield Part(figures=tuple(_of_joints(rest)), folded=f"the other {len(rest)} joints")
    else:
        yield Part(figures=tuple(_of_joints(shown)))


def _of_joints(places) -> Iterator[tuple[str, int]]:
    for i in places:
        yield from (("torque", i), ("parts", i))


def _links(summary: dict) -> Iterator[Part]:
    yield Part(robot=True)
    yield Part(figures=(("masses", 0), ("precision", 0)))
    yield Part(sheet=links.links(summary))


def _friction(summary: dict) -> Iterator[Part]:
    if summary["joints"] and parameters.terms_of(summary):
        yield Part(sheet=parameters.friction(summary))
        friction = tuple(("friction", i) for i in range(len(summary["held_out"]["joints"])))
        yield Part(figures=friction, folded="" if len(friction) <= FEW else f"friction of {len(friction)} joints")
    else:
        yield Part(text="No friction and no armature were identified.")
    if summary["couplings"]:
        yield Part(sheet=parameters.couplings(summary))
    if summary["rotors"]:
        yield Part(sheet=links.rotors(summary))


def _parameters(summary: dict) -> Iterator[Part]:
    yield Part(sheet=parameters.every(summary))
    yield Part(sheet=parameters.combinations(summary))


def _residuals(summary: dict) -> Iterator[Part]:
    faults = [each for each in summary["findings"] if each["code"] in summary["diagnosis"]["faults"]]
    if faults:
        yield Part(text="Named faults, in the order of what they explain:")
        yield Part(items=tuple(f"{each['code'].replace('_', ' ')}: {each['message']}" for each in faults))
    else:
        yield Part(
            text="None of the common mistakes (gravity, signs, delays, scales, loads, coupled joints, units) was found."
        )
    yield Part(figures=(("residuals", 0),))
    yield Part(sheet=torques.residuals(summary))


def _data(summary: dict) -> Iterator[Part]:
    found = [each for each in summary["findings"] if each["code"] not in summary["diagnosis"]["faults"]]
    if found:
        yield Part(items=tuple(f"{each['severity']} ({each['code']}): {each['message']}" for each in found))
    else:
        yield Part(text="No fault was found in the logs.")
    yield Part(sheet=data.logs(summary))
    for health in summary["health"]:
        if health["signals"]:
            yield Part(sheet=data.signals(health))
        if health["motion"]:
            yield Part(sheet=data.motion(health))
    if summary["notes"]:
        words = "what was assumed, converted, left out or not written"
        yield Part(items=tuple(summary["notes"]), folded=f"{plural(len(summary['notes']), 'note')}: {words}")


def _certificates(fit: dict) -> Iterator[Part]:
    yield Part(text=f"{fit['method']}: {fit['status_text']}.")
    if fit["certificate"]:
        found = fit["certificate"]
        yield Part(
            text=f"Relative duality gap {number(found['duality_gap'])}; smallest eigenvalue of the links' "
            f"pseudo-inertias, relative to the given model's, {number(found['smallest_eigenvalue'])}; smallest slack "
            f"of all other bounds, relative to what each bounds, {number(found['smallest_slack'])}."
        )
    if fit["binding"]:
        yield Part(items=tuple(fit["binding"]), folded=f"{plural(len(fit['binding']), 'bound')} hold the estimate back")
    if fit["weak_directions"]:
        yield Part(items=tuple(fit["weak_directions"]), folded=f"{len(fit['weak_directions'])} barely excited")


def _repeat(summary: dict) -> Iterator[Part]:
    yield Part(code=summary["command"])
    yield Part(sheet=data.inputs(summary))
    job = {key: value for key, value in summary["job"].items() if value not in (None, [], {}, False)}
    yield Part(items=tuple(f"{key}: {_plain(value)}" for key, value in job.items()), folded="every option of the run")


def _plain(value) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
