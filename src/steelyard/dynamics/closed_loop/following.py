"""How closed loops follow a small change: of independent coordinates, of a joint's axis or place, of a closure's frame.

Any such change displaces joint axes and loop frames by twists. The dependent coordinates close the loops again, which
displaces more; then `K v = 0` and `K a + K' v = 0`, differentiated along all of it, give the changes of v and a.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.dynamics.closed_loop.assembly import NEARBY, Choice
from steelyard.dynamics.closed_loop.constraint import constants, in_first_frames, of_multipliers
from steelyard.dynamics.closed_loop.states import State, random_closed_states
from steelyard.dynamics.displacements import behind, frame_twists, mounts, two_passes
from steelyard.dynamics.kinematics import tree
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.numbers import SAME, SEED
from steelyard.spatial import cross, motion_cross


@dataclass(frozen=True, eq=False)
class Displaced:
    """k small changes at n states, twists in world axes: axes (n, k, nt, 6) of what carries each degree's axis, ends
    (2, n, k, L, 6) of the loop frames."""

    axes: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True, eq=False)
class Following:
    """Changes q, v, a (n, nv, k) of all coordinates, those of q in the tangent space."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def along_coordinates(robot: Robot, at: State, dq) -> Displaced:
    """What tangent steps dq (n, nv, k) displace."""
    c = constants(robot)
    moved = at.transmission.at.axes[:, None] * np.swapaxes(c.spread @ dq, 1, 2)[..., None]
    return Displaced(c.above @ moved, np.stack([path @ moved for path in c.paths]))


def of_geometry(robot: Robot, at: State) -> Displaced:
    """What unit changes displace, coordinates held: the twists of all joints (6 nj), their placements (6 nj), and the
    frames of all closures (12 L, by loop and side)."""
    state = two_passes(robot, *(np.ascontiguousarray(x.T) for x in (at.q, at.v, at.a)))
    mount = np.moveaxis(frame_twists(*mounts(state)), -1, 0)
    hang = np.moveaxis(frame_twists(state.joints.rotation, state.joints.position), -1, 0)
    joint, degree_joint = np.repeat(np.arange(robot.nj), 6), tree(robot).degree_joint
    own = (joint[:, None] == degree_joint)[..., None]
    frames = _frame_displacements(at)
    axes = [
        _carried(robot, mount - hang, joint, degree_joint) + own * hang[:, :, None],  # own axes turn with their joint
        _carried(robot, mount, joint, degree_joint),
        np.zeros((len(mount), frames.shape[2], len(degree_joint), 6)),
    ]
    ends = [_at_ends(robot, mount - hang, joint), _at_ends(robot, mount, joint), frames]
    return Displaced(np.concatenate(axes, axis=1), np.concatenate(ends, axis=2))


def _carried(robot: Robot, twists, joint, degree_joint):
    """(n, k, nt, 6): twists (n, k, 6) for the axes of degrees at or behind the joints that are changed."""
    return behind(robot, degree_joint, joint).T[..., None] * twists[:, :, None]


def _at_ends(robot: Robot, twists, joint):
    """(2, n, k, L, 6): the same for the loop frames."""
    of_body = np.append(robot.body_joints, WORLD)[constants(robot).bodies]  # WORLD = -1 points at the last
    moved = np.stack([behind(robot, np.maximum(side, 0), joint).T * (side != WORLD) for side in of_body])
    return moved[:, None, ..., None] * twists[:, :, None]


def _frame_displacements(at: State):
    """(2, n, 12 L, L, 6): unit shifts and turns of each loop frame, by loop and side."""
    placed = at.transmission.at
    n, count = placed.positions.shape[1:3]
    out = np.zeros((2, n, count, 2, 6, count, 6))
    for side in range(2):
        axes = np.swapaxes(placed.rotations[side], -1, -2)  # (n, L, 3, 3), row c: axis c of the frame
        moments = cross(placed.positions[side][:, :, None], axes)
        units = np.concatenate(
            [np.concatenate([axes, np.zeros_like(axes)], axis=-1), np.concatenate([moments, axes], axis=-1)], axis=-2
        )
        for loop in range(count):
            out[side, :, loop, side, :, loop] = units[:, loop]
    return out.reshape(2, n, 12 * count, count, 6)


def opened(robot: Robot, at: State, change: Displaced):
    """Gaps (n, m, k) that changes open while coordinates are held."""
    return in_first_frames(robot, at.transmission.at, change.ends[1] - change.ends[0])


