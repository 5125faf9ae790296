"""Reports in a real browser: silent console, no network, every figure drawn, phones, accessibility, hostile names."""

import runpy
import shutil
from html import escape
from pathlib import Path

import numpy as np
import pytest
from evidence.bench.tray_experiment import test_object

from payload_logs import swing
from robots import SHARED_DATA
from small_runs import write_case, write_model
from steelyard.app.demo_job import demo
from steelyard.app.identification import identify
from steelyard.payload.payload_job import identify_files
from steelyard.payload.payload_report import write_payload
from steelyard.payload_request import Request
from steelyard.pipeline import Job, inspect
from steelyard.pipeline.identification import run
from steelyard.report.identification_report import record_of, view_of
from steelyard.report.log_health import health_view
from steelyard.report.rendering import page

EXAMPLE = Path(__file__).parents[2] / "examples" / "02_models_from_dh.py"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: pages are not drawn"),
    pytest.mark.claim(
        "report.drawn", "drawn in a browser without errors or network, on phones, accessible", pages=("docs/report.md",)
    ),
]
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"'`${alert(3)}&lt;b>ü–✓",
)
DRAW_ALL = """() => {
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  places.forEach(draw);
  return places.length;
}"""
DRAWN = """() => places.filter((place) => place.querySelector(
  ".main-svg .trace, .main-svg .points, .main-svg .lines, .main-svg .box")).length"""
OUTSIDE = """() => places.filter((place) => place.querySelector("svg").getBoundingClientRect().right
  > place.parentElement.getBoundingClientRect().right + 1).length"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as drivers:
        chromium = drivers.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield chromium
        chromium.close()


class Visit:
    """A page of a file, and everything it should not do."""

    def __init__(self, browser, path, width: int):
        self.complaints: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 844})
        self.page.on("console", lambda message: self._said(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=yes]", state="attached")

    def _said(self, text: str):
        if "GL Driver Message" not in text:  # of a test that reads pixels, not of the page
            self.complaints.append(text)

    def _requested(self, url: str):
        if not url.startswith(("file:", "data:", "blob:")):
            self.complaints.append(f"asked for {url}")


@pytest.fixture(scope="module")
def pages(tmp_path_factory, html, odd_log):
    """Files: a plain report, one whose model and log have names that attack, and the health of such a log."""
    folder = tmp_path_factory.mktemp("pages")
    names = dict(zip(("shoulder", "upper", "elbow"), map(escape, HOSTILE), strict=True))
    plain = write_case(folder / "plain", samples=600)
    model = write_model(folder / "arm.urdf", mass=5.5, forearm=1.3, name=escape("<i>arm</i>"), **names)
    data = np.loadtxt(plain[1], delimiter=",", skiprows=1)
    log = folder / "run <b>.npz"
    joints = [HOSTILE[0], HOSTILE[2], "slide"]
    np.savez(log, t=data[:, 0], q=data[:, 1:4], tau=data[:, 4:], joint_names=joints)
    attacked = record_of(run(Job(model=str(model), logs=(str(log),))))
    (folder / "plain.html").write_text(html, "utf-8")
    (folder / "hostile.html").write_text(page(view_of(attacked)), "utf-8")
    (folder / "health.html").write_text(page(health_view(inspect(odd_log), odd_log)), "utf-8")
    return folder


FIGURES = {"plain": 14, "hostile": 14, "health": 5}


@pytest.mark.parametrize(("name", "width"), [("plain", 390), ("plain", 1600), ("hostile", 390), ("health", 390)])
def test_everything_is_drawn_in_silence(browser, pages, name, width):
    visit = Visit(browser, pages / f"{name}.html", width)
    wanted = visit.page.evaluate(DRAW_ALL)
    assert wanted >= FIGURES[name]
    visit.page.wait_for_function(f"({DRAWN})() === {wanted}")
    assert visit.page.evaluate(OUTSIDE) == 0
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.complaints == []


def test_the_answers_are_on_the_first_screen_of_a_phone(browser, pages):
    visit = Visit(browser, pages / "plain.html", 390)
    bottom = visit.page.evaluate(
        "Math.max(...[...document.querySelectorAll('.answer .short')].map((e) => e.getBoundingClientRect().bottom))"
    )
    assert bottom < 844


@pytest.mark.claim("report.names")
def test_hostile_names_are_shown_as_they_are(browser, pages):
    visit = Visit(browser, pages / "hostile.html", 1600)
    visit.page.evaluate(DRAW_ALL)
    said = visit.page.inner_text("main")
    assert HOSTILE[0] in said and HOSTILE[2] in said
    ticks = visit.page.locator(".xtick text").all_text_contents()
    assert any(tick.startswith("<script>") for tick in ticks)
    assert visit.complaints == []


@pytest.mark.parametrize("width", [390, 1600])
def test_accessibility(browser, pages, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra `browser`")
    visit = Visit(browser, pages / "plain.html", width)
    visit.page.evaluate(DRAW_ALL)
    found = axe.Axe().run(visit.page)
    serious = [each for each in found.response["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []


def test_printing_opens_and_draws_everything(browser, pages):
    visit = Visit(browser, pages / "plain.html", 1600)
    content = visit.page.pdf(format="A4")
    assert content.startswith(b"%PDF") and visit.complaints == []
    assert visit.page.evaluate("places.every((place) => place.dataset.drawn)")
    assert visit.page.evaluate("[...document.querySelectorAll('details')].every((each) => each.open)")


@pytest.mark.parametrize("width", [390, 1000, 1600])
def test_real_reports_are_drawn_in_silence(browser, real_reports, width):
    """Of the demo, of a payload, and of the Panda's measured log where it is."""
    for path in real_reports:
        visit = Visit(browser, path, width)
        wanted = visit.page.evaluate(DRAW_ALL)
        visit.page.wait_for_function(f"({DRAWN})() === {wanted}")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.complaints == [], path
        visit.page.close()


