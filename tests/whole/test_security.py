"""Each guarantee of SECURITY.md, tried from outside: an audit hook of Python sees what is opened, run or unpickled.

Variants of each, format by format, are in tests/model, tests/check, tests/log and tests/report.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tracemalloc
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import trimesh
from lxml import html as markup
from typer.testing import CliRunner

import steelyard as sy
from small_runs import write_case, write_model
from steelyard.app import app
from steelyard.errors import SteelyardError
from steelyard.log import read_log
from steelyard.model.references import MARKERS, allowed_folders, around
from steelyard.model.side import read_side, side_path
from view_models import HOSTILE_NAMES, write_arm

PAGE = (Path(__file__).parents[2] / "SECURITY.md").read_text("utf-8").split("## Guarantees")[1].split("## ")[0]
BULLETS = [" ".join(each.split()) for each in re.split(r"^ *- ", PAGE.partition("Each guarantee")[0], flags=re.M)[1:]]
SENTENCES = [sentence for each in BULLETS for sentence in re.split(r"(?<=[.;:]) (?=[A-Z])", each)]
COVERED: set[str] = set()
QUICK = 10.0  # s; what is meant is "does not hang"
CALLS = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
CALLS |= {"pickle.find_class"}
OF_XACRO = ("subprocess.Popen", sys.executable)  # it asks this process for what it reads: `test_expressions_of_xacro`
seen: list[tuple[str, str]] | None = None


def watch(event: str, words):
    if seen is not None and (event == "open" or event in CALLS):
        seen.append((event, str(words[0])))


sys.addaudithook(watch)


@contextmanager
def watched():
    """What is opened, connected to, run and unpickled inside."""
    global seen
    seen = found = []
    try:
        yield found
    finally:
        seen = None


def guarantee(begin: str):
    """Mark a test as that of the sentence of SECURITY.md that begins so."""
    (sentence,) = [each for each in SENTENCES if each.startswith(begin)]
    COVERED.add(sentence)
    return lambda test: test


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)


def refused(call, *words, **options) -> str:
    """The message of a call that is refused soon, and neither opens the secret nor calls anything."""
    start = time.monotonic()
    with watched() as found, pytest.raises(SteelyardError) as caught:
        call(*words, **options)
    assert time.monotonic() - start < QUICK
    assert "top secret" not in str(caught.value)
    found = [each for each in found if each != OF_XACRO]
    assert [each for each in found if each[0] in CALLS or "secret" in Path(each[1]).name] == []
    return str(caught.value)


ROOTS = {"urdf": "robot", "xml": "mujoco", "sdf": "sdf", "xacro": "robot"}
ENTITIES = {
    "external": '<!ENTITY e SYSTEM "{folder}/secret.txt">',
    "parameter": '<!ENTITY % p SYSTEM "http://127.0.0.1:9/a.dtd"> %p; <!ENTITY e "x">',
    "expansion": '<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9))
    + '<!ENTITY e "&j;">',
}


@guarantee("XML is read without external entities")
@pytest.mark.parametrize("kind", [*ENTITIES, "remote DTD", "deep"])
@pytest.mark.parametrize("suffix", ROOTS)
def test_xml(tmp_path, suffix, kind):
    root = ROOTS[suffix]
    (tmp_path / "secret.txt").write_text("top secret")
    head = f'<!DOCTYPE {root} SYSTEM "http://127.0.0.1:9/a.dtd">'
    if kind in ENTITIES:
        head = f"<!DOCTYPE {root} [{ENTITIES[kind].replace('{folder}', str(tmp_path))}]>"
    inside = "<link>" * 60_000 + "</link>" * 60_000 if kind == "deep" else '<link name="&e;"/>'
    path = tmp_path / f"a.{suffix}"
    path.write_text(f'{"" if kind == "deep" else head}<{root} name="a">{inside}</{root}>')
    refused(sy.load, path)


@guarantee("A model can name files in these places only")
@guarantee("its own folder")
@guarantee("Included and attached files, meshes")
@pytest.mark.parametrize("way", ["climbing", "absolute", "symbolic link", "link and back"])
@pytest.mark.parametrize("suffix", ["xml", "sdf", "xacro", "usda"])
def test_files_elsewhere(tmp_path, suffix, way):
    home = tmp_path / "models" / "deep" / "arm"
    home.mkdir(parents=True)
    part = {
        "xml": '<mujocoinclude><body name="top secret"><joint/><geom size="0.1"/></body></mujocoinclude>',
        "sdf": '<sdf version="1.9"><model name="top secret"><link name="a"/></model></sdf>',
        "xacro": '<robot name="top secret"><link name="secret"/></robot>',
        "usda": '#usda 1.0\ndef Xform "top_secret" {\n}\n',
    }[suffix]
    secret = tmp_path / f"secret.{suffix}"
    secret.write_text(part)
    (home / f"link.{suffix}").symlink_to(secret)
    (home / "up").symlink_to(tmp_path / "models")
    named = {"climbing": f"../../../{secret.name}", "absolute": str(secret)}
    named |= {"symbolic link": f"link.{suffix}", "link and back": f"up/../{secret.name}"}
    body = '<worldbody><body><joint/><geom size="0.1"/></body></worldbody>'
    whole = {
        "xml": '<mujoco><include file="{}"/>' + body + "</mujoco>",
        "sdf": '<sdf version="1.9"><model name="m"><include><uri>{}</uri></include></model></sdf>',
        "xacro": '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:include filename="{}"/></robot>',
        "usda": "#usda 1.0\n(\nsubLayers = [@{}@]\n)\n",
    }[suffix]
    path = home / f"arm.{suffix}"
    path.write_text(whole.format(named[way]))
    refused(sy.load, path)


@guarantee("the package around it")
def test_packages_around(tmp_path, monkeypatch):
    own = tmp_path / "pkg" / "robots"
    own.mkdir(parents=True)
    for marker in (*MARKERS, "__init__.py"):
        assert f"`{marker}`" in PAGE
        assert tmp_path / "pkg" not in allowed_folders(own / "a.urdf")
        (tmp_path / "pkg" / marker).touch()
        assert allowed_folders(own / "a.urdf") == (tmp_path / "pkg", own)
        monkeypatch.setenv("HOME", str(tmp_path / "pkg"))
        assert allowed_folders(own / "a.urdf") == (own,)
        monkeypatch.undo()
        (tmp_path / "pkg" / marker).unlink()


@guarantee("other packages in `site-packages`")
@guarantee("folders that you name")
@guarantee("without a package, the folder around its own")
def test_folders_named_installed_and_around(tmp_path, monkeypatch):
    own, assets, far = (tmp_path / name for name in ("models/arm", "models/assets", "far"))
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    installed = tmp_path / "site-packages" / "arm_description"
    for folder in (own, assets, far, installed):
        folder.mkdir(parents=True)
        box.export(folder / "m.stl")
    path = own / "arm.urdf"

    def opened(*names, **options) -> bool:
        visuals = "".join(f'<visual><geometry><mesh filename="{n}"/></geometry></visual>' for n in names)
        path.write_text(
            write_model(tmp_path / "plain.urdf").read_text().replace("</inertial>", f"</inertial>{visuals}", 1)
        )
        return "SY603" not in sy.check(path, **options).codes

    assert opened("../assets/m.stl") and opened(installed / "m.stl")
    assert not opened("../assets/m.stl", "../../far/m.stl") and not opened(far / "m.stl")
    assert opened(far / "m.stl", folders=[far])
    monkeypatch.setenv("HOME", str(own.parent))
    assert around(path) is None and not opened("../assets/m.stl")
    assert around(Path("/drive/arm.urdf")) is None and around(Path("/drive/arm/arm.urdf")) is None


ESCAPES = {
    "open": "open(os.__file__)",
    "folder": "os.listdir('/')",
    "descriptor": "os.dup(1)",
    "program": "os.system('true')",
    "process": "os.fork()",
    "connection": "socket.socket()",
    "module": "import wave",
    "removal": "os.remove('/nowhere')",
    "signal": "os.kill(os.getppid(), 0)",
    "limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "memory": "bytes(2 * sealed.MEMORY)",
    "environment": "os.environ['PATH']",
}


@guarantee("Expressions of xacro files are evaluated")
@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
@pytest.mark.parametrize("way", ESCAPES)
def test_expressions_of_xacro(way):
    """Code that gets around the names of expressions gets nothing, either."""
    lines = f"""
