"""The stacked regression of a random tree, with mimic joints and rotors, computed by Pinocchio."""

import numpy as np
import pinocchio as pin

from steelyard.inertia import transform_matrix
from steelyard.model import WORLD, Joint, Robot


def _model(joint: Joint):
    """Pinocchio's joint and the pose of our child frame in its: anchors and normals become placements."""
    v, w = joint.subspace[:3], joint.subspace[3:]
    at_rest = np.eye(3), np.zeros(3)
    if joint.kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(v[:, 0]), *at_rest
    if joint.kind == "free":
        return pin.JointModelFreeFlyer(), *at_rest
    if joint.kind == "planar":
        Q = np.column_stack([v[:, 0], v[:, 1], w[:, 2]])
        return pin.JointModelPlanar(), Q.T, np.zeros(3)
    if joint.kind == "spherical":
        return pin.JointModelSpherical(), np.eye(3), -np.array([v[2, 1], v[0, 2], v[1, 0]])
    axis, pitch = w[:, 0], float(w[:, 0] @ v[:, 0])
    anchor = np.cross(axis, v[:, 0])
    kind = pin.JointModelHelicalUnaligned(axis, pitch) if pitch else pin.JointModelRevoluteUnaligned(axis)
    return kind, np.eye(3), -anchor


class Twin:
    """A Robot in Pinocchio; every rotor is a body on a revolute joint of its own."""

    def __init__(self, robot: Robot, *, motors: bool):
        self.robot = robot
        self.model = pin.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        self.columns, frames, self.ids = [], [], []
        for joint, parent in zip(robot.joints, robot.parents, strict=True):
            kind, R, p = _model(joint)
            above, above_R, above_p = (
                (0, np.eye(3), np.zeros(3)) if parent == WORLD else (self.ids[parent], *frames[parent])
            )
            placed = _after((above_R, above_p), (joint.rotation, joint.position))
            ours_in_theirs = _after(placed, (R.T, -R.T @ p))
            self.ids.append(self.model.addJoint(above, kind, pin.SE3(*ours_in_theirs), joint.name))
            frames.append((R, p))
        for j in robot.body_joints:
            self.columns.append((self.ids[j], transform_matrix(*frames[j])))
        self.rotors = robot.rotors if motors else ()
        self.rotor_ids = []
        for rotor in self.rotors:
            j = None if rotor.carrier is None else robot.body_joints[robot.body_index(rotor.carrier)]
            above, frame = (0, (np.eye(3), np.zeros(3))) if j is None else (self.ids[j], frames[j])
            placed = _after(frame, (rotor.rotation, rotor.position))
            axis = rotor.rotation.T @ rotor.axis
            kind = pin.JointModelRevoluteUnaligned(axis)
            self.rotor_ids.append(self.model.addJoint(above, kind, pin.SE3(*placed), f"rotor_{len(self.rotor_ids)}"))
            self.columns.append((self.rotor_ids[-1], symmetric(axis) if rotor.symmetric else np.eye(10)))
        self.data = self.model.createData()
        self.E = self._velocities()

    def _velocities(self):
        """(model.nv, robot.nv): Pinocchio's velocity from ours."""
        E = np.zeros((self.model.nv, self.robot.nv))
        self.by_name = {}
        for joint, where, i in zip(self.robot.joints, self.robot.v_slices, self.ids, strict=True):
            start = self.model.joints[i].idx_v
            E[start : start + joint.nv, where] = joint.ratio * np.eye(joint.nv)
            self.by_name[joint.name] = start
        for rotor, i in zip(self.rotors, self.rotor_ids, strict=True):
            E[self.model.joints[i].idx_v] = sum(ratio * E[self.by_name[joint]] for joint, ratio in rotor.gears)
        return E

    def regression(self, rng, samples: int, *, locked=(), dynamic=True):
        """(n, p) stacked torque regressor of random states; locked joints rest at zero and their torque is not used."""
        moving = np.ones(self.robot.nv, dtype=bool)
        for joint, where in zip(self.robot.joints, self.robot.v_slices, strict=True):
            if joint.name in locked:
                moving[where] = False
        offsets = np.zeros(self.model.nv)
        for joint, i in zip(self.robot.joints, self.ids, strict=True):
            if joint.offset:
                offsets[self.model.joints[i].idx_v] = joint.offset
        rows = []
        for _ in range(samples):
            travel = rng.uniform(-np.pi, np.pi, size=self.robot.nv) * moving
            v, a = (rng.normal(size=self.robot.nv) * moving * dynamic for _ in range(2))
            q = pin.integrate(self.model, pin.neutral(self.model), self.E @ travel + offsets)
            Y = pin.computeJointTorqueRegressor(self.model, self.data, q, self.E @ v, self.E @ a)
            Y = (self.E[:, moving].T @ Y).reshape(moving.sum(), -1, 10)
            rows.append(np.concatenate([Y[:, i - 1] @ to_ours for i, to_ours in self.columns], axis=1))
        return np.concatenate(rows)


def symmetric(axis) -> np.ndarray:
    """(10, 4) m, h, It, Im of a body symmetric about an axis, written entry by entry."""
    x, y, z = axis
    C = np.zeros((10, 4))
    C[0, 0] = 1.0
    C[1:4, 1] = axis
    C[4:, 3] = [x * x, x * y, y * y, x * z, y * z, z * z]
    C[4:, 2] = np.array([1, 0, 1, 0, 0, 1]) - C[4:, 3]
    return C


def _after(one, other):
    """Pose `one` followed by `other`."""
    return one[0] @ other[0], one[1] + one[0] @ other[1]


def scaled_rank(Y, tolerance=1e-8):
    """Rank of a stacked regression with unit columns, and the columns' sizes."""
    size = np.linalg.norm(Y, axis=0)
    size[size <= 1e-11 * size.max(initial=0.0)] = 1.0
    singular = np.linalg.svd(np.linalg.qr(Y / size, mode="r"), compute_uv=False)
    return int(np.count_nonzero(singular > tolerance * max(singular.max(initial=0.0), 1e-300))), size
