"""What is known of links, from the command line and the side file to summary and report."""

import json
import shlex

import pytest
from typer.testing import CliRunner

import steelyard as sy
from small_runs import write_case
from steelyard.app import app
from steelyard.errors import REFUSED

BOX = '</inertial><collision><origin xyz="{} 0 0"/><geometry><box size="{} 0.3 0.3"/></geometry></collision>'.format
SIDE = """version = 1
[known.masses]
upper = 4.0
"forearm + rod" = 2.7
[known.fixed]
rod = ["com"]
[[known.ellipsoid]]
link = "forearm"
center = [0.15, 0, 0]
semi_axes = [0.05, 0.05, 0.05]
"""


def run(*words, code=None):
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert code is None or done.exit_code == code, done.output
    return done


def summary_of(*words):
    return json.loads(run("identify", *words, "--json").stdout)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A model that shows its links as boxes, one of them too short for its mass, and a log."""
    model, log = write_case(tmp_path_factory.mktemp("known"), samples=600)
    text = model.read_text()
    for center, length in ((0.2, 0.6), (0.15, 0.5), (-0.2, 0.1)):
        text = text.replace("</inertial>\n", BOX(center, length) + "\n", 1)
    model.write_text(text)
    return model, log


def test_mass_is_inside_the_geometry_where_that_is_asked_for(case, tmp_path):
    held = summary_of(*case, "--within", "geometry", "-o", tmp_path / "out")
    assert any(note.startswith("Assumed: the mass of all 3 links lies inside the geometry") for note in held["notes"])
    assert held["job"]["within"] == "geometry" and "--within geometry" in held["command"]
    assert "inside its geometry" in str(held["fit"]["binding"])
    free = summary_of(*case)
    assert "geometry" not in str(free["fit"]["binding"]) + str(free["notes"])
    before, after = (next(b for b in each["bodies"] if b["name"] == "rod")["identified"] for each in (free, held))
    assert before["com"][0] > 0 > after["com"][0]  # the box of the rod is behind its frame


def test_what_is_known_holds_and_is_repeated(case):
    words = ("--mass", "upper=4.1", "--mass", "forearm+rod=2.6", "--fix", "rod=mass,com")
    found = summary_of(*case, *words, "--within", "consistent")
    masses = {body["name"]: body["identified"]["mass"] for body in found["bodies"]}
    assert masses["upper"] == pytest.approx(4.1, rel=1e-9)
    assert masses["rod"] == pytest.approx(0.7, rel=1e-9)
    assert masses["forearm"] == pytest.approx(1.9, rel=1e-9)
    again = shlex.split(found["command"])
    del again[again.index("--out") : again.index("--out") + 2]
    assert summary_of(*again[2:])["bodies"] == found["bodies"]
    python = sy.identify(
        *case,
        masses={"upper": 4.1, ("forearm", "rod"): 2.6},
        fixed={"rod": ("mass", "com")},
        within="consistent",
    )
    assert python.estimate.theta[:, 0].tolist() == [body["identified"]["mass"] for body in found["bodies"]]
    assert list(python.job.masses) == found["job"]["masses"] == ["upper=4.1", "forearm+rod=2.6"]


def test_tied_links(case):
    found = sy.identify(*case, tied=["upper=forearm:y"], within="consistent").estimate.theta
    assert found[1, 0] == pytest.approx(found[0, 0], rel=1e-9)
    assert found[1, 2] == pytest.approx(-found[0, 2], abs=1e-9)


def test_contradictions_are_one_readable_message(case, tmp_path):
    masses = ("--mass", "upper=4", "--mass", "forearm=2", "--mass", "upper+forearm=7")
    refused = run("identify", *case, "-o", tmp_path / "out", *masses, code=REFUSED)
    assert refused.stdout == "" and not (tmp_path / "out").exists()
    message = " ".join(refused.stderr.split())
    assert message.startswith("steelyard: No parameters satisfy everything that is said to be known. In conflict: ")
    for part in ("mass of upper is 4 kg", "mass of forearm is 2 kg", "mass of upper + forearm is 7 kg"):
        assert part in message
    assert "rod" not in message and "Traceback" not in message


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    "words, message",
    [
        (("--mass", "upper"), "mass 'upper': expected LINK=KG"),
        (("--mass", "shin=2"), "no body 'shin'; there are upper, forearm, rod"),
        (("--fix", "rod=weight"), "expected LINK=all, or LINK= and any of mass,com,inertia"),
        (("--fix", "rod=inertia"), "Give ('com', 'inertia')"),
        (("--tie", "upper=forearm:q"), "LEFT=RIGHT:y for mirror images"),
        (("--within", "box"), "within is 'box'. Choose from consistent, geometry"),
    ],
)
def test_mistakes_are_explained(case, words, message):
    assert message in " ".join(run("identify", *case, *words, code=REFUSED).stderr.split())


def test_the_side_file_knows(case, tmp_path):
    model, log = case
    beside = tmp_path / model.name
    beside.write_bytes(model.read_bytes())
    (tmp_path / f"{model.stem}.steelyard.toml").write_text(SIDE)
    found = summary_of(beside, log, "--within", "consistent", "--mass", "upper=4.2", "-o", tmp_path / "out")
    masses = {body["name"]: body["identified"]["mass"] for body in found["bodies"]}
    assert masses["upper"] == pytest.approx(4.2, rel=1e-9)  # the command line counts more
    assert masses["forearm"] + masses["rod"] == pytest.approx(2.7, rel=1e-9)
    assert "forearm is in its UnionRealizable" in found["fit"]["binding"]
    said = " ".join(found["notes"])
    assert "mass of forearm + rod is 2.7 kg" in said and "ellipsoids hold the mass of forearm" in said
    assert "side file" in [each["role"] for each in found["provenance"]["inputs"]]
    assert found["rotors"] == []
    assert "knows of links is not written again" in said
    assert not list((tmp_path / "out").glob("*.steelyard.toml"))
