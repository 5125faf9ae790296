"""A humanoid (Unitree G1, 29 joints) that steps in place, or ahead, and swings waist and arms, in MuJoCo.

Steps follow the linear inverted pendulum: the divergent component of motion (centre of mass plus speed over natural
frequency) is led along the path that steps of equal length make, the centre of pressure in the foot and the place where
the next foot lands correct it (Englsberger et al. 2015). Joints are position servos; their goals come from inverse
kinematics, shifted by the torque that the forces at the feet take.
"""

from dataclasses import replace

import mujoco
import numpy as np

import steelyard as sy
from robots import urdf
from steelyard.model.drive import Drive
from steelyard.simulate import Truth, WalkNoise
from steelyard.simulate.motion import recorded, simulated
from steelyard.simulate.truth import SAMPLE, SimulatedGround, compiled, on_ground
from steelyard.simulate.walking import Walk

FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
SENSORS = ("imu_in_pelvis",)
SOLE = ((-0.05, 0.025, -0.03), (-0.05, -0.025, -0.03), (0.12, 0.03, -0.03), (0.12, -0.03, -0.03))  # m, of the URDF
BALL, DEPTH = 5e-3, 0.035  # m, radius of the balls under a foot, and from its frame to the ground
GAINS = {  # N m/rad, N m s/rad, kg m^2 by part of the joints' names
    "hip": (500.0, 10.0, 0.02),
    "knee": (500.0, 10.0, 0.02),
    "ankle": (300.0, 5.0, 0.01),
    "waist": (400.0, 8.0, 0.01),
    "shoulder": (60.0, 2.0, 0.005),
    "elbow": (60.0, 2.0, 0.005),
    "wrist": (20.0, 0.8, 0.002),
}
GAIN = 2.0  # 1/s, of errors of the divergent component
ASIDE, LIFT, HEIGHT = 0.105, 0.035, 0.70  # m: of a foot from the middle; of a swing; of the pelvis above the ground
CENTRE = 0.02  # m ahead of a foot's frame, where its pressure is to be


def humanoid() -> sy.Robot:
    """The robot with a position servo a joint."""
    robot = sy.load(urdf("g1_29dof_rev_1_0"), floating=True)
    names = [robot.dof_names[dof] for dof in robot.driven_dofs]
    rows = [next(value for part, value in GAINS.items() if part in name) for name in names]
    limits = robot.effort_limits[6:]
    drives = {
        name: Drive("position", kp=kp, kd=kd, limit=float(limit))
        for name, (kp, kd, _), limit in zip(names, rows, limits, strict=True)
    }
    armature = np.r_[np.zeros(6), [row[2] for row in rows]]
    return replace(robot.with_joint_properties(armature=armature), drives=drives)


def march(
    *,
    duration: float = 20.0,
    step: float = 0.5,
    ahead: float = 0.0,
    seed: int = 0,
    noise: WalkNoise | None = None,
    truth: Truth | None = None,
) -> Walk:
    """A humanoid marches.

    Args:
        duration: s.
        step: s of a step.
        ahead: m of a step.
        seed: of the noise, and of the swing of waist and arms.
        noise: of the sensors; None: `WalkNoise()`.
        truth: how the robot differs from its model.

    Returns:
        The Walk.
    """
    given, truth, rng = humanoid(), truth or Truth(), np.random.default_rng(seed)
    true, floor = truth.robot(given), SimulatedGround(0.8, 0.02)
    m = compiled(true, FEET, SENSORS, floor, BALL, truth, sole=SOLE)
    model = on_ground(given, FEET, SENSORS, floor, BALL, SOLE)
    pattern = March(model.compile(), step, ahead, rng)
    feet = {foot: (m.body(foot).id, true.frame(foot)) for foot in FEET}
    motion = simulated(m, pattern.start, pattern, duration, feet, truth, holds=True)
    t = SAMPLE * np.arange(len(motion.q), dtype=np.float64)
    columns = {name: getattr(motion, name) for name in ("q", "v", "a", "tau")}
    exact = sy.Log(t=t, **columns, external=motion.wrenches, joint_names=true.dof_names, name="march, exact")
    log, forces = recorded(given, SENSORS, exact, motion, noise or WalkNoise(), rng, hidden=True)
    return Walk(true, given, log, exact, forces, model.to_xml())


