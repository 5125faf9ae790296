"""What is fuzzed: a format, its seeds and the function that reads it. A new parser is a line here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import steelyard as sy
from evidence.parsers import nested, seeds, seeds_of_folders, seeds_of_meshes, zipped
from evidence.parsers.readers import (
    read_bag,
    read_channel_text,
    read_channels,
    read_corrections,
    read_definitions,
    read_fleet,
    read_information,
    read_lerobot,
    read_meshed,
    read_motion,
    read_part,
    read_result,
    read_side_file,
    read_words,
    repair,
    write_back,
)
from steelyard import check
from steelyard.fleet.cache import load_refusal
from steelyard.inertia import mesh_files
from steelyard.payload import read_wrench_log, solid_of
from steelyard.report.mesh_report import mesh_report_of
from steelyard.report.signal_curves import load_curves
from steelyard.viewer import embed


@dataclass(frozen=True)
class Target:
    """seeds: whole files; read: opens one and may raise nothing but SteelyardError; mutated: how inputs are changed."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    mutated: Callable = nested.of_bytes


URDF = Target(".urdf", seeds.urdf, sy.load, nested.of_xml)
MJCF = Target(".xml", seeds.mjcf, sy.load, nested.of_xml)
FOLDER = Target(".zip", seeds_of_folders.lerobot, read_lerobot, zipped.mutated)

TARGETS = {
    "urdf": URDF,
    "mjcf": MJCF,
    "urdf-meshes": replace(FOLDER, seeds=seeds_of_folders.urdf_with_meshes, read=read_meshed),
    "mjcf-includes": replace(FOLDER, seeds=seeds_of_folders.mjcf_with_includes, read=read_meshed),
    "save-urdf": replace(URDF, read=write_back),
    "save-mjcf": replace(MJCF, read=write_back),
    "check-urdf": replace(URDF, read=check.run),
    "check-mjcf": replace(MJCF, read=check.run),
    "repair-urdf": replace(URDF, read=repair),
    "repair-mjcf": replace(MJCF, read=repair),
    "view-urdf": replace(URDF, read=embed),
    "view-mjcf": replace(MJCF, read=embed),
    "side": Target(".steelyard.toml", seeds.side, read_side_file),
    "channels": Target(".toml", seeds.channels, read_channels),
    "channels-json": Target(".json", seeds.channels_json, read_channel_text, nested.of_json),
    "corrections": Target(".toml", seeds.corrections, read_corrections),
    "option-words": Target(".txt", seeds.option_words, read_words),
    "csv": Target(".csv", seeds.csv, sy.read_log),
    "npz": Target(".npz", seeds.npz, sy.read_log, zipped.mutated),
    "parquet": Target(".parquet", seeds.parquet, sy.read_log),
    "mat": Target(".mat", seeds.mat, sy.read_log),
    "hdf5": Target(".h5", seeds.hdf5, sy.read_log),
    "mcap": Target(".mcap", seeds.mcap, sy.read_log),
    "bag1": Target(".bag", seeds.bag1, sy.read_log),
    "bag2": Target(".db3", seeds.bag2, sy.read_log),
    "bag2-folder": replace(FOLDER, seeds=seeds_of_folders.bags, read=read_bag),
    "ros-definitions": Target(".msg", seeds.definitions, read_definitions),
    "lerobot": FOLDER,
    "motion": Target(".npz", seeds.motion, read_motion, zipped.mutated),
    "fleet": replace(FOLDER, seeds=seeds_of_folders.fleets, read=read_fleet),
    "stl": Target(".stl", seeds_of_meshes.stl, mesh_files.load),
    "obj": Target(".obj", seeds_of_meshes.obj, mesh_files.load_colored),
    "ply": Target(".ply", seeds_of_meshes.ply, mesh_files.load_colored),
    "off": Target(".off", seeds_of_meshes.off, mesh_files.load),
    "glb": Target(".glb", seeds_of_meshes.glb, mesh_files.load_colored),
    "gltf": Target(".gltf", seeds_of_meshes.gltf, mesh_files.load_colored, nested.of_json),
    "dae": Target(".dae", seeds_of_meshes.dae, mesh_files.load_colored, nested.of_xml),
    "3mf": Target(".3mf", seeds_of_meshes.threemf, mesh_files.load, zipped.mutated),
    "solid": Target(".off", seeds_of_meshes.off, mesh_report_of),
    "payload-shape": Target(".ply", seeds_of_meshes.ply, solid_of),
    "wrench-csv": Target(".csv", seeds.wrench_csv, read_wrench_log),
    "wrench-npz": Target(".npz", seeds.wrench_npz, read_wrench_log, zipped.mutated),
    "information": Target(".npz", seeds.information, read_information, zipped.mutated),
    "fleet-part": Target(".npz", seeds.part, read_part, zipped.mutated),
    "fleet-refusal": Target(".json", seeds.refusal, load_refusal, nested.of_json),
    "curves": Target(".npz", seeds_of_folders.curves, load_curves, zipped.mutated),
    "result": replace(FOLDER, seeds=seeds_of_folders.results, read=read_result),
}
