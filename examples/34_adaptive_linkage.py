"""A five-bar linkage picks up a payload in MuJoCo: adaptation from two motors, without acceleration, in known sets.

    python examples/34_adaptive_linkage.py

All controllers use torques `Y(q, v, vr, ar) theta - Kd (v - vr)` with the regressor of the closed linkage. Known are
the links that carry nothing, and an ellipsoid around the one that takes up the payload. MuJoCo closes the loop by
equality constraints.
"""

import time

import mujoco
import numpy as np

import steelyard as sy
from steelyard.inertia import Ellipsoid
from steelyard.model import mjcf_text
from steelyard.model.bounding import bounding_ellipsoids

PERIOD, SUBSTEPS = 0.004, 8  # s of the controller; steps of MuJoCo in it
PICKED, END, PAYLOAD, CARRIER = 1.0, 3.0, 0.6, "link3"  # s, s, kg, link
PHASES = {"before": (0.3, 1.0), "pick": (1.0, 1.5), "after": (2.0, 3.0)}  # s
RELAXATION, DAMPING = 10.0, 2.0  # 1/s, N m s/rad
RATE, WEIGHT, MEMORY, NOISE = 30.0, 20.0, 75.0, 0.02  # 1/J; W / (N m)^2; samples; N m
MOTORS = [0, 3]  # of the four joints

NOMINAL = sy.library.five_bar()
NOMINAL = NOMINAL.with_joint_properties(damping=0 * NOMINAL.damping, frictionloss=0 * NOMINAL.frictionloss)
SHOWN = bounding_ellipsoids(NOMINAL)[0][CARRIER]
KNOWN = sy.fit.Known(
    within={CARRIER: Ellipsoid(SHOWN.center, SHOWN.Q + 0.06**2 * np.eye(3))},  # m, room for what it may carry
    fixed={name: "all" for name in NOMINAL.body_names if name != CARRIER},
)


def main():
    print(f"{PAYLOAD:g} kg are picked up after {PICKED:g} s. RMS tracking error, mrad; error of predicted torques, %")
    times = ("0.1 s", "0.5 s", "2 s")
    print(f"{'':26}" + "".join(f"{name:>8}" for name in (*PHASES, *times)) + "   step, ms: median, 99 %")
    for name, controller in controllers():
        errors, predicted = tracked(carrying(), controller)
        rms = [1e3 * np.sqrt(np.mean(errors[step(a) : step(b)] ** 2)) for a, b in PHASES.values()]
        left = [100 * predicted[step(PICKED + after) - 1] for after in (0.1, 0.5, 2.0)]
        took = 1e3 * np.percentile(controller.seconds, [50, 99])
        print(f"{name:26}" + "".join(f"{each:8.2f}" for each in (*rms, *left)) + f"   {took[0]:.2f}, {took[1]:.2f}")


def step(now):
    return round(now / PERIOD)


def controllers():
    """Names and fresh controllers."""
    yield "nominal model", Controller()
    yield "natural adaptation", Natural(None)
    yield "natural, in the set", Natural(KNOWN)
    yield "composite", Composite(None)
    yield "composite, in the set", Composite(KNOWN)
    yield "recursive, in the set", Recursive(KNOWN)


def carrying():
    """The linkage with a ball of 3 cm radius at the end of a link."""
    i = NOMINAL.body_names.index(CARRIER)
    theta = NOMINAL.inertias.copy()
    at = 1.5 * theta[i, 1:4] / theta[i, 0] + np.array([0.0, 0.0, 0.02])
    theta[i] += sy.inertia.from_com_inertia(PAYLOAD, at, 0.4 * PAYLOAD * 0.03**2 * np.eye(3))
    return NOMINAL.with_inertias(theta)


def desired(t):
    """q, v, a of the motors, from the drawn pose."""
    size, rate, phase = np.array([0.35, 0.35]), np.array([2.1, 3.3]), np.array([0.0, 1.0])
    x = rate * t + phase
    return size * (np.sin(x) - np.sin(phase)), size * rate * np.cos(x), -size * rate**2 * np.sin(x)


