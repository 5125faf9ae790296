"""The page: complete, self-contained, safe with any name, and drawn by a real browser."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest
from lxml import html as markup

from small_runs import write_case, write_model
from steelyard.pipeline import Job, run
from steelyard.report import page, summary
from steelyard.report.figures import (
    AFTER,
    BEFORE,
    MEASURED,
    error_figure,
    mass_figure,
    precision_figure,
    torque_figures,
)
from steelyard.report.html import number
from steelyard.report.verdict import percent

HOSTILE = "<script>alert(1)</script>"
QUOTES = "\"'&lt;<b>ü–✓"


def without_scripts(text: str) -> str:
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_every_number_of_the_tables_is_on_the_page(found, html):
    shown = without_scripts(html)
    assert escape(found["verdict"]["headline"]) in shown
    for joint in found["held_out"]["joints"]:
        assert number(joint["rms_after"]) in shown and percent(joint["relative_after"]) in shown
    for body in found["bodies"]:
        for key in ("prior", "identified"):
            assert number(body[key]["mass"]) in shown and number(body[key]["inertia"][0][1]) in shown
    for each in found["base_parameters"]:
        assert number(each["identified"]) in shown and each["name"] in shown
    for each in found["provenance"]["inputs"]:
        assert each["sha256"] in shown
    assert escape(found["command"]) in shown and number(found["fit"]["certificate"]["duality_gap"]) in shown


def test_the_verdict_comes_first(html):
    body = markup.fromstring(html).find(".//main")
    assert "verdict" in body[0].get("class")


def test_it_needs_nothing_else(html):
    tree = markup.fromstring(html)
    assert not tree.xpath("//*[@src]")
    assert [link.get("href") for link in tree.xpath("//*[@href]")] == ["data:,"]
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv]")[0].get("content")
    assert len(html.encode()) < 8e6
    assert html.count("plotly.js v") == 1 and "Licensed under the MIT license" in html
    assert "url(" not in "".join(tree.xpath("//style/text()"))


def test_it_is_readable_by_machines_and_on_phones(html):
    tree = markup.fromstring(html)
    assert tree.get("lang") == "en" and tree.xpath("//meta[@name='viewport']")
    for table in tree.xpath("//table"):
        assert table.xpath("./caption") and table.xpath(".//th[@scope='col']")
        assert "scroll" in table.getparent().get("class")
    for drawn in tree.xpath("//*[@data-figure]"):
        assert drawn.get("aria-label")
        assert tree.xpath(f"//script[@id='data-{drawn.get('data-figure')}']")


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    names = {
        "shoulder": escape(HOSTILE),
        "elbow": escape(QUOTES),
        "upper": escape("</script><img src=x onerror=alert(2)>"),
    }
    plain = write_case(folder / "plain", samples=600)
    model = write_model(folder / "arm.urdf", mass=5.5, forearm=1.3, name=escape("<i>arm</i>"), **names)
    data = np.loadtxt(plain[1], delimiter=",", skiprows=1)
    log = folder / "run.npz"
    joints = [HOSTILE, QUOTES, "slide"]
    np.savez(log, t=data[:, 0], q=data[:, 1:4], tau=data[:, 4:], joint_names=joints)
    return run(Job(model=str(model), logs=(str(log),)))


def test_hostile_names_are_text(hostile_run):
    text = page(hostile_run, summary(hostile_run))
    tree = markup.fromstring(text)
    assert (
        not tree.xpath("//img")
        and not tree.xpath("//main//b[not(ancestor::p or ancestor::li)]")
        and not tree.xpath("//i")
    )
    own = [script for script in tree.xpath("//script") if "alert(" in (script.text or "")]
    assert all(script.get("type") == "application/json" for script in own)
    assert all("<" not in script.text for script in tree.xpath("//script[@type='application/json']"))
    assert HOSTILE in tree.text_content() and QUOTES in tree.text_content()
    # the plots get them as entities, which the plotting library shows as text
    error = json.loads(tree.xpath("//script[@id='data-error']/text()")[0])
    assert [escape(HOSTILE), escape(QUOTES, quote=False), "slide"] == error["data"][0]["x"]


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """<script>
window.addEventListener("load", () => {
  const drawn = places.filter((place) => place.querySelector(".main-svg .trace, .main-svg .points, .main-svg .lines"));
  parent.postMessage(JSON.stringify({
    drawn: drawn.length, wanted: places.length, width: window.innerWidth,
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    outside: places.filter((place) => place.querySelector("svg").getBoundingClientRect().right
                                      > place.parentElement.getBoundingClientRect().right + 1).length,
  }), "*");
});
</script>"""
# a frame may be as narrow as a phone, the window of a headless browser may not
FRAME = """<!DOCTYPE html><title>{}</title><link rel="icon" href="data:,">
<script>addEventListener("message", (event) => { document.title = event.data; });</script>
<iframe src="report.html" style="border: 0; width: WIDTHpx; height: 900px"></iframe>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the page is not drawn")
@pytest.mark.parametrize(("names", "width"), [("plain", 390), ("hostile", 390), ("plain", 1600)])
def test_a_browser_draws_all_of_it(width, names, small, html, hostile_run, tmp_path):
    text = html if names == "plain" else page(hostile_run, summary(hostile_run))
    (tmp_path / "report.html").write_text(text.replace("</body>", PROBE + "</body>"), "utf-8")
    (tmp_path / "frame.html").write_text(FRAME.replace("WIDTH", str(width)), "utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --dump-dom"
    command = [
        CHROMIUM,
        *flags.split(),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1700,1000",
        "--virtual-time-budget=10000",
        "--enable-logging=stderr",
        (tmp_path / "frame.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    seen = json.loads(markup.fromstring(done.stdout).findtext(".//title"))
    assert console == []
    assert seen["drawn"] == seen["wanted"] == 4 + len(small.after.joint_names)
    assert seen["overflow"] <= 0 and seen["outside"] == 0 and seen["width"] == width


def test_figures_carry_the_data(small, found):
    for i, (name, figure) in enumerate(torque_figures(small).items()):
        measured, before, after = figure.data
        assert (measured.name, before.name, after.name) == ("measured", "given", "identified")
        np.testing.assert_allclose(after.y, small.after.predicted[:, i], rtol=1e-6)
        np.testing.assert_allclose(before.y, small.before.predicted[:, i], rtol=1e-6)
        assert name in figure.layout.title.text and figure.layout.yaxis.title.text in ("torque [N m]", "force [N]")
    given, identified = error_figure(found).data
    np.testing.assert_allclose(identified.y, [100 * joint["relative_after"] for joint in found["held_out"]["joints"]])
    np.testing.assert_allclose(mass_figure(found).data[0].y, [body["prior"]["mass"] for body in found["bodies"]])
    assert (np.diff(precision_figure(found).data[0].customdata) >= 0).all()
    assert isinstance(given, go.Scatter)


def test_colours_differ_for_the_colour_blind():
    """Under Vienot's simulation of missing red or green cones, the three colours stay apart."""
    lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    protan = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
    deutan = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (MEASURED, BEFORE, AFTER)]) / 255
    for defect in (protan, deutan):
        seen = rgb @ (np.linalg.inv(lms) @ defect @ lms).T
        for i, j in ((0, 1), (0, 2), (1, 2)):
            assert np.linalg.norm(seen[i] - seen[j]) > 0.25


def test_long_logs_of_many_joints_stay_small(small):
    rng = np.random.default_rng(0)
    many = rng.normal(size=(50_000, 35))
    names = tuple(f"j{i}" for i in range(35))
    val = replace(small.after, t=np.arange(50_000) * 1e-3, predicted=many, measured=many, joint_names=names)
    columns = SimpleNamespace(subspace=np.eye(6)[:, 5:])
    robot = SimpleNamespace(free_joints=[columns] * 35, dof_names=names)
    figures = torque_figures(SimpleNamespace(job=small.job, prior=robot, before=val, after=val))
    assert sum(len(figure.to_json()) for figure in figures.values()) < 2.5e6
