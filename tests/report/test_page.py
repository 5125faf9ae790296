"""The page: complete, self-contained, safe with any name, and drawn by a real browser."""

import json
import re
from base64 import b64decode
from html import escape
from zlib import decompress

import numpy as np
import plotly.graph_objects as go
import pytest
from lxml import html as markup
from plotly.offline import get_plotlyjs

from small_runs import write_case, write_model
from steelyard import plot
from steelyard.errors import OptionError
from steelyard.numbers import number, percent
from steelyard.pipeline import Job
from steelyard.pipeline.identification import run
from steelyard.report.figure_style import IDENTIFIED, MEASURED, NOMINAL
from steelyard.report.identification_report import record_of, view_of
from steelyard.report.rendering import markdown, page
from steelyard.sheets import markdown_text as escaped

HOSTILE = "<script>alert(1)</script>"
QUOTES = "\"'&lt;<b>ü–✓"


def without_scripts(text: str) -> str:
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_every_number_of_the_tables_is_on_the_page(found, html):
    shown = without_scripts(html).replace("\N{NO-BREAK SPACE}", " ")
    assert escape(found["verdict"]["headline"]).replace("&#x27;", "&#39;") in shown
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


@pytest.mark.claim(
    "report.questions",
    "the first screen answers four questions: better, by how much, usable, not known",
    pages=("docs/report.md",),
)
def test_the_verdict_comes_first_and_answers_four_questions(html, found):
    body = markup.fromstring(html).find(".//main")
    assert "verdict" in body[0].get("class") and "answers" in body[1].get("class")
    asked = [each.text_content() for each in body[1].xpath(".//dt")]
    assert asked == ["May I use it?", "Is it better?", "By how much?", "What is unknown?"]
    for each in found["verdict"]["answers"]:
        said = body[1].text_content().replace("\N{NO-BREAK SPACE}", " ")
        assert each["answer"] in said and each["detail"] in said


def test_it_needs_nothing_else(html):
    tree = markup.fromstring(html)
    assert not tree.xpath("//*[@src]")
    targets = [link.get("href") for link in tree.xpath("//*[@href]")]
    assert targets[0] == "data:,"
    assert all(target[1:] in tree.xpath("//@id") and target[0] == "#" for target in targets[1:])
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv]")[0].get("content")
    assert len(html.encode()) < 8e6
    plotting = decompress(b64decode(tree.xpath("//script[@id='plotly']/text()")[0])).decode()
    assert plotting == get_plotlyjs() and "Licensed under the MIT license" in plotting
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


@pytest.mark.claim("report.names", "hostile names are text")
def test_hostile_names_are_text(hostile_run):
    text = page(view_of(record_of(hostile_run)))
    tree = markup.fromstring(text)
    assert not tree.xpath("//img") and not tree.xpath("//main//b[not(ancestor::caption)]") and not tree.xpath("//i")
    own = [script for script in tree.xpath("//script") if "alert(" in (script.text or "")]
    assert all(script.get("type") == "application/json" for script in own)
    assert all("<" not in script.text for script in tree.xpath("//script[@type='application/json']"))
    assert HOSTILE in tree.text_content() and QUOTES in tree.text_content()
    # the plots get them as entities, which the plotting library shows as text
    error = json.loads(tree.xpath("//script[@id='data-errors-0']/text()")[0])
    assert [escape(HOSTILE), escape(QUOTES, quote=False), "slide"] == error["data"][0]["text"]


def test_hostile_names_are_text_in_markdown(hostile_run):
    text = markdown(view_of(record_of(hostile_run)))
    assert "<" not in re.sub(r"\\\\.|\\<", "", without_code(text))
    assert escaped(HOSTILE) in text and escaped(QUOTES) in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)


def test_figures_carry_the_data(small, record):
    found = record.summary
    for i, name in enumerate(small.after.joint_names):
        figure = plot.torque(record, name)
        measured, given, identified = figure.data
        assert (measured.name, given.name, identified.name) == ("measured", "nominal", "identified")
        np.testing.assert_allclose(identified.y, small.after.predicted[:, i], rtol=1e-6)
        np.testing.assert_allclose(given.y, small.before.predicted[:, i], rtol=1e-6)
        np.testing.assert_allclose(measured.y, small.after.measured[:, i], rtol=1e-6)
        assert name in figure.layout.title.text and figure.layout.yaxis.title.text in ("torque [N m]", "force [N]")
    given, identified = plot.errors(record).data
    np.testing.assert_allclose(identified.y, [100 * joint["relative_after"] for joint in found["held_out"]["joints"]])
    np.testing.assert_allclose(plot.masses(record).data[0].y, [body["prior"]["mass"] for body in found["bodies"]])
    assert (np.diff(plot.precision(record).data[0].customdata) >= 0).all()
    assert isinstance(given, go.Scatter)


def test_parts_add_up_to_the_prediction(small, record):
    """What the figure of parts shows is the predicted torque, but for parts too small to see."""
    for i, name in enumerate(small.after.joint_names):
        parts = plot.parts(record, name).data
        times = np.asarray(parts[0].x)
        whole = np.sum([part.y for part in parts], axis=0)
        t = small.after.t - small.after.t[0]
        predicted = small.after.predicted[np.searchsorted(t, times - 1e-3), i]
        np.testing.assert_allclose(whole, predicted, atol=5e-3 * np.abs(predicted).max())


def test_friction_curves_are_those_of_the_parameters(small, record):
    for joint in record.summary["joints"]:
        measured, _, identified = plot.friction(record, joint["name"]).data
        fast = np.abs(identified.x) > 0.5 * np.abs(identified.x).max()
        x, y = np.asarray(identified.x)[fast], np.asarray(identified.y)[fast]
        want = joint["viscous"]["identified"] * x + joint["coulomb"]["identified"] * np.sign(x)
        np.testing.assert_allclose(y, want + joint["offset"]["identified"], rtol=2e-2, atol=1e-3)
        # torques less all but friction scatter around the curve
        at = np.interp(measured.x, identified.x, identified.y)
        assert np.sqrt(np.mean((measured.y - at) ** 2)) < 0.5 * np.std(measured.y)


def test_errors_are_drawn_by_their_quantiles(small, record):
    for series, model in zip(plot.residuals(record).data, (small.before, small.after), strict=True):
        whole = np.sqrt(np.mean(model.measured**2, axis=0))
        np.testing.assert_allclose(series.median, 100 * np.median(model.error, axis=0) / whole, rtol=1e-9)
        np.testing.assert_allclose(series.upperfence, 100 * np.quantile(model.error, 0.95, axis=0) / whole, rtol=1e-9)


def test_unknown_joints_are_refused_with_the_known_ones(record):
    with pytest.raises(OptionError, match=r"'wrist'.*shoulder"):
        plot.torque(record, "wrist")
    with pytest.raises(OptionError, match="an index below 3"):
        plot.parts(record, 3)


def test_colours_differ_for_the_colour_blind():
    """Under Vienot's simulation of missing red or green cones, the three colours stay apart."""
    lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    protan = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
    deutan = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (MEASURED, NOMINAL, IDENTIFIED)]) / 255
    for defect in (protan, deutan):
        seen = rgb @ (np.linalg.inv(lms) @ defect @ lms).T
        for i, j in ((0, 1), (0, 2), (1, 2)):
            assert np.linalg.norm(seen[i] - seen[j]) > 0.25
