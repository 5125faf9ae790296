"""Rotors as bodies: a rotor is one more body, on a joint that follows the joint it drives through the gear (of several
such joints about one axis, where several drive it).

So all that holds for mimic joints holds for rotors: a rotor's velocity is that of its carrier plus `ratio * v * axis`,
its wrench acts on its carrier and all before it, and its moment about its axis, times the ratio, on its joint (paper
C, Appendix I). A symmetric rotor's columns are averaged over a turn about its axis: what cannot be symmetric has zero
columns.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.model import Joint, Robot, revolute_subspace
from steelyard.model.robot import WORLD
from steelyard.model.rotor import Rotor


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
    """The robot with its rotors as bodies, each before those its carrier carries, so that subtrees stay slices. Raises
    ModelError for a rotor on a joint of several degrees, or of an unknown joint or carrier."""
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
            *inner, last = _rotor_joints(robot, robot.rotors[r])
            above = parent
            for joint in inner:
                add(joint, above)
                above = len(joints) - 1
            add(last, above, (robot.nb + r, robot.rotors[r].name, robot.rotors[r].theta))

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


def _rotor_joints(robot: Robot, rotor: Rotor) -> list[Joint]:
    """Joints about the rotor's axis, one behind the other: each follows one of the joints that turn it."""
    found = []
    for name, ratio in rotor.gears:
        driven = next((joint for joint in robot.joints if joint.name == name), None)
        if driven is None or driven.nv != 1:
            names = [joint.name for joint in robot.joints if joint.nv == 1]
            raise ModelError(
                f"A rotor drives joint '{name}', which is no joint with one degree of freedom of robot "
                f"'{robot.name}'. Those are {choices(names)}."
            )
        first = not found  # what moves it moves the rotor
        found.append(
            Joint(
                rotor.name if first else f"{rotor.name}.{name}",
                "revolute",
                revolute_subspace(rotor.own_axis),
                rotor.rotation if first else np.eye(3),
                rotor.position if first else np.zeros(3),
                ratio=ratio * driven.ratio,
                offset=ratio * driven.offset,
                mimics=driven.mimics or driven.name,
            )
        )
    return found
