"""The page of a view: complete, self-contained and safe with any name."""

import json
import re

import numpy as np
import pytest
from lxml import html as markup

import steelyard as sy
from steelyard.errors import OptionError
from steelyard.inertia import covariance_ellipsoid
from steelyard.model import library
from steelyard.viewer import embed, view
from view_models import HOSTILE, HOSTILE_NAMES, QUOTES, write_arm


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    robot = sy.load(write_arm(folder, **HOSTILE_NAMES))
    path = view(robot, estimate=robot.with_inertias(1.1 * robot.inertias), path=folder / "out" / "view.html")
    return path.read_text("utf-8")


def scene_of(text: str) -> dict:
    return json.loads(markup.fromstring(text).xpath("//script[@type='application/json']/text()")[0])


def test_it_needs_nothing_else(hostile):
    tree = markup.fromstring(hostile)
    assert not tree.xpath("//*[@src]") and [each.get("href") for each in tree.xpath("//*[@href]")] == ["data:,"]
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv]")[0].get("content")
    assert not re.search(r"https?://", hostile) and "url(" not in hostile and "import(" not in hostile


def test_hostile_names_are_text(hostile):
    tree = markup.fromstring(hostile)
    assert not tree.xpath("//img") and not tree.xpath("//b") and len(tree.xpath("//script")) == 2
    assert "<" not in tree.xpath("//script[@type='application/json']/text()")[0]
    found = scene_of(hostile)
    assert found["name"] == QUOTES and found["joints"][0]["name"] == QUOTES and found["bodies"][0]["name"] == HOSTILE
    assert "onerror=alert(3)" in found["notes"][0]
    assert QUOTES in tree.findtext(".//title")


def test_masses_are_solid_ellipsoids_of_the_same_inertia(hostile):
    """A homogeneous ellipsoid with semi-axes a has second moments a^2 / 5 about its centre."""
    for body in scene_of(hostile)["bodies"]:
        assert body["identified"]["mass"] == pytest.approx(1.1 * body["given"]["mass"])
        axes = np.array(body["given"]["ellipsoid"]).reshape(3, 3)
        mass, second = body["given"]["mass"], axes @ axes.T / 5
        inertia = mass * (np.trace(second) * np.eye(3) - second)
        assert np.linalg.eigvalsh(inertia)[0] > 0
        np.testing.assert_allclose(np.array(body["identified"]["ellipsoid"]), axes.ravel(), atol=1e-12)
    robot = library.scara()
    axes = np.array(scene_of(embed(robot))["bodies"][0]["given"]["ellipsoid"]).reshape(3, 3)
    np.testing.assert_allclose(axes @ axes.T / 5, covariance_ellipsoid(robot.inertias[0]).Q, atol=1e-12)


def test_a_body_that_no_mass_has_shows_no_ellipsoid():
    robot = library.scara()
    theta = robot.inertias.copy()
    theta[0, 4:] *= [1, 1, 1, 1, 1, -1]
    theta[1, 0] = 0.0
    bodies = scene_of(embed(robot.with_inertias(theta)))["bodies"]
    assert bodies[0]["given"]["ellipsoid"] is None and bodies[0]["given"]["com"] is not None
    assert bodies[1]["given"]["com"] is None


def test_motions_are_resampled(tmp_path):
    robot = library.scara()
    motion = sy.simulate.rich_motion(robot, duration=4.0)
    t = np.linspace(0, 4, 4001)
    log = sy.Log(t=t + 100, q=motion.evaluate(t)[0], joint_names=robot.joint_names)
    path = sy.write_npz(log, tmp_path / "log.npz")
    for given in (motion, log, path):
        found = scene_of(embed(robot, trajectory=given))["motion"]
        assert found["duration"] == pytest.approx(4.0) and len(found["q"]) < 8000
    with pytest.raises(OptionError, match="int"):
        embed(robot, trajectory=3)


def test_refusals_name_the_remedy(tmp_path):
    with pytest.raises(OptionError, match=r"\.html"):
        view(library.scara(), path=tmp_path / "view.txt")
    with pytest.raises(OptionError, match="holds no result"):
        view(library.scara(), estimate=tmp_path, path=tmp_path / "view.html")
    (tmp_path / "summary.json").write_text("[1]", "utf-8")
    with pytest.raises(OptionError, match="schema version"):
        view(library.scara(), estimate=tmp_path, path=tmp_path / "view.html")
    with pytest.raises(OptionError, match="bodies"):
        view(library.scara(), estimate=library.puma560(), path=tmp_path / "view.html")
    assert not (tmp_path / "view.html").exists()
