"""Pictures of a mesh with its centre of mass and covariance ellipsoid: an interactive page, or a PNG without a browser.

The PNG is drawn by Matplotlib: shaded, translucent triangles in parallel projection, the farthest first.
"""

import io
from dataclasses import dataclass

import numpy as np

from steelyard.extras import extra
from steelyard.inertia.ellipsoid import Ellipsoid, covariance_axes

MESH = (150, 165, 180)
ELLIPSOID = (30, 95, 200)
CENTER = (200, 30, 30)
DEFAULT_VIEW = (1.0, -1.6, 0.9)  # from where the camera looks
MARGIN = 0.06  # free border, as a share of the picture
LIGHT = np.array([0.35, 0.5, 0.8])  # direction of the light: right, up, towards the viewer
THIN = 1e-3  # of the mesh's diagonal: thinner ellipsoids are drawn this thick
SUPERSAMPLE = 4  # drawn this much larger, then averaged: smooth edges


def figure(vertices, faces, theta, *, bounds=()):
    """Plotly figure of a mesh, the covariance ellipsoid and the centre of mass of theta.

    vertices: (n, 3) in m, faces: (f, 3), theta: (10,), consistent; bounds: more `Ellipsoid`s to draw, such as a cover.
    Write it with `.write_html(path, include_plotlyjs=True)`. Raises InertiaError: theta not consistent.
    """
    with extra("Drawing a body"):
        import plotly.graph_objects as go

    ellipsoid = _covariance(theta, vertices)
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
    ellipsoid = _covariance(theta, vertices)
    dot = Ellipsoid(ellipsoid.center, np.eye(3) * (0.01 * np.linalg.norm(np.ptp(vertices, axis=0))) ** 2)
    layers = [Layer(*surface(dot), CENTER), Layer(*surface(ellipsoid), ELLIPSOID, opacity=0.85)]
    layers += [Layer(np.asarray(vertices, dtype=float), np.asarray(faces), MESH, opacity=0.45)]
    layers += [Layer(*surface(bound), (200, 140, 20), opacity=0.25) for bound in bounds]
    return png(render(layers, view=view, size=size))


def _covariance(theta, vertices) -> Ellipsoid:
    """The covariance ellipsoid; a flat one as thick as can be seen."""
    center, lengths, directions = covariance_axes(theta)
    seen = THIN * np.linalg.norm(np.ptp(np.asarray(vertices, dtype=float), axis=0))
    return Ellipsoid.from_semi_axes(np.maximum(lengths, seen), center=center, rotation=directions)


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


@dataclass(frozen=True, eq=False)
class Layer:
    """Triangles of one colour. vertices: (n, 3), faces: (f, 3), color: red, green, blue 0...255, opacity: 0...1."""

    vertices: np.ndarray
    faces: np.ndarray
    color: tuple[int, int, int]
    opacity: float = 1.0


def render(layers, *, view, size):
    """Picture (height, width, 3) as bytes of layers seen from the direction `view` (3,), z up. size: (width, height) in
    pixels. Raises OptionError without Matplotlib.
    """
    with extra("Drawing pictures"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure
    camera = _camera(view)
    triangles = np.concatenate([(np.asarray(layer.vertices) @ camera.T)[layer.faces] for layer in layers])
    colors = np.concatenate([_shaded(layer, camera) for layer in layers])
    order = np.argsort(triangles[:, :, 2].mean(axis=1))  # far to near
    figure = Figure(figsize=size, dpi=SUPERSAMPLE, frameon=True, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    shown = triangles[order, :, :2]
    axes.add_collection(
        PolyCollection(list(shown), facecolors=colors[order], linewidths=0, antialiased=False, snap=False)
    )
    low, high = shown.min(axis=(0, 1)), shown.max(axis=(0, 1))
    half = 0.5 * np.array(size) * np.max((high - low) / np.array(size)) / (1 - 2 * MARGIN)
    middle = 0.5 * (low + high)
    axes.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())[:, :, :3].astype(float)
    width, height = size
    return picture.reshape(height, SUPERSAMPLE, width, SUPERSAMPLE, 3).mean(axis=(1, 3)).astype(np.uint8)


def png(picture) -> bytes:
    """A picture (height, width, 3) of bytes as a PNG file."""
    from PIL import Image  # comes with Matplotlib

    file = io.BytesIO()
    Image.fromarray(np.asarray(picture)).save(file, format="PNG")
    return file.getvalue()


def _camera(view):
    """Rows right, up, towards the viewer (3, 3)."""
    toward = np.asarray(view, dtype=float) / np.linalg.norm(view)
    right = np.cross([0.0, 0.0, 1.0], toward)
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([1.0, 0.0, 0.0])
    return np.stack([right, np.cross(toward, right), toward])


def _shaded(layer: Layer, camera) -> np.ndarray:
    """(f, 4) colour of each triangle by how much it faces the light, and opacity, 0...1."""
    a, b, c = np.moveaxis((np.asarray(layer.vertices) @ camera.T)[layer.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    facing = np.abs(normal @ LIGHT) / np.maximum(np.linalg.norm(normal, axis=1), 1e-300) / np.linalg.norm(LIGHT)
    colors = (0.45 + 0.55 * facing)[:, None] * np.array(layer.color) / 255
    return np.column_stack([colors, np.full(len(colors), layer.opacity)])
