"""Whole, small files of every format, from the writers that the tests use: where fuzzing starts."""

import sys
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(TESTS / "make"), str(TESTS)]

import log_files  # noqa: E402
import payload_logs  # noqa: E402
import small_runs  # noqa: E402
import steelyard as sy  # noqa: E402
from check.corpus.cases import MJCF, URDF  # noqa: E402
from random_robots import urdf_text  # noqa: E402
from steelyard.fleet.cache import save_part, save_refusal  # noqa: E402
from steelyard.fleet.evidence import Evidence, Fitness  # noqa: E402
from steelyard.fleet.partitions import FleetPart, Head, Samples  # noqa: E402
from steelyard.information import accumulate, save_information  # noqa: E402
from steelyard.log import write_csv, write_npz  # noqa: E402

MJCF_LOOP = """<mujoco model="loop"><default><joint armature="0.1" damping="1"/><geom density="500"/></default>
<worldbody><body name="a"><joint name="ja" axis="0 0 1" ref="0.1"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/>
<body name="b" pos="1 0 0"><joint name="jb" type="ball"/><inertial pos="0 0 .1" mass="1" diaginertia=".1 .1 .1"/></body>
</body><body name="c" pos="0 1 0"><freejoint/><geom size=".1 .2 .3" type="box"/></body></worldbody>
<equality><connect body1="b" body2="c" anchor="0 0 0"/></equality><actuator><motor joint="ja"/></actuator></mujoco>
"""
MJCF_MADE = """<mujoco model="made"><asset><texture name="t" type="2d" builtin="checker" width="8" height="8"/>
<hfield name="h" nrow="4" ncol="4" size="1 1 1 .1"/><material name="m" texture="t"/></asset><worldbody>
<geom type="hfield" hfield="h"/><body name="a"><joint name="j"/><replicate count="3" offset="0 0 .1"><geom size=".1"/>
</replicate></body></worldbody></mujoco>
"""
SIDE = """version = 1
actuated = ["shoulder", "elbow"]
[[rotor]]
joint = "shoulder"
carrier = "ground"
gear_ratio = -50.0
axis = [0.0, 1.0, 0.0]
position = [0, 0, 0]
mass = 0.2
inertia = [1e-4, 0, 0, 1e-4, 0, 1e-4]
symmetric = false
[known.masses]
upper = 4.0
"upper + rod" = 5
[known.fixed]
rod = ["mass", "com"]
[[known.tie]]
first = "upper"
second = "forearm"
mirror = "y"
[[known.ellipsoid]]
link = "upper"
center = [0, -0.2, 0.01]
semi_axes = [0.1, 0.4, 0.1]
[[loop]]
name = "closure"
kind = "hinge"
link = "rod"
other = "ground"
position = [0, 0, 0]
axis = [0, 1, 0]
"""
CHANNELS = 't = "t"\nq = ["q_shoulder", 2, "q_wrist"]\ntau = [7, 8, 9]\n[v]\nshoulder = "v_shoulder"\n'
CORRECTIONS = """[corrections]
unit = ["q=deg", "tau=mNm"]
order = "tau:elbow,shoulder,wrist"
scale = ["tau:shoulder=-1", "elbow=0.5", "q:wrist=2"]
offset = ["elbow=0.1"]
delay = ["all=0.012", "wrist=0.03"]
even_stamps = true
"""
WORDS = """upper=0.73
upper+forearm=7
rod=mass,com
upper=forearm:y
hand=2.5:loaded.csv
shoulder-0.5*elbow
tau:shoulder=-1
q=deg
{"tau": ["a", 2]}
auto
"""


@lru_cache
def log(names=log_files.NAMES) -> sy.Log:
    """24 samples of three joints."""
    t = np.arange(24) / 100.0
    phase = t[:, None] * np.array([1.0, 2.0, 3.0])
    fields = {"q": np.sin(phase), "v": np.cos(phase), "tau": np.sin(3 * phase)}
    return sy.Log(t=t, joint_names=names, **fields)


@lru_cache
def arm() -> sy.Robot:
    """The robot that side files, Information and summaries belong to."""
    with TemporaryDirectory() as folder:
        return sy.load(small_runs.write_model(Path(folder) / "arm.urdf"))


def _written(*writers) -> list[bytes]:
    with TemporaryDirectory() as folder:
        return [writer(log(), Path(folder)).read_bytes() for writer in writers]


