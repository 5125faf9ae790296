"""Reshape two links and move a motor so that a motion needs less torque, the arm staying as stiff as it was.

    python examples/40_lighten_link.py [OUT]

A shoulder-elbow arm picks and places 2 kg. Its links are aluminium bars given as meshes; the motor that drives the
elbow through a belt sits on the upper arm. Free to change: the radius of either link at every station, and where the
motor sits. The peak torque is minimised while neither link bends more at its tip than before. Gradients are exact: from
torques to inertial parameters and on to mesh vertices and the motor's place, by the chain rule, in one pass a step.

Writes `lighten_link.html`, the arm before and after and its torques, to OUT or a temporary folder.
"""

import sys
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.dynamics.gradients import geometry_gradient, with_parts
from steelyard.inertia import Part
from steelyard.model import Joint, Robot, revolute_subspace

LENGTHS = {"upper_arm": 0.45, "forearm": 0.40}  # m
STATIONS, AROUND = 9, 16  # along a link, and vertices around it
ALUMINIUM, STEEL = 2700.0, 7800.0  # kg/m^3
RADIUS, THINNEST, THICKEST = 0.035, 0.012, 0.05  # m
MOTOR_AT, MOTOR_RANGE = 0.40, (0.06, 0.40)  # m from the shoulder along the upper arm
PAYLOAD = 2.0  # kg
SHARPNESS = 24  # of the norm that stands for the peak
BAR, MOTOR, LOAD = "#7896be", "#c85a28", "#5a5a5a"


def bar(length, radii):
    """A closed bar along x: vertices (n, 3), faces (f, 3). radii: (STATIONS,), one a station."""
    angle = np.arange(AROUND) * 2 * np.pi / AROUND
    x = np.linspace(0, length, STATIONS)
    rings = np.stack(
        [
            np.outer(x, np.ones(AROUND)),
            np.outer(radii, np.cos(angle)),
            np.outer(radii, np.sin(angle)),
        ]
    )
    vertices = np.concatenate([rings.reshape(3, -1).T, [[0, 0, 0], [length, 0, 0]]])
    i = np.arange(AROUND)
    right = (i + 1) % AROUND
    faces = [np.stack([i, right + AROUND, i + AROUND], axis=1) + AROUND * k for k in range(STATIONS - 1)]
    faces += [np.stack([i, right, right + AROUND], axis=1) + AROUND * k for k in range(STATIONS - 1)]
    first, last = AROUND * STATIONS, AROUND * (STATIONS - 1)
    faces += [
        np.stack([np.full(AROUND, first), right, i], axis=1),
        np.stack([np.full(AROUND, first + 1), i + last, right + last], axis=1),
    ]
    return vertices, np.concatenate(faces)


def ball(radius):
    """A bar with the outline of a ball, its poles cut flat."""
    x = np.linspace(0, 2 * radius, STATIONS)
    radii = np.sqrt(np.maximum(x * (2 * radius - x), (0.2 * radius) ** 2))
    return bar(2 * radius, radii)


def arm() -> Robot:
    """Turntable, shoulder and elbow, no masses yet."""
    places = ([0, 0, 0.3], [0, 0, 0], [LENGTHS["upper_arm"], 0, 0])
    axes = ([0, 0, 1], [0, 1, 0], [0, 1, 0])
    names = ("turntable", "shoulder", "elbow")
    joints = tuple(
        Joint(name, "revolute", revolute_subspace(np.array(axis, dtype=float)), np.eye(3), np.array(place, dtype=float))
        for name, axis, place in zip(names, axes, places, strict=True)
    )
    none, theta = np.zeros(3), np.zeros((3, 10))
    bodies = ("column", "upper_arm", "forearm")
    gravity = np.array([0, 0, -9.81])
    return Robot("arm", joints, np.array([-1, 0, 1]), bodies, np.arange(3), theta, gravity, none, none, none)


