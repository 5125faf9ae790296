"""Links, pictures and navigation of the documentation, without building the site."""

import re
import unicodedata
from functools import cache
from pathlib import Path

import data_flow
import peer_table
import pytest
from docs_site import beside_docs, problems, public_names
from docstring_markdown import restructured
from site_pages import API, FOLDERS, FROM_ROOT, INDEX, NAVIGATION, index

pytestmark = pytest.mark.claim("trust.pages", "pages and their pictures are those of the code")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in FROM_ROOT.values()), *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")


@cache
def prose(path: Path) -> str:
    """A page without its code."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda span: "x" * len(span[0]), text)


@cache
def anchors(path: Path) -> set[str]:
    """Addresses of a page's headings: lower case, words joined by hyphens, marks dropped."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = set()
    for title in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        kept = (c for c in plain if c in " -_" or unicodedata.category(c)[0] in "LNM")
        found.add("".join(kept).strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_pictures_lead_somewhere(path):
    for target in LINK.findall(prose(path)):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.is_file(), target
        assert not anchor or anchor in anchors(found), target


def test_every_page_is_in_the_navigation():
    shown = [page for pages in NAVIGATION.values() for page in pages]
    made = {*FROM_ROOT, "api/index"}
    written = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    written -= {"README"}  # the same order for readers of the folder
    written -= {page for page in written if any(page.startswith(f"{first.rpartition('/')[0]}/") for first in FOLDERS)}
    assert len(shown) == len(set(shown))
    assert set(shown) | {"index"} == written | made | set(FOLDERS)


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: str(path.relative_to(DOCS)))
def test_no_link_of_the_site_leaves_it(path):
    depth = len(path.relative_to(DOCS).parts) - 1
    text = path.read_text("utf-8")
    assert path == DOCS / "README.md" or "](" + "../" * (depth + 1) not in beside_docs(text, depth)


def test_the_index_of_the_folder_is_the_navigation():
    assert INDEX.read_text("utf-8") == index(), "run `python tools/site_pages.py`"


@pytest.mark.parametrize("path", peer_table.PAGES, ids=lambda path: path.name)
def test_the_table_beside_other_tools_is_that_of_the_results(path):
    text = path.read_text("utf-8")
    assert peer_table.page(text) == text, "run `python tools/peer_table.py`"


def test_every_public_package_has_a_page():
    import steelyard

    modules = {name for name in steelyard.__all__ if name not in public_names(steelyard)}
    assert modules <= {name.rpartition(".")[2] for name in API}


def test_the_picture_of_the_layers_is_that_of_the_contract():
    picture = data_flow.PICTURE.read_text("utf-8")
    assert picture == data_flow.svg(), "run `python tools/data_flow.py`"
    modules = {path.stem for path in (ROOT / "src" / "steelyard").iterdir() if not path.name.startswith(("_", "py."))}
    assert {name for layer in data_flow.layers() for name in layer} == modules


def test_paths_of_the_contributing_guide_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Places")[1].split("## Style")[0]
    for path in re.findall(r"`((?:\w+/)+[\w.]*|\w+\.py)`", text):
        under = [folder / path for folder in (ROOT, ROOT / "src/steelyard", ROOT / "src/steelyard/model")]
        assert "NAME" in path or any(place.exists() for place in under), path
    inside = re.findall(r"`(?:\w+/)*(\w+)/\w+_\*\.py`", text)
    assert inside == ["check"]


def test_docstrings_become_restructured_text():
    assert restructured("a: `(n, 6)` in*out, x_ and |y|") == "a: ``(n, 6)`` in\\*out, x\\_ and \\|y\\|"
    assert restructured("Words:\n- one\n  more\n- two") == "Words:\n\n- one\n  more\n- two"
    assert restructured("Words\n\n    code\n\nwords") == "Words\n\n::\n\n    code\n\nwords"


def test_a_built_page_that_fetches_or_leads_nowhere_is_told(tmp_path):
    (tmp_path / "a.html").write_text('<a id="top" href="b.html#there">b</a><script src="https://x.org/y.js"></script>')
    (tmp_path / "b.html").write_text('<p id="here"></p><a href="a.html#top"></a><img src="none.png">')
    assert problems(tmp_path) == [
        "a.html: fetches https://x.org/y.js",
        "a.html: no such target: b.html#there",
        "b.html: no such target: none.png",
    ]
    assert problems(tmp_path / "nothing") != []