import os, resource, socket
import steelyard.model.xacro_process as sealed
sealed._seal(20)
try:
    {ESCAPES[way]}
except (sealed.Refused, OSError, MemoryError, KeyError) as error:
    os.write(1, type(error).__name__.encode())
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)
    assert done.stdout in ("Refused", "OSError", "MemoryError", "KeyError"), done.stderr


@guarantee("A model's side file names no files")
def test_side_files(tmp_path):
    model, log = write_case(tmp_path / "deep" / "own", samples=300)
    secret, robot = shutil.copy(model, tmp_path / "secret.urdf"), sy.load(model)
    for key in ("file", "include", "gravity_model", "mesh"):
        side_path(model).write_text(f"{key} = {json.dumps(str(secret))}")
        refused(read_side, side_path(model), robot)
        refused(sy.identify, model, log)
    side_path(model).unlink()
    side = log.with_name(log.name + ".steelyard.toml")
    (model.parent / "link.urdf").symlink_to(secret)
    for named in (str(secret), "../../secret.urdf", "link.urdf", "file://" + str(secret)):
        side.write_text(f"[corrections]\ngravity_model = {json.dumps(named)}")
        assert "was not opened" in refused(sy.validate, model, log)
    side.write_text(f'[corrections]\ngravity_model = "{model.name}"')
    sy.validate(model, log)


