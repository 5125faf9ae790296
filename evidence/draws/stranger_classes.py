"""What is wrong with strangers' logs, a class each: how it is made, and the findings that name it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evidence.draws import stranger_logs as logs
from evidence.draws import stranger_robots as robots
from evidence.draws.stranger_logs import Job, Motion

Log = dict[str, np.ndarray]


@dataclass(frozen=True)
class Made:
    """A log, what is wrong with it in words, the joints concerned, none where all are, and a second log."""

    log: Log
    what: str = ""
    joints: tuple[str, ...] = ()
    second: Log | None = None

    @property
    def logs(self) -> list[Log]:
        return [self.log] if self.second is None else [self.log, self.second]


@dataclass(frozen=True)
class Class:
    """make: the log of a job. codes: findings that name the cause. healthy: nothing is wrong. true: the file's links
    are the robot's; limbed: robots with equal limbs alone."""

    make: Callable[[Job, np.random.Generator], Made]
    codes: tuple[str, ...] = ()
    healthy: bool = False
    true: bool = False
    limbed: bool = False


CLASSES: dict[str, Class] = {}


def of(name: str, *codes: str, **about):
    """Registers the maker of a class."""

    def kept(make):
        CLASSES[name] = Class(make, codes, **about)
        return make

    return kept


def job_of(kind: Class, base: int) -> Job:
    """The healthy job that a class makes a mistake in."""
    return logs.drawn(base, robot=robots.LIMBED[base % 2] if kind.limbed else "", true=kind.true)


def usual(job: Job, motion: Motion | None = None) -> Log:
    """The healthy log."""
    motion = motion or job.usual
    load = logs.links(job, motion)
    return logs.recorded(job, motion, load + logs.drives(job, motion, load))


@of("healthy", healthy=True)
def healthy(job, rng):
    return Made(usual(job))


@of("healthy, file's links true", healthy=True, true=True)
def healthy_true(job, rng):
    return Made(usual(job))


@of("healthy, pick and place", healthy=True)
def healthy_pick_and_place(job, rng):
    return Made(usual(job, logs.pick_and_place(job, rng)))


@of("healthy, columns without names", healthy=True)
def healthy_unnamed(job, rng):
    return Made(_unnamed(usual(job)))


@of("no gravity in torques", "gravity_compensated")
def no_gravity(job, rng):
    motion = job.usual
    load = logs.links(job, motion)
    still = np.zeros_like(motion.q)
    tau = load + logs.drives(job, motion, load) - robots.torques(job.robot.nominal, motion.q, still, still)
    return Made(logs.recorded(job, motion, tau))


@of("torques in amperes", "motor_current", "torque_unit")
def amperes(job, rng):
    gain = np.where(job.robot.lever > 0.2 * job.robot.lever.max(), 12.5, 9.0) * rng.uniform(0.9, 1.1, job.robot.n)
    log = usual(job)
    return Made(log | {"tau": log["tau"] / gain})


@of("torques in kN m", "torque_unit", "motor_current")
def thousandth(job, rng):
    log = usual(job)
    return Made(log | {"tau": log["tau"] / 1000})


@of("torques ten times", "torque_unit", "motor_current")
def ten_times(job, rng):
    log = usual(job)
    return Made(log | {"tau": log["tau"] * 10})


@of("torques per mille of rated ones", "motor_current", "torque_unit")
def per_mille(job, rng):
    log = usual(job)
    rated = np.abs(log["tau"]).max(axis=0) * rng.uniform(1.2, 3.0, job.robot.n)
    return Made(log | {"tau": np.round(1000 * log["tau"] / rated)})


@of("gain of one joint", "torque_scale")
def gain(job, rng):
    j, factor = _heavy(job, rng), rng.choice([1.25, 0.5, 2.2])
    log = usual(job)
    log["tau"][:, j] *= factor
    return Made(log, f"x{factor:g}", (job.robot.joints[j],))


@of("torque of one joint negated", "torque_sign")
def torque_sign(job, rng):
    return _negated(job, _heavy(job, rng), ("tau",))


@of("position of one joint negated", "position_sign")
def position_sign(job, rng):
    return _negated(job, _heavy(job, rng), ("q", "v"))


@of("one joint turns the other way", "joint_direction")
def direction(job, rng):
    return _negated(job, _heavy(job, rng), ("q", "v", "tau"))


@of("zero of one joint", "position_offset")
def zero(job, rng):
    j, by = _inner(job, rng), rng.uniform(0.05, 0.4) * rng.choice([-1, 1])
    log = usual(job)
    log["q"][:, j] += by
    return Made(log, f"{by:+.2f} rad", (job.robot.joints[j],))


