"""Random trees with every joint type and the degenerate geometry of real robots: parallel and vertical axes."""

import numpy as np

from steelyard.model import Joint, Robot, Rotor, planar_subspace, revolute_subspace
from steelyard.model.joint import prismatic_subspace, spherical_subspace

AXES = np.concatenate([np.eye(3), -np.eye(3)])
ONE_DEGREE = ("revolute", "prismatic", "helical")


def random_tree(rng, *, bodies=6, mimic=True, rotors=True, compound=True, multi=True) -> Robot:
    """A robot of `bodies` bodies; about half of its poses and axes are aligned with each other and with gravity."""
    joints, parents, carried, branch = [], [], [], []
    for _ in range(bodies):
        parent = int(rng.choice(branch[-3:])) if branch and rng.uniform() < 0.9 else -1
        branch = branch[: branch.index(parent) + 1] if parent >= 0 else []
        for _ in range(1 + (compound and rng.uniform() < 0.2)):
            joints.append(_joint(rng, f"j{len(joints)}", joints, mimic and rng.uniform() < 0.2, multi))
            parents.append(parent)
            parent = len(joints) - 1
        carried.append(parent)
        branch.append(parent)  # joints of bodies that may still carry others: depth first
    free = [joint for joint in joints if joint.mimics is None]
    count = sum(joint.nv for joint in free)
    names = tuple(f"b{b}" for b in range(bodies))
    return Robot(
        name="random",
        joints=tuple(joints),
        parents=np.array(parents),
        body_names=names,
        body_joints=np.array(carried),
        inertias=rng.normal(size=(bodies, 10)),
        gravity=np.array([0, 0, -9.81]) if rng.uniform() < 0.7 else rng.normal(size=3) * 5 * (rng.uniform() < 0.7),
        armature=np.zeros(count),
        damping=np.zeros(count),
        frictionloss=np.zeros(count),
        rotors=tuple(_rotors(rng, joints, names)) if rotors else (),
    )


def _joint(rng, name, before, mimic, multi) -> Joint:
    masters = [joint for joint in before if joint.mimics is None and joint.nv == 1]
    kinds = ("revolute",) * 6 + ("prismatic",) * 2 + ("helical",)
    kind = str(rng.choice([*kinds, *(("spherical", "planar") if multi else ())]))
    axis = AXES[rng.integers(6)] if rng.uniform() < 0.7 else _unit(rng)
    anchor = rng.choice([0.0, 0.0, 0.1], size=3)
    if kind == "spherical":
        subspace = spherical_subspace(anchor)
    elif kind == "planar":
        subspace = planar_subspace(axis)
    elif kind == "prismatic":
        subspace = prismatic_subspace(axis)
    else:
        subspace = revolute_subspace(axis, anchor=anchor, pitch=0.3 * (kind == "helical"))
    pose = {"rotation": _rotation(rng), "position": rng.choice([0.0, 0.0, 0.3, -0.2], size=3)}
    if rng.uniform() < 0.2:
        pose["position"] = 0.3 * rng.normal(size=3)
    if mimic and masters and kind in ONE_DEGREE:
        pose |= {
            "mimics": str(rng.choice([m.name for m in masters])),
            "ratio": float(rng.choice([1.0, -1.0, 0.7])),
            "offset": 0.3,
        }
    kind = "revolute" if kind == "helical" else kind
    return Joint(name, kind, subspace, **pose)


def _rotors(rng, joints, names):
    """About every third joint has a rotor, a few two; a few turn with another joint, too."""
    single = [joint.name for joint in joints if joint.nv == 1]
    for joint in joints:
        if joint.nv != 1:
            continue
        for number in (1, 2):
            if rng.uniform() > (0.4 if number == 1 else 0.15):
                break
            symmetric = rng.uniform() < 0.7
            others = [name for name in single if name != joint.name] if rng.uniform() < 0.15 else []
            also = ((str(rng.choice(others)), float(rng.choice([1.0, -6.0]))),) if others else ()
            yield Rotor(
                number=number,
                also=also,
                joint=joint.name,
                gear_ratio=float(rng.choice([1.0, -6.0, 50.0])),
                carrier=None if rng.uniform() < 0.2 else str(rng.choice(names)),
                axis=(axis := AXES[rng.integers(6)] if rng.uniform() < 0.7 else _unit(rng)),
                rotation=_rotation(rng),
                position=rng.choice([0.0, 0.1], size=3),
                theta=np.abs(rng.normal(size=10)) + 0 * axis[0],
                symmetric=bool(symmetric),
            )


def _unit(rng):
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def _rotation(rng):
    if rng.uniform() < 0.7:
        R = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], size=3)[:, None]
        return R * np.linalg.det(R)
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)
