"""A robot as one JSON-ready dictionary: joint tree, shapes, masses, a motion. The page knows nothing else."""

import numpy as np

from steelyard.model import WORLD, Robot
from steelyard.viewer.bodies import Found, mass_of
from steelyard.viewer.decimate import within_budget
from steelyard.viewer.looks import looks
from steelyard.viewer.motion import Motion
from steelyard.viewer.pack import packed_shape, text
from steelyard.viewer.shape import Part
from steelyard.viewer.tree import frame, joint_tree, start_pose

VERSION = 1
TRIANGLES = 60_000  # of all shapes together: less than a megabyte of page


def scene(
    robot: Robot, *, found: Found | None = None, motion: Motion | None = None, triangles: int = TRIANGLES
) -> dict:
    """What is to be seen of a robot (docs/view.md has the fields). triangles: of all shapes together, about."""
    seen = looks(robot)
    links = {link.name: link for link in robot.links}
    parts = [_placed(part, links, robot) for part in seen.parts if part.link in links]
    far = [part["link"] for part in parts if not np.isfinite(part["frame"]).all()]
    return {
        "version": VERSION,
        "name": robot.name,
        "joints": joint_tree(robot),
        "q": start_pose(robot).tolist() if motion is None else motion.q[0].tolist(),
        "shapes": [packed_shape(shape) for shape in within_budget(seen.shapes, triangles)],
        "parts": [part for part in parts if np.isfinite(part["frame"]).all()],
        "bodies": [_body(robot, i, found) for i in range(robot.nb)],
        "motion": None if motion is None else _packed_motion(motion),
        "notes": [*seen.gaps, *(f"A part of {link} is too far away to be shown." for link in far), *_loop_notes(robot)],
    }


def _placed(part: Part, links, robot: Robot) -> dict:
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


def _packed_motion(motion: Motion) -> dict:
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
