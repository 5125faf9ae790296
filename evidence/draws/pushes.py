"""Arms in MuJoCo that something touches: motion, joint torques, and what the touch asks of the joints.

Nothing of the library computes the motion: MuJoCo's equations, a force of `xfrc_applied` on a point of a body, friction
of a shape that no model of the library has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

import steelyard as sy

STEP, RATE = 0.0005, 1000.0  # s, Hz
SLOW, STANDSTILL = 0.25, 0.04  # rad/s of Stribeck friction, of its sign
STIFF, DAMPED = 100.0, 20.0  # 1/s^2, 1/s of the controller, times the inertia that each joint moves

Course = Callable[[float], tuple]  # q, v and a at a time
Motors = Callable[[float, mujoco.MjData, np.ndarray], np.ndarray]  # torques (nv,) at a time, state and mass matrix


@dataclass(frozen=True)
class Push:
    """A force (3,) N in world axes on a point (3,) m of a body, in its frame, from begin to end, s."""

    body: str
    point: np.ndarray
    force: np.ndarray
    begin: float
    end: float


@dataclass(frozen=True)
class Friction:
    """Stribeck friction that grows with load. viscous, N m s/rad, coulomb and breakaway beside it, N m: (nv,) each;
    load: N m of friction per N m that the joint bears; standstill: rad/s, half-width of its sign."""

    viscous: np.ndarray
    coulomb: np.ndarray
    breakaway: np.ndarray
    load: float
    standstill: float = STANDSTILL

    def torque(self, v, borne) -> np.ndarray:
        """(nv,) N m at velocities (nv,) rad/s, with joints that bear (nv,) N m."""
        level = self.coulomb + self.load * np.abs(borne) + self.breakaway * np.exp(-((v / SLOW) ** 2))
        return self.viscous * v + level * np.tanh(v / self.standstill)


def moved(
    robot: sy.Robot, *, seed: int, duration: float, friction: Friction, pushes: Sequence[Push] = (), amplitude=0.9
) -> tuple[sy.Log, np.ndarray]:
    """A motion of sines under a controller that yields to pushes: the exact log at 1 kHz with q, v and tau of the
    motors, and (n, nv) torque of the pushes."""
    rng = np.random.default_rng(seed)
    speed, phase = rng.uniform(0.6, 2.2, robot.nv), rng.uniform(0, 2 * np.pi, robot.nv)
    middle = np.where(np.isfinite(robot.lower), (robot.lower + robot.upper) / 2, 0.0)

    def course(t):
        angle = speed * t + phase
        return middle + amplitude * np.sin(angle), amplitude * speed * np.cos(angle), 0.0

    log, outside = driven(robot, tracking(course), course(0.0), duration=duration, friction=friction, pushes=pushes)
    return log.replace(a=None, name=f"{robot.name}_{seed}"), outside


def tracking(course: Course, stiff: float = STIFF, damped: float = DAMPED) -> Motors:
    """Computed torque of a model without friction."""

    def motors(t, data, mass):
        q, v, a = course(t)
        return (
            mass @ (a + np.zeros(len(mass)))
            + np.diag(mass) * (stiff * (q - data.qpos) + damped * (v - data.qvel))
            + data.qfrc_bias
        )

    return motors


def driven(
    robot: sy.Robot,
    motors: Motors,
    start,
    *,
    duration: float,
    friction: Friction,
    pushes: Sequence[Push] = (),
    step: float = STEP,
) -> tuple[sy.Log, np.ndarray]:
    """What motors make of a robot: the exact log at 1 kHz with q, v, a and tau of the motors, and (n, nv) torque of the
    pushes. start: q and v first. step: s."""
    model, nv = _compiled(robot), robot.nv
    model.opt.timestep = step
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start[:2]
    rows = {name: [] for name in ("t", "q", "v", "a", "tau", "outside")}
    mass, every = np.zeros((nv, nv)), round(1 / (RATE * step))
    for k in range(round(duration / step)):
        t = k * step
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fullM(model, data, mass)
        torque = motors(t, data, mass)
        data.xfrc_applied[:] = 0
        outside = sum((_applied(model, data, push) for push in pushes if push.begin <= t < push.end), np.zeros(nv))
        data.qfrc_applied[:] = torque - friction.torque(data.qvel, data.qfrc_bias)
        state = ("t", t), ("q", data.qpos.copy()), ("v", data.qvel.copy()), ("tau", torque), ("outside", outside)
        mujoco.mj_step(model, data)
        if k % every == 0:
            for name, x in (*state, ("a", data.qacc.copy())):
                rows[name].append(x)
    found = {name: np.array(x) for name, x in rows.items()}
    outside = found.pop("outside")
    return sy.Log(**found, joint_names=robot.joint_names, name=robot.name), outside


def _compiled(robot: sy.Robot) -> mujoco.MjModel:
    """The bodies of a robot in MuJoCo, without friction, stops and contacts of their shapes."""
    from steelyard.model import mjcf_text

    still = np.zeros(robot.nv)
    model = mujoco.MjModel.from_xml_string(mjcf_text(robot.with_joint_properties(damping=still, frictionloss=still)))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


def _applied(model, data, push: Push) -> np.ndarray:
    """Joint torques (nv,) of a push, which is applied."""
    body, J = model.body(push.body).id, np.empty((3, model.nv))
    place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ push.point
    mujoco.mj_jac(model, data, J, None, place, body)
    data.xfrc_applied[body, :3] += push.force
    data.xfrc_applied[body, 3:] += np.cross(place - data.xipos[body], push.force)
    return J.T @ push.force
