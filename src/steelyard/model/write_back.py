"""Writing a robot back: a verified copy of the user's own file with the identified elements changed, or a new file.

The file appears only after its text, written beside it under a temporary name, was read back and agrees with the robot.
"""

import os
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.arguments import require_type
from steelyard.errors import ModelError
from steelyard.model.changes import Draft
from steelyard.model.compare import structure_difference
from steelyard.model.formats import BY_NAME, BY_SUFFIX, FORMATS, document_of, listed, load, options_of_copy
from steelyard.model.robot import Robot
from steelyard.model.write_new import new_file, read_back


@dataclass(frozen=True)
class SaveReport:
    """What was written.

    rescaled: of the notes those on links that could not keep their inertials, with their masses before and after.
    """

    path: Path  # the model file
    changed: tuple[str, ...]  # the elements that differ from the source, one line each
    notes: tuple[str, ...]  # what followed, was converted or has no place in the format
    files: tuple[Path, ...]  # every file written, the model last
    rescaled: tuple[str, ...] = ()


def save(robot: Robot, path) -> SaveReport:
    """Write a robot as URDF (`.urdf`), MJCF (`.xml`), SDF (`.sdf`) or USD (`.usda`, `.usdc`, `.usd`).

    In the format it was read from, this edits a copy of the user's file: inertials of bodies whose inertia changed,
    damping and friction (MJCF: armature too) of joints where they changed, and paths to other files if the folder is
    another; every other byte stays. Otherwise a new file is written, with the geometry of the file that the robot was
    read from, and beside it a side file with what the format has no place for.

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
    if reference is None:
        with storage.placed(path, refusal=ModelError):
            return _report(path, _noted(robot, new_file(replace(robot, floor=None), path, format)))
    document = document_of(reference)
    assert document is not None  # it was read from its file
    final = document.edited(robot, reference, path)
    with storage.placed(path, refusal=ModelError), storage.temporary_files() as temporary:
        trial = document.edited(robot, reference, storage.draft_of(path))
        source = robot.source
        assert source is not None  # as there is a reference
        told = {"floating": floating, "lock": source.locked} | options_of_copy(source)
        read_back(trial, path, temporary, precision=format.precision, **told)
        for (name, tried), (target, content) in zip(trial.files, final.files, strict=True):
            if content != tried:  # names of included files
                name.write_bytes(content)
            name.replace(target)
    notes = (*final.notes, *_notes(robot, reference))
    if robot.drives and "drives" in format.lacks:
        notes = (*notes, f"{format.name.upper()} has no place for drives; they belong in a side file beside it.")
    return _report(path, _noted(robot, replace(final, notes=notes)))


def _noted(robot: Robot, written: Draft) -> Draft:
    """With a note where the file has no place for what contacts with the floor have."""
    if robot.floor is None or written.expected.floor == robot.floor:
        return written
    said = f"friction {robot.floor.friction[0]:.3g}, time constant {robot.floor.time_constant:.3g} s"
    return replace(written, notes=(*written.notes, f"The file has no place for contacts with the floor ({said})."))


def _report(path: Path, written: Draft) -> SaveReport:
    files = tuple(target for target, _ in written.files)
    return SaveReport(path, written.changed, written.notes, files, written.rescaled)


def format_of(robot: Robot, path: Path) -> str:
    """Name of the `Format` of a file to be written, the robot's own where the suffix is. Raises ModelError: it must not
    be."""
    suffix, source = path.suffix.lower(), robot.source
    writable = [each for each in FORMATS if each.new is not None]
    own = source and BY_NAME[source.format]
    if suffix not in [each for format in writable for each in format.suffixes]:
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
    stays = own is not None and suffix == (own.copies or source.path.suffix.lower())
    return source.format if stays else BY_SUFFIX[suffix].name


def _reference(robot: Robot, format: str) -> tuple[Robot | None, bool | None]:
    """The robot as its file reads now, and the `floating` option it was read with; None to write a new file."""
    if robot.source is None or robot.source.format != format:
        return None, None
    problem = None
    for floating in (None, robot.floating):
        try:
            reference = load(
                robot.source.path,
                floating=floating,
                folders=robot.source.folders,
                lock=robot.source.locked,
                arguments=robot.source.arguments,
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


def _notes(robot: Robot, reference: Robot) -> list[str]:
    notes = []
    if not np.array_equal(robot.gravity, reference.gravity):
        notes.append(f"Gravity {robot.gravity.tolist()} was given when the robot was read; the file keeps its own.")
    if robot.rotors:
        notes.append("Motor rotors are not part of a model file; they belong in a side file beside it.")
    return notes
