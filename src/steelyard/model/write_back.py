"""Writing a robot back: a verified copy of the user's own file with the identified elements changed, or a new file.

The file appears only after its text, written beside it under a temporary name, was read back and agrees with the robot.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.arguments import require_type
from steelyard.errors import ModelError, choices
from steelyard.model.changes import Draft
from steelyard.model.compare import structure_difference, value_difference
from steelyard.model.formats import BY_NAME, BY_SUFFIX, FORMATS, Format, document_of, listed, load
from steelyard.model.robot import Robot, Source


@dataclass(frozen=True)
class SaveReport:
    """What was written.

    path: the model file. changed: the elements that differ from the source, one line each. notes: what followed, was
    converted or has no place in the format. files: every file written, the model last. rescaled: of the notes those on
    links that could not keep their inertials, with their masses before and after.
    """

    path: Path
    changed: tuple[str, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...]
    rescaled: tuple[str, ...] = ()


def save(robot: Robot, path) -> SaveReport:
    """Write a robot as URDF (`.urdf`), MJCF (`.xml`) or SDF (`.sdf`).

    In the format it was read from, this edits a copy of the user's file: inertials of bodies whose inertia changed,
    damping and friction (MJCF: armature too) of joints where they changed, and paths to other files if the folder is
    another; every other byte stays. Otherwise a new file with bodies, joints and inertials is written, in SDF with the
    geometry of links.

    Args:
        robot: what is written.
        path: of the new file; parent folders are made.

    Returns:
        What was changed, and what the file has no place for.

    Raises:
        ModelError: with nothing written, for a physically inconsistent body, an input file as target, a source file
            that no longer describes the robot, and a result that does not read back as the robot.
    """
    require_type(Robot, robot=robot)
    require_type(str | PathLike, path=path)
    path = Path(path).absolute()
    format = BY_NAME[format_of(robot, path)]
    reference, floating = _reference(robot, format.name)
    document = reference and document_of(reference)
    read = document_of(robot) if document is None else None
    pieces = tuple(read.pieces()) if read is not None and read.exists else ()

    def draft(target: Path) -> Draft:
        if reference is not None and document is not None:
            return document.edited(robot, reference, target)
        assert format.new is not None  # `format_of` gives writable formats only
        return format.new(robot, target, pieces)

    final = draft(path)
    with _folder(path), storage.temporary_files() as temporary:
        trial = draft(storage.draft_of(path))
        for name, content in trial.files:
            temporary.append(name)
            name.write_bytes(content)
        _verify(trial, floating, path, robot.source if reference is not None else None)
        for (name, tried), (target, content) in zip(trial.files, final.files, strict=True):
            if content != tried:  # names of included files
                name.write_bytes(content)
            name.replace(target)
    notes = (*final.notes, *_notes(robot, reference, format))
    if robot.drives and "drives" in format.lacks:
        notes = (*notes, f"{format.name.upper()} has no place for drives; they belong in a side file beside it.")
    return SaveReport(path, final.changed, notes, tuple(target for target, _ in final.files), final.rescaled)


def format_of(robot: Robot, path: Path) -> str:
    """Name of the `Format` of a file that is to be written.

    Args:
        robot: what is written; its own format stays where the suffix is its own.
        path: of the new file.

    Returns:
        The name.

    Raises:
        ModelError: a target that must not be written.
    """
    suffix, source = path.suffix.lower(), robot.source
    writable = [each for each in FORMATS if each.new is not None]
    if suffix not in [known for each in writable for known in (each.suffix, *each.also)]:
        raise ModelError(f"{path} has suffix '{path.suffix}'; robots are written as {listed('or', writable)} files.")
    if path.is_dir():
        raise ModelError(f"{path} is a folder; give the name of the file to be written.")
    if source is None:
        return BY_SUFFIX[suffix].name
    if os.path.realpath(path) == os.path.realpath(source.path):
        raise ModelError(
            f"{path} is the file the robot was read from; input files are never changed. Choose another name."
        )
    # a URDF called .xml stays one
    return source.format if suffix == source.path.suffix.lower() else BY_SUFFIX[suffix].name


def _reference(robot: Robot, format: str) -> tuple[Robot | None, bool | None]:
    """The robot as its file reads now, and the `floating` option it was read with; None to write a new file."""
    if robot.source is None or robot.source.format != format:
        return None, None
    problem = None
    for floating in (None, robot.floating):
        try:
            reference = load(
                robot.source.path, floating=floating, folders=robot.source.folders, lock=robot.source.locked
            )
        except ModelError:
            if floating is None:  # a body that flies is read with a free base alone
                continue
            raise
        difference = structure_difference(reference, robot)
        if difference is None:
            return reference, floating
        problem = problem or difference
    raise ModelError(
        f"{robot.source.path} does not describe this robot: {problem}. Only inertias and joint properties are written "
        "back. Load the file again, or write a new file from `dataclasses.replace(robot, source=None)`."
    )


def _verify(trial: Draft, floating: bool | None, path: Path, source: Source | None):
    """Raise ModelError unless the written file reads back as it has to."""
    written = trial.files[-1][0]
    try:
        folders, lock = (source.folders, source.locked) if source else ((), None)
        found = load(written, floating=floating, folders=folders, lock=lock)
    except ModelError as error:
        problem = str(error).replace(str(written), str(path))
    else:
        problem = structure_difference(trial.expected, found) or value_difference(trial.expected, found)
    if problem:
        hint = f" The file's {', '.join(trial.suspects)} may be why: remove it and try again." if trial.suspects else ""
        raise ModelError(f"{path} was not written, because it would not read back as the robot: {problem}.{hint}")


def _notes(robot: Robot, reference: Robot | None, format: Format) -> list[str]:
    notes = []
    if reference is None and robot.source is not None:
        lost = "meshes, fixed links" if "geometry" in format.lacks else "sensors, plugins"
        notes.append(f"New file: {lost} and everything else of {robot.source.path.name} are not in it.")
    if reference is not None and not np.array_equal(robot.gravity, reference.gravity):
        notes.append(f"Gravity {robot.gravity.tolist()} was given when the robot was read; the file keeps its own.")
    if reference is None and robot.loops:
        notes.append(
            f"Closed loops ({choices(robot.loop_names)}) are not in it: the new file holds the open tree. A side file "
            "beside it can describe them."
        )
    if robot.rotors:
        notes.append("Motor rotors are not part of a model file; they belong in a side file beside it.")
    return notes


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make the folders above a path; take those made away again when something fails."""
    try:
        with storage.folders_above(path):
            yield
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror or error}.") from error
