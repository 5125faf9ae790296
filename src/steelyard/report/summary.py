"""Everything of a run as one JSON-ready dictionary (docs/command_line.md). Tables and page show these same numbers."""

from collections.abc import Sequence

import numpy as np

from steelyard.diagnose import Diagnosis
from steelyard.fit import Generalization, Source, model_parameters
from steelyard.inertia import pseudo, rotational_inertia, to_com_inertia
from steelyard.model import Robot
from steelyard.pipeline import Inspection, Result
from steelyard.report.answers import answers
from steelyard.report.command import repeat_command
from steelyard.report.jsonable import jsonable
from steelyard.report.labels import column_units, dof_units, knowledge, sizes
from steelyard.report.provenance import inputs_of, provenance
from steelyard.report.unknown import unknowns
from steelyard.report.verdict import UNCERTAIN, verdict

SCHEMA_VERSION = 1
KIND = "identification"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of errors
QUANTILE_SAMPLES = 100_000  # at most, evenly spread
ROUNDING = 1e-12  # of a body's size: what is left below it is no number worth showing


def summary(result: Result, *, out=None, files: Sequence[str] = (), notes: Sequence[str] = ()) -> dict:
    """Summary of a run, free of NaN and infinity (null instead).

    out: folder the files were written to; files: their names in it; notes: of writing them. Reads the input files
    once, for their hashes.
    """
    estimate, judged = result.estimate, verdict(result)
    held, bodies, parameters = _held_out(result), _bodies(result), _parameters(result)
    base = _base_parameters(result)
    reach = _generalization(result.generalization)
    unknown = unknowns(result.job, bodies, parameters, base)
    return jsonable(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": KIND,
            "verdict": vars(judged) | {"answers": answers(judged.level, judged.reasons, held, reach, unknown, base)},
            "robot": _robot(result.prior),
            "fit": _fit(estimate),
            "held_out": held,
            "generalization": reach,
            "unknown": unknown,
            "bodies": bodies,
            "joints": _joints(result),
            "couplings": _couplings(result),
            "rotors": _rotors(result),
            "parameters": parameters,
            "base_parameters": base,
            "diagnosis": _diagnosis(result.diagnosis),
            "uncertainty": _uncertainty(result),
            "health": [_health(each) for each in result.health],
            "findings": [vars(finding) for finding in result.findings],
            "notes": [*result.notes, *estimate.notes, *notes],
            "job": result.job.as_json(),
            "command": repeat_command(result.job, out),
            "out": None if out is None else str(out),
            "files": list(files),
            "provenance": provenance(inputs_of(result.job)),
        }
    )


def _health(found: Inspection) -> dict:
    """A log as it was recorded; findings and notes stand elsewhere in the summary."""
    elsewhere = ("delays", "zeros", "findings", "faults", "notes")
    return {key: value for key, value in found.as_json().items() if key not in elsewhere}


def _robot(robot: Robot) -> dict:
    return {
        "name": robot.name,
        "bodies": list(robot.body_names),
        "joints": list(robot.joint_names),
        "degrees_of_freedom": robot.nv,
        "floating": robot.floating,
        "gravity": robot.gravity,
        "missing_inertials": list(robot.missing_inertials),
    }


def _fit(estimate) -> dict:
    certificate = estimate.certificate
    return {
        "method": estimate.method,
        "status": estimate.status.name.lower(),
        "status_text": estimate.status.value,
        "samples": estimate.samples,
        "parameters": estimate.layout.size,
        "identifiable": estimate.basis.count,
        "weak_directions": list(estimate.weakest),
        "physically_consistent": bool(estimate.physical),
        "binding": list(estimate.binding),
        "certificate": None if certificate is None else vars(certificate),
    }


