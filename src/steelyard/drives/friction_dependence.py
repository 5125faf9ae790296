"""Friction that is no constant: what each window would change of a joint's friction, against load and speed.

MuJoCo's friction loss is a constant, that of gears grows with the torque that they carry; where it does, rollouts with
the mean of it err under load, and a user must know.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.coordinates import Unknowns
from steelyard.drives.refinement import Shown
from steelyard.drives.windows import Windows
from steelyard.dynamics import inverse_dynamics
from steelyard.model import Robot
from steelyard.numbers import SURE

MUCH = 0.1  # of the friction, by which its spread over the windows must change it to be told
WIDE = 2.0  # of the largest by the smallest of a quantity: what varies less stands for something else


@dataclass(frozen=True)
class FrictionLaw:
    """Friction of a joint that changes with a quantity."""

    joint: str  # its name
    by: str  # "load" (torque of gravity, N m or N) or "speed" (rad/s or m/s)
    slope: float  # change of the friction, N m or N, per unit of the quantity
    deviation: float  # standard deviation of the slope
    low: float  # and `high`: the quantity in a tenth of the windows or less, and in a tenth or more
    high: float

    def __str__(self) -> str:
        unit = "N m" if self.by == "load" else "rad/s"
        change = "grows" if self.slope > 0 else "falls"
        return (
            f"Friction of {self.joint} {change} with {self.by}: by {abs(self.slope):.2g} ± "
            f"{self.deviation:.2g} N m per {unit}, seen from {self.low:.2g} to {self.high:.2g} {unit}. "
            "The friction loss of the model is constant, a mean of this."
        )


def friction_laws(
    robot: Robot, unknowns: Unknowns, drives: DriveArrays, windows: Windows, shown: Shown
) -> tuple[FrictionLaw, ...]:
    """Joints whose friction is seen to change with load or speed; none where it is as good as constant."""
    if "frictionloss" not in unknowns.free:
        return ()
    if windows.walking:  # joints carry the ground's forces, too
        return ()
    places = unknowns.of("frictionloss")
    moved = robot.with_inertias(drives.inertias)
    still = np.zeros((len(windows), robot.nv))
    q, speed = (windows.sums(rows) / windows.counts[:, None] for rows in (windows.measured, np.abs(windows.speeds)))
    quantities = {"load": np.abs(inverse_dynamics(moved, q, still, still)), "speed": speed}
    found = []
    for j, name in enumerate(robot.dof_names):
        if drives.loaded[j]:
            continue
        wanted, curvature = shown.wanted[:, places[j]], shown.curvature[:, places[j]]
        friction = float(drives.frictionloss[j])
        laws = [_law(name, by, x[:, j], wanted, curvature, friction) for by, x in quantities.items()]
        laws = [each for each in laws if each is not None]
        found += sorted(laws, key=lambda law: -abs(law.slope / law.deviation))[:1]
    return tuple(found)


def _law(name: str, by: str, quantity, wanted, curvature, friction: float) -> FrictionLaw | None:
    """The weighted regression of what windows want on a quantity, with a deviation that needs no noise model."""
    wanted = np.clip(wanted, -1.0, 1.0)  # of the logarithm: further, its cost is no parabola
    x = quantity - np.average(quantity, weights=curvature)
    y = wanted - np.average(wanted, weights=curvature)
    size = np.sum(curvature * x**2)
    slope = np.sum(curvature * x * y) / max(size, np.finfo(float).tiny)
    deviation = np.sqrt(np.sum((curvature * x * (y - slope * x)) ** 2)) / max(size, np.finfo(float).tiny)
    spread = np.sqrt(size / np.sum(curvature))
    low, high = np.quantile(quantity, [0.1, 0.9])
    if by == "load" and not 0 < slope * friction < 1:  # no gear rubs less under load, or more than all of it
        return None
    if high < WIDE * low or abs(slope) < SURE * deviation or abs(slope) * spread < MUCH:
        return None
    return FrictionLaw(name, by, friction * float(slope), friction * float(deviation), float(low), float(high))
