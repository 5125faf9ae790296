"""Feasible fits of all kinds: every one ends with a certificate, and one in nine is compared with a cone solver."""

import time

import numpy as np

from evidence.draws.cone_reference import Reference
from evidence.draws.fit_problems import draw
from evidence.runner import Row
from steelyard.fit import build, consistent
from steelyard.fit.cone_program import reweighed
from steelyard.inertia import pseudo

PAGE, WHOLE, LIMIT = "adversary/problems", True, 120.0
CHECKED = (*range(0, 100, 10), 5)  # cases of every hundred that are compared with the reference
INTRODUCTION = """# Fits of feasible problems

`python -m evidence problems` draws {count} problems that have a solution: 1 to 30 joints, fixed and free bases, bodies
of 1 g and 3 mm to 500 kg and 1 m, weights of the prior from 1e-8 to 1e4, motion that shows little, priors that are far
off, flat or on their bounds. What is known of bodies is true of those that made the torques. Every problem is a fit;
none may fail. Eleven in a hundred are written in CVXPY from their definition, too, and solved by Clarabel at the scale
of the prior and at that of the solution; rows without torque are ratios there, too (`fit.homogeneous`). Gaps and
differences are relative to the cost (at least 1)."""
KINDS = ("regularizer", "bodies", "base", "motion", "prior", "known", "noise", "sums")


def cases() -> range:
    return range(3000)


def row(seed: int) -> Row:
    problem = draw(seed)
    began = time.process_time()
    found = consistent(problem.info, **problem.options)
    row = {
        **problem.kinds,
        "processor": round(time.process_time() - began, 4),
        "status": found.status.name,
        "gap": found.certificate.duality_gap,
        "smallest": found.certificate.smallest_eigenvalue,
        "slack": found.certificate.smallest_slack,
    }
    if seed % 100 in CHECKED and problem.kinds["known"] != "two ellipsoids":
        row |= compared(problem, found)
    return row


def compared(problem, found) -> Row:
    """Our cost against the reference's, relative to it (at least 1): positive where ours is above."""
    program, _ = reweighed(build(problem.info, **problem.options))
    seen = program.ratios.of(problem.info)  # rows without torque as the ratios they tell
    reference = Reference(seen, program.noise, problem.options)
    ours = reference.cost(found.parameters)
    around = found.parameters[problem.info.layout.inertial].reshape(-1, 10)
    best = np.inf
    for scale in (None, _thick(around)):
        try:
            parameters, status = reference.solve(around=scale)
        except Exception as error:  # the reference has troubles of its own, which the page counts
            status, parameters = type(error).__name__, None
        if parameters is not None and status in ("optimal", "optimal_inaccurate"):
            best = min(best, reference.cost(parameters))
    if not np.isfinite(best):
        return {"reference": status, "cost": ours}
    return {"reference": "optimal", "cost": ours, "above": (ours - best) / max(1.0, best)}


def _thick(bodies) -> np.ndarray:
    """(nb, 10) bodies, with every second moment at least a millionth of the largest: a scale for unknowns."""
    values, vectors = np.linalg.eigh(pseudo.to_matrix(bodies))
    values = np.maximum(values, 1e-6 * values[:, -1:])
    return pseudo.to_parameters((vectors * values[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def page(rows: list[Row]) -> str:
    ended = [row for row in rows if "raised" not in row]
    failed = [row for row in rows if "raised" in row]
    checked = [row for row in ended if "above" in row]
    lines = [INTRODUCTION.format(count=len(rows)), ""]
    open_gaps = sum(row["gap"] > 1e-6 for row in ended)
    lines.append(f"- **{len(failed)} of {len(rows)} raised an error**; {open_gaps} ended with a gap above 1e-6.")
    if ended:
        gaps = np.quantile([row["gap"] for row in ended], (0.5, 0.9, 0.99, 1.0))
        lines.append("- Gap, median, 90 %, 99 %, largest: " + ", ".join(f"{gap:.0e}" for gap in gaps) + ".")
    if checked:
        above = np.array([row["above"] for row in checked])
        tried = sum("reference" in row for row in ended)
        lines.append(
            f"- Against CVXPY: {tried} problems, {tried - len(checked)} without its solution. Our cost is "
            f"higher by {max(above.max(), 0):.0e} at most, by more than 1e-6 in {(above > 1e-6).sum()}; CVXPY's "
            f"is higher by more than 1e-6 in {(above < -1e-6).sum()}."
        )
    lines += ["", "## By kind", ""]
    lines += ["| kind | | problems | errors | largest gap | weak excitation |", "|---|---|---|---|---|---|"]
    for kind in KINDS:
        for value in sorted({row[kind] for row in ended}, key=str):
            of = [row for row in ended if row[kind] == value]
            errors = sum(draw(row["case"]).kinds[kind] == value for row in failed)
            weak = sum(row["status"] == "WEAK_EXCITATION" for row in of)
            lines.append(f"| {kind} | {value} | {len(of)} | {errors} | {max(row['gap'] for row in of):.0e} | {weak} |")
    lines += ["", "## Processor time, seconds", ""]
    lines += ["| joints | problems | median | 90 % | 99 % | largest |", "|---|---|---|---|---|---|"]
    for low, high in ((1, 2), (3, 5), (6, 10), (11, 20), (21, 30)):
        times = [row["processor"] for row in ended if low <= row["joints"] <= high]
        if times:
            quantiles = " | ".join(f"{t:.2f}" for t in np.quantile(times, (0.5, 0.9, 0.99, 1.0)))
            lines.append(f"| {low} to {high} | {len(times)} | {quantiles} |")
    for row in failed:
        lines.append(f"\nSeed {row['case']}: {row['raised']}: {row['message']}")
    return "\n".join(lines) + "\n"
