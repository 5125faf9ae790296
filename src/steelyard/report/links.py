"""Links, rotors and joints, nominal and identified: their numbers, and the tables that most readers want."""

import math
from collections.abc import Iterator

import numpy as np

from steelyard.cards import FEW, SEVERAL
from steelyard.inertia import pseudo, rotational_inertia, to_com_inertia
from steelyard.inertia.parameters import DIAGONAL_FIRST, NAMES, TENSOR
from steelyard.numbers import DASH, NEGLIGIBLE, ROUNDING, number, percent, plus_minus, some, unit
from steelyard.pipeline import Result
from steelyard.report.document import Chapter, ReportPart
from steelyard.report.identification_records import RobotRecord, RotorEstimate
from steelyard.report.labels import ALONE, DETERMINED, LEGEND, MARKS, POOR, grades, knowledge
from steelyard.report.schema import filled
from steelyard.sheets import Cell, Sheet, sheet
from steelyard.terms import TERMS


def _numbers(result: Result, _: dict) -> dict:
    robot = result.prior
    about = filled(RobotRecord, robot, bodies=robot.body_names, joints=robot.joint_names, degrees_of_freedom=robot.nv)
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


def _parts(summary: dict) -> Iterator[ReportPart]:
    yield ReportPart(robot="Masses given and identified, and the 95 % regions of the centres of mass.")
    yield ReportPart(figures=(("masses", 0), ("precision", 0)))
    yield ReportPart(sheet=_link_sheet(summary))


def _link_sheet(summary: dict) -> Sheet:
    """One row a body: mass, centre of mass, inertia about it, each with the nominal value and what determines it."""
    rows, found = [], grades(summary)
    for body in summary["bodies"]:
        was, now = body["prior"], body["identified"]
        known = [found[f"{body['name']}.{name}"] for name in NAMES]
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
        f"Identified, and the nominal value in grey; body frame, inertia about the centre of mass. {LEGEND} Last: "
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


TEXT = "text"
WORDS = {"m": "mass", "h": "first moment ", "I": "inertia "}  # of parameters, by the letter that their names begin with
LEAST = 0.01  # share of the torque, below which a wrong value matters to nobody


def key_tables(summary: dict) -> tuple[Sheet, ...]:
    """What the data contradicts, links, and joints where anything was identified of them."""
    tables = (contradicted(summary), _links(summary), _joints(summary))
    return tuple(table for table in tables if table is not None)


def contradicted(summary: dict) -> Sheet | None:
    """Values of the file outside the interval that the data determines, by their effect on torque; None if there are
    none. Of a value that is identifiable only in combination, the combination counts."""
    links = {
        f"{body['name']}.{name}": (body["name"], WORDS[name[0]] + name[1:])
        for body in summary["bodies"]
        for name in NAMES
    }
    wrong = [
        each
        for each in summary["base_parameters"]
        if all(name in links for _, name in each["regroups"])  # else armature may be what the file lacks
        and each["label"] in DETERMINED
        and not each["lower"] <= each["prior"] <= each["upper"]
        and each.get("effect", 0.0) > LEAST  # summaries of earlier versions have none
    ]
    if not wrong:
        return None
    rows = []
    for each in sorted(wrong, key=lambda found: -found["effect"])[:SEVERAL]:
        link, words = links[each["name"]]
        others = dict.fromkeys(links[name][0] for _, name in each["regroups"] if name in links)
        others.pop(link, None)
        rows.append(
            (
                f"{words} of {link}",
                number(each["prior"]),
                plus_minus(each["identified"], each["deviation"]),
                unit(each["unit"]),
                percent(each["effect"]),
                some([*others], FEW) or DASH,
            )
        )
    return sheet(
        "Values of the file that this data contradicts",
        "± one standard deviation; share: RMS torque of the change over that of the logs; with: links in combination "
        "with which alone the value is identifiable.",
        (("value", TEXT), "file", "identified", ("unit", TEXT), "share", ("with", "wrap")),
        rows,
    )


def _links(summary: dict) -> Sheet:
    """Mass, nominal and identified, and centre of mass of each link, each with its deviation or its grade."""
    rows, found = [], grades(summary)
    parameters = {each["name"]: each for each in summary["parameters"]}
    for body in summary["bodies"]:
        name, com, spread = f"{body['name']}.m", body["identified"]["com"] or [None] * 3, body["center_covariance"]
        deviations = [None] * 3 if spread is None else [_root(spread[i][i]) for i in range(3)]
        pairs = ([each and 1e3 * each for each in pair] for pair in zip(com, deviations, strict=True))
        centre = [number(x) if s is None else plus_minus(x, s) for x, s in pairs]
        rows.append((body["name"], number(body["prior"]["mass"]), _graded(parameters[name], found[name]), *centre))
    return sheet(
        "Links",
        f"± one standard deviation. {LEGEND}",
        (("link", TEXT), "nominal [kg]", "mass [kg]", "com x [mm]", "com y [mm]", "com z [mm]"),
        rows,
    )


def _graded(found: dict, grade: str, usual: str = "") -> Cell:
    """An identified value with the mark of its grade, and its standard deviation if it is identifiable alone; its unit
    where that is not the usual one."""
    if abs(found["identified"]) < NEGLIGIBLE and found["upper"] - found["lower"] < NEGLIGIBLE:
        return Cell("0")  # held at its bound
    alone = grade in (ALONE, POOR)
    text = plus_minus(found["identified"], found["deviation"]) if alone else number(found["identified"])
    return Cell(text + ("" if not usual or found["unit"] == usual else f" {unit(found['unit'])}"), mark=MARKS[grade])


def _root(variance) -> float | None:
    return None if variance is None or variance < 0 else math.sqrt(variance)


def _joints(summary: dict) -> Sheet | None:
    """Friction and armature of each joint with their deviations; None where nothing was identified of them."""
    terms = [term for term in TERMS if any(term in joint for joint in summary["joints"])]
    if not terms:
        return None
    grade = grades(summary)
    units = {term: next(joint[term]["unit"] for joint in summary["joints"] if term in joint) for term in terms}
    titles = [f"{term} [{unit(units[term])}]" for term in terms]
    rows = [
        (name, *(_graded(each[t], grade[f"{name}.{t}"], units[t]) if t in each else DASH for t in terms))
        for name, each in ((joint["name"], joint) for joint in summary["joints"])
    ]
    return sheet("Joints", "In the same way.", (("joint", TEXT), *titles), rows)
