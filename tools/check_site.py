"""Look at built pages: every link and picture leads somewhere, and a browser asks nobody for anything."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {
    "script": "src",
    "img": "src",
    "source": "src",
    "iframe": "src",
    "link": "href",
    "video": "src",
    "object": "data",
}


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


if __name__ == "__main__":
    complaints = problems(Path(sys.argv[1]).resolve())
    print("\n".join(complaints))
    sys.exit(bool(complaints))
