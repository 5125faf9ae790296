"""Newton-Euler equations of one body, linear in its ten parameters (paper A, body regressor).

With classical proper acceleration `d = al + w x v` of the origin, all in body axes:

    force  rows: [ d | S(aw) + S(w)S(w) | 0 ]
    torque rows: [ 0 | -S(d)            | L(aw) + S(w)L(w) ]          L(x) vech(I) = I x
"""

from array_api_compat import array_namespace

from steelyard.spatial import cross


def newton_euler_entries(d, w, aw):
    """Entries of the body regressor. d, w, aw: three arrays each (one a component, any shape).

    Returns (force, torque): force 3 x 4 (columns m, h), torque 3 x 9 (columns h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz),
    nested lists of arrays shaped like the components.
    """
    dx, dy, dz = d
    x, y, z = w
    a, b, c = aw
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    o = dx * 0
    force = [
        [dx, -(yy + zz), xy - c, xz + b],
        [dy, xy + c, -(xx + zz), yz - a],
        [dz, xz - b, yz + a, -(xx + yy)],
    ]
    torque = [
        [o, dz, -dy, a, b - xz, -yz, c + xy, yy - zz, yz],
        [-dz, o, dx, xz, a + yz, b, zz - xx, c - xy, -xz],
        [dy, -dx, o, -xy, xx - yy, xy, a - yz, b + xz, c],
    ]
    return force, torque


def body_regressor(V, a_g):
    """Regressor Yb of one body: `f = Yb @ theta` (paper A).

    V: (..., 6) twist `[v; w]`; a_g: (..., 6) proper spatial acceleration `a - [R^T g; 0]`; both in body axes at the
    body origin. Returns (..., 6, 10): wrench `[f; n]` in N, N m per unit of each parameter.
    """
    xp = array_namespace(V, a_g)
    V, a_g = xp.broadcast_arrays(V, a_g)
    w, aw = V[..., 3:], a_g[..., 3:]
    d = a_g[..., :3] + cross(w, V[..., :3])
    components = ([u[..., i] for i in range(3)] for u in (d, w, aw))
    force, torque = newton_euler_entries(*components)
    o = xp.zeros_like(V[..., 0])
    rows = [[*row, *[o] * 6] for row in force] + [[o, *row] for row in torque]
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
