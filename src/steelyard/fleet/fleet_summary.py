"""All that is known of a fleet as plain JSON values: what `fleet.json`, the page and the terminal show."""

import platform
from datetime import UTC, datetime

import numpy as np

from steelyard.fleet.changes import DRIFT, STEP, Alarm
from steelyard.fleet.evidence import LOAD, OTHER, Cause, Evidence, Explained, change_along, marginal, score_test
from steelyard.fleet.fleet_models import Fits
from steelyard.fleet.fleet_study import FleetMember, Study
from steelyard.report.labels import column_units
from steelyard.report.provenance import installed_version
from steelyard.report.schema import jsonable

FORMAT = "steelyard fleet 1.0"
STEADY = 3  # changes of one thing in a row that are one drift
ERRORS = ("given", "fleet", "own")  # models whose held-out errors are told


def summary(study: Study, fits: Fits, *, files=()) -> dict:
    """What was found, with names and units. files: written, relative to the folder of the summary."""
    sums = study.accumulation
    units = _units(study)
    outliers = {study.members[each.robot].name: each for each in study.population.outliers}
    found = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": installed_version(),
        "python": platform.python_version(),
        "model": sums.job.model,
        "robot": sums.robot.name,
        "options": {name: value for name, value in sums.job.as_json().items() if name not in ("model", "logs")},
        "work": _fields(sums, "where", "computed", "reused", "bytes", "seconds"),
        "samples": sums.samples,
        "runs": len(sums.runs),
        "failures": sums.failures,
        "false_alarm": study.false_alarm,
        "robots": [_member(study, fits, member, outliers.get(member.name), units) for member in study.members],
        "silent": study.silent,
        "population": _population(study, units),
        "held_out": _held_out(fits),
        "notes": [*study.notes, *(f"{name}: {fit.refusal}" for name, fit in fits.members.items() if fit.refusal)],
        "files": list(files),
    }
    return jsonable(found)


def _fields(source, *names: str) -> dict:
    return {name: getattr(source, name) for name in names}


def _units(study: Study) -> tuple[str, ...]:
    return column_units(study.accumulation.robot, study.accumulation.fitted.layout)


def _member(study: Study, fits: Fits, member: FleetMember, outlier, units) -> dict:
    fit = fits.members[member.name]
    return {
        "name": member.name,
        "runs": [
            _fields(run.run, "when", "log") | _fields(run, "samples", "unexplained", "inflation", "findings")
            for run in member.runs
        ],
        "changes": _changes(study, member, units),
        "since": member.runs[member.since].run.when,
        "outlier": None if outlier is None else _found(study, outlier.best, outlier.rivals, outlier.probability, units),
        "unknown": member.unknown,
        "needs_motion": member.needs_motion,
        "weakest": member.weakest,
        "held_out": fit.errors,
        "fitted": fit.estimate is not None,
        "base": member.base,
        "deviation": np.sqrt(np.maximum(np.diag(member.covariance), 0.0)),
    }


def _changes(study: Study, member: FleetMember, units) -> list[dict]:
    """Changes of a robot; steps of one cause at run after run are told as one drift."""
    groups: list[list[Alarm]] = []
    for alarm in member.alarms:
        last = groups[-1][-1] if groups else None
        same = last is not None and last.best.cause is alarm.best.cause and alarm.best.cause.kind != OTHER
        if same and last is not None and alarm.first - last.first <= 2:
            groups[-1].append(alarm)
        else:
            groups.append([alarm])
    flat = [[each] for group in groups if len(group) < STEADY for each in group]
    together = sorted([*flat, *(group for group in groups if len(group) >= STEADY)], key=lambda group: group[0].first)
    starts = [group[0].first for group in together]
    return [_change(study, member, group, starts, place, units) for place, group in enumerate(together)]


