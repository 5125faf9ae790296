"""Random robots whose truth MuJoCo moves, drawn without any of Steelyard's mechanics: MJCF text and joint torques."""

from dataclasses import dataclass

import numpy as np

ARM, LEG, FLYER = "arm", "leg", "flyer"
WRONG = 0.4  # spread of the logarithm of masses and lengths of the nominal model around the true ones


@dataclass(frozen=True, eq=False)
class Drawn:
    """A robot of n joints in a chain. points: (n + 1, 8, 3) m, where the mass of base and links is; masses: (n + 1, 8).

    offsets: (n, 3) m of joints in the link before; axes: (n, 3); slides: (n,) whether prismatic; reach: (n,) half
    width of each joint's range, rad or m. viscous, coulomb: (n,) of friction. encoder: step of positions,
    rad or m; noise: of torques, over their RMS. kind: "arm" stands, "leg" is a slide on a
    rail with a foot on the ground, "flyer" has a free base.
    """

    kind: str
    points: np.ndarray
    masses: np.ndarray
    offsets: np.ndarray
    axes: np.ndarray
    slides: np.ndarray
    reach: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    encoder: float
    noise: float

    @property
    def n(self) -> int:
        return len(self.axes)

    def bodies(self) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """Mass, centre of mass, inertia about it of base and links."""
        found = []
        for m, p in zip(self.masses, self.points, strict=True):
            c = m @ p / m.sum()
            r = p - c
            found.append((m.sum(), c, np.sum(m * np.sum(r * r, axis=1)) * np.eye(3) - (m[:, None] * r).T @ r))
        return found


def drawn(rng, *, kind: str = ARM, joints: int = 3) -> Drawn:
    """A random robot."""
    count = 3 if kind == LEG else joints
    lengths = rng.uniform(0.15, 0.45, count + 1)
    axes = rng.normal(size=(count, 3))
    axes[np.arange(count), rng.integers(0, 3, count)] += 3.0 * rng.choice([-1, 1], count)
    slides = (rng.uniform(size=count) < 0.12) & (np.arange(count) > 0)
    offsets = np.array([0, 0, 1]) * lengths[:count, None] + rng.normal(size=(count, 3)) * 0.05
    if kind == LEG:  # rail, hip, knee
        axes, slides = np.array([[0, 0, 1.0], [0, 1, 0], [0, 1, 0]]), np.array([True, False, False])
        offsets = np.array([[0, 0, 0.5], [0, 0.05, 0], [0, 0, -0.25]])
    box = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5
    size = np.stack([rng.uniform(0.05, 0.15, count + 1), rng.uniform(0.05, 0.15, count + 1), lengths], axis=1)
    down = -1.0 if kind == LEG else 1.0
    points = box * size[:, None] + down * np.array([0, 0, 0.5]) * lengths[:, None, None]
    total = np.geomspace(6.0, 1.0, count + 1) * np.exp(0.3 * rng.normal(size=count + 1))
    masses = rng.dirichlet(np.full(8, 4.0), count + 1) * total[:, None]
    weight = 9.81 * np.cumsum(total[::-1])[::-1][1:]
    lever = np.where(slides, 1.0, 0.3)
    return Drawn(
        *(kind, points, masses, offsets, axes / np.linalg.norm(axes, axis=1)[:, None], slides),
        reach=np.where(slides, rng.uniform(0.1, 0.25, count), rng.uniform(1.4, 2.8, count)),
        viscous=rng.uniform(0.02, 0.08, count) * weight * lever,
        coulomb=rng.uniform(0.02, 0.08, count) * weight * lever,
        encoder=rng.choice([1e-5, 5e-5, 2e-4]),
        noise=rng.uniform(0.005, 0.03),
    )


def mistaken(robot: Drawn, rng) -> Drawn:
    """What its model file says: the same kinematics, masses and friction wrong by tens of percent."""

    def wrong(x, spread=WRONG):
        return x * np.exp(spread * rng.normal(size=np.shape(x)))

    return changed(
        robot,
        masses=wrong(robot.masses) * np.exp(WRONG * rng.normal(size=(robot.n + 1, 1))),
        points=robot.points * np.exp(0.15 * rng.normal(size=(robot.n + 1, 1, 3))),
        viscous=wrong(robot.viscous),
        coulomb=wrong(robot.coulomb),
    )


def changed(robot: Drawn, **fields) -> Drawn:
    return Drawn(**{**vars(robot), **fields})


def bent(robot: Drawn, rng) -> Drawn:
    """The same robot with joints that sit and point elsewhere by a tenth."""
    axes = robot.axes + 0.1 * rng.normal(size=robot.axes.shape)
    offsets = robot.offsets * np.exp(0.1 * rng.normal(size=robot.offsets.shape))
    return changed(robot, axes=axes / np.linalg.norm(axes, axis=1)[:, None], offsets=offsets)


