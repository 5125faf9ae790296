"""What can be said of each number: its unit, and whether the data could determine it at all."""

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.fit.prior import model_parameters
from steelyard.identifiable.basis import Basis
from steelyard.inertia import pseudo
from steelyard.inertia.parameters import UNITS
from steelyard.model import Robot
from steelyard.numbers import SAME
from steelyard.terms import TERMS, ParameterLayout

ROTARY, LINEAR = (
    {"q": q, "tau": tau} | {term.name: term.units[place] for term in TERMS.values()}
    for place, (q, tau) in enumerate((("rad", "N m"), ("m", "N")))
)


def dof_units(robot: Robot) -> tuple[dict[str, str], ...]:
    """One dictionary a velocity coordinate: units of position ("q"), torque ("tau") and of each term."""
    columns = [column for joint in robot.free_joints for column in joint.subspace.T]
    return tuple(ROTARY if np.any(column[3:]) else LINEAR for column in columns)


def of_joints(names: Sequence[str], units: Sequence[str], **columns) -> list[dict]:
    """One dictionary a joint: its name, its unit and what each column has for it."""
    rows = zip(names, units, *columns.values(), strict=True)
    return [dict(zip(("name", "unit", *columns), row, strict=True)) for row in rows]


def column_units(robot: Robot, layout: ParameterLayout) -> tuple[str, ...]:
    """One unit a column of a layout, with newtons where joints slide."""
    units = dof_units(robot)
    terms = (units[dof][term] for term in layout.terms for dof in layout.dofs)
    return (*UNITS * len(layout.bodies), *terms, *(extra.unit for extra in layout.extras))


def sizes(robot: Robot, estimate) -> np.ndarray:
    """(p,) natural size of every parameter, so that zero is a value like any other: of bodies the geometric means of
    the second moments that one mixes, averaged over both models; of armature its link's; of friction the larger."""
    layout = estimate.layout
    given, found = model_parameters(robot, layout), estimate.parameters
    size = np.maximum(np.abs(given), np.abs(found))
    inertial = np.stack([p[layout.inertial].reshape(-1, 10) for p in (given, found)])
    xx, yy, zz, m = np.maximum(np.diagonal(pseudo.to_matrix(inertial), axis1=-2, axis2=-1).mean(axis=0), 0.0).T
    first, products = (np.sqrt([m * xx, m * yy, m * zz]), np.sqrt([xx * yy, xx * zz, yy * zz]))
    rows = [m, *first, yy + zz, products[0], xx + zz, products[1], products[2], xx + yy]
    size[layout.inertial] = np.stack(rows, axis=1).ravel()
    if "offset" in layout.terms and "coulomb" in layout.terms:
        size[layout.term("offset")] += size[layout.term("coulomb")]
    if "armature" in layout.terms:
        size[layout.term("armature")] += (xx + yy + zz)[_bodies_of(robot)[list(layout.dofs)]]
    return size


def _bodies_of(robot: Robot) -> np.ndarray:
    """(nv,) body that each velocity coordinate moves first; inner joints of a compound one come before its body."""
    return np.array(
        [
            np.searchsorted(robot.body_joints, index)
            for index, joint in enumerate(robot.joints)
            if joint.mimics is None
            for _ in range(joint.nv)
        ]
    )


# Grades of a parameter, each with its mark in tables.
ALONE, COMBINED, UNSEEN, POOR = "identifiable", "identifiable only in combination", "not identifiable", "poorly excited"
MARKS = {ALONE: "", COMBINED: "*", UNSEEN: "†", POOR: "‡"}
DETERMINED = ("data-determined", "model-dependent")  # labels of what a log determines, with an interval of its own
LEGEND = f"Marks: {'; '.join(f'{mark} {grade}' for grade, mark in MARKS.items() if mark)}."


def grades(summary: Mapping) -> dict[str, str]:
    """Grade of every parameter, by the combinations of a summary; poorly excited are those alone in such a one."""
    found = dict.fromkeys((each["name"] for each in summary["parameters"]), UNSEEN)
    for each in summary["base_parameters"]:
        names = [name for _, name in each["regroups"]]
        alone = POOR if each["uncertain"] and each["label"] != "given" else ALONE
        found |= dict.fromkeys(names, COMBINED if len(names) > 1 else alone)
    return found


def knowledge(basis: Basis) -> tuple[str, ...]:
    """What this robot's motion can show of each column, whatever the log: the parameter on its own ("data"), in a sum
    with others ("combination"), or nothing of it ("model")."""
    alone = np.all(np.abs(basis.null_space) < SAME, axis=1)
    seen = np.any(np.abs(basis.regrouping) > SAME, axis=0)
    return tuple("data" if a else "combination" if s else "model" for a, s in zip(alone, seen, strict=True))