class March:
    """Goals (29,) at a time, for what the robot does."""

    def __init__(self, m, step: float, ahead: float, rng):
        self.m, self.d, self.step, self.ahead = m, mujoco.MjData(m), step, ahead
        self.bodies = [m.body(foot).id for foot in FEET]
        self.kp, self.kd = m.actuator_gainprm[:, 0], -m.actuator_biasprm[:, 2]
        self.swing = rng.uniform(0.3, 0.8, (2, 17)), rng.uniform(0, 6, (2, 17))
        self.feet = np.array([[0.0, ASIDE, 0.0], [0.0, -ASIDE, 0.0]])  # x, y on the ground, and height
        self.rest = np.zeros(29)
        self.rest[[0, 3, 4, 6, 9, 10]] = [-0.35, 0.7, -0.35] * 2
        self.rest[[15, 16, 18, 22, 23, 25]] = [0.2, 0.25, 0.9, 0.2, -0.25, 0.9]
        self.d.qpos[:] = np.r_[0, 0, HEIGHT, 1, 0, 0, 0, self.rest]
        self._solve(np.zeros(2))
        self._solve(np.array([CENTRE, 0.0]) - self.d.subtree_com[0][:2])
        self.com = self.d.subtree_com[0][:2].copy()
        self.w = np.sqrt(9.81 / self.d.subtree_com[0][2])  # rad/s, of the pendulum
        self.begun, self.stance = -1.0, 1
        self.anchor, self.turned = (np.zeros(2), np.zeros(2)), 0.0
        self.start, self.last = self.d.qpos.copy(), self.d.qpos[7:].copy()

    def _solve(self, pelvis) -> None:
        """Joints of the legs for feet at their places, by three steps of Newton's method."""
        m, d = self.m, self.d
        d.qpos[:3] = [*pelvis, HEIGHT]
        jac = np.zeros((12, m.nv))
        for _ in range(3):
            mujoco.mj_kinematics(m, d)
            mujoco.mj_comPos(m, d)
            error = np.zeros(12)
            for k, body in enumerate(self.bodies):
                mujoco.mj_jacBody(m, d, jac[6 * k : 6 * k + 3], jac[6 * k + 3 : 6 * k + 6], body)
                error[6 * k : 6 * k + 3] = self.feet[k] + [0, 0, DEPTH] - d.xpos[body]
                turn = np.zeros(3)
                mujoco.mju_quat2Vel(turn, d.xquat[body], 1.0)
                error[6 * k + 3 : 6 * k + 6] = -turn
            J = jac[:, 6:18]
            d.qpos[7:19] += J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(12), error)

    def __call__(self, time: float, d) -> np.ndarray:
        w, T = self.w, self.step
        if time >= 0 and (self.begun < 0 or time - self.begun >= T - 1e-9):
            self._begin(time, d)
        dcm = self._seen(d)
        upper = self.rest[12:] + self._upper(max(time, 0))
        share, pull = 1.0, 1 + GAIN / w
        if time < 0:  # over to where the first step begins
            s = np.clip((time + 0.9) / 0.85, 0, 1)
            far = ASIDE - 2 * ASIDE / (1 + np.exp(w * T))
            self.reference = np.array([CENTRE, far * (3 - 2 * s) * s**2])
            aim, share = self.reference - [0, far * 6 * s * (1 - s) / 0.85 / w], 0.5
        else:
            phase = (time - self.begun) / T
            self.reference = self.foot + self.off * np.exp(w * T * phase)
            moving = 1 - self.stance
            astray = (dcm - self.reference) * np.exp(0.5 * w * T * (1 - phase))
            if phase < 0.85:  # the next foot lands as planned, and as far aside as the motion will have gone astray
                goal = self.next + np.clip(astray, -0.1, 0.1)
                side = 1.0 if moving == 0 else -1.0
                goal[1] = self.foot[1] + side * max(side * (goal[1] - self.foot[1]), 0.14)
                self.landing += 0.06 * (goal - self.landing)
            s = np.clip((phase - 0.12) / 0.83, 0, 1)
            ease = s - np.sin(2 * np.pi * s) / (2 * np.pi)
            self.feet[moving, :2] = self.from_ + ease * (self.landing - [CENTRE, 0] - self.from_)
            self.feet[moving, 2] = LIFT * np.sin(np.pi * s) ** 2
            aim, share = self.foot, np.clip(0.5 + 0.5 * phase / 0.1, 0, 1)
        pressure = aim + pull * (dcm - self.reference)
        left = np.clip((pressure[1] - self.feet[1, 1]) / (self.feet[0, 1] - self.feet[1, 1]), 0, 1)
        own = np.array([left, 1 - left])
        load = 2 * (1 - share) * own + (2 * share - 1) * np.eye(2)[self.stance]
        self.com = self.com + SAMPLE * w * (self.reference - self.com)
        offset = self.d.subtree_com[0][:2] - self.d.qpos[:2]
        self.d.qpos[19:] = upper
        self._solve(self.com - offset)
        return self._goals(load, pressure)

    def _begin(self, time, d) -> None:
        """A step begins: where the foot that stands is, the next is to land, and how the motion leaves it."""
        self.begun, self.stance = time, 1 - self.stance
        w, T, side = self.w, self.step, (1.0 if self.stance == 0 else -1.0)
        self.feet[self.stance, 2] = 0
        self.anchor = d.xpos[self.bodies[self.stance]][:2].copy(), self.feet[self.stance, :2].copy()
        R = d.xmat[self.bodies[self.stance]]
        self.turned = np.arctan2(R[3], R[0])
        self.foot = self.feet[self.stance, :2] + [CENTRE, 0]
        self.from_ = self.feet[1 - self.stance, :2].copy()
        self.next = self.foot + np.array([self.ahead, -side * 2 * ASIDE])
        self.landing = self.next.copy()
        grown = np.exp(w * T)
        self.off = np.array([self.ahead / (grown - 1), -side * 2 * ASIDE / (1 + grown)])

    def _seen(self, d) -> np.ndarray:
        """Divergent component (2,), where the foot that stands is where it was planned."""
        jac = np.zeros((3, self.m.nv))
        mujoco.mj_jacSubtreeCom(self.m, d, jac, 1)
        is_, planned = self.anchor
        c, s = np.cos(self.turned), np.sin(self.turned)
        back = np.array([[c, s], [-s, c]])
        centre = planned + back @ (d.subtree_com[0][:2] - is_)
        return centre + back @ (jac @ d.qvel)[:2] / self.w

    def _upper(self, time: float) -> np.ndarray:
        size = np.r_[0.12, 0.03, 0.04, np.tile([0.25, 0.1, 0.15, 0.3, 0.4, 0.3, 0.3], 2)]
        rate, phase = self.swing
        ramp = min(time / 2, 1)
        return ramp * size * np.sum([0.6, 0.4] * np.sin(2 * np.pi * rate * time + phase).T, axis=1)

    def _goals(self, load, pressure) -> np.ndarray:
        """Angles, and what torque of weight and of forces at the feet takes of the servos."""
        m, d = self.m, self.d
        d.qvel[:] = 0
        mujoco.mj_forward(m, d)
        torque = d.qfrc_bias.copy()
        weight = 9.81 * m.body_subtreemass[0]
        jac = np.zeros((3, m.nv))
        for k, body in enumerate(self.bodies):
            at = self.feet[k] + [CENTRE, 0, 0]
            inside = np.clip(pressure - at[:2], [-0.06, -0.022], [0.08, 0.022])
            mujoco.mj_jac(m, d, jac, None, np.array([*(at[:2] + inside), self.feet[k, 2]]), body)
            torque -= jac.T @ [0, 0, weight * load[k]]
        speed = (d.qpos[7:] - self.last) / SAMPLE
        self.last = d.qpos[7:].copy()
        return d.qpos[7:] + (torque[6:] + self.kd * speed) / self.kp