def pick_and_place(samples=240):
    """Minimum-jerk moves between four poses: q, v, a (n, 3)."""
    poses = np.array([[-0.9, -0.1, 1.1], [-0.3, -0.9, 1.2], [0.8, -0.6, 0.5], [1.0, 0.1, 0.9], [-0.9, -0.1, 1.1]])
    duration, parts = 0.7, []
    for start, end in pairwise(poses):
        s = np.linspace(0, 1, samples // 4)[:, None]
        step = end - start
        q = start + step * (10 * s**3 - 15 * s**4 + 6 * s**5)
        v = step * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
        a = step * (60 * s - 180 * s**2 + 120 * s**3) / duration**2
        parts.append((q, v, a))
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def split(x):
    """Radii of both links and the place of the motor."""
    return {"upper_arm": x[:STATIONS], "forearm": x[STATIONS:-1]}, x[-1]


def parts_of(x):
    """The solid parts of both links for a design x."""
    radii, motor = split(x)
    drive = Part(*bar(0.09, np.full(STATIONS, 0.033)), STEEL, origin=np.array([motor - 0.045, 0.0, 0.084]))
    size = (PAYLOAD / STEEL * 3 / 4 / np.pi) ** (1 / 3)
    load = Part(*ball(size), STEEL, origin=np.array([LENGTHS["forearm"], 0.0, 0.0]))
    load = replace(load, density=load.density * PAYLOAD / (load.density * volume(load)))
    links = {name: Part(*bar(LENGTHS[name], radii[name]), ALUMINIUM) for name in LENGTHS}
    return {"upper_arm": (links["upper_arm"], drive), "forearm": (links["forearm"], load)}


def volume(part):
    a, b, c = np.moveaxis(part.vertices[part.faces], 1, 0)
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


def peak(robot, motion, scale, x):
    """Smooth peak of |tau| / scale over joints and motion, and its gradient (p,)."""
    parts = parts_of(x)
    made = with_parts(robot, parts)
    tau = inverse_dynamics(made, *motion) / scale
    largest = np.abs(tau).max()
    powers = np.sum((np.abs(tau) / largest) ** SHARPNESS)
    value = largest * powers ** (1 / SHARPNESS)
    weights = value / powers * np.sign(tau) * (np.abs(tau) / largest) ** (SHARPNESS - 1) / largest / scale
    pulled = geometry_gradient(made, parts, inverse_dynamics_derivatives(made, *motion).vjp(weights))
    angle = np.arange(AROUND) * 2 * np.pi / AROUND
    outward = np.stack([0 * angle, np.cos(angle), np.sin(angle)], axis=1)
    by_radius = [
        np.einsum("sik,ik->s", pulled.parts[name][0].vertices[:-2].reshape(STATIONS, AROUND, 3), outward)
        for name in LENGTHS
    ]
    return value, np.concatenate([*by_radius, [pulled.parts["upper_arm"][1].pose[0]]])


def bending(x):
    """Tip deflection of both links under a tip force, over that of the straight bars, and its gradient (2, p)."""
    radii, _ = split(x)
    out, slopes = [], np.zeros((2, len(x)))
    for row, name in enumerate(LENGTHS):
        lever = (1 - np.linspace(0, 1, STATIONS)) ** 2
        share = lever / lever.sum()
        ratio = (radii[name] / RADIUS) ** -4.0
        out.append(share @ ratio)
        slopes[row, row * STATIONS : (row + 1) * STATIONS] = -4 * share * ratio / radii[name]
    return np.array(out), slopes


def optimise(steps=60):
    """The first design, the best one, the motion and both torques (n, 3)."""
    robot, motion = arm(), pick_and_place()
    start = np.concatenate([np.full(2 * STATIONS, RADIUS), [MOTOR_AT]])
    before = inverse_dynamics(with_parts(robot, parts_of(start)), *motion)
    scale = np.abs(before).max(axis=0)
    stiff = {"type": "ineq", "fun": lambda x: 1 - bending(x)[0], "jac": lambda x: -bending(x)[1]}
    bounds = [(THINNEST, THICKEST)] * (2 * STATIONS) + [MOTOR_RANGE]
    found = minimize(
        lambda x: peak(robot, motion, scale, x),
        start,
        jac=True,
        method="SLSQP",
        bounds=bounds,
        constraints=stiff,
        options={"maxiter": steps, "ftol": 1e-7},
    )
    return start, found.x, motion, before, inverse_dynamics(with_parts(robot, parts_of(found.x)), *motion)


def layers(x):
    """The arm at a bent pose, as triangles."""
    angles = {"upper_arm": -0.6, "forearm": 0.5}
    origin, out = np.zeros(3), []
    for name, pieces in parts_of(x).items():
        c, s = np.cos(angles[name]), np.sin(angles[name])
        R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        for part, color in zip(pieces, (BAR, MOTOR if name == "upper_arm" else LOAD), strict=True):
            out.append(((part.vertices + part.origin) @ R.T + origin, part.faces, color))
        origin = origin + R @ [LENGTHS[name], 0, 0]
    return out


def picture(designs, torques):
    """A figure of both arms, which can be turned, and of their torques over the motion."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    titles = ("before", "after", "turntable", "shoulder", "elbow")
    specs = [[{"type": "scene"}] * 2, *[[{"colspan": 2}, None]] * 3]
    figure = make_subplots(4, 2, specs=specs, row_heights=[3, 1, 1, 1], subplot_titles=titles)
    for column, (x, tau, color) in enumerate(zip(designs, torques, ("#999999", "#1e5fc8"), strict=True)):
        for vertices, faces, paint in layers(x):
            corners = dict(zip("xyzijk", [*vertices.T, *faces.T], strict=True))
            figure.add_trace(go.Mesh3d(**corners, color=paint), row=1, col=column + 1)
        for joint in range(3):
            name = titles[column]
            trace = go.Scatter(y=tau[:, joint], name=name, line={"color": color}, showlegend=joint == 0)
            figure.add_trace(trace, row=joint + 2, col=1)
    figure.update_scenes(aspectmode="data", camera={"eye": {"x": 0.6, "y": -1.7, "z": 0.4}})
    figure.update_yaxes(title_text="N m")
    return figure.update_layout(height=1000)


def main(arguments):
    out = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp(prefix="steelyard_"))
    out.mkdir(parents=True, exist_ok=True)
    start, best, _, before, after = optimise()
    masses = [[sum(p.density * volume(p) for p in parts_of(x)[name][:1]) for name in LENGTHS] for x in (start, best)]
    print("peak torque, N m:      turntable  shoulder  elbow")
    for name, tau in (("before", before), ("after", after)):
        print(f"  {name:20s}" + "  ".join(f"{value:8.2f}" for value in np.abs(tau).max(axis=0)))
    for row, name in enumerate(LENGTHS):
        print(
            f"{name}: {masses[0][row]:.2f} kg -> {masses[1][row]:.2f} kg, bending {bending(best)[0][row]:.3f} of before"
        )
    print(f"motor: {start[-1]:.3f} m -> {best[-1]:.3f} m from the shoulder")
    figure = picture((start, best), (before, after))
    figure.write_html(out / "lighten_link.html", include_plotlyjs=True)
    print(f"figure in {out}")


if __name__ == "__main__":
    main(sys.argv[1:])
