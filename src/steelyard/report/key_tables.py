"""The tables that most readers want: links and joints, each number with its deviation or with what it lacks.

The terminal and the first printed page show them.
"""

import math

from steelyard.cards import FEW
from steelyard.numbers import DASH, number, percent, plus_minus, unit
from steelyard.sheets import Sheet, sheet
from steelyard.terms import TERMS

TEXT = "text"
TOLD = {
    "m": "mass",
    "hx": "first moment x",
    "hy": "first moment y",
    "hz": "first moment z",
    "Ixx": "inertia xx",
    "Iyy": "inertia yy",
    "Izz": "inertia zz",
    "Ixy": "inertia xy",
    "Ixz": "inertia xz",
    "Iyz": "inertia yz",
}
MEASURED = ("data-determined", "model-dependent")
LEAST = 0.01  # share of the torque, below which a wrong value matters to nobody
MOST = 5  # values that are named
ZERO = 1e-9  # SI, of friction and armature: smaller ones are rounding


def key_tables(summary: dict) -> tuple[Sheet, ...]:
    """What the data contradicts, links, and joints where anything was identified of them."""
    tables = (contradicted(summary), _links(summary), _joints(summary))
    return tuple(table for table in tables if table is not None)


def contradicted(summary: dict) -> Sheet | None:
    """Values of the file outside the interval that the data determines, by their effect on torque; None if there are
    none. Of a value that is identifiable only in combination, the combination counts."""
    links = {
        f"{body['name']}.{name}": (body["name"], words) for body in summary["bodies"] for name, words in TOLD.items()
    }
    wrong = [
        each
        for each in summary["base_parameters"]
        if all(name in links for _, name in each["regroups"])  # else armature may be what the file lacks
        and each["label"] in MEASURED
        and not each["lower"] <= each["prior"] <= each["upper"]
        and each.get("effect", 0.0) > LEAST  # summaries of earlier versions have none
    ]
    if not wrong:
        return None
    rows = []
    for each in sorted(wrong, key=lambda found: -found["effect"])[:MOST]:
        link, words = links[each["name"]]
        others = dict.fromkeys(links[name][0] for _, name in each["regroups"] if name in links)
        others.pop(link, None)
        shown = [*others][:FEW]
        more = f" and {len(others) - FEW} more" if len(others) > FEW else ""
        rows.append(
            (
                f"{words} of {link}",
                number(each["prior"]),
                plus_minus(each["identified"], each["deviation"]),
                unit(each["unit"]),
                percent(each["effect"]),
                ", ".join(shown) + more or DASH,
            )
        )
    return sheet(
        "Values of the file that this data contradicts",
        "The largest effects on torque first: RMS torque of the change, over that of the logs. Where other links are "
        "named, only the sum with theirs is identifiable. ± one standard deviation.",
        (("value", TEXT), "file", "found", ("unit", TEXT), "of the torque", ("with parts of", "wrap")),
        rows,
    )


def _links(summary: dict) -> Sheet:
    """Mass, nominal and identified, and centre of mass of each link, each with its deviation or what it lacks."""
    rows = []
    parameters = {each["name"]: each for each in summary["parameters"]}
    for body in summary["bodies"]:
        mass, com = parameters.get(f"{body['name']}.m"), body["identified"]["com"] or [None] * 3
        spread = body["center_covariance"]
        deviations = [None] * 3 if spread is None else [_root(spread[i][i]) for i in range(3)]
        centre = [number(x) if s is None else plus_minus(x, s) for x, s in zip(com, deviations, strict=True)]
        unknown = body["knowledge"][0] == "model"
        told = f"{number(body['identified']['mass'])} not shown" if unknown else _valued(mass, body)
        rows.append((body["name"], number(body["prior"]["mass"]), told, *centre))
    return sheet(
        "Links",
        "± one standard deviation ('not shown': by no motion at all)",
        (("link", TEXT), "nominal mass", "mass [kg]", "com x [m]", "com y [m]", "com z [m]"),
        rows,
    )


def _valued(mass: dict | None, body: dict) -> str:
    """A mass with its interval, or that only sums with other masses move the robot."""
    if mass is None or body["knowledge"][0] == "combination":
        return f"{number(body['identified']['mass'])} only in sums"
    return _with_deviation(mass)


def _with_deviation(found: dict) -> str:
    """An identified value, its standard deviation, and where it comes from if not from the data alone."""
    if abs(found["identified"]) < ZERO and found["upper"] - found["lower"] < ZERO:
        return "0"  # held at its bound
    mark = {"prior-determined": " (prior)", "model-dependent": " (if the model is right)"}.get(found["label"], "")
    return f"{plus_minus(found['identified'], found['deviation'])}{mark}"


def _root(variance) -> float | None:
    return None if variance is None or variance < 0 else math.sqrt(variance)


def _joints(summary: dict) -> Sheet | None:
    """Friction and armature of each joint with their deviations; None where nothing was identified of them."""
    terms = [term for term in TERMS if any(term in joint for joint in summary["joints"])]
    if not terms:
        return None
    units = {term: next(joint[term]["unit"] for joint in summary["joints"] if term in joint) for term in terms}
    titles = [f"{term} [{unit(units[term])}]" for term in terms]
    rows = [(joint["name"], *(_in_unit(joint.get(term), units[term]) for term in terms)) for joint in summary["joints"]]
    return sheet("Joints", "in the same way", (("joint", TEXT), *titles), rows)


def _in_unit(found: dict | None, usual: str) -> str:
    if found is None:
        return DASH
    return _with_deviation(found) + ("" if found["unit"] == usual else f" {unit(found['unit'])}")
