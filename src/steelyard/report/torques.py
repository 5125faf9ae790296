"""Torque errors on held-out samples, and the residuals of each joint: their numbers, tables and figures."""

from collections.abc import Iterator

import numpy as np

from steelyard.numbers import number, share
from steelyard.pipeline import Result
from steelyard.pipeline.inspection import LONG
from steelyard.report.document import Chapter, ReportPart
from steelyard.report.identification_records import JointResidualRecord
from steelyard.report.labels import dof_units, of_joints
from steelyard.report.schema import filled, jsonable
from steelyard.sheets import Sheet, sheet

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of errors
FEW = 8  # joints whose figures stand open
NO_FINDING = "no finding"


def _torque_numbers(result: Result, _: dict) -> dict:
    return {"held_out": jsonable(_held_out(result)), "generalization": result.generalization}


def _held_out(result: Result) -> dict:
    before, after = result.before, result.after
    units = dict(zip(result.prior.dof_names, dof_units(result.prior), strict=True))
    noise = dict(zip(result.estimate.group_names, result.estimate.noise, strict=True))
    step = -(-len(after.t) // LONG)
    spread = [error_quantiles(model.measured[::step] - model.predicted[::step]) for model in (before, after)]
    joints = of_joints(
        after.joint_names,
        [units[name]["tau"] for name in after.joint_names],
        torque_rms=np.sqrt(np.mean(after.measured**2, axis=0)),
        rms_before=before.rms,
        rms_after=after.rms,
        relative_before=before.relative,  # infinite for the rows of a free base, which nothing pushes
        relative_after=after.relative,
        noise=[noise.get(name) for name in after.joint_names],
        quantiles_before=spread[0].T,
        quantiles_after=spread[1].T,
    )
    return {
        "samples": len(after.t),
        "relative_error_before": before.relative_error,
        "relative_error_after": after.relative_error,
        "joints": joints,
    }


def error_quantiles(error) -> np.ndarray:
    """(5, k) quantiles that boxes of errors (n, k) are drawn by: 5, 25, 50, 75 and 95 %."""
    return np.quantile(error, QUANTILES, axis=0)


def _torque_parts(summary: dict) -> Iterator[ReportPart]:
    joints = summary["held_out"]["joints"]
    yield ReportPart(figures=(("errors", 0), ("contributions", 0)))
    yield ReportPart(sheet=error_sheet(summary))
    figures = tuple((name, i) for i in range(len(joints)) for name in ("torque", "parts"))
    yield ReportPart(figures=figures, folded=f"torques of {len(joints)} joints" if len(joints) > FEW else "")


def error_sheet(summary: dict) -> Sheet:
    """Error of each joint before and after, and of all."""
    held = summary["held_out"]
    rows = [
        (
            joint["name"],
            number(joint["torque_rms"]),
            *(f"{number(joint[f'rms_{key}'])} ({share(joint[f'relative_{key}'])})" for key in ("before", "after")),
            number(joint["noise"]),
            joint["unit"],
        )
        for joint in held["joints"]
    ]
    whole = ("all joints", "", *(share(held[f"relative_error_{key}"]) for key in ("before", "after")), "", "")
    return sheet(
        "Error of each joint",
        "RMS torque error on held-out samples; in brackets, over the RMS of the measured torque.",
        (("Joint", "text"), "Torque", "Before", "After", "In the fit", ("Unit", "text")),
        [*rows, whole],
    )


def _residual_numbers(result: Result, _: dict) -> dict:
    """Residual and torque shares of each degree of freedom; the faults are among the findings."""
    diagnosis = result.diagnosis
    shares = diagnosis.contributions.shares
    joints = [
        filled(
            JointResidualRecord,
            each,
            name=each.joint,
            relative_error=each.relative,
            depends={key: {"share": found.share, "chance": found.p_value} for key, found in each.depends.items()},
            contributions={effect: share[i] for effect, share in shares.items()},
        )
        for i, each in enumerate(diagnosis.residuals)
    ]
    return {"diagnosis": {"faults": [fault.code for fault in diagnosis.faults], "joints": joints}}


def _residual_parts(summary: dict) -> Iterator[ReportPart]:
    faults = [each for each in summary["findings"] if each["code"] in summary["diagnosis"]["faults"]]
    if faults:
        yield ReportPart(text="Named faults, in the order of what they explain:")
        yield ReportPart(items=tuple(f"{each['code'].replace('_', ' ')}: {each['message']}" for each in faults))
    else:
        yield ReportPart(
            text="None of the common mistakes (gravity, signs, delays, scales, loads, coupled joints, units) was found."
        )
    yield ReportPart(figures=(("residuals", 0),))
    yield ReportPart(sheet=_residual_sheet(summary))


def _residual_sheet(summary: dict) -> Sheet:
    undone = " once the named faults are undone" if summary["diagnosis"]["faults"] else ""
    return sheet(
        "Residuals",
        f"Residual of each joint over its torque{undone}. Time constant: its integrated autocorrelation, which is "
        "short for noise behind the filter. Standstill: residual where the joint hardly moves over that elsewhere, "
        "where the difference is significant.",
        {
            ("Joint", "text"): "name",
            "Residual": lambda joint: share(joint["relative_error"]),
            "Time constant [s]": "time_constant",
            "Standstill": "reversal",
            ("Correlates with", "wrap"): lambda joint: " ".join(joint["hints"]) or NO_FINDING,
        },
        summary["diagnosis"]["joints"],
    )


TORQUES = Chapter("Torque errors on held-out samples", "Torques", _torque_numbers, _torque_parts)
RESIDUALS = Chapter("Residuals, and what they correlate with", "Residuals", _residual_numbers, _residual_parts)
