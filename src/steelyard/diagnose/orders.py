"""Orders in which files commonly list joints: alphabetical, from the tool, limb by limb, joint by joint of all limbs.

Of robots with limbs, vendors list these in other orders than models (FR FL RR RL), and simulators joint by joint (all
hips, all thighs).
"""

from collections import Counter
from itertools import combinations, permutations, zip_longest

import numpy as np

from steelyard.model import Robot

MOST_LIMBS = 5  # whose orders are all tried; of more, pairs are exchanged


def named_orders(robot: Robot) -> list[np.ndarray]:
    """Orders by name and from the tool (nv,): the column in which the signal of each degree is."""
    names = np.array(robot.dof_names)
    return [np.argsort(np.argsort(names)), np.argsort(names), np.arange(robot.nv)[::-1]]


def limb_orders(robot: Robot) -> list[np.ndarray]:
    """Orders (nv,) in which a file may list the degrees of a robot with limbs: column k holds degree order[k].

    Limbs in any order, one after another, or first joints, second joints, ... of all of them; those that move limbs
    least first, as FR FL RR RL of FL FR RL RR.
    """
    limbs = _limbs(robot)
    if len(limbs) < 2:
        return []
    if len(limbs) <= MOST_LIMBS:
        sequences = sorted(
            permutations(limbs), key=lambda each: sum(abs(limbs.index(x) - k) for k, x in enumerate(each))
        )
    else:
        places = range(len(limbs))
        sequences = [[limbs[{i: j, j: i}.get(k, k)] for k in places] for i, j in combinations(places, 2)] + [limbs]
    found = {}
    for sequence in sequences:
        together = [dof for limb in sequence for dof in limb]
        level = [dof for row in zip_longest(*sequence) for dof in row if dof is not None]
        found |= {tuple(order): np.array(order) for order in (together, level)}
    found.pop(tuple(range(robot.nv)), None)
    return list(found.values())


def _limbs(robot: Robot) -> list[list[int]]:
    """Degrees of freedom by limb: chains between branches, in the order of the model."""
    moving = [j for j, joint in enumerate(robot.joints) if joint.mimics is None]
    above = {}
    for joint in moving:
        above[joint] = int(robot.parents[joint])
        while above[joint] >= 0 and above[joint] not in moving:
            above[joint] = int(robot.parents[above[joint]])
    children = Counter(above.values())
    first: dict[int, int] = {}  # joint of the limb that a joint is part of, by joint
    limbs: dict[int, list[int]] = {}
    for joint in moving:
        first[joint] = first[above[joint]] if above[joint] in first and children[above[joint]] == 1 else joint
        own = robot.v_slices[joint]
        limbs.setdefault(first[joint], []).extend(range(own.start, own.stop))
    return list(limbs.values())
