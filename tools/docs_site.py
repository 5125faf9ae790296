"""Build the documentation site: pages of docs/, README, CONTRIBUTING and CHANGELOG, and the API from docstrings.

`make docs` runs this. Pages are gathered in a temporary folder, Sphinx turns every warning into an error, and the built
pages are looked at once more: no link without its target, and nothing that a browser would fetch from elsewhere.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from html.parser import HTMLParser
from importlib import import_module
from inspect import getmodule, isclass, isfunction, ismodule
from pathlib import Path
from urllib.parse import unquote, urlsplit

from site_pages import API, FOLDERS, FROM_ROOT, NAVIGATION

from steelyard.report.schema import KINDS, schema

ROOT = Path(__file__).parents[1]
FETCHED = {  # what a browser asks for by itself
    "script": "src",
    "img": "src",
    "source": "src",
    "iframe": "src",
    "link": "href",
    "video": "src",
    "object": "data",
}


def gather(folder: Path) -> None:
    """Every page of the site as a Markdown file."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("conf.py", "__pycache__"), dirs_exist_ok=True)
    (folder / "README.md").unlink()  # the navigation of readers without a site
    for page, source in FROM_ROOT.items():
        (folder / f"{page}.md").write_text(as_page((ROOT / source).read_text("utf-8")), "utf-8")
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.writelines(contents(caption, pages) for caption, pages in NAVIGATION.items())
    (folder / "api").mkdir()
    for name in API:
        (folder / "api" / f"{name}.md").write_text(api_page(name), "utf-8")
    listed = contents("", API)
    (folder / "api" / "index.md").write_text(f"# API\n\nEvery public name, from its docstring.\n{listed}", "utf-8")
    for first in FOLDERS:
        page = folder / f"{first}.md"
        others = sorted(str(path.relative_to(page.parent).with_suffix("")) for path in page.parent.rglob("*.md"))
        others.remove(page.stem)
        with page.open("a", encoding="utf-8") as text:
            text.write(contents("", others, hidden=True))
    (folder / "schemas").mkdir()
    for kind in KINDS:
        (folder / "schemas" / f"{kind}.schema.json").write_text(json.dumps(schema(kind), indent=1), "utf-8")
    for path in folder.rglob("*.md"):
        text = path.read_text("utf-8")
        path.write_text(beside_docs(text, len(path.relative_to(folder).parts) - 1), "utf-8")


def contents(caption: str, pages, *, hidden: bool | None = None) -> str:
    options = [f":caption: {caption}"] * bool(caption) + [":hidden:"] * (bool(caption) if hidden is None else hidden)
    return "\n```{toctree}\n:maxdepth: 1\n" + "\n".join([*options, "", *pages]) + "\n```\n"


def as_page(text: str) -> str:
    """A Markdown file of the root folder as it would be in docs/; examples, which no page is of, are named."""
    for page, source in FROM_ROOT.items():
        text = text.replace(f"]({source}", f"]({page}.md")
    text = re.sub(r"\[([^\]]+)\]\((examples/[^)]*)\)", r"\1 (`\2`)", text)
    return text.replace("](docs/README.md", "](index.md").replace("](docs/", "](")


def beside_docs(text: str, depth: int = 0) -> str:
    """Links of a page to files beside docs/ lead to their pages; tests have none, and are named.

    depth: of folders between docs/ and the page.
    """
    inside = "../" * depth
    for page, source in FROM_ROOT.items():
        text = text.replace(f"]({inside}../{source}", f"]({inside}{page}.md")
    return re.sub(rf"\[([^\]]+)\]\({re.escape(inside)}\.\./tests/[^)]*\)", r"`\1`", text)


def api_page(name: str) -> str:
    """Heading, docstring and every public name of one module."""
    path = "steelyard" if name == "steelyard" else f"steelyard.{name}"
    module = import_module(path)
    directives = [f".. automodule:: {path}", "   :no-index:", ""]
    for public in public_names(module):
        value = getattr(module, public)
        kind = "autoclass" if isclass(value) else "autofunction" if callable(value) else "autodata"
        options = ["   :members:"] * isclass(value)
        options += ["   :no-index:"] * (isclass(value) and name == "steelyard")  # its own package's page is the target
        directives += [f".. {kind}:: {path}.{public}", *options, ""]
    return f"# `{path}`\n\n```{{eval-rst}}\n" + "\n".join(directives) + "```\n"


def public_names(module) -> list[str]:
    """`__all__`, or else the classes and functions that a module defines; modules have pages of their own."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (isclass(value) or isfunction(value)) and getmodule(value) is module
    ]
    return [name for name in names if not ismodule(getattr(module, name))]


class Page(HTMLParser):
    """Targets of a page, the addresses it links to, and those that a browser fetches by itself."""

    def __init__(self, text: str):
        super().__init__()
        self.targets: set[str] = set()
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.targets |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if tag in FETCHED and FETCHED[tag] in found:
            self.fetched.add(found[FETCHED[tag]])


def problems(site: Path) -> list[str]:
    """One line for each link without a target and for each address outside the site that a page fetches."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [] if pages else [f"{site}: no pages"]
    for path, page in pages.items():
        here = path.relative_to(site)
        found += [f"{here}: fetches {url}" for url in sorted(page.fetched) if outside(url)]
        found += [
            f"{here}: no such target: {url}"
            for url in sorted(page.links | page.fetched)
            if not outside(url) and not reached(url, path, pages)
        ]
    styles = [
        path for path in site.rglob("*.css") if "url(http" in path.read_text("utf-8").replace('"', "").replace("'", "")
    ]
    return found + [f"{path.relative_to(site)}: fetches from elsewhere" for path in styles]


def outside(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def reached(url: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "data":
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].targets


def build(site: Path) -> int:
    """Build into a folder. Returns the exit status: that of Sphinx, or 1 where the finished pages have a problem."""
    from sphinx.cmd.build import main as sphinx

    with tempfile.TemporaryDirectory() as folder:
        gather(Path(folder))
        jobs = str(os.cpu_count() or 1)
        words = ["-b", "html", "-W", "--keep-going", "-q", "-E", "-j", jobs, "-c", str(ROOT / "docs")]
        shutil.rmtree(site, ignore_errors=True)
        status = sphinx([*words, "-d", str(Path(folder) / ".trees"), folder, str(site)])
    found = problems(site)
    print("\n".join(found) or f"{len(list(site.rglob('*.html')))} pages in {site}, links and pictures checked")
    return status or bool(found)


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1] if len(sys.argv) > 1 else "site").resolve()))
