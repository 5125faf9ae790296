"""Masses, centres and inertias of links, given and identified."""

from steelyard.report.numbers import number
from steelyard.report.sheet import Cell, Sheet, sheet

MARKS = {"data": "", "combination": "*", "model": "†"}
ENTRIES = ((0, 0, 4), (1, 1, 6), (2, 2, 9), (0, 1, 5), (0, 2, 7), (1, 2, 8))  # row, column, place in theta


def links(summary: dict) -> Sheet:
    """One row a body: mass, centre of mass, inertia about it, each with the given value and what shows it."""
    rows = []
    for body in summary["bodies"]:
        was, now, known = body["prior"], body["identified"], body["knowledge"]
        cells = [_cell(now["mass"], was["mass"], known[0])]
        cells += [_cell(_at(now["com"], i), _at(was["com"], i), known[1 + i]) for i in range(3)]
        cells += [_cell(_at(now["inertia"], i, j), _at(was["inertia"], i, j), known[k]) for i, j, k in ENTRIES]
        fixed = len(body["links"]) - 1
        name = Cell(body["name"], note=f"with {fixed} fixed to it" if fixed > 0 else "")
        rows.append((name, *cells, number(body["smallest_eigenvalue"])))
    centres = [f"com {axis} [m]" for axis in "xyz"]
    inertias = [f"{name} [kg m²]" for name in ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")]
    return sheet(
        "Links",
        "Identified, and the given value in grey; body frame, inertia about the centre of mass. Marks: * shows only in "
        "combination with other parameters, † no motion shows it, so it follows from the given model. Last: smallest "
        "eigenvalue of the pseudo-inertia, positive for a body that can exist.",
        (("Link", "text"), "Mass [kg]", *centres, *inertias, "min. eig. of J"),
        rows,
    )


def _at(values, *indices):
    for index in indices:
        values = None if values is None else values[index]
    return values


def _cell(now, was, known: str) -> Cell:
    return Cell(number(now), was=number(was), mark=MARKS[known])


def rotors(summary: dict) -> Sheet:
    """Rotors that are bodies: inertia about the axis, at the motor and at the joint."""
    rows = []
    for each in summary["rotors"]:
        spin = [each[key]["spin_inertia"] for key in ("identified", "prior")]
        at_joint = [each["gear_ratio"] ** 2 * value for value in spin]
        own = Cell(number(spin[0]), was=number(spin[1]))
        rows.append(
            (
                each["joint"],
                each["carrier"] or "the ground",
                number(each["gear_ratio"]),
                own,
                Cell(number(at_joint[0]), was=number(at_joint[1])),
            )
        )
    return sheet(
        "Rotors",
        "Moment of inertia about the rotor's axis, identified and given in grey. What else a rotor weighs acts like a "
        "part of the link that carries it.",
        (("Joint", "text"), ("Carried by", "text"), "Gear ratio", "At the motor [kg m²]", "At the joint [kg m²]"),
        rows,
    )
