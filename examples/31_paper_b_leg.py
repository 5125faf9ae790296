"""Draw Figures 4, 5 and 6 of Wensing, Kim and Slotine (2018), on a simulated leg of the MIT Cheetah 3.

Run it: `python examples/31_paper_b_leg.py [OUT] [--seeds N]`; without OUT a temporary folder is made.

Three links, three rotors, joints with viscous and Coulomb friction. The foot target runs on an ellipsoidal shell, as in
the paper (rates 12 sin(1.63 t) and 3.4 sin(0.265 t) rad/s of its two angles; here the shell is one of joint angles).
10,000 samples at 1 kHz are for training, the next 10,000 for validation. All that is known beforehand: the shapes that
hold the links, ellipsoids here, and a guess of their masses.

Figure 4: measured and predicted torques of the validation part. Figure 5: what links, rotors and friction contribute.
Figure 6: validation error against the number of training samples, for sets that tell more and more of the bodies.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.diagnose import contributions
from steelyard.inertia import Ellipsoid, from_com_inertia, sets
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import library
from steelyard.terms import COULOMB_WIDTH

RATE = 1000.0  # Hz
PART = 10_000  # samples for training, and as many for validation
COULOMB, VISCOUS = np.array([3.12, 1.25, 0.95]), np.array([0.4, 0.3, 0.2])  # Coulomb friction as in the paper
NOISE = np.array([1.5, 1.7, 1.2])  # N m, as large as the paper's residuals
CENTER, SHELL = np.array([0.0, -0.8, 1.6]), np.array([0.35, 0.6, 0.7])  # rad, of the joints
SHAPES = {  # centre and semi-axes in m of what holds each body
    "abad_link": ((0.0, 0.06, 0.0), (0.09, 0.09, 0.09)),
    "thigh": ((0.0, -0.02, -0.14), (0.09, 0.11, 0.28)),
    "shank": ((0.02, 0.0, -0.12), (0.12, 0.09, 0.30)),
}
ROTOR = (0.06, 0.06, 0.06)  # m, about each rotor's centre
GUESSED = 2.0  # kg, mass of every link in the prior, evenly spread in its shape
WEIGHT = 1e-3  # of the prior: the sets are to make the difference
SIZES = (24, 40, 80, 160, 400, 1000)
COLORS = {
    "least squares": (120, 120, 120),
    "semi-consistent": (214, 120, 20),
    "consistent": (200, 40, 60),
    "center of mass in ellipsoid": (120, 60, 180),
    "realizable in ellipsoid": (30, 95, 200),
}


def motion(count=2 * PART):
    """t (n,), and q, v, a (n, 3) of the leg whose target runs on the shell."""
    from scipy.interpolate import make_interp_spline

    t = np.arange(-50, count + 50) / RATE
    phi, theta = -12 / 1.63 * np.cos(1.63 * t), -3.4 / 0.265 * np.cos(0.265 * t)
    on_sphere = np.stack([np.cos(theta), np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi)], axis=1)
    spline = make_interp_spline(t, CENTER + SHELL * on_sphere, k=5)
    t = t[50:-50]
    return t, *(spline(t, nu=k) for k in range(3))


def recorded(robot):
    """Log of the true leg with exact torques; the first half is for training, the second for validation."""
    t, q, v, a = motion()
    tau = sy.inverse_dynamics(robot, q, v, a, rotors=True) + VISCOUS * v + COULOMB * np.tanh(v / COULOMB_WIDTH)
    return Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.dof_names)


def noisy(log, rng):
    """The log with the noise of its torque sensors."""
    return log.replace(tau=log.tau + NOISE * rng.normal(size=log.tau.shape))


def shapes(robot):
    """Ellipsoid that holds each body, by name."""
    found = {name: Ellipsoid.from_semi_axes(np.array(axes), center=np.array(c)) for name, (c, axes) in SHAPES.items()}
    for rotor in robot.rotors:
        found[rotor.name] = Ellipsoid.from_semi_axes(np.array(ROTOR), center=rotor.theta[1:4] / rotor.theta[0])
    return found


def guess(robot, held):
    """Prior (6, 10): links of a guessed mass, evenly spread in their shapes; rotors as in the catalogue."""
    links = []
    for name in robot.body_names:
        shape = held[name]
        second = GUESSED * shape.Q / 5  # second moments of a solid ellipsoid about its centre
        links.append(from_com_inertia(GUESSED, shape.center, np.trace(second) * np.eye(3) - second))
    return np.concatenate([links, [rotor.theta for rotor in robot.rotors]])


def knowledge(held):
    """The nested sets of Figure 6, by name: what is told of every body."""
    return {
        "semi-consistent": {name: sets.SemiConsistent() for name in held},
        "consistent": {},
        "center of mass in ellipsoid": {
            name: sets.Intersection((sets.Consistent(), sets.ComInEllipsoid(e))) for name, e in held.items()
        },
        "realizable in ellipsoid": held,
    }


def learning(robot, sizes, seeds):
    """RMS error in N m of the torques predicted for the validation part, {set: (seeds, sizes)}.

    Each seed draws noise and training samples of its own. The error is that from the exact torque.
    """
    held, log = shapes(robot), recorded(robot)
    prior, known = guess(robot, held), knowledge(held)
    test = accumulate(robot, log[PART::10], rotors=True)
    errors = {name: np.zeros((seeds, len(sizes))) for name in COLORS}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(PART)
        for k, size in enumerate(sizes):
            info = accumulate(robot, noisy(log[np.sort(order[:size])], rng), rotors=True)
            estimates = {"least squares": sy.fit.least_squares(info)}
            for name, within in known.items():
                estimates[name] = sy.fit.consistent(info, prior=prior, within=within, weight=WEIGHT)
            for name, estimate in estimates.items():
                errors[name][seed, k] = np.sqrt(test.base.residual_energy(estimate.base).sum() / test.counts.sum())
    return errors


def parts(model, log):
    """Predicted torque of links, rotors and friction, {name: (n, 3)}. model: an estimate, or a robot with rotors."""
    found = contributions(model, log, rotors=True)
    friction = sum(found.effects[term] for term in ("viscous", "coulomb", "offset"))
    return {"links": found.links.sum(axis=2), "rotors": found.effects["rotors"], "friction": friction}


def figure_4(estimate, log):
    """Panels of measured and predicted torque, one a joint."""
    found = sum(parts(estimate, log).values())
    return [
        Panel(
            f"{joint}, N m over s: RMS error {np.sqrt(np.mean((found - log.tau)[:, i] ** 2)):.2f} N m",
            [("measured", (185, 190, 200), log.t, log.tau[:, i]), ("predicted", (200, 40, 60), log.t, found[:, i])],
        )
        for i, joint in enumerate(log.joint_names)
    ]


def figure_5(estimate, log):
    """Panels of what links, rotors and friction contribute, one a joint."""
    colors = {"links": (30, 95, 200), "rotors": (214, 120, 20), "friction": (40, 150, 70)}
    found = parts(estimate, log)
    return [
        Panel(f"{joint}, N m over s", [(name, color, log.t, found[name][:, i]) for name, color in colors.items()])
        for i, joint in enumerate(log.joint_names)
    ]


def figure_6(errors, sizes):
    """One panel: validation error against number of training samples, means over seeds."""
    series = [(name, COLORS[name], np.array(sizes), each.mean(axis=0)) for name, each in errors.items()]
    seeds = len(next(iter(errors.values())))
    return [Panel(f"Validation error in N m over training samples, mean of {seeds} seeds", series, logarithmic=True)]


@dataclass
class Panel:
    """Curves `(name, color, x, y)` below a title, both axes logarithmic or neither."""

    title: str
    series: list
    logarithmic: bool = False

    def svg(self, top, width, height):
        """Elements of the panel, `top` pixels below the upper edge of a picture."""
        left, right, head, foot = 46, 20, 22, 30
        scale = np.log10 if self.logarithmic else np.asarray
        xs = np.concatenate([scale(x) for _, _, x, _ in self.series])
        ys = np.concatenate([scale(y) for *_, y in self.series])
        margin = 0.05 * np.ptp(ys)
        (x0, x1), (y0, y1) = (xs.min(), xs.max()), (ys.min() - margin, ys.max() + margin)

        def place(x, y):
            u = left + (scale(x) - x0) / (x1 - x0) * (width - left - right)
            return u, top + head + (y1 - scale(y)) / (y1 - y0) * (height - head - foot)

        parts = [f'<text x="{left}" y="{top + 15}" font-weight="bold">{self.title}</text>']
        power = 10.0 ** np.arange(-3, 5)
        ticks = np.outer(power, [1, 2, 5]).ravel() if self.logarithmic else None
        for value in ticks[(scale(ticks) >= y0) & (scale(ticks) <= y1)] if self.logarithmic else even(y0, y1, 5):
            v = float(place(10**x0 if self.logarithmic else x0, value)[1])
            parts.append(f'<path d="M{left} {v:.1f}H{width - right}" stroke="#e3e3e3"/>')
            parts.append(f'<text x="{left - 5}" y="{v + 4:.1f}" text-anchor="end">{value:g}</text>')
        for value in self.series[0][2] if self.logarithmic else even(x0, x1, 6):
            u = float(place(value, 10**y0 if self.logarithmic else y0)[0])
            parts.append(f'<text x="{u:.1f}" y="{top + height - 14}" text-anchor="middle">{value:g}</text>')
        for k, (name, color, x, y) in enumerate(self.series):
            line = " ".join(f"{u:.1f},{v:.1f}" for u, v in zip(*place(x, y), strict=True))
            parts.append(f'<polyline points="{line}" fill="none" stroke="rgb{color}" stroke-width="1.4"/>')
            row, column = (
                (top + head + 14 + 15 * k, width - 220) if self.logarithmic else (top + 15, width - 230 + 75 * k)
            )
            parts.append(f'<text x="{column}" y="{row}" fill="rgb{color}">{name}</text>')
        return parts


def even(low, high, count):
    """About `count` round numbers from low to high."""
    step = 10.0 ** np.floor(np.log10((high - low) / count))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (k * step) <= count)
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0  # no -0


def picture(panels, width=640, height=150):
    """SVG of panels below each other."""
    look = f'viewBox="0 0 {width} {height * len(panels)}" font-family="sans-serif" font-size="11"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {look}>', '<rect width="100%" height="100%" fill="#ffffff"/>']
    for k, panel in enumerate(panels):
        parts += panel.svg(k * height, width, height)
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", help="folder for the figures")
    parser.add_argument("--seeds", type=int, default=3, help="experiments that Figure 6 averages")
    options = parser.parse_args(arguments)
    out = Path(options.out or tempfile.mkdtemp(prefix="paper-b-"))
    out.mkdir(parents=True, exist_ok=True)
    robot = library.cheetah3_leg()
    held, log = shapes(robot), recorded(robot)
    log = noisy(log, np.random.default_rng(0))
    info = accumulate(robot, log[:PART], rotors=True)
    estimate = sy.fit.consistent(info, prior=guess(robot, held), within=held, weight=WEIGHT)
    print(estimate.summary())
    print("Coulomb friction in N m:", np.round(estimate.friction["coulomb"], 3), "true:", COULOMB)
    validation = log[PART::20]
    errors = learning(robot, SIZES, options.seeds)
    print(f"\nValidation error in N m, samples {SIZES}:")
    for name, each in errors.items():
        print(f"  {name:28}", np.round(each.mean(axis=0), 3))
    pictures = {
        "paper_b_torques.svg": picture(figure_4(estimate, validation)),
        "paper_b_contributions.svg": picture(figure_5(estimate, validation)),
        "paper_b_learning.svg": picture(figure_6(errors, SIZES), height=340),
    }
    for name, text in pictures.items():
        (out / name).write_text(text, encoding="utf-8")
    print(f"\nFigures in {out}")


if __name__ == "__main__":
    main()
