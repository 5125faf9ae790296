"""Design a five-bar linkage for one motion: its links, the axes of its joints and the motion, for the least effort.

    python examples/43_design_five_bar.py [OUT]

The spherical five-bar of paper D (its Figure 1) carries 0.5 kg from one point to another, from rest to rest, in 0.6 s.
Free to change: the half-axes of every cross-section of its aluminium bars, the directions of all five joint axes, and
the motion of the two motors, a B-spline. The effort, the integral of the squared torques of both motors, is minimised.
The load still goes from the same point to the same point, no bar bends more at its end than before or is thinner than
8 mm, and the linkage stays assembled, at most 1 % closer to a singular configuration than before. Gradients are exact:
from torques to twists, states and inertial parameters (paper D, sections 2 and 3), and on to mesh vertices (section 4).
Friction, limits of the motors and collisions of bars are left aside.

Writes `design_five_bar.html`, before beside after, and both linkages as MJCF to OUT or a temporary folder.
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import minimize

import steelyard as sy
from steelyard.dynamics.closed_loop import following
from steelyard.dynamics.gradients import with_parts
from steelyard.errors import LoopError
from steelyard.inertia import Part
from steelyard.inertia.mesh_parts import pull_back
from steelyard.model import with_moved_axes
from steelyard.spatial import left_jacobian, rotation_from_vector

BASE = replace(sy.library.five_bar(), rotors=())  # they count as armature, below
AXES = np.stack([*(joint.subspace[3:, 0] for joint in BASE.joints[:3]), BASE.joints[3].subspace[3:, 0]])
AXES = np.concatenate([AXES, [BASE.loops[0].rotations[0][:, 2]]])  # (5, 3), joint 5 is the cut one
ROTOR = 4e-5 * 6**2  # kg m^2 of a motor's rotor behind its gear
SIZE = 0.2  # m from the centre to every joint
LOAD_AT = SIZE * (AXES[2] + AXES[4]) / 2  # on link 3
# each bar: its link, and the two joints (from 0) that it runs between; None is the load
BARS = (("link1", 0, 1), ("link2", 1, 2), ("link3", 2, None), ("link3", 4, None), ("link4", 3, 4))
BEARINGS = (("link1", 1), ("link2", 2), ("link4", 4))  # link and joint
STATIONS, AROUND = 6, 16  # of a bar, and vertices around it
ALUMINIUM, STEEL = 2700.0, 7800.0  # kg/m^3
LOAD, BEARING = 0.5, 0.08  # kg
RADIUS, THINNEST, THICKEST, MOST_TILT = 0.012, 0.004, 0.025, 0.3  # m, rad
DURATION, SAMPLES, DEGREE, FREE = 0.6, 37, 5, 6  # s; free control points of each motor's spline
END = np.array([0.8, -0.85])  # rad, of both motors where the first design delivers the load
SHAPES, TILTS = 2 * STATIONS * len(BARS), 2 * len(AXES)
SLACK = 0.01  # of the least volume
NEWTON, HALVINGS = 10, 10
OUT_OF_REACH = 10.0  # logarithm of the effort there: the line search steps back
UNITS = np.concatenate([np.full(SHAPES, 0.01), np.full(TILTS, 0.2), np.full(2 * FREE + 2, 0.5)])


def bar(ends, half):
    """Vertices (n, 3) of a closed bar between two points (2, 3); half (STATIONS, 2): half-axes of its ellipses, towards
    the centre of the linkage and across."""
    along = ends[1] - ends[0]
    length = np.sqrt(along @ along)
    along, middle = along / length, ends[0] + ends[1]
    inward = middle - (middle @ along) * along
    inward = inward / np.sqrt(inward @ inward)
    angle = np.arange(AROUND) * 2 * np.pi / AROUND
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1)[None] * half[:, None]  # (STATIONS, AROUND, 2)
    places = ends[0] + np.linspace(0, 1, STATIONS)[:, None] * length * along
    rings = places[:, None] + rim @ np.stack([inward, np.cross(along, inward)])
    return np.concatenate([rings.reshape(-1, 3), ends])


def bar_faces():
    i, rows = np.arange(AROUND), []
    right = (i + 1) % AROUND
    for k in range(STATIONS - 1):
        a, b = k * AROUND, (k + 1) * AROUND
        rows += [np.stack([a + i, b + right, b + i], axis=1), np.stack([a + i, a + right, b + right], axis=1)]
    last, top = AROUND * (STATIONS - 1), AROUND * STATIONS
    rows += [np.stack([0 * i + top, right, i], axis=1), np.stack([0 * i + top + 1, last + i, last + right], axis=1)]
    return np.concatenate(rows)


FACES = bar_faces()


def ball(mass, at, rotation=None):
    """A steel ball at a place."""
    radius = (mass / STEEL * 3 / 4 / np.pi) ** (1 / 3)
    across = radius * np.sqrt(np.maximum(1 - np.linspace(-1, 1, STATIONS) ** 2, 0.04))
    vertices = bar(np.array([[0.0, 0, -radius], [0, 1e-3 * radius, radius]]), np.stack([across, across], axis=1))
    volume = sy.inertia.mesh.parameters(vertices, FACES, density=1.0)[0]
    return Part(vertices, FACES, mass / volume, np.eye(3) if rotation is None else rotation, at)


class Design:
    """One design x: half-axes of bars, tilts of axes, end of the motion and free control points, in `UNITS`."""

    def __init__(self, x):
        self.x = np.asarray(x)
        x = self.x * UNITS
        self.half = x[:SHAPES].reshape(len(BARS), STATIONS, 2)
        tilts, self.motion = x[SHAPES : SHAPES + TILTS].reshape(-1, 2), x[SHAPES + TILTS :].reshape(-1, 2)
        across = [np.linalg.svd(axis[None])[2][1:] for axis in AXES]
        self.turns = np.stack([tilt @ basis for tilt, basis in zip(tilts, across, strict=True)])
        # rotation of each axis per unit of its two tilts, (5, 3, 2)
        self.spread = np.stack([left_jacobian(t) @ basis.T for t, basis in zip(self.turns, across, strict=True)])
        self.axes = np.einsum("kij,kj->ki", rotation_from_vector(self.turns), AXES)
        ends = [LOAD_AT if j is None else SIZE * self.axes[j] for _, *joints in BARS for j in joints]
        self.ends = np.reshape(ends, (len(BARS), 2, 3))
        self.parts = {name: [] for name in BASE.body_names}
        for (link, *_), ends, half in zip(BARS, self.ends, self.half, strict=True):
            self.parts[link].append(Part(bar(ends, half), FACES, ALUMINIUM))
        for link, joint in BEARINGS:
            self.parts[link].append(ball(BEARING, SIZE * self.axes[joint], rotation_from_vector(self.turns[joint])))
        self.parts["link3"].append(ball(LOAD, LOAD_AT))
        turns = self.turns.copy()
        turns[4] = self.turns[4] @ BASE.loops[0].rotations[0]  # that of a cut joint is in the axes of its closure
        moved = with_moved_axes(BASE, np.concatenate([np.zeros((5, 3)), turns], axis=1))
        self.robot = with_parts(moved, self.parts).with_joint_properties(armature=[ROTOR, 0, 0, ROTOR])

    @cached_property
    def found(self):
        """Torques of both motors along the motion, and their derivatives."""
        q, v, a = (basis @ self.motion for basis in MOTION)
        return sy.closed_loop.inverse_dynamics_derivatives(self.robot, q, v, a)


def splines():
    """q, v, a (n, FREE + 1) per control point; the last stands for the end, where as at the start the motors rest."""
    count = FREE + 6  # three at either end keep position, velocity and acceleration there
    knots = np.concatenate([np.zeros(DEGREE), np.linspace(0, DURATION, count - DEGREE + 1), np.full(DEGREE, DURATION)])
    curve = BSpline(knots, np.eye(count), DEGREE)
    found = [curve.derivative(k)(T) if k else curve(T) for k in range(3)]
    return [np.column_stack([each[:, 3:-3], each[:, -3:].sum(axis=1)]) for each in found]


T = np.linspace(0, DURATION, SAMPLES)
STEPS = np.full(SAMPLES, DURATION / (SAMPLES - 1)) * np.r_[0.5, np.ones(SAMPLES - 2), 0.5]  # s, of the trapezoid rule
MOTION = splines()


@lru_cache(maxsize=2)
def effort(design):
    """Integral of the squared torques of both motors, N^2 m^2 s, and its gradient by x."""
    tau = design.found.tau
    pulled = design.found.vjp(2 * STEPS[:, None] * tau)
    by_axis = np.zeros((5, 3))
    by_axis[:4] = pulled.twist[..., 3:].sum(axis=0)
    by_axis[4] = design.robot.loops[0].rotations[0] @ pulled.cut[:, 0, 3:].sum(axis=0)
    by_theta = dict(zip(BASE.body_names, pulled.theta.sum(axis=0), strict=True))
    by_part = {name: [pull_back(part, by_theta[name]) for part in parts] for name, parts in design.parts.items()}
    by_half = np.zeros_like(design.half)
    remaining = {name: iter(parts) for name, parts in by_part.items()}
    for k, (link, *joints) in enumerate(BARS):
        by_ends, by_half[k] = pull_back_bar(design.ends[k], design.half[k], next(remaining[link]).vertices)
        for joint, end, gradient in zip(joints, design.ends[k], by_ends, strict=True):
            if joint is not None:
                by_axis[joint] += np.cross(end, gradient)
    for link, joint in BEARINGS:
        by_axis[joint] += next(remaining[link]).pose[3:]  # all link frames are at the centre
    by_tilt = np.einsum("ki,kij->kj", by_axis, design.spread)
    by_motion = sum(basis.T @ each for basis, each in zip(MOTION, (pulled.q, pulled.v, pulled.a), strict=True))
    gradient = np.concatenate([by_half.ravel(), by_tilt.ravel(), by_motion.ravel()]) * UNITS
    return STEPS @ np.sum(tau**2, axis=1), gradient


def pull_back_bar(ends, half, by_vertices):
    """Gradients by both ends (2, 3), by complex steps and so exact, and by half-axes, in which vertices are linear."""
    by_ends = np.zeros(6)
    for k in range(6):
        by_ends[k] = np.sum(by_vertices * bar(ends + 1e-30j * np.eye(6)[k].reshape(2, 3), half).imag) / 1e-30
    units = np.eye(2 * STATIONS).reshape(-1, STATIONS, 2)
    none = bar(ends, np.zeros((STATIONS, 2)))
    by_half = [np.sum(by_vertices * (bar(ends, unit) - none)) for unit in units]
    return by_ends.reshape(2, 3), np.reshape(by_half, (STATIONS, 2))


@lru_cache(maxsize=2)
def kinematics(design):
    """Places of the load (n, 3), volumes det [w2 w3 w5] (n,) of the passive axes, and how both change with x.

    The volume vanishes at singular configurations, where g_p of (12) loses rank.
    """
    robot, at = design.robot, design.found.at
    placed, frame = at.transmission.at, robot.loops[0].rotations[1]
    geometry = following.of_geometry(robot, at)
    tilts = np.zeros((geometry.axes.shape[1], TILTS))  # unit changes of geometry per tilt
    for k in range(4):
        tilts[6 * k + 3 : 6 * k + 6, 2 * k : 2 * k + 2] = design.spread[k]
    tilts[-9:-6, 8:] = tilts[-3:, 8:] = frame.T @ design.spread[4]  # both frames of the closure
    own = following.Displaced(
        np.einsum("nktx,kj->njtx", geometry.axes, tilts), np.einsum("snklx,kj->snjlx", geometry.ends, tilts)
    )
    tilted = following.followed(robot, at, own)[1]
    driven = following.along_coordinates(robot, at, at.transmission.gamma)
    by_axis = np.concatenate([tilted.axes, driven.axes], axis=1)[..., 3:]  # turns (n, TILTS + 2, 4, 3)
    by_end = np.concatenate([tilted.ends[1], driven.ends[1]], axis=1)[:, :, 0, 3:]  # of the closure on link 3
    by_link = by_end.copy()  # of link 3 itself
    by_link[:, 8:TILTS] -= own.ends[1][:, 8:, 0, 3:]
    load = placed.rotations[1][:, 0] @ (frame.T @ LOAD_AT)
    w = np.stack([placed.axes[:, 1, 3:], placed.axes[:, 2, 3:], placed.rotations[1][:, 0, :, 2]])
    moved = np.cross(np.stack([by_axis[:, :, 1], by_axis[:, :, 2], by_end]), w[:, :, None])
    others = np.cross(np.roll(w, -1, axis=0), np.roll(w, -2, axis=0))
    volume, grown = np.sum(w[0] * others[0], axis=-1), np.einsum("ani,anki->nk", others, moved)
    at_load = np.moveaxis(np.cross(by_link, load[:, None]), 1, 2)
    return load, volume, by_design(at_load), by_design(grown[:, None])[:, 0]


def by_design(rows):
    """(n, k, len(x)) from rows (n, k, TILTS + 2) by tilts and by positions of both motors."""
    motion = rows[:, :, None, TILTS:] * MOTION[0][:, None, :, None]
    shapes = np.zeros((*rows.shape[:2], SHAPES))
    return np.concatenate([shapes, rows[..., :TILTS], motion.reshape(*rows.shape[:2], -1)], axis=-1) * UNITS


@lru_cache(maxsize=2)
def bending(design):
    """Logarithm of the deflection (2 len(BARS),) of each bar's end under unit forces inward and across, clamped at the
    other, and its derivatives by x."""
    lever = np.linspace(1, 0, STATIONS) ** 2
    along = design.ends[:, 1] - design.ends[:, 0]
    length = np.linalg.norm(along, axis=1)
    by_ends = np.stack([-along, along], axis=1) * 3 / length[:, None, None] ** 2
    found, slopes = [], np.zeros((len(BARS), 2, len(UNITS)))
    for k, (half, (_, *joints)) in enumerate(zip(design.half, BARS, strict=True)):
        for axis in range(2):
            parts = lever / (half[:, axis] ** 3 * half[:, 1 - axis])
            found.append(np.log(parts.sum() * length[k] ** 3))
            by_half = -(parts / parts.sum())[:, None] / half * np.where(np.arange(2) == axis, 3, 1)
            slopes[k, axis, 2 * STATIONS * k : 2 * STATIONS * (k + 1)] = by_half.ravel()
            for joint, end, gradient in zip(joints, design.ends[k], by_ends[k], strict=True):
                if joint is not None:
                    where = SHAPES + 2 * joint
                    slopes[k, axis, where : where + 2] += np.cross(end, gradient) @ design.spread[joint]
    return np.array(found), slopes.reshape(-1, len(UNITS)) * UNITS


def first_design():
    """Round bars, the axes of the model, a minimum-jerk motion."""
    s = T / DURATION
    jerk = 10 * s**3 - 15 * s**4 + 6 * s**5
    free = np.linalg.lstsq(MOTION[0], jerk[:, None] * END, rcond=None)[0]  # splines hold this polynomial exactly
    return np.concatenate([np.full(SHAPES, RADIUS), np.zeros(TILTS), free.ravel()]) / UNITS


FIRST = Design(first_design())
TARGET, BENT = kinematics(FIRST)[0][-1], bending(FIRST)[0]
LEAST = min(kinematics(FIRST)[1], key=abs)  # volume, with its sign
ACROSS = np.linalg.svd(TARGET[None])[2][1:] / SIZE  # the load stays on its sphere


def missed(design):
    """(2,), zero where the load ends where that of the first design does, and its derivatives by x."""
    load, _, by_x, _ = kinematics(design)
    return ACROSS @ (load[-1] - TARGET), ACROSS @ by_x[-1]


def kept(design):
    """Positive where no volume is less than the least of the first motion and no bar bends more, and its derivatives
    by x."""
    _, volumes, _, by_x = kinematics(design)
    deflection, slopes = bending(design)
    return np.append(volumes / LEAST - 1, BENT - deflection), np.concatenate([by_x / LEAST, -slopes])


def assembled(x):
    """The design, or None where its motion leaves what the linkage can reach or meets a singular configuration."""
    try:
        design = Design(x)
        return design if len(design.found.tau) else None
    except LoopError:
        return None


def settled(x):
    """The design near x, or None, that meets the constraints: bars as stiff as at first and, by Newton's method, the
    end of the motion; volumes may be SLACK less."""
    x = x.copy()
    soft = np.maximum(bending(Design(x))[0] - BENT, 0).reshape(len(BARS), 2).max(axis=1)
    x[:SHAPES] *= np.repeat(np.exp(soft / 4), 2 * STATIONS)  # deflection goes by the fourth power of half-axes
    for _ in range(NEWTON):
        design = assembled(x)
        if design is None:
            break
        gap, slopes = missed(design)
        if np.abs(gap).max() < 1e-11:
            return design if kept(design)[0].min() > -SLACK else None
        x[-2:] -= np.linalg.solve(slopes[:, -2:], gap)
    return None


def optimise(start, free, steps):
    """The best design, of which only the entries `free` of x differ from those of the design `start`."""
    lower = np.concatenate([np.full(SHAPES, THINNEST), np.full(TILTS, -MOST_TILT), np.full(2 * FREE + 2, -1.0)]) / UNITS
    upper = np.concatenate([np.full(SHAPES, THICKEST), np.full(TILTS, MOST_TILT), np.full(2 * FREE + 2, 1.0)]) / UNITS

    def whole(y):
        x = start.x.copy()
        x[free] = y
        return x

    @lru_cache(maxsize=2)
    def at(numbers):
        return assembled(whole(np.frombuffer(numbers)))

    def cost(y):
        design = at(y.tobytes())
        if design is None:
            return OUT_OF_REACH, np.zeros(len(y))
        value, gradient = effort(design)
        return np.log(value / effort(start)[0]), gradient[free] / value

    def of(function, k):
        def found(y):
            value = function(at(y.tobytes()) or start)[k]
            return value if k == 0 else value[:, free]

        return found

    found = minimize(
        cost,
        start.x[free],
        jac=True,
        method="SLSQP",
        bounds=list(zip(lower[free], upper[free], strict=True)),
        constraints=[{"type": kind, "fun": of(f, 0), "jac": of(f, 1)} for kind, f in (("eq", missed), ("ineq", kept))],
        options={"maxiter": steps, "ftol": 1e-4},
    )
    for share in 0.5 ** np.arange(HALVINGS):  # the way is shorter where constraints are not met at its end
        design = settled(start.x + share * (whole(found.x) - start.x))
        if design is not None and effort(design)[0] < effort(start)[0]:
            return design
    return start


STAGES = {  # entries of x that are free
    "motion": slice(SHAPES + TILTS, None),
    "motion and bars": np.r_[0:SHAPES, SHAPES + TILTS : len(UNITS)],
    "motion, bars and axes": slice(None),
}
COLORS = {"link1": "#4678be", "link2": "#8cb4e1", "link3": "#f0be3c", "link4": "#e16e32"}
LOAD_COLOR = "#5a5a5a"


def picture(designs):
    """A figure of designs side by side, at the start and, paler, at the end of the motion; each can be turned."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(1, len(designs), specs=[[{"type": "scene"}] * len(designs)])
    for column, design in enumerate(designs, 1):
        q = design.found.at.q
        first, second, third, fourth = (rotation_from_vector(q[:, [i]] * design.axes[i]) for i in range(4))
        frames = {"link1": first, "link2": first @ second, "link3": first @ second @ third, "link4": fourth}
        for sample, opacity in ((0, 1.0), (-1, 0.35)):
            for name, parts in design.parts.items():
                for part in parts:
                    color = LOAD_COLOR if part.density > ALUMINIUM else COLORS[name]
                    placed = (part.vertices @ part.rotation.T + part.origin) @ frames[name][sample].T
                    corners = dict(zip("xyzijk", [*placed.T, *part.faces.T], strict=True))
                    figure.add_trace(go.Mesh3d(**corners, color=color, opacity=opacity), row=1, col=column)
    return figure.update_scenes(aspectmode="data", camera={"eye": {"x": 1.7, "y": -0.4, "z": 0.9}})


