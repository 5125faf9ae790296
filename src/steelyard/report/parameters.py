"""Parameters with intervals and labels: all of them, identifiable combinations, friction and armature."""

from collections.abc import Iterator

import numpy as np

from steelyard.fit import Source
from steelyard.fit.prior import model_parameters
from steelyard.numbers import ROUNDING, interval, number, percent, plus_minus, share, unit
from steelyard.pipeline import Result
from steelyard.report.document import Chapter, ReportPart
from steelyard.report.identification_records import UncertaintyRecord
from steelyard.report.labels import POOR, column_units, grades, sizes
from steelyard.report.links import rotor_sheet
from steelyard.report.schema import filled
from steelyard.report.torques import FEW
from steelyard.sheets import Cell, Sheet, sheet
from steelyard.weighed_columns import SHAPED_FRICTION, Extra

UNCERTAIN = (
    0.1  # deviation over natural size (`labels.sizes`), half of what a file is believed to, that is poorly known
)


RESTS_ON = {  # labels of `Source`, in words
    "data-determined": "data",
    "model-dependent": "data and friction",
    "prior-determined": "data and model",
    "unidentifiable": "model",
    "given": "given",
}


def _parameters(result: Result) -> list[dict]:
    layout = result.estimate.layout
    nominal, units = model_parameters(result.prior, layout), column_units(result.prior, layout)
    intervals = _intervals(result.uncertainty.parameters)
    rows = list(zip(layout.names, units, nominal, intervals, strict=True))
    return [
        {"name": name, "unit": each_unit, "prior": value} | each
        for name, each_unit, value, each in (rows[column] for column in layout.in_plain)
    ]


def _intervals(intervals) -> list[dict]:
    columns = (intervals.estimate, intervals.deviation, intervals.lower, intervals.upper, intervals.labels)
    keys = ("identified", "deviation", "lower", "upper", "label")
    return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _base_parameters(result: Result) -> list[dict]:
    estimate, layout, basis = result.estimate, result.estimate.layout, result.estimate.basis
    nominal = basis.regroup(model_parameters(result.prior, layout))
    units = column_units(result.prior, layout)
    intervals, plain = _intervals(result.uncertainty.base), set(layout.in_plain)
    deviation = result.uncertainty.base.deviation
    size = np.abs(basis.regrouping) @ sizes(result.prior, estimate)
    nominal = np.where(np.abs(nominal) < ROUNDING * size, 0.0, nominal)
    relative = np.divide(deviation, size, out=np.full_like(size, np.inf), where=size > 0)
    return [
        {
            "name": layout.names[column],
            "unit": units[column],
            "prior": nominal[k],
            **intervals[k],
            "degrees": result.uncertainty.degrees[k],
            "relative_deviation": relative[k],
            "uncertain": bool(relative[k] > UNCERTAIN),
            "effect": float(abs(estimate.base[k] - nominal[k]) * result.torque_of[k]),
            "regroups": _regrouped(layout.names, basis.regrouping[k], column),
        }
        for k, column in enumerate(basis.columns)
        if column in plain
    ]


def _regrouped(names, row, leading: int) -> list[list]:
    """`[coefficient, name]` of every parameter in a combination, the leading one first, then by size. row: (p,)."""
    order = sorted(np.flatnonzero(np.abs(row) > 1e-9), key=lambda i: (i != leading, -abs(row[i])))
    return [[float(row[i]), names[i]] for i in order]


def _uncertainty(result: Result) -> dict:
    found = result.uncertainty
    labels = {source.value: int(np.sum(found.parameters.by(source))) for source in Source}
    return filled(UncertaintyRecord, found, level=found.parameters.level, draws=0, labels=labels)


def _parameter_sheet(summary: dict) -> Sheet:
    level, grade = percent(summary["uncertainty"]["level"]), grades(summary)
    return sheet(
        "Every parameter",
        "Inertia and first moment (h = mass times centre of mass) about the link frame's origin. Intervals that rest "
        "on data hold whatever the nominal model is, with friction as far as it has the assumed shape; all others as "
        "far as the nominal model holds. Correlated residuals widen intervals by a factor of "
        f"{number(summary['uncertainty']['inflation'])}.",
        {
            ("Name", "text"): "name",
            "Nominal": "prior",
            "Identified": "identified",
            f"{level} interval": _written_interval,
            ("Unit", "text"): _unit,
            ("Interval rests on", "text"): lambda each: Cell(RESTS_ON[each["label"]], label=each["label"]),
            ("Grade", "wrap"): lambda each: grade[each["name"]],
        },
        summary["parameters"],
        folded=f"{len(summary['parameters'])} parameters, with grades and {level} intervals",
    )


def _combination_sheet(summary: dict) -> Sheet:
    return sheet(
        "Identifiable combinations",
        "The log determines these numbers. A combination is named after its leading parameter; in brackets, the "
        "deviation over the size that the parameter could well have in a body of this mass and extent.",
        {
            ("Name", "text"): "name",
            "Nominal": "prior",
            "Identified": "identified",
            "Standard deviation": lambda each: (
                f"{number(each['deviation'])} ({share(each['relative_deviation'])}{f', {POOR}' * each['uncertain']})"
            ),
            f"{percent(summary['uncertainty']['level'])} interval": _written_interval,
            ("Unit", "text"): _unit,
            ("Combination", "wrap"): lambda each: written_sum(each["regroups"]),
        },
        summary["base_parameters"],
        folded=f"{len(summary['base_parameters'])} combinations, with standard deviations",
    )