def _held_out(result: Result) -> dict:
    before, after = result.before, result.after
    units = dict(zip(result.prior.dof_names, dof_units(result.prior), strict=True))
    noise = dict(zip(result.estimate.group_names, result.estimate.noise, strict=True))
    step = -(-len(after.t) // QUANTILE_SAMPLES)
    spread = [
        np.quantile(model.measured[::step] - model.predicted[::step], QUANTILES, axis=0) for model in (before, after)
    ]
    joints = [
        {
            "name": name,
            "unit": units[name]["tau"],
            "torque_rms": np.sqrt(np.mean(after.measured[:, i] ** 2)),
            "rms_before": before.rms[i],
            "rms_after": after.rms[i],
            "relative_before": before.relative[i],
            "relative_after": after.relative[i],
            "noise": noise.get(name),
            "quantiles_before": spread[0][:, i],
            "quantiles_after": spread[1][:, i],
        }
        for i, name in enumerate(after.joint_names)
    ]
    return {
        "samples": len(after.t),
        "relative_error_before": before.relative_error,
        "relative_error_after": after.relative_error,
        "joints": joints,
    }


def _generalization(found: Generalization) -> dict:
    """Errors of parts of the data beside those expected; errors over torque throughout."""
    return {
        "fitted": found.fitted,
        "held_out": None if found.held_out is None else vars(found.held_out),
        "parts": [vars(each) for each in found.parts],
        "other_motion": found.other_motion,
    }


def _diagnosis(diagnosis: Diagnosis) -> dict:
    """Residual and torque shares of each degree; the faults are among the findings."""
    shares = diagnosis.contributions.shares
    return {
        "faults": [fault.code for fault in diagnosis.faults],
        "joints": [
            {
                "name": each.joint,
                "relative_error": each.relative,
                "time_constant": each.time_constant,
                "depends": {key: vars(found) for key, found in each.depends.items()},
                "reversal": each.reversal,
                "hints": list(each.hints),
                "contributions": {effect: share[i] for effect, share in shares.items()},
            }
            for i, each in enumerate(diagnosis.residuals)
        ],
    }


def _bodies(result: Result) -> list[dict]:
    estimate, layout = result.estimate, result.estimate.layout
    known = knowledge(estimate.basis)
    riders = {i: [link.name for link in result.prior.links if link.body == i] for i in range(result.prior.nb)}
    return [
        {
            "name": name,
            "links": riders[i],
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


def _joints(result: Result) -> list[dict]:
    """Friction and armature, one entry a degree of freedom that has any."""
    layout, parameters = result.estimate.layout, _parameters(result)
    entries = []
    for place, name in enumerate(layout.dof_names):
        columns = {term: layout.term(term).start + place for term in layout.terms}
        values = {term: {k: v for k, v in parameters[c].items() if k != "name"} for term, c in columns.items()}
        entries.append({"name": name} | values)
    return entries


def _couplings(result: Result) -> list[dict]:
    """Inertia and friction of every motor that joints share."""
    layout, intervals = result.estimate.layout, _intervals(result.uncertainty.parameters)
    return [
        {
            "name": extra.name,
            "term": extra.kind,
            "ratios": {result.prior.dof_names[d]: r for d, r in zip(extra.dofs, extra.ratios, strict=True)},
            "unit": extra.unit,
            **intervals[column],
        }
        for column, extra in enumerate(layout.extras, start=layout.extra.start)
    ]


def _rotors(result: Result) -> list[dict]:
    """Rotors that are bodies of the regression; their parameters are in the rotor frame."""
    estimate, layout = result.estimate, result.estimate.layout
    known = knowledge(estimate.basis)
    if not layout.rotor_names:
        return []
    return [
        {
            "name": rotor.name,
            "joint": rotor.joint,
            "carrier": rotor.carrier,
            "gear_ratio": rotor.gear_ratio,
            "prior": _rotor_numbers(rotor, rotor.theta),
            "identified": _rotor_numbers(rotor, estimate.rotors[i]),
            "knowledge": known[layout.body(len(layout.body_names) + i)],
            "smallest_eigenvalue": np.linalg.eigvalsh(pseudo.to_matrix(estimate.rotors[i]))[0],
        }
        for i, rotor in enumerate(result.prior.rotors)
    ]


def _rotor_numbers(rotor, theta) -> dict:
    """As of a body, and the moment of inertia about the rotor's axis."""
    axis = rotor.own_axis
    return spelled_out(theta) | {"spin_inertia": axis @ rotational_inertia(theta) @ axis}


def _parameters(result: Result) -> list[dict]:
    """Every parameter with its interval and what determines it."""
    layout = result.estimate.layout
    given, units = model_parameters(result.prior, layout), column_units(result.prior, layout)
    intervals = _intervals(result.uncertainty.parameters)
    return [
        {"name": n, "unit": u, "prior": g} | each
        for n, u, g, each in zip(layout.names, units, given, intervals, strict=True)
    ]


def _intervals(intervals) -> list[dict]:
    columns = (intervals.estimate, intervals.deviation, intervals.lower, intervals.upper, intervals.labels)
    keys = ("identified", "deviation", "lower", "upper", "label")
    return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _uncertainty(result: Result) -> dict:
    found = result.uncertainty
    return {
        "level": found.parameters.level,
        "blocks": found.blocks,
        "inflation": found.inflation,
        "draws": len(found.draws),
        "labels": {source.value: int(np.sum(found.parameters.by(source))) for source in Source},
    }


def _base_parameters(result: Result) -> list[dict]:
    estimate, layout, basis = result.estimate, result.estimate.layout, result.estimate.basis
    given = basis.regroup(model_parameters(result.prior, layout))
    units = column_units(result.prior, layout)
    intervals = _intervals(result.uncertainty.base)
    deviation = result.uncertainty.base.deviation
    size = np.abs(basis.regrouping) @ sizes(result.prior, estimate)
    given = np.where(np.abs(given) < ROUNDING * size, 0.0, given)
    share = np.divide(deviation, size, out=np.full_like(size, np.inf), where=size > 0)
    return [
        {
            "name": layout.names[column],
            "unit": units[column],
            "prior": given[k],
            **intervals[k],
            "degrees": result.uncertainty.degrees[k],
            "relative_deviation": share[k],
            "uncertain": bool(share[k] > UNCERTAIN),
            "regroups": regrouped(layout.names, basis.regrouping[k], column),
        }
        for k, column in enumerate(basis.columns)
    ]


def regrouped(names, row, leading: int) -> list[list]:
    """`[coefficient, name]` of every parameter in a combination, the leading one first, then by size. row: (p,)."""
    order = sorted(np.flatnonzero(np.abs(row) > 1e-9), key=lambda i: (i != leading, -abs(row[i])))
    return [[float(row[i]), names[i]] for i in order]
