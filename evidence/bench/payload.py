"""Payload identification on the simulated experiment of Nadeau, Giamou and Kelly (2022), and how long it takes.

`python -m evidence.bench.payload` repeats the whole experiment (eight layouts, five speeds, three noise levels) and
stores it in `payload.json`, from which `examples/30_payload_figures.py` redraws Figures 4 to 7. `run` prints its
Table III and measures times afresh. Methods of the paper take the motion from its causal Kalman filter; our default
takes it from the smoother, as it would offline ("density"), and from the same filter ("density, causal").
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
LEVELS = ("low", "moderate", "high")
METHODS = ("ols", "rtls", "geo", "pmd", "density")
BESIDE = ("geo, raw", "density, causal")  # only in the table: GEO in SI units with a light prior, as it seems published
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
        for squared in (False, True):
            name = f"PMD{' squared' if squared else ''}, 150 samples, {count} points"
            found[name] = _median(lambda d=d, squared=squared: solve_point_masses(d, squared=squared))
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
    result["table"] = {name: [] for name in (*METHODS, *BESIDE)}
    result["over_time"] = {name: [] for name in METHODS}  # moderate noise: [speed][time] -> three errors
    result["by_noise"] = {level: {name: [] for name in METHODS} for level in LEVELS}  # [speed] at 10 s
    result["c1_over_time"] = []  # [speed][c1][time]
    result["snr"] = {level: [] for level in LEVELS}
    for speed in SPEEDS:
        for level in LEVELS:
            _add_runs(result, layouts, speed, level)
    result["by_density"], result["milliseconds"] = _densities(layouts), _milliseconds()
    return result


def _add_runs(result, layouts, speed, level):
    from evidence.bench.tray_experiment import RATE, recorded, test_object

    spans = TIMES if level == "moderate" else (TIMES[-1],)
    errors = {name: np.zeros((len(spans), 3)) for name in (*METHODS, *BESIDE)}
    by_c1, snr = np.zeros((len(C1), len(TIMES), 3)), 0.0
    for layout in layouts:
        thing = test_object(layout)
        causal = recorded(layout, speed, TIMES[-1], noise=level)
        both = recorded(layout, speed, TIMES[-1], noise=level, smooth=True)
        snr += _signal_to_noise(causal, level) / len(layouts)
        for i, span in enumerate(spans):
            rows = slice(0, round(span * RATE))
            for name, total in errors.items():
                log = both[rows] if name == "density" else causal[rows]
                options = RAW if name == "geo, raw" else {}
                total[i] += _error(log, name.split(",")[0], thing, **options) / len(layouts)
            if level == "moderate":
                for j, c1 in enumerate(C1):
                    by_c1[j, i] += _error(causal[rows], "pmd", thing, c1=c1) / len(layouts)
    result["snr"][level].append(snr)
    for name in METHODS:
        result["by_noise"][level][name].append(errors[name][-1].tolist())
        if level == "moderate":
            result["over_time"][name].append(errors[name].tolist())
    if level == "moderate":
        result["c1_over_time"].append(by_c1.tolist())
        if speed in TABLE_SPEEDS:
            at = TIMES.index(1.5)
            for name, total in errors.items():
                result["table"][name].append(total[at].tolist())


def _error(log, method, thing, **options):
    from steelyard.payload import errors, identify

    return errors(identify(log, method, shape=thing.solid, **options).theta, thing.theta, thing.sides).percent


def _signal_to_noise(log, level):
    """Mean square of force and torque about their means over the variance of their noise (section III)."""
    from evidence.bench.tray_experiment import NOISE

    _, _, force, torque = NOISE[level]
    noise = np.repeat([force, torque], 3)
    return float(np.mean(np.var(log.wrench, axis=0) / noise**2))


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
