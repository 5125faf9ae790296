"""A library that was not installed is named, with the extra that brings it, before any work."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import log_files as files
import steelyard as sy
from steelyard.errors import OptionError
from steelyard.extras import EXTRAS, extra
from steelyard.inertia import mesh_files
from steelyard.model.meshes import read_mesh

DECLARED = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
# of modules with other names, or beneath
PACKAGES = {
    "collada": "pycollada",
    "markupsafe": "jinja2",
    "rerun": "rerun-sdk",
    "pxr": "usd-core",
    "yaml": "pyyaml",
}


@pytest.fixture
def hide(monkeypatch):
    """hide(module): makes an installation that lacks it."""

    def hidden(module):
        for name in [name for name in sys.modules if name.partition(".")[0] == module]:
            monkeypatch.delitem(sys.modules, name)
        for name in [name for name in sys.modules if name.startswith("steelyard.log.ros")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, module, None)

    return hidden


def test_extras_bring_what_they_are_said_to():
    for name, modules in EXTRAS.items():
        brought = {re.match(r"[\w-]+", line)[0] for line in DECLARED["optional-dependencies"][name]}
        assert {PACKAGES.get(module, module) for module in modules} == brought
    assert len(DECLARED["dependencies"]) <= 12


@pytest.mark.parametrize(
    "write, module",
    [
        (files.parquet, "pyarrow"),
        (files.hdf5, "h5py"),
        (files.mcap, "mcap"),
        (files.bag1, "rosbags"),
        (files.bag2_compressed, "zstandard"),
    ],
)
def test_a_log_whose_library_is_missing(write, module, motion, tmp_path, hide):
    path = write(motion(a=None), tmp_path)
    hide(module)
    with pytest.raises(OptionError, match=rf"^Reading .* needs {module}, .*: pip install 'steelyard\[logs\]'\.$"):
        sy.read_log(path)


def test_tables_are_read_without_arrow(motion, tmp_path, hide):
    log, path = motion(a=None), tmp_path / "run.csv"
    sy.write_csv(log, path)
    expected = sy.read_log(path)
    path.write_text(path.read_text() + "#" + " " * 2**20)  # large enough for Arrow, where there is one
    hide("pyarrow")
    np.testing.assert_array_equal(sy.read_log(path).q, expected.q)


@pytest.mark.parametrize("module", ["plotly", "jinja2"])
def test_a_report_without_its_library_is_refused_before_the_work(module, motion, tmp_path, hide):
    robot, out = sy.library.scara(), tmp_path / "out"
    hide(module)
    with pytest.raises(OptionError, match=rf"^Writing a report needs {module}, .*'steelyard\[report\]'\.$"):
        sy.identify(robot, tmp_path / "none.csv", out=out)
    assert not out.exists()


def test_a_mesh_without_its_library(tmp_path, hide):
    path = tmp_path / "cube.stl"
    path.write_bytes(b"solid")
    hide("trimesh")
    with pytest.raises(OptionError, match=r"^Reading meshes needs trimesh, .*'steelyard\[meshes\]'\.$"):
        mesh_files.load(path)
    found = read_mesh(path, "cube.stl")  # as models name it, whose other parts are of use without
    assert found.problem == "unchecked" and "pip install 'steelyard[meshes]'" in found.message


def test_a_module_of_no_extra_is_a_fault_of_the_library():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), extra("Reading"):
        import no_such_module  # noqa: F401  # pyright: ignore[reportMissingImports]
