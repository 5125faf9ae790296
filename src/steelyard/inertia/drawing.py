"""Pictures of a mesh with its centre of mass and covariance ellipsoid: an interactive page (Plotly), or a PNG without
any browser.
"""

import numpy as np

from steelyard.inertia.ellipsoid import Ellipsoid, covariance_ellipsoid
from steelyard.inertia.raster import Layer, png, render

MESH = (150, 165, 180)
ELLIPSOID = (30, 95, 200)
CENTER = (200, 30, 30)
DEFAULT_VIEW = (1.0, -1.6, 0.9)  # from where the camera looks


def figure(vertices, faces, theta, *, bounds=()):
    """Plotly figure of a mesh, the covariance ellipsoid and the centre of mass of theta.

    vertices: (n, 3) in m, faces: (f, 3), theta: (10,), consistent; bounds: more `Ellipsoid`s to draw, such as a cover.
    Write it with `.write_html(path, include_plotlyjs=True)`. Raises InertiaError: theta not consistent.
    """
    import plotly.graph_objects as go

    ellipsoid = covariance_ellipsoid(theta)
    traces = [_plotly_mesh(go, np.asarray(vertices), np.asarray(faces), "mesh", MESH, 0.35)]
    traces.append(_plotly_mesh(go, *surface(ellipsoid), "covariance ellipsoid", ELLIPSOID, 0.8))
    traces += [
        _plotly_mesh(go, *surface(bound), f"bound {k + 1}", (200, 140, 20), 0.15) for k, bound in enumerate(bounds)
    ]
    x, y, z = ([value] for value in ellipsoid.center)
    marker = {"size": 5, "color": _css(CENTER)}
    center = go.Scatter3d(x=x, y=y, z=z, mode="markers", marker=marker, name="centre of mass")
    page = go.Figure([*traces, center])
    axes = {f"{axis}axis": {"title": {"text": f"{axis} [m]"}} for axis in "xyz"}
    page.update_layout(
        scene={"aspectmode": "data", **axes}, margin={"l": 0, "r": 0, "t": 30, "b": 0}, legend={"x": 0, "y": 1}
    )
    return page


def image(vertices, faces, theta, *, view=DEFAULT_VIEW, size=(800, 600), bounds=()) -> bytes:
    """PNG picture of the same things, seen along -view. size: pixels (width, height). Returns the bytes of the file."""
    ellipsoid = covariance_ellipsoid(theta)
    dot = Ellipsoid(ellipsoid.center, np.eye(3) * (0.01 * np.linalg.norm(np.ptp(vertices, axis=0))) ** 2)
    layers = [Layer(*surface(dot), CENTER), Layer(*surface(ellipsoid), ELLIPSOID, opacity=0.85)]
    layers += [Layer(np.asarray(vertices, dtype=float), np.asarray(faces), MESH, opacity=0.45)]
    layers += [Layer(*surface(bound), (200, 140, 20), opacity=0.25) for bound in bounds]
    return png(render(layers, view=view, size=size))


def surface(ellipsoid, *, around=48, along=24):
    """Triangles of an ellipsoid's surface: vertices (n, 3), faces (f, 3), outward."""
    polar = np.linspace(0, np.pi, along + 1)[:, None]
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    ball = np.stack(
        [np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar) * np.ones(around)], axis=-1
    )
    first = (np.arange(along)[:, None] * around + np.arange(around)).ravel()
    right = (np.arange(along)[:, None] * around + (np.arange(around) + 1) % around).ravel()
    faces = np.concatenate(
        [np.stack([first, first + around, right + around], axis=1), np.stack([first, right + around, right], axis=1)]
    )
    return ball.reshape(-1, 3) @ np.linalg.cholesky(ellipsoid.Q).T + ellipsoid.center, faces


def _plotly_mesh(go, vertices, faces, name, color, opacity):
    (x, y, z), (i, j, k) = np.asarray(vertices, dtype=float).T, faces.T
    return go.Mesh3d(
        x=x, y=y, z=z, i=i, j=j, k=k, color=_css(color), opacity=opacity, name=name, showlegend=True, flatshading=False
    )


def _css(color):
    return "rgb({}, {}, {})".format(*color)
