"""The health of a log as page, terminal and JSON: the same numbers, whatever the names, and drawn by a real browser."""

import io
import json
import re
import shutil
import subprocess
from html import escape

import numpy as np
import pytest
from lxml import html as markup
from rich.console import Console
from typer.testing import CliRunner

import steelyard as sy
from steelyard.cli import app
from steelyard.errors import OptionError
from steelyard.inspect import inspect
from steelyard.log import Log
from steelyard.report.health import overview, sheets, view
from steelyard.report.html import page
from steelyard.report.jsonable import jsonable
from steelyard.report.markdown import escaped, markdown
from steelyard.report.numbers import number
from steelyard.report.outputs import write_file

NAMES = ("<script>alert(1)</script>", "\"'&lt;<b>ü–✓ ", "肘[red]x[/red]")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def log():
    """Three joints at 200 Hz with noise, steps, jitter, a gap and an idle end."""
    rng = np.random.default_rng(0)
    t = np.cumsum(np.full(3000, 5e-3) * (1 + 0.02 * rng.normal(size=3000)))
    t[1800:] += 0.4
    swing = np.sin(2 * np.pi * t[:, None] * [0.4, 0.7, 0.3]) * np.where(t < 13, 1.0, 0.0)[:, None]
    q = np.round((swing + 1e-4 * rng.normal(size=swing.shape)) / [1e-9, 2e-3, 1e-9]) * [1e-9, 2e-3, 1e-9]
    return Log(t=t, q=q, tau=3 * swing + 0.01 * rng.normal(size=q.shape), joint_names=NAMES, name="a <i>log</i>")


@pytest.fixture(scope="module")
def found(log):
    return inspect(log)


@pytest.fixture(scope="module")
def html(found, log):
    return page(view(found, log))


def printed(found):
    screen = Console(width=250, record=True, file=io.StringIO())
    screen.print(overview(found))
    return screen.export_text()


def test_terminal_page_and_json_agree_number_for_number(found, html, log):
    """Every cell of every table is the rounded number of the JSON, and stands on the terminal and on the page."""
    said, tree = jsonable(found.as_json()), markup.fromstring(html)
    text = printed(found)
    tables = {each.title.split()[0]: each for each in sheets(said)}
    assert set(tables) == {"Gaps", "Motion", "Signals"}
    for table, rows, keys in (
        ("Motion", said["motion"], ("span", "speed", "acceleration")),
        ("Signals", said["signals"], ("smallest", "largest", "rms", "noise", "quantum")),
    ):
        first = 1 if table == "Motion" else 2
        for row, entry in zip(tables[table].rows, rows, strict=True):
            assert [cell.text for cell in row[first : first + len(keys)]] == [number(entry[key]) for key in keys]
    assert [[cell.text for cell in row] for row in tables["Gaps"].rows] == [
        [number(x) for x in g] for g in said["gaps"]
    ]
    shown = [[" ".join(cell.text_content().split()) for cell in row] for row in tree.xpath("//tbody/tr")]
    for table in tables.values():
        for row in table.rows:
            cells = [" ".join(cell.text.split()) for cell in row]
            assert cells in shown
            assert any(all(cell.text.strip() in line for cell in row) for line in text.splitlines())
    for words in (said["findings"], said["notes"]):
        for each in words:
            message = each["message"] if isinstance(each, dict) else each
            assert escape(message, quote=False) in html.replace("&#34;", '"').replace("&#39;", "'")
            assert " ".join(message.split()) in " ".join(text.split())
    assert f"{number(said['cutoff'])} Hz" in text and f"{number(said['cutoff'])} Hz" in tree.text_content()
    assert {"gap", "coarse_position", "idle_end", "jitter"} & {each["code"] for each in said["findings"]}
    assert number(said["signals"][1]["quantum"]) == "0.002"


def test_figures_show_what_the_log_holds(found, log):
    drawn = view(found, log).figures
    assert set(drawn) == {("steps", 0), ("motion", 0), *(("spectrum", j) for j in range(3))}
    assert np.nansum(drawn["steps", 0].data[0].y) == len(log) - 1
    assert [list(trace.y) for trace in drawn["motion", 0].data] == [list(each.tenths) for each in found.motion]
    for j in range(3):
        spectrum, floor, cutoff = drawn["spectrum", j].data
        assert cutoff.x == (found.cutoff, found.cutoff)
        high = np.asarray(spectrum.x) > 60
        ratio = np.asarray(spectrum.y)[high] / np.asarray(floor.y)[high]
        assert 0.7 < np.median(ratio) < 1.4  # white noise, and nothing else
        assert np.max(np.asarray(spectrum.y)[np.asarray(spectrum.x) < 1] / floor.y[0]) > 1e3


