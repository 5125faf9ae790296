"""Where to hold an identified payload: grasps ranked by what a planned motion asks of the joints of the arm."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics, regressor
from steelyard.dynamics.effects import friction_torque
from steelyard.dynamics.kinematics import coordinate_map, tree
from steelyard.errors import InertiaError, OptionError, choices
from steelyard.inertia import parameters, pseudo
from steelyard.model import Robot
from steelyard.native import NUMBERS
from steelyard.numbers import NEGLIGIBLE
from steelyard.payload.carried import frame_of, theta_of
from steelyard.payload.payload_estimate import Payload
from steelyard.payload.solid_shape import as_pose
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.sheets import sheet, text_table

MEASURES = ("effort", "peak")
DRAWS = 1000  # samples of the payload: of a probability of 95 % they leave a deviation of 0.7 %


@dataclass(frozen=True, eq=False, repr=False)
class GraspRanking(Card):
    """Grasps in the order of the upper bound of a measure, those beyond the limits of the arm last.

    names: (k,) of the grasps, the best first, as in all arrays here.
    measure: what they are ranked by, of `effort` and `peak`.
    effort: (k,) s, integral over the motion of the sum of squared shares of the joints' limits.
    peak: (k,) largest share of a limit; 1 is the limit.
    effort_upper, peak_upper: (k,) their 95 % quantiles over the posterior of the payload.
    joint, time: (k,) the joint of that peak, and when it occurs, s.
    surely: (k, k) probability that a grasp costs less than another, by the measure.
    """

    names: tuple[str, ...]
    measure: str
    effort: np.ndarray
    effort_upper: np.ndarray
    peak: np.ndarray
    peak_upper: np.ndarray
    joint: tuple[str, ...]
    time: np.ndarray
    surely: np.ndarray

    @property
    def best(self) -> str | None:
        """The first grasp, None where each exceeds the limits of the arm."""
        return self.names[0] if self.within_limits[0] else None

    @property
    def within_limits(self) -> np.ndarray:
        """(k,) whether the upper bound of the peak keeps the limits of all joints."""
        return self.peak_upper <= 1

    @property
    def alike(self) -> tuple[str, ...]:
        """Grasps within the limits that, as far as the payload is known, may cost less than the first (5 %)."""
        unsure = (self.surely[0] < THRESHOLDS.surely) & self.within_limits
        return tuple(name for name, each in zip(self.names[1:], unsure[1:], strict=True) if each)

    def _title(self) -> str:
        return f"GraspRanking({len(self.names)} grasps by {self.measure})"

    def _rows(self):
        return {"best": self.best or "none within the limits", "alike": self.alike or None, "names": self.names}

    def summary(self) -> str:
        """The table of all grasps, and what can be decided."""
        rows = [
            (
                name,
                f"{self.effort[i]:.4g}",
                f"{self.effort_upper[i]:.4g}",
                f"{self.peak[i]:.1%}",
                f"{self.peak_upper[i]:.1%}",
                f"{self.joint[i]}, {self.time[i]:.3g} s",
                f"{self.surely[0, i]:.0%}" if i else "",
            )
            for i, name in enumerate(self.names)
        ]
        heads = ("effort, s", "95 %", "peak", "95 %", ("at", "text"), "costs more than the first")
        lines = [text_table(sheet("Grasps", "", (("grasp", "text"), *heads), rows))]
        if self.best is None:
            lines.append("No grasp keeps the limits of the arm: move more slowly, or hold the payload elsewhere.")
        elif self.alike:
            lines.append(
                f"{self.names[0]} cannot be told apart from {', '.join(self.alike)} (5 %): identify the payload with "
                "a richer motion, or take any of them."
            )
        return "\n".join(lines)


def rank_grasps(
    robot: Robot,
    payload,
    grasps,
    *,
    t,
    q,
    v,
    a,
    frame: str | None = None,
    limits=None,
    measure: str = "effort",
    draws: int = DRAWS,
    seed: int = 0,
) -> GraspRanking:
    """Rank grasps of a payload by the effort or the peak torque of an arm along a planned motion.

    The uncertainty of the payload is carried by samples of its posterior, the same for all grasps. Friction of the
    model counts.

    Args:
        robot: the arm with its hand, on a fixed base and without closed loops.
        payload: a `Payload`, or theta (10,), which is taken as exact, in the frame in which it was identified.
        grasps: (R, p) by name, or a sequence of them: pose of the hand in the frame of the payload, the columns of
            the rotation R (3, 3) its axes, p (3,) its origin in m. (1, 0) is the grasp of the identification.
        t: (n,) s, increasing.
        q: (n, nq) positions, rad or m, or (k, n, nq), a motion for each of k grasps.
        v: velocities, (n, nv) or (k, n, nv).
        a: accelerations, (n, nv) or (k, n, nv).
        frame: link or body that is the hand, the last body by default.
        limits: (nv,) N m or N, of torque; those of the model by default.
        measure: "effort" or "peak".
        draws: number of samples of the posterior of a `Payload`.
        seed: of its random numbers.

    Returns:
        The GraspRanking.

    Raises:
        OptionError: poses, states, times or limits of another shape or without a meaning, joints without a limit, an
            unknown frame or measure, a robot with a floating base or loops.
        InertiaError: a payload that is no result, or that no body can have.
        LogError: a frame that cannot move.

    Source: paper E, 1-3, in the joints of the arm; frame changes of paper A.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> arm = sy.library.puma560()
        >>> rod = sy.inertia.from_com_inertia(2.0, np.array([0.2, 0, 0.1]), np.diag([1e-3, 2e-2, 2e-2]))
        >>> t = np.linspace(0, 1, 50)
        >>> q = 0.5 * np.sin(3 * t)[:, None] * np.ones(6)
        >>> v, a = 1.5 * np.cos(3 * t)[:, None] * np.ones(6), -9 * q
        >>> grasps = {"end": (np.eye(3), np.zeros(3)), "middle": (np.eye(3), np.array([0.2, 0, 0]))}
        >>> sy.payload.rank_grasps(arm, rod, grasps, t=t, q=q, v=v, a=a, limits=np.full(6, 100.0)).best
        'middle'
    """
    require_type(Robot, robot=robot)
    if measure not in MEASURES:
        raise OptionError(f"measure is one of {choices(MEASURES)}; got {measure!r}.")
    names, poses = _poses(grasps)
    thetas = _samples(payload, draws, seed)
    body, R, p = frame_of(robot, frame)
    _require_arm(robot)
    held = np.stack([parameters.transform(thetas, r.T, -r.T @ x) for r, x in poses])  # (k, m, 10) in the hand
    held = parameters.transform(held, R, p)
    t, states = _motion(robot, len(names), t, q, v, a)
    joints = np.flatnonzero(coordinate_map(robot) @ tree(robot).ancestors[robot.body_joints[body]])
    costs = _costs(robot, body, joints, _limits(robot, joints, limits), held, t, states)
    upper = {name: np.quantile(costs[name][:, 1:], THRESHOLDS.surely, axis=1) for name in MEASURES}
    by = costs[measure][:, 1:]
    order = np.lexsort((upper[measure], upper["peak"] > 1))
    return GraspRanking(
        names=tuple(names[i] for i in order),
        measure=measure,
        effort=costs["effort"][order, 0],
        effort_upper=upper["effort"][order],
        peak=costs["peak"][order, 0],
        peak_upper=upper["peak"][order],
        joint=tuple(robot.dof_names[joints[costs["joint"][i]]] for i in order),
        time=t[costs["sample"][order]],
        surely=np.array([np.mean(by[i] < by[order], axis=1) for i in order]),
    )


def _costs(robot, body, joints, limits, held, t, states) -> dict:
    """effort, peak (k, m) of thetas held (k, m, 10), and joint, sample (k,) of the peaks of the first of them."""
    k, m, _ = held.shape
    steps = np.diff(t, prepend=t[0], append=t[-1])
    steps = (steps[1:] + steps[:-1]) / 2  # trapezoid rule
    effort, peak = np.zeros((k, m)), np.zeros((k, m))
    joint, sample = np.zeros((2, k), dtype=int)
    motions = (
        [states]
        if all(x.ndim == 2 for x in states)
        else [[x if x.ndim == 2 else x[i] for x in states] for i in range(k)]
    )
    size = max(1, NUMBERS // (m * len(joints)))
    for start in range(0, len(t), size):
        part = slice(start, start + size)
        linear = [_linear(robot, body, joints, *(x[part] for x in each)) for each in motions]
        for i in range(k):
            own, rows = (x / limits[:, None] for x in linear[i % len(linear)])
            shares = own + rows @ held[i].T  # (n, joints, m)
            effort[i] += steps[part] @ np.sum(shares**2, axis=1)
            largest = np.abs(shares[..., 0])
            if largest.max() > peak[i, 0]:
                at, joint[i] = np.unravel_index(int(np.argmax(largest)), largest.shape)
                sample[i] = start + at
            peak[i] = np.maximum(peak[i], np.abs(shares).max(axis=(0, 1)))
    return {"effort": effort, "peak": peak, "joint": joint, "sample": sample}


def _linear(robot, body, joints, q, v, a):
    """Torques of the joints without the payload (n, joints, 1), and per unit of its parameters (n, joints, 10)."""
    own = inverse_dynamics(robot, q, v, a) + friction_torque(robot, v)
    return own[:, joints, None], regressor(robot, q, v, a)[:, joints, 10 * body : 10 * body + 10]


def _poses(grasps):
    if not isinstance(grasps, Mapping):
        grasps = {f"grasp {i}": each for i, each in enumerate(grasps if isinstance(grasps, Iterable) else ())}
    if not grasps:
        raise OptionError("grasps has no grasp to rank; give (R, p), the pose of the hand, by name or in a list.")
    poses = [as_pose(each, f"'{name}'", "the hand in the frame of the payload") for name, each in grasps.items()]
    return [str(name) for name in grasps], poses


def _samples(payload, draws: int, seed: int) -> np.ndarray:
    """(1 + m, 10) the estimate and samples of its posterior."""
    theta = theta_of(payload)
    if draws < 1:
        raise OptionError(f"draws is a positive number of samples; got {draws!r}.")
    if isinstance(payload, Payload):
        return np.concatenate([theta[None], payload.draws(draws, seed=seed).inertias[:, 0]])
    size = np.linalg.norm(pseudo.to_matrix(theta))
    if not np.isfinite(size) or pseudo.smallest_eigenvalue(theta) < -NEGLIGIBLE * size:
        raise InertiaError(
            f"no body has the parameters {np.array2string(theta, precision=4)} of this payload; "
            "kg, kg m and kg m^2, moments about the origin of its frame, are expected"
        )
    return np.stack([theta, theta])


def _require_arm(robot: Robot):
    if robot.floating or robot.loops:
        what = "a floating base" if robot.floating else f"closed loops ({choices(robot.loop_names)})"
        raise OptionError(
            f"robot {robot.name!r} has {what}: not every joint of its tree has a motor. Grasps are ranked for arms on "
            "a fixed base without loops."
        )


def _motion(robot: Robot, count: int, t, q, v, a):
    """t (n,) and q, v, a, each (n, width) or (count, n, width)."""
    t = np.asarray(t, dtype=float)
    if t.ndim != 1 or len(t) < 2 or not (np.isfinite(t).all() and (np.diff(t) > 0).all()):
        raise OptionError(f"t is two or more increasing times in s, one a sample; got shape {t.shape}.")
    states = []
    for name, x, width in (("q", q, robot.nq), ("v", v, robot.nv), ("a", a, robot.nv)):
        x = np.asarray(x, dtype=float)
        if x.shape not in ((len(t), width), (count, len(t), width)) or not np.isfinite(x).all():
            raise OptionError(
                f"{name} of {robot.name!r} has shape {x.shape}; expected finite numbers ({len(t)}, {width}), one row "
                f"a time, or ({count}, {len(t)}, {width}) with a motion for each grasp."
            )
        states.append(x)
    return t, states


def _limits(robot: Robot, joints, limits) -> np.ndarray:
    given = np.asarray(robot.effort_limits if limits is None else limits, dtype=float)
    if given.shape != (robot.nv,):
        raise OptionError(f"limits has shape {given.shape}; one a joint of {robot.name!r} is needed, ({robot.nv},).")
    missing = [robot.dof_names[j] for j in joints if not 0 < given[j] < np.inf]
    if missing:
        raise OptionError(
            f"robot {robot.name!r} has no torque limit for {choices(missing)}: shares of it have no meaning. Give "
            "limits=, (nv,) in N m or N, positive and finite."
        )
    return given[joints]
