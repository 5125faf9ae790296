"""Vector files: real vectors, readable text, all that the figure shows."""

import re
import sys

import pytest
from lxml import etree

from steelyard import plot
from steelyard.errors import OptionError

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `figures`")
FIGURES = ("contributions", "errors", "masses", "precision", "residuals")


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_a_vector_form(record, name, tmp_path):
    path = plot.save(getattr(plot, name)(record), tmp_path / f"{name}.svg")
    tree = etree.parse(str(path))
    said = " ".join(tree.getroot().itertext())
    assert not tree.findall(".//{*}image") and len(tree.findall(".//{*}path")) > 10
    figure = getattr(plot, name)(record)
    for text in (figure.layout.yaxis.title.text, *(figure.layout.xaxis.ticktext or ())):
        assert text in said


def test_lines_have_their_colours_and_names(record, tmp_path):
    path = plot.save(plot.torque(record, 0), tmp_path / "torque.svg", width=120, height=50)
    text = path.read_text()
    for color in ("#4d4d4d", "#d55e00", "#0072b2"):
        assert color in text.lower()
    assert all(f">{name}<" in text for name in ("measured", "nominal", "identified"))
    assert re.search(r'width="3[34]\d', text)  # 120 mm in points


def test_pdf_embeds_its_fonts(record, tmp_path):
    content = plot.save(plot.friction(record, "elbow"), tmp_path / "f.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"/FontFile2" in content and b"/Subtype /Image" not in content


def test_names_are_shown_as_they_are(record, tmp_path):
    figure = plot.errors(record)
    figure.layout.xaxis.ticktext = ("$x_1$", "&lt;b&gt;", "ü–✓")
    said = " ".join(etree.parse(str(plot.save(figure, tmp_path / "e.svg"))).getroot().itertext())
    assert "$x_1$" in said and "<b>" in said and "ü–✓" in said


def test_what_cannot_be_written_is_refused(record, tmp_path, monkeypatch):
    with pytest.raises(OptionError, match=r"\.svg.*got 'a.gif'"):
        plot.save(plot.errors(record), tmp_path / "a.gif")
    with pytest.raises(OptionError, match="cannot be written"):
        plot.save(plot.errors(record), tmp_path / "nowhere" / "a.svg")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(OptionError, match="steelyard\\[figures\\]"):
        plot.save(plot.errors(record), tmp_path / "a.svg")
