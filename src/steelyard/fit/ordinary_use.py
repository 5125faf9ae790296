"""Motion that was not recorded: all joints in their whole range at ordinary speed, to ask what a fit says of it."""

from collections.abc import Sequence

import numpy as np

from steelyard.information import Information, accumulate
from steelyard.log import Log
from steelyard.model import Robot

SAMPLES = 400
SWEEP = 1.0  # rad/s: a joint that sweeps its range in 2 pi seconds is in ordinary use
SPEED_SHARE = 0.7  # of a joint's velocity limit that ordinary use stays within, as in `simulate.rich_motion`
RANGE_SHARE = 0.8  # of a joint's range, likewise
TURN, STROKE = 1.2, 0.15  # rad, m: half of the range of a joint without limits, at least; likewise


def ordinary_use(robot: Robot, logs: Sequence[Log], **columns) -> Information | None:
    """Information (without torque) of motion in which all joints use their range at ordinary speed, none a copy of the
    others. columns: options of `accumulate`. None for robots with closed loops, whose joints cannot move alone.

    Positions are spread evenly over the limits, or over twice what the logs show where there are none; speeds and
    accelerations are normal, those of a joint that sweeps its range in 2 pi seconds, or those of the liveliest joint
    of its kind in the logs where that is more. A free base and other composite joints move as they did in the logs.
    """
    if robot.loops:
        return None
    rng = np.random.default_rng(0)
    whole = {key: np.concatenate([log.require(key)[0] for log in logs]) for key in ("q", "v", "a")}
    picked = rng.integers(len(whole["q"]), size=SAMPLES)
    q, v, a = (whole[key][picked] for key in ("q", "v", "a"))
    places = robot.scalar_positions
    slides = [joint.kind == "prismatic" for joint in robot.free_joints for _ in range(joint.nv)]
    rms = {key: np.sqrt(np.mean(whole[key] ** 2, axis=0)) for key in ("v", "a")}
    for dof, at in places.items():
        alike = [other for other in places if slides[other] == slides[dof]]
        middle, half = _range(robot.lower[at], robot.upper[at], whole["q"][:, at], STROKE if slides[dof] else TURN)
        speed, pull = (max(rms[key][alike].max(), half * SWEEP**n / np.sqrt(2)) for n, key in enumerate("va", start=1))
        most = SPEED_SHARE * robot.velocity_limits[dof]
        q[:, at] = middle + half * rng.uniform(-1, 1, SAMPLES)
        v[:, dof] = np.clip(speed * rng.normal(size=SAMPLES), -most, most)
        a[:, dof] = pull * rng.normal(size=SAMPLES)
    log = Log(t=np.arange(SAMPLES) / 1.0, q=q, v=v, a=a, tau=np.zeros_like(v), joint_names=logs[0].joint_names)
    return accumulate(robot, log, engine="numpy", **columns).base


def _range(lower: float, upper: float, q, least: float) -> tuple[float, float]:
    """Middle and half width of the range that a joint uses."""
    if np.isfinite(lower) and np.isfinite(upper) and upper > lower:
        return (lower + upper) / 2, min(RANGE_SHARE * (upper - lower) / 2, np.pi)
    return float(q.min() + q.max()) / 2, max(float(np.ptp(q)), least)
