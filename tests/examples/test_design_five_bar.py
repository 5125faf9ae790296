"""The example that designs a five-bar: its gradient by complex steps through an independent model, designs in
MuJoCo and trimesh."""

import runpy
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh

import steelyard as sy
from mujoco_loops import hold_still, model_with_loops, motion_and_torque
from steelyard.errors import LoopError
from steelyard.model.side import read_side, side_path

SCRIPT = Path(__file__).parents[2] / "examples" / "43_design_five_bar.py"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(SCRIPT), run_name="example")


def turned(vector, axis):
    """A vector turned by a rotation vector, by the exponential series."""
    term = total = axis
    for k in range(1, 18):
        term = np.cross(vector, term) / k
        total = total + term
    return total


def about(axis, angle):
    """Rodrigues' formula: (n, 3, 3) from a unit axis and angles (n,)."""
    K = np.cross(axis, np.eye(3)).T
    return np.eye(3) + np.sin(angle)[:, None, None] * K + (1 - np.cos(angle))[:, None, None] * (K @ K)


def solid(triangles, density):
    """Mass, first moment and inertia about the centre of triangles (f, 3, 3): signed tetrahedra."""
    volume = np.linalg.det(triangles) / 6 * density
    total = triangles.sum(axis=1)
    second = np.einsum("f,fci,fcj->ij", volume, triangles, triangles) + np.einsum("f,fi,fj->ij", volume, total, total)
    return volume @ (total / 4), (np.trace(second) * np.eye(3) - second) / 20


def bodies(example, half, axes, turns):
    """First moments and inertias about the centre of the four links."""
    found = [[] for _ in range(4)]
    for (link, *joints), radii in zip(example["BARS"], half, strict=True):
        a, b = (example["LOAD_AT"] if j is None else example["SIZE"] * axes[j] for j in joints)
        found[int(link[-1]) - 1].append(solid(tube(example, a, b, radii), example["ALUMINIUM"]))
    balls = [(link, example["BEARING"], example["SIZE"] * axes[j], turns[j]) for link, j in example["BEARINGS"]]
    for link, mass, at, turn in [*balls, ("link3", example["LOAD"], example["LOAD_AT"], np.zeros(3))]:
        part = example["ball"](mass, np.zeros(3))
        found[int(link[-1]) - 1].append(solid(turned(turn, part.vertices[part.faces]) + at, part.density))
    return [[sum(each) for each in zip(*parts, strict=True)] for parts in found]


def independent_effort(example, x):
    """Effort of a design, written anew: Euler's equations of four bodies that turn about one point, virtual work, and
    the closure (11) of paper D by Newton's method."""
    x = x * example["UNITS"]
    shapes, tilts = example["SHAPES"], example["TILTS"]
    across = [np.linalg.svd(axis[None])[2][1:] for axis in example["AXES"]]
    turns = [tilt @ basis for tilt, basis in zip(x[shapes : shapes + tilts].reshape(-1, 2), across, strict=True)]
    axes = [turned(turn, axis) for turn, axis in zip(turns, example["AXES"], strict=True)]
    links = bodies(example, x[:shapes].reshape(len(example["BARS"]), -1, 2), axes, turns)
    q, v, a = (basis @ x[shapes + tilts :].reshape(-1, 2) for basis in example["MOTION"])

    def placed(passive):
        """Rotations of the links (4), and world axes (n, 3) of the joints."""
        first = about(axes[0], q[:, 0])
        second = first @ about(axes[1], passive[:, 0])
        fourth = about(axes[3], q[:, 1])
        world = [np.broadcast_to(axes[0], (len(q), 3)), first @ axes[1], second @ axes[2]]
        world += [np.broadcast_to(axes[3], (len(q), 3)), fourth @ axes[4]]
        return [first, second, second @ about(axes[2], passive[:, 1]), fourth], world

    def newton(passive):
        """One step, complex ones too."""
        R, w = placed(passive)
        left = R[2] @ np.swapaxes(R[3] @ about(axes[4], passive[:, 2]), 1, 2)
        gap = np.stack([left[:, i, j] - left[:, j, i] for i, j in ((2, 1), (0, 2), (1, 0))], axis=1) / 2
        return passive - solve(np.stack([w[1], w[2], -w[4]], -1), gap), np.abs(gap).max()

    passive, gap = np.zeros((len(q), 3)), 1.0
    for _ in range(9):
        passive, gap = newton(passive)
    R, w = placed(passive)
    g_p = np.stack([w[1], w[2], -w[4]], -1)
    J_p = -solve(g_p[:, None], np.stack([w[0], -w[3]], 1))  # (n, motor, passive)
    rates = np.einsum("nmp,nm->np", J_p, v)

    def branches(accelerations):
        """Angular velocities and accelerations of links 1, 2, 3 along one branch, and of 4, 3 along the other."""
        found = []
        for chain in ((0, v[:, 0]), (1, rates[:, 0]), (2, rates[:, 1])), ((3, v[:, 1]), (4, rates[:, 2])):
            omega = alpha = np.zeros((len(q), 3))
            for joint, rate in chain:
                alpha = alpha + w[joint] * accelerations[joint][:, None] + np.cross(omega, w[joint]) * rate[:, None]
                omega = omega + w[joint] * rate[:, None]
                found.append((omega, alpha))
        return found

    none = np.zeros(len(q))
    drift = branches([a[:, 0], none, none, a[:, 1], none])
    second = -solve(g_p, drift[2][1] - drift[4][1])
    moving = branches([a[:, 0], second[:, 0], second[:, 1], a[:, 1], second[:, 2]])
    virtual = [  # angular velocity of each link per unit of each motor's speed, (n, motor, 3)
        np.stack([w[0], 0 * w[0]], 1),
        np.stack([w[0], 0 * w[0]], 1) + J_p[:, :, :1] * w[1][:, None],
        np.stack([w[0], 0 * w[0]], 1) + J_p[:, :, :1] * w[1][:, None] + J_p[:, :, 1:2] * w[2][:, None],
        np.stack([0 * w[3], w[3]], 1),
    ]
    tau = example["ROTOR"] * a
    for (h, inertia), rotation, (omega, alpha), along in zip(links, R, moving[:4], virtual, strict=True):
        world = rotation @ inertia @ np.swapaxes(rotation, 1, 2)
        change = (world @ alpha[..., None])[..., 0] + np.cross(omega, (world @ omega[..., None])[..., 0])
        moment = change - np.cross(rotation @ h, np.array([0, 0, -9.81]))
        tau = tau + (along @ moment[..., None])[..., 0]
    return np.sum(example["STEPS"][:, None] * tau**2), gap