def followed(robot: Robot, at: State, change: Displaced) -> tuple[Following, Displaced]:
    """What happens to all coordinates as the dependent ones close the loops again, independent q, v, a held, and all
    that is displaced then.
    """
    dq = _by_dependent(at, opened(robot, at, change), robot.nv)
    more = along_coordinates(robot, at, dq)
    whole = Displaced(change.axes + more.axes, change.ends + more.ends)
    return driven(robot, at, dq, whole), whole


def driven(robot: Robot, at: State, dq, change: Displaced | None, dv=None) -> Following:
    """Changes of v and a along closed loops at n states, independent accelerations and velocities (but for dv) held.
    dq: (n, nv, k) steps that keep loops closed, counted in `change`, what is displaced in all; dv: (n, nv, k) along the
    loops."""
    c, S = constants(robot), at.transmission.at.axes
    rate, rate_change = (c.spread @ x[..., None] for x in (at.v, at.a))  # (n, nt, 1)
    moved, parts = S * rate, c.paths[1] - c.paths[0]
    twist, first, relative = c.above @ moved, c.paths[0] @ moved, parts @ moved
    swing = S * rate_change + motion_cross(twist, moved)  # what each degree adds to accelerations
    total = parts @ swing - motion_cross(first, relative)
    dv = np.zeros_like(dq) if dv is None else dv
    speeds = S[:, None] * np.swapaxes(c.spread @ dv, 1, 2)[..., None]  # (n, k, nt, 6): change of S v
    swings = 0.0
    if change is not None:
        turned = motion_cross(change.axes, moved[:, None])
        opening = parts @ turned - motion_cross(change.ends[0], relative[:, None])
        extra = _by_dependent(at, in_first_frames(robot, at.transmission.at, opening), robot.nv)
        dv = dv + extra
        speeds = speeds + turned + S[:, None] * np.swapaxes(c.spread @ extra, 1, 2)[..., None]
        axes = motion_cross(change.axes, S[:, None])
        swings = axes * rate_change[:, None]
    swings = swings + motion_cross(c.above @ speeds, moved[:, None]) + motion_cross(twist[:, None], speeds)
    along = motion_cross(c.paths[0] @ speeds, relative[:, None])
    bent = parts @ swings - along - motion_cross(first[:, None], parts @ speeds)
    if change is not None:
        bent = bent - motion_cross(change.ends[0], total[:, None])
    da = _by_dependent(at, in_first_frames(robot, at.transmission.at, bent), robot.nv)
    return Following(dq, dv, da)


def constraint_power(robot: Robot, at: State, change: Displaced, tau):
    """Change (n, ni, k) of torques of independent joints as Gamma changes, the tree's torques tau (n, nv) held.

    Multipliers that hold the tree's torques at the dependent joints do work on the change of K.
    """
    c, placed = constants(robot), at.transmission.at
    held = -np.einsum("ndm,nd->nm", at.transmission.passive, tau[:, at.choice.dependent])
    wrench = of_multipliers(robot, placed, held)  # (n, L, 6)
    parts = c.paths[1] - c.paths[0]
    on_axes = np.einsum("lt,nlx,nktx->nkt", parts, wrench, motion_cross(change.axes, placed.axes[:, None]))
    turned = motion_cross(change.ends[0][..., None, :], placed.axes[:, None, None])  # (n, k, L, nt, 6)
    on_frames = np.einsum("lt,nlx,nkltx->nkt", parts, wrench, turned)
    by_degree = np.swapaxes(on_axes - on_frames, 1, 2)  # (n, nt, k)
    return np.swapaxes(c.spread @ at.transmission.gamma, 1, 2) @ by_degree


def _by_dependent(at: State, gaps, nv: int):
    """Steps (n, nv, k) of the dependent coordinates that take gaps (n, m, k) away."""
    out = np.zeros((len(gaps), nv, gaps.shape[2]))
    out[:, at.choice.dependent] = -at.transmission.passive @ gaps
    return out


@lru_cache(maxsize=64)
def left_open(robot: Robot, choice: Choice) -> np.ndarray:
    """(r, 12 nj + 12 L): gaps that unit changes of geometry leave, in units of the robot, on random closed states.

    A change for which they vanish lets every loop close everywhere, and a linkage with redundant equations (planar,
    spherical, Bricard) has others. Shifts are in lengths of the robot.
    """
    at = random_closed_states(robot, choice, NEARBY, seed=SEED, dynamic=False)
    gap = opened(robot, at, of_geometry(robot, at))
    K = at.transmission.K[..., choice.dependent]
    left = gap - K @ (at.transmission.passive @ gap)
    length = constants(robot).length
    units = np.tile([length] * 3 + [1.0] * 3, gap.shape[2] // 6)
    rows = (left * units).reshape(-1, gap.shape[2])
    rows = np.where(np.abs(rows) > SAME, rows, 0.0)
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return (s[:, None] * Vt)[s > SAME]
