"""How fast estimates converge against the size of the set that holds them (paper B, Remark 6), and a figure of it.

Run it: `python examples/35_online_sets.py [OUT] [--seeds N]`; without OUT a temporary folder is made.

The bodies of a PUMA 560 start at random ones and are identified sample by sample from noisy torques
(`RecursiveEstimator`). The mass of each lies in an ellipsoid that holds the true body tightly, in larger ones, or
anywhere. The figure shows the error of torques that each estimate predicts of another motion.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import steelyard as sy

STILL = np.zeros(6)
ROBOT = sy.library.puma560().with_joint_properties(armature=STILL, damping=STILL, frictionloss=STILL)
TIGHT = 3.2  # of covariance ellipsoids: semi-axes are sqrt(3.2) standard deviations, where sqrt(3) would leave no room
SIZES = {"1": 1.0, "1.5": 1.5, "2.5": 2.5, "all of space": None}  # of the semi-axes, relative to the tight ones
SAMPLES = (1, 2, 3, 4, 6, 8, 16, 32)
EVERY = 20  # ms between samples
NOISE = 0.3  # of the RMS torque of each joint
SPREAD = 0.5  # of the start: log of masses and inertias, centres of mass in radii of gyration
WEIGHT = 1e-4  # of the start in the fit


def around(scale):
    """Ellipsoids that hold the true bodies, by name."""
    found = map(sy.inertia.covariance_ellipsoid, ROBOT.inertias)
    return {
        name: sy.inertia.Ellipsoid(each.center, TIGHT * scale**2 * each.Q)
        for name, each in zip(ROBOT.body_names, found, strict=True)
    }


def start(rng):
    """The robot with other bodies."""
    made = []
    for theta in ROBOT.inertias:
        mass, com, inertia = sy.inertia.to_com_inertia(theta)
        moved = SPREAD * np.sqrt(np.trace(inertia) / (2 * mass)) * rng.normal(size=3)
        factors = np.exp(SPREAD * rng.normal(size=2))
        made.append(sy.inertia.from_com_inertia(factors[0] * mass, com + moved, factors[1] * inertia))
    return ROBOT.with_inertias(np.array(made))


def errors(seed, sizes=SIZES, samples=SAMPLES):
    """{size: (len(samples),) torque error of another motion, relative to its RMS torques}."""
    rng = np.random.default_rng(seed)
    log, other = (
        sy.simulate.record(ROBOT, duration=1.0, sensors=sy.simulate.PERFECT, seed=s).truth for s in (seed, 999)
    )
    rms = np.sqrt(np.mean(log.tau**2, axis=0))
    tau, begun, found = log.tau + NOISE * rms * rng.normal(size=log.tau.shape), start(rng), {}
    Y, true = sy.regressor(ROBOT, other.q, other.v, other.a)[::10], other.tau[::10]
    for name, scale in sizes.items():
        within = None if scale is None else around(scale)
        estimator = sy.fit.RecursiveEstimator(begun, noise=NOISE * rms, weight=WEIGHT, within=within)
        found[name], done = [], 0
        for stop in samples:
            part = slice(EVERY * done, EVERY * stop, EVERY)
            theta = estimator.update(log.q[part], log.v[part], log.a[part], tau[part]).theta
            left = (Y @ theta.ravel() - true) / np.sqrt(np.mean(true**2, axis=0))
            found[name].append(float(np.sqrt(np.mean(left**2))))
            done = stop
    return {name: np.array(each) for name, each in found.items()}


def picture(mean):
    """The curves as a figure of Plotly."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, each in mean.items():
        figure.add_scatter(x=SAMPLES, y=100 * each, name=name, mode="lines")
    figure.update_xaxes(title_text="samples", type="log")
    figure.update_yaxes(title_text="torque error of another motion, %", type="log")
    return figure


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?")
    parser.add_argument("--seeds", type=int, default=8, help="starts and motions whose errors are averaged")
    given = parser.parse_args()
    runs = [errors(seed) for seed in range(given.seeds)]
    mean = {name: np.exp(np.mean([np.log(run[name]) for run in runs], axis=0)) for name in SIZES}
    print("torque error of another motion, per cent, after samples")
    print(f"{'semi-axes':>14}" + "".join(f"{n:8d}" for n in SAMPLES))
    for name, each in mean.items():
        print(f"{name:>14}" + "".join(f"{100 * value:8.1f}" for value in each))
    out = Path(given.out or tempfile.mkdtemp(prefix="steelyard_"))
    out.mkdir(parents=True, exist_ok=True)
    picture(mean).write_html(out / "online_sets.html", include_plotlyjs=True)
    print(f"figure in {out}")


if __name__ == "__main__":
    main()
