"""Free fall of random robots with an IMU on the base, moved by MuJoCo."""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.model import from_mujoco
from steelyard.model.mujoco_state import force_from_mujoco

RATE = 200.0  # Hz
STEP = 5e-4  # s of integration where MuJoCo moves freely
IMU = {"v": [0.01] * 3 + [0.005] * 3, "a": [0.05] * 3 + [0.5] * 3, "tau": [0.0] * 6}  # m/s, rad/s, ... deviations
WRONG = 0.4  # spread of the logarithm of masses and lengths of the nominal model around the true ones


@dataclass(frozen=True, eq=False)
class Drawn:
    """A robot of n joints in a chain. points: (n + 1, 8, 3) m, where the mass of base and links is; masses: (n + 1, 8).

    offsets: (n, 3) m of joints in the link before; axes: (n, 3); slides: (n,) whether prismatic; reach: (n,) half
    width of each joint's range, rad or m. viscous, coulomb: (n,) of friction.
    noise: of torques, over their RMS.
    """

    points: np.ndarray
    masses: np.ndarray
    offsets: np.ndarray
    axes: np.ndarray
    slides: np.ndarray
    reach: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
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


def drawn(rng) -> Drawn:
    """A random robot."""
    count = int(rng.choice([2, 3, 4]))
    lengths = rng.uniform(0.15, 0.45, count + 1)
    axes = rng.normal(size=(count, 3))
    axes[np.arange(count), rng.integers(0, 3, count)] += 3.0 * rng.choice([-1, 1], count)
    slides = (rng.uniform(size=count) < 0.12) & (np.arange(count) > 0)
    offsets = np.array([0, 0, 1]) * lengths[:count, None] + rng.normal(size=(count, 3)) * 0.05
    box = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5
    size = np.stack([rng.uniform(0.05, 0.15, count + 1), rng.uniform(0.05, 0.15, count + 1), lengths], axis=1)
    points = box * size[:, None] + np.array([0, 0, 0.5]) * lengths[:, None, None]
    total = np.geomspace(6.0, 1.0, count + 1) * np.exp(0.3 * rng.normal(size=count + 1))
    masses = rng.dirichlet(np.full(8, 4.0), count + 1) * total[:, None]
    weight = 9.81 * np.cumsum(total[::-1])[::-1][1:]
    lever = np.where(slides, 1.0, 0.3)
    return Drawn(
        *(points, masses, offsets, axes / np.linalg.norm(axes, axis=1)[:, None], slides),
        reach=np.where(slides, rng.uniform(0.1, 0.25, count), rng.uniform(1.4, 2.8, count)),
        viscous=rng.uniform(0.02, 0.08, count) * weight * lever,
        coulomb=rng.uniform(0.02, 0.08, count) * weight * lever,
        noise=rng.uniform(0.005, 0.03),
    )


def mistaken(robot: Drawn, rng) -> Drawn:
    """What its model file says: the same kinematics, masses and friction wrong by tens of percent."""

    def wrong(x, spread=WRONG):
        return x * np.exp(spread * rng.normal(size=np.shape(x)))

    return replace(
        robot,
        masses=wrong(robot.masses) * np.exp(WRONG * rng.normal(size=(robot.n + 1, 1))),
        points=robot.points * np.exp(0.15 * rng.normal(size=(robot.n + 1, 1, 3))),
        viscous=wrong(robot.viscous),
        coulomb=wrong(robot.coulomb),
    )


def mjcf(robot: Drawn, *, friction: bool) -> str:
    """The robot as MJCF. friction: whether it states damping, friction loss and ranges, as a model file does."""
    bodies = robot.bodies()
    lines = [
        '<mujoco model="drawn"><compiler angle="radian" balanceinertia="false"/><option gravity="0 0 -9.81"/>',
        f'<worldbody><body name="base"><freejoint name="free"/>{_inertial(bodies[0])}',
    ]
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
    lines.append("</body>" * (robot.n + 1) + "</worldbody></mujoco>")
    return "\n".join(lines)