class Controller:
    """Keeps its parameters; seconds: what each step of adaptation took of the processor."""

    def __init__(self):
        self.theta, self.seconds, self.last = NOMINAL.inertias, [], np.zeros(2)

    def torque(self, t, q, v):
        qd, vd, ad = desired(t)
        vr, ar = vd - RELAXATION * (q[MOTORS] - qd), ad - RELAXATION * (v[MOTORS] - vd)
        Y, error = sy.closed_loop.slotine_li_regressor(NOMINAL, q, v, vr, ar), v[MOTORS] - vr
        tau = Y @ self.theta.ravel() - DAMPING * error
        mean = np.zeros(4)
        mean[MOTORS] = (self.last + tau) / 2  # about this sample, of torques that are held until the next
        begun = time.process_time()
        self.learn(t, q, v, mean, Y.T @ error)
        self.seconds.append(time.process_time() - begun)
        self.last = tau
        return tau

    def learn(self, t, q, v, tau, direction):
        """Nothing."""


class Natural(Controller):
    """Goes against the tracking error, in the metric of bodies."""

    def __init__(self, known):
        super().__init__()
        self.projection = None if known is None else sy.fit.Projection(NOMINAL, known)

    def learn(self, t, q, v, tau, direction):
        self.theta = sy.fit.natural_step(self.theta, direction, gain=RATE * PERIOD, projection=self.projection)


class Composite(Controller):
    """Goes against tracking and prediction errors."""

    def __init__(self, known):
        super().__init__()
        told = {} if known is None else {"known": known}
        self.law = sy.fit.CompositeAdaptation(NOMINAL, rate=RATE, weight=WEIGHT, memory=MEMORY, **told)

    def learn(self, t, q, v, tau, direction):
        self.theta = self.law.update(q, v, tau, direction, t=t)


class Recursive(Controller):
    """Identifies from the change of momentum."""

    def __init__(self, known):
        super().__init__()
        self.estimator = sy.fit.RecursiveEstimator(NOMINAL, noise=NOISE, memory=MEMORY, rows="momentum", known=known)

    def learn(self, t, q, v, tau, direction):
        self.theta = self.estimator.update(q, v, None, tau, t=t).theta


def plant(robot):
    """MuJoCo's model: a cut revolute joint is two points that stay together."""
    spec, (loop,) = mujoco.MjSpec.from_string(mjcf_text(robot)), robot.loops
    for along in (0.0, 0.1):
        closure = spec.add_equality(name=f"closure{along}", type=mujoco.mjtEq.mjEQ_CONNECT)
        closure.objtype, (closure.name1, closure.name2) = mujoco.mjtObj.mjOBJ_BODY, loop.bodies
        closure.data[:3] = loop.positions[0] + along * loop.rotations[0][:, 2]
        closure.solref[:], closure.solimp[:3] = (2.02 * PERIOD / SUBSTEPS, 1.0), (0.999, 0.9999, 0.001)
    model = spec.compile()
    model.opt.timestep = PERIOD / SUBSTEPS
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.jnt_actfrclimited[:] = 0
    return model


def tracked(loaded, controller):
    """(n, 2) errors of the motors, and (n,) errors of the torques that the controller predicts of another motion,
    relative to their RMS."""
    empty, full = plant(NOMINAL), plant(loaded)
    data = mujoco.MjData(empty)
    start, speed, rate = desired(0.0)
    data.qpos[:], data.qvel[:], _ = sy.closed_loop.tree_state(NOMINAL, start, speed, rate)
    Y = sy.closed_loop.regressor(
        NOMINAL, *np.random.default_rng(0).normal(size=(3, 50, 2)) * [[[0.2]], [[1.0]], [[3.0]]]
    )
    errors, predicted = [], []
    for k in range(step(END)):
        now = k * PERIOD
        truth, model = (loaded, full) if now >= PICKED else (NOMINAL, empty)
        errors.append(data.qpos[MOTORS] - desired(now)[0])
        data.qfrc_applied[MOTORS] = controller.torque(now, data.qpos.copy(), data.qvel.copy())
        left, torques = Y @ (controller.theta - truth.inertias).ravel(), Y @ truth.inertias.ravel()
        predicted.append(np.sqrt(np.mean(left**2) / np.mean(torques**2)))
        mujoco.mj_step(model, data, nstep=SUBSTEPS)
    return np.array(errors), np.array(predicted)


if __name__ == "__main__":
    main()
