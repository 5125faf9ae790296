"""Options that take a fit to undo a mistake of a log, from the command line on: currents, delays, clipping."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from small_runs import JOINTS, torques, write_log, write_model
from steelyard.app import app
from steelyard.errors import DONE, FINDINGS, REFUSED
from steelyard.report.log_data import decided

pytestmark = pytest.mark.claim("logs.faults")

GAINS = np.array([8.0, 3.0, 40.0])
LATE = 0.012  # s


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def identified(*words):
    done = run("identify", *words, "--no-armature", "--json")
    assert done.exit_code in (DONE, FINDINGS), done.stderr
    return json.loads(done.stdout)


def noted(summary, pattern):
    (words,) = [words for words in decided(summary) if re.search(pattern, words)]
    return words


def late(t, tau):
    return np.stack([np.interp(t - LATE, t, tau[:, 0]), *tau[:, 1:].T], axis=1)


def clipped(tau):
    most = 0.7 * np.abs(tau).max(axis=0)
    return np.clip(tau, -most, most)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """True arm, a nominal model of it, and logs with mistakes."""
    folder = tmp_path_factory.mktemp("corrections")
    truth, given = write_model(folder / "truth.urdf"), write_model(folder / "arm.urdf", mass=3.2, forearm=2.5)
    loaded = folder / "loaded.urdf"
    loaded.write_text(truth.read_text().replace('<mass value="0.7"/>', '<mass value="2.2"/>'))
    write_log(folder / "clean.csv", truth)
    write_log(folder / "amperes.csv", truth, change=lambda t, q, tau: (t, q, tau / GAINS))
    write_log(folder / "amperes_loaded.csv", loaded, seed=1, change=lambda t, q, tau: (t, q, tau / GAINS))
    write_log(folder / "late.csv", truth, change=lambda t, q, tau: (t, q, late(t, tau)))
    write_log(folder / "clipped.csv", truth, change=lambda t, q, tau: (t, q, clipped(tau)))
    write_log(folder / "late_clipped.csv", truth, change=lambda t, q, tau: (t, q, clipped(late(t, tau))))

    def without_gravity(t, q, tau):
        return t, q, clipped(tau - torques(truth, q, 0 * q, 0 * q, noise=0.0))

    write_log(folder / "held_clipped.csv", truth, change=without_gravity)
    assert given.exists()
    return folder


def error(summary):
    return summary["held_out"]["relative_error_after"]


def test_drive_gains_with_a_known_load(folder):
    load = f"rod=1.5:{folder / 'amperes_loaded.csv'}"
    found = identified(folder / "arm.urdf", folder / "amperes.csv", "--drive-gains", "--load", load)
    note = noted(found, "Drive gains")
    gains = [float(re.search(rf"{joint} (-?[\d.]+)", note)[1]) for joint in JOINTS]
    np.testing.assert_allclose(gains, GAINS, rtol=0.02)
    assert "known loads" in note and error(found) < 0.05
    assert "--drive-gains --load rod=1.5:" in found["command"]


def test_drive_gains_by_the_given_model(folder):
    found = identified(folder / "arm.urdf", folder / "amperes.csv", "--drive-gains")
    assert "nominal model's masses" in noted(found, "Drive gains") and error(found) < 0.05


def test_a_load_without_gains_or_without_a_number_is_refused(folder):
    words = ("identify", folder / "arm.urdf", folder / "amperes.csv", "--load")
    alone = run(*words, f"rod=1.5:{folder / 'amperes_loaded.csv'}")
    assert alone.exit_code == REFUSED and "--drive-gains" in alone.stderr
    odd = run(*words, "rod=heavy:loaded.csv", "--drive-gains")
    assert odd.exit_code == REFUSED and "LINK=KG:LOG" in odd.stderr


def test_delays_that_the_log_tells(folder):
    clean = identified(folder / "arm.urdf", folder / "clean.csv")
    found = identified(folder / "arm.urdf", folder / "late.csv", "--delay", "auto")
    told = float(re.search(r"shoulder ([\d.]+) ms", noted(found, "Delays of torques"))[1])
    assert told == pytest.approx(1000 * LATE, abs=1)
    assert error(found) < 1.2 * error(clean)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["clipped", "late_clipped", "held_clipped"])
def test_clipped_torques(folder, name):
    """Also where a delay is undone first, or gravity added."""
    delay = ("--delay", f"shoulder={LATE}") if name == "late_clipped" else ()
    gravity = ("--gravity-model", folder / "truth.urdf") if name == "held_clipped" else ()
    words = (folder / "arm.urdf", folder / f"{name}.csv", *delay, *gravity)
    believed, filled = identified(*words), identified(*words, "--saturation")
    assert [f["code"] for f in believed["findings"]].count("saturation") == 3
    (longer,) = [f for f in filled["findings"] if f["code"] == "record_longer"]
    assert longer["evidence"]["times_as_long"] > 1.1 and "--saturation" in longer["message"]
    assert "filled" in noted(filled, "Clipped torques were")
    assert error(filled) < 0.5 * error(believed)
    roles = [(each["role"], each["path"]) for each in filled["provenance"]["inputs"]]
    assert (("gravity model", str(folder / "truth.urdf")) in roles) == bool(gravity)
    looked = run("inspect", words[1], "--model", words[0], *delay, *gravity)
    assert looked.exit_code == FINDINGS and looked.stdout.count("it looks clipped") == 3
