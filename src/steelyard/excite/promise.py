"""A next motion, checked before it is recommended: recorded in MuJoCo, prepared as a log is, and identified.

The robot of the simulation is drawn from what is known of it; the noise is that of the earlier logs. What the motion
promises is a standard deviation for everything that is wanted; errors over it should have a mean square of one.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.cards import SEVERAL
from steelyard.dynamics import inverse_dynamics
from steelyard.dynamics.effects import friction_torque
from steelyard.errors import SteelyardError
from steelyard.excite.measured_axes import JOINTS
from steelyard.excite.planned_motion import Design, deviation_ratios
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.information import accumulate
from steelyard.prepare import prepare
from steelyard.simulate import Sensors, record
from steelyard.terms import friction_terms

DRAWS = 4  # recordings
RATE = 500.0  # Hz of the simulated log


@dataclass(frozen=True)
class Promise:
    """What a simulated recording of a motion made of its promise.

    ratio: root mean square of the errors of what is wanted, over the promised standard deviation.
    shown: names whose deviation the motion lowers noticeably. hidden: those whose it does not.
    """

    ratio: float
    shown: tuple[str, ...]
    hidden: tuple[str, ...]

    @property
    def kept(self) -> bool:
        return self.ratio < THRESHOLDS.promise and bool(self.shown)

    def explain(self) -> str:
        """One or two sentences: whether to record the motion, and what else would help."""
        hidden = ", ".join(self.hidden[:SEVERAL]) + (", ..." if len(self.hidden) > SEVERAL else "")
        remedy = f"keep what you trust of {hidden} (identify --fix), or weigh it (--mass)"
        if not self.shown:
            return f"Not recommended: no motion within these limits shows what is asked for; {remedy}."
        if not self.kept:
            return (
                f"Not recommended: simulated and identified, errors are {self.ratio:.1f} times what the motion "
                "promises. Design a slower one (--speed, --acceleration) or a longer one."
            )
        said = f"Simulated and identified with the earlier logs, errors are {self.ratio:.1f} times what it promises"
        if not self.hidden:
            return f"{said}; all that is wanted gets better."
        return f"{said}; it hardly shows {hidden}: {remedy}."


def simulated(design: Design, *, seed: int = 0) -> Promise | None:
    """Record a motion in MuJoCo, identify from it and all that was known, and compare errors with the promise.

    Args:
        design: the motion, for joint torques.
        seed: of the robots and the noise.

    Returns:
        The Promise; None where other rows than joint torques count, the motion cannot be simulated, or earlier logs
        have no noise.
    """
    goal = design.goal
    if goal.kinds != (JOINTS,):
        return None
    try:
        log = record(design.robot, design, sensors=Sensors(torque_noise=0.0, rate=RATE)).log
        quiet = prepare(log, design.robot).log
    except SteelyardError:
        return None
    tau = log.require("tau")[0]
    if (goal.noise < THRESHOLDS.noiseless * np.sqrt(np.mean(tau**2, axis=0)).max()).all():
        return None
    names, ratios = deviation_ratios(design)
    rng = np.random.default_rng(seed)
    left = goal.precision + goal.spread.T @ design.gram @ goal.spread
    promised = np.sqrt(np.sum(goal.contrasts @ np.linalg.inv(left) * goal.contrasts, axis=1))
    per_sample = goal.noise * np.sqrt(RATE * len(quiet) / quiet.effective_samples / quiet.rate)
    errors = []
    for _ in range(DRAWS):
        noisy = log.replace(tau=tau + rng.normal(size=tau.shape) * per_sample)
        errors.append(goal.contrasts @ _error(design, prepare(noisy, design.robot).log, rng) / promised)
    return Promise(
        ratio=float(np.sqrt(np.mean(np.square(errors)))),
        shown=tuple(name for name, ratio in zip(names, ratios, strict=True) if ratio < THRESHOLDS.shown),
        hidden=tuple(name for name, ratio in zip(names, ratios, strict=True) if ratio >= THRESHOLDS.shown),
    )


def _error(design: Design, log, rng) -> np.ndarray:
    """(c,) error of the unknowns that a log of the nominal robot leaves, what was known being wrong by a draw."""
    goal, robot = design.goal, design.robot
    columns = {
        "friction": tuple(term for term in goal.layout.terms if term in friction_terms()),
        "armature": "armature" in goal.layout.terms,
    }
    model = inverse_dynamics(robot, log.q, log.v, log.a) + friction_torque(robot, log.v)
    seen, true = (accumulate(robot, each, **columns) for each in (log, log.replace(tau=model)))
    seen, true = (each.weighted(each.independence / goal.noise**2).base for each in (seen, true))
    known = np.linalg.cholesky(goal.precision) @ rng.normal(size=len(goal.precision))
    own = goal.precision + goal.spread.T @ seen.G @ goal.spread
    return np.linalg.solve(own, goal.spread.T @ (seen.b - true.b) + known)
