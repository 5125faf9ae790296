"""What a motion must respect: `Limits`, the `MotionBounds` of one robot that follow, and random states within them."""

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from steelyard.cards import Card
from steelyard.errors import OptionError
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.information.regression_rows import require_tree
from steelyard.model import Joint, Robot
from steelyard.model.joint import ENDLESS_EFFORT, endless

STATES = 300  # random states that give typical torques and pairs that always touch


@dataclass(frozen=True, eq=False, repr=False)
class Limits(Card):
    """Limits of a motion; joint limits are those of the model by default, else each a number or (nv,).

    margin: share of every limit that stays unused.
    speed: share of the velocity limits to use.
    position: (lower, upper), rad or m.
    velocity: rad/s or m/s; 2 rad/s or 0.5 m/s where the model states none.
    acceleration: rad/s^2 or m/s^2; 5 times the velocity limit a second by default.
    jerk: rad/s^3 or m/s^3; unlimited by default.
    effort: N m or N.
    cartesian_speed: m/s of every corner of the boxes around the bodies' geometry.
    collisions: whether bodies keep their distance from each other.
    clearance: m that they keep.
    floor: height z in m that everything stays above by as much.
    boxes: obstacles, six numbers each: centre x, y, z and size along x, y, z, m, in the world.
    scene: path of a model file (MJCF, SDF, USD) whose solids that stay stand around the robot, in the world.
    feet: links on which the robot stands, which must not move.
    balance: m inside of the feet at which the zero-moment point stays.

    Raises OptionError for shares, speeds and clearances out of their range.
    """

    margin: float = 0.05
    speed: float = 1.0
    position: tuple[ArrayLike, ArrayLike] | None = None
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    jerk: ArrayLike | None = None
    effort: ArrayLike | None = None
    cartesian_speed: float | None = None
    collisions: bool = True
    clearance: float = 0.02
    floor: float | None = None
    boxes: tuple[Sequence[float], ...] = ()
    scene: str | Path | None = None
    feet: tuple[str, ...] = ()
    balance: float = 0.01

    def __post_init__(self):
        if not 0 <= self.margin < 1 or not 0 < self.speed <= 1:
            raise OptionError(
                f"margin={self.margin} is a share from 0 to below 1, and speed={self.speed} one above 0, up to 1."
            )
        if (self.boxes or self.scene is not None) and not self.collisions:
            raise OptionError("Boxes and scenes are kept away from by geometry: leave out --no-collisions.")
        if self.clearance < 0 or (self.cartesian_speed is not None and not self.cartesian_speed > 0):
            raise OptionError(
                f"clearance={self.clearance} m is not negative and cartesian_speed={self.cartesian_speed} m/s positive."
            )


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """What one robot may do, margins taken off, each (nv,). Infinite where nothing limits."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    effort: np.ndarray
    locked: np.ndarray  # degrees that stay at `rest`; those of joints of several degrees all do, at `pose` (nq,)
    rest: np.ndarray
    pose: np.ndarray
    scalar: np.ndarray  # column of q of each other degree, -1 for theirs
    turning: np.ndarray  # whether a degree is an angle

    def positions(self, x) -> np.ndarray:
        """q (nq, n) of degrees x (nv, n)."""
        own = self.scalar >= 0
        q = np.repeat(self.pose[:, None], x.shape[1], axis=1)
        q[self.scalar[own]] = x[own]
        return q

    @property
    def middle(self) -> np.ndarray:
        return np.where(self.locked, self.rest, (self.lower + self.upper) / 2)

    @property
    def half(self) -> np.ndarray:
        return (self.upper - self.lower) / 2

    @property
    def moving(self) -> np.ndarray:
        return np.flatnonzero(~self.locked)


def bounds_of(robot: Robot, limits: Limits, *, locked=(), moved=None, rest=None) -> MotionBounds:
    """Bounds of a robot. locked: joints that do not move, by name or pattern (`left_*`); moved: those that alone do;
    rest: (nv,) or (nq,) where the others stay. Raises OptionError for joints without range, limits that leave nothing,
    free bases and joints of several degrees that are not locked, and closed loops."""
    require_tree(robot, "The design of motions")
    locked = _locked(robot, locked, moved)
    owners = [j for j in robot.free_joints for _ in range(j.nv)]
    still = np.array([j.name in locked for j in owners])
    _require_single(owners, still)
    kinds = ["revolute" if j.turns else "prismatic" for j in owners]
    scalar = np.array([robot.scalar_positions.get(i, -1) for i in range(robot.nv)], dtype=int)
    pose = robot.neutral if rest is None else _pose(robot, rest, scalar)
    held, own, own_velocity = pose[np.maximum(scalar, 0)], _own_limits(robot, scalar), _own_velocity(robot)
    lower, upper = own if limits.position is None else (endless(_each(robot, x, "position")) for x in limits.position)
    wide = np.array([THRESHOLDS.position[kind] for kind in kinds])
    open_below, open_above = ~np.isfinite(lower), ~np.isfinite(upper)
    low = np.where(open_below, np.where(open_above, -wide, upper - 2 * wide), lower)
    high = np.where(open_above, np.where(open_below, wide, lower + 2 * wide), upper)
    if limits.position is not None:
        low, high = np.maximum(low, own[0]), np.minimum(high, own[1])
    _require_room(robot, low, high, still, own)
    shrunk = limits.margin * (high - low) / 2
    fast = np.where(np.isfinite(own_velocity), own_velocity, [THRESHOLDS.velocity[kind] for kind in kinds])
    if limits.velocity is not None:
        given = endless(_each(robot, limits.velocity, "velocity"))
        fast = np.where(np.isinf(given), fast, np.minimum(given, own_velocity))
    rates = {
        "velocity": fast * limits.speed,
        "acceleration": THRESHOLDS.acceleration * fast if limits.acceleration is None else limits.acceleration,
        "jerk": np.inf if limits.jerk is None else limits.jerk,
        "effort": robot.effort_limits if limits.effort is None else limits.effort,
    }
    rates = {
        name: (1 - limits.margin) * endless(_each(robot, value, name), ENDLESS_EFFORT) for name, value in rates.items()
    }
    for name, value in rates.items():
        bad = np.flatnonzero(~(value > 0) & ~still)
        if bad.size:
            raise OptionError(
                f"The {name} limit of joint '{robot.dof_names[bad[0]]}' is {value[bad[0]]:g}; a joint that moves "
                "needs a positive one. Correct the model, give one in Limits, or lock the joint."
            )
    return MotionBounds(
        lower=low + shrunk,
        upper=high - shrunk,
        locked=still,
        rest=np.clip(held, low, high),
        pose=pose,
        scalar=scalar,
        turning=np.array([kind == "revolute" for kind in kinds]),
        **rates,
    )


def _locked(robot: Robot, locked, moved) -> set[str]:
    """Joints that stay still. Raises OptionError for a name or pattern that no joint has, or that only a mimic has."""
    still = set(_matching(robot, locked, "locked"))
    return still if moved is None else still | set(robot.joint_names) - set(_matching(robot, moved, "moved"))


def _matching(robot: Robot, names, option: str):
    for name in names:
        found = fnmatch.filter(robot.joint_names, name)
        follower = next((j for j in robot.joints if j.mimics is not None and j.name == name), None)
        if follower is not None:
            raise OptionError(f"{option}: joint '{name}' follows '{follower.mimics}'; name that one.")
        if not found:
            raise OptionError(f"{option}: robot '{robot.name}' has no joint '{name}'; it has {robot.joint_names}.")
        yield from found


def _require_single(owners, still):
    """Raise OptionError for a joint of several degrees that is to move."""
    for joint, locked in zip(owners, still, strict=True):
        if joint.kind == "free":
            raise OptionError(
                f"Joint '{joint.name}' is a free base; a motion is designed for a robot whose base is held. Load the "
                "model with floating=False (`--held`), and say how it is turned with gravity=(x, y, z) (`--gravity`)."
            )
        if joint.nv > 1 and not locked:
            raise OptionError(
                f"Joint '{joint.name}' has {joint.nv} degrees; motions are designed for joints of one. Lock it "
                f"(locked=['{joint.name}'], `--lock {joint.name}`), or put {joint.nv} joints of one in its place."
            )


def _own_limits(robot: Robot, scalar) -> tuple[np.ndarray, np.ndarray]:
    """Position limits (nv,) of the model, followers' included. Raises OptionError where these leave their master
    nothing."""
    own = scalar >= 0
    lower = np.where(own, robot.lower[np.maximum(scalar, 0)], -np.inf)
    upper = np.where(own, robot.upper[np.maximum(scalar, 0)], np.inf)
    for joint, master in _followers(robot):
        ends = sorted((float(each[0]) - joint.offset) / joint.ratio for each in (joint.lower, joint.upper))
        before = lower[master], upper[master]
        lower[master], upper[master] = max(lower[master], ends[0]), min(upper[master], ends[1])
        if upper[master] < lower[master]:
            raise OptionError(
                f"Joint '{joint.name}' follows '{joint.mimics}' as {joint.ratio:g} times its position plus "
                f"{joint.offset:g}, so its limits [{joint.lower[0]:g}, {joint.upper[0]:g}] keep '{joint.mimics}' "
                f"within [{ends[0]:.4g}, {ends[1]:.4g}], where [{before[0]:.4g}, {before[1]:.4g}] is left. Correct "
                "its <mimic> or its limits in the model."
            )
    return lower, upper


def _own_velocity(robot: Robot) -> np.ndarray:
    velocity = robot.velocity_limits.copy()
    for joint, master in _followers(robot):
        velocity[master] = min(velocity[master], joint.velocity_limit[0] / abs(joint.ratio))
    return velocity


def _followers(robot: Robot) -> Iterator[tuple[Joint, int]]:
    """Joints that follow another one, and the coordinate of v that moves them."""
    for joint, at in zip(robot.joints, robot.v_slices, strict=True):
        if joint.mimics is not None and joint.ratio:
            yield joint, at.start


def _pose(robot: Robot, rest, scalar) -> np.ndarray:
    """(nq,) pose in which locked joints stay, given as such or one a degree."""
    rest = np.asarray(rest, dtype=float)
    if rest.shape == (robot.nq,) and np.isfinite(rest).all():
        return rest
    pose, own = robot.neutral, scalar >= 0
    pose[scalar[own]] = _each(robot, rest, "rest")[own]
    return pose


def _each(robot: Robot, value, name: str) -> np.ndarray:
    value = np.asarray(value, dtype=float)
    if value.shape not in ((), (robot.nv,)) or np.isnan(value).any():
        raise OptionError(f"{name} is a number or ({robot.nv},) of robot '{robot.name}', without NaN; got {value}.")
    return np.broadcast_to(value, (robot.nv,)).copy()


def _require_room(robot: Robot, low, high, still, own):
    for i in np.flatnonzero((high - low < THRESHOLDS.no_range) & ~still):
        name = robot.dof_names[i]
        if own[1][i] - own[0][i] < THRESHOLDS.no_range:
            raise OptionError(
                f"Joint '{name}' has the range [{own[0][i]:g}, {own[1][i]:g}] in the model and cannot move. Lock it "
                f"(locked=['{name}'], `--lock {name}`) or make it fixed in the model."
            )
        raise OptionError(
            f"The position limits of joint '{name}' contradict each other: at least {low[i]:g} and at most "
            f"{high[i]:g}. The model allows [{own[0][i]:g}, {own[1][i]:g}]; give limits that overlap it."
        )


def random_states(robot: Robot, bounds: MotionBounds) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Random allowed states q (nq, n), v, a (nv, n) and their torques (nv, n)."""
    from steelyard.dynamics import inverse_dynamics
    from steelyard.dynamics.effects import friction_torque

    rng = np.random.default_rng(0)
    x = rng.uniform(bounds.lower, bounds.upper, size=(STATES, robot.nv))
    x[:, bounds.locked] = bounds.rest[bounds.locked]
    q = bounds.positions(x.T).T
    moves = ~bounds.locked
    v = rng.uniform(-1, 1, size=x.shape) * bounds.velocity * moves
    a = rng.uniform(-1, 1, size=x.shape) * np.where(np.isfinite(bounds.acceleration), bounds.acceleration, 10.0) * moves
    tau = inverse_dynamics(robot, q, v, a) + friction_torque(robot, v)
    return q.T, v.T, a.T, tau.T


