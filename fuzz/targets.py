"""What is fuzzed: a format, its seeds and the function that reads it. A new parser is a line here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import steelyard as sy
from fuzz import seeds
from steelyard import check
from steelyard.cli.options import channels_of
from steelyard.inertia import mesh_files
from steelyard.information import load_information
from steelyard.model.side import read_known, read_side
from steelyard.payload import read_wrench_log
from steelyard.view.outcome import read_outcome


@dataclass(frozen=True)
class Target:
    """seeds: whole files; read: opens one and may raise nothing but SteelyardError."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    zipped: bool = False
    """Whether files are zip archives: members are then mutated, not the compressed bytes and their sums."""


def _side(path: Path):
    read_side(path, seeds.arm())
    read_known(path, seeds.arm())


def _channels(path: Path):
    sy.read_log(_table_beside(path), channels=channels_of(str(path)))


def _channel_text(path: Path):
    text = path.read_bytes().decode("utf-8", "replace")
    sy.read_log(_table_beside(path), channels=channels_of("{" + text.removeprefix("{")))


def _table_beside(path: Path) -> Path:
    """A log for a channel map to speak of."""
    table = path.with_name("beside.csv")
    if not table.exists():
        table.write_bytes(seeds.csv()[0])
    return table


def _information(path: Path):
    load_information(path, seeds.arm())


def _outcome(path: Path):
    read_outcome(path, seeds.arm())


TARGETS = {
    "urdf": Target(".urdf", seeds.urdf, sy.load),
    "mjcf": Target(".xml", seeds.mjcf, sy.load),
    "check-urdf": Target(".urdf", seeds.urdf, check.run),
    "check-mjcf": Target(".xml", seeds.mjcf, check.run),
    "side": Target(".steelyard.toml", seeds.side, _side),
    "channels": Target(".toml", seeds.channels, _channels),
    "channels-json": Target(".json", seeds.channels_json, _channel_text),
    "csv": Target(".csv", seeds.csv, sy.read_log),
    "npz": Target(".npz", seeds.npz, sy.read_log, zipped=True),
    "parquet": Target(".parquet", seeds.parquet, sy.read_log),
    "mat": Target(".mat", seeds.mat, sy.read_log),
    "hdf5": Target(".h5", seeds.hdf5, sy.read_log),
    "mcap": Target(".mcap", seeds.mcap, sy.read_log),
    "bag1": Target(".bag", seeds.bag1, sy.read_log),
    "bag2": Target(".db3", seeds.bag2, sy.read_log),
    "stl": Target(".stl", seeds.stl, mesh_files.load),
    "obj": Target(".obj", seeds.obj, mesh_files.load_colored),
    "ply": Target(".ply", seeds.ply, mesh_files.load_colored),
    "off": Target(".off", seeds.off, mesh_files.load),
    "glb": Target(".glb", seeds.glb, mesh_files.load_colored),
    "dae": Target(".dae", seeds.dae, mesh_files.load_colored),
    "3mf": Target(".3mf", seeds.threemf, mesh_files.load, zipped=True),
    "wrench-csv": Target(".csv", seeds.wrench_csv, read_wrench_log),
    "wrench-npz": Target(".npz", seeds.wrench_npz, read_wrench_log, zipped=True),
    "information": Target(".npz", seeds.information, _information, zipped=True),
    "summary": Target(".json", seeds.outcome, _outcome),
}
