"""Conventions of free bases: order of the quaternion, and the axes in which velocities are given.

Neither the norm of a quaternion nor its continuity tells its order. The velocities do: integrated over a short window
they must give the change of the pose, in the one convention that a log was written in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, OptionError, choices
from steelyard.log.findings import Finding, fatal, warning
from steelyard.log.log import Log
from steelyard.log.stamps import FITS, NONE_FITS, integral, windows
from steelyard.spatial import rotation_from_quaternion, rotation_vector

ORDERS, AXES = ("xyzw", "wxyz"), ("body", "world")
_PARTS = slice(0, 3), slice(3, 6)  # of a twist, or a wrench
EXAMPLE = "mujoco, or wxyz,world,body: order of the quaternion, axes of the linear and of the angular velocity"


@dataclass(frozen=True)
class Convention:
    """quaternion: order of its numbers; linear, angular: axes of the velocity of the base's origin and of its angular
    velocity, body or world. Forces are in the axes of linear velocities, moments in those of angular ones."""

    quaternion: str = "xyzw"
    linear: str = "body"
    angular: str = "body"

    @property
    def word(self) -> str:
        """As on the command line, `wxyz,world,body`."""
        return ",".join((self.quaternion, self.linear, self.angular))

    def quaternions(self, q) -> NDArray[np.float64]:
        """(n, 4) orientations of the base, x y z w of unit length, from positions q (n, nq)."""
        found = np.roll(q[:, 3:7], -1, axis=1) if self.quaternion == "wxyz" else q[:, 3:7]
        return found / np.linalg.norm(found, axis=1, keepdims=True)


OWN = Convention()
NAMED = {"mujoco": Convention("wxyz", "world", "body"), "pybullet": Convention("xyzw", "world", "world")}
NAMED |= {"isaaclab": Convention("wxyz", "world", "world"), "pinocchio": OWN}


def convention_of(word: str) -> Convention:
    """The convention that a word such as `mujoco` or `wxyz,world,body` names. Raises OptionError for another."""
    if word in NAMED:
        return NAMED[word]
    parts = tuple(part.strip() for part in word.split(","))
    if len(parts) != 3 or any(part not in known for part, known in zip(parts, (ORDERS, AXES, AXES), strict=False)):
        raise OptionError(f"base {word!r} cannot be read; write it as {EXAMPLE}. Names are {choices(NAMED)}.")
    return Convention(*parts)


def from_convention(log: Log, convention: Convention) -> Log:
    """The log of a free base, recorded in a convention, in Steelyard's. Raises LogError without a free base."""
    if log.nq != log.nv + 1 or log.nv < 6:
        raise LogError(f"log {log.name!r} has {log.nq} positions and {log.nv} freedoms: they are not of a free base.")
    q = log.q.copy()
    q[:, 3:7] = convention.quaternions(log.q)
    turn = rotation_from_quaternion(q[:, 3:7])
    turned = [s for s, axes in zip(_PARTS, (convention.linear, convention.angular), strict=True) if axes == "world"]
    changed = {"q": q}
    for key in ("v", "a", "tau"):
        if (values := getattr(log, key)) is not None:
            changed[key] = values.copy()
            for part in turned:
                changed[key][:, part] = np.einsum("nij,ni->nj", turn, values[:, part])
    if convention.linear == "world" and {"v", "a"} <= set(changed):  # the rate of a twist, in axes that turn
        changed["a"][:, :3] -= np.cross(changed["v"][:, 3:6], changed["v"][:, :3])
    return log.replace(**changed).noted(f"base: converted from quaternion {convention.word} to {OWN.word}")


def free_base(log: Log) -> Iterator[Finding]:
    """Pose and velocity of a free base agree with each other. log: with a free base first."""
    if log.v is None:
        return
    norm = np.linalg.norm(log.q[:, 3:7], axis=1)
    # rounding to two digits leaves 0.01
    if np.abs(norm - 1).max() > 0.05:
        yield fatal(
            "base_quaternion",
            f"Columns 4 to 7 of q are no quaternions of the base: their norms run from {norm.min():.3g} to "
            f"{norm.max():.3g}. q holds the base's position in the world, its quaternion x y z w, then the joints.",
        )
        return
    errors = {each: _missed(log, each) for each in (Convention(*parts) for parts in product(ORDERS, AXES, AXES))}
    best = min(errors, key=lambda each: errors[each])
    if errors[OWN] < FITS or errors[OWN] < 2 * errors[best]:
        if errors[OWN] > NONE_FITS:
            yield warning(
                "base_velocity",
                f"The velocity of the base misses {errors[OWN]:.0%} of the motion of its pose, in whatever axes: wrong "
                "columns, or another clock? v holds the twist [v; w] of the base in its own axes.",
            )
        return
    name = next((name for name, each in NAMED.items() if each == best), None)
    word = name or best.word
    yield fatal(
        "base_convention",
        f"The velocity of the base misses {errors[OWN]:.0%} of the motion of its pose, and {errors[best]:.1%} with "
        f"quaternions {' '.join(best.quaternion)}, linear velocity in {best.linear} and angular velocity in "
        f"{best.angular} axes{f' (as of {name})' if name else ''}. Give --base {word}.",
        options=("--base", word),
    )


def _missed(log: Log, convention: Convention) -> float:
    """Share of the energy of the pose's changes that velocities miss, of position or orientation, whichever is more; 0
    for a base that hardly moves."""
    (v,) = log.require("v")
    rotation = rotation_from_quaternion(convention.quaternions(log.q))
    linear = np.einsum("nij,nj->ni", rotation, v[:, :3]) if convention.linear == "body" else v[:, :3]
    start, stop = windows(log.t)
    before, after = rotation[start], rotation[stop]
    body = convention.angular == "body"
    turned = rotation_vector(np.swapaxes(before, 1, 2) @ after if body else after @ np.swapaxes(before, 1, 2))
    pairs = ((log.q[stop, :3] - log.q[start, :3], linear), (turned, v[:, 3:6]))
    turns = np.linalg.norm(rotation_vector(rotation @ rotation[0].T), axis=1)
    reach = np.ptp(log.q[:, :3], axis=0).max(), turns.max()
    found = [0.0]
    for (moved, speed), span in zip(pairs, reach, strict=True):
        expected = integral(log.t, speed)
        expected = expected[stop] - expected[start]
        if span > 0.02:  # rad or m over a log, below which a base tells nothing of its velocities
            found.append(float(np.sum((moved - expected) ** 2) / np.sum(moved**2)))
    return max(found)
