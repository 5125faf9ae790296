"""State of a walking base from encoders, an inertial sensor, contacts and recorded poses, as far as a log has them.

Feet that stand hold the base; feet that move while they should stand are trusted less the faster they are, by a
redescending weight that is made narrower in steps (graduated non-convexity, Blake and Zisserman 1987). How far standing
feet wander, how rough the ground is and how wrong recorded poses are is estimated from what the fit leaves.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter, uniform_filter1d
from scipy.spatial.transform import Rotation

from steelyard.dynamics.contact_forces import require_contact_kinds
from steelyard.errors import LogError, OptionError, choices
from steelyard.log import Finding, Log
from steelyard.log.findings import warning
from steelyard.log.kalman import smooth
from steelyard.log.stamps import gaps, runs
from steelyard.log.walk_states import BaseStates
from steelyard.model import Robot
from steelyard.native import one_blas_thread
from steelyard.prepare.base_smoother import BASE, Evidence, Feet, Path, covariances, hats, improved
from steelyard.prepare.base_sources import (
    POSE,
    RECORDED,
    TWIST,
    Legs,
    Sources,
    jitter_of,
    orientations,
    recorded_poses,
    sources_of,
    turning,
    weighed,
)
from steelyard.prepare.contact_checks import foot_motion
from steelyard.prepare.contact_flags import AUTO, NONE, parted, standing_frames
from steelyard.spatial import rotate, skew

__all__ = ["BaseStates", "base_states", "with_base"]

SPEEDS = 0.16, 0.08, 0.04  # m/s at which a standing foot is trusted a quarter, one round after the other
ROUNDS, STEADY = 9, 2e-4  # at most; m/s and rad/s that twists change in the last one
BETWEEN = 2  # samples on either side, over which the speed of a foot is taken
WHILE = 0.3  # s, or 0.6 of a stance, over which the wandering of feet is measured
WANDER = np.array([5e-5, 5e-5, 1e-4])  # m a sample, least
LEGS = 2e-5  # m, least noise of a foot's place
ROUGH, UNEVEN = 0.01, 1e-3  # m, heights of feet over the plane in the first rounds, and least
LEVEL, SLOPED = 0.004, 0.1  # slopes of floors, and of other grounds
SLOPES = 0.03  # slope from which on the ground is no floor: what biases of sensors feign is less
STANCE = 5  # samples of a stance that tells the ground
LOWEST = 0.02  # m over the lowest foot, within which feet stand to begin with
SLIDES = 0.1  # m/s, of feet that slip
LANDING = 4  # samples of a stance at either end, in which feet move
OFTEN = 0.1  # share of the standing samples
LOST = np.repeat([1.0, 0.5, 1.0, 3.0], 3)  # m, rad, m/s, rad/s that may change over a gap
PIECE = 24000  # samples that are smoothed at once: 1 GB
SHARED = 2.0  # s that neighbouring pieces have in common
SEARCHES = 2  # for contacts in the motion that they give


def base_states(
    robot: Robot,
    log: Log,
    *,
    contacts: Sequence[str] | Mapping[str, str] | None = None,
    radius: float = 0.0,
) -> BaseStates:
    """The state of a walking robot's base at each sample of a log, by a fixed-interval smoother.

    Args:
        robot: on a free base.
        log: positions of joints; as far as recorded, an inertial sensor on the base, flags of contact and the base's
            pose (not finite where it is not known; a position that never changes is not used).
        contacts: frames of feet, by their kinds ("point", "line", "flat") if not points; or words as of
            `with_contacts`. None: frames that the log flags, or links named as feet. Flags of the log are used, unless
            a word is "auto"; contacts of other frames are found from the motion.
        radius: m, of round feet about their frames, which roll.

    Returns:
        The BaseStates.

    Raises:
        LogError: no orientation can be known, or joint positions or the sensor hold no numbers.
        OptionError: a robot on a fixed base, or unknown kinds.
        ModelError: unknown frames.
    """
    if not robot.floating:
        raise OptionError(f"robot '{robot.name}' has a fixed base, whose state is known: load it with floating=True.")
    if np.any(robot.gravity[:2]) or robot.gravity[2] >= 0:
        raise OptionError(
            f"robot '{robot.name}' has gravity {robot.gravity}: heights of feet count along z, against it."
        )
    _require_numbers(robot, log)
    kinds, flags = _feet_of(robot, log, contacts)
    parts = _pieces(log)
    with one_blas_thread():
        found = [
            _smoothed(robot, log[part], kinds, {frame: x[part] for frame, x in flags.items()}, radius) for part in parts
        ]
    return found[0] if len(found) == 1 else _joined(log, parts, found)


def _smoothed(robot: Robot, log: Log, kinds: Mapping[str, str], flags, radius: float) -> BaseStates:
    """The states with contacts of these kinds, as flagged (n,) by frame or found."""
    given = bool(kinds) and len(flags) == len(kinds)

    def first_stands(legs: Legs, up) -> NDArray[np.float64]:
        height = np.einsum("fnk,nk->fn", legs.points, up)
        low = (height - height.min(axis=0) < LOWEST).astype(float)
        return np.stack([flags.get(frame, own) for frame, own in zip(legs.frames, low, strict=True)])

    sources = sources_of(robot, log, kinds, first_stands)
    legs = sources.legs
    R = orientations(sources.t, sources.inertial, sources.poses)
    stands = first_stands(legs, R[:, 2]) if kinds else np.zeros((0, len(log)))
    joints = _joint_rates(robot, log)
    path = _begun(sources, R, stands)
    for _ in range(0 if given or not kinds else SEARCHES):
        _, path = _settled(sources, stands, path, radius, len(SPEEDS))
        found = _touching(robot, log, joints, path, tuple(kinds))
        stands = np.stack([flags.get(frame, found[frame]) for frame in legs.frames])
    evidence, path = _settled(sources, stands, path, radius, ROUNDS)
    return _states(log, joints, sources, evidence, path, stands, radius, given)


def _pieces(log: Log) -> list[slice]:
    """Parts of a log that are smoothed on their own, for memory's sake; neighbours share some samples."""
    shared = max(2, round(SHARED * log.rate)) if len(log) > PIECE else 0
    count = max(1, -(-(len(log) - shared) // (PIECE - shared)))
    edges = np.linspace(0, len(log) - shared, count + 1).astype(int)
    return [slice(int(a), int(b) + shared) for a, b in pairwise(edges)]


def _joined(log: Log, parts: Sequence[slice], found: Sequence[BaseStates]) -> BaseStates:
    """States of pieces as those of one log: each goes on in the middle of what it shares with the one before, where
    pose and heading were not recorded."""
    poses = recorded_poses(log)
    placed, turned = (False, False) if poses is None else poses.weights.any(axis=0)
    rows, moved = [], []
    for k, (part, own) in enumerate(zip(parts, found, strict=True)):
        q, ground, first = own.q.copy(), own.ground, 0
        if k:
            first = (parts[k - 1].stop - part.start) // 2
            before = moved[-1][0][part.start + first - parts[k - 1].start]
            R = Rotation.from_quat(q[:, 3:7])
            off = (Rotation.from_quat(before[3:7]) * R[first].inv()).as_matrix()
            turn = Rotation.from_rotvec([0, 0, 0 if turned else np.arctan2(off[1, 0], off[0, 0])])
            q[:, 3:7] = (turn * R).as_quat()
            if not placed:
                q[:, :3] = turn.apply(q[:, :3])
                shift = before[:3] - q[first, :3]
                q[:, :3], ground = q[:, :3] + shift, ground + shift[2]
        last = len(own) if k == len(parts) - 1 else (part.stop + parts[k + 1].start) // 2 - part.start
        rows.append(slice(first, last))
        moved.append((q, ground))
    whole = lambda arrays: np.concatenate([x[own] for x, own in zip(arrays, rows, strict=True)])  # noqa: E731
    by_frame = lambda name: {f: whole([getattr(s, name)[f] for s in found]) for f in getattr(found[0], name)}  # noqa: E731
    biases = [each.imu_bias for each in found if each.imu_bias is not None]
    seams = ", ".join(f"{log.t[part.start]:.0f}" for part in parts[1:])
    return BaseStates(
        t=log.t,
        q=whole([q for q, _ in moved]),
        v=whole([each.v for each in found]),
        covariance=whole([each.covariance for each in found]),
        ground=whole([ground for _, ground in moved]),
        slope=found[0].slope,
        contacts=by_frame("contacts"),
        slips=by_frame("slips"),
        imu_bias=np.mean(biases, axis=0) if biases else None,
        delays=found[0].delays,
        findings=tuple({each.code: each for states in found for each in states.findings}.values()),
        notes=(*found[0].notes, f"base: smoothed in pieces that begin at {seams} s; deviations count anew in each"),
    )


def with_base(robot: Robot | None, log: Log) -> tuple[Log, tuple[Finding, ...]]:
    """The log with the motion of a free base that nothing recorded, from its sensor and legs.

    Args:
        robot: whose columns the log has.
        log: with base columns of q that are not finite; others come back as they are.

    Returns:
        The log, whose notes say where its base is from, and what was found.

    Raises:
        LogError: as of `base_states`.
    """
    if robot is None or not robot.floating or log.nq != robot.nq or np.isfinite(log.q[:, :POSE]).any():
        return log, ()
    found = base_states(robot, log)
    a = None if log.a is None or not np.isfinite(log.a).all() else log.a
    flags = log.contacts or {frame: np.round(share) for frame, share in found.contacts.items()}
    return log.replace(q=found.q, v=found.v, a=a, contacts=flags).noted(*found.notes), found.findings


def _require_numbers(robot: Robot, log: Log):
    if log.nq != robot.nq:
        raise LogError(f"log {log.name!r} has {log.nq} positions a sample; robot '{robot.name}' has {robot.nq}.")
    bad = [name for name, x in (("q of joints", log.q[:, POSE:]), *log.imu.items()) if not np.isfinite(x).all()]
    if bad:
        raise LogError(f"log {log.name!r}: {choices(bad)} holds NaN or infinity. Leave these samples out.")


def _feet_of(robot: Robot, log: Log, contacts) -> tuple[dict[str, str], dict[str, NDArray[np.float64]]]:
    """Kinds of contacts by frame, and flags (n,) of those that have them."""
    named = contacts if isinstance(contacts, Mapping) else dict.fromkeys(parted(contacts or ()), "point")
    require_contact_kinds(named)
    kinds = {frame: kind for frame, kind in named.items() if frame not in (AUTO, NONE)}
    for frame in kinds:
        robot.frame(frame)
    if NONE in named:
        return {}, {}
    kinds = kinds or dict.fromkeys(log.contacts or standing_frames(robot), "point")
    return kinds, {} if AUTO in named else {frame: log.contacts[frame] for frame in kinds if frame in log.contacts}


def _joint_rates(robot: Robot, log: Log) -> NDArray[np.float64]:
    """(n, nv - 6) joint velocities: as recorded, or of smoothed positions."""
    if log.v is not None and np.isfinite(log.v[:, TWIST:]).all():
        return log.v[:, TWIST:]
    return smooth(log.t, log.q[:, POSE:]).rate


def _begun(sources: Sources, R, stands) -> Path:
    """Where the smoother starts: orientations, and feet that stand moving the base."""
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
        p = np.concatenate([np.zeros((1, 3)), np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(t)[:, None], axis=0)])
        if len(arms):
            p[:, 2] -= (p + arms)[:, 0, 2].min()
    return Path(p, R, v, w, p + arms, np.zeros(3), np.zeros((hats(t).shape[1], 6)))


def _settled(sources: Sources, stands, path: Path, radius: float, rounds: int) -> tuple[Evidence, Path]:
    """The most likely path after so many rounds, or where it is steady, and the evidence that it is of."""
    jitter, poses, flat = jitter_of(sources), sources.poses, SLOPED
    apart = gaps(sources.t)
    jitter[apart] = LOST
    evidence = None
    for k in range(rounds):
        feet = _feet(sources, path, stands, radius, k)
        feet.stays[:, apart] = 0
        evidence = Evidence(sources.t, feet, sources.inertial, poses, sources.gravity, jitter, flat)
        path, change = improved(evidence, path)
        if change < STEADY and k >= len(SPEEDS):
            break
        poses = poses and weighed(poses, path, sources.inertial is None)
        if k == len(SPEEDS) - 1 and np.linalg.norm(path.plane[1:]) < SLOPES:
            flat = LEVEL
    assert evidence is not None
    return evidence, path


def _feet(sources: Sources, path: Path, stands, radius: float, turn: int) -> Feet:
    """What feet say in a round: how far they are trusted, by what the path of the round before leaves."""
    legs, t = sources.legs, sources.t
    f, n = stands.shape
    at, on = legs.in_world(path), stands > 0.5
    rolled = np.zeros((f, n - 1, 3))
    if radius:
        turned = Rotation.from_matrix((path.R @ legs.rotations).reshape(-1, 3, 3)).as_matrix().reshape(f, n, 3, 3)
        turns = Rotation.from_matrix((turned[:, 1:] @ turned[:, :-1].mT).reshape(-1, 3, 3)).as_rotvec()
        normal = np.r_[-path.plane[1:], 1.0]
        rolled = radius * np.cross(turns.reshape(f, n - 1, 3), normal / np.linalg.norm(normal))
    both = on[:, 1:] & on[:, :-1]
    along = at.copy()
    along[:, 1:] -= np.cumsum(rolled, axis=1)
    kept = [np.diff(each, 2, axis=0)[pair[1:] & pair[:-1]] for each, pair in zip(along, both, strict=True)]
    noise = np.array([max(LEGS, float(np.median(np.abs(x))) / 0.6745 / np.sqrt(6)) if len(x) else 1e-4 for x in kept])
    size = _speeds(t, along)
    size = np.maximum(size[:, 1:], size[:, :-1])
    trust = stands[:, 1:] * stands[:, :-1] * both / (1 + (size / SPEEDS[min(turn, len(SPEEDS) - 1)]) ** 2) ** 2
    wander = _wander(along, on, t, noise)
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


def _speeds(t, places) -> NDArray[np.float64]:
    """(f, n) m/s of places (f, n, 3), over a few samples."""
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


def _touching(robot: Robot, log: Log, joints, path: Path, frames) -> dict[str, NDArray[np.float64]]:
    """Shares to which frames stand, by their speed and height in the motion found so far."""
    motion = foot_motion(robot, log.replace(q=_positions(log, path), v=_rates(path, joints)), frames)
    edges = uniform_filter1d(motion.touching.astype(float), 2 * BETWEEN + 1, axis=1)
    return dict(zip(frames, edges, strict=True))


def _positions(log: Log, path: Path) -> NDArray[np.float64]:
    return np.concatenate([path.p, Rotation.from_matrix(path.R).as_quat(), log.q[:, POSE:]], axis=1)


def _rates(path: Path, joints) -> NDArray[np.float64]:
    return np.concatenate([rotate(path.R.mT, path.v), rotate(path.R.mT, path.w), joints], axis=1)


def _states(log: Log, joints, sources: Sources, evidence: Evidence, path: Path, stands, radius, given) -> BaseStates:
    """Everything in axes of the base, with what was found."""
    own, common = covariances(evidence, path)
    change = np.zeros_like(own)
    for k in range(0, BASE, 3):
        change[:, k : k + 3, k : k + 3] = path.R.mT
    change[:, 6:9, 3:6], change[:, 9:12, 3:6] = path.R.mT @ skew(path.v), path.R.mT @ skew(path.w)
    legs = sources.legs
    frames = dict.fromkeys(legs.frames)
    rows = {frame: [i for i, each in enumerate(legs.frames) if each == frame] for frame in frames}
    at = legs.in_world(path)
    at[:, 1:] -= np.cumsum(evidence.feet.rolled, axis=1)
    at[..., 2] = 0  # soft ground gives way, which is no slip
    fast = (_speeds(sources.t, at) > SLIDES) & (stands > 0.5)
    fast = median_filter(fast.astype(np.uint8), size=(1, 3)) > 0 if fast.size else fast
    placed = evidence.poses is not None and bool(np.any(evidence.poses.weights[:, 0]))
    lift = 0.0 if placed else radius
    q = _positions(log, path)
    q[:, 2] += lift
    bias = path.biases.mean(axis=0)
    slips = {frame: fast[own].any(axis=0) for frame, own in rows.items()}
    contacts = {frame: np.clip(stands[own].max(axis=0), 0, 1) for frame, own in rows.items()}
    return BaseStates(
        t=log.t,
        q=q,
        v=_rates(path, joints),
        covariance=change @ own @ change.mT,
        ground=path.plane[0] + path.p[:, :2] @ path.plane[1:] - radius + lift,
        slope=path.plane[1:],
        contacts=contacts,
        slips=slips,
        imu_bias=None if sources.sensor is None else (bias.reshape(2, 3) @ sources.mount).ravel(),
        delays=sources.delays,
        findings=tuple(_findings(sources, contacts, slips)),
        notes=tuple(_notes(sources, evidence, path, contacts, slips, common, placed, given)),
    )


def _findings(sources: Sources, contacts, slips) -> Iterator[Finding]:
    """What deserves a look."""
    for source, late in sources.delays.items():
        what = f"The inertial sensor {sources.sensor}" if source == "imu" else "The recorded pose of the base"
        yield warning(
            "base_late",
            f"{what} comes {1e3 * late:.1f} ms {'late' if late > 0 else 'early'} against the encoders, which is undone "
            "in the state of the base. Shift its columns, or stamp all channels by one clock.",
        )
    landed = {frame: _eroded(share > 0.5) for frame, share in contacts.items()}
    shares = {frame: float(np.mean(slips[frame][on])) if on.any() else 0.0 for frame, on in landed.items()}
    often = {frame: share for frame, share in shares.items() if share > OFTEN}
    if often:
        told = ", ".join(f"{frame} {share:.0%}" for frame, share in often.items())
        yield warning(
            "contact_slip",
            f"Standing feet move faster than {SLIDES} m/s, of their samples: {told}. The state of the base does not "
            "rely on them there. Walk on ground that holds.",
        )


def _eroded(on) -> NDArray[np.bool_]:
    """Samples (n,) of stances without those in which feet land and lift."""
    return uniform_filter1d(on.astype(float), 2 * LANDING + 1) > 1 - 1e-9


def _notes(sources: Sources, evidence: Evidence, path: Path, contacts, slips, common, placed, given) -> Iterator[str]:
    """What the state is made of."""
    told = [f"the inertial sensor {sources.sensor}"] if sources.sensor else []
    told += [f"{len(contacts)} feet"] if contacts else []
    told += ["recorded poses"] if placed else ["recorded orientations"] if evidence.poses is not None else []
    yield f"base: pose and twist smoothed from {choices(told)} and joint positions"
    if not placed:
        free = "position in the plane" + (" and heading" if evidence.poses is None else "")
        yield f"base: {free} counted from the first sample, with errors that grow"
    if contacts and not given:
        shares = ", ".join(f"{frame} {np.mean(share > 0.5):.0%}" for frame, share in contacts.items())
        yield f"contacts found from the speed and height of feet: {shares}"
    if contacts:
        tilt = np.degrees(np.arctan(np.linalg.norm(path.plane[1:])))
        level = ", taken for level" if evidence.flat == LEVEL else ""
        yield f"ground: slope {tilt:.2f} degrees{level}, +- {np.degrees(np.sqrt(np.trace(common[1:3, 1:3]))):.2f}"
