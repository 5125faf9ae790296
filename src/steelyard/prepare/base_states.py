"""State of a walking base from encoders, an inertial sensor, contacts and recorded poses, as far as a log has them."""

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
from steelyard.log.walk_states import BaseStates
from steelyard.model import Robot
from steelyard.native import one_blas_thread
from steelyard.prepare.base_fit import BETWEEN, LEVEL, ROUNDS, BaseFit, begun, settled, speeds
from steelyard.prepare.base_smoother import BASE, Path, WalkEvidence, covariances
from steelyard.prepare.base_sources import POSED, BaseSources, FootPoints, orientations, recorded_poses, sources_of
from steelyard.prepare.contact_checks import OFTEN, SLOW, foot_motion
from steelyard.prepare.contact_flags import AUTO, NONE, parted, standing_frames
from steelyard.prepare.inertial_sensors import BIASED
from steelyard.spatial import POSE, TWIST, rotate, skew

__all__ = ["BaseStates", "base_states", "with_base"]

LOWEST = 0.02  # m over the lowest foot, within which feet stand to begin with
LANDING = 4  # samples of a stance at either end, in which feet move
PIECE = 24000  # samples that are smoothed at once: 1 GB
SHARED = 2.0  # s that neighbouring pieces have in common
SEARCHES = 2  # for contacts in the motion that they give, and rounds of each


def base_states(
    robot: Robot, log: Log, *, contacts: Sequence[str] | Mapping[str, str] | None = None, radius: float = 0.0
) -> BaseStates:
    """The state of a walking robot's base at each sample of a log, by a fixed-interval smoother of joints and, as far
    as recorded, of an inertial sensor, flags and poses (not finite where unknown). contacts: frames of feet, by their
    kinds if not points, or words as of `with_contacts`; None: frames that are flagged, or links named as feet. radius:
    m, of round feet, which roll. Raises LogError: no orientation can be known, or no numbers; OptionError: a fixed
    base, or unknown kinds; ModelError: unknown frames."""
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

    def first_stands(legs: FootPoints, up) -> NDArray[np.float64]:
        height = np.einsum("fnk,nk->fn", legs.points, up)
        low = (height - height.min(axis=0) < LOWEST).astype(float)
        return np.stack([flags.get(frame, own) for frame, own in zip(legs.frames, low, strict=True)])

    sources = sources_of(robot, log, kinds, first_stands)
    legs = sources.legs
    R = orientations(sources.t, sources.inertial, sources.poses)
    stands = first_stands(legs, R[:, 2]) if kinds else np.zeros((0, len(log)))
    joints = _joint_rates(robot, log)
    path = begun(sources, R, stands)
    for _ in range(0 if given or not kinds else SEARCHES):
        path = settled(sources, stands, path, radius, SEARCHES).path
        found = _touching(robot, log, joints, path, tuple(kinds))
        stands = np.stack([flags.get(frame, found[frame]) for frame in legs.frames])
    fit = settled(sources, stands, path, radius, ROUNDS)
    return _states(log, joints, sources, fit, stands, radius, given)