def _inertial(body) -> str:
    mass, c, inertia = body
    full = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return f'<inertial mass="{mass:.12g}" pos="{_words(c)}" fullinertia="{_words(full)}"/>'


def _words(values) -> str:
    return " ".join(f"{x:.12g}" for x in values)


def compiled(robot: Drawn):
    """MuJoCo's model of the true robot."""
    import mujoco

    return mujoco.MjModel.from_xml_string(mjcf(robot, friction=False))


def motion(robot: Drawn, rng, t, *, reach: float, period: float) -> np.ndarray:
    """(n, nv) positions of random sums of five sines within a share of the range. period: s of the slowest."""
    w = 2 * np.pi / period * (np.arange(1, 6) + rng.uniform(-0.3, 0.3, (robot.n, 5)))
    size = rng.uniform(0.3, 1.0, (robot.n, 5)) / np.sqrt(np.arange(1, 6))
    phase = rng.uniform(0, 2 * np.pi, (robot.n, 5))
    at = np.linspace(0, 40, 2000)[:, None, None] * w + phase
    size *= (reach * robot.reach / np.abs(np.einsum("njk,jk->nj", np.sin(at), size)).max(axis=0))[:, None]
    return np.einsum("njk,jk->nj", np.sin(t[:, None, None] * w + phase), size)


def free_fall(robot: Drawn, given, rng, m, *, seconds: float) -> dict[str, np.ndarray]:
    """A log of `flown` in the coordinates of a model, with an IMU's noise on the base."""
    found = flown(robot, rng, m, seconds=seconds)
    q, v, a = from_mujoco(m, given, found["qpos"], found["qvel"], found["qacc"])
    sensed = {"v": v, "a": a, "tau": force_from_mujoco(m, given, found["qpos"], found["tau"])}
    for key, x in sensed.items():
        level = robot.noise * np.sqrt(np.mean(x**2, axis=0))
        level[:6] = IMU[key]
        sensed[key] = x + level * rng.normal(size=x.shape)
    return {"t": found["t"], "q": q, **sensed}


def flown(robot: Drawn, rng, m, *, seconds: float) -> dict[str, np.ndarray]:
    """States `t`, `qpos`, `qvel`, `qacc` and torques `tau` (n, nv) of a robot that moves its joints while it falls."""
    d = _started(robot, m)
    d.qvel[:6] = rng.normal(size=6)
    wanted = motion(robot, rng, _steps(seconds), reach=0.6, period=3.0)
    return _followed(m, d, wanted, stiffness=60.0)


def _steps(seconds: float) -> np.ndarray:
    return np.arange(round(seconds / STEP)) * STEP


def _started(robot: Drawn, m):
    """MuJoCo's data, its model with friction of its own, which is Coulomb's."""
    import mujoco

    m.opt.timestep = STEP
    m.dof_damping[-robot.n :], m.dof_frictionloss[-robot.n :] = robot.viscous, robot.coulomb
    return mujoco.MjData(m)


def _followed(m, d, wanted, *, stiffness: float) -> dict[str, np.ndarray]:
    """PD control of the last joints along wanted positions (n, k)."""
    import mujoco

    last = slice(-wanted.shape[1], None)
    places = m.jnt_qposadr[last]
    d.qpos[places] = wanted[0]
    found = {key: [] for key in ("t", "qpos", "qvel", "qacc", "tau")}
    for k, goal in enumerate(wanted):
        d.qfrc_applied[last] = stiffness * (goal - d.qpos[places]) - 0.04 * stiffness * d.qvel[last]
        mujoco.mj_forward(m, d)
        if k % round(1 / (RATE * STEP)) == 0:
            for key, value in zip(found, (d.time, d.qpos, d.qvel, d.qacc, d.qfrc_applied), strict=True):
                found[key].append(np.copy(value))
        mujoco.mj_Euler(m, d)
    return {key: np.array(value) for key, value in found.items()}
