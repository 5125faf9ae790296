"""Something that acts for part of a log: a load that is picked up and set down, a contact, a hand that pushes.

For every stretch of time the free fit gets columns that count in the stretch alone: ten of a further body on the last
link of a limb, or six of a constant wrench in world axes. Sums over short cells make each stretch cost one small
solution. The best one is believed if the fit to the rest of the log, without it, explains that rest far better.
What touches is then placed by the joints whose torques stand out of the noise of that fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.diagnose.added_columns import add_columns, lasting
from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.hypothesis import Hypothesis
from steelyard.dynamics import jacobian
from steelyard.fit.contact_detection import touched
from steelyard.identifiable import identifiable_wrench

LOAD, FORCE = "passing_load", "passing_force"
LASTS = 3.0  # times longer than noise that a residual must stay alike; where something acts it is 9 and more
CELLS = 48  # of all logs together
SHORTEST = 2  # cells of a stretch, and of what is left of its log on either side, unless it begins or ends there
LONGEST = {LOAD: 0.8, FORCE: 0.5}  # share of all samples; a contact that lasts longer is something else
WINS = 1.0  # nats a sample that the rest must win: healthy logs win 0.4 at most, simulated contacts 1.5 and loads 4.7
COST = 3.0  # nats that each column of a stretch costs
INDEPENDENT = 1e-4  # of the largest singular value or of the mean square: a smaller one says nothing
TRIED = 3.0  # nats for each of its columns that a stretch promises at least


@dataclass(frozen=True)
class _Stretch:
    """Nats promised, first and last sample (exclusive), and whose columns (nv, n, m) they are."""

    won: float
    start: int
    stop: int
    kind: str
    link: str
    columns: np.ndarray


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """The stretch that explains most, left out, if the rest wins enough."""
    if case.robot.floating or lasting(case, case.free_error.T) < LASTS:  # of a free base, noise lasts
        return
    found = max((each for each in _stretches(case) if each is not None), key=lambda each: each.won, default=None)
    if found is None:
        return
    keep = np.ones(len(case))
    margin = max(1, len(case) // (2 * CELLS))
    keep[max(0, found.start - margin) : found.stop + margin] = 0.0
    rest = case.undone(found.kind, believed=np.broadcast_to(case.regression.believed, case.target.shape) * keep)
    before = np.maximum(np.sum(case.free_error.T**2 * keep, axis=1), rest.free_energy)
    told = _named(case, rest, found, margin)
    if (each := Hypothesis(told, rest, before, rest.free_energy, rest.free_error)).wins(WINS):
        yield each


def _stretches(case: Case) -> Iterator[_Stretch | None]:
    robot, regression = case.robot, case.regression
    last = [body for body in range(robot.nb) if robot.body_joints[body] not in robot.parents]
    for body in last:
        unit = np.zeros((10, *robot.inertias.shape))
        unit[np.arange(10), body, np.arange(10)] = 1.0
        more = np.stack([regression.torque(robot.with_inertias(each)).T for each in unit], axis=-1)
        wrench = np.moveaxis(np.asarray(jacobian(robot, regression.q, robot.body_names[body])), (0, 1, 2), (1, 2, 0))
        for kind, columns in ((LOAD, more), (FORCE, wrench)):
            yield _best(
                case,
                kind,
                robot.body_names[body],
                columns * np.broadcast_to(regression.believed, case.target.shape)[:, :, None],
            )


def _best(case: Case, kind: str, link: str, columns) -> _Stretch | None:
    """The stretch in which columns (nv, n, m) explain most."""
    weighted = case.weighted(columns)
    size = np.linalg.norm(weighted, axis=0)
    kept = size > INDEPENDENT * size.max(initial=0.0)
    if not kept.any():
        return None
    unit = weighted[:, kept] / size[kept]
    axes, scale, _ = np.linalg.svd(unit, full_matrices=False)
    own = axes[:, scale > INDEPENDENT * scale[0]].reshape(case.robot.nv, len(case), -1)
    space = case.space.reshape(case.robot.nv, len(case), -1)
    left = case.weighted(case.target) - case.space @ case.explained()
    left = left.reshape(case.robot.nv, len(case))
    edges = _edges(case)
    parts = [slice(a, b) for a, b in pairwise(edges)]
    square = _running([np.tensordot(own[:, at], own[:, at], ((0, 1), (0, 1))) for at in parts])
    inside = _running([np.tensordot(space[:, at], own[:, at], ((0, 1), (0, 1))) for at in parts])
    slope = _running([np.tensordot(own[:, at], left[:, at], ((0, 1), (0, 1))) for at in parts])
    found, best = None, -np.inf
    for first, last in _stretches_from(edges, _ends(case), LONGEST[kind] * len(case)):
        whole, shared = square[last] - square[first], inside[last] - inside[first]
        values, turn = np.linalg.eigh(whole - shared.swapaxes(1, 2) @ shared)
        seen = values > INDEPENDENT * np.trace(whole, axis1=1, axis2=2)[:, None] / whole.shape[1]
        pull = ((slope[last] - slope[first])[:, None] @ turn)[:, 0]
        count = np.count_nonzero(seen, axis=1)
        explained = np.divide(pull**2, values, out=np.zeros_like(pull), where=seen).sum(axis=1)
        won = 0.5 * explained * case.independence - COST * count
        won[won <= TRIED * count] = -np.inf
        if won.max() > best:
            best, end = float(won.max()), int(edges[last[np.argmax(won)]])
            found = _Stretch(best, int(edges[first]), end, kind, link, columns)
    return found


def _edges(case: Case) -> np.ndarray:
    """First samples of the cells, and the end: no cell has samples of two logs."""
    edges, start = [], 0
    for _, t in case.stamps:
        count = max(2 * SHORTEST + 1, round(CELLS * len(t) / len(case)))
        edges += [start + round(k * len(t) / count) for k in range(count)]
        start += len(t)
    return np.array([*edges, start])


def _ends(case: Case) -> np.ndarray:
    """First samples of the logs, and the end."""
    return np.cumsum([0, *(len(t) for _, t in case.stamps)])


def _stretches_from(edges, ends, longest: float) -> Iterator[tuple[int, np.ndarray]]:
    """Cells at which a stretch may begin, each with those at which it may then end: in one log, not all of it, and of
    so many samples at most."""
    log = np.searchsorted(ends, edges, side="right") - 1
    for first in range(len(edges) - 1):
        last = np.arange(first + SHORTEST, len(edges))
        whole = (edges[first] == ends[log[first]]) & (edges[last] == ends[log[first] + 1])
        fits = (log[last - 1] == log[first]) & ~whole & (edges[last] - edges[first] <= longest)
        if fits.any():
            yield first, last[fits]


def _running(parts) -> np.ndarray:
    return np.concatenate([np.zeros_like(parts[0])[None], np.cumsum(parts, axis=0)])


def _named(case: Case, rest: Case, found: _Stretch, margin: int) -> Fault:
    """The fault of a stretch. rest: the case without it."""
    ends = _ends(case)
    number = int(np.searchsorted(ends, found.start, side="right") - 1)
    (name, t), first = case.stamps[number], int(ends[number])
    felt = _felt(case, rest, max(found.start - margin, first), min(found.stop + margin, int(ends[number + 1])))
    if found.kind == FORCE and felt is not None:
        start, stop = felt.start, felt.stop
    else:
        start, stop = found.start, found.stop
    places = np.array([found.start - margin, start, stop, found.stop + margin]) - first
    out_from, begin, end, out_to = t[np.clip(places, 0, len(t) - 1)]
    several = len(case.stamps) > 1
    option = ("--leave-out", f"{f'{name}=' if several else ''}{out_from:.2f}:{out_to:.2f}")
    size = _coefficients(case, found, found.columns)
    if found.kind == LOAD:
        evidence = {"mass_kg": float(size[0])}
        more = f"{abs(size[0]):.2g} kg {'more' if size[0] > 0 else 'less'}"
        what = f"{found.link} carries {more} than in the rest"
        if size[0] < 0:  # then the rest carries something, and what is the robot alone is for its owner to say
            option = ()
    elif felt is None:
        evidence = {"force_n": float(np.linalg.norm(size[:3]))}
        what = f"a force of about {evidence['force_n']:.2g} N acts on {found.link}"
    else:
        what, evidence = _touch(case, found, felt)
    return fault(
        found.kind,
        f"From {begin:.2f} to {end:.2f} s{f' of {name}' if several else ''}, {what}.",
        "",
        joint=None,
        options=option,
        begin_s=begin,
        end_s=end,
        **evidence,
    )


@dataclass(frozen=True)
class _Felt:
    """Samples in which torques from outside are beyond what noise reaches, and the largest (N m or N) by degree that
    they reach, the largest share of its noise first."""

    start: int
    stop: int
    torques: dict[int, float]


def _felt(case: Case, rest: Case, start: int, stop: int) -> _Felt | None:
    """What a stretch leaves of the fit to the rest; None where no sample stands out alone."""
    base, noise = rest.free
    left = case.regression.predicted(base) - case.target
    reach = noise * np.sqrt(2 * np.log(left.size))  # which as many independent samples of noise do not pass
    beyond = np.abs(left[:, start:stop]) > reach[:, None]
    if not beyond[list(case.dofs)].any():
        return None
    at = np.flatnonzero(beyond[list(case.dofs)].any(axis=0))
    dofs = [dof for dof in case.dofs if beyond[dof].any()]
    largest = {dof: float(left[dof, start + int(np.argmax(np.abs(left[dof, start:stop])))]) for dof in dofs}
    ordered = sorted(dofs, key=lambda dof: -abs(largest[dof]) / noise[dof])
    return _Felt(start + int(at[0]), start + int(at[-1]) + 1, {dof: largest[dof] for dof in ordered})


def _touch(case: Case, found: _Stretch, felt: _Felt) -> tuple[str, dict[str, float]]:
    """What touches where, in words and figures: by the last joints that feel it, and what they do not determine."""
    robot, size = case.robot, ""
    links, evidence = touched(robot, list(felt.torques)), {"largest_torque": max(map(abs, felt.torques.values()))}
    units = ["N m" if column[3:].any() else "N" for joint in robot.free_joints for column in joint.subspace.T]
    told = [f"{abs(x):.2g} {units[dof]} at {robot.dof_names[dof]}" for dof, x in felt.torques.items()]
    blind = identifiable_wrench(robot, links[-1]).blind_words
    if len(links) == 1 and not blind:
        columns = np.moveaxis(np.asarray(jacobian(robot, case.regression.q, links[0])), (0, 1, 2), (1, 2, 0))
        believed = np.broadcast_to(case.regression.believed, case.target.shape)[:, :, None]
        evidence["force_n"] = float(np.linalg.norm(_coefficients(case, found, columns * believed)[:3]))
        size = f" of about {evidence['force_n']:.2g} N"
    where = " and on ".join(f"{link} or what it carries" for link in links)
    unseen = f"; no joint feels {', '.join(blind)} of a wrench on {links[-1]}" if blind else ""
    return f"a force{size} acts on {where}, up to {', '.join(told)}{unseen}", evidence


def _coefficients(case: Case, found: _Stretch, columns) -> np.ndarray:
    """(m,) of columns (nv, n, m) that count in a stretch alone."""
    inside = np.zeros((len(case), 1))
    inside[found.start : found.stop] = 1.0
    return add_columns(case, columns * inside).coefficients
