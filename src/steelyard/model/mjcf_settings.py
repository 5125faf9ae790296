"""Settings of MJCF by which the compiler makes masses and dampers of its own: kept true to what is written.

`settotalmass` scales all bodies to a sum, so new inertials are written in the file's own scale, and the sum with them.
`springdamper` chooses stiffness and damping by the inertia, so joints that have it get the numbers that it stood for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.model.mjcf_compile import compile_file
from steelyard.model.mjcf_files import Files, Node
from steelyard.model.xml_edit import Edit, assign, number_text

Made = tuple[Node, list[Edit], str]  # an element, edits of it, and what they do in words
UNSET = -1.0  # settotalmass of a file without it


@dataclass(frozen=True, eq=False)
class Settings:
    """What the compiler made of a file.

    springs: (stiffness, damping) of each joint with `springdamper`, by its place among the joints of the file. total:
    kg of all bodies, where `settotalmass` says so; scale: kg in the model for each kg in the file. masses: (bodies,) kg
    in the model, the world first.
    """

    springs: dict[int, tuple[float, float]]
    total: float | None
    scale: float
    masses: np.ndarray


def settings_of(path: Path, folders: tuple[Path, ...]) -> Settings:
    """Settings of a file. folders: in which files that it names may lie.

    Raises ModelError where MuJoCo cannot compile it.
    """
    specs = []
    m, _ = compile_file(path, folders, specs.append)
    (spec,) = specs
    sprung = [joint.id for joint in spec.joints if (np.asarray(joint.springdamper) > 0).all()]
    springs = {i: (float(m.jnt_stiffness[i].flat[0]), float(m.dof_damping[m.jnt_dofadr[i]].flat[0])) for i in sprung}
    total = float(getattr(spec.compiler, "settotalmass", UNSET))  # deprecated in MuJoCo 4.0
    if total <= 0:
        return Settings(springs, None, 1.0, m.body_mass)
    own, _ = compile_file(path, folders, _without_total)
    return Settings(springs, total, total / float(own.body_mass.sum()), m.body_mass)


def _without_total(spec):
    spec.compiler.settotalmass = UNSET


def new_total(files: Files, settings: Settings, inertials: dict[int, np.ndarray]) -> Iterator[Made]:
    """Let the file's sum of masses follow new inertials, (10,) by body."""
    if settings.total is None:
        return
    total = number_text([settings.total + sum(float(theta[0] - settings.masses[i]) for i, theta in inertials.items())])
    for node in files.sections("compiler"):
        if "settotalmass" in node.element.attributes:
            yield node, assign(node.document, node.element, "settotalmass", total), f'settotalmass="{total}"'


def plain_springs(joints: list[Node], settings: Settings, damped: set[int]) -> Iterator[Made]:
    """Write the stiffness and damping of joints with `springdamper` themselves.

    damped: places of joints whose damping is written anyway. Joints that generators make are left: reading back tells.
    """
    for place, (stiffness, damping) in settings.springs.items():
        if place < len(joints):
            node = joints[place]
            values = {"springdamper": (0.0, 0.0), "stiffness": (stiffness,), "damping": (damping,)}
            edits = [
                edit
                for name, numbers in values.items()
                if name != "damping" or place not in damped
                for edit in assign(node.document, node.element, name, number_text(numbers))
            ]
            yield node, edits, "stiffness and damping that springdamper stood for"
