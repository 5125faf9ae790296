"""Fit of a walk: where the smoother starts, how far feet are trusted in its rounds, and where it ends.

Feet that move while they should stand are trusted less the faster they are, by a redescending weight that is made
narrower in steps (graduated non-convexity, Blake and Zisserman 1987). How far standing feet wander, how rough the
ground is and how wrong recorded poses are is estimated from what the round before leaves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.spatial.transform import Rotation

from steelyard.log.stamps import gaps, integral, runs
from steelyard.prepare.base_smoother import Eliminated, Feet, Path, WalkEvidence, hats, improved
from steelyard.prepare.base_sources import RECORDED, BaseSources, jitter_of, turning, weighed
from steelyard.spatial import rotate

SPEEDS = 0.16, 0.08, 0.04  # m/s at which a standing foot is trusted a quarter, one round after the other
ROUNDS, STEADY = 9, 2e-4  # at most; m/s and rad/s that twists change in the last one
BETWEEN = 2  # samples on either side, over which the speed of a foot is taken
WHILE = 0.3  # s, or 0.6 of a stance, over which the wandering of feet is measured
WANDER = np.array([5e-5, 5e-5, 1e-4])  # m a sample, least
CREEP = 3.0  # times as much as they wander in the plane, where plane and biases are found
LEGS = 2e-5  # m, least noise of a foot's place
ROUGH, UNEVEN = 0.01, 1e-3  # m, heights of feet over the plane in the first rounds, and least
LEVEL, SLOPED = 0.004, 0.1  # slopes of floors, and of other grounds
SLOPES = 0.03  # slope from which on the ground is no floor: what biases of sensors feign is less
STANCE = 5  # samples of a stance that tells the ground
LOST = np.repeat([1.0, 0.5, 1.0, 3.0], 3)  # m, rad, m/s, rad/s that may change over a gap


def begun(sources: BaseSources, R, stands) -> Path:
    """Where the smoother starts: orientations R (n, 3, 3), and feet that stand, by shares (f, n), moving the base."""
    t, arms = sources.t, rotate(R, sources.legs.points)
    w = rotate(R, turning(t, R) if sources.inertial is None else sources.inertial.gyro)
    if sources.poses is not None and np.mean(sources.poses.weights[:, 0] > 0) > RECORDED:
        p = sources.poses.position
        v = np.gradient(uniform_filter1d(p, 5, axis=0), t, axis=0)
    else:
        rate = -np.gradient(arms, t, axis=1)
        usual = np.median(rate, axis=0) if len(rate) else np.zeros_like(R[:, 0])
        weight = (stands / (1 + np.sum(((rate - usual) / SPEEDS[0]) ** 2, axis=2)))[..., None]
        v = np.sum(weight * rate, axis=0) / np.maximum(np.sum(weight, axis=0), 1e-9)
        v = uniform_filter1d(v, 2 * BETWEEN + 1, axis=0)
        p = integral(t, v)
        if len(arms):
            p[:, 2] -= (p + arms)[:, 0, 2].min()
    return Path(p, R, v, w, p + arms, np.zeros(3), np.zeros((hats(t).shape[1], 6)))


@dataclass(frozen=True, eq=False)
class BaseFit:
    """path: the most likely one. evidence, last: of the last round. common: (r, r) covariance of plane and biases."""

    path: Path
    evidence: WalkEvidence
    last: Eliminated
    common: NDArray[np.float64]


def settled(sources: BaseSources, stands, path: Path, radius: float, rounds: int) -> BaseFit:
    """The most likely path after so many rounds, or where it is steady. stands: (f, n) shares to which points stand;
    path: to begin with; radius: m, of feet that roll. Raises LogError where the state is not determined.

    Feet creep with the load, so that their ways over a walk are no independent evidence of what is common to all
    samples: plane and biases are found with feet that wander more, and held in the last round."""
    jitter, poses, flat, held = jitter_of(sources), sources.poses, SLOPED, False
    apart = gaps(sources.t)
    jitter[apart] = LOST
    evidence = common = found = None
    for k in range(rounds + 1):
        feet = _feet(sources, path, stands, radius, k, 1.0 if held else CREEP)
        feet.stays[:, apart] = 0
        evidence = WalkEvidence(sources.t, feet, sources.inertial, poses, sources.gravity, jitter, flat)
        path, change, found = improved(evidence, path, held)
        if held:
            break
        common, held = found.common, k == rounds - 1 or (change < STEADY and k >= len(SPEEDS))
        if k == len(SPEEDS) - 1 and poses is not None and sources.inertial is not None:
            poses = weighed(sources.t, poses, path)
        if k == len(SPEEDS) - 1 and np.linalg.norm(_slope(sources, path)) < SLOPES:
            flat = LEVEL
    assert evidence is not None
    assert found is not None
    assert common is not None
    return BaseFit(path, evidence, found, common)


def _slope(sources: BaseSources, path: Path) -> NDArray[np.float64]:
    """(2,) of the ground. Where no orientation was recorded, that by an inertial sensor without bias: feet that creep
    tilt the world as a whole, against which only a bias of the sensor counts."""
    if sources.inertial is None or sources.poses is not None:
        return path.plane[1:]
    felt = rotate(path.R, np.broadcast_to(path.biases[:, 3:].mean(axis=0), path.p.shape)).mean(axis=0)
    return path.plane[1:] + felt[:2] / np.linalg.norm(sources.gravity)


def _feet(sources: BaseSources, path: Path, stands, radius: float, turn: int, creep: float) -> Feet:
    """What feet say in a round: how far they are trusted, by what the path of the round before leaves."""
    legs, t = sources.legs, sources.t
    f, n = stands.shape
    at, on = legs.in_world(path), stands > 0.5
    rolled = np.zeros((f, n - 1, 3))
    if radius:
        carried, normal = path.R @ legs.rotations, np.r_[-path.plane[1:], 1.0]
        turns = Rotation.from_matrix((carried[:, 1:] @ carried[:, :-1].mT).reshape(-1, 3, 3)).as_rotvec()
        rolled = radius * np.cross(turns.reshape(f, n - 1, 3), normal / np.linalg.norm(normal))
    both = on[:, 1:] & on[:, :-1]
    along = at.copy()
    along[:, 1:] -= np.cumsum(rolled, axis=1)
    kept = [np.diff(each, 2, axis=0)[pair[1:] & pair[:-1]] for each, pair in zip(along, both, strict=True)]
    noise = np.array([max(LEGS, float(np.median(np.abs(x))) / 0.6745 / np.sqrt(6)) if len(x) else 1e-4 for x in kept])
    size = speeds(t, along)
    size = np.maximum(size[:, 1:], size[:, :-1])
    trust = stands[:, 1:] * stands[:, :-1] * both / (1 + (size / SPEEDS[min(turn, len(SPEEDS) - 1)]) ** 2) ** 2
    wander = _wander(along, on, t, noise) * [creep, creep, 1.0]
    share = np.array([legs.frames.count(frame) for frame in legs.frames])  # points of a foot have one noise together
    stays = trust[..., None] / (wander**2 * (np.diff(t) / np.median(np.diff(t)))[:, None]) / share[:, None, None]
    ground = np.zeros((f, n))
    for i in range(f):
        for a, b in runs(on[i]):
            ground[i, (a + b) // 2] = float(b - a >= STANCE)
    used, off = ground > 0, path.heights
    if turn < 2 or not used.any():
        ground /= ROUGH**2
    else:
        scale = max(UNEVEN, 1.4826 * float(np.median(np.abs(off[used]))))
        ground /= scale**2 * (1 + (off / (3 * scale)) ** 2)
    return Feet(legs.points, noise * np.sqrt(share), rolled, stays, ground / share[:, None])


def speeds(t, places) -> NDArray[np.float64]:
    """(f, n) m/s of places, over a few samples. t: (n,) s. places: (f, n, 3) m."""
    speed = np.zeros(places.shape[:2])
    way = places[:, 2 * BETWEEN :] - places[:, : -2 * BETWEEN]
    speed[:, BETWEEN:-BETWEEN] = np.linalg.norm(way, axis=2) / (t[2 * BETWEEN :] - t[: -2 * BETWEEN])
    return speed


def _wander(places, on, t, noise) -> NDArray[np.float64]:
    """(3,) m a sample that standing feet (f, n, 3) wander, as a random walk: by the median square of their ways."""
    lengths = [b - a for each in on for a, b in runs(each)]
    if not lengths:
        return WANDER
    m = max(2, min(round(WHILE / float(np.median(np.diff(t)))), int(0.6 * np.median(lengths))))
    if m >= on.shape[1]:
        return WANDER
    through = np.cumsum(np.pad(~on, ((0, 0), (1, 0))), axis=1)
    still = through[:, m + 1 :] == through[:, : -m - 1]  # on at k, ..., k + m
    way = (places[:, m:] - places[:, :-m])[still] ** 2
    if not len(way):
        return WANDER
    variance = np.median(way, axis=0) / 0.4549 - 2 * float(np.mean(noise)) ** 2
    return np.maximum(WANDER, np.sqrt(np.maximum(variance, 0) / m))