@of("limbs in a vendor's order", "joint_order", limbed=True)
def vendor_order(job, rng):
    """Right before left of each pair."""
    limbs = np.arange(job.robot.n).reshape(-1, 2, 3)
    return _ordered(job, limbs[:, ::-1].ravel())


@of("limbs breadth first", "joint_order", limbed=True)
def breadth_first(job, rng):
    """All hips, all thighs, all calves."""
    return _ordered(job, np.arange(job.robot.n).reshape(-1, 3).T.ravel())


@of("two neighbours exchanged", "joint_order")
def exchanged(job, rng):
    j, order = int(rng.integers(job.robot.n - 1)), np.arange(job.robot.n)
    order[[j, j + 1]] = order[[j + 1, j]]
    return replace(_ordered(job, order), what=f"{job.robot.joints[j]} and the next")


@of("joints in reversed order", "joint_order")
def backwards(job, rng):
    return _ordered(job, np.arange(job.robot.n)[::-1])


@of("one joint in degrees", "degrees", "degrees_suspected")
def degrees(job, rng):
    j, log = int(rng.integers(job.robot.n)), usual(job)
    for key in _motion(log, ("q", "v")):
        log[key][:, j] *= 180 / np.pi
    return Made(log, "", (job.robot.joints[j],))


@of("stretches that repeat", "repeated_sample", "frozen_stretch", "frozen")
def frozen(job, rng):
    log = usual(job)
    for _ in range(rng.integers(2, 5)):
        start, count = int(rng.uniform(0.1, 0.9) * len(log["t"])), int(rng.integers(20, 80))
        for key in _motion(log, ("q", "v", "tau")):
            log[key][start : start + count] = log[key][start]
    return Made(log)


@of("dropouts to zero", "dropout", "dropouts")
def dropouts(job, rng):
    log, key = usual(job), str(rng.choice(["tau", "tau", "q"]))
    gone = rng.uniform(size=len(log["t"])) < rng.choice([0.003, 0.01])
    log[key][gone] = 0.0
    return Made(log, f"{key}, {gone.sum()} samples")


@of("spikes", "spike", "spikes", "outliers")
def spikes(job, rng):
    log, factor = usual(job), float(rng.choice([-3.0, 30.0]))
    hit = rng.uniform(size=log["tau"].shape) < 0.004
    log["tau"][hit] *= factor
    return Made(log, f"x{factor:g}, {hit.sum()} values")


@of("late torques", "delay")
def late(job, rng):
    log, by = usual(job), rng.uniform(0.01, 0.05)
    log["tau"] = np.stack([np.interp(log["t"] - by, log["t"], column) for column in log["tau"].T], axis=1)
    return Made(log, f"{1000 * by:.0f} ms")


@of("clipped torques", "saturation", "record_longer")
def clipped(job, rng):
    log, share = usual(job), rng.uniform(0.4, 0.75)
    j = _heavy(job, rng)
    most = share * np.abs(log["tau"][:, j]).max()
    log["tau"][:, j] = np.clip(log["tau"][:, j], -most, most)
    return Made(log, f"at {share:.0%}", (job.robot.joints[j],))


@of("a payload part of the time", "passing_load", "payload")
def payload(job, rng):
    motion = logs.pick_and_place(job, rng, seconds=20.0) if rng.uniform() < 0.5 else job.usual
    last, mass = job.robot.n, _mass(job, rng)
    carried = robots.loaded(job.robot.true, last, mass, robots.tip(job.robot.true, last) + 0.03)
    begin, end = np.array([rng.uniform(0.15, 0.5), rng.uniform(0.6, 0.95)]) * motion.t[-1]
    held = (motion.t > begin) & (motion.t < end)
    load = np.where(held[:, None], logs.links(job, motion, carried), logs.links(job, motion))
    log = logs.recorded(job, motion, load + logs.drives(job, motion, load))
    return Made(log, f"{mass:.2g} kg from {begin:.1f} to {end:.1f} s")


@of("contact part of the time", "passing_force", "passing_load")
def contact(job, rng):
    import pinocchio as pin

    motion, model = job.usual, job.robot.true
    load, data = logs.links(job, motion), model.createData()
    last, count = job.robot.n, len(motion.t)
    force = 0.3 * job.robot.lever.max() / 0.5 * rng.normal(size=3) / np.sqrt(3)
    begin = int(rng.uniform(0.2, 0.7) * count)
    for k in range(begin, begin + int(0.15 * count)):
        moved = pin.computeJointJacobian(model, data, motion.q[k], last)
        load[k] -= moved[:3].T @ data.oMi[last].rotation.T @ force
    return Made(logs.recorded(job, motion, load + logs.drives(job, motion, load)), f"{np.linalg.norm(force):.2g} N")


