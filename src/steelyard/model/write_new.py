"""A new model file of a robot, with meshes and a side file beside it: the three say the same as the robot.

All are written under other names first and read back; only then do they appear, the model last.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import storage
from steelyard.errors import ModelError
from steelyard.model.changes import Draft
from steelyard.model.compare import structure_difference, value_difference, whole_difference
from steelyard.model.formats import BY_NAME, Format, document_of, load
from steelyard.model.meshes import Piece
from steelyard.model.normal_form import normal_form
from steelyard.model.robot import Robot
from steelyard.model.shape_output import output
from steelyard.model.side import read_side, side_path, with_limits
from steelyard.model.side_write import contents, side_text
from steelyard.numbers import NEGLIGIBLE

GRAIN = np.array([1e-6, 0, 0, 0, 1e-9, 0, 1e-9, 0, 0, 1e-9])  # a milligram, in place of a body without mass
MARK = "# what {} has no place for, written by steelyard\n"


def new_file(robot: Robot, path: Path, format: Format) -> Draft:
    """Write a robot in a format, its source file giving geometry. Raises ModelError, with nothing written, for what the
    format cannot hold, a result that does not read back as the robot, and a side file in the way."""
    assert format.new is not None and format.abilities is not None  # `format_of` gives writable formats only
    document = document_of(robot)
    there = document if document is not None and document.exists else None
    geometry = output(() if there is None else there.pieces(), format.shapes, path)
    form = normal_form(robot, format.abilities, geometry.pieces)
    meshes = path.with_name(f"{path.stem}_meshes")
    with storage.temporary_files() as temporary, _folder_beside(storage.draft_of(path), geometry.files) as folder:
        place = storage.draft_of(path)
        trial = format.new(form, place, geometry.in_folder(folder))
        found = read_back(trial, path, temporary, precision=format.precision)
        side, words = _side(trial.whole or robot, found, path, side_path(place), temporary, format.precision)
        if side is not None and robot.source is not None and _same(side_path(path), side_path(robot.source.path)):
            _require_shared(robot, side_path(place), path)
        files = [(meshes / name, content) for name, content in geometry.files.items()]
        if files:
            meshes.mkdir(exist_ok=True)
        for target, _ in files:
            (folder / target.name).replace(target)
        final = format.new(form, path, geometry.in_folder(meshes))  # where its meshes are now
        if side is not None:
            files.append((side_path(path), side))
            storage.write_bytes(side_path(path), side)
        for (name, _), (target, content) in zip(trial.files, final.files, strict=True):
            name.write_bytes(content)
            name.replace(target)
    lost = () if there is None else tuple(there.left_out())
    return replace(
        final,
        files=(*files, *final.files),
        changed=(f"new file: {', '.join(_counts(trial.whole or robot, found, geometry.pieces))}",),
        notes=(*final.notes, *words, *geometry.notes, *lost),
    )


def mjcf_text(robot: Robot) -> str:
    """Text of a new MJCF file of the moving bodies of a robot, for MuJoCo alone: massless bodies weigh 1 mg there.

    Fixed links count to their bodies, and loops are open; otherwise it is as `save` would write it.

    Args:
        robot: what is written.

    Returns:
        The text.

    Raises:
        ModelError: as `save`.
    """
    weighed = np.where(robot.inertias.any(axis=1, keepdims=True), robot.inertias, GRAIN)
    alone, format = replace(robot.with_inertias(weighed), links=(), sites=(), loops=()), BY_NAME["mjcf"]
    assert format.new is not None and format.abilities is not None
    draft = format.new(normal_form(alone, format.abilities), Path("robot.xml"), ())
    return draft.files[-1][1].decode()


def _counts(robot: Robot, found: Robot, pieces: tuple[Piece, ...]) -> Iterator[str]:
    roles = [piece.role for piece in pieces]
    numbers = {
        "bodies": robot.nb,
        "joints": robot.nj,
        "fixed links": sum(link.name not in robot.body_names for link in robot.links),
        "visual shapes": roles.count("visual"),
        "collision shapes": roles.count("collision"),
        "sites": len(robot.sites),
        "closed loops": len(found.loops),
        "drives": len(found.drives),
    }
    yield from (f"{number} {what}" for what, number in numbers.items() if number)


def read_back(trial: Draft, path: Path, temporary: list[Path], *, precision: float, **told: Any) -> Robot:
    """The robot of files, which are written for trial. path: under which name they will appear; temporary: their
    names are added; precision: as of `Format`; told: options of `load`. Raises ModelError where it is another robot."""
    for name, content in trial.files:
        temporary.append(name)
        name.write_bytes(content)
    written = trial.files[-1][0]
    try:
        found = load(written, **told)
    except ModelError as error:
        found, problem = None, str(error).replace(str(written), str(path))
    else:
        expected = trial.expected
        problem = structure_difference(expected, found, precision) or value_difference(expected, found, precision)
    if found is None or problem:
        hint = f" The file's {', '.join(trial.suspects)} may be why: remove it and try again." if trial.suspects else ""
        raise ModelError(f"{path} was not written, because it would not read back as the robot: {problem}.{hint}")
    return found


def _side(
    whole: Robot, found: Robot, path: Path, place: Path, temporary: list[Path], precision: float
) -> tuple[bytes | None, tuple[str, ...]]:
    """Content of the side file, None where there is nothing to say, and what is in it. Raises ModelError where both
    files together are not the robot, and for another side file in the place."""
    target = side_path(path)
    text = side_text(whole, written=found, tolerance=precision)
    before = target.read_bytes().decode(errors="replace") if target.is_file() else None
    own = before is None or before.startswith(MARK.format(path.name))
    said = contents(text)
    if not said and (before is None or not own):
        _require_whole(whole, found, path, precision)
        return None, ()
    if before is not None and not own:
        return None, (_left_as_it_is(whole, found, path, said, precision),)
    text = MARK.format(path.name) + text
    temporary.append(place)
    place.write_text(text, "utf-8")
    _require_whole(whole, read_side(place, found), path, precision)
    return text.encode(), (f"{target.name} has what {path.name} has no place for: {said}.",) if said else ()


def _left_as_it_is(whole: Robot, found: Robot, path: Path, said: str, precision: float) -> str:
    """What to say of somebody else's side file that belongs to the source, or is true of the new model but for limits.
    Raises ModelError for another one."""
    target, source = side_path(path), whole.source
    try:
        given = read_side(target, found)
        if source is None or not _same(target, side_path(source.path)):
            _require_whole(with_limits(whole, given), given, path, precision)
    except ModelError as error:
        raise ModelError(
            f"{path.name} has no place for {said}, which belongs in {target}, and that file is another's. Choose "
            f"another name for {path.name}."
        ) from error
    lost = contents(side_text(replace(whole, rotors=(), drives={}), written=given, tolerance=precision))
    less = f" It does not have {lost}, which {path.name} has no place for." if lost else ""
    return f"{target.name} is there already, stays as it is, and is read with {path.name}.{less}"


def _same(path: Path, other: Path) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _require_shared(robot: Robot, side: Path, path: Path):
    """Raise ModelError where the side file of a new model would count for the robot's own file, and change it."""
    source = robot.source
    assert source is not None
    told = {"folders": source.folders, "lock": source.locked, "arguments": source.arguments}
    own = load(source.path, floating=robot.floating, **told)
    try:
        _require_whole(own, read_side(side, own), path, NEGLIGIBLE)
    except ModelError as error:
        raise ModelError(
            f"{side_path(path)}, which {path.name} needs, would be read with {source.path.name}, too, and is not true "
            f"of it. Choose another name for {path.name}."
        ) from error


def _require_whole(whole: Robot, found: Robot, path: Path, precision: float):
    """Raise ModelError unless a robot that was read back has all that the written one has."""
    # a file may state what of a drive is not known, such as no damping
    drives = {name: drive.over(found.drives.get(name)) for name, drive in whole.drives.items()}
    problem = (
        structure_difference(whole, found, precision)
        or value_difference(replace(whole, links=(), drives=drives), found, precision)
        or whole_difference(whole, found, precision)
    )
    if problem:
        raise ModelError(f"{path} was not written, because it would not read back as the robot: {problem}.")


@contextmanager
def _folder_beside(place: Path, files: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder with files, none without any, that is gone afterwards."""
    folder = place.with_suffix("")
    if not files:
        yield folder
        return
    folder.mkdir()
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        yield folder
    finally:
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()