def urdf() -> list[bytes]:
    rng = np.random.default_rng(0)
    return [URDF.encode(), small_runs.MODEL.format(**small_runs.NAMES, mass=4.0, forearm=2.0).encode()] + [
        urdf_text(rng, links=links).encode() for links in (2, 5)
    ]


def mjcf() -> list[bytes]:
    return [MJCF.encode(), MJCF_LOOP.encode(), MJCF_MADE.encode()]


def side() -> list[bytes]:
    return [SIDE.encode(), SIDE.split("[known.masses]")[0].encode(), b"[known.masses]\nall = 7.0\n"]


def channels() -> list[bytes]:
    return [CHANNELS.encode()]


def channels_json() -> list[bytes]:
    return [b'{"t": "t", "q": ["q_shoulder", 2, "q_wrist"], "tau": null}']


def definitions() -> list[bytes]:
    """The name of a message and its definition, of both languages."""
    texts = (log_files.NESTED, log_files.NESTED_IDL, log_files.JOINT_STATE)
    return [f"my_msgs/msg/State\n{text}".encode() for text in texts]


def motion() -> list[bytes]:
    return _written(lambda _, folder: write_npz(log(small_runs.JOINTS), folder / "run.npz"))


def corrections() -> list[bytes]:
    return [CORRECTIONS.encode(), b'q = ["q_shoulder", 2, 3]\n[corrections]\nscale = "all=2"\n']


def option_words() -> list[bytes]:
    return [word.encode() for word in (WORDS, *WORDS.splitlines())]


def csv() -> list[bytes]:
    log_rows = "t;q_a [deg];tau_a\n# comment\n0.0;1;2\n0.1;1.5;2\n0.2;1.7;2.5\n"
    return [*_written(lambda log, folder: write_csv(log, folder / "run.csv")), log_rows.encode(), b"0 1 2\n1 2 3\n"]


def npz() -> list[bytes]:
    return _written(lambda log, folder: write_npz(log, folder / "run.npz"))


def parquet() -> list[bytes]:
    return _written(log_files.parquet, log_files.parquet_of_lists)


def mat() -> list[bytes]:
    return _written(log_files.mat, log_files.mat_of_structures, log_files.matlab_hdf5)


def hdf5() -> list[bytes]:
    return _written(log_files.hdf5, log_files.matlab_hdf5)


def mcap() -> list[bytes]:
    from mcap.writer import CompressionType

    plain = {"compression": CompressionType.NONE, "enable_crcs": False}
    return _written(log_files.mcap, log_files.mcap_of_nested, lambda log, folder: log_files.mcap(log, folder, **plain))


def bag1() -> list[bytes]:
    return _written(log_files.bag1)


def bag2() -> list[bytes]:
    return _written(log_files.db3)


def wrench_csv() -> list[bytes]:
    log = payload_logs.static(poses=12)
    quaternion = np.tile([0.0, 0.0, 0.0, 1.0], (len(log), 1))
    table = np.column_stack([log.t, log.wrench, quaternion, np.zeros((len(log), 3))])
    rows = "\n".join(",".join(f"{x:.4g}" for x in row) for row in table)
    return [f"t,fx,fy,fz,nx,ny,nz,qx,qy,qz,qw,px,py,pz\n{rows}\n".encode()]


def wrench_npz() -> list[bytes]:
    log = payload_logs.static(poses=12)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.npz"
        np.savez(path, t=log.t, wrench=log.wrench, rotation=log.rotation, position=np.zeros((12, 3)))
        return [path.read_bytes()]


@lru_cache
def summed() -> sy.Information:
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 40, 3))
    return accumulate(arm(), sy.Log(t=np.arange(40) / 100, q=q, v=v, a=a, tau=q, joint_names=small_runs.JOINTS))


def information() -> list[bytes]:
    with TemporaryDirectory() as folder:
        return [save_information(summed(), Path(folder) / "info.npz").read_bytes()]


def part() -> list[bytes]:
    """What a fleet keeps of a log."""
    ones = np.ones(summed().basis.count)
    head = Head(Samples(40, 30, 10), Evidence(np.diag(ones), ones), Fitness(np.ones(3), 0.1, 1.5), ("late",), 0.1)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "part.npz"
        save_part(FleetPart(head, summed(), summed()), path)
        return [path.read_bytes()]


def refusal() -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "refused.json"
        save_refusal(path, "refused", "no torques")
        return [path.read_bytes()]
