"""Designed motions beside random ones and hand-made sinusoids: arms, a quadruped on a stand, a humanoid's upper body.

Each motion of 10 s is driven in MuJoCo and looked at there at 1 kHz: share of the time in which a joint limit of the
model is exceeded, and in which hulls of bodies are in each other. The log, with white torque noise that counts like
100 samples a second of 1 % of each effort limit, is differentiated (10 Hz) and identified by least squares, and with a
prior whose masses are 30 % wrong. Base error: of the base parameters in units of what the prior leaves open, median for
least squares (what is not shown has no finite error) and RMS for the fit with the prior. Torque error: of that fit, on
another, random and noise-free motion. Random motions are Fourier series of the same form, sinusoids have one frequency
a joint from 0.1 to 0.5 Hz; both use 95 % of the tightest limit of each joint's position, speed and acceleration; "safe"
ones have their excursion reduced until no hulls meet. Means over seeds. Some minutes a robot.
"""

import time
from dataclasses import replace

import numpy as np

import steelyard as sy
from robots import urdf
from steelyard.excite import Limits
from steelyard.excite.collisions import scene_of
from steelyard.excite.design_goal import goal_of
from steelyard.excite.limits import bounds_of, random_states
from steelyard.excite.measured_rows import regression_of
from steelyard.excite.motion_curves import Fourier
from steelyard.fit.prior import model_parameters
from steelyard.information import accumulate
from steelyard.motion_options import Aim
from steelyard.simulate import PERFECT, record
from steelyard.simulate.trajectories import Trajectory

UPPER = ("waist_*", "*shoulder*", "*elbow*", "*wrist*", "*hand*")
ROBOTS = {  # model, joints that move
    "Panda, 7 joints": ("panda", ("panda_joint*",)),
    "UR10, 6 joints": ("ur10_robot", ("*",)),
    "Go2 on a stand, 12 joints": ("go2", ("*",)),
    "G1 upper body, 31 joints": ("g1_29dof_with_hand_rev_1_0", UPPER),
}
DURATION, RATE, CUTOFF, SEEDS = 10.0, 1000.0, 10.0, (0, 1)
NOISE_SHARE, WRONG = 0.01, 1.3  # of effort limits; factor of the prior's inertial parameters
SLACK = 1e-3  # of a limit: what tracking in the simulation is off


