"""The notebook runs from beginning to end, in a copy of its folder: `make notebook`."""

import json
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOK = EXAMPLES / "quickstart.ipynb"


def test_the_notebook_is_stored_without_outputs():
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert not [each for each in cells if each.get("outputs") or each.get("execution_count")]


@pytest.mark.filterwarnings("default")  # of the kernel's own libraries
def test_the_notebook_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="make notebook installs what runs it")
    pytest.importorskip("ipykernel", reason="make notebook installs what runs it")
    import nbformat

    shutil.copytree(EXAMPLES / "double_pendulum", tmp_path / "double_pendulum")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    summary = json.loads((tmp_path / "result" / "summary.json").read_text("utf-8"))
    assert summary["verdict"]["level"] in ("good", "care")
    assert (tmp_path / "result" / "double_pendulum_identified.urdf").exists()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("text/html" in each.get("data", {}) for each in outputs)
    assert not [each for each in outputs if each["output_type"] == "error"]
    (tmp_path / "executed.ipynb").write_text(nbformat.writes(notebook))
