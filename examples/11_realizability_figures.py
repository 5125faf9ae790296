"""Draw Figures 2 and 3 of Wensing, Kim and Slotine (2018): covariance ellipsoids, and when a bounding ellipsoid can
hold a body.

Run it: `python examples/11_realizability_figures.py [OUT]`; without OUT a temporary folder is made. It writes a page
for each figure (turn it with the mouse), and prints what they show.

Figure 3 asks whether mass inside the grey ellipsoid, of semi-axes sqrt(5), sqrt(2), 1, can have the blue covariance
ellipsoid, of semi-axes sqrt(0.9), sqrt(0.2), sqrt(0.2). Two cases go against intuition: a covariance ellipsoid may
stick out of a shape that holds the body, and one that fits inside may belong to no body in it. Where the answer is yes,
four point masses (red, area by mass) prove it.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from steelyard.inertia import Ellipsoid, EllipsoidRealizable, covariance_ellipsoid, pseudo
from steelyard.inertia.realizability import four_point_masses

GREY, BLUE, RED = (150, 160, 170), (30, 95, 200), (205, 35, 35)
LIGHTING = {"ambient": 0.65, "diffuse": 0.5, "specular": 0.1}
SHEET = 0.02  # m, semi-axis with which a flat ellipsoid is drawn
SHAPE = Ellipsoid.from_semi_axes(np.sqrt([5.0, 2.0, 1.0]))
LONG_X, LONG_Y, LONG_Z = np.array([0.9, 0.2, 0.2]), np.array([0.2, 0.9, 0.2]), np.array([0.2, 0.2, 0.9])
CASES = (  # title, centre of mass, squared semi-axes of the covariance ellipsoid
    ("centred, long along x", (0.0, 0.0, 0.0), LONG_X),
    ("off centre, covariance sticks out", (1.5, 0.0, 0.0), LONG_X),
    ("too far off centre", (1.8, 0.0, 0.0), LONG_X),
    ("centred, long along y", (0.0, 0.0, 0.0), LONG_Y),
    ("off centre along y", (0.0, 0.7, 0.0), LONG_X),
    ("centred and inside, yet too long along z", (0.0, 0.0, 0.0), LONG_Z),
)


def body(center, variances, mass=1.0):
    """Parameters (10,) of a body with this centre of mass and covariance `diag(variances)` per mass."""
    q = np.append(center, 1.0)
    return pseudo.to_parameters(mass * (np.outer(q, q) + np.diag([*variances, 0.0])))


def point_layers(points, masses, size=0.13):
    """Red balls at points (n, 3), their area in proportion to mass."""
    radii = size * np.sqrt(masses / masses.max())
    return [(Ellipsoid(p, max(r, 0.02) ** 2 * np.eye(3)), RED, 1.0) for p, r in zip(points, radii, strict=True)]


def figure_2():
    """Covariance ellipsoids of masses in space and on an infinitely thin plate,
    `[(title, [(ellipsoid, color, opacity)])]`.
    """
    rng = np.random.default_rng(5)
    panels = []
    for title, thickness in (("masses in space", 1.0), ("masses on a plate", 0.0)):
        points = rng.normal(size=(8, 3)) * [0.9, 0.8, 0.9 * thickness]
        masses = rng.uniform(0.3, 1.0, size=8)
        q = np.column_stack([points, np.ones(8)])
        ellipsoid = covariance_ellipsoid(pseudo.to_parameters((q.T * masses) @ q), thinnest=SHEET)
        panels.append((title, [*point_layers(points, masses), (ellipsoid, BLUE, 0.6)]))
    return panels


def figure_3():
    """The cases of Figure 3 with their four masses where they exist; prints the answers."""
    panels = []
    for title, center, variances in CASES:
        theta = body(center, variances)
        realizable = bool(EllipsoidRealizable(SHAPE).contains(theta))
        room = 1 - variances @ (1 / np.diag(SHAPE.Q)) - SHAPE.level(np.array(center))
        print(f"{title:42s} tr(J Q) = {room:+.2f}  {'realizable' if realizable else 'not realizable'}")
        layers = [(SHAPE, GREY, 0.35), (covariance_ellipsoid(theta), BLUE, 0.75)]
        if realizable:
            masses, points = four_point_masses(theta, SHAPE)
            layers += point_layers(points, masses)
        panels.append((f"{title}: {'yes' if realizable else 'no'}", layers))
    return panels


def surface(ellipsoid):
    """Triangles of an ellipsoid's surface: vertices (n, 3), faces (f, 3)."""
    polar, turn = np.linspace(0, np.pi, 13)[:, None], np.linspace(0, 2 * np.pi, 25)
    ball = np.stack(np.broadcast_arrays(np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)), -1)
    first = (25 * np.arange(12)[:, None] + np.arange(24)).ravel()
    faces = np.concatenate([first[:, None] + corners for corners in ([0, 25, 26], [0, 26, 1])])
    return ball.reshape(-1, 3) @ np.linalg.cholesky(ellipsoid.Q).T + ellipsoid.center, faces


def write_page(panels, path, *, columns):
    """All panels as scenes that can be turned, in one page that opens offline."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    rows = -(-len(panels) // columns)
    specs = [[{"type": "scene"}] * columns] * rows
    page = make_subplots(
        rows, columns, specs=specs, subplot_titles=[title for title, _ in panels], vertical_spacing=0.06
    )
    for index, (_, layers) in enumerate(panels):
        for ellipsoid, color, opacity in layers:
            vertices, faces = surface(ellipsoid)
            (x, y, z), (i, j, k) = vertices.T, faces.T
            trace = go.Mesh3d(
                x=x, y=y, z=z, i=i, j=j, k=k, color="rgb({}, {}, {})".format(*color), opacity=opacity, lighting=LIGHTING
            )
            page.add_trace(trace, row=index // columns + 1, col=index % columns + 1)
    camera = {"eye": {"x": 0.9, "y": -2.2, "z": 1.1}}
    page.update_scenes(aspectmode="data", camera=camera)
    page.update_layout(height=400 * rows, margin={"l": 10, "r": 10, "t": 40, "b": 10})
    page.write_html(path, include_plotlyjs=True)


def main(arguments):
    out = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp(prefix="steelyard_"))
    out.mkdir(parents=True, exist_ok=True)
    for name, panels, columns in (("figure_2", figure_2(), 2), ("figure_3", figure_3(), 3)):
        write_page(panels, out / f"{name}.html", columns=columns)
    print(f"figures are in {out}")


if __name__ == "__main__":
    main(sys.argv[1:])
