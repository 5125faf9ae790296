"""The page of the papers' tables has the figures of this library."""

import json

import paper_tables


def test_tables_beside_the_papers_are_ours():
    page = paper_tables.PAGE.read_text("utf-8")
    assert page == paper_tables.marked(page, paper_tables.tables()), "run `python tools/paper_tables.py`"


def test_figures_in_sentences_are_those_of_the_tables():
    page = (paper_tables.ROOT / "docs" / "identifiability.md").read_text("utf-8")
    mended, scaled = paper_tables.locked().split("\n")[3:5]
    for figures, row in ((("0.93", "1.62"), mended), (("0.61", "0.02"), scaled)):
        assert all(each in row.split("|")[2] for each in figures) and f"{figures[0]} and {figures[1]} N m" in page
    stored = json.loads(paper_tables.study.STORED.read_text())["table"]
    payloads = (paper_tables.ROOT / "docs" / "payload.md").read_text("utf-8")
    for name in ("pmd", "density"):
        mass, centre, inertia = stored[name][1]
        assert f"{mass:.2f} / {centre:.2g} / {inertia:.2g} %" in payloads
