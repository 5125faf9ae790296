"""The same robot in Drake, read from SDF: spatial inertias by link, and torques by coordinate maps spelled out."""

import logging
import warnings

import numpy as np
from scipy.spatial.transform import Rotation

logging.getLogger("drake").setLevel(logging.ERROR)  # elements of SDF that Drake passes over


class Plant:
    """A plant of the models of a file. joints: of Drake, by name of ours."""

    def __init__(self, path, gravity):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pydrake.multibody.parsing import Parser
            from pydrake.multibody.plant import MultibodyPlant
        self.plant = MultibodyPlant(0.0)
        parser = Parser(self.plant)
        (self.model, *_) = parser.AddModels(str(path))
        self.name = self.plant.GetModelInstanceName(self.model)
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(gravity))
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

    def _of(self, name):
        """Model instance and name of a link or joint `inner::name` of the model."""
        *scopes, last = name.split("::")
        return last, self.plant.GetModelInstanceByName("::".join([self.name, *scopes]))

    def theta(self, link):
        """(10,) inertial parameters of a link in its frame: m, h, Ixx Ixy Iyy Ixz Iyz Izz."""
        M = self.plant.GetBodyByName(*self._of(link)).CalcSpatialInertiaInBodyFrame(self.context)
        I = M.CalcRotationalInertia().CopyToFullMatrix3()
        six = [I[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
        return np.array([M.get_mass(), *(M.get_mass() * M.get_com()), *six])

    def pose(self, frame):
        """Rotation and position of a frame in the world."""
        X = self.plant.GetFrameByName(*self._of(frame)).CalcPoseInWorld(self.context)
        return X.rotation().matrix(), X.translation()

    def inverse_dynamics(self, robot, q, v, a, base=None):
        """(nv,) torques of a robot of ours at one state. base: name of the link that flies."""
        from pydrake.multibody.tree import MultibodyForces

        plant, E = self.plant, np.zeros((self.plant.num_velocities(), robot.nv))
        positions, bias = np.zeros(plant.num_positions()), np.zeros(plant.num_velocities())
        for joint, at_q, at_v in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
            own = q[at_q] * joint.ratio + joint.offset if joint.nq == 1 else q[at_q]
            if joint.kind == "free":
                body = plant.GetBodyByName(*self._of(base))
                R, (linear, angular) = Rotation.from_quat(own[3:]).as_matrix(), v[at_v].reshape(2, 3)
                start, first = body.floating_velocities_start_in_v(), body.floating_positions_start()
                positions[first : first + 7] = [*np.roll(own[3:], 1), *own[:3]]
                E[start : start + 3, at_v.start + 3 : at_v.stop] = R
                E[start + 3 : start + 6, at_v.start : at_v.start + 3] = R
                bias[start + 3 : start + 6] += R @ np.cross(angular, linear)
                continue
            axis = next((k for k, end in enumerate(("_axis", "_axis2")) if joint.name.endswith(end)), None)
            name = joint.name if axis is None else joint.name.rpartition("_")[0]
            theirs = plant.GetJointByName(name.rpartition("::")[2])  # Drake has it in the model of its child
            start, first = theirs.velocity_start() + (axis or 0), theirs.position_start() + (axis or 0)
            if joint.kind == "spherical":
                R_cj = theirs.frame_on_child().GetFixedPoseInBodyFrame().rotation().matrix()
                turned = R_cj.T @ Rotation.from_quat(own).as_matrix() @ R_cj
                positions[first : first + 3] = Rotation.from_matrix(turned).as_euler("xyz")
                E[start : start + 3, at_v] = turned @ R_cj.T
                continue
            positions[first] = own[0]
            E[start, at_v] = joint.ratio
        plant.SetPositions(self.context, positions)
        plant.SetVelocities(self.context, E @ v)
        moving = plant.CalcInverseDynamics(self.context, E @ a + bias, MultibodyForces(plant))
        return E.T @ (moving - plant.CalcGravityGeneralizedForces(self.context))
