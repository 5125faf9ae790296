"""Payload identification on the simulated experiment of Nadeau, Giamou and Kelly (2022), and how long it takes.

`python -m evidence.bench.payload` repeats the whole experiment (eight layouts, five speeds, four noise levels) and
stores it in `payload.json`, from which `examples/30_payload_figures.py` redraws Figures 4 to 8. `run` prints its
Tables III and IV and measures times afresh. In Figures 5 to 7 the noise of Table II is added to exact accelerations. In
the tables methods of the paper take the motion from its causal Kalman filter; our default takes it from the smoother,
as it would offline ("density"), and from the same filter ("density, causal").
"""

import json
import time
from pathlib import Path
from statistics import median

import numpy as np

STORED = Path(__file__).with_suffix(".json")
TABLE_SPEEDS = (1.0, 1.5, 2.0)
SPEEDS = (1.0, 1.5, 2.0, 3.0, 4.0)
TIMES = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)  # s
LEVELS = ("none", "low", "moderate", "high")
METHODS = ("ols", "rtls", "geo", "pmd", "density")
TABLE = (*METHODS, "geo, raw", "density, causal")  # and GEO in SI units with a light prior, as it seems published
RAW = {"noise": (1.0, 1.0), "weight": 1e-6}
C1 = (100.0, 300.0, 1000.0, 3000.0, 10000.0)
DENSITIES = (0.005, 0.01, 0.02, 0.04, 0.09, 0.18, 0.36)  # points per cm^3
COUNTS = (56, 130, 300, 700, 1500, 3000, 10000)
SAMPLES = (50, 150, 500, 1500)
PUBLISHED = {  # Table III: mass, centre of mass, inertia error [%] at 1.0, 1.5, 2.0 rad/s; 500 stands for "over 500"
    "ols": ((1.36, 34.4, 500), (2.88, 44.0, 500), (3.22, 36.1, 500)),
    "rtls": ((1.84, 97.5, 500), (1.77, 37.7, 500), (2.41, 38.2, 500)),
    "geo": ((1.45, 33.0, 500), (2.65, 33.1, 252), (4.09, 32.6, 109)),
    "pmd": ((1.34, 9.83, 44.1), (2.15, 15.5, 43.5), (1.91, 16.4, 43.6)),
}
ROBOT_SPEED, TEE, PREDICTED = 1.1, "tee", (10.0, 16.0)  # rad/s of Table IV; layout of Figure 8, and its span, s
ROBOT_METHODS = {  # Table IV: PMD with two values of c1
    "ols": {},
    "rtls": {},
    "geo": {},
    "pmd, c1 = 5,000": {"c1": 5e3},
    "pmd, c1 = 25,000": {"c1": 25e3},
}
PUBLISHED_ROBOT = {  # measured on an xArm 7, of another motion; 500 stands for "over 500"
    "ols": (3.18, 24.9, 500),
    "rtls": (11.7, 500, 500),
    "geo": (3.75, 30.3, 500),
    "pmd, c1 = 5,000": (4.51, 8.12, 36.75),
    "pmd, c1 = 25,000": (4.45, 4.50, 29.11),
}
PUBLISHED_CONDITION = (147.0, 68.4, 58.0)  # at 1.0, 1.5, 2.0 rad/s
OBSERVED = 150  # samples of the tables
REPEATS = 30


def run() -> dict:
    """Rows of Table III (stored experiment), with the published figures beside, and times of this machine."""
    stored = json.loads(STORED.read_text())
    rows = {}
    for method, errors in stored["table"].items():
        for i, speed in enumerate(TABLE_SPEEDS):
            for kind, value in zip(("mass", "centre", "inertia"), errors[i], strict=True):
                rows.setdefault(method, {})[f"{kind} {speed:g} rad/s [%]"] = value
            if method in PUBLISHED:
                row = rows.setdefault(f"{method}, published", {})
                for kind, value in zip(("mass", "centre", "inertia"), PUBLISHED[method][i], strict=True):
                    row[f"{kind} {speed:g} rad/s [%]"] = float(value)
    for method, errors in stored["robot"].items():
        for says, values in (
            (f"{method}, 1.1 rad/s", errors),
            (f"{method}, robot, published", PUBLISHED_ROBOT[method]),
        ):
            kinds = zip(("mass", "centre", "inertia"), values, strict=True)
            rows[says] = {f"{kind} 1.1 rad/s [%]": float(value) for kind, value in kinds}
    for name, seconds in times().items():
        rows[name] = {"time [ms]": 1e3 * seconds}
    return rows