@pytest.fixture(scope="module")
def real_reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    demo(folder / "demo")
    log = swing(test_object("tee").theta, noise=(0.05, 0.002, 0.01, 0.05))
    kept = ("t", "wrench", "rotation", "twist", "acceleration")
    np.savez(folder / "held.npz", **{name: getattr(log, name) for name in kept})
    request = Request(folder / "held.npz")
    write_payload(identify_files(request), request, {}, folder / "payload")
    if (measured := SHARED_DATA / "panda_unisa_30Hz.npz").is_file():
        make = runpy.run_path(str(EXAMPLE))["urdf_from_table"]
        (folder / "panda.urdf").write_text(make(SHARED_DATA / "models.json", "panda"))
        identify(folder / "panda.urdf", measured, out=folder / "panda")
    return sorted(folder.glob("*/report.html"))


def test_the_3d_view_turns(browser, real_reports):
    """Dragging over the robot changes the picture; the same place without dragging does not."""
    path = next(path for path in real_reports if path.parent.name == "demo")
    visit = Visit(browser, path, 1600)
    canvas = visit.page.locator("[data-steelyard-view] canvas")
    canvas.scroll_into_view_if_needed()
    visit.page.wait_for_selector("[data-steelyard-view][data-ready]")
    picture = "(canvas) => canvas.toDataURL()"
    before = canvas.evaluate(picture)
    assert len(before) > 5000 and canvas.evaluate(picture) == before
    box = canvas.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    visit.page.mouse.move(x, y)
    visit.page.mouse.down()
    visit.page.mouse.move(x + 120, y + 30, steps=4)
    visit.page.mouse.up()
    visit.page.wait_for_function(
        "([before]) => document.querySelector('[data-steelyard-view] canvas').toDataURL() !== before", arg=[before]
    )
    assert visit.complaints == []
