"""A quadruped walks in MuJoCo; its log and a wrong model give a better one, judged on other gaits and grounds.

    python examples/32_walking_quadruped.py             # a trot; writes quadruped_identified.urdf and gait.svg
    python examples/32_walking_quadruped.py --gait walk

The log is that of a real robot: encoders, motor torques with friction, an estimator's pose, an inertial sensor, flags
of contact. Masses of the model are wrong by 10 to 40 %; the truth behind the log is known.
"""

import argparse
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.prepare import prepare

FEET = sy.simulate.FEET
SHOWN = 2.0  # s of the gait in the picture


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gait", default="trot", choices=("trot", "walk", "bound"))
    options = parser.parse_args(arguments)
    walk = sy.simulate.walk(options.gait, duration=20.0)
    result = sy.identify(walk.nominal, walk.log, floating=True, contacts=FEET)
    before, after = result.before.relative_error, result.after.relative_error
    print(f"Torques not used in the fit: error {before:.1%} before, {after:.1%} after.")
    masses = [robot.inertias[:, 0].sum() for robot in (walk.true, walk.nominal, result.robot)]
    print("Total mass: true {:.2f} kg, of the wrong model {:.2f}, identified {:.2f}.".format(*masses))
    print("\non other walks, torques of joints and wrench of the base:     wrong model   identified")
    for gait, ground in (("walk", {}), ("bound", {"slope": 0.15, "friction": 0.6})):
        other = sy.simulate.walk(gait, duration=5.0, seed=1, **ground)
        for rows, what in ((slice(6, None), "N m"), (slice(0, 3), "N")):
            errors = [deviation(robot, other.exact)[:, rows] for robot in (walk.nominal, result.robot)]
            told = "  ".join(f"{np.sqrt(np.mean(error**2)):10.3f}" for error in errors)
            print(f"{gait:>8} {'uphill, slippery' if ground else 'flat':<18}{what:>4} {'':26}{told}")
    sy.save(result.robot, "quadruped_identified.urdf")
    Path("gait.svg").write_text(picture(walk.log, prepare(walk.log, walk.nominal).log))


def deviation(robot, exact):
    """(n, nv) torques that a model lacks on exact motion, with the forces of the feet known."""
    q, v, a, tau = exact.require("q", "v", "a", "tau")
    return sy.inverse_dynamics(robot, q, v, a, external=exact.external) - tau


def picture(log, fitted, width=900, row=34):
    """SVG: when feet stand, and which samples are fitted."""
    used = np.isin(log.t, fitted.t)
    start = fitted.t[0]
    scale = (width - 120) / SHOWN
    rows = [(foot, log.contacts[foot] > 0, "#4477aa") for foot in FEET] + [("fitted", used, "#228833")]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 20}" height="{row * len(rows) + 40}">']
    parts.append('<rect width="100%" height="100%" fill="#ffffff"/><g font-family="sans-serif" font-size="14">')
    for k, (name, on, colour) in enumerate(rows):
        parts.append(f'<text x="8" y="{row * k + 26}">{name}</text>')
        edges = np.flatnonzero(np.diff(np.r_[0, on.astype(int), 0]))
        for begin, end in edges.reshape(-1, 2):
            left, right = (min(max(log.t[min(i, len(log) - 1)] - start, 0.0), SHOWN) for i in (begin, end))
            if right > left:
                at = f'x="{100 + scale * left:.1f}" width="{scale * (right - left):.1f}"'
                parts.append(f'<rect {at} y="{row * k + 10}" height="{row - 12}" fill="{colour}"/>')
    for second in np.arange(0, SHOWN + 0.1, 0.5):
        parts.append(f'<text x="{92 + scale * second:.0f}" y="{row * len(rows) + 28}">{second:.1f} s</text>')
    return "\n".join([*parts, "</g></svg>"]) + "\n"


if __name__ == "__main__":
    main()