def times() -> dict:
    """Median seconds after accumulation, and of online updates (99.9th percentile of CPU time too)."""
    from evidence.bench.tray_experiment import recorded, test_object
    from steelyard.payload import OnlineEstimator
    from steelyard.payload.point_mass import discretise, solve_point_masses
    from steelyard.payload.wrench_problem import make_problem

    thing, log = test_object("hammer"), recorded("hammer", 1.5, 1.5)
    found = {}
    rng = np.random.default_rng(0)
    for count in (56, 10_000):
        points = (
            thing.solid.sample(56) if count == 56 else rng.uniform(thing.solid.lower, thing.solid.upper, (count, 3))
        )
        d = discretise(make_problem(log), points)
        found[f"PMD, 150 samples, {count} points"] = _median(lambda d=d: solve_point_masses(d))
    long = recorded("hammer", 1.5, 30.0)
    estimator = OnlineEstimator(shape=thing.solid)
    wall, cpu = [], []
    for k in range(len(long)):
        sample = (long.t[k], long.rotation[k], long.wrench[k], long.twist[k], long.acceleration[k])
        start, started = time.perf_counter(), time.thread_time()
        estimator.update(*sample)
        wall.append(time.perf_counter() - start)
        cpu.append(time.thread_time() - started)
    wall, cpu = wall[100:], cpu[100:]
    found["online update, median"] = median(wall)
    found["online update, 99.9 % (wall)"] = float(np.percentile(wall, 99.9))
    found["online update, 99.9 % (CPU)"] = float(np.percentile(cpu, 99.9))
    return found


def _median(function):
    laps = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        laps.append(time.perf_counter() - start)
    return median(laps)


def experiment(layouts=None) -> dict:
    """The whole experiment: errors by method, speed, noise and time, averaged over the layouts."""
    from evidence.bench.tray_experiment import LAYOUTS

    layouts = tuple(LAYOUTS) if layouts is None else layouts
    result: dict = {"layouts": list(layouts), "speeds": SPEEDS, "times": TIMES, "c1": C1, "densities": DENSITIES}
    result["table"] = {name: [_table_errors(name, speed, layouts) for speed in TABLE_SPEEDS] for name in TABLE}
    result["over_time"] = {name: [] for name in METHODS}  # moderate noise: [speed][time] -> three errors
    result["by_noise"] = {level: {name: [] for name in METHODS} for level in LEVELS}  # [speed] at 10 s
    result["c1_over_time"] = []  # [speed][c1][time]
    result["snr"] = {level: [] for level in LEVELS[1:]}
    for speed in SPEEDS:
        for level in LEVELS:
            _add_runs(result, layouts, speed, level)
    result["condition"] = {f"{speed:g}": _conditions(speed) for speed in (*TABLE_SPEEDS, ROBOT_SPEED)}
    result["robot"] = {name: _robot_errors(name, layouts) for name in ROBOT_METHODS}
    result["predicted"] = _predicted()
    result["by_density"], result["milliseconds"] = _densities(layouts), _milliseconds()
    return result


def _table_errors(name, speed, layouts):
    """Table III: three errors of a method after 150 samples, motion from the Kalman filter."""
    from evidence.bench.tray_experiment import recorded, test_object

    options, smooth = RAW if name == "geo, raw" else {}, name == "density"
    logs = ((recorded(each, speed, TIMES[-1], smooth=smooth)[:OBSERVED], test_object(each)) for each in layouts)
    return np.mean([_error(log, name.split(",")[0], thing, **options) for log, thing in logs], axis=0).tolist()


def _robot_errors(name, layouts):
    """Table IV on our wrist."""
    from evidence.bench.tray_experiment import recorded, test_object

    logs = ((recorded(each, ROBOT_SPEED, TIMES[-1])[:OBSERVED], test_object(each)) for each in layouts)
    method, options = name.split(",")[0], ROBOT_METHODS[name]
    return np.mean([_error(log, method, thing, **options) for log, thing in logs], axis=0).tolist()


def _conditions(speed) -> dict:
    """Condition numbers of the regressor of 150 samples of exact motion, by how its columns are scaled: in SI units, to
    length one, and in units of the uniform object's radius of gyration about the sensor."""
    from evidence.bench.tray_experiment import recorded, test_object
    from steelyard.payload.wrench_sums import wrench_regressor

    Y = wrench_regressor(recorded("uniform", speed, 1.5, noise="none")).reshape(-1, 10)
    theta = test_object("uniform").theta
    radius = np.sqrt(theta[[4, 6, 9]].sum() / 2 / theta[0])
    scales = {
        "SI": np.ones(10),
        "columns of length one": 1 / np.linalg.norm(Y, axis=0),
        "radius of gyration": radius ** np.repeat([0, 1, 2], [1, 3, 6]),
    }
    return {name: float(np.linalg.cond(Y * scale)) for name, scale in scales.items()}