def solve(matrix, rows):
    return np.linalg.solve(matrix, rows[..., None])[..., 0]


def tube(example, a, b, radii):
    """Triangles of a bar, written anew."""
    along = (b - a) / np.sqrt(np.sum((b - a) ** 2))
    inward = (a + b) - np.sum((a + b) * along) * along
    inward = inward / np.sqrt(np.sum(inward**2))
    angle = np.arange(example["AROUND"]) * 2 * np.pi / example["AROUND"]
    share = np.linspace(0, 1, len(radii))[:, None, None]
    rings = (1 - share) * a + share * b
    rings = rings + radii[:, :1, None] * np.cos(angle)[None, :, None] * inward
    rings = rings + radii[:, 1:, None] * np.sin(angle)[None, :, None] * np.cross(along, inward)
    return np.concatenate([rings.reshape(-1, 3), np.stack([a, b])])[example["FACES"]]


def test_effort_and_gradient_are_those_of_an_independent_model(example):
    rng = np.random.default_rng(0)
    x = example["first_design"]()
    x = x + 0.1 * rng.normal(size=x.shape)
    value, gradient = example["effort"](example["Design"](x))
    expected, gap = independent_effort(example, x)
    steps = x + 1e-30j * np.eye(len(x))
    slopes = np.array([independent_effort(example, step)[0].imag for step in steps]) / 1e-30
    assert gap < 1e-13
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, slopes, atol=1e-7 * np.abs(slopes).max())
    for part in np.split(np.abs(slopes), [example["SHAPES"], example["SHAPES"] + example["TILTS"]]):
        assert part.max() > 1e-2 * np.abs(slopes).max(), "shapes, axes and motion all matter"
    gradient[example["SHAPES"] + 8] = 0.0  # as if the cut joint's axis had no derivative
    assert np.abs(gradient - slopes).max() > 1e-3 * np.abs(slopes).max()


def test_constraints_have_their_derivatives(example):
    rng = np.random.default_rng(1)
    x = example["first_design"]()
    x = x + 0.1 * rng.normal(size=x.shape)
    _, _, by_load, by_volume = example["kinematics"](example["Design"](x))
    slopes = example["bending"](example["Design"](x))[1]
    for _ in range(4):
        way = rng.normal(size=x.shape)
        ahead, behind = (example["Design"](x + step * way) for step in (1e-5, -1e-5))
        moved = [
            (p - m) / 2e-5 for p, m in zip(example["kinematics"](ahead), example["kinematics"](behind), strict=True)
        ]
        np.testing.assert_allclose(by_load @ way, moved[0], atol=1e-8)
        np.testing.assert_allclose(by_volume @ way, moved[1], atol=1e-7)
        np.testing.assert_allclose(
            slopes @ way, (example["bending"](ahead)[0] - example["bending"](behind)[0]) / 2e-5, atol=1e-6
        )


