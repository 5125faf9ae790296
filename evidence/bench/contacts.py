"""Contacts of a UR10 in MuJoCo by `fit.ContactDetector` (30 1/s, one false alarm an hour). Its friction has Stribeck's
shape and grows with load, which the identified model has not.

An hour of motions without contact, and pushes of 0.5 s on random places of links but the first. The model is
identified from 60 s, with noise on torques (1 % of each joint's) and velocities (2 mrad/s), as in observed logs; masses
were wrong by up to 30 % before. A push is beyond the band where its torque alone exceeds a threshold.
"""

import numpy as np

import steelyard as sy
from evidence.draws.pushes import Friction, Push, moved
from robots import urdf

FORCES = 10.0, 20.0, 40.0, 80.0  # N
PUSHED, FREE, LASTS, EVERY = 20, 80, 0.5, 3.0  # motions of pushes and without, s of a push, s from push to push
SECONDS = {"identified": 60.0, "free": 45.0, "pushed": 12.5}
FRICTION = Friction(
    viscous=np.array([12.0, 12.0, 8.0, 2.0, 2.0, 2.0]),
    coulomb=np.array([8.0, 8.0, 5.0, 1.5, 1.5, 1.5]),
    breakaway=np.array([2.0, 2.0, 1.5, 0.5, 0.5, 0.5]),
    load=0.03,
)
ARMATURE = np.array([8.0, 8.0, 4.0, 0.6, 0.6, 0.6])  # kg m^2
NOISE_OF_VELOCITY = 0.002  # rad/s
NAMES = sy.load(urdf("ur10_robot")).body_names


def run() -> dict:
    """A row a strength, and one of motions without contact."""
    robot, found, quiet = identified()
    detector = sy.fit.ContactDetector(found, quiet)
    hours, alarms = 0.0, 0
    for seed in range(FREE):
        log, _ = recorded(robot, 1000 + seed, SECONDS["free"])
        alarms += len(detector(log).contacts)
        hours += (log.t[-1] - log.t[0]) / 3600
    rows = {"no contact": {"hours": hours, "false alarms": alarms, "alarms per hour": alarms / hours}}
    for force in FORCES:
        told = [each for seed in range(PUSHED) for each in pushed(robot, detector, seed, force)]
        rows[f"{force:.0f} N"] = row(told)
    return rows


def identified(seconds: float = SECONDS["identified"]):
    """A UR10 with geared joints, its Uncertainty after identification, and the log as recorded."""
    robot = sy.load(urdf("ur10_robot")).with_joint_properties(armature=ARMATURE)
    quiet, _ = recorded(robot, 7, seconds)
    rng = np.random.default_rng(0)
    wrong = robot.inertias * rng.uniform(0.7, 1.3, size=(robot.nb, 1))
    nominal = robot.with_inertias(wrong).with_joint_properties(armature=0.5 * ARMATURE)
    log = sy.filters.differentiate(quiet.replace(v=None), cutoff=8.0)
    blocks = sy.accumulate_blocks(nominal, log, armature=True)
    estimate = sy.fit.consistent(sum(blocks), prior=nominal, within="geometry")
    return robot, sy.fit.uncertainty(estimate, blocks, prior=nominal), quiet


def recorded(robot, seed: int, seconds: float, pushes=()):
    """A log with noise, and torques of the pushes."""
    log, outside = moved(robot, seed=seed, duration=seconds, friction=FRICTION, pushes=pushes)
    rng = np.random.default_rng([seed, 1])
    (v, tau) = log.require("v", "tau")
    level = 0.01 * np.sqrt(np.mean(tau**2, axis=0))
    noisy = tau + level * rng.normal(size=tau.shape)
    return log.replace(v=v + NOISE_OF_VELOCITY * rng.normal(size=v.shape), tau=noisy), outside


def pushed(robot, detector, seed: int, force: float):
    """What becomes of the pushes of a motion: (link pushed, largest torque over its threshold, contact or None, s until
    the alarm)."""
    rng, pushes = np.random.default_rng([seed, 2]), []
    for begin in np.arange(1.5, SECONDS["pushed"] - 1.0, EVERY):
        direction = rng.normal(size=3)
        link = robot.body_names[rng.integers(1, robot.nb)]
        place = rng.uniform(-0.1, 0.1, size=3) + _middle(robot, link)
        pushes.append(Push(link, place, force * direction / np.linalg.norm(direction), begin, begin + LASTS))
    log, outside = recorded(robot, 2000 + seed, SECONDS["pushed"], pushes)
    found = detector(log)
    for push in pushes:
        at = (log.t >= push.begin) & (log.t < push.end)
        ratio = float((np.abs(outside[at]) / found.threshold[at]).max())
        hits = [each for each in found.contacts if each.begin < push.end + 0.1 and each.end > push.begin]
        first = min((each.begin for each in hits), default=np.nan)
        yield push.body, ratio, hits[0] if hits else None, max(0.0, first - push.begin)


def _middle(robot, link: str) -> np.ndarray:
    """Centre of mass of a link, near which its surface is."""
    theta = robot.inertias[robot.body_index(link)]
    return theta[1:4] / theta[0]


def row(told) -> dict:
    """Rates in per cent and delays in ms. A link is behind the one pushed where joints between them show nothing."""
    hit = [each for each in told if each[2] is not None]
    within = [each for each in told if each[1] > 1]
    delays = 1000 * np.array([each[3] for each in hit] or [np.nan])
    places = [NAMES.index(each[2].links[-1]) - NAMES.index(each[0]) for each in hit]
    return {
        "pushes": len(told),
        "beyond the band, %": 100 * len(within) / len(told),
        "found of these, %": 100 * float(np.mean([each[2] is not None for each in within] or [np.nan])),
        "found of all, %": 100 * len(hit) / len(told),
        "delay, median, ms": float(np.median(delays)),
        "delay, 90 %, ms": float(np.quantile(delays, 0.9)),
        "link named, %": 100 * float(np.mean([k == 0 for k in places] or [np.nan])),
        "one before it, %": 100 * float(np.mean([k < 0 for k in places] or [np.nan])),
        "one beyond it, %": 100 * float(np.mean([k > 0 for k in places] or [np.nan])),
    }
