"""Inputs that fuzzing found, each read again: read, or refused with one of our errors; the process survives."""

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from evidence.parsers.seeds import arm, information
from evidence.parsers.targets import TARGETS
from evidence.parsers.zipped import mutated

from steelyard.errors import FitError, SteelyardError
from steelyard.information import load_information

pytestmark = pytest.mark.claim(
    "trust.fuzzed",
    "every parser is fuzzed: inputs are read, or refused with a message; findings stay in the tests",
    pages=("docs/evidence/fuzzing.md",),
)

INPUTS = sorted(Path(__file__).parent.joinpath("inputs").iterdir())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # masses of 1e308 overflow on their way to a refusal
@pytest.mark.parametrize("file", INPUTS, ids=lambda file: file.name)
def test_found_inputs_are_read_or_refused(file, tmp_path, monkeypatch):
    """Any error that is not ours fails this."""
    name = file.name.partition(".")[0]
    path = tmp_path / f"input{TARGETS[name].suffix}"
    path.write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)  # where MuJoCo writes its log
    with suppress(SteelyardError):
        TARGETS[name].read(path)


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_whole_files(name, tmp_path):
    """Fuzzing that starts at refused files stays near the front of a parser."""
    for k, content in enumerate(TARGETS[name].seeds()):
        path = tmp_path / f"{k}{TARGETS[name].suffix}"
        path.write_bytes(content)
        target = TARGETS[name]
        if name == "csv" and k == 2:  # no header, which is a way of its own
            with pytest.raises(SteelyardError):
                target.read(path)
        else:
            target.read(path)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "info.npz"
    path.write_bytes(information()[0])
    with np.load(path) as file:
        return path, {name: file[name] for name in file.files}


@pytest.mark.parametrize("lost", ["gram", "basis_null_space", "bodies", "dof_names", "coulomb_width"])
def test_information_that_lacks_a_part(saved, lost):
    path, arrays = saved
    about = json.loads(str(arrays["about"]))
    (arrays if lost in arrays else about).pop(lost)
    np.savez(path, **arrays | {"about": json.dumps(about)})
    with pytest.raises(FitError, match=rf"no whole Information \(KeyError: '{lost}'"):
        load_information(path, arm())


@pytest.mark.parametrize("key", ["gram", "counts", "basis_regrouping"])
def test_information_whose_arrays_do_not_belong_together(saved, key):
    path, arrays = saved
    np.savez(path, **arrays | {key: arrays[key][:-1]})
    with pytest.raises(FitError, match=f"{key} is .* expected numbers of shape"):
        load_information(path, arm())


def test_archives_stay_whole_under_mutation():
    """Without this, fuzzing would only ever meet wrong check sums."""
    data = TARGETS["npz"].seeds()[0]
    outputs = [mutated(data, 10**5, seed, lambda content, size: content[:-3] + b"abc") for seed in range(20)]
    whole = [output for output in outputs if output != data[:-3] + b"abc"]
    assert len(whole) >= 12
    for output in whole:
        with zipfile.ZipFile(io.BytesIO(output)) as archive:
            assert archive.testzip() is None
            assert sum(archive.read(name)[-3:] == b"abc" for name in archive.namelist()) == 1
