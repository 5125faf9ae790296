"""Many runs of the command line from one interpreter that has imported everything: each run is a fork.

`with commands(LC_ALL="C") as run: run("check", "arm.urdf", stdout="closed")`. The environment, and with it the locale,
is that of the interpreter; what else is rough about a run (privileges, standard output, limits) is given for each.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module

MODULES = (
    *(f"steelyard.{name}" for name in ("app", "app.identification", "app.redraw", "pipeline", "fleet", "check")),
    *(f"steelyard.{name}" for name in ("excite.motion_files", "payload.payload_job", "viewer.show", "viewer.scene")),
    *(f"steelyard.{name}" for name in ("report.log_health", "report.rendering", "payload.payload_report")),
    *("plotly.graph_objects", "rich.table", "scipy.interpolate", "scipy.optimize"),
)
TESTS = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


@dataclass(frozen=True)
class Run:
    """How a run ended: exit status (negative: the signal), bytes of standard output and error."""

    code: int
    out: bytes
    said: bytes


@contextmanager
def commands(**env: str) -> Iterator:
    """A function that runs the command line: words, and options of `child`."""
    words = [sys.executable, "-W", "ignore", "-m", "forked"]
    path = os.pathsep.join([TESTS, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path, **env}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    server = subprocess.Popen(words, env=environment, text=True, **pipes)

    def run(*words, **how) -> Run:
        server.stdin.write(json.dumps({"words": [os.fsencode(word).hex() for word in words], **how}) + "\n")
        server.stdin.flush()
        found = json.loads(server.stdout.readline())
        return Run(found["code"], *(bytes.fromhex(found[key]) for key in ("out", "said")))

    with server:
        yield run
        server.stdin.close()


def child(words, *, folder=None, privileges=True, size=None, stdout=None, env=None, terminal=False):
    """Runs the command line in this process.

    folder: to run in. privileges: False gives up those that let root write anywhere. size: bytes that files can have.
    stdout: "closed" (a pipe that nobody reads), "none" (no such file), or a path. env: more variables. terminal:
    standard output and error are one, of 40 columns.
    """
    import resource

    if folder:
        os.chdir(folder)
    os.environ.update(env or {})
    if stdout == "closed":
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
    elif stdout == "none":
        os.close(1)
        sys.stdout = None  # as the interpreter has it then
    elif stdout:
        os.dup2(os.open(stdout, os.O_WRONLY), 1)
    if size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if not privileges:
        give_up_privileges()
    from steelyard.app import main

    sys.argv = ["steelyard", *map(os.fsdecode, map(bytes.fromhex, words))]
    main()


def give_up_privileges():
    """All capabilities of Linux: root is then a user that file modes hold for."""
    import ctypes

    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")


def answer(told: dict) -> dict:
    """Fork a run, and read what it prints."""
    if told.get("terminal"):
        number, screen = os.forkpty()
        if number:
            return {"out": drained(screen), "said": "", "code": os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])}
    else:
        out, said = os.pipe(), os.pipe()
        number = os.fork()
        if number:
            os.close(out[1])
            os.close(said[1])
            texts = {"out": drained(out[0]), "said": drained(said[0])}  # what is said is less than a pipe holds
            return {**texts, "code": os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])}
        os.dup2(out[1], 1)
        os.dup2(said[1], 2)
        for end in (*out, *said):
            os.close(end)
    if told.get("terminal"):
        os.environ["COLUMNS"] = "40"
    child(**told)
    sys.exit()


def drained(source: int) -> str:
    """Hexadecimal bytes of all that comes until the other side ends."""
    parts = []
    with suppress(OSError):  # how a terminal ends
        while part := os.read(source, 65536):
            parts.append(part)
    os.close(source)
    return b"".join(parts).hex()


def import_all():
    """What runs would import one by one."""
    for name in MODULES:
        import_module(name)
    import_module("steelyard.report.rendering")._plotly()  # packed once, and not by each run


def serve():
    import_all()
    channel, replies = os.fdopen(os.dup(0)), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for line in channel:
        os.write(replies, (json.dumps(answer(json.loads(line))) + "\n").encode())


if __name__ == "__main__":
    serve()
