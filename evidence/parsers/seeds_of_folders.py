"""Whole, small folders as zip archives: data sets, models with other files, fleets, results."""

import json
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from evidence.parsers import seeds, seeds_of_meshes
from evidence.parsers.seeds import log_files, small_runs  # which puts tests/ on the path
from evidence.parsers.zipped import packed
from steelyard.payload.payload_job import identify_files
from steelyard.payload.payload_report import write_payload
from steelyard.payload_request import Request

MESHED = """<robot name="meshed"><link name="base"/><link name="arm">
<inertial><origin xyz="0 0 .1" rpy="0 0 0"/><mass value="2"/>
<inertia ixx=".02" ixy="0" ixz="0" iyy=".02" iyz="0" izz=".01"/></inertial>
<visual><geometry><mesh filename="package://robot/meshes/a.obj" scale="1 1 1"/></geometry></visual>
<collision><origin xyz="0 0 .1"/><geometry><mesh filename="meshes/a.stl" scale=".5 .5 -.5"/></geometry></collision>
<visual><origin rpy="0 0 1"/><geometry><cylinder radius=".1" length=".3"/></geometry>
<material name="m"><color rgba="1 0 0 1"/></material></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>
"""
INCLUDING = """<mujoco model="parts"><compiler meshdir="meshes" angle="radian"/><include file="defaults.xml"/>
<asset><mesh name="a" file="a.stl" scale=".1 .1 .1"/></asset>
<worldbody><body name="arm"><joint name="j" axis="0 1 0"/><geom type="mesh" mesh="a"/><include file="hand.xml"/></body>
</worldbody></mujoco>
"""
DEFAULTS = '<mujoco><default><joint armature=".1"/><geom density="500"/></default></mujoco>'
HAND = """<mujocoinclude><body name="hand" pos="0 0 .3"><joint name="k" axis="1 0 0"/>
<inertial pos="0 0 .1" mass="1" diaginertia=".1 .1 .1"/></body></mujocoinclude>
"""
FLEET_CSV = "robot,time,log\na,2026-03-01T12:00,a/1.csv\na,2026-03-02,a/2.csv\nb,17.5,/logs/b.csv\n"
FLEET_TOML = """[[run]]
robot = "a"
time = 2026-03-01T12:00:00
log = "a/1.csv"
[[run]]
log = "b.mcap"
time = 3
"""


def lerobot() -> list[bytes]:
    """Sets of two episodes, in one table and in two."""
    names = ["a.pos", "b.pos", "c.pos"]
    return [_lerobot(tables=1, names=names), _lerobot(tables=2, names={"motors": names})]


def _lerobot(*, tables: int, names) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    log = seeds.log()
    lists = {"observation.state": log.q, "observation.effort": log.tau}
    features = {key: {"dtype": "float64", "shape": [3], "names": names} for key in lists}
    features |= {key: {"dtype": "int64", "shape": [1], "names": None} for key in ("timestamp", "episode_index")}
    files = {"meta/info.json": json.dumps({"codebase_version": "v3.0", "fps": 100, "features": features}).encode()}
    for k, rows in enumerate(np.array_split(np.arange(len(log)), tables)):
        columns = {key: pa.array(list(values[rows])) for key, values in lists.items()}
        columns |= {"timestamp": (rows % 12) / 100, "episode_index": rows // 12}
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), sink, use_dictionary=False, compression="none")
        files[f"data/chunk-000/file-{k:03d}.parquet"] = sink.getvalue().to_pybytes()
    return packed(files)


def urdf_with_meshes() -> list[bytes]:
    meshes = {"meshes/a.obj": seeds_of_meshes.OBJ.encode(), "meshes/a.stl": seeds_of_meshes.stl()[0]}
    return [packed({"robot.urdf": MESHED.encode(), "package.xml": b"<package/>", **meshes})]


def mjcf_with_includes() -> list[bytes]:
    files = {"robot.xml": INCLUDING, "defaults.xml": DEFAULTS, "hand.xml": HAND}
    return [packed({name: text.encode() for name, text in files.items()} | {"meshes/a.stl": seeds_of_meshes.stl()[0]})]


def fleets() -> list[bytes]:
    return [packed({"robots.csv": FLEET_CSV.encode()}), packed({"robots.toml": FLEET_TOML.encode()})]


def bags() -> list[bytes]:
    with TemporaryDirectory() as folder:
        plain, of_mcap = (make(seeds.log(), Path(folder)) for make in (log_files.bag2, log_files.bag2_of_mcap))
        return [packed({part.name: part.read_bytes() for part in each.iterdir()}) for each in (plain, of_mcap)]


def results() -> list[bytes]:
    """What `identify` and `payload` write."""
    return [packed(files) for files in _results()]


def curves() -> list[bytes]:
    return [files["curves.npz"] for files in _results()]


@lru_cache
def _results() -> list[dict[str, bytes]]:
    with TemporaryDirectory() as folder:
        written = (_identified(Path(folder)), _weighed(Path(folder)))
        return [{name: (each / name).read_bytes() for name in ("summary.json", "curves.npz")} for each in written]


def _identified(folder: Path) -> Path:
    model, log = small_runs.write_case(folder / "case", samples=400)
    sy.identify(model, log, out=folder / "identified", cutoff=10.0, friction="viscous", armature=False)
    return folder / "identified"


def _weighed(folder: Path) -> Path:
    log = folder / "log.csv"
    log.write_bytes(seeds.wrench_csv()[0])
    write_payload(identify_files(Request(log)), Request(log), {}, folder / "weighed")
    return folder / "weighed"
