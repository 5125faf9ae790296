"""Pictures of a mesh with its centre of mass and covariance ellipsoid: an interactive page, or a PNG without a browser.

The PNG comes from a small software renderer: shaded, translucent triangles in parallel projection. Each layer of
triangles keeps its nearest point at every pixel; layers are then blended back to front, pixel by pixel.
"""

import struct
import zlib
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
CHUNK = 1 << 20  # pixels tested at a time
LONGEST = 48.0  # edge in pixels above which a triangle is cut
EDGE = 1e-6  # neighbours overlap by this share, so that no seam shows
THIN = 1e-3  # of the mesh's diagonal: thinner ellipsoids are drawn this thick
SUPERSAMPLE = 2  # drawn this much larger, then averaged: smooth edges


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
    pixels.
    """
    width, height = (SUPERSAMPLE * pixels for pixels in size)
    camera = _camera(view)
    seen = [np.asarray(layer.vertices) @ camera.T for layer in layers]
    low, high = (
        np.min([points.min(axis=0) for points in seen], axis=0),
        np.max([points.max(axis=0) for points in seen], axis=0),
    )
    scale = (1 - 2 * MARGIN) * min(width / (high[0] - low[0]), height / (high[1] - low[1]))
    middle = 0.5 * (low + high)
    flip = np.array([1.0, -1.0, 1.0])  # rows of a picture go down
    offset = np.array([width / 2, height / 2, 0.0])
    sheets = [
        _sheet(((p - middle) * flip * scale + offset)[layer.faces], width, height)
        for p, layer in zip(seen, layers, strict=True)
    ]
    picture = np.full((height * width, 3), 255.0)
    depths = np.stack([depth for depth, _ in sheets])
    order = np.argsort(depths, axis=0)  # far to near, pixel by pixel
    colors = np.stack(
        [shade[:, None] * np.array(layer.color) for (_, shade), layer in zip(sheets, layers, strict=True)]
    )
    opacity = np.array([layer.opacity for layer in layers])
    pixels = np.arange(height * width)
    for which in order:
        alpha = np.where(np.isfinite(depths[which, pixels]), opacity[which], 0.0)[:, None]
        picture += alpha * (colors[which, pixels] - picture)
    blocks = picture.reshape(height // SUPERSAMPLE, SUPERSAMPLE, width // SUPERSAMPLE, SUPERSAMPLE, 3)
    return np.clip(blocks.mean(axis=(1, 3)), 0, 255).astype(np.uint8)


def png(picture) -> bytes:
    """A picture (height, width, 3) of bytes as a PNG file."""
    height, width, _ = picture.shape
    rows = np.concatenate(
        [np.zeros((height, 1), np.uint8), picture.reshape(height, 3 * width)], axis=1
    )  # filter 0 before each row
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def _camera(view):
    """Rows right, up, towards the viewer (3, 3)."""
    toward = np.asarray(view, dtype=float) / np.linalg.norm(view)
    right = np.cross([0.0, 0.0, 1.0], toward)
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([1.0, 0.0, 0.0])
    return np.stack([right, np.cross(toward, right), toward])


def _sheet(triangles, width, height):
    """Depth (-inf where empty) and brightness of the nearest point at every pixel. triangles: (f, 3, 3) in pixels, rows
    down.
    """
    depth, shade = np.full(width * height, -np.inf), np.zeros(width * height)
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normal = np.cross(b - a, c - a) * np.array([1.0, -1.0, 1.0])
    length = np.linalg.norm(normal, axis=1)
    facing = np.abs(normal @ LIGHT) / np.maximum(length, 1e-300) / np.linalg.norm(LIGHT)
    brightness = 0.45 + 0.55 * facing
    triangles, brightness = _split(triangles, brightness)
    corner = np.floor(triangles[:, :, :2].min(axis=1)).astype(int)
    extent = np.ceil(triangles[:, :, :2].max(axis=1) - corner).max(axis=1)
    reach = 2 ** np.ceil(np.log2(np.maximum(extent, 2.0))).astype(int)  # side of the square of pixels that is tested
    for side in np.unique(reach):
        members = np.flatnonzero(reach == side)
        grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
        batch = max(1, CHUNK // len(grid))
        for start in range(0, len(members), batch):
            some = members[start : start + batch]
            cells = corner[some, None] + grid  # (t, side^2, 2): column, row
            inside, z = _cover(triangles[some], cells + 0.5)
            inside &= ((cells >= 0) & (cells < (width, height))).all(axis=-1)
            pixel = (cells[..., 1] * width + cells[..., 0])[inside]
            _paint(depth, shade, pixel, z[inside], np.broadcast_to(brightness[some, None], inside.shape)[inside])
    return depth, shade


def _split(triangles, brightness):
    """Cut triangles at the middle of their longest edge until no edge is longer than `LONGEST` pixels, so none wastes a
    large square.
    """
    done = []
    while len(triangles):
        edges = np.linalg.norm((np.roll(triangles, -1, axis=1) - triangles)[:, :, :2], axis=2)
        longest = edges.argmax(axis=1)
        small = edges.max(axis=1) <= LONGEST
        done.append((triangles[small], brightness[small]))
        rest, turn = triangles[~small], (longest[~small, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(rest, turn[:, :, None], axis=1), 1, 0)
        middle = 0.5 * (a + b)
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
        brightness = np.tile(brightness[~small], 2)
    return np.concatenate([t for t, _ in done]), np.concatenate([b for _, b in done])


def _cover(triangles, points):
    """Which points (t, s, 2) lie in their triangle (t, 3, 3), and its depth there."""
    a, b, c = (triangles[:, None, k] for k in range(3))
    ab, ac, ap = (b - a)[..., :2], (c - a)[..., :2], points - a[..., :2]
    area = ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0]
    scale = 1 / np.where(area == 0, np.inf, area)  # edge-on triangles cover nothing
    u = (ap[..., 0] * ac[..., 1] - ap[..., 1] * ac[..., 0]) * scale
    v = (ab[..., 0] * ap[..., 1] - ab[..., 1] * ap[..., 0]) * scale
    inside = (u >= -EDGE) & (v >= -EDGE) & (u + v <= 1 + EDGE) & (area != 0)
    return inside, a[..., 2] + u * (b - a)[..., 2] + v * (c - a)[..., 2]


def _paint(depth, shade, pixel, z, light):
    """Keep the nearest of the points that fall on each pixel."""
    order = np.lexsort((z, pixel))
    pixel, z, light = pixel[order], z[order], light[order]
    nearest = np.append(pixel[1:] != pixel[:-1], True)[: len(pixel)]
    pixel, z, light = pixel[nearest], z[nearest], light[nearest]
    closer = z > depth[pixel]
    depth[pixel[closer]], shade[pixel[closer]] = z[closer], light[closer]