class Bench:
    """One robot with friction, its limits without margins, and its judge: a motion that none of the logs holds."""

    def __init__(self, robot, moved):
        effort = np.where(np.isfinite(robot.effort_limits), robot.effort_limits, 10.0)
        robot = robot.with_joint_properties(damping=0.003 * effort, frictionloss=0.01 * effort)
        self.robot, self.noise, self.moved = robot, NOISE_SHARE * effort, moved
        self.bounds = bounds_of(robot, Limits(margin=0.0), moved=moved)
        probe = random_states(robot, self.bounds)
        self.scene = scene_of(robot, probe[0].T, clearance=0.0, moving=~self.bounds.locked)
        self.goal = goal_of(robot, probe, Aim(noise=self.noise))
        self.judge = record(robot, self.random(99), sensors=PERFECT).truth

    def designed(self, seed: int) -> Trajectory:
        return sy.excite.design(self.robot, DURATION, moved=self.moved, noise=self.noise, seed=seed)

    def random(self, seed: int) -> Trajectory:
        """A Fourier series within each joint's limits."""
        curve = Fourier(DURATION, 5, 2)
        bounds, t = self.bounds, np.linspace(0, DURATION, 1000)
        start = curve.start(np.random.default_rng([seed, 3]), bounds.half)
        peaks = np.abs(curve.values(t) @ start).max(axis=1)
        limits = (bounds.half, bounds.velocity, bounds.acceleration)
        share = np.max([peak / limit for peak, limit in zip(peaks, limits, strict=False)], axis=0)
        start = np.where(bounds.locked, 0.0, 0.95 * start / share)

        def evaluate(t):
            x, v, a, _ = curve.values(np.asarray(t, dtype=float)) @ start
            return bounds.positions((bounds.middle + x).T).T, v, a

        return Trajectory(evaluate, DURATION)

    def sinusoids(self, seed: int) -> Trajectory:
        """One frequency a joint, from rest at one end of its swing."""
        bounds = self.bounds
        rate = 2 * np.pi * np.random.default_rng([seed, 4]).permutation(np.linspace(0.1, 0.5, self.robot.nv))
        size = 0.95 * np.min([bounds.half, bounds.velocity / rate, bounds.acceleration / rate**2], axis=0)
        size[bounds.locked] = 0.0

        def evaluate(t):
            angle = np.outer(t, rate)
            x, v, a = size * np.cos(angle), -size * rate * np.sin(angle), -size * rate**2 * np.cos(angle)
            return bounds.positions((bounds.middle + x).T).T, v, a

        return Trajectory(evaluate, DURATION)

    def safe(self, motion: Trajectory) -> Trajectory:
        """The motion around its middle, reduced until no hulls meet."""
        t = np.arange(0, DURATION, 0.01)
        middle = self.bounds.positions(self.bounds.middle[:, None]).T
        for share in 0.9 ** np.arange(30):

            def evaluate(t, share=share):
                q, v, a = motion.evaluate(t)
                return middle + share * (q - middle), share * v, share * a

            if not len(self.scene.contacts(evaluate(t)[0]).sample):
                return Trajectory(evaluate, DURATION)
        return motion

    def measured(self, motion: Trajectory, seed: int) -> dict[str, float]:
        """What the simulation shows of a motion, and how well the robot is identified from it."""
        truth = record(self.robot, motion, sensors=PERFECT).truth
        rows = regression_of(self.robot, self.goal.layout, self.goal.basis, self.goal.coulomb_width)
        gram = rows.at(truth.q.T, truth.v.T, truth.a.T).gram(np.sqrt(self.goal.rate / RATE) / self.noise)
        white = self.noise * np.sqrt(RATE / self.goal.rate)
        noisy = np.random.default_rng([seed, 5]).normal(size=truth.tau.shape) * white
        log = sy.filters.differentiate(replace(truth, tau=truth.tau + noisy, v=None, a=None), cutoff=CUTOFF)
        info = accumulate(self.robot, log)
        prior = self.robot.with_inertias(WRONG * self.robot.inertias)
        estimate = sy.fit.consistent(info, prior=prior)
        return {
            "limits %": 100 * self.beyond(truth),
            "collisions %": 100 * len(np.unique(self.scene.contacts(truth.q).sample)) / len(truth),
            "condition": self.goal.condition(gram),
            "log-det": self.goal.cost(gram)[0],
            "base error, least squares": float(np.median(np.abs(self.base_errors(sy.fit.least_squares(info))))),
            "base error, prior": float(np.sqrt(np.mean(self.base_errors(estimate) ** 2))),
            "torque error %": 100 * sy.validate(estimate, self.judge).relative_error,
        }

    def beyond(self, truth) -> float:
        """Share of the samples in which a moving joint is beyond a limit."""
        bounds = self.bounds
        own = bounds.moving
        x = truth.q[:, bounds.scalar]
        used = [np.abs(x - bounds.middle) / bounds.half]
        used += [np.abs(each) / limit for each, limit in ((truth.v, bounds.velocity), (truth.tau, bounds.effort))]
        return float(np.mean((np.stack(used)[..., own] > 1 + SLACK).any(axis=(0, 2))))

    def base_errors(self, estimate) -> np.ndarray:
        """(r,) errors of the base parameters in deviations of the prior."""
        goal = self.goal
        off = goal.basis.regroup(estimate.parameters) - goal.basis.regroup(model_parameters(self.robot, goal.layout))
        return off / np.sqrt(np.diag(goal.covariance(np.zeros((goal.basis.count,) * 2))))


def compare(bench: Bench, seeds=SEEDS) -> dict[str, dict[str, float]]:
    """Means over seeds for each kind of motion; for designs the seconds of processor time, too."""
    found = {}
    for kind in ("designed", "random", "random, safe", "sinusoids", "sinusoids, safe"):
        each = []
        for seed in seeds:
            start = time.process_time()
            motion = getattr(bench, kind.removesuffix(", safe"))(seed)
            took = time.process_time() - start
            motion = bench.safe(motion) if kind.endswith("safe") else motion
            each.append(bench.measured(motion, seed) | {"design s": took})
        found[kind] = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    return found


def run():
    """A row for each robot and kind of motion."""
    rows = {}
    for name, (stem, moved) in ROBOTS.items():
        robot = sy.load(urdf(stem), floating=False)
        for kind, values in compare(Bench(robot, moved)).items():
            rows[f"{name}: {kind}"] = values
    return rows