def in_mujoco(example, design, tmp_path):
    """Torques, places of the load and volumes of passive axes of a design, from the file that was written of it."""
    path = tmp_path / "linkage.xml"
    sy.save(design.robot, path)
    robot = read_side(side_path(path), sy.load(path))
    m, at = hold_still(model_with_loops(robot).compile()), design.found.at
    m.dof_damping[:] = 0
    driven = at.choice.independent
    d, (loads, volumes) = mujoco.MjData(m), example["kinematics"](design)[:2]
    for k in (0, 9, 18, 27, 36):
        d.qpos[:] = at.q[k]
        mujoco.mj_kinematics(m, d)
        np.testing.assert_allclose(loads[k], d.body("link3").xmat.reshape(3, 3) @ example["LOAD_AT"], atol=1e-7)
        cut = d.body("link4").xmat.reshape(3, 3) @ robot.loops[0].rotations[0][:, 2]
        passive = [d.joint("joint2").xaxis, d.joint("joint3").xaxis, cut]
        assert volumes[k] == pytest.approx(np.linalg.det(passive), abs=1e-6)
        v, a, tau = motion_and_torque(m, at.q[k], at.v[k, driven], at.a[k, driven], driven)
        np.testing.assert_allclose(tau, design.found.tau[k], atol=2e-7)
        np.testing.assert_allclose([v, a], [at.v[k], at.a[k]], atol=1e-5)


def in_trimesh(design):
    """Meshes of a design are closed, face outwards, and have the masses of its links."""
    for parts, theta in zip(design.parts.values(), design.robot.inertias, strict=True):
        meshes = [
            trimesh.Trimesh(part.vertices @ part.rotation.T + part.origin, part.faces, process=False) for part in parts
        ]
        assert all(mesh.is_watertight and mesh.is_winding_consistent and mesh.volume > 0 for mesh in meshes)
        masses = [part.density * mesh.volume for part, mesh in zip(parts, meshes, strict=True)]
        center = sum(m * mesh.center_mass for m, mesh in zip(masses, meshes, strict=True)) / sum(masses)
        np.testing.assert_allclose(theta[:4], sum(masses) * np.array([1, *center]), rtol=1e-9)


def test_a_random_design_in_mujoco_and_trimesh(example, tmp_path):
    x = example["first_design"]()
    design = example["Design"](x + 0.1 * np.random.default_rng(0).normal(size=x.shape))
    in_trimesh(design)
    in_mujoco(example, design, tmp_path)
    drawn = example["picture"]([design]).data
    assert len(drawn) == 2 * sum(map(len, design.parts.values()))


@pytest.fixture(scope="module")
def designs(example):
    """Before, and after a few steps in everything at once."""
    before = example["Design"](example["first_design"]())
    return before, example["optimise"](before, slice(None), 3)


def test_designs_before_and_after_in_mujoco_and_trimesh(example, designs, tmp_path):
    for design in designs:
        in_trimesh(design)
        in_mujoco(example, design, tmp_path)
    unspun = replace(designs[1].found, robot=designs[1].robot.with_joint_properties(armature=[0, 0, 0, 0]))
    wrong = example["Design"](designs[1].x)
    vars(wrong)["found"] = unspun
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        in_mujoco(example, wrong, tmp_path)


def test_what_a_better_design_keeps(example, designs):
    before, after = designs
    assert example["effort"](after)[0] < 0.9 * example["effort"](before)[0]
    for place in (0, -1):
        at = [example["kinematics"](each)[0][place] for each in designs]
        np.testing.assert_allclose(*at, atol=1e-9)
    assert np.linalg.norm(np.subtract(*(example["kinematics"](before)[0][k] for k in (0, -1)))) > 0.05
    for k in (0, -1):
        np.testing.assert_array_equal(after.found.at.v[k], 0.0)
    assert after.half.min() >= 0.004 - 1e-12, "thinnest bar, m"
    stiffness = [deflections(example, each) for each in designs]
    assert (stiffness[1] < stiffness[0] * (1 + 1e-9)).all()
    volumes = [example["kinematics"](each)[1] for each in designs]
    assert (np.sign(volumes[1]) == np.sign(volumes[0][0])).all(), "it stays on its branch of assembly"
    assert np.abs(volumes[1]).min() > 0.99 * np.abs(volumes[0]).min()


def deflections(example, design):
    """Of the ends of all bars under a unit force, up to a factor: the square of the lever over the second moment of
    area, which stations give.
    """
    found = []
    for (a, b), half in zip(design.ends, design.half, strict=True):
        for along, across in (half.T, half.T[::-1]):
            share = np.arange(len(half))[::-1] / (len(half) - 1)
            found.append(np.linalg.norm(b - a) ** 3 * np.sum(share**2 / (along**3 * across)))
    return np.array(found)


def test_motions_out_of_reach_are_steps_to_take_back(example, designs, monkeypatch):
    before, refused = designs[0], []

    class Fragile(example["Design"]):
        @property
        def found(self):
            if np.abs(self.x - before.x).max() > 0.05:
                refused.append(self)
                raise LoopError("out of reach")
            return super().found

    monkeypatch.setitem(example["optimise"].__globals__, "Design", Fragile)
    after = example["optimise"](before, slice(None), 3)
    assert refused, "the first step is a long one"
    assert np.abs(after.x - before.x).max() <= 0.05
    assert example["effort"](after)[0] < example["effort"](before)[0]


def test_a_motion_out_of_reach_is_no_design(example):
    x = example["first_design"]()
    tilts = slice(example["SHAPES"], example["SHAPES"] + example["TILTS"])
    x[tilts] += np.random.default_rng(1).uniform(-7, 7, example["TILTS"])  # up to 80 degrees
    assert example["assembled"](x) is None
