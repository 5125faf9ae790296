"""What is asked of an experiment, and the goal that makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steelyard.defaults import FRICTION
from steelyard.errors import OptionError, choices
from steelyard.excite.focus import unknowns_of, whitened
from steelyard.excite.goal import CRITERIA, Goal, unit_columns
from steelyard.excite.measured import JOINTS, measured_kinds
from steelyard.excite.noise import noise_of, usual_wrench, weighed_logs
from steelyard.fit import THRESHOLDS, congruence, consistent_prior
from steelyard.identifiable import regression_basis
from steelyard.information import Information, sensors_of
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH, ParameterLayout, layout_of


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be known, how it is judged and how it will be measured: options of `excite.design`, as it has them.

    noise: N m (N for prismatic joints and forces), one or one a measured row; rate: independent samples a second.
    Raises OptionError for a criterion that there is not and a negative share of noise.
    """

    criterion: str = "D"
    focus: str | Sequence[str] | None = None
    rows: str | Sequence[str] = JOINTS
    friction: str | Sequence[str] = FRICTION
    armature: bool = False
    noise: ArrayLike | None = None
    noise_share: float = 0.0
    rate: float = 100.0
    after: Information | None = None
    weight: float = 1.0

    def __post_init__(self):
        if self.criterion not in CRITERIA:
            raise OptionError(f"criterion is one of {choices(CRITERIA)}; got {self.criterion!r}.")
        if not (np.isfinite(self.noise_share) and self.noise_share >= 0):
            raise OptionError(f"noise_share is a share of the RMS torque, 0 or more; got {self.noise_share}.")


def goal_of(robot: Robot, probe, asked: Asked) -> Goal:
    """Goal for a robot. probe: random allowed states q (nq, n), v, a (nv, n) and their torques (nv, n)."""
    from steelyard.excite.rows import regression_of

    kinds = measured_kinds(robot, asked.rows)
    layout = layout_of(robot, friction=asked.friction, armature=asked.armature)
    basis = regression_basis(robot, layout, sensors_of(robot, kinds))
    q, v, a, tau = probe
    plan = regression_of(robot, layout, basis, COULOMB_WIDTH, kinds)
    shown = plan.at(q, v, a)
    typical = np.sqrt(np.mean(tau**2, axis=1))
    typical = np.maximum(typical, 1e-3 * max(typical.max(initial=0.0), 1e-9))
    after, noise = asked.after, asked.noise
    if after is not None:
        after, noise = weighed_logs(robot, layout, kinds, after, noise)
    usual = np.concatenate([typical, usual_wrench(shown.forces[robot.nv :])])
    noise = noise_of(robot, kinds, usual, noise)
    earlier = np.zeros((basis.count, basis.count)) if after is None else after.base.G
    columns, wanted = unknowns_of(robot, layout, basis, asked.focus)
    units = _prior_units(robot, layout, typical, asked.weight)[:, columns][columns]
    open_before = basis.regrouping[:, columns] @ units
    spread, directions = whitened(open_before)
    places = np.searchsorted(columns, wanted)
    seen = directions[places]
    told = units[places] / np.linalg.norm(units[places], axis=1)[:, None] @ directions
    deviations = _in_motions(plan, q, v, a, usual, slice(0, robot.nv) if JOINTS in kinds else slice(robot.nv, None))
    scale = np.sqrt(deviations.shape[1])
    reference = np.linalg.qr(deviations.T, mode="r") @ open_before[:, places] @ seen / scale
    gram = shown.gram(np.ones(len(noise)))
    rank = np.linalg.matrix_rank(unit_columns(gram + earlier)[0], tol=1e-10)
    return Goal(
        robot=robot,
        layout=layout,
        basis=basis,
        noise=noise,
        rate=asked.rate,
        criterion=asked.criterion,
        spread=spread,
        precision=np.eye(spread.shape[1]) + spread.T @ earlier @ spread,
        wanted=wanted,
        seen=seen,
        told=told,
        rank=int(rank),
        earlier=earlier,
        reference=reference,
        share=float(asked.noise_share),
        kinds=kinds,
    )


def _prior_units(robot: Robot, layout: ParameterLayout, typical, weight: float) -> np.ndarray:
    """(p, p) columns of regression parameters that the prior leaves open by one: the pullback metric of
    `fit.consistent` for bodies, a share of the typical torques (nv,) for friction and armature."""
    theta = consistent_prior(None, robot, robot.nb)[0]
    unit = np.zeros((layout.size, layout.size))
    for i, each in enumerate(theta):
        unit[layout.body(i), layout.body(i)] = congruence(each) * np.sqrt(2 / weight)
    effects = np.arange(layout.inertial.stop, layout.size)
    unit[effects, effects] = (
        THRESHOLDS.effect_spread * np.tile(typical[list(layout.dofs)], len(layout.terms)) / np.sqrt(weight)
    )
    return unit


def _in_motions(plan, q, v, a, usual, predicted: slice) -> np.ndarray:
    """(r, n rows) what one unit of each base parameter makes in the predicted rows of motions at all speeds, from
    standing still to the limits, over what is usual (rows,) there."""
    tempo = np.linspace(0, 1, q.shape[1])
    paced = plan.at(q, tempo * v, tempo**2 * a).dense()[:, predicted]
    return (paced / usual[predicted, None]).reshape(len(paced), -1)
