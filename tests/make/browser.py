"""A headless Chromium with a software WebGL, for tests that look at pages. They skip where there is none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


@contextmanager
def chromium() -> Iterator:
    """A Playwright browser."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: pages are not drawn")
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pages are not drawn")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, *, width: int, height: int = 800) -> Iterator:
    """A page of a file; afterwards it must have logged nothing and asked for nothing but that file."""
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    context.close()
