"""Payloads of any shape and density: what is stated of mass, centre and inertia against the truth, and wrong logs."""

from collections import Counter

import numpy as np

from evidence.draws.payload_faults import FAULTS
from evidence.draws.payload_jobs import DENSITIES, LEVELS, MOTIONS, SHAPES, held, thing
from evidence.runner import Row
from steelyard.errors import SteelyardError
from steelyard.inertia import parameters
from steelyard.payload import identify

PAGE, WHOLE, LIMIT = "adversary/payloads", True, 120.0
EVERY = 3  # case of this many is a wrong log
UPPER = np.triu_indices(3)
GIVEN = "was taken as given"  # a note says so of gravity
WRONG = 0.02  # of the mass: an error below it harms nobody
QUANTITIES = ("mass", "centre", "inertia")


def cases() -> range:
    return range(720)


def row(seed: int) -> Row:
    """A right log with known truth, or a wrong one."""
    rng = np.random.default_rng(seed)
    names = tuple(FAULTS)
    fault = names[seed // EVERY % len(names)] if seed % EVERY == 0 else None
    density, level = DENSITIES[rng.integers(4)], LEVELS[rng.integers(3)]
    motion = MOTIONS[rng.integers(3 if fault or rng.uniform() < 0.9 else 4)]
    payload = thing(rng, SHAPES[rng.integers(len(SHAPES))], density)
    log = held(rng, payload.theta, motion, level)
    row = {"fault": fault, "density": density, "shape": payload.kind, "motion": motion, "level": level, "n": len(log)}
    if fault is not None:
        log = FAULTS[fault](log, rng, payload.theta)
        return row | ({"status": "none"} if log is None else _judged(log, payload))
    alone = identify(log)
    return row | _judged(log, payload) | {"alone": _inertia_error(alone, payload.theta)}


def _judged(log, payload) -> Row:
    try:
        found = identify(log, shape=payload.shape)
    except SteelyardError as error:
        return {"status": "refused", "message": str(error)}
    mass, com, inertia = parameters.to_com_inertia(payload.theta)
    off = abs(found.mass - mass)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "status": found.status.name,
            "usable": found.status.usable,
            "findings": list(found.findings),
            "gravity_unchecked": any(GIVEN in note for note in found.notes),
            "mass": [float((found.mass - mass) / found.mass_deviation)],
            "centre": ((found.com - com) / found.com_deviation).tolist(),
            "inertia": ((found.inertia - inertia) / found.inertia_deviation)[UPPER].tolist(),
            "error": _inertia_error(found, payload.theta),
            "wrong": bool(off > max(3 * found.mass_deviation, WRONG * mass)),
        }


def _inertia_error(found, theta) -> float:
    inertia = parameters.to_com_inertia(theta)[2]
    return float(np.abs(found.inertia - inertia).max() / np.linalg.eigvalsh(inertia)[-1])


def page(rows: list[Row]) -> str:
    """Coverage by density and by status, and what became of wrong logs."""
    right = [row for row in rows if row.get("fault", 0) is None and "status" in row]
    wrong = [row for row in rows if row.get("fault") and row.get("status", "none") != "none"]
    raised = [row for row in rows if "raised" in row]
    return "\n".join(
        [
            "# Payloads",
            "",
            f"{len(right)} right logs and {len(wrong)} wrong ones: seven kinds of shapes, masses of 30 g to 8 kg, four "
            "kinds of density, exact and noisy motion, motion from noisy poses and poses at rest, three levels of "
            f"noise, 5 to 800 samples. {len(raised)} ended in an error that is none of ours. "
            "`python -m evidence payloads` repeats it.",
            "",
            "## Intervals",
            "",
            "Share of errors within two stated deviations (95.4 % of normal ones), where the status says `OK`, and "
            "elsewhere. With `OK` the inertia is data; `WEAK` and `STATIC` say that it is assumed, and its interval "
            "holds any density inside the shape, so it covers more.",
            "",
            *_coverage(right),
            "",
            "Largest entry of the inertia's error over its largest moment, median, with the shape and without it:",
            "",
            *_errors(right),
            "",
            "## Right logs that are accused",
            "",
            f"{sum(bool(_serious(row)) for row in right)} of {len(right)} right logs got a finding other than that of "
            f"one orientation; {sum(not row.get('usable', False) for row in right)} were no result "
            f"({', '.join(f'{name} {n}' for name, n in Counter(row['status'] for row in right).items())}).",
            "",
            "## Wrong logs",
            "",
            "`named`: the status is `SUSPECT`, with the cause; `not explained`, `faint` and `refused` are no results "
            "either; `warned`: a result with a finding; `silent`: a result without; `harm`: of those two a mass wrong "
            "by more than three deviations and 2 %; `said`: of these the results whose notes say that gravity was "
            "taken as given, which poses at rest and slow motion cannot tell from another mass.",
            "",
            *_faults(wrong),
            "",
        ]
    )


def _coverage(rows):
    yield "| density | status | logs | mass | centre | inertia |"
    yield "|---|---|---|---|---|---|"
    for density in (*DENSITIES, "all"):
        for label, statuses in (("`OK`", ("OK",)), ("`WEAK`, `STATIC`, `AXIS`", ("WEAK", "STATIC", "AXIS"))):
            chosen = [r for r in rows if r["status"] in statuses and density in (r["density"], "all")]
            if chosen:
                shares = " | ".join(f"{_share(chosen, quantity):.0f} %" for quantity in QUANTITIES)
                yield f"| {density} | {label} | {len(chosen)} | {shares} |"


def _share(rows, quantity):
    return 100 * np.mean(np.abs(np.concatenate([row[quantity] for row in rows])) < 2)


def _errors(rows):
    yield "| density | status | with | without |"
    yield "|---|---|---|---|"
    for density in DENSITIES:
        for status in ("OK", "WEAK"):
            chosen = [row for row in rows if row["density"] == density and row["status"] == status]
            if chosen:
                both = (100 * float(np.median([row[key] for row in chosen])) for key in ("error", "alone"))
                yield f"| {density} | `{status}` | " + " | ".join(f"{x:.2g} %" for x in both) + " |"


def _serious(row):
    return [text for text in row.get("findings", ()) if "keeps one orientation" not in text]


def _faults(rows):
    yield "| mistake | logs | named | not explained | faint | refused | warned | silent | harm | said |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for fault in FAULTS:
        chosen = [row for row in rows if row["fault"] == fault]
        counts = Counter(_ending(row) for row in chosen)
        words = ("SUSPECT", "NOT_EXPLAINED", "FAINT", "refused", "warned", "silent")
        harm = [row for row in chosen if row.get("usable") and row["wrong"]]
        numbers = [len(chosen), *(counts[word] for word in words), len(harm), sum(x["gravity_unchecked"] for x in harm)]
        yield f"| {fault} | " + " | ".join(map(str, numbers)) + " |"


def _ending(row):
    if not row.get("usable"):
        return row["status"]
    return "warned" if _serious(row) else "silent"
