"""A robot as one JSON-ready dictionary: joint tree, shapes, masses, a motion. The page knows nothing else."""

import json
from functools import cache
from importlib.resources import files

import numpy as np

from steelyard.extras import extra
from steelyard.model import Joint, Robot
from steelyard.model.robot import WORLD
from steelyard.viewer.masses import Found, mass_of
from steelyard.viewer.played_motion import PlayedMotion
from steelyard.viewer.shape import ShapePart, looks, packed_shape, text
from steelyard.viewer.simplify import within_budget


def joint_tree(robot: Robot) -> list[dict]:
    """One entry a joint, parents first: frame (12,) of the child in the parent at zero, `[R | p]`; subspace (nv, 6);
    where it reads q (start, count): `slides`, then `angles`, and a quaternion where more are left."""
    return [
        {
            "name": joint.name,
            "kind": joint.kind,
            "parent": int(robot.parents[i]),
            "frame": frame(joint.rotation, joint.position),
            "subspace": joint.subspace.T.tolist(),
            "start": robot.q_slices[i].start,
            "count": joint.nq,
            "slides": joint.features.slides,
            "angles": joint.features.angles,
            "ratio": joint.ratio,
            "offset": joint.offset,
            "mimics": joint.mimics,
            "limits": _limits(joint),
        }
        for i, joint in enumerate(robot.joints)
    ]


def frame(rotation, position) -> list[float]:
    """(12,) `[R | p]` in row order."""
    return np.column_stack([rotation, position]).ravel().tolist()


def _limits(joint: Joint) -> list[float] | None:
    """Lower and upper limit of a joint of one coordinate, None where it has none."""
    ends = [float(joint.lower[0]), float(joint.upper[0])]
    return ends if joint.nq == 1 and np.isfinite(ends).all() and ends[0] < ends[1] else None


def start_pose(robot: Robot) -> np.ndarray:
    """(nq,) the neutral pose, each joint moved to the middle of its range where zero lies outside."""
    q = robot.neutral
    outside = (q < robot.lower) | (q > robot.upper)
    finite = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    middle = 0.5 * (np.where(finite, robot.lower, 0.0) + np.where(finite, robot.upper, 0.0))
    return np.where(outside, np.where(finite, middle, np.clip(q, robot.lower, robot.upper)), q)


BESIDE, SMALLEST = 0.7, 0.1  # times the length of its links, m, that a second robot stands aside; and the least length
TRIANGLES = 60_000  # of all shapes together: less than a megabyte of page


def scene(robot: Robot, *, found: Found | None = None, motion: PlayedMotion | None = None) -> dict:
    """What is to be seen of a robot."""
    seen = looks(robot)
    links = {link.name: link for link in robot.links}
    parts = [_placed(part, links, robot) for part in seen.parts if part.link in links]
    drawn = {part["body"] for part in parts if part["role"] == "visual"}
    parts = [part | {"bare": part["body"] not in drawn} for part in parts]
    far = [part["link"] for part in parts if not np.isfinite(part["frame"]).all()]
    return {
        "name": robot.name,
        "joints": joint_tree(robot),
        "q": start_pose(robot).tolist() if motion is None else motion.q[0].tolist(),
        "shapes": [packed_shape(shape) for shape in within_budget(seen.shapes, TRIANGLES)],
        "parts": [part for part in parts if np.isfinite(part["frame"]).all()],
        "bodies": [_body(robot, i, found) for i in range(robot.nb)],
        "motion": None if motion is None else _packed_motion(motion),
        "notes": [*seen.gaps, *(f"A part of {link} is too far away to be shown." for link in far), *_loop_notes(robot)],
    }


def side_by_side(first: dict, motion: PlayedMotion, other: PlayedMotion, name: str) -> dict:
    """The scene of a robot twice, called so, moving at once in the time of the first."""
    joints, count, bodies = first["joints"], len(first["q"]), len(first["bodies"])
    reach = sum(float(np.linalg.norm(joint["frame"][3::4])) for joint in joints if joint["parent"] != WORLD)
    shift = BESIDE * max(reach, SMALLEST)

    def held_by(item: dict, key: str) -> dict:
        """What a joint of the second robot holds, or the world: there, it stands aside along y."""
        if item[key] != WORLD:
            return {key: item[key] + len(joints)}
        at = list(item["frame"])
        at[7] += shift
        return {"frame": at}

    def called(what: str | None) -> str | None:
        return what and f"{what} ({name})"

    own = [
        joint
        | held_by(joint, "parent")
        | {"name": called(joint["name"]), "mimics": called(joint["mimics"]), "start": joint["start"] + count}
        for joint in joints
    ]
    parts = [
        part | held_by(part, "joint") | {"body": part["body"] if part["body"] == WORLD else part["body"] + bodies}
        for part in first["parts"]
    ]
    masses = [body | {"name": called(body["name"]), "joint": body["joint"] + len(joints)} for body in first["bodies"]]
    q = np.stack([np.interp(motion.t, other.t, column) for column in other.q.T], axis=1)
    both = PlayedMotion(motion.t, np.concatenate([motion.q, q], axis=1))
    return first | {
        "joints": [*joints, *own],
        "q": both.q[0].tolist(),
        "parts": [*first["parts"], *parts],
        "bodies": [*first["bodies"], *masses],
        "motion": _packed_motion(both),
    }


def _placed(part: ShapePart, links, robot: Robot) -> dict:
    """A part in the frame of the joint that moves it; -1 is the world."""
    link = links[part.link]
    R, p = link.rotation @ part.rotation, link.rotation @ part.position + link.position
    return {
        "link": part.link,
        "joint": WORLD if link.body == WORLD else int(robot.body_joints[link.body]),
        "body": link.body,
        "shape": part.shape,
        "frame": frame(R, p),
        "role": part.role,
        "color": None if part.color is None else [round(float(c), 3) for c in part.color],
    }


def _body(robot: Robot, i: int, found: Found | None) -> dict:
    spread = None if found is None or found.centers is None else found.centers[i]
    return {
        "name": robot.body_names[i],
        "joint": int(robot.body_joints[i]),
        "given": mass_of(robot.inertias[i]),
        "identified": None if found is None else mass_of(found.theta[i], spread),
    }


def _packed_motion(motion: PlayedMotion) -> dict:
    return {
        "t": text(motion.t, "<f4"),
        "q": text(motion.q, "<f4"),
        "duration": float(motion.t[-1]),
        "count": len(motion.t),
    }


def _loop_notes(robot: Robot):
    if robot.loops:
        named = ", ".join(robot.loop_names)
        yield f"Closed loops ({named}) stay closed in a motion; sliders move the joints of the open tree one by one."


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
    with extra("Drawing a robot as a page"):
        from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(_read(name))


@cache
def _read(name: str) -> str:
    return files("steelyard.viewer").joinpath("data", name).read_text("utf-8")
