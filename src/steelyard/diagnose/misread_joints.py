"""Positions and torques that are not those of joints: in revolutions, to the horizontal, of parallel drives, of motors
of a differential. A matrix a reading makes joints of them, and posteriors of few samples say by evidence which it is.

Wrong links cannot imitate another reading, as their prior pays for it: where it is one, a sample wins 0.45 nats at
least, on healthy logs 0.24 at most.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.diagnose.case import FEWEST
from steelyard.diagnose.diagnosis import imitated
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.hypotheses.coupled_joints import WINS
from steelyard.diagnose.hypotheses.torque_scale import unit_remedy
from steelyard.diagnose.thresholds import EVIDENCE
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import SteelyardError
from steelyard.fit import Estimate
from steelyard.fit.evidence import TIGHTNESS
from steelyard.fit.posterior import posterior
from steelyard.information import accumulate
from steelyard.log import Log, joined
from steelyard.model import Robot
from steelyard.terms import friction_terms


@dataclass(frozen=True, eq=False)
class Reading:
    """position, torque: (nv, nv) that make those of joints. said: what the log has. word: of `--unit`, or none. mixed:
    joints that it mixes."""

    said: str
    position: np.ndarray
    torque: np.ndarray
    word: str = ""
    mixed: tuple[str, ...] = ()


def readings(names: tuple[str, ...]) -> Iterator[Reading]:
    """All that are tried, of joints in the order of a chain."""
    turn, same = 2 * np.pi, np.eye(len(names))
    yield Reading("All positions are in revolutions", turn * same, same, "q=rev")
    for j, name in enumerate(names):
        scaled = same.copy()
        scaled[j, j] = turn
        yield Reading(f"The position of {name} is in revolutions", scaled, same, f"q:{name}=rev")
    for i, (one, other) in enumerate(pairwise(names)):
        pair = np.ix_((i, i + 1), (i, i + 1))
        for sign, word in ((-1.0, "plus"), (1.0, "minus")):
            apart = same.copy()
            apart[i + 1, i] = -sign
            both = f"The position of {other} is that of the joint {'minus' if word == 'plus' else 'plus'} {one}'s"
            level = f"{both}, as of an angle to the horizontal: write {other} {word} {one}"
            yield Reading(level, apart, same, mixed=(one, other))
            moved = f"{both}, and so are torques, as of a parallel drive: write {other} {word} {one} for positions and "
            moved += f"{one} {'plus' if word == 'minus' else 'minus'} {other} for torques of {one}"
            yield Reading(moved, apart, np.linalg.inv(apart).T, mixed=(one, other))
            for first, second in ((one, other), (other, one)):
                mixed = same.copy()
                mixed[pair] = np.array([[1.0, 1.0], [sign, -sign]]) / 2
                if first == other:
                    mixed[[i, i + 1]] = mixed[[i + 1, i]]
                said = f"{one} and {other} are the motors of a differential: write half their sum for {first} and "
                difference = f"{one} minus {other}" if sign > 0 else f"{other} minus {one}"
                said += f"half of {difference} for {second}, and the same of torques without the half"
                yield Reading(said, mixed, np.linalg.inv(mixed).T, mixed=(one, other))


def misread(robot: Robot, logs: list[Log], estimate: Estimate, share: float) -> tuple[Fault, ...]:
    """The reading that explains far more than that of joints, if there is one.

    Args:
        robot: with the links of the file.
        logs: with q, v, a and tau, filtered.
        estimate: their posterior.
        share: of their samples that are independent.

    Returns:
        The fault, or none.
    """
    simple = len(robot.scalar_positions) == robot.nv == robot.nq and not robot.loops
    doubted = min(estimate.scales[name] for name in robot.body_names) < np.exp(TIGHTNESS)
    if not simple or not doubted or any(log.contacts or log.external for log in logs):
        return ()
    few = joined([log[:: max(sum(map(len, logs)) // FEWEST, 1)] for log in logs])
    share = min(share * sum(map(len, logs)) / len(few), 1.0)
    q, v, a, tau = few.require("q", "v", "a", "tau")
    try:  # with directions of motion that were not filtered, as of all readings
        usual = few.replace(q=q, v=v, a=a, tau=tau)
        before = _judged(robot, usual, share)
    except SteelyardError:  # nothing to compare with: the diagnosis goes on
        return ()
    if scaled := _scaled(robot, usual, share, before[0]):
        return scaled
    best, won, after = None, WINS, 0.0
    for each in readings(robot.dof_names):
        read = few.replace(q=q @ each.position.T, v=v @ each.position.T, a=a @ each.position.T, tau=tau @ each.torque.T)
        try:
            evidence, left, other = _judged(robot, read, share)
        except SteelyardError:  # no bodies move so
            continue
        more = (evidence - before[0]) / (share * tau.size) + np.linalg.slogdet(each.torque)[1] / robot.nv
        if more > won and left < before[1] and not other:
            best, won, after = each, more, left
    shared = [] if best is None or not best.mixed else [best.mixed, dict(zip(best.mixed, (1.0, -1.0), strict=True))]
    motors = [(_judged(robot, usual, share, each)[0] - before[0]) / (share * tau.size) for each in shared]
    if best is None or won < WINS + max(motors, default=0.0):  # a motor that two joints share explains as much
        return ()
    said = f"{best.said}: then {after:.1%} of the torque is left, as read {before[1]:.1%}."
    options = ("--unit", best.word) if best.word else ()
    return (fault("joint_coordinates", said, options=options, nats_a_sample=won, relative_error=after),)


def _scaled(robot: Robot, log: Log, share: float, before: float) -> tuple[Fault, ...]:
    """Torques of another scale by powers of ten, where that makes links those of the file again, a gripper beside."""
    q, v, a, tau = log.require("q", "v", "a", "tau")
    needed = inverse_dynamics(robot, q, v, a)
    factor = float(np.sum(needed * tau) / np.sum(needed**2))
    power = np.round(np.log10(factor)) if factor > 0 else 0.0
    if not power:
        return ()
    after = _judged(robot, log.replace(tau=tau / 10**power), share)[0] - tau.size * share * power * np.log(10)
    if after - before < EVIDENCE:
        return ()
    said = f"Torques are {factor:.2g} times those that the links of the file need, or about so, in most joints."
    remedy, options = unit_remedy(factor)
    return (fault("torque_unit", said, remedy, options=options, factor=factor, nats=after - before),)


def _judged(robot: Robot, log: Log, share: float, *coupling) -> tuple[float, float, bool]:
    """Evidence of a posterior with plain columns, its noise over the torque, and whether all links are others."""
    info = accumulate(robot, log, friction=friction_terms(), armature=True, coupling=coupling)
    found = posterior(info, share=share)
    return (
        found.evidence,
        float(np.sqrt(found.noise**2 @ info.counts / info.energy.sum())),
        imitated(found, robot.body_names),
    )
