"""Fleets of a PUMA 560 that wear and change their load: changes found at the right robot, week and place, and how often
a fleet in which nothing changes has an alarm, at a stated probability of 5 %.

Runs are simulated as evidence, estimates with the precision of real motions (20 s, torque noise 2 % of each joint's
torque): 10 robots, 6 weekly runs. Robots differ by 3 % in masses and friction, runs of one robot by 0, 1 or 3 % in
friction, as by temperature. In the other fleets joint 2 of robot 3 has 15 % more friction from week 3 on, robot 5 a
load of 0.3 kg from week 4 on, and the viscous friction of joint 3 of robot 7 grows by 5 % a week.
"""

import numpy as np

import steelyard as sy
from steelyard.fit import weigh_by_noise
from steelyard.fit.prior import model_parameters
from steelyard.fleet.changes import alarms, run_spread
from steelyard.fleet.evidence import Evidence, causes_of
from steelyard.information import accumulate

ROBOTS, WEEKS, MOTIONS = 10, 6, 6
LEVEL = 0.05
INJECTED = {(3, 3, "friction", 1), (5, 4, "load", 5), (7, 1, "friction", 2)}  # robot, week, what, where


def precisions(robot) -> tuple[sy.Information, list[np.ndarray]]:
    """Precisions (r, r) of base parameters that runs of various motions give."""
    found = []
    for seed in range(MOTIONS):
        t = np.arange(0, 20, 0.02)
        q, v, a = sy.simulate.rich_motion(robot, duration=20.0, seed=seed).evaluate(t)
        tau = sy.inverse_dynamics(robot, q, v, a)
        rng = np.random.default_rng(seed)
        tau = tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
        info = accumulate(robot, sy.Log(t=t, q=q, v=v, a=a, tau=tau), armature=True)
        found.append(weigh_by_noise(info)[0].G)
    return info, found


def fleet(info, P, seed: int, weather: float, changed: bool):
    """Evidences by robot and week."""
    rng = np.random.default_rng(seed)
    layout = info.layout
    nominal = model_parameters(info.robot, layout)
    nominal[layout.term("viscous")], nominal[layout.term("coulomb")] = 1.5, 2.0
    friction = [layout.term("viscous"), layout.term("coulomb")]
    robots = []
    for r in range(ROBOTS):
        own = nominal.copy()
        for i in range(len(layout.bodies)):
            own[layout.body(i)] *= 1 + 0.03 * rng.normal()
        for term in friction:
            own[term] *= 1 + 0.03 * rng.normal(size=layout_width(layout))
        robots.append(
            [observed(info, P, rng, now(own, layout, r, week, weather, changed, rng)) for week in range(WEEKS)]
        )
    return robots


def layout_width(layout) -> int:
    return len(layout.dofs)


def now(own, layout, r: int, week: int, weather: float, changed: bool, rng):
    """Parameters of robot r in one week."""
    x = own.copy()
    warm = 1 + weather * rng.normal(size=layout_width(layout))
    for term in ("viscous", "coulomb"):
        x[layout.term(term)] *= warm
    if changed and r == 3 and week >= 3:
        for term in ("viscous", "coulomb"):
            x[layout.term(term).start + 1] *= 1.15
    if changed and r == 5 and week >= 4:
        x[layout.body(5)] += sy.inertia.from_com_inertia(0.3, np.array([0.0, 0.0, 0.1]), 1e-4 * np.eye(3))
    if changed and r == 7:
        x[layout.term("viscous").start + 2] *= 1 + 0.05 * week
    return x


def observed(info, P, rng, parameters) -> Evidence:
    precision = P[rng.integers(len(P))]
    values, vectors = np.linalg.eigh(precision)
    noise = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(values)))
    return Evidence(precision, precision @ info.basis.regroup(parameters) + noise)


def found_in(robots, causes, size: int):
    spread, pairs = run_spread(robots, size)
    options = {"false_alarm": LEVEL, "robots": ROBOTS, "spread": spread, "pairs": pairs}
    return [alarms(runs, range(WEEKS), causes, **options) for runs in robots]


def run(count: int = 20) -> dict:
    """Shares over `count` fleets of either kind, for each spread of runs."""
    info, P = precisions(sy.library.puma560())
    causes = causes_of(info.layout, info.basis)
    places = {"friction": info.layout.dof_names, "load": info.layout.body_names}
    rows = {}
    for weather in (0.0, 0.01, 0.03):
        quiet = [found_in(fleet(info, P, seed, weather, False), causes, info.basis.count) for seed in range(count)]
        loud = [found_in(fleet(info, P, seed, weather, True), causes, info.basis.count) for seed in range(count)]
        row = {"fleets with a false alarm": f"{sum(any(f) for f in quiet)} of {count}"}
        for r, week, kind, place in sorted(INJECTED):
            name = f"robot {r}, {kind} of {places[kind][place]}"
            hits = [first_hit(f[r], kind, places[kind][place]) for f in loud]
            row[f"{name}: named"] = sum(hit is not None for hit in hits) / count
            row[f"{name}: weeks late, median"] = float(
                np.median([hit - week for hit in hits if hit is not None] or [np.nan])
            )
        others = sum(any(f[r] for r in range(ROBOTS) if r not in (3, 5, 7)) for f in loud)
        row["alarms at other robots"] = f"{others} of {count}"
        rows[f"friction varies by {weather:.0%} between runs"] = row
    return rows


def first_hit(found, kind: str, place: str):
    """Week of the look at which the cause was named, or was a rival of the one named; None if it never was."""
    names = ("friction", "gearbox") if kind == "friction" else (kind,)
    for alarm in found:
        told = (alarm.best.cause, *alarm.rivals)
        if any(cause.kind in names and cause.place == place for cause in told):
            return alarm.seen
    return None
