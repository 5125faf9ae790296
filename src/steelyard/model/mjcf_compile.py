"""MuJoCo's compiler, called so that no file can take the process with it, and what compiled models call things."""

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from steelyard.errors import ModelError
from steelyard.model.mjcf_files import MjcfFiles
from steelyard.model.xml import Document, Element
from steelyard.numbers import to_float
from steelyard.spatial import rotation_from_quaternion

_lock = Lock()
_listeners: list[list[str]] = []  # MuJoCo has one handler a process
_before: Any = None


@contextmanager
def captured_warnings() -> Iterator[list[str]]:
    """The warnings of MuJoCo while this is open, those of other threads included. A handler of the user is restored."""
    import mujoco

    global _before
    told: list[str] = []
    with _lock:
        if not _listeners:
            _before = mujoco.get_mju_user_warning()
            mujoco.set_mju_user_warning(_tell)
        _listeners.append(told)
    try:
        yield told
    finally:
        with _lock:
            _listeners[:] = [each for each in _listeners if each is not told]
            if not _listeners:
                mujoco.set_mju_user_warning(_before)


def _tell(message: str) -> None:
    for told in tuple(_listeners):
        told.append(message)


def compile_files(files: MjcfFiles, change: Callable = lambda spec: None):
    """MuJoCo model of an MJCF file, its MjSpec changed before, and MuJoCo's warnings. Raises ModelError, with MuJoCo's
    own."""
    for _ in files.named():  # none is outside the folders
        pass
    require_bounded(files)
    # After an exception that it did not foresee, MuJoCo (4.0) leaves its handler of warnings behind, one a thread, and
    # the next warning in that thread calls itself for ever. A thread of its own takes the handler with it.
    with ThreadPoolExecutor(1, "mujoco") as apart:
        return apart.submit(_compiled, files.main.path, change).result()


def compile_spec(spec, name: str):
    """The same of an MjSpec, which stays as it is. name: of it in messages."""
    with ThreadPoolExecutor(1, "mujoco") as apart:
        return apart.submit(_compiled, name, lambda spec: None, spec.copy).result()


def _compiled(path: Path | str, change: Callable, make: Callable | None = None):
    """make: of the MjSpec, in the place of the file at the path."""
    import mujoco

    with warnings.catch_warnings(record=True) as caught, captured_warnings() as told:
        warnings.simplefilter("always")
        try:
            spec = mujoco.MjSpec.from_file(str(path)) if make is None else make()
            change(spec)
            m = spec.compile()
        except (ValueError, RuntimeError) as error:  # the latter where MuJoCo fails within
            raise ModelError(f"MuJoCo cannot compile {path}: {str(error).strip()}") from error
    return m, [*(str(each.message) for each in caught), *told]


def body_name(m, body: int) -> str:
    """Name of a body, made up from its number where the file gives none."""
    return m.body(body).name or f"body{body}"


def joint_name(m, joint: int) -> str:
    """Name of a joint, made up from its body's where the file gives none."""
    body = m.jnt_bodyid[joint]
    return m.joint(joint).name or f"{body_name(m, body)}_joint{joint - m.body_jntadr[body]}"


def compiled_rotation(quaternion_w_first):
    """Rotation matrix of a quaternion in MuJoCo's order."""
    return rotation_from_quaternion(np.roll(np.asarray(quaternion_w_first, dtype=float), -1))


def joint_type(m, joint: int) -> str:
    """Type of a joint as MJCF spells it."""
    import mujoco

    return mujoco.mjtJoint(m.jnt_type[joint]).name.removeprefix("mjJNT_").lower()


# MuJoCo 4.0 compiles any of these in about 5 s on one core; its time grows with the square of the first two
MOST_BODIES = 6_000  # and joints
MOST_ELEMENTS = 30_000
MOST_SAMPLES = 2**26  # pixels of textures and heights of height fields
DEFAULT_COUNT = "10 10 10"  # of <flexcomp>


