"""Shapes of voxel centres, of uncertain scale and with parts that nobody saw, against known boxes and trays."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from evidence.bench.tray_experiment import LAYOUTS, test_object

from payload_logs import swing
from random_bodies import rotations
from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import parameters
from steelyard.payload import Status, identify, solid_of
from steelyard.payload.density import ERRORS, error_columns, moved
from steelyard.payload.filling import lattice_of
from steelyard.payload.solid_shape import small_boxes

SENSOR = (0.1, 0.005, 0.0, 0.0)  # N and N m; the motion is exact
UPPER = np.triu_indices(3)


def grid(*counts, step=(0.01, 0.01, 0.01)):
    return np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 3) * step


@pytest.mark.parametrize("counts", [(4, 4, 4), (16, 2, 2), (3, 5, 7), (8, 8, 1), (40, 1, 1)])
@pytest.mark.parametrize("turned", [False, True])
def test_voxels_are_boxes_around_their_centres(counts, turned):
    """In any orientation, rounded to a tenth of a voxel, and in a single layer."""
    rng, R = np.random.default_rng(0), rotations(1) if turned else np.eye(3)
    points = rng.permutation(grid(*counts)) + 0.05
    solid = solid_of(points @ R.T)
    box = trimesh.creation.box(0.01 * np.array(counts)).apply_translation((np.array(counts) - 1) * 0.005 + 0.05)
    box.apply_transform(np.block([[R, np.zeros((3, 1))], [0, 0, 0, 1]]))
    truth = parameters.from_com_inertia(1.0, box.center_mass, box.moment_inertia / box.volume)
    if 1 not in counts[:2]:  # the sides of a row may be turned about it
        np.testing.assert_allclose(solid.homogeneous, truth, atol=1e-9)
    assert solid.volume == pytest.approx(box.volume, rel=1e-9)
    assert f"{len(points)} voxels of 10 x 10 x 10 mm" in solid.notes[0]
    np.testing.assert_allclose(solid.side_std, 0.01 / np.sqrt(12))
    rough = lattice_of(points @ R.T + 0.0005 * rng.uniform(-1, 1, points.shape))
    assert rough is not None and np.linalg.norm(rough[0], axis=1) == pytest.approx(0.01, rel=0.03)


def test_voxels_of_unlike_sides():
    solid = solid_of(grid(6, 5, 4, step=(0.01, 0.012, 0.02)))
    np.testing.assert_allclose(solid.sides, [0.06, 0.06, 0.08])
    np.testing.assert_allclose(solid.homogeneous, small_boxes(np.array([[0.025, 0.024, 0.03]]), solid.sides)[:, 0])


def test_what_is_no_lattice_of_voxels():
    """Clouds, corners, and surfaces, whose points lie on the sides."""
    rng = np.random.default_rng(0)
    assert lattice_of(rng.uniform(size=(300, 3))) is None
    assert lattice_of(grid(2, 2, 2)) is None
    whole = grid(9, 9, 9)
    surface = whole[((whole == 0) | (whole == 0.08)).any(axis=1)]
    assert lattice_of(surface) is None
    np.testing.assert_allclose(solid_of(surface).sides, 0.08, atol=1e-9)
    open_box = surface[surface[:, 2] < 0.08]
    assert "walls without an inside" in solid_of(open_box).notes[1]
    assert lattice_of(trimesh.creation.icosphere(3, 0.1).vertices) is None


@pytest.mark.parametrize("far", [1e2, 1e6, 1e12])
def test_lattices_that_no_memory_holds_are_clouds(far):
    """27 voxels, and one at the same steps far away."""
    points = np.concatenate([grid(3, 3, 3, step=(1e-3,) * 3), [[far * 1e-3, far * 1e-3, far * 1e-3]]])
    assert (lattice_of(points) is None) == (far > 1e3)
    with pytest.raises(InertiaError) if far > 1e3 else nullcontext():
        solid_of(points)


def test_columns_are_differences_of_changed_bodies():
    solid = replace(
        solid_of(grid(8, 5, 3), pose_std=(0.05, 0.01), scale_std=0.05),
        side_std=np.array([0.003, 0.002, 0.004]),
        axes=rotations(1),
    )
    step = 1e-4
    for k, column in enumerate(error_columns(solid).T):
        there, back = (moved(solid, sign * step * np.eye(ERRORS)[k]).homogeneous for sign in (1, -1))
        np.testing.assert_allclose((there - back) / (2 * step), column, atol=1e-8)
    changed = moved(solid, np.linspace(-1, 1, ERRORS))
    sampled = small_boxes(changed.points, changed.spacing).mean(axis=1)
    np.testing.assert_allclose(changed.homogeneous, sampled, atol=2e-5)  # points moved one by one
    assert np.linalg.det(changed.axes) == pytest.approx(np.linalg.det(solid.axes))


def test_a_part_that_was_not_seen_makes_the_shape_larger_and_its_sides_uncertain():
    seen, third = (solid_of(grid(8, 8, 8), unseen=share) for share in (0.0, 1 / 3))
    np.testing.assert_allclose(third.sides / seen.sides, 1 + 0.5 / 3, rtol=1e-6)
    np.testing.assert_allclose(third.side_std, np.hypot(seen.side_std, np.sqrt(5) / 6 * 0.04), rtol=1e-6)
    assert "0.333 of the volume was not seen" in third.notes[-1]
    for wrong in ({"unseen": 0.9}, {"unseen": -0.1}, {"scale_std": -1.0}):
        with pytest.raises(OptionError, match="is a share"):
            solid_of(grid(4, 4, 4), **wrong)
    log = swing(0.5 * seen.homogeneous, noise=SENSOR)
    assert any("takes the shape as exact" in note for note in identify(log, "hull", shape=third).notes)


def voxels(lower, sides, count, rng):
    """Centres of about so many voxels inside a box."""
    step = (np.prod(sides) / count) ** (1 / 3)
    axes = [np.arange(a + step * rng.uniform(), a + side, step) for a, side in zip(lower, sides, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)


def thing(seed, rng):
    """A tray with weights, or a homogeneous box: parameters, lower corner and sides."""
    if seed % 2:
        held = test_object(list(LAYOUTS)[seed // 2 % len(LAYOUTS)])
        return held.theta, held.solid.lower, held.sides
    sides, center = rng.uniform(0.05, 0.25, 3), np.array([0.03, 0.0, 0.08])
    return 3.0 * small_boxes(center[None], sides)[:, 0], center - sides / 2, sides


def as_seen(points, wrong, rng):
    """Points of another scale, or less a third on one side."""
    center = points.mean(axis=0)
    if wrong == "scale":
        return center + (points - center) * (1 + 0.05 * rng.choice([-1, 1]))
    if wrong == "unseen":
        along = points[:, rng.integers(3)] * rng.choice([-1, 1])
        return points[along <= np.quantile(along, 2 / 3)]
    return points


def deviations(found, theta):
    """Errors of mass, centre and inertia in stated deviations (10,)."""
    mass, com, inertia = parameters.to_com_inertia(theta)
    return np.concatenate(
        [
            [(found.mass - mass) / found.mass_deviation],
            (found.com - com) / found.com_deviation,
            ((found.inertia - inertia) / found.inertia_deviation)[UPPER],
        ]
    )


TOLD = {"none": {}, "scale": {"scale_std": 0.05}, "unseen": {"unseen": 1 / 3}}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("runs", [3, 100])
def test_coverage(runs, record_property):
    """64 to 1,000 centres: 95 % intervals of results whose status is OK hold the truth, with a scale that is off by 5 %
    and a missing third as well, where they are stated. Those of the box around the centres are overconfident."""
    for wrong, stated in TOLD.items():
        inside: dict[str, list] = {"stated": [], "box": []}
        for seed in range(runs):
            rng = np.random.default_rng([9, seed])
            theta, lower, sides = thing(seed, rng)
            points = voxels(lower, sides, int(64 * (1000 / 64) ** rng.uniform()), rng)
            speed = rng.choice([1.5, 2.0, 3.0, 4.0])
            log = swing(theta, speed=speed, duration=4.0, noise=SENSOR, seed=seed)
            points = as_seen(points, wrong, rng)
            for name, shape in (("stated", solid_of(points, **stated)), ("box", solid_of(corners(points)))):
                found = identify(log, shape=shape)
                if found.status is Status.OK and not found.findings:
                    inside[name].append(np.abs(deviations(found, theta)) < 1.96)
        held, box = (np.mean(each) for each in inside.values())
        counts = [len(each) for each in inside.values()]
        record_property(f"coverage, wrong: {wrong}", (counts, round(float(held), 3), round(float(box), 3)))
        assert held > 0.9
        assert runs < 50 or (0.92 <= held <= 0.98 and box < held - 0.02)


def corners(points):
    """(8, 3) of the box around points."""
    ends = np.array([points.min(axis=0), points.max(axis=0)])
    return ends[np.array(list(np.ndindex(2, 2, 2))), np.arange(3)]
