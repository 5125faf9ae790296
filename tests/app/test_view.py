"""`steelyard view` from the terminal."""

import json

import pytest
from typer.testing import CliRunner

from small_runs import write_case
from steelyard.app import app
from steelyard.app.identification import identify


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    model, log = write_case(folder, samples=600)
    identify(model, log, out=folder / "result")
    return folder


def invoke(*words):
    return CliRunner().invoke(app, ["view", *map(str, words)], catch_exceptions=False)


def test_model_estimate_and_motion_on_one_page(folder):
    page = folder / "view.html"
    done = invoke(
        folder / "arm.urdf",
        "--estimate",
        folder / "result",
        "--trajectory",
        folder / "run.csv",
        "-o",
        page,
        "--no-open",
    )
    assert done.exit_code == 0 and done.output.replace("\n", "") == f"Wrote {page}."
    text = page.read_text("utf-8")
    scene = json.loads(text.split('<script type="application/json">')[1].split("</script>")[0])
    found = json.loads((folder / "result" / "summary.json").read_text("utf-8"))["bodies"]
    for body, said in zip(scene["bodies"], found, strict=True):
        assert body["identified"]["mass"] == pytest.approx(said["identified"]["mass"])
        assert body["identified"]["com"] == pytest.approx(said["identified"]["com"])
        assert len(body["identified"]["region"]) == 9 and body["given"]["mass"] == pytest.approx(said["prior"]["mass"])
    assert scene["motion"]["duration"] == pytest.approx(5.99)


def test_it_opens_the_page(folder, monkeypatch):
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    assert invoke(folder / "arm.urdf", "-o", folder / "own.html", "--quiet").output == ""
    assert opened == [str(folder / "own.html")]


def test_refusals_are_one_line(folder):
    for words, said in (
        (["--estimate", folder / "nothing"], "identify"),
        (["-o", "view.png"], ".html"),
    ):
        done = invoke(folder / "arm.urdf", "--no-open", *words)
        assert done.exit_code == 2 and said in done.output