@dataclass(eq=False)
class _Tally:
    """What an MJCF file and everything that it names come to."""

    main: Path
    bodies: int = 0
    elements: int = 0
    samples: int = 0

    def add(self, element: Element, times: int) -> None:
        """Count an element that is made so many times. Raises ModelError at a limit."""
        self.elements += times
        if element.tag in ("body", "joint", "freejoint"):
            self.bodies += times
        elif element.tag in ("flexcomp", "composite"):
            self.bodies += times * prod(_counts(element.attributes.get("count", DEFAULT_COUNT)))
        elif element.tag in ("hfield", "texture"):
            self.samples += _samples(element)
        elif element.tag == "size":
            self.elements += sum(_counts(element.attributes.get("nkey", "")))
        for count, most, what in (
            (self.bodies, MOST_BODIES, "bodies and joints"),
            (self.elements, MOST_ELEMENTS, "elements"),
            (self.samples, MOST_SAMPLES, "pixels and heights"),
        ):
            if count > most:
                raise ModelError(
                    f"{self.main} stands for more than {most:,} {what}, counting what it replicates, includes and "
                    "attaches; such models are not read. Give the robot alone, without its surroundings."
                )


def require_bounded(files: MjcfFiles) -> None:
    """Raise ModelError for an MJCF file that MuJoCo would need minutes or all memory for, or never end with."""
    tally = _Tally(files.main.path)
    included: set[Document] = set()
    stack = [(files.main.root, 1, files.main)]
    while stack:
        element, times, document = stack.pop()
        tally.add(element, times)
        if element.tag == "include":
            other = files.includes.get(element)
            if other is not None and other not in included:  # MuJoCo refuses a second time
                included.add(other)
                stack.append((other.root, times, other))
        elif element.tag in ("model", "attach"):
            stack += [(part, times, other) for part, other in _attached(element, document, files)]
        copies = prod(_counts(element.attributes.get("count", "1"))) if element.tag == "replicate" else 1
        inner = times * max(copies, 1)
        stack += [(child, inner, document) for child in element.children]


def _attached(element: Element, document: Document, files: MjcfFiles) -> Iterator[tuple[Element, Document]]:
    """The other model that `<model>` has MuJoCo read, or the part of it that `<attach>` puts into this one."""
    named = element
    if element.tag == "attach":
        stems = ((each, Path(each.attributes.get("file", "")).stem) for each in document.root.every("model"))
        models = {each.attributes.get("name") or stem: each for each, stem in reversed([*stems])}  # the first counts
        named = models.get(element.attributes.get("model", ""), element)
    folders = {
        each.attributes.get(key, "") for each in document.root.every("compiler") for key in ("assetdir", "meshdir")
    }
    text = named.attributes.get("file")
    places = [document.path.parent / folder / text for folder in ("", *sorted(folders))] if text else []
    other = next(filter(None, (files.read.get(Path(os.path.realpath(each))) for each in places)), None)
    if other is None:
        return
    asked = element.attributes.get("body") if element.tag == "attach" else None
    named_so = (each for each in other.root.every("body") if asked and each.attributes.get("name") == asked)
    yield next(named_so, other.root), other


def _samples(element: Element) -> int:
    """Pixels of a texture or heights of a height field that its attributes ask for."""
    keys = ("nrow", "ncol") if element.tag == "hfield" else ("width", "height")
    columns, rows = (sum(_counts(element.attributes.get(key, ""))) for key in keys)
    if element.tag == "texture" and element.attributes.get("type", "cube") != "2d":
        rows = max(rows, 6 * columns)  # of a cube, one face above the other
    return columns * rows


def _counts(text: str) -> list[int]:
    """The whole numbers in an attribute; what is none is left to MuJoCo to refuse."""
    try:
        return [max(int(to_float(word)), 0) for word in text.split()]
    except (ValueError, OverflowError):
        return []
