"""Links and rotors, nominal and identified: their numbers, tables and figures."""

from collections.abc import Iterator

import numpy as np

from steelyard.inertia import pseudo, rotational_inertia, to_com_inertia
from steelyard.inertia.parameters import DIAGONAL_FIRST, TENSOR
from steelyard.numbers import ROUNDING, number
from steelyard.pipeline import Result
from steelyard.report.document import Chapter, Part
from steelyard.report.identification_records import Robot, RotorEstimate
from steelyard.report.labels import knowledge
from steelyard.report.schema import filled
from steelyard.sheets import Cell, Sheet, sheet

MARKS = {"data": "", "combination": "*", "model": "†"}


def _numbers(result: Result, _: dict) -> dict:
    robot = result.prior
    about = filled(Robot, robot, bodies=robot.body_names, joints=robot.joint_names, degrees_of_freedom=robot.nv)
    return {"robot": about, "bodies": _bodies(result), "rotors": _rotors(result)}


def _bodies(result: Result) -> list[dict]:
    estimate, layout = result.estimate, result.estimate.layout
    known = knowledge(estimate.basis)
    return [
        {
            "name": name,
            "links": [link.name for link in result.prior.links if link.body == i],
            "prior": spelled_out(result.prior.inertias[i]),
            "identified": spelled_out(estimate.theta[i]),
            "knowledge": known[layout.body(i)],
            "smallest_eigenvalue": estimate.smallest_eigenvalues[i],
            "center_covariance": result.uncertainty.centers[i],
        }
        for i, name in enumerate(layout.body_names)
    ]


def spelled_out(theta) -> dict:
    """Mass, centre of mass, inertia about it (body axes), theta (10,) of one body; None where mass is not positive."""
    theta = np.asarray(theta, dtype=float)
    if theta[0] <= 0:
        return {"mass": theta[0], "com": None, "inertia": None, "theta": theta}
    mass, com, inertia = to_com_inertia(theta)
    size = np.abs(inertia).max()
    inertia = np.where(np.abs(inertia) < ROUNDING * size, 0.0, inertia)
    com = np.where(np.abs(com) < ROUNDING * np.sqrt(size / mass), 0.0, com)
    return {"mass": mass, "com": com, "inertia": inertia, "theta": theta}


def _rotors(result: Result) -> list[dict]:
    """Rotors that are bodies of the regression; their parameters are in the rotor frame."""
    estimate, layout = result.estimate, result.estimate.layout
    known = knowledge(estimate.basis)
    if not layout.rotor_names:
        return []
    return [
        filled(
            RotorEstimate,
            rotor,
            joint="+".join(joint for joint, _ in rotor.gears),
            prior=rotor_numbers(rotor, rotor.theta),
            identified=rotor_numbers(rotor, estimate.rotors[i]),
            knowledge=known[layout.body(len(layout.body_names) + i)],
            smallest_eigenvalue=np.linalg.eigvalsh(pseudo.to_matrix(estimate.rotors[i]))[0],
        )
        for i, rotor in enumerate(result.prior.rotors)
    ]


def rotor_numbers(rotor, theta) -> dict:
    """As of a body, and the moment of inertia about the rotor's axis."""
    axis = rotor.own_axis
    return spelled_out(theta) | {"spin_inertia": axis @ rotational_inertia(theta) @ axis}


def _parts(summary: dict) -> Iterator[Part]:
    yield Part(robot="Masses given and identified, and the 95 % regions of the centres of mass.")
    yield Part(figures=(("masses", 0), ("precision", 0)))
    yield Part(sheet=_link_sheet(summary))


def _link_sheet(summary: dict) -> Sheet:
    """One row a body: mass, centre of mass, inertia about it, each with the nominal value and what determines it."""
    rows = []
    for body in summary["bodies"]:
        was, now, known = body["prior"], body["identified"], body["knowledge"]
        cells = [_cell(now["mass"], was["mass"], known[0])]
        cells += [_cell(_at(now["com"], i), _at(was["com"], i), known[1 + i]) for i in range(3)]
        cells += [
            _cell(_at(now["inertia"], *at), _at(was["inertia"], *at), known[4 + TENSOR.index(at)])
            for at in DIAGONAL_FIRST
        ]
        fixed = len(body["links"]) - 1
        name = Cell(body["name"], note=f"with {fixed} fixed to it" if fixed > 0 else "")
        rows.append((name, *cells, number(body["smallest_eigenvalue"])))
    centres = [f"com {axis} [m]" for axis in "xyz"]
    inertias = [f"{name} [kg m²]" for name in ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")]
    return sheet(
        "Links",
        "Identified, and the nominal value in grey; body frame, inertia about the centre of mass. Marks: * is "
        "identifiable only in sums with other parameters, † by no motion, so it follows from the nominal model. Last: "
        "smallest eigenvalue of the pseudo-inertia, positive for a physically consistent body.",
        (("Link", "text"), "Mass [kg]", *centres, *inertias, "min. eig. of J"),
        rows,
    )


def _at(values, *indices):
    for index in indices:
        values = None if values is None else values[index]
    return values


def _cell(now, was, known: str) -> Cell:
    return Cell(number(now), was=number(was), mark=MARKS[known])


def rotor_sheet(summary: dict) -> Sheet:
    """Rotors that are bodies: inertia about the axis, at the motor and at the joint."""
    rows = []
    for each in summary["rotors"]:
        spin = [each[key]["spin_inertia"] for key in ("identified", "prior")]
        at_joint = [each["gear_ratio"] ** 2 * value for value in spin]
        cells = (Cell(number(now), was=number(was)) for now, was in (spin, at_joint))
        rows.append((each["joint"], each["carrier"] or "the ground", number(each["gear_ratio"]), *cells))
    return sheet(
        "Rotors",
        "Moment of inertia about the rotor's axis, identified and nominal in grey. The rest of a rotor's mass and "
        "inertia acts like a part of the link that carries it.",
        (("Joint", "text"), ("Carried by", "text"), "Gear ratio", "At the motor [kg m²]", "At the joint [kg m²]"),
        rows,
    )


LINKS = Chapter("Links", "Links", _numbers, _parts)
