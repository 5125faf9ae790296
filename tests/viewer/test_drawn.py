"""The view in a real browser: drawn, turned, moved, played, and usable without a mouse."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

import steelyard as sy
from browser import chromium, opened
from steelyard.viewer import embed, view
from steelyard.viewer.masses import Found
from steelyard.viewer.scene import page as page_of
from steelyard.viewer.scene import scene
from view_models import HOSTILE, HOSTILE_NAMES, write_arm

pytestmark = pytest.mark.claim("report.drawn")

ROOT = "[data-steelyard-view]"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    robot = sy.load(write_arm(folder, **HOSTILE_NAMES))
    motion = sy.simulate.rich_motion(robot, duration=2.0)
    return view(robot, estimate=robot.with_inertias(1.1 * robot.inertias), trajectory=motion, path=folder / "view.html")


def pixels(page) -> np.ndarray:
    """The canvas as (h, w, 3), settled."""
    page.wait_for_selector(f"{ROOT}[data-ready]", timeout=10_000)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    url = page.evaluate("() => document.querySelector('canvas').toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB")).astype(int)


def share_changed(one, other) -> float:
    return float((np.abs(one - other).max(axis=-1) > 8).mean())


@pytest.mark.parametrize("width", [390, 1600])
def test_it_draws_turns_moves_and_plays(browser, page_file, width):
    with opened(browser, page_file, width=width, height=600) as page:
        first = pixels(page)
        assert share_changed(first, first[2, -2]) > 0.02  # of the canvas is not background
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        canvas = page.locator("canvas").bounding_box()
        x, y = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 80, y + 20, steps=4)
        page.mouse.up()
        turned = pixels(page)
        assert share_changed(first, turned) > 0.01
        page.mouse.wheel(0, -400)
        assert share_changed(turned, pixels(page)) > 0.01
        before = pixels(page)
        slider = page.locator(".sy-joint input").first
        slider.scroll_into_view_if_needed()
        slider.focus()
        page.keyboard.press("End")
        assert "1.500 rad" in page.locator(".sy-joint output").first.text_content()
        assert share_changed(before, pixels(page)) > 0.005
        page.get_by_role("button", name="Play").click()
        page.wait_for_timeout(300)
        page.get_by_role("button", name="Pause").click()
        assert float(page.locator("[data-part=time]").input_value()) > 0.02


def test_keys_and_toggles_change_the_picture(browser, page_file):
    with opened(browser, page_file, width=1000, height=500) as page:
        before = pixels(page)
        page.locator("canvas").focus()
        for key in ("ArrowLeft", "+", "Shift+ArrowUp"):
            page.keyboard.press(key)
            after = pixels(page)
            assert share_changed(before, after) > 0.005, key
            before = after
        for label in (
            "Visual meshes",
            "Collision shapes",
            "Joint axes",
            "Link frames",
            "Skeleton",
            "Inertia ellipsoids",
            "Ground grid",
        ):
            page.get_by_label(label).click()
            after = pixels(page)
            assert share_changed(before, after) > 0.001, label
            before = after


def test_a_click_names_the_link(browser, page_file):
    with opened(browser, page_file, width=1000, height=500) as page:
        pixels(page)
        page.evaluate(
            f"() => {{ const v = document.querySelector('{ROOT}').viewer; v.camera.target = [0.2, 0, 0.1]; v.draw(); }}"
        )
        page.evaluate(f"() => {{ const v = document.querySelector('{ROOT}').viewer; v.q.fill(0); v.draw(); }}")
        canvas = page.locator("canvas").bounding_box()
        page.mouse.click(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2)
        assert page.locator(".sy-facts caption").text_content() == HOSTILE
        assert "4.400" in page.locator(".sy-facts").text_content()


@pytest.mark.parametrize("width", [390, 1600])
def test_no_accessibility_findings(browser, page_file, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    with opened(browser, page_file, width=width, height=500) as page:
        pixels(page)
        page.get_by_label("Click a link, or choose it here").select_option(index=1)
        found = axe.Axe().run(page).response["violations"]
        assert [(each["id"], [node["html"][:80] for node in each["nodes"]]) for each in found] == []


def test_wide_regions_are_drawn_for_the_chosen_link_only(browser, tmp_path):
    robot = sy.library.puma560()
    found = Found(
        robot.inertias, np.tile(np.eye(3), (robot.nb, 1, 1)) * np.array([1e-6, 0.25, *[1e-6] * 4])[:, None, None]
    )
    (tmp_path / "view.html").write_text(page_of(scene(robot, found=found)), "utf-8")
    with opened(browser, tmp_path / "view.html", width=1000, height=500) as page:
        before = pixels(page)
        assert "leaves 1 of 6 centres of mass wide open" in page.locator("[data-part=loose]").text_content()
        page.locator("[data-part=link]").select_option(index=2)
        after = pixels(page)
        assert share_changed(before, after) > 0.1
        assert "±1397.7" in page.locator(".sy-facts").text_content()  # 2.795 standard deviations of 0.5 m


def test_two_views_on_a_page_and_none_without_webgl(browser, tmp_path):
    views = embed(sy.library.scara()) + embed(sy.library.puma560())
    text = f"<!DOCTYPE html><html lang=en><title>two</title><link rel=icon href=data:,>{views}"
    (tmp_path / "two.html").write_text(text, "utf-8")
    with opened(browser, tmp_path / "two.html", width=800) as page:
        page.wait_for_selector(f"{ROOT}[data-ready]")
        assert page.locator(f"{ROOT}[data-ready]").count() == 2
    stop = "<script>HTMLCanvasElement.prototype.getContext = () => null;</script>"
    (tmp_path / "old.html").write_text(text.replace("<title>", stop + "<title>"), "utf-8")
    with opened(browser, tmp_path / "old.html", width=800) as page:
        assert page.get_by_text("needs WebGL 2").first.is_visible()
