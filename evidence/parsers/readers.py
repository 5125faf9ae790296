"""What is done with an input where that is more than a call: with the robot, the folder or the option it belongs to."""

import shutil
from pathlib import Path

import steelyard as sy
from evidence.parsers import seeds
from evidence.parsers.zipped import folder_of
from steelyard import check
from steelyard.app.options import channels_of, corrections_of, friction_of, options_for
from steelyard.app.redraw import again
from steelyard.errors import SteelyardError
from steelyard.fit.knowledge import fixed_from, masses_from, tied_from
from steelyard.fleet import runs_of
from steelyard.fleet.cache import load_part
from steelyard.information import load_information
from steelyard.information.files import is_information
from steelyard.log.ros.definitions import number_names, parse
from steelyard.model.side import read_known, read_side
from steelyard.pipeline.job_run import load_word
from steelyard.prepare.undo import corrected
from steelyard.terms import ratios_of
from steelyard.viewer import embed
from steelyard.viewer.played_motion import motion_of


def read_side_file(path: Path):
    read_side(path, seeds.arm())
    read_known(path, seeds.arm())


def read_channels(path: Path):
    sy.read_log(_table_beside(path), channels=channels_of(str(path)))


def read_channel_text(path: Path):
    text = path.read_bytes().decode("utf-8", "replace")
    sy.read_log(_table_beside(path), channels=channels_of("{" + text.removeprefix("{")))


def read_corrections(path: Path):
    channels = channels_of(str(path))
    words = corrections_of(channels)
    corrected(None, sy.read_log(_table_beside(path), channels=channels, units=words.units), words)


def _table_beside(path: Path) -> Path:
    """A log for a channel map to speak of."""
    table = path.with_name("beside.csv")
    if not table.exists():
        table.write_bytes(seeds.csv()[0])
    return table


def read_words(path: Path):
    """The words of one option, one a line, read as each option in turn: none may end in another error."""
    words = path.read_bytes().decode("utf-8", "surrogateescape").splitlines()[:20]
    options = [masses_from, fixed_from, tied_from, friction_of_all, *map(_each, (load_word, _coupling, _cutoff))]
    options += [_correction(name) for name in ("unit", "order", "scale", "offset", "delay")]
    refused = []
    for option in options:
        try:
            option(words)
        except SteelyardError as error:
            refused.append(error)
    if len(refused) == len(options):
        raise refused[0]


def friction_of_all(words):
    return [friction_of(word) for word in words]


def _cutoff(word):
    return options_for("identify")(cutoff=word).of_job()


def _each(option):
    return lambda words: [option(word) for word in words]


def _coupling(word: str):
    return ratios_of(word, seeds.arm().joint_names)


def _correction(name: str):
    return lambda words: corrected(None, seeds.log(), corrections_of(None, **{name: words}))


def read_definitions(path: Path):
    name, _, text = path.read_bytes().decode("utf-8", "replace").partition("\n")
    found = parse(text, name)
    for kind in found:
        number_names(kind, found)


def read_lerobot(path: Path):
    return sy.read_log(folder_of(path))


def read_bag(path: Path):
    return sy.read_log(folder_of(path))


def read_fleet(path: Path):
    """The runs of a table, and those that its rows' files would be."""
    return runs_of(folder_of(path))


def read_meshed(path: Path):
    """A model with its meshes and included files: loaded, checked and drawn."""
    folder = folder_of(path)
    model = next((each for each in (folder / "robot.urdf", folder / "robot.xml") if each.is_file()), folder / "none")
    check.run(model)
    embed(sy.load(model))


def write_back(path: Path):
    robot = sy.load(path)
    sy.save(robot.with_inertias(1.1 * robot.inertias), path.with_name(f"saved{path.suffix}"))


def repair(path: Path):
    check.repair(path, path.with_name(f"repaired{path.suffix}"), fix="all")


def read_motion(path: Path):
    """Played, and as what a design starts from."""
    is_information(path)
    motion_of(path, seeds.arm())


def read_information(path: Path):
    is_information(path)
    load_information(path, seeds.arm())


def read_part(path: Path):
    load_part(path, seeds.arm())


def read_result(path: Path):
    """A result folder, drawn again, and compared with itself."""
    folder = folder_of(path)
    other = path.with_name("other")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(folder, other)
    again([folder], path.with_name("again"))
    again([folder, other])
