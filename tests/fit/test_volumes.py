"""Mass inside the geometry of the model: the fit is that with those ellipsoids given, and all assumed is said."""

import numpy as np
import pytest

from robots import random_state, urdf
from steelyard import fit
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError
from steelyard.fit.volumes import volumes
from steelyard.inertia import EllipsoidRealizable, is_realizable
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import load
from steelyard.model.bounding import bounding_ellipsoids

FREE, TIGHT = "j2s6s200_link_1", "j2s6s200_link_4"


@pytest.fixture(scope="module")
def arm():
    """A real arm, its ellipsoids, and a short noisy log of one that is three times as large, so its mass is outside."""
    robot = load(urdf("kinova"))
    rng = np.random.default_rng(2)
    q, v, a = random_state(robot, rng, (60,))
    large = robot.inertias * np.repeat([1.0, 3.0, 9.0], [1, 3, 6])
    tau = inverse_dynamics(robot.with_inertias(large), q, v, a)
    tau = tau + 0.2 * tau.std(axis=0) * rng.normal(size=tau.shape)
    log = Log(t=np.arange(60) * 0.1, q=q, v=v, a=a, tau=tau, joint_names=robot.dof_names)
    return robot, bounding_ellipsoids(robot)[0], accumulate(robot, log, friction=())


def test_geometry_is_its_ellipsoids(arm):
    robot, ellipsoids, info = arm
    assert tuple(ellipsoids) == robot.body_names
    free, held, given = (fit.consistent(info, within=w) for w in ("consistent", "geometry", ellipsoids))
    np.testing.assert_array_equal(held.parameters, given.parameters)
    np.testing.assert_array_equal(free.parameters, fit.consistent(info).parameters)
    inside = [[bool(is_realizable(e.theta[i], ellipsoids[n])) for i, n in enumerate(ellipsoids)] for e in (free, held)]
    assert not all(inside[0]) and all(inside[1])
    assert any(each.endswith("is inside its geometry") for each in held.binding)
    assert held.certificate.smallest_slack < 1e-6 < free.certificate.smallest_eigenvalue
    assert "Assumed: the mass of all 6 links lies inside the geometry" in " ".join(held.notes)
    assert not any("geometry" in note for note in free.notes)


def test_geometry_beside_other_sets(arm):
    _, ellipsoids, info = arm
    small = EllipsoidRealizable(ellipsoids[TIGHT])
    words = {"all": "geometry", TIGHT: small, FREE: "consistent"}
    sets = {name: each for name, each in ellipsoids.items() if name not in (FREE, TIGHT)} | {TIGHT: small}
    mixed, given = fit.consistent(info, within=words), fit.consistent(info, within=sets)
    np.testing.assert_array_equal(mixed.parameters, given.parameters)
    assert "the mass of all 4 links" in " ".join(mixed.notes)
    one = fit.consistent(info, within={TIGHT: "geometry"})
    np.testing.assert_array_equal(one.parameters, fit.consistent(info, within={TIGHT: ellipsoids[TIGHT]}).parameters)


def test_a_prior_outside_its_geometry(arm):
    robot, ellipsoids, info = arm
    prior = robot.inertias.copy()
    prior[0, 1:] *= 20.0
    prior[0, 4:] *= 20.0  # the same body, twenty times as large
    held = fit.consistent(info, prior=prior, within="geometry")
    assert f"The model's own inertia of {robot.body_names[0]} cannot come from mass inside its geometry." in held.notes
    assert is_realizable(held.theta[0], ellipsoids[robot.body_names[0]])
    kept = fit.consistent(info, prior=prior, within="geometry", fixed={robot.body_names[0]: "all"})
    np.testing.assert_allclose(kept.theta[0], prior[0], rtol=1e-9, atol=1e-12)
    assert any("Values of the model are kept for" in note for note in kept.notes)
    weighed = fit.consistent(info, prior=prior, within="geometry", fixed={robot.body_names[0]: "mass"})
    assert weighed.theta[0, 0] == pytest.approx(prior[0, 0], rel=1e-9)
    assert is_realizable(weighed.theta[0], ellipsoids[robot.body_names[0]])


@pytest.mark.parametrize(
    "within, message",
    [
        ("shape", "within is 'shape'. Words: consistent, geometry"),
        ({"all": 3.0}, "within is 3.0"),
        ({FREE: "box"}, f"'{FREE}'.* is 'box'"),
        ({"elbow": "geometry"}, "no body 'elbow'; there are j2s6s200_link_1"),
    ],
)
def test_mistakes_are_explained(arm, within, message):
    with pytest.raises(OptionError, match=message):
        fit.consistent(arm[2], within=within)


def test_a_long_list_of_gaps_stays_readable(tmp_path):
    """One reason for all links of a package that is elsewhere, of others a few: the note must not fill the page."""
    path = tmp_path / "kinova.urdf"
    path.write_text(urdf("kinova").read_text().replace("package://example-robot-data/", "package://elsewhere/"))
    robot = load(path)
    (note,) = volumes("geometry", robot).notes
    assert note.startswith(f"Not bounded by geometry, physically consistent only: {FREE}, ")
    missing = "package 'elsewhere' is neither beside the model nor installed"
    assert note.endswith(f", {robot.body_names[5]} ({missing}).")
    path.write_text(path.read_text().replace("package://elsewhere/robots/", ""))
    (note,) = volumes("geometry", load(path)).notes
    assert note.count("does not exist") == 4
    assert f"and 2 more: {robot.body_names[4]}, {robot.body_names[5]}." in note
