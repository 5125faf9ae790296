"""Legs of a quadruped: an ab/ad joint about x, hip and knee about y, and a foot; where feet stand, and the angles that
put them there."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.errors import ModelError
from steelyard.model import Robot

FEET: tuple[str, ...] = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
AHEAD, ASIDE = np.array([1, 1, -1, -1]), np.array([1, -1, 1, -1])  # of the legs
CROUCH = 0.70  # of a stretched leg, at which hips are carried


@dataclass(frozen=True)
class Legs:
    """hip_x, hip_y: m from the trunk's origin to the ab/ad joints, ahead and aside. side: m from there to the hip.
    upper, lower: m of thigh and shank. signs: (3,) of the joints, 1 where they turn about +x, +y, +y."""

    hip_x: float
    hip_y: float
    side: float
    upper: float
    lower: float
    signs: tuple[float, float, float]

    @classmethod
    def of(cls, robot: Robot) -> "Legs":
        """Read from a robot that stands with straight legs at zero angles.

        Raises ModelError for a robot without four such legs under a free trunk.
        """
        found = [_leg(robot, foot, ahead, aside) for foot, ahead, aside in zip(FEET, AHEAD, ASIDE, strict=True)]
        first = found[0]
        if not robot.floating or any(not np.allclose(each, first, atol=1e-6) for each in found):
            raise ModelError(
                f"Robot '{robot.name}' is not one that walks here: four equal legs under a free trunk, with joints "
                f"about x, y and y, straight down at zero, and feet {', '.join(FEET)}. "
                "Take sy.library.quadruped() or sy.library.cheetah3()."
            )
        return cls(*(float(x) for x in first[:5]), signs=(float(first[5]), float(first[6]), float(first[7])))

    @cached_property
    def height(self) -> float:
        """m of the hips above the feet as they walk."""
        return round(CROUCH * (self.upper + self.lower), 2)

    def stood(self, shift):
        """(4, 3) m from each ab/ad joint to its foot, in the trunk, for a trunk that is shifted by (3,)."""
        below = np.stack([0 * ASIDE, self.side * ASIDE, -self.height + 0 * ASIDE], axis=1)
        return below - shift

    def angles(self, lean, foot):
        """(4, 3) rad for feet (4, 3) under ab/ad joints, of a trunk that leans by small angles (3,)."""
        hips = np.stack([self.hip_x * AHEAD, self.hip_y * ASIDE, 0 * ASIDE], axis=1)
        where = hips + foot
        x, y, z = (where - _cross(*lean, *where.T) - hips).T
        side, upper, lower = self.side * ASIDE, self.upper, self.lower
        depth = np.sqrt(np.maximum(y**2 + z**2 - side**2, 0.02))
        hip = np.arctan2(z, y) + np.arctan2(depth, side)
        reach = np.clip(np.hypot(x, depth), 0.1, 0.999 * (upper + lower))
        knee = -np.arccos(np.clip((reach**2 - upper**2 - lower**2) / (2 * upper * lower), -1, 1))
        thigh = np.arctan2(-x, depth) - np.arctan2(lower * np.sin(knee), upper + lower * np.cos(knee))
        return np.stack([(hip + np.pi) % (2 * np.pi) - np.pi, thigh, knee], axis=1) * self.signs


def _cross(a, b, c, x, y, z) -> np.ndarray:
    """(n, 3) product of (a, b, c) with vectors of (n,) components: `np.cross` takes far longer for a few."""
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=1)


def _leg(robot: Robot, foot: str, ahead: int, aside: int) -> np.ndarray:
    """(8,) what `Legs` holds of one leg, mirrored to the front left."""
    frame = robot.frame(foot)
    chain, joint = [], int(robot.body_joints[frame.body])
    while joint > 0 and len(chain) < 4:
        chain.insert(0, robot.joints[joint])
        joint = int(robot.parents[joint])
    if len(chain) != 3 or any(each.nv != 1 for each in chain):
        return np.full(8, np.nan)
    R, mirror = np.eye(3), np.array([ahead, aside, 1])
    steps, signs = [], []
    for each, axis in zip(chain, (0, 1, 1), strict=True):
        steps.append(R @ each.position)
        R = R @ each.rotation
        signs.append(round((R @ each.subspace[3:, 0])[axis], 6))
    hip, thigh, shank = steps
    sole = R @ frame.position
    found = np.array([*(hip * mirror)[:2], thigh[1] * aside, -shank[2], -sole[2], *signs])
    straight = np.r_[hip[2], thigh[[0, 2]], shank[:2], sole[:2], np.abs(signs) - 1]
    return found if np.allclose(straight, 0, atol=1e-6) else np.full(8, np.nan)