@of("robot on a slope or a wall", "gravity_tilt", "gravity")
def tilt(job, rng):
    angle = np.radians(rng.choice([5, 15, 45, 90]))
    true = robots.tilted(job.robot.true, angle, rng.uniform(0, 2 * np.pi))
    load = logs.links(job, job.usual, true)
    log = logs.recorded(job, job.usual, load + logs.drives(job, job.usual, load))
    return Made(log, f"{np.degrees(angle):.0f} degrees")


@of("gravity law while guided by hand", "gravity_law")
def guided(job, rng):
    motion = logs.sines(job, rng, speed=0.6)
    still = np.zeros_like(motion.q)
    log = logs.recorded(replace(job, noise=0.001), motion, robots.torques(job.robot.nominal, motion.q, still, still))
    return Made(log)


@of("torques of the controller's model", "model_torque")
def computed(job, rng):
    log = logs.recorded(replace(job, noise=1e-4), job.usual, logs.links(job, job.usual, job.robot.nominal))
    return Made(log)


@of("friction that grows with load")
def by_load(job, rng):
    return _rubbing(job, job.usual, replace(job.friction, by_load=0.6, coulomb=1.5 * job.friction.coulomb))


@of("Stribeck friction at low speed")
def stribeck(job, rng):
    friction = replace(
        job.friction, more=rng.uniform(0.8, 1.5), slow=rng.uniform(0.05, 0.2), width=0.003, sticking=True
    )
    return _rubbing(job, logs.sines(job, rng, speed=0.5), friction)


@of("slow log")
def slow(job, rng):
    return Made(usual(job, logs.sines(job, rng, speed=0.25, reach=rng.uniform(0.3, 0.7))))


@of("short log")
def short(job, rng):
    motion = logs.sines(job, rng, seconds=rng.uniform(3.0, 6.0))
    return Made(usual(job, motion), f"{motion.t[-1]:.1f} s")


@of("few joints move")
def few_move(job, rng):
    motion = job.usual
    q = motion.q.copy()
    still = rng.permutation(job.robot.n)[: (job.robot.n + 1) // 2]
    q[:, still] = job.robot.home[still]
    v, a = (np.where(q == job.robot.home, 0.0, x) for x in (motion.v, motion.a))
    return Made(usual(job, Motion(motion.t, q, v, a)), f"{job.robot.n - len(still)} of {job.robot.n}")


@of("two logs, a load in one", "payload", "passing_load")
def one_loaded(job, rng):
    mass, last = _mass(job, rng), job.robot.n
    motion = logs.sines(job, rng)
    load = logs.links(job, motion, robots.loaded(job.robot.true, last, mass, robots.tip(job.robot.true, last)))
    return Made(usual(job), f"{mass:.2g} kg", second=logs.recorded(job, motion, load + logs.drives(job, motion, load)))


def _mass(job: Job, rng) -> float:
    """Of a load (kg), a share of the robot's."""
    return rng.uniform(0.05, 0.2) * sum(body.mass for body in job.robot.true.inertias[1:]) / job.robot.limbs


def _rubbing(job: Job, motion: Motion, friction) -> Made:
    load = logs.links(job, motion)
    return Made(logs.recorded(job, motion, load + logs.drives(job, motion, load, friction)))


def _motion(log: Log, keys) -> list[str]:
    return [key for key in keys if key in log]


def _unnamed(log: Log) -> Log:
    return {key: x for key, x in log.items() if key != "joint_names"}


def _ordered(job: Job, order) -> Made:
    """Columns in another order, without names."""
    log = _unnamed(usual(job))
    for key in _motion(log, ("q", "v", "tau")):
        log[key] = log[key][:, order]
    return Made(log)


def _negated(job: Job, j: int, keys) -> Made:
    log = usual(job)
    for key in _motion(log, keys):
        log[key][:, j] *= -1
    return Made(log, "", (job.robot.joints[j],))


def _heavy(job: Job, rng) -> int:
    """A joint that carries something: gravity is at least 3 % of the largest torque."""
    load = logs.links(job, job.usual)
    moves = np.std(load, axis=0)
    return int(rng.choice(np.flatnonzero(moves > 0.03 * moves.max())))


def _inner(job: Job, rng) -> int:
    """A joint whose zero matters: neither the first, that may be vertical, nor the last, whose link turns along."""
    limb = job.robot.n // job.robot.limbs
    return int(rng.integers(job.robot.limbs)) * limb + int(rng.integers(1, limb - 1))