def _predicted() -> dict:
    """Figure 8: torque at the sensor in a later part of the motion, by the true parameters of the tee and by those that
    PMD finds in 1.5 s."""
    from evidence.bench.tray_experiment import RATE, recorded, test_object
    from steelyard.payload import identify
    from steelyard.payload.wrench_sums import wrench_regressor

    thing = test_object(TEE)
    motion = recorded(TEE, ROBOT_SPEED, PREDICTED[1], noise="none")
    rows = wrench_regressor(motion[round(PREDICTED[0] * RATE) :: 10])[:, 3:]
    true, found = rows @ thing.theta, {}
    for name in ("ols", "pmd, c1 = 5,000", "pmd, c1 = 25,000"):
        options = ROBOT_METHODS[name]
        theta = identify(recorded(TEE, ROBOT_SPEED, 1.5), name.split(",")[0], shape=thing.solid, **options).theta
        torque = rows @ theta
        share = float(np.linalg.norm(torque - true) / np.linalg.norm(true))
        found[name] = {"torque": torque.T.tolist(), "share off": share}
    return {"seconds": PREDICTED, "true": true.T.tolist(), "found": found}


def _add_runs(result, layouts, speed, level):
    """Figures 5 to 7: noise added to the accelerations and to the wrench."""
    from evidence.bench.tray_experiment import RATE, recorded, test_object

    spans = TIMES if level == "moderate" else (TIMES[-1],)
    errors = {name: np.zeros((len(spans), 3)) for name in METHODS}
    by_c1, snr = np.zeros((len(C1), len(TIMES), 3)), 0.0
    for layout in layouts:
        thing = test_object(layout)
        log = recorded(layout, speed, TIMES[-1], noise=level, added=True)
        snr += _signal_to_noise(log, level) / len(layouts)
        for i, span in enumerate(spans):
            rows = slice(0, round(span * RATE))
            for name, total in errors.items():
                total[i] += _error(log[rows], name, thing) / len(layouts)
            if level == "moderate":
                for j, c1 in enumerate(C1):
                    by_c1[j, i] += _error(log[rows], "pmd", thing, c1=c1) / len(layouts)
    if level in result["snr"]:
        result["snr"][level].append(snr)
    for name in METHODS:
        result["by_noise"][level][name].append(errors[name][-1].tolist())
        if level == "moderate":
            result["over_time"][name].append(errors[name].tolist())
    if level == "moderate":
        result["c1_over_time"].append(by_c1.tolist())


def _error(log, method, thing, **options):
    from steelyard.payload import errors, identify

    return errors(identify(log, method, shape=thing.solid, **options).theta, thing.theta, thing.sides).percent


def _signal_to_noise(log, level):
    """Mean square of force and torque over that of their noise, the mean over the six channels."""
    from evidence.bench.tray_experiment import NOISE

    _, _, force, torque = NOISE[level]
    with np.errstate(divide="ignore"):
        return float(np.mean(np.mean(log.wrench**2, axis=0) / np.repeat([force, torque], 3) ** 2))


def _densities(layouts):
    """Figure 4, left: [density] -> points, and the three errors of PMD at 1.5 rad/s after 1.5 s."""
    from evidence.bench.tray_experiment import recorded, test_object

    rows = []
    for density in DENSITIES:
        total = np.zeros(3)
        count = max(8, round(density * 1e6 * float(np.prod(test_object("empty").sides))))
        for layout in layouts:
            thing = test_object(layout)
            total += _error(recorded(layout, 1.5, 1.5), "pmd", thing, points=count) / len(layouts)
        rows.append({"density": density, "points": count, "errors": total.tolist()})
    return rows


def _milliseconds():
    """Figure 4, right: PMD's time in ms by number of points and of samples, accumulation included."""
    from evidence.bench.tray_experiment import recorded, test_object
    from steelyard.payload.point_mass import discretise, solve_point_masses
    from steelyard.payload.wrench_problem import make_problem

    solid, log, rng = test_object("hammer").solid, recorded("hammer", 1.5, 15.0), np.random.default_rng(0)
    rows = []
    for samples in SAMPLES:
        problem = make_problem(log[:samples])
        for count in COUNTS:
            points = rng.uniform(solid.lower, solid.upper, (count, 3))
            laps = []
            for _ in range(5):
                start = time.perf_counter()
                solve_point_masses(discretise(problem, points))
                laps.append(1e3 * (time.perf_counter() - start))
            rows.append({"samples": samples, "points": count, "milliseconds": median(laps)})
    return rows


def main():
    STORED.write_text(json.dumps(_rounded(experiment()), indent=None, separators=(",", ":")) + "\n")
    for name, row in run().items():
        print(f"{name:40s}", "  ".join(f"{key} {value:.4g}" for key, value in row.items()))


def _rounded(value):
    """Four significant digits: what errors averaged over eight layouts are worth."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main()
