"""MuJoCo models reduced to rigid-body mechanics, and what one of their bodies adds to the forces."""

import warnings

import mujoco
import numpy as np

from steelyard.model.mjcf import joint_name


def rigid_body_model(path):
    """The MuJoCo model without what is no rigid-body mechanics: contacts, limits, springs, damping, fluid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MuJoCo's about deprecated attributes of its own models
        spec = mujoco.MjSpec.from_file(str(path))
        m = spec.compile()
        for index, joint in enumerate(spec.joints):
            joint.name = joint_name(m, index)  # states are exchanged by name; files may leave it out
        m = spec.compile()
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    m.dof_damping[:] = 0
    m.jnt_stiffness[:] = 0
    m.tendon_stiffness[:] = m.tendon_damping[:] = 0
    if hasattr(m, "tendon_armature"):
        m.tendon_armature[:] = 0
    m.body_gravcomp[:] = 0
    m.opt.density = m.opt.viscosity = 0
    return m


def inverse_forces(m, qpos, qvel, qacc):
    """Generalised forces (n, nv) by MuJoCo for states (n, nq), (n, nv), (n, nv)."""
    d, force = mujoco.MjData(m), np.empty_like(qvel)
    for k in range(len(qvel)):
        d.qpos[:], d.qvel[:], d.qacc[:] = qpos[k], qvel[k], qacc[k]
        mujoco.mj_inverse(m, d)
        force[k] = d.qfrc_inverse
    return force


def point_mass_columns(m, qpos, qvel, qacc, rng):
    """Forces (n nv, 10 moving bodies) of a unit mass at ten random points of each body that has joints.

    The ten masses span the inertial parameters of a body, so the columns span those of any regressor. Bodies that
    MuJoCo compiled as simple are left out: their mass matrix has no room for a centre elsewhere. Changes `m`.
    """
    m.body_mass[:] = 0
    m.body_inertia[:] = 0
    m.dof_armature[:] = 0
    m.dof_M0[:] = 0  # which MuJoCo takes for the degrees of simple bodies without looking at masses
    m.body_subtreemass[:] = 0  # MuJoCo then takes moments about the bodies, not about a centre of masses that are gone
    m.body_sameframe[:] = 0  # centres of mass no longer coincide with frames, which MuJoCo would not look up otherwise
    columns = []
    for body in np.flatnonzero((m.body_dofnum > 0) & (m.body_simple == 0)):
        m.body_mass[body] = 1.0
        for point in rng.uniform(-0.5, 0.5, size=(10, 3)):
            m.body_ipos[body] = point
            columns.append(inverse_forces(m, qpos, qvel, qacc).ravel())
        m.body_mass[body] = 0.0
    return np.stack(columns, axis=1) if columns else np.empty((qvel.size, 0))
