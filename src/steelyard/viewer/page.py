"""A scene as HTML that needs nothing else: a fragment for other pages, and a page of its own."""

import json
from functools import cache
from importlib.resources import files

SCRIPTS = ("kinematics", "camera", "shapes", "renderer", "picture", "player", "controls", "viewer")


def fragment(scene: dict, *, whole: bool = False) -> str:
    """HTML of a view, with its style and script. whole: whether it fills the window instead of a place in a page."""
    from markupsafe import Markup

    body = _template("view.html").render(name=scene["name"] or "robot", whole=whole, scene=Markup(_inline(scene)))
    code = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    return f'<style>\n{_read("view.css")}</style>\n{body}<script>\n"use strict";\n{{\n{code}}}\n</script>\n'


def page(scene: dict) -> str:
    """A page that is nothing but the view. It asks for no network and no other file."""
    from markupsafe import Markup

    title = f"{scene['name'] or 'Robot'}: 3D view"
    return _template("page.html").render(title=title, view=Markup(fragment(scene, whole=True)))


def _inline(value) -> str:
    """JSON that may stand inside a script element whatever its names contain."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _template(name: str):
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(_read(name))


@cache
def _read(name: str) -> str:
    return files("steelyard.viewer").joinpath("data", name).read_text("utf-8")
