"""The simulation experiment of paper E, section V: a modular test object, a wrist that swings it, and noisy sensors.

The object is a printed tray of 5 x 3 slots that hold steel weights, plastic weights or air; the paper gives the weights
(101 g and 17 g) and the eight layouts by name and picture, the geometry here is our own. The wrist follows sinusoids of
45 degrees at frequencies in the ratio 0.10 : 0.13 : 0.16, faster or slower. Forces and torques are measured with noise.
Motion is either exact with noise added to the accelerations (Figures 5 to 7), or comes from noisy poses through a
Kalman filter (Table III).
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.payload.motion_signals import filter_motion
from steelyard.payload.solid_shape import Solid, small_boxes
from steelyard.payload.wrench_log import WrenchLog, to_sensor_axes
from steelyard.payload.wrench_sums import wrench_regressor
from steelyard.spatial import rotation_from_vector

STEEL, PLASTIC = 0.101, 0.017  # kg a weight
SLOT, HEIGHT = 0.048, 0.04  # m, side of a slot and of the tray
GRID = (5, 3)
WEIGHT_SIDE = 0.0235  # m, of the cube of a weight: that of 101 g of steel
PRINT_DENSITY = 1240.0  # kg/m^3
WALL = 0.0008  # m, of the printed tray
X, Y, Z = np.eye(3)
POINTS = 56  # 0.04 per cm^3 of the object
OFFSET = np.array([0.0, 0.0, 0.03])  # from the sensor to the near face of the object, m

# Rows of slots, "s" steel, "p" plastic, "." air; the sensor is mounted under the middle of the first column.
LAYOUTS = {
    "hammer": ("....s", "pppps", "....s"),
    "barbell": ("s...s", "spppss"[:5], "s...s"),
    "tee": ("p...s", "pssss"[:5], "p...s"),
    "uniform": ("ppppp", "ppppp", "ppppp"),
    "corners": ("s...s", ".....", "s...s"),
    "rod": (".....", "sssss", "....."),
    "half-n-half": ("ppsss", "ppsss", "ppsss"),
    "empty": (".....", ".....", "....."),
}
# Table II: standard deviations of angular [rad/s^2] and linear [m/s^2] acceleration, force [N] and torque [N m]
NOISE = {
    "none": (0.0, 0.0, 0.0, 0.0),
    "low": (0.25, 0.025, 0.05, 0.0025),
    "moderate": (0.5, 0.05, 0.1, 0.005),
    "high": (1.0, 0.1, 0.33, 0.0067),
}
SPEEDS = (1.0, 1.5, 2.0, 3.0, 4.0)  # rad/s, mean
FREQUENCIES = 2 * np.pi * np.array([0.10, 0.13, 0.16])  # rad/s, before scaling to a speed
SWING = np.radians(45.0)
WRIST = ((0.0, 0.0, 0.10), (0.0, 0.0, 0.10))  # m, from the first to the second axis and on to the third
POSE_NOISE = (5e-4, 3e-3)  # m and rad of a measured pose
RATE = 100.0  # Hz


@dataclass(frozen=True, eq=False)
class TestObject:
    """One layout. theta: (10,) in the sensor frame; solid: its shape, which does not know the layout; sides: (3,) m."""

    __test__ = False  # not a test, whatever pytest thinks of the name

    name: str
    theta: np.ndarray
    solid: Solid

    @property
    def sides(self) -> np.ndarray:
        return self.solid.sides


def test_object(layout: str) -> TestObject:
    """The modular object with its weights in a named layout. Raises OptionError for an unknown name."""
    if layout not in LAYOUTS:
        raise OptionError(f"Unknown layout {layout!r}. Choose from {choices(LAYOUTS)}.")
    kinds = "".join(LAYOUTS[layout])
    theta = _tray()
    cube = np.full(3, WEIGHT_SIDE)
    for center, kind in zip(_slots(), kinds, strict=True):
        mass = {"s": STEEL, "p": PLASTIC, ".": 0.0}[kind]
        theta = theta + mass * small_boxes(center[None], cube)[:, 0]
    return TestObject(layout, theta, _solid())


test_object.__test__ = False  # type: ignore[attr-defined]


def _slots():
    """(15, 3) centres of the slots, row by row, in the sensor frame."""
    columns, rows = np.meshgrid(np.arange(GRID[0]), np.arange(GRID[1]) - (GRID[1] - 1) / 2)
    x, y = (columns.ravel() + 0.5) * SLOT - SLOT / 2, rows.ravel() * SLOT
    return np.stack([x, y, np.full(15, HEIGHT / 2)], axis=1) + OFFSET


def _tray():
    """Walls and floor of the slots: five thin plates a slot."""
    plates = []
    half = (SLOT - WALL) / 2
    for center in _slots():
        plates += [(center + s * half * X, [WALL, SLOT, HEIGHT]) for s in (-1, 1)]
        plates += [(center + s * half * Y, [SLOT, WALL, HEIGHT]) for s in (-1, 1)]
        plates += [(center - (HEIGHT - WALL) / 2 * Z, [SLOT, SLOT, WALL])]
    masses = [PRINT_DENSITY * np.prod(side) for _, side in plates]
    each = [small_boxes(center[None], side)[:, 0] for center, side in plates]
    return np.array(masses) @ np.array(each)


def _solid() -> Solid:
    lower = OFFSET - np.array([SLOT / 2, GRID[1] * SLOT / 2, 0.0])
    sides = np.array([GRID[0] * SLOT, GRID[1] * SLOT, HEIGHT])
    counts = np.array([20, 12, 4])
    spacing = sides / counts
    grids = np.meshgrid(
        *(low + step * (np.arange(n) + 0.5) for low, step, n in zip(lower, spacing, counts, strict=True))
    )
    points = np.stack([grid.ravel() for grid in grids], axis=1)
    homogeneous = small_boxes((lower + sides / 2)[None], sides)[:, 0]
    return Solid(points, spacing, lower, lower + sides, homogeneous, "test object")


def wrist_motion(speed: float, duration: float, *, rate: float = RATE, start: float = 0.0) -> WrenchLog:
    """Exact motion of the sensor: rotation, position, twist, spatial acceleration; wrenches are zero.

    speed: mean angular velocity, rad/s; duration: s; start: s into the swing.
    """
    t = np.arange(round(duration * rate)) / rate
    factor = speed / _mean_speed()
    w = FREQUENCIES * factor
    angle = SWING * np.sin(np.outer(t + start, w))
    rate_of, change = SWING * w * np.cos(np.outer(t + start, w)), -SWING * w**2 * np.sin(np.outer(t + start, w))
    return _chain(t, angle, rate_of, change)


def _mean_speed():
    """Mean angular velocity at the published frequencies, over the swing's long period, rad/s."""
    t = np.linspace(0, 100, 5001)
    w = FREQUENCIES
    still = _chain(t, SWING * np.sin(np.outer(t, w)), SWING * w * np.cos(np.outer(t, w)), np.zeros((len(t), 3)))
    assert still.twist is not None
    return float(np.mean(np.linalg.norm(still.twist[:, 3:], axis=1)))


