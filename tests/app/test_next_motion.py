"""The command that a result names for what it could not know runs as it stands, for a log that needed options too."""

import json
import shlex

import numpy as np
from typer.testing import CliRunner

from small_runs import motion, torques, write_model
from steelyard.app import app

CHANNELS = {"t": "clock", "q": ["e1", "e2", "e3"], "tau": ["m1", "m2", "m3"]}


def odd_log(folder):
    """Columns that say nothing, shoulder and elbow with little motion, all torques in mN m or mN."""
    t, q, v, a = motion(samples=600, moving=(1.0, 0.02, 0.02))
    tau = torques(write_model(folder / "truth.urdf", mass=5.0), q, v, a, noise=0.05)
    path = folder / "odd.csv"
    head = ",".join(["clock", *CHANNELS["q"], *CHANNELS["tau"]])
    np.savetxt(path, np.column_stack([t, q, 1000 * tau]), delimiter=",", header=head, comments="")
    return path


def test_the_next_motion_is_designed_from_the_log_as_it_was_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, log = write_model(tmp_path / "arm.urdf"), odd_log(tmp_path)
    words = ["--channels", json.dumps(CHANNELS), *shlex.split("--scale tau:all=0.001 --gravity 0 0 -9.8 --saturation")]
    found = CliRunner().invoke(app, ["identify", str(model), str(log), *words, "-o", "result", "--json"])
    weak = next(each for each in json.loads(found.stdout)["unknown"] if each["kind"] == "weak")
    program, *command = shlex.split(weak["command"])
    assert program == "steelyard" and {"--channels", "--scale", "--gravity"} <= set(command)
    assert ("--armature" in command) == (".armature" in command[command.index("--focus") + 1])
    brief = ["--duration", "4", "--harmonics", "1", "--no-collisions", "--time", "0.5"]
    done = CliRunner().invoke(app, [*command, *brief])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "motion.csv").is_file()
    plain = [each for each in command if each not in ("--channels", json.dumps(CHANNELS))]
    assert CliRunner().invoke(app, plain).exit_code == 2
    of_result = ["result" if each == str(log) else each for each in plain]
    done = CliRunner().invoke(app, [*of_result, *brief])
    assert "result" in of_result and done.exit_code == 0, done.output