def _npy(array, **header) -> bytes:
    buffer = io.BytesIO()
    if not header:
        np.save(buffer, array, allow_pickle=True)
        return buffer.getvalue()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, **header})
    return buffer.getvalue() + bytes(800)


def _archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in {"t": _npy(np.arange(10.0)), **members}.items():
            archive.writestr(f"{name}.npy", content)
    return path


@guarantee("Archives and compressed logs are read in blocks with stated limits")
@pytest.mark.parametrize("kind", ["npz header", "npz member", "mcap", "hdf5", "3mf", "mat"])
def test_sizes_that_are_claimed(tmp_path, kind):
    path = tmp_path / f"log.{kind.split()[0]}"
    call = read_log
    if kind == "npz header":
        _archive(path, q=_npy(None, shape=(10**15, 7)))
    elif kind == "npz member":
        _archive(path, q=bytes(2**28))  # 268 MB in 0.3 MB, and no array
    elif kind == "mcap":
        chunk = b"".join((0).to_bytes(8, "little") for _ in range(2)) + (2**40).to_bytes(8, "little") + bytes(4)
        chunk += (4).to_bytes(4, "little") + b"zstd" + (8).to_bytes(8, "little") + bytes(8)
        path.write_bytes(b"\x89MCAP0\r\n" + b"\x06" + len(chunk).to_bytes(8, "little") + chunk)
    elif kind == "hdf5":
        import h5py

        with h5py.File(path, "w") as file:
            file["t"] = np.arange(10.0)
            file.create_dataset("q", shape=(10**9, 3), dtype=float, chunks=(1000, 3))
    elif kind == "mat":
        head = b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + b"\x00\x01IM"
        path.write_bytes(head + (14).to_bytes(4, "little") + (2**31 - 1).to_bytes(4, "little") + bytes(64))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("3D/3dmodel.model", bytes(2**29))  # 537 MB in 0.5 MB
        call = sy.inertia.mesh.load
    tracemalloc.start()
    try:
        refused(call, path)
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/steelyard-was-here",)