def loaded(robot: Drawn, mass: float, rng) -> Drawn:
    """The same robot with a load (kg) at the end of its last link."""
    at = robot.points[-1].mean(axis=0) * 2 + 0.05 * rng.normal(size=3)
    last = robot.masses[-1].sum()
    points, masses = robot.points.copy(), robot.masses.copy()
    # eight points again: those of the link move towards the load and gain its mass
    points[-1] = points[-1] + (at - points[-1].mean(axis=0)) * mass / (mass + last)
    masses[-1] *= 1 + mass / last
    return changed(robot, points=points, masses=masses)


def mjcf(robot: Drawn, *, friction: bool) -> str:
    """The robot as MJCF. friction: whether it states damping, friction loss and ranges, as a model file does."""
    lines = [
        '<mujoco model="drawn"><compiler angle="radian" balanceinertia="false"/><option gravity="0 0 -9.81"/>',
        '<worldbody><geom name="floor" type="plane" size="9 9 1" contype="1" conaffinity="1"/>'
        if robot.kind == LEG and not friction
        else "<worldbody>",
    ]
    bodies = robot.bodies()
    if robot.kind == FLYER:
        lines.append(f'<body name="base"><freejoint name="free"/>{_inertial(bodies[0])}')
    for k in range(robot.n):
        hinge = "slide" if robot.slides[k] else "hinge"
        said = (
            f' range="{-robot.reach[k]:.6f} {robot.reach[k]:.6f}" limited="true" damping="{robot.viscous[k]:.9g}"'
            f' frictionloss="{robot.coulomb[k]:.9g}"'
            if friction
            else ""
        )
        lines.append(
            f'<body name="link{k + 1}" pos="{_words(robot.offsets[k])}"><joint name="joint{k + 1}" type="{hinge}" '
            f'axis="{_words(robot.axes[k])}"{said}/>{_inertial(bodies[k + 1])}'
        )
    if robot.kind == LEG and not friction:
        lines.append('<geom name="foot" type="sphere" size="0.02" pos="0 0 -0.25" mass="0" friction="1"/>')
    lines.append("</body>" * (robot.n + (robot.kind == FLYER)) + "</worldbody></mujoco>")
    return "\n".join(lines)


def _inertial(body) -> str:
    mass, c, inertia = body
    full = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return f'<inertial mass="{mass:.12g}" pos="{_words(c)}" fullinertia="{_words(full)}"/>'


def _words(values) -> str:
    return " ".join(f"{x:.12g}" for x in values)


def torques(robot: Drawn, q, v, a) -> np.ndarray:
    """(n, nv) joint torques without friction that MuJoCo's inverse dynamics gives for q, v, a of one-degree joints."""
    import mujoco

    m = compiled(robot)
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    d, tau = mujoco.MjData(m), np.empty_like(q)
    for k in range(len(q)):
        d.qpos[:], d.qvel[:], d.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(m, d)
        tau[k] = d.qfrc_inverse
    return tau


def compiled(robot: Drawn):
    """MuJoCo's model of the true robot."""
    import mujoco

    return mujoco.MjModel.from_xml_string(mjcf(robot, friction=False))


def friction(robot: Drawn, v, *, law: str = "coulomb", load=None) -> np.ndarray:
    """(n, nv) friction torques. law: "coulomb", or one that no model here has: "stribeck", "load" or "asymmetric"."""
    sign = np.tanh(v / 0.003)
    if law == "stribeck":
        return robot.viscous * v + robot.coulomb * sign * (0.6 + 1.2 * np.exp(-((v / 0.3) ** 2)))
    if law == "load":
        return robot.viscous * v + robot.coulomb * sign * (0.5 + np.abs(load) / np.sqrt(np.mean(load**2, axis=0)))
    if law == "asymmetric":
        return np.where(v > 0, 1.5, 0.6) * robot.viscous * v + robot.coulomb * sign
    return robot.viscous * v + robot.coulomb * sign


def motion(robot: Drawn, rng, t, *, reach=0.8, period=None, moving=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a (n, nv) of random sums of five sines within a share of the range. moving: (nv,) factor of each joint."""
    period = rng.uniform(5.0, 9.0) if period is None else period
    w = 2 * np.pi / period * (np.arange(1, 6) + rng.uniform(-0.3, 0.3, (robot.n, 5)))
    size = rng.uniform(0.3, 1.0, (robot.n, 5)) / np.sqrt(np.arange(1, 6))
    phase = rng.uniform(0, 2 * np.pi, (robot.n, 5))
    at = np.linspace(0, 40, 2000)[:, None, None] * w + phase
    size *= (reach * robot.reach / np.abs(np.einsum("njk,jk->nj", np.sin(at), size)).max(axis=0))[:, None]
    if moving is not None:
        size *= np.asarray(moving)[:, None]
    at = t[:, None, None] * w + phase
    return (
        np.einsum("njk,jk->nj", np.sin(at), size),
        np.einsum("njk,jk->nj", np.cos(at), size * w),
        -np.einsum("njk,jk->nj", np.sin(at), size * w * w),
    )