def test_names_are_text_and_nothing_is_fetched(html, log, found):
    tree = markup.fromstring(html)
    assert (
        not tree.xpath("//*[@src]")
        and not tree.xpath("//main//i")
        and not tree.xpath("//main//b[not(ancestor::caption)]")
    )
    assert [link for link in tree.xpath("//@href") if not link.startswith("#")] == ["data:,"]
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv]")[0].get("content")
    assert all("<" not in script.text for script in tree.xpath("//script[@type='application/json']"))
    assert all(name.strip() in tree.text_content() for name in NAMES) and "summary.json" not in tree.text_content()
    assert len(html.encode()) < 4e6 and tree.xpath("//meta[@name='viewport']")
    assert escaped(NAMES[0]) in markdown(view(found, log)) and NAMES[0] not in markdown(view(found, log))


def test_logs_that_cannot_be_looked_at(log):
    """Damaged and tiny ones have a page, too, without what cannot be computed."""
    t = log.t.copy()
    t[10] = t[9]
    for bad in (log.replace(t=t), log[:5], log.replace(tau=np.full_like(log.tau, np.nan))):
        found = inspect(bad)
        shown = view(found, bad)
        assert shown.verdict["level"] == "keep" and set(shown.figures) == {("steps", 0)}
        assert "cannot be used" in markdown(shown) and "cannot be used" in printed(found)
    assert "cannot be used" in page(shown)


def test_command(log, tmp_path):
    path, out = sy.write_npz(log, tmp_path / "run.npz"), tmp_path / "health.html"
    done = CliRunner().invoke(app, ["inspect", str(path), "--html", str(out), "--json"])
    said = json.loads(done.output)
    assert done.exit_code == 1 and said["samples"] == 3000
    assert number(said["motion"][0]["speed"]) in out.read_text("utf-8")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["health.html", "run.npz"]
    for wrong, message in (
        (path, "is an input"),
        (tmp_path / "no" / "page.html", "cannot be written"),
        (tmp_path, "cannot"),
    ):
        done = CliRunner().invoke(app, ["inspect", str(path), "--html", str(wrong)])
        assert done.exit_code == 2 and message in done.output
    assert len(sy.read_log(path)) == 3000


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    out = write_file(tmp_path / "health.html", b"old", what="Page")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(out), "replace", fail)
    with pytest.raises(OptionError, match="No space left"):
        write_file(out, b"new", what="Page")
    assert out.read_bytes() == b"old" and list(tmp_path.iterdir()) == [out]


PROBE = """<script>
addEventListener("load", async () => {
  while (document.documentElement.dataset.ready !== "yes") await new Promise((done) => setTimeout(done, 50));
  places.forEach(draw);
  const drawn = places.filter((place) => place.querySelector(".main-svg .trace, .main-svg .points, .main-svg .lines"));
  document.title = JSON.stringify({drawn: drawn.length, wanted: places.length,
    overflow: document.documentElement.scrollWidth - innerWidth});
});
</script>"""
FRAME = """<!DOCTYPE html><title>?</title><link rel="icon" href="data:,">
<iframe id="f" src="page.html" style="border: 0; width: 390px; height: 900px"></iframe>
<script>setInterval(() => { document.title = f.contentDocument.title; }, 50);</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the page is not drawn")
def test_a_browser_draws_all_of_it_on_a_phone(html, tmp_path):
    (tmp_path / "page.html").write_text(html.replace("</body>", PROBE + "</body>"), "utf-8")
    (tmp_path / "frame.html").write_text(FRAME, "utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += (
        " --disable-component-update --disable-sync --allow-file-access-from-files --enable-logging=stderr --dump-dom"
    )
    command = [CHROMIUM, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1000,1000"]
    command += ["--virtual-time-budget=10000", (tmp_path / "frame.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    seen = json.loads(markup.fromstring(done.stdout).findtext(".//title"))
    assert seen["drawn"] == seen["wanted"] == 5 and seen["overflow"] <= 0
    assert not [line for line in done.stderr.splitlines() if re.search("CONSOLE.*(error|refused)", line, re.IGNORECASE)]