def _pieces(log: Log) -> list[slice]:
    """Parts of a log that are smoothed on their own, for memory's sake; neighbours share some samples."""
    shared = max(2, round(SHARED * log.rate)) if len(log) > PIECE else 0
    count = max(1, -(-(len(log) - shared) // (PIECE - shared)))
    edges = np.linspace(0, len(log) - shared, count + 1).astype(int)
    return [slice(int(a), int(b) + shared) for a, b in pairwise(edges)]


def _joined(log: Log, parts: Sequence[slice], found: Sequence[BaseStates]) -> BaseStates:
    """States of pieces as those of one log: each goes on in the middle of what it shares with the one before, where
    pose and heading were not recorded."""
    poses = recorded_poses(log, POSED)
    placed, turned = [False, False] if poses is None else np.any(poses.weights, axis=0).tolist()
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

    def whole(arrays) -> NDArray:
        return np.concatenate([x[own] for x, own in zip(arrays, rows, strict=True)])

    def by_frame(name: str) -> dict[str, NDArray]:
        return {f: whole([getattr(s, name)[f] for s in found]) for f in getattr(found[0], name)}

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
    """The log with the motion of a free base that nothing recorded (base columns of q not finite), from its sensor and
    legs, and what was found; other logs as they are. Raises LogError as `base_states`."""
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


def _touching(robot: Robot, log: Log, joints, path: Path, frames) -> dict[str, NDArray[np.float64]]:
    """Shares to which frames stand, by their speed and height in the motion found so far."""
    motion = foot_motion(robot, log.replace(q=_positions(log, path), v=_rates(path, joints)), frames)
    edges = uniform_filter1d(motion.touching.astype(float), 2 * BETWEEN + 1, axis=1)
    return {frame: edges[i] for i, frame in enumerate(frames)}


def _positions(log: Log, path: Path) -> NDArray[np.float64]:
    return np.concatenate([path.p, Rotation.from_matrix(path.R).as_quat(), log.q[:, POSE:]], axis=1)


def _rates(path: Path, joints) -> NDArray[np.float64]:
    return np.concatenate([rotate(path.R.mT, path.v), rotate(path.R.mT, path.w), joints], axis=1)


def _states(log: Log, joints, sources: BaseSources, fit: BaseFit, stands, radius, given) -> BaseStates:
    evidence, path = fit.evidence, fit.path
    own = covariances(fit.last, fit.common)
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
    fast = (speeds(sources.t, at) > SLOW) & (stands > 0.5)
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
        findings=tuple(_findings(sources, bias, contacts, slips)),
        notes=tuple(_notes(sources, evidence, path, contacts, slips, fit.common, placed, given)),
    )


def _findings(sources: BaseSources, bias, contacts, slips) -> Iterator[Finding]:
    for source, late in sources.delays.items():
        what = f"The inertial sensor {sources.sensor}" if source == "imu" else "The recorded pose of the base"
        yield warning(
            "base_late",
            f"{what} comes {1e3 * late:.1f} ms {'late' if late > 0 else 'early'} against the encoders, which is undone "
            "in the state of the base. Shift its columns, or stamp all channels by one clock.",
        )
    biases = np.linalg.norm(bias.reshape(2, 3), axis=1)
    if sources.sensor and np.any(biases > BIASED[::-1]):
        yield warning(
            "imu_bias",
            f"The inertial sensor {sources.sensor} has biases of {biases[0]:.2g} rad/s and {biases[1]:.2g} m/s^2 "
            "against legs, ground and poses, which are taken out. Check its place in the model, and the poses.",
        )
    landed = {frame: _eroded(share > 0.5) for frame, share in contacts.items()}
    shares = {frame: float(np.mean(slips[frame][on])) if on.any() else 0.0 for frame, on in landed.items()}
    often = {frame: share for frame, share in shares.items() if share > OFTEN}
    if often:
        told = ", ".join(f"{frame} {share:.0%}" for frame, share in often.items())
        yield warning(
            "contact_slip",
            f"Standing feet move faster than {SLOW} m/s, of their samples: {told}. The state of the base does not "
            "rely on them there. Walk on ground that holds.",
        )


def _eroded(on) -> NDArray[np.bool_]:
    """Samples (n,) of stances without those in which feet land and lift."""
    return uniform_filter1d(on.astype(float), 2 * LANDING + 1) > 1 - 1e-9


def _notes(
    sources: BaseSources, evidence: WalkEvidence, path: Path, contacts, slips, common, placed, given
) -> Iterator[str]:
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
        yield f"ground: slope {tilt:.2f} degrees{level}, ± {np.degrees(np.sqrt(np.trace(common[1:3, 1:3]))):.2f}"