def _change(study: Study, member: FleetMember, group: list[Alarm], starts: list[int], place: int, units) -> dict:
    """A change, measured on all runs from the change before it to the one after it."""
    alarm = group[0]
    start = starts[place - 1] if place else 0
    stop = starts[place + 1] if place + 1 < len(starts) else len(member.runs)
    runs = member.runs[start:stop]
    evidences = [run.evidence.with_spread(study.run_spread**2) for run in runs]
    shape = DRIFT if len(group) > 1 or alarm.shape == DRIFT else STEP
    if shape == STEP:
        u = (np.arange(start, stop) >= alarm.first).astype(float)
    else:
        times = np.array([run.run.time for run in runs])
        u = (times - times[0]) / max(times[-1] - times[0], np.finfo(float).tiny)
    best = score_test(change_along(evidences, u), alarm.best.cause)
    return _found(study, best, alarm.rivals, min(each.probability for each in group), units) | {
        "shape": shape,
        "first": _run(member, alarm.first),
        "last": _run(member, stop - 1 if shape == DRIFT else alarm.first),
        "seen": _run(member, alarm.seen),
        "course": _course(study, member, best.cause),
    }


def _run(member: FleetMember, place: int) -> dict:
    return {"place": place, **_fields(member.runs[place].run, "when", "log")}


def _found(study: Study, best: Explained, rivals: tuple[Cause, ...], probability: float, units) -> dict:
    names = study.accumulation.fitted.layout.names
    amounts = [
        {"parameter": names[column], "unit": units[column], "change": change, "deviation": deviation}
        for column, change, deviation in zip(best.cause.columns, best.amount, best.deviation, strict=True)
    ]
    return {
        "kind": best.cause.kind,
        "place": best.cause.place,
        "words": words(best, names, units),
        "or": [cause.name for cause in rivals],
        "probability": probability,
        "amounts": amounts,
    }


def words(best: Explained, names, units) -> str:
    """A difference in a few words: what, where, by how much. names, units: (p,) of the columns."""
    cause = best.cause
    if cause.kind == OTHER:
        return "something else than one load, one joint's friction or one gearbox"
    clear = np.abs(best.amount) / np.where(best.deviation > 0, best.deviation, np.inf)
    told = 0 if cause.kind == LOAD else int(np.argmax(np.where(np.isfinite(clear), clear, -1.0)))
    amount, deviation, column = best.amount[told], best.deviation[told], cause.columns[told]
    if not np.isfinite(amount):
        return f"{cause.name} changed"
    change = f"{abs(amount):.3g} ± {deviation:.2g} {units[column]}"
    if cause.kind == LOAD:
        return f"{cause.place} {'heavier' if amount > 0 else 'lighter'} by {change}"
    return f"{cause.name}: {names[column]} {'up' if amount > 0 else 'down'} by {change}"


def _course(study: Study, member: FleetMember, cause: Cause) -> dict | None:
    """Run by run, the parameter that tells most of a cause; None for causes without one of their own."""
    if cause.kind == OTHER:
        return None
    info = study.accumulation.fitted
    own = [k for k, column in enumerate(info.basis.columns) if column in cause.columns]
    if not own:
        return None
    told = [marginal(run.evidence) for run in member.runs]
    values, variances = np.stack([x for x, _ in told])[:, own], np.stack([v for _, v in told])[:, own]
    clear = np.ptp(values, axis=0) / np.sqrt(np.median(variances, axis=0))
    pick = int(np.argmax(np.where(np.isfinite(clear), clear, -1.0)))
    return {
        "parameter": info.layout.names[info.basis.columns[own[pick]]],
        "unit": _units(study)[info.basis.columns[own[pick]]],
        "values": values[:, pick],
        "deviations": np.sqrt(variances[:, pick] + study.run_spread[own[pick]] ** 2),
    }


def _population(study: Study, units) -> list[dict]:
    people = study.population
    columns = study.accumulation.fitted.basis.columns
    rows = zip(
        study.base_names,
        columns,
        people.mean,
        marginal(Evidence(people.precision, people.precision @ people.mean))[1],
        strict=True,
    )
    return [
        {
            "name": name,
            "unit": units[column],
            "mean": mean,
            "deviation": np.sqrt(variance),
            "between_robots": people.spread[k],
            "between_runs": study.run_spread[k],
        }
        for k, (name, column, mean, variance) in enumerate(rows)
    ]


def _held_out(fits: Fits) -> dict:
    errors = [fit.errors for fit in fits.members.values() if len(fit.errors) == len(ERRORS)]
    return {name: float(np.median([each[name] for each in errors])) if errors else None for name in ERRORS}