def _chain(t, angle, speed, change) -> WrenchLog:
    """A wrist of three axes y, x, z (joints 4 to 6), horizontal at rest: poses and their exact derivatives."""
    n = len(t)
    R = np.broadcast_to(np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, -1.0]]), (n, 3, 3))  # z down: the tool hangs
    p, V, A = np.zeros((n, 3)), np.zeros((n, 6)), np.zeros((n, 6))
    links = ((0.0, 0.0, 0.0), *WRIST)
    for axis, link, q, v, a in zip(np.eye(3)[[1, 0, 2]], links, angle.T, speed.T, change.T, strict=True):
        p = p + R @ np.array(link)
        V, A = _shifted(V, link), _shifted(A, link)  # to the joint's origin, still in the parent's axes
        turn = rotation_from_vector(q[:, None] * axis)
        S = np.concatenate([np.zeros(3), axis])
        V, A = to_sensor_axes(turn, V), to_sensor_axes(turn, A)
        A = (
            A
            + a[:, None] * S
            + v[:, None] * np.concatenate([np.cross(V[:, :3], axis), np.cross(V[:, 3:], axis)], axis=1)
        )
        V, R = V + v[:, None] * S, R @ turn
    return WrenchLog(t=t, wrench=np.zeros((n, 6)), rotation=R, twist=V, acceleration=A, position=p)


def _shifted(V, link):
    """Twists (n, 6) read at a point `link` away from their origin, same axes."""
    return np.concatenate([V[:, :3] + np.cross(V[:, 3:], np.array(link)), V[:, 3:]], axis=1)


def measured(motion: WrenchLog, theta, *, noise: str = "moderate", rng=None) -> WrenchLog:
    """What sensors say of a payload theta (10,) on an exact motion: noisy wrench and pose, no motion signals."""
    rng = np.random.default_rng(0) if rng is None else rng
    if noise not in NOISE:
        raise OptionError(f"Unknown noise level {noise!r}. Choose from {choices(NOISE)}.")
    _, _, force, torque = NOISE[noise]
    n = len(motion)
    wrench = wrench_regressor(motion) @ theta + rng.normal(size=(n, 6)) * np.repeat([force, torque], 3)
    assert motion.position is not None
    loud = NOISE[noise][0] / NOISE["moderate"][0]
    tremble = rotation_from_vector(loud * POSE_NOISE[1] * rng.normal(size=(n, 3)))
    return motion.replace(
        wrench=wrench,
        rotation=motion.rotation @ tremble,
        position=motion.position + loud * POSE_NOISE[0] * rng.normal(size=(n, 3)),
        twist=None,
        acceleration=None,
    )


def recorded(
    layout: str,
    speed: float,
    duration: float,
    *,
    noise: str = "moderate",
    seed: int = 0,
    smooth: bool = False,
    added: bool = False,
    settle: float = 1.0,
) -> WrenchLog:
    """One run of the experiment, motion signals included (the filter settles for `settle` s first).

    smooth: motion from the Kalman smoother (offline) instead of the filter (as in the paper).
    added: noise of Table II on the exact accelerations instead of a filter.
    """
    thing = test_object(layout)
    motion = wrist_motion(speed, duration + settle)
    rng = np.random.default_rng([seed, list(LAYOUTS).index(layout)])
    log = measured(motion, thing.theta, noise=noise, rng=rng)
    if added:
        angular, linear, _, _ = NOISE[noise]
        trembling = motion.motion[1] + rng.normal(size=(len(motion), 6)) * np.repeat([linear, angular], 3)
        return motion.replace(wrench=log.wrench, acceleration=trembling)[round(settle * RATE) :]
    if noise == "none":
        return motion.replace(wrench=log.wrench)[round(settle * RATE) :]
    return filter_motion(log, smooth=smooth)[round(settle * RATE) :]
