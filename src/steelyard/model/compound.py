"""Massless bodies between joints, which MuJoCo does not take: their joints become joints of the body behind them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.errors import choices
from steelyard.model.joint import Joint
from steelyard.model.robot import WORLD, Robot
from steelyard.spatial import adjoint


def without_massless(robot: Robot, shown: set[str]) -> tuple[Robot, tuple[str, ...]]:
    """The robot without bodies that have no mass, carry nothing, and lie before one joint.

    Args:
        robot: the robot.
        shown: names of links that have geometry.

    Returns:
        It, with several joints in the bodies behind them, and a note on the bodies that are left out.
    """
    gone = set(_empty(robot, shown))
    kept = [body for body in range(robot.nb) if body not in gone]
    inner = set(range(robot.nj)) - {int(robot.body_joints[body]) for body in kept}
    joints = list(robot.joints)
    for index in sorted(inner, reverse=True):  # the innermost first, so that a chain of them moves as a whole
        _join(joints, robot, index)
    if not gone:
        return replace(robot, joints=tuple(joints)), ()
    new = {WORLD: WORLD} | {old: place for place, old in enumerate(kept)}
    names = [robot.body_names[body] for body in sorted(gone)]
    left = replace(
        robot,
        joints=tuple(joints),
        body_names=tuple(robot.body_names[body] for body in kept),
        body_joints=robot.body_joints[kept],
        inertias=robot.inertias[kept],
        links=tuple(replace(link, body=new[link.body]) for link in robot.links if link.body not in gone),
        sites=tuple(replace(site, body=new[site.body]) for site in robot.sites),
    )
    return left, (f"Bodies without mass are left out, and their joints are of the body behind: {choices(names)}.",)


def _empty(robot: Robot, shown: set[str]) -> Iterator[int]:
    """Bodies that only hold a joint apart from another."""
    named = {name for loop in robot.loops for name in loop.bodies} | {rotor.carrier for rotor in robot.rotors}
    for body, name in enumerate(robot.body_names):
        index = int(robot.body_joints[body])
        behind = np.flatnonzero(robot.parents == index)
        alone = not any(each.body == body for each in (*robot.links, *robot.sites) if each.name != name)
        if (
            not robot.inertias[body].any()
            and alone
            and len(behind) == 1
            and not {name} & (shown | named)
            and all(robot.joints[i].kind in ("revolute", "prismatic") for i in (index, int(behind[0])))
        ):
            yield body


def _join(joints: list[Joint], robot: Robot, index: int) -> None:
    """Let a joint end where the one behind it starts: `X1 exp(Phi1) X2 = X1 X2 exp(Ad(X2^-1) Phi1)`."""
    (behind,) = np.flatnonzero(robot.parents == index)
    first, second = joints[index], joints[behind]
    R, p = second.rotation, second.position
    if first.nv > 1 or (not p.any() and np.array_equal(R, np.eye(3))):
        return
    moved = adjoint(R.T, -R.T @ p) @ first.subspace
    joints[index] = replace(
        first, subspace=moved, rotation=first.rotation @ R, position=first.position + first.rotation @ p
    )
    joints[behind] = replace(second, rotation=np.eye(3), position=np.zeros(3))
