"""What a simulated robot has and the model of it does not, and both in MuJoCo: on a floor, with position servos."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from steelyard.errors import OptionError, choices
from steelyard.model import Robot, mjcf_text
from steelyard.model.drive import Drive
from steelyard.model.mjcf_drives import STEP
from steelyard.spatial import quaternion_of

CONES = ("pyramidal", "elliptic")
INTEGRATORS = ("euler", "rk4", "implicit", "implicitfast")
BOX = np.array([0.2, 0.15, 0.1])  # m, of a load
LEDGE = 0.3  # m ahead of the start, where a ledge is
SAMPLE = 5e-3  # s of the log, and of commands


@dataclass(frozen=True)
class Truth:
    """How a robot and its ground differ from the model that its user has, and how MuJoCo moves them. What is said of
    joints is one number for all, or (joints,)."""

    load: float = 0.0  # kg of a box on the trunk
    place: tuple[float, float, float] = (0.05, 0.02, 0.11)  # m, centre of the box, in the trunk
    armature: ArrayLike = 0.0  # kg m^2, beside that of the model
    damping: ArrayLike = 0.0  # N m s/rad, beside that of the model
    frictionloss: ArrayLike = 0.0  # N m, beside that of the model
    gains: ArrayLike = 1.0  # Factors of the stiffness and damping of the servos
    delay: float = 0.0  # s by which commands come late
    friction: float | None = None  # Coefficient of the ground; None: that of the model
    softness: float | None = None  # s, time constant of the ground; None: that of the model
    cone: str = "elliptic"  # Of friction: "elliptic" or "pyramidal"
    integrator: str = "euler"  # "euler", "rk4", "implicit" or "implicitfast"
    step: float = 1e-3  # s of the simulation
    slip: tuple[float, float, float] | None = None
    """From and until when, s, the ground has another coefficient of friction, the third number."""
    ledge: float = 0.0  # m, height of a step in the ground, 0.3 m ahead

    def __post_init__(self):
        for what, found, known in (("cone", self.cone, CONES), ("integrator", self.integrator, INTEGRATORS)):
            if found not in known:
                raise OptionError(f"There is no {what} {found!r}; choose from {choices(known)}.")
        if not self.step > 0 or abs(SAMPLE / self.step - round(SAMPLE / self.step)) > 1e-6:
            raise OptionError(f"step={self.step}: {SAMPLE} s, of a sample, are a whole number of steps.")
        if not 0 <= self.delay < np.inf:
            raise OptionError(f"delay={self.delay}: commands come late by a number of seconds, or by 0.")

    def robot(self, given: Robot) -> Robot:
        """The robot as it is.

        Args:
            given: the model of it, with the drives of its joints.

        Returns:
            The Robot.
        """
        at, inertias, n = np.array(self.place), given.inertias.copy(), len(given.drives)
        I = self.load / 12 * np.diag(np.sum(BOX**2) - BOX**2)
        I += self.load * (at @ at * np.eye(3) - np.outer(at, at))
        inertias[0] += np.r_[self.load, self.load * at, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
        more = {
            name: getattr(given, name) + np.r_[np.zeros(given.nv - n), np.broadcast_to(getattr(self, name), n)]
            for name in ("armature", "damping", "frictionloss")
        }
        drives = {
            name: replace(drive, kp=drive.kp * factor, kd=drive.kd * factor, delay=self.delay or None)
            for (name, drive), factor in zip(given.drives.items(), np.broadcast_to(self.gains, n), strict=True)
        }
        return replace(given.with_inertias(inertias).with_joint_properties(**more), drives=drives)


def with_servos(robot: Robot, kp: float, kd: float, limit: float) -> Robot:
    """A robot with a position servo at each joint. kp: N m/rad. kd: N m s/rad. limit: N m."""
    joints = [robot.dof_names[dof] for dof in robot.driven_dofs if robot.dof_names[dof] in robot.joint_names]
    return replace(robot, drives={name: Drive("position", kp=kp, kd=kd, limit=limit) for name in joints})


@dataclass(frozen=True)
class SimulatedGround:
    """friction: coefficient. softness: s, time constant. slope: rad, uphill. ledge: m, as of `Truth`."""

    friction: float
    softness: float
    slope: float = 0.0
    ledge: float = 0.0


def on_ground(
    robot: Robot,
    feet: Sequence[str],
    sensors: Sequence[str],
    ground: SimulatedGround,
    radius: float,
    sole: Sequence[Sequence[float]] = ((0.0, 0.0, 0.0),),
):
    """The MjSpec of a robot with servos on a floor, as a user has it: geoms are floor and feet, spheres under frames,
    and frames that are no bodies its sites. sole: m, where spheres are in the frame of a foot."""
    import mujoco

    spec = mujoco.MjSpec.from_string(mjcf_text(replace(robot, drives={})))
    floor = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50, 50, 1], name="ground")
    floor.quat = [np.cos(ground.slope / 2), 0, -np.sin(ground.slope / 2), 0]
    floors = [floor]
    if ground.ledge:
        size, place = [20, 20, 0.5], [20 + LEDGE, 0, ground.ledge - 0.5]
        floors.append(spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=size, pos=place, name="ledge"))
    for each in floors:
        each.contype, each.conaffinity, each.condim, each.priority = 1, 0, 3, 1
        each.friction, each.solref = [ground.friction, 0, 0], [ground.softness, 1]
    bodies = {body.name: body for body in spec.bodies}
    for name in (*feet, *sensors):
        frame = robot.frame(name)
        body = bodies[robot.body_names[frame.body]]
        if name not in bodies:
            body.add_site(name=name, pos=frame.position, quat=np.roll(quaternion_of(frame.rotation), 1))
        for k, place in enumerate(sole if name in feet else ()):
            foot = body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0])
            foot.pos, foot.mass, foot.contype, foot.conaffinity = frame.position + frame.rotation @ place, 0.0, 0, 1
            foot.name = name if len(sole) == 1 else f"{name}_{k}"
    for name, drive in robot.drives.items():
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=drive.kp, kv=drive.kd)
        assert drive.limit is not None  # of `with_servos`, or stated
        servo.forcelimited, servo.forcerange = True, [-drive.limit, drive.limit]
    spec.option.timestep, spec.option.cone = STEP, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator, spec.option.impratio = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 20
    return spec


def compiled(robot: Robot, feet, sensors, ground: SimulatedGround, radius: float, truth: Truth, **options):
    """The MjModel of a robot as it is. robot: as `truth.robot` makes it; others as of `on_ground`."""
    import mujoco

    stated = {key: value for key in ("friction", "softness") if (value := getattr(truth, key)) is not None}
    own = replace(ground, ledge=truth.ledge, **stated)
    m = on_ground(robot, feet, sensors, own, radius, **options).compile()
    m.opt.timestep, m.opt.tolerance, m.opt.jacobian = truth.step, 1e-13, mujoco.mjtJacobian.mjJAC_DENSE
    m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{truth.integrator.upper()}")
    m.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if truth.cone == "elliptic" else mujoco.mjtCone.mjCONE_PYRAMIDAL
    return m