def _written_interval(each: dict) -> str:
    return interval(each["lower"], each["upper"])


def _unit(each: dict) -> str:
    return unit(each["unit"])


def written_sum(terms) -> str:
    """A combination as a sum. terms: (coefficient, name), the leading one first."""
    text = ""
    for coefficient, name in terms:
        size = number(abs(coefficient))
        sign = " − " if coefficient < 0 else " + " if text else ""
        text += sign + ("" if size == "1" else f"{size} ") + name
    return text


def _friction_numbers(result: Result, _: dict) -> dict:
    found = {name: vars(each) | {"certain": each.certain} for name, each in result.estimate.nuisances.items()}
    return {"joints": _joints(result), "couplings": _couplings(result), "nuisances": found}


def _joints(result: Result) -> list[dict]:
    layout, parameters = result.estimate.layout.plain, _parameters(result)
    entries = []
    for place, name in enumerate(layout.dof_names):
        columns = {term: layout.term(term).start + place for term in layout.terms}
        values = {term: {k: v for k, v in parameters[c].items() if k != "name"} for term, c in columns.items()}
        entries.append({"name": name} | values)
    return entries


def _couplings(result: Result) -> list[dict]:
    """Columns beyond those of single joints: motors that joints share, springs, friction of some joints."""
    layout, intervals = result.estimate.layout, _intervals(result.uncertainty.parameters)
    return [
        {
            "name": extra.name,
            "term": extra.kind,
            "ratios": {result.prior.dof_names[d]: r for d, r in zip(extra.dofs, _ratios(extra), strict=True)},
            "unit": extra.unit,
            **intervals[column],
        }
        for column, extra in enumerate(layout.extras, start=layout.extra.start)
    ]


def _ratios(extra: Extra) -> tuple[float, ...]:
    """Of each degree; those that one column acts on as it is have 1."""
    return extra.ratios if len(extra.ratios) == len(extra.dofs) else (1.0,) * len(extra.dofs)


def _friction_parts(summary: dict) -> Iterator[ReportPart]:
    terms = list(dict.fromkeys(key for joint in summary["joints"] for key in joint if key != "name"))
    if terms:
        yield ReportPart(sheet=_friction_sheet(summary, terms))
        friction = tuple(("friction", i) for i in range(len(summary["held_out"]["joints"])))
        yield ReportPart(figures=friction, folded="" if len(friction) <= FEW else f"friction of {len(friction)} joints")
    else:
        yield ReportPart(text="No friction and no armature were identified.")
    if any(_has_row(each, summary) for each in summary["couplings"]):
        yield ReportPart(sheet=_coupling_sheet(summary))
    if summary.get("nuisances"):
        yield ReportPart(sheet=_nuisance_sheet(summary))
    if summary["rotors"]:
        yield ReportPart(sheet=rotor_sheet(summary))


def _friction_sheet(summary: dict, terms: list[str]) -> Sheet:
    rows = [(joint["name"], *(_friction_cell(joint[term]) for term in terms)) for joint in summary["joints"]]
    return sheet(
        "Friction and armature",
        "Identified ± one standard deviation (in brackets where the interval rests on the nominal model, too), the "
        "nominal value in grey.",
        (("Joint", "text"), *terms),
        rows,
    )


def _friction_cell(value: dict) -> Cell:
    text = plus_minus(value["identified"], value["deviation"])
    if value["label"] == "prior-determined":
        text = text.replace("±", "(±") + ")"
    return Cell(f"{text} {unit(value['unit'])}", was=number(value["prior"]))


def _has_row(each: dict, summary: dict) -> bool:
    """Whether a column is neither of a friction curve nor a mistake of the logs, which have a figure and a table."""
    return each["term"] not in SHAPED_FRICTION and each["name"] not in summary.get("nuisances", {})


def _coupling_sheet(summary: dict) -> Sheet:
    return sheet(
        "Shared motors, springs and columns of the user",
        "Terms of a combination of joint speeds, of a position, or of some joints alone, ± one standard deviation.",
        {
            ("What", "text"): "name",
            "Identified": lambda each: plus_minus(each["identified"], each["deviation"]),
            ("Unit", "text"): _unit,
        },
        [each for each in summary["couplings"] if _has_row(each, summary)],
    )


def _nuisance_sheet(summary: dict) -> Sheet:
    found = [{"name": name} | each for name, each in summary["nuisances"].items()]
    return sheet(
        "Mistakes of the logs",
        "Lean of the base, zeros of encoders, gains of torques and springs, identified beside links, which are free "
        "of them, ± one standard deviation. Without evidence a mistake stays near zero.",
        {
            ("Mistake", "text"): "name",
            "Identified": lambda each: plus_minus(each["value"], each["deviation"]),
            ("Unit", "text"): _unit,
            ("Beyond doubt", "text"): lambda each: "yes" if each["certain"] else "none found",
        },
        sorted(found, key=lambda each: not each["certain"]),
        folded=f"{len(found)} mistakes that were looked for",
    )


FRICTION = Chapter("Friction and motors", "Friction", _friction_numbers, _friction_parts)
PARAMETERS = Chapter(
    "Every number, with its interval",
    "Parameters",
    lambda result, _: {
        "parameters": _parameters(result),
        "base_parameters": _base_parameters(result),
        "uncertainty": _uncertainty(result),
    },
    lambda summary: [ReportPart(sheet=of(summary)) for of in (_parameter_sheet, _combination_sheet)],
)
