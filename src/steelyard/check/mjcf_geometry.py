"""Parts, geometry and joints of a compiled MuJoCo model, with the places their elements have in the file."""

from dataclasses import replace

import numpy as np

from steelyard.check.parts import Inertial, Joint, Part, Place, Shape
from steelyard.model import body_name, compiled_rotation, geom_solid


def parts_of(m, places, inertials: list[Inertial | None], home: Place) -> tuple[Part, ...]:
    """Parts of a compiled model m, the world left out.

    places: body name -> (place, index in `inertials`), for bodies written in the file; home: place of all others.
    """
    shapes: dict[int, list[Shape]] = {}
    for geom in range(m.ngeom):
        shape = _shape(m, geom, places, home)
        if shape is not None:
            shapes.setdefault(int(m.geom_bodyid[geom]), []).append(shape)
    parts = []
    for body in range(1, m.nbody):
        name = body_name(m, body)
        place, index = places.get(name, (home, None))
        inertial = None if index is None else inertials[index]
        if inertial is not None:
            # the compiled frame knows every spelling of the orientation
            inertial = replace(inertial, rotation=compiled_rotation(m.body_iquat[body]))
        parent = int(m.body_parentid[body]) - 1
        # a body on the world's own geometry is a root of its own
        parts.append(
            Part(
                name,
                place,
                None if parent < 0 else parent,
                compiled_rotation(m.body_quat[body]),
                m.body_pos[body].copy(),
                bool(m.body_jntnum[body]),
                inertial,
                tuple(shapes.get(body, ())),
                float(m.body_mass[body]) if inertial is None and m.body_mass[body] > 1e-8 else 0.0,
            )
        )
    return tuple(parts)


def _shape(m, geom: int, places, home: Place) -> Shape | None:
    found = geom_solid(m, geom)
    if found is None:
        return None
    place = places.get(body_name(m, m.geom_bodyid[geom]), (home, None))[0]
    role = "collision" if m.geom_contype[geom] or m.geom_conaffinity[geom] else "visual"
    return Shape(place, role, found.vertices, found.faces, found.source)


def joints_of(m, places: dict[str, Place], parts: tuple[Part, ...]) -> tuple[Joint, ...]:
    """Joints of a compiled model with their limits, gears and armature."""
    import mujoco

    gears, forces = _actuated(m)
    found = []
    for joint in range(m.njnt):
        body = int(m.jnt_bodyid[joint])
        name = m.joint(joint).name or f"{parts[body - 1].name}_joint{joint - m.body_jntadr[body]}"
        place = places.get(name, replace(parts[body - 1].place, element=f"joint '{name}'"))
        kind = mujoco.mjtJoint(m.jnt_type[joint]).name.removeprefix("mjJNT_").lower()
        limits = {}
        if m.jnt_limited[joint]:
            limits |= {"lower": float(m.jnt_range[joint, 0]), "upper": float(m.jnt_range[joint, 1])}
        if m.jnt_actfrclimited[joint]:
            limits["effort"] = float(m.jnt_actfrcrange[joint, 1])
        elif joint in forces:
            limits["effort"] = forces[joint]
        armature = float(m.dof_armature[m.jnt_dofadr[joint]])
        found.append(Joint(name, place, kind, body - 1, limits, place, gears.get(joint), armature))
    return tuple(found)


def _actuated(m) -> tuple[dict[int, float], dict[int, float]]:
    """Joint -> largest gear of the actuators on it; joint -> largest force they may give, where it is limited."""
    import mujoco

    gears: dict[int, float] = {}
    forces: dict[int, float] = {}
    for actuator in range(m.nu):
        if mujoco.mjtTrn(m.actuator_trntype[actuator]) not in (
            mujoco.mjtTrn.mjTRN_JOINT,
            mujoco.mjtTrn.mjTRN_JOINTINPARENT,
        ):
            continue
        joint, gear = int(m.actuator_trnid[actuator, 0]), abs(float(m.actuator_gear[actuator, 0]))
        gears[joint] = max(gear, gears.get(joint, 0.0))
        if m.actuator_forcelimited[actuator]:
            forces[joint] = max(forces.get(joint, 0.0), gear * float(m.actuator_forcerange[actuator, 1]))
        elif (
            m.actuator_ctrllimited[actuator]
            and mujoco.mjtBias(m.actuator_biastype[actuator]) == mujoco.mjtBias.mjBIAS_NONE
        ):
            gain = abs(float(m.actuator_gainprm[actuator, 0]))
            forces[joint] = max(
                forces.get(joint, 0.0), gear * gain * float(np.abs(m.actuator_ctrlrange[actuator]).max())
            )
    return gears, forces