def require_strength(robot: Robot, bounds: MotionBounds, q):
    """Raise OptionError where the motors cannot hold the robot in any of the poses q (nq, n)."""
    from steelyard.dynamics import inverse_dynamics

    still = np.zeros((q.shape[1], robot.nv))
    held = np.abs(inverse_dynamics(robot, q.T, still, still)) / bounds.effort
    pose = int(np.argmin(held[:, bounds.moving].max(axis=1)))
    worst = bounds.moving[np.argmax(held[pose, bounds.moving])]
    if held[pose, worst] > 1:
        needed = held[pose, worst] * bounds.effort[worst]
        raise OptionError(
            f"The effort limit of joint '{robot.dof_names[worst]}', {bounds.effort[worst]:g} with the margin taken "
            f"off, does not hold the robot in any of {len(held)} poses: at best {needed:.3g} is needed. Correct "
            "masses, gravity or effort limits."
        )


def by_joint(robot: Robot, text: str, option: str) -> np.ndarray:
    """(nv,) numbers of an option: one for all, or `JOINT=NUMBER` with commas, joints by name or pattern; NaN for
    others. Raises OptionError: words that are no numbers, and joints that the robot does not have."""
    found = np.full(robot.nv, np.nan)
    for word in filter(None, (word.strip() for word in text.split(","))):
        name, _, number = word.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise OptionError(
                f"{option}={text}: '{word}' is neither a number nor JOINT=NUMBER, such as {robot.dof_names[0]}=1.5."
            ) from None
        named = set(_matching(robot, [name or "*"], option))
        for joint, at in zip(robot.joints, robot.v_slices, strict=True):
            if joint.name in named:
                found[at] = value
    return found
