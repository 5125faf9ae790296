"""Parameters with intervals and labels: all of them, identifiable combinations, friction and armature."""

from steelyard.report.numbers import interval, number, percent, plus_minus, share, unit
from steelyard.report.sheet import Cell, Sheet, sheet
from steelyard.terms import TERMS


def every(summary: dict) -> Sheet:
    """All parameters, with interval and label."""
    level = percent(summary["uncertainty"]["level"])
    rows = [
        (
            each["name"],
            number(each["prior"]),
            number(each["identified"]),
            interval(each["lower"], each["upper"]),
            unit(each["unit"]),
            Cell(each["label"], label=each["label"]),
        )
        for each in summary["parameters"]
    ]
    return sheet(
        "Every parameter",
        "Inertia and first moment (h = mass times centre of mass) about the link frame's origin. Intervals of "
        "data-determined parameters hold whatever the given model says; those of model-dependent ones allow for what "
        "the torques show beyond friction as it is modelled; those of others hold as far as the given model does. "
        "Residuals of neighbouring samples are alike, which widens intervals by a factor of "
        f"{number(summary['uncertainty']['inflation'])} over what the number of independent samples promises.",
        (("Name", "text"), "Given", "Identified", f"{level} interval", ("Unit", "text"), ("Determined by", "text")),
        rows,
        folded=f"{len(rows)} parameters, with {level} intervals and what determines each",
    )


def combinations(summary: dict) -> Sheet:
    """Identifiable combinations: what the log determines."""
    level = percent(summary["uncertainty"]["level"])
    rows = [
        (
            each["name"],
            number(each["prior"]),
            number(each["identified"]),
            f"{number(each['deviation'])} ({share(each['relative_deviation'])}{', weak' if each['uncertain'] else ''})",
            interval(each["lower"], each["upper"]),
            unit(each["unit"]),
            Cell(spelled(each["regroups"])),
        )
        for each in summary["base_parameters"]
    ]
    return sheet(
        "Identifiable combinations",
        "These are the numbers the log determines. A combination is named after its leading parameter; in brackets, "
        "the deviation over the size that the parameter could well have in a body of this mass and extent.",
        (
            ("Name", "text"),
            "Given",
            "Identified",
            "Standard deviation",
            f"{level} interval",
            ("Unit", "text"),
            ("Combination", "wrap"),
        ),
        rows,
        folded=f"{len(rows)} combinations, with standard deviations",
    )


def spelled(terms) -> str:
    """A combination as a sum. terms: (coefficient, name), the leading one first."""
    text = ""
    for coefficient, name in terms:
        size = number(abs(coefficient))
        sign = " − " if coefficient < 0 else " + " if text else ""
        text += sign + ("" if size == "1" else f"{size} ") + name
    return text


def terms_of(summary: dict) -> list[str]:
    """Friction terms and armature, as far as they were identified."""
    return [term for term in TERMS if any(term in joint for joint in summary["joints"])]


def friction(summary: dict) -> Sheet:
    """Friction and armature of each joint."""
    terms = terms_of(summary)
    rows = [(joint["name"], *(_friction_cell(joint[term]) for term in terms)) for joint in summary["joints"]]
    return sheet(
        "Friction and armature",
        "Identified ± standard deviation (in brackets where the given model has a say), and the given value in grey.",
        (("Joint", "text"), *terms),
        rows,
    )


def _friction_cell(value: dict) -> Cell:
    text = plus_minus(value["identified"], value["deviation"])
    if value["label"] == "prior-determined":
        text = text.replace("±", "(±") + ")"
    return Cell(f"{text} {unit(value['unit'])}", was=number(value["prior"]))


def couplings(summary: dict) -> Sheet:
    """Inertia and friction of motors that joints share."""
    rows = [
        (each["name"], plus_minus(each["identified"], each["deviation"]), unit(each["unit"]))
        for each in summary["couplings"]
    ]
    return sheet(
        "Motors shared by joints",
        "Inertia and friction that act on a combination of joint speeds, ± standard deviation.",
        (("Joints", "text"), "Identified", ("Unit", "text")),
        rows,
    )
