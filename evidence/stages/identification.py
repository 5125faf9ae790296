"""Stage of the whole job: a log of a robot whose masses differ from its file, identified from that file."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from evidence.stages.models import possible
from evidence.stages.outcome import GIVEN, Outcome, judged
from evidence.stages.recording import recorded
from steelyard.pipeline import Job
from steelyard.pipeline.job_run import load_with_side

CHANGE = 0.25  # by which the masses of the moving robot differ from the file, plus or minus
AT_THE_FLOOR = 1.5  # times the truth's own error on the same samples
REPORT_PARTS = ("<html", "plotly", "</html>")


def identification(path: Path) -> Outcome:
    """`identify` from files to files: held-out error against the truth's own, model, summary and report written.

    Robots of one-degree joints are logged through encoders, differentiated and filtered; of others the motion is
    recorded exactly, since an encoder's noise on a quaternion is no question of identification.
    """
    given = load_with_side(Job(model=str(path), logs=()))
    rng = np.random.default_rng(4)
    truth = possible(given)
    truth = truth.with_inertias(truth.inertias * rng.uniform(1 - CHANGE, 1 + CHANGE, size=(given.nb, 1)))
    scalar = all(joint.nq == 1 for joint in given.free_joints)
    log = recorded(truth, exact=not scalar)
    with TemporaryDirectory() as folder:
        file, out = sy.write_npz(log, Path(folder) / "log.npz"), Path(folder) / "out"
        result = sy.identify(path, file, out=out, cutoff=None if scalar else 0.0)
        missing = _incomplete(out)
        free = None
        if result.after.relative_error > AT_THE_FLOOR * sy.validate(truth, result.held_out).relative_error:
            free = sy.identify(path, file, cutoff=None if scalar else 0.0, within="consistent").after.relative_error
    own, after, before = (
        sy.validate(truth, result.held_out).relative_error,
        result.after.relative_error,
        result.before.relative_error,
    )
    figures = {
        "error before": f"{before:.2%}",
        "after": f"{after:.2%}",
        "truth's own": f"{own:.2%}",
        "ratio": f"{after / own:.2f}",
    }
    if missing:
        return judged(False, missing, **figures)
    causes = "; ".join(fault.code for fault in result.diagnosis.faults)
    reason = f"held-out error {after:.2%}, the truth's own {own:.2%}"
    if free is not None:
        reason += f"; without the bound of the model's shapes (`within='consistent'`) {free:.2%}"
    reason += f"; diagnosis: {causes}" if causes else ""
    if free is not None and free <= AT_THE_FLOOR * own:
        return Outcome(GIVEN, figures, reason)  # its own inertias lie outside its shapes
    return judged(after <= AT_THE_FLOOR * own, reason, **figures)


def _incomplete(out: Path) -> str:
    """What a result folder lacks, in words; empty when it is whole."""
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    absent = [name for name in summary["files"] if not (out / name).is_file()]
    page = (out / "report.html").read_text("utf-8")
    absent += [f"{part} in report.html" for part in REPORT_PARTS if part not in page]
    return f"missing from the result: {', '.join(absent)}" if absent else ""
