"""The health of a log as page, terminal and JSON: the same numbers, whatever the names."""

import io
import json
from html import escape

import numpy as np
import pytest
from lxml import html as markup
from rich.console import Console
from typer.testing import CliRunner

import steelyard as sy
from odd_logs import ODD_NAMES
from steelyard.app import app
from steelyard.errors import OptionError
from steelyard.numbers import number
from steelyard.pipeline import inspect
from steelyard.report.log_health import health_overview, health_view, sheets
from steelyard.report.outputs import write_file
from steelyard.report.rendering import markdown, page
from steelyard.report.schema import jsonable
from steelyard.sheets import markdown_text as escaped


@pytest.fixture(scope="module")
def found(odd_log):
    return inspect(odd_log)


@pytest.fixture(scope="module")
def html(found, odd_log):
    return page(health_view(found, odd_log))


def printed(found):
    screen = Console(width=250, record=True, file=io.StringIO())
    screen.print(health_overview(found))
    return screen.export_text()


def test_terminal_page_and_json_agree_number_for_number(found, html, odd_log):
    """Every cell of every table is the rounded number of the JSON, and stands on the terminal and on the page."""
    said, tree = jsonable(found), markup.fromstring(html)
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
    assert f"of torques {number(said['torque_cutoff'])} Hz" in text and said["torque_cutoff"] >= said["cutoff"]
    assert f"{number(said['cutoff'])} Hz" in text and f"{number(said['cutoff'])} Hz" in tree.text_content()
    assert {"gap", "coarse_position", "idle_end", "jitter"} & {each["code"] for each in said["findings"]}
    assert number(said["signals"][1]["quantum"]) == "0.002"


def test_figures_show_what_the_log_holds(found, odd_log):
    drawn = health_view(found, odd_log).figures
    assert set(drawn) == {("steps", 0), *(("spectrum", j) for j in range(3))}
    assert np.nansum(drawn["steps", 0]["data"][0]["y"]) == len(odd_log) - 1
    for j in range(3):
        spectrum, floor, cutoff = drawn["spectrum", j]["data"]
        assert cutoff["x"] == [found.cutoff, found.cutoff]
        high = np.asarray(spectrum["x"]) > 60
        ratio = np.asarray(spectrum["y"])[high] / np.asarray(floor["y"])[high]
        assert 0.7 < np.median(ratio) < 1.4  # white noise, and nothing else
        assert np.max(np.asarray(spectrum["y"])[np.asarray(spectrum["x"]) < 1] / floor["y"][0]) > 1e3


def test_names_are_text_and_nothing_is_fetched(html, odd_log, found):
    tree = markup.fromstring(html)
    assert (
        not tree.xpath("//*[@src]")
        and not tree.xpath("//main//i")
        and not tree.xpath("//main//b[not(ancestor::caption)]")
    )
    assert [link for link in tree.xpath("//@href") if not link.startswith("#")] == ["data:,"]
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv]")[0].get("content")
    assert all("<" not in script.text for script in tree.xpath("//script[@type='application/json']"))
    assert all(name.strip() in tree.text_content() for name in ODD_NAMES) and "summary.json" not in tree.text_content()
    assert len(html.encode()) < 4e6 and tree.xpath("//meta[@name='viewport']")
    assert escaped(ODD_NAMES[0]) in markdown(health_view(found, odd_log)) and ODD_NAMES[0] not in markdown(
        health_view(found, odd_log)
    )


def test_logs_that_cannot_be_looked_at(odd_log):
    """Damaged and tiny ones have a page, too, without what cannot be computed."""
    t = odd_log.t.copy()
    t[10] = t[9]
    for bad in (odd_log.replace(t=t), odd_log[:5], odd_log.replace(tau=np.full_like(odd_log.tau, np.nan))):
        found = inspect(bad)
        shown = health_view(found, bad)
        assert shown.screen.level == "keep" and set(shown.figures) == {("steps", 0)}
        assert "cannot be used" in markdown(shown) and "cannot be used" in printed(found)
    assert "cannot be used" in page(shown)


def test_command(odd_log, tmp_path):
    path, out = sy.write_npz(odd_log, tmp_path / "run.npz"), tmp_path / "health.html"
    done = CliRunner().invoke(app, ["inspect", str(path), "--html", str(out), "--json"])
    said = json.loads(done.output)
    assert done.exit_code == 1 and said["samples"] == 3000
    assert number(said["motion"][0]["speed"]) in out.read_text("utf-8")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["health.html", "run.npz"]
    for wrong, message in (
        (path, "is an input"),
        (path / "page.html", "cannot be written"),
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


def test_the_map_of_channels_is_shown(odd_log, tmp_path):
    """What was taken from where, as inferred and as a TOML file says."""
    path, toml = tmp_path / "run.csv", tmp_path / "map.toml"
    table = np.column_stack([odd_log.t, odd_log.q[:, :2], odd_log.tau[:, :2], odd_log.q[:, 2]])
    for head, options, expected in (
        ("time,pos_a,pos_b,current_a,current_b,x", [], ["t: read from columns like 'time'", "not recorded: v, a, tau"]),
        ("clock,x,y,i1,i2,z", ["--channels", str(toml)], ["q, tau of 2 joints", "not recorded: v, a", "not used: z"]),
    ):
        np.savetxt(path, table, delimiter=",", header=head, comments="")
        toml.write_text('t = "clock"\nq = {a = "x", b = "y"}\n[tau]\na = "i1"\nb = "i2"\n', encoding="utf-8")
        done = CliRunner().invoke(app, ["inspect", str(path), *options])
        assert done.exit_code in (0, 1), done.output
        assert all(words in done.output for words in expected), done.output
