"""Rotors as bodies: a rotor is one more body, on a joint that follows the joint it drives through the gear.

So all that holds for mimic joints holds for rotors: a rotor's velocity is that of its carrier plus `ratio * v * axis`,
its wrench acts on its carrier and all before it, and its moment about its axis, times the ratio, on its joint (paper
C, Appendix I). A symmetric rotor's columns are averaged over a turn about its axis: what cannot be symmetric has zero
columns.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.model import WORLD, Joint, Robot, Rotor, revolute_subspace


@dataclass(frozen=True, eq=False)
class RobotWithRotors:
    """A robot with its rotors as bodies.

    robot: the tree with a body more per rotor, same q and v. order (nb + nr,): its bodies in the order links, rotors.
    mixing (10 (nb + nr), 10 (nb + nr)): columns of links and rotors are `columns of robot @ mixing`.
    """

    robot: Robot
    order: np.ndarray
    mixing: np.ndarray


@lru_cache(maxsize=64)
def with_rotor_bodies(robot: Robot) -> RobotWithRotors:
    """The robot with its rotors as bodies, each before the bodies its carrier carries, so that subtrees stay slices.

    Raises ModelError for a rotor on a joint of several degrees, or a joint or carrier that the robot does not have.
    """
    places = {}
    for r, rotor in enumerate(robot.rotors):
        joint = WORLD if rotor.carrier is None else int(robot.body_joints[robot.body_index(rotor.carrier)])
        places.setdefault(joint, []).append(r)
    joints, parents, carried, names, inertias, order = [], [], [], [], [], {}

    def add(joint, parent, *bodies):
        joints.append(joint)
        parents.append(parent)
        for key, name, theta in bodies:
            order[key] = len(names)
            carried.append(len(joints) - 1)
            names.append(name)
            inertias.append(theta)

    def add_rotors(carrier, parent):
        for r in places.get(carrier, ()):
            rotor = robot.rotors[r]
            add(_rotor_joint(robot, rotor), parent, (robot.nb + r, rotor.name, rotor.theta))

    new = {WORLD: WORLD}
    bodies = {int(j): b for b, j in enumerate(robot.body_joints)}
    for j, joint in enumerate(robot.joints):
        new[j] = len(joints)
        own = [(bodies[j], robot.body_names[bodies[j]], robot.inertias[bodies[j]])] if j in bodies else []
        add(joint, new[int(robot.parents[j])], *own)
        add_rotors(j, new[j])
    add_rotors(WORLD, WORLD)
    whole = replace(
        robot,
        joints=tuple(joints),
        parents=np.array(parents, dtype=int),
        body_names=tuple(names),
        body_joints=np.array(carried, dtype=int),
        inertias=np.array(inertias).reshape(-1, 10),
        links=(),
        sites=(),
        rotors=(),
        source=None,
    )
    places_of = np.array([order[key] for key in range(len(order))], dtype=int)
    return RobotWithRotors(whole, places_of, _mixing(robot, places_of))


def _mixing(robot: Robot, order) -> np.ndarray:
    blocks = [*[np.eye(10)] * robot.nb, *(rotor.content @ rotor.reading for rotor in robot.rotors)]
    mixing = np.zeros((10 * len(order), 10 * len(order)))
    for body, (place, block) in enumerate(zip(order, blocks, strict=True)):
        mixing[10 * place : 10 * place + 10, 10 * body : 10 * body + 10] = block
    return mixing


def _rotor_joint(robot: Robot, rotor: Rotor) -> Joint:
    driven = next((joint for joint in robot.joints if joint.name == rotor.joint), None)
    if driven is None or driven.nv != 1:
        names = [joint.name for joint in robot.joints if joint.nv == 1]
        raise ModelError(
            f"A rotor drives joint '{rotor.joint}', which is no joint with one degree of freedom of robot "
            f"'{robot.name}'. Those are {choices(names)}."
        )
    return Joint(
        rotor.name,
        "revolute",
        revolute_subspace(rotor.own_axis),
        rotor.rotation,
        rotor.position,
        ratio=rotor.gear_ratio * driven.ratio,
        offset=rotor.gear_ratio * driven.offset,
        mimics=driven.mimics or driven.name,
    )