@guarantee("No file is executed or unpickled")
@guarantee("NPZ and HDF5 objects")
def test_pickles(tmp_path):
    path = _archive(tmp_path / "log.npz", q=_npy(np.array([Evil(), None])))
    assert "pickled Python objects" in refused(read_log, path)
    import h5py

    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["t"] = np.arange(10.0)
        file.create_dataset("q", (10,), dtype=h5py.special_dtype(vlen=bytes))
    refused(read_log, tmp_path / "log.h5")
    import pickle

    for suffix in ("pkl", "pickle", "pt", "npy"):
        (tmp_path / f"log.{suffix}").write_bytes(pickle.dumps([Evil()]))
        refused(read_log, tmp_path / f"log.{suffix}")
    (tmp_path / "information.npz").write_bytes(path.read_bytes())
    refused(sy.load_information, tmp_path / "information.npz")


@guarantee("Names from files are escaped in reports")
def test_pages(tmp_path):
    """A robot whose names are out of an attacker's book: no element comes of them, nothing is fetched."""
    model = write_arm(tmp_path / "arm", **HOSTILE_NAMES)
    robot = sy.load(model)
    sy.write_npz(sy.simulate.record(robot, duration=4.0).log, log := tmp_path / "run.npz")
    assert run("identify", model, log, "-o", tmp_path / "out").exit_code in (0, 1)
    assert run("inspect", log, "--model", model, "--html", tmp_path / "health.html").exit_code in (0, 1)
    assert run("view", model, "-o", tmp_path / "view.html", "--no-open").exit_code == 0
    for page in (tmp_path / "out" / "report.html", tmp_path / "health.html", tmp_path / "view.html"):
        text = page.read_text("utf-8")
        tree = markup.fromstring(text)
        assert "default-src 'none'" in tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
        assert not tree.xpath("//*[@onerror or @onclick]")
        assert not tree.xpath("//iframe | //object | //base")
        assert not [
            each for each in tree.xpath("//@src | //@srcset | //@action | //link/@href") if not each.startswith("data:")
        ]
        assert not [each for each in tree.xpath("//script/text()") if each.strip() == "alert(1)"]
        own = [each for each in tree.xpath("//script") if "alert(" in (each.text or "")]
        assert all(each.get("type") == "application/json" and "<" not in each.text for each in own)


def _commands(folder: Path):
    """Commands whose output is told to be one of their inputs; the input's path is the last word but for options."""
    model, log = folder / "arm.urdf", folder / "run.csv"
    return {
        "convert": (model, ["convert", model, "{}"]),
        "check --fix": (model, ["check", model, "--fix", "{}"]),
        "check --write-baseline": (model, ["check", model, "--write-baseline", "{}"]),
        "view": (model, ["view", model, "--no-open", "-o", "{}"]),
        "inspect --html": (log, ["inspect", log, "--model", model, "--html", "{}"]),
        "inspect --html, model": (model, ["inspect", log, "--model", model, "--html", "{}"]),
        "rehearse --html": (model, ["rehearse", model, log, "--trials", "1", "--html", "{}"]),
        "excite -o": (model, ["excite", model, "--duration", "2", "-o", "{}"]),
        "excite --preview": (model, ["excite", model, "--duration", "2", "-o", folder / "m.csv", "--preview", "{}"]),
        "identify --export": (log, ["identify", model, log, "--export", "{}", "-o", folder / "out"]),
        "validate --export": (log, ["validate", model, log, "--export", "{}"]),
    }


@guarantee("Outputs appear complete or not at all, and never replace an input")
@pytest.mark.parametrize("name", _commands(Path()))
def test_an_input_stays_as_it_is(tmp_path, name):
    write_case(tmp_path, samples=400)
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "m.stl")
    given, words = _commands(tmp_path)[name]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    alias = tmp_path / "alias" / given.name
    alias.parent.mkdir()
    alias.symlink_to(given)
    for target in (given, alias):
        done = run(*(str(word).format(target) for word in words))
        assert done.exit_code == 2, done.output
        assert {path: path.read_bytes() for path in before} == before
        assert not list(tmp_path.rglob(".*part*"))


def test_every_guarantee_is_tried():
    assert len(BULLETS) > 10
    assert set(SENTENCES) == COVERED
