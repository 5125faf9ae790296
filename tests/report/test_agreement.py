"""Summary, page, Markdown and terminal say the same, number for number."""

import re

import numpy as np
import pytest
from lxml import html as markup
from rich.console import Console

from steelyard.numbers import interval, number, percent, share
from steelyard.report.console import overview, rich_table
from steelyard.sheets import markdown_text as escaped

pytestmark = pytest.mark.claim(
    "report.agreement", "summary, page and terminal agree number for number, by a published schema"
)

DIGITS = re.compile(r"[−-]?\d[\d.e+−]*")


def sheets(view):
    return [part.sheet for section in view.sections for part in section.parts if part.sheet is not None]


def plain(text: str) -> str:
    return " ".join(text.split())


def test_tables_are_the_same_everywhere(view, html, text):
    """Cell by cell: every table of the page and of Markdown holds the words of the view, in order; those of the first
    printed page stand on it alone."""
    page = markup.fromstring(html)
    assert len(page.xpath("//div[@class='paper']//table")) == len(view.printed) == 4
    drawn = page.xpath("//table[not(ancestor::div[@class='paper'])]")
    assert len(drawn) == len(sheets(view)) > 8
    for table, sheet in zip(page.xpath("//div[@class='paper']//table"), view.printed, strict=True):
        said = [plain(each.text_content()) for each in table.xpath(".//tbody//th|.//tbody//td")]
        assert said == [plain(f"{cell.mark} {cell.text}{cell.was}{cell.note}") for row in sheet.rows for cell in row]
    lines = text.splitlines()
    for table, sheet in zip(drawn, sheets(view), strict=True):
        rows = table.xpath(".//tbody/tr")
        assert len(rows) == len(sheet.rows)
        for row, cells in zip(rows, sheet.rows, strict=True):
            for element, cell in zip(row.xpath("./th|./td"), cells, strict=True):
                said = f"{cell.mark} {cell.text}{cell.was}{cell.note}"
                assert plain(element.text_content()) == plain(said)
            first = escaped(cells[0].text)
            assert any(line.startswith(f"| {first}") for line in lines)
    for sheet in sheets(view):
        for cells in sheet.rows:
            for cell in cells:
                assert escaped(cell.text) in text and escaped(cell.was) in text


def test_the_tables_hold_the_numbers_of_the_summary(view, found):
    """Every number of the tables is one of the summary, written as numbers are."""
    named = {sheet.title: sheet for sheet in sheets(view)}
    for row, each in zip(named["Every parameter"].rows, found["parameters"], strict=True):
        want = each["name"], number(each["prior"]), number(each["identified"]), interval(each["lower"], each["upper"])
        assert tuple(cell.text for cell in row[:4]) == want and row[5].label == each["label"]
    for row, each in zip(named["Identifiable combinations"].rows, found["base_parameters"], strict=True):
        assert row[2].text == number(each["identified"]) and number(each["deviation"]) in row[3].text
    for row, body in zip(named["Links"].rows, found["bodies"], strict=True):
        assert (row[1].text, row[1].was) == tuple(number(body[key]["mass"]) for key in ("identified", "prior"))
        assert row[5].text == number(body["identified"]["inertia"][0][0])
    for row, each in zip(named["Error of each joint"].rows, found["held_out"]["joints"], strict=False):
        assert row[3].text == f"{number(each['rms_after'])} ({share(each['relative_after'])})"
    signals = named[f"Signals of {found['health'][0]['name']}"]
    for row, each in zip(signals.rows, found["health"][0]["signals"], strict=True):
        assert [cell.text for cell in row[2:7]] == [
            number(each[key]) for key in ("smallest", "largest", "rms", "noise", "quantum")
        ]


def test_the_first_screen_is_the_same_everywhere(found, html, text):
    main = plain(markup.fromstring(html).find(".//main").text_content())
    terminal = said(overview(found))
    verdict = found["verdict"]
    for words in (verdict["headline"], verdict["advice"], *verdict["reasons"]):
        assert words in main and escaped(words) in text and words in terminal
    for each in verdict["answers"]:
        for words in each.values():
            assert words in main and escaped(words) in text
    held = found["held_out"]
    for key in ("before", "after"):
        assert percent(held[f"relative_error_{key}"]) in verdict["headline"]


def test_the_terminal_shows_the_same_tables(view):
    for sheet in sheets(view)[:3]:
        terminal = said(rich_table(sheet))
        for row in sheet.rows:
            for cell in row:
                assert plain(cell.text) in terminal


def said(renderable) -> str:
    console = Console(width=400)
    with console.capture() as capture:
        console.print(renderable)
    return plain(capture.get())


def test_answers_are_in_the_words_of_the_numbers(found):
    use, better, much, unknown = found["verdict"]["answers"]
    held = found["held_out"]
    assert use["answer"] == {"good": "Yes", "care": "Yes, with care", "keep": "Not yet"}[found["verdict"]["level"]]
    ratio = held["relative_error_before"] / held["relative_error_after"]
    assert float(DIGITS.search(better["answer"]).group()) == np.round(ratio, 0 if ratio >= 10 else 1)
    assert much["answer"] == f"{percent(held['relative_error_before'])} → {percent(held['relative_error_after'])}"
    weak = sum(len(each["names"]) for each in found["unknown"] if each["kind"] == "weak")
    assert weak == sum(each["uncertain"] for each in found["base_parameters"])
    assert (f"{weak} of {len(found['base_parameters'])}" in unknown["answer"]) == (weak > 0)