def main(arguments):
    parser = argparse.ArgumentParser(description="Design a five-bar linkage for one motion.")
    parser.add_argument("out", nargs="?", type=Path, help="folder of the results")
    parser.add_argument("--steps", type=int, default=30, help="of each optimisation")
    options = parser.parse_args(arguments)
    out = options.out or Path(tempfile.mkdtemp(prefix="steelyard_"))
    out.mkdir(parents=True, exist_ok=True)
    design = Design(first_design())
    designs = {"before": design}
    for name, free in STAGES.items():
        designs[name] = design = optimise(design, free, options.steps)
    print("free                    effort, N^2 m^2 s  largest torques, N m  mass of the links, kg  end missed by, mm")
    for name, design in designs.items():
        peaks = "  ".join(f"{each:.3f}" for each in np.abs(design.found.tau).max(axis=0))
        mass, gap = design.robot.inertias[:, 0].sum() - LOAD, 1e3 * SIZE * np.linalg.norm(missed(design)[0])
        print(f"{name:22s}  {effort(design)[0]:17.2e}  {peaks:>20s}  {mass:22.2f}  {gap:17.1e}")
    print(f"turns of the axes, degrees: {np.degrees(np.linalg.norm(design.turns, axis=1)).round(1).tolist()}")
    for name, each in (("before", designs["before"]), ("after", design)):
        sy.save(replace(each.robot, source=None), out / f"five_bar_{name}.xml")  # without the bars of the old file
    picture((designs["before"], design)).write_html(out / "design_five_bar.html", include_plotlyjs=True)
    print(f"picture and models are in {out}")


if __name__ == "__main__":
    main(sys.argv[1:])
