"""Robots identified from public logs: docs/gallery.md, and the files in docs/gallery that it shows.

    PYTHONPATH=tests/make:tests:. python tools/gallery.py                       # the page from the files
    PYTHONPATH=tests/make:tests:. python tools/gallery.py FOLDER... [NAME...]   # robots run again, all or some

FOLDER holds logs and models that are not in the project. A run is the command of the page, and what it writes is kept:
the model, `summary.json` (without spaces and names of folders), small samples of the posterior, and one figure of its
report, which Plotly draws by kaleido and Chrome. A test compares the page with the files.
"""

import contextlib
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import steelyard as sy
from robots import EXAMPLE_ROBOTS

ROOT = Path(__file__).parents[1]
PAGE, FILES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery"
SUMMARY, JUDGED, PICTURE, DRAWS = "summary.json", "judged.json", "picture.svg", "draws.npz"
LARGE = 100_000  # bytes of samples, above which the page says how to make them
LEVELS = {"good": "good", "care": "with care", "keep": "keep the nominal model"}
UNISA = "[unisa-acg/inverse-dynamics-solver](https://github.com/unisa-acg/inverse-dynamics-solver), BSD-3-Clause"
SAGE = "[isaac-sim2real/sage](https://github.com/isaac-sim2real/sage), Apache-2.0 by the repository's licence"
ROBOTS = "[example-robot-data](https://github.com/Gepetto/example-robot-data)"
TABLE = "Denavit-Hartenberg table with guessed inertias (`examples/02_models_from_dh.py`)"
SO101_FITTED = (
    '{"log": ["multisine", "chirp_sweep", "prbs_excitation", "friction_gravity", "large_amplitude", "workspace_sweep"]}'
)
SO101_OTHERS = (
    '{"log": ["static_holding", "single_joint_elbow", "hold_under_gravity", "random_waypoints", "figure_eight", '
    '"step_response"]}'
)
TEXT = """# Robots identified from public logs

Written by `tools/gallery.py`. Each section is one command on logs that others recorded; verdict, reasons and errors are
those that it printed when it was run (`created` in each `summary.json`); later programs word them otherwise and have no
`--links`. Only the logs of the double pendulum are part of the project; the others belong to their authors,
who are linked, and were converted to arrays in SI units under names such as `t`, `q` and `tau`.

*Before* is the given model, *after* the written one, on samples held out: RMS error over RMS torque, or of simulated
motion in windows of 0.5 s ([read a result](report.md#verdict)).

| robot | recorded | verdict | before | after |
|---|---|---|---|---|"""
GRIPPER = ("--scale", "gripper=1.9199", "--offset", "gripper=-0.1745")


@dataclass(frozen=True)
class Exhibit:
    """A robot and its logs.

    title, words: for people; words: on the log and on what is known from elsewhere. model, logs: names of files.
    options: of `identify`. shown: joint of the picture. log, given: where logs and model come from. judged: logs and
    options of `validate --rollout`. shared: whether the model's licence lets changed copies have ours. known: of
    the written model, numbers beside published ones.
    """

    title: str
    words: str
    model: str
    logs: tuple[str, ...]
    shown: int
    log: str
    given: str
    options: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    shared: bool = True
    known: Callable[[Path], str] | None = None

    def command(self, name: str) -> list[str]:
        return ["steelyard", "identify", self.model, *self.logs, *self.options, "-o", name]

    def validation(self, name: str) -> list[str]:
        return ["steelyard", "validate", name, *self.judged, "--rollout"]


def pendulum(path: Path) -> str:
    """First moments, inertias with motors, and friction about the joints of the double pendulum, beside those that its
    makers publish."""
    robot = sy.load(path)
    (upper, lower), length = robot.inertias, np.linalg.norm(robot.joints[1].position[1:])  # joints turn about x
    moments = np.linalg.norm(upper[2:4]) + lower[0] * length, np.linalg.norm(lower[2:4])
    inertias = np.array([upper[4] + lower[0] * length**2, lower[4]]) + robot.armature
    here = [" and ".join(f"{x:.3g}" for x in each) for each in (moments, inertias, robot.frictionloss)]
    return (
        f"first moments {here[0]} kg m (published 0.349 and 0.111), inertias {here[1]} kg m² (0.108 and 0.0239), "
        f"friction {here[2]} N m (0.093 and 0.078)"
    )


EXHIBITS = {
    "panda": Exhibit(
        "Franka Panda, joint torque sensors",
        "24 s at 30 Hz. The log was resampled by holding the last value ([inspection](evidence/inspect/panda.md)).",
        "panda.urdf",
        ("panda_unisa_30Hz.npz",),
        1,
        UNISA,
        f"{ROBOTS}, `panda_description`, Apache-2.0",
    ),
    "ur10": Exhibit(
        "Universal Robots UR10, torques as published",
        "27.5 s at 125 Hz, smoothed before it was published ([inspection](evidence/inspect/ur10.md)).",
        "ur10_robot.urdf",
        ("ur10_unisa_125Hz.npz",),
        1,
        UNISA,
        f"{ROBOTS}, `ur_description`, BSD",
    ),
    "tx40": Exhibit(
        "Stäubli TX40, torques from currents",
        "9 s at 100 Hz. Joints 5 and 6 share a motor. The end of the log, which is held out, moves little "
        "([inspection](evidence/inspect/tx40.md)).",
        "tx40.urdf",
        ("tx40_100Hz.npz",),
        1,
        "[thanhndv212/figaroh-examples](https://github.com/thanhndv212/figaroh-examples), Apache-2.0",
        TABLE,
        ("--coupling", "joint5+joint6"),
    ),
    "lbr_med7": Exhibit(
        "KUKA LBR Med 7, joint torque sensors",
        "16 s without time stamps, taken for 100 Hz; 3.6 s of it stand still, and joints 1, 3, 5 and 7 hardly carry "
        "torque.",
        "med7dock.urdf",
        ("lbr_med7.npz",),
        1,
        "[lbr-stack/dynamic_parameter_identification](https://github.com/lbr-stack/dynamic_parameter_identification), "
        "MIT by its package.xml",
        "`urdf/med/med7dock.urdf` there, MIT likewise",
    ),
    "double_pendulum": Exhibit(
        "Double pendulum of quasi-direct drives, torques from currents",
        "Four runs at 500 Hz: three push it by at most 0.6 N m, one swings it up.",
        "double_pendulum.urdf",
        tuple(f"trajectory_{k}.parquet" for k in ("00", "02", "03", "11")),
        0,
        "[dfki-ric-underactuated-lab/double_pendulum]"
        "(https://github.com/dfki-ric-underactuated-lab/double_pendulum), BSD-3-Clause "
        "([licence](gallery/double_pendulum/LICENSE)); the columns that are used, in single precision",
        "`data/urdfs/design_A.0` there, BSD-3-Clause",
        ("--drive", "torque"),
        known=pendulum,
    ),
    "go2": Exhibit(
        "Unitree Go2 on a stand, positions and commands alone",
        "14 s at 200 Hz: legs step out and back, ever faster. Gains are known ([side "
        "file](gallery/go2/go2.steelyard.toml)). Velocities and torques were not recorded.",
        "go2.urdf",
        ("go2_air.npz",),
        8,
        "[iit-DLSLab/sim2real-robot-identification](https://github.com/iit-DLSLab/sim2real-robot-identification), "
        "BSD-3-Clause",
        f"{ROBOTS}, `go2_description`, MPL-2.0",
        ("--drive", "model"),
        shared=False,
    ),
    "so101": Exhibit(
        "SO-101 arm of hobby servos, positions and commands alone",
        "Twelve logs at 50 Hz; six are fitted, the other six judge. Servo gains are not known, currents have no sign.",
        "so101.urdf",
        ("so101.npz",),
        1,
        SAGE,
        f"{ROBOTS}, `so_arm_description`, Apache-2.0",
        ("--drive", "position", *GRIPPER, "--channels", SO101_FITTED),
        ("so101.npz", *GRIPPER, "--channels", SO101_OTHERS),
    ),
    "xl330": Exhibit(
        "Pendulum on a Dynamixel XL330, positions and commands alone",
        "0.49 kg on 0.1 m at servo gain 800, two motions of 6 s; a third, lifting and dropping, judges. The mass of "
        "the arm was not stated.",
        "pendulum.urdf",
        ("sin_sin_kp800.npz", "up_and_down_kp800.npz"),
        0,
        "[Rhoban/bam](https://github.com/Rhoban/bam), Apache-2.0",
        "[point mass](gallery/xl330/pendulum.urdf)",
        ("--drive", "position"),
        ("lift_and_drop_kp800.npz",),
    ),
}


def run(name: str, folders) -> None:
    """Run an exhibit and keep what it writes."""
    own, kept = EXHIBITS[name], FILES / name
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        judges = [word for word in own.judged if word.endswith((".npz", ".parquet"))]
        for file in {own.model, *own.logs, *judges} | {path.name for path in kept.glob("*.toml")}:
            found = next(path for each in (kept, *folders, EXAMPLE_ROBOTS) for path in sorted(each.rglob(file)))
            Path(file).symlink_to(found.resolve())
        told(own.command(name))
        for path in Path(name).glob(f"{Path(own.model).stem}_*"):
            if own.shared or path.suffix == ".toml":
                shutil.copy(path, kept)
        draws = Path(name, DRAWS)
        if draws.is_file() and draws.stat().st_size <= LARGE:
            shutil.copy(draws, kept)
        text = Path(name, SUMMARY).read_text("utf-8").replace(json.dumps(str(Path.cwd())), '"."')
        (kept / SUMMARY).write_text(json.dumps(json.loads(text), separators=(",", ":")), "utf-8")
        picture(Path(name), own.shown, kept / PICTURE)
        if own.judged:
            (kept / JUDGED).write_text(json.dumps(told(own.validation(name)), indent=1), "utf-8")


def told(command: list[str]) -> dict:
    """What a command prints as JSON."""
    from typer.testing import CliRunner

    from steelyard.app import app

    done = CliRunner().invoke(app, [*command[1:], "--json"], catch_exceptions=False)
    if done.exit_code > 1:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def picture(folder: Path, joint: int, path: Path) -> None:
    """Held-out torque of a joint, or its motion, as the report draws it."""
    import plotly.graph_objects as go

    from steelyard.report import drive_report, figures
    from steelyard.report.record import read

    record = read(folder)
    draw = drive_report.motion if record.kind == "drives" else figures.torque
    go.Figure(draw(record, joint)).write_image(path, width=640, height=300)


def summary(name: str) -> dict:
    return json.loads((FILES / name / SUMMARY).read_text("utf-8"))


def errors(found: dict) -> tuple[str, str]:
    """Held-out error of the given and of the identified model: of torque over torque, or of motion in windows."""
    if found["kind"] == "drives":
        motion = {each["name"]: each["windows"] for each in found["motion"]}
        return _mrad(motion.get("given model")), _mrad(motion["identified"])
    held = found["held_out"]
    return _percent(held["relative_error_before"]), _percent(held["relative_error_after"])


def page() -> str:
    """The page, from the files."""
    shown = {name: own for name, own in EXHIBITS.items() if (FILES / name / SUMMARY).is_file()}
    rows = []
    for name, own in shown.items():
        found = summary(name)
        title, _, measured = own.title.partition(", ")
        anchor = own.title.lower().replace(",", "").replace(" ", "-")
        cells = (f"[{title}](#{anchor})", measured, LEVELS[found["verdict"]["level"]], *errors(found))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([TEXT, *rows, "", *(section(name) for name in shown)])


def section(name: str) -> str:
    own, found = EXHIBITS[name], summary(name)
    folder, verdict = f"gallery/{name}", found["verdict"]
    lines = [f"## {own.title}", "", own.words, "", f"![Held out: {own.title}]({folder}/{PICTURE})", ""]
    commands = [own.command(name), *([own.validation(name)] if own.judged else [])]
    lines += ["```console", *(f"$ {shlex.join(each)}" for each in commands), "```", ""]
    lines += [f"- **Verdict: {LEVELS[verdict['level']]}.** {escaped(verdict['headline'])} {escaped(verdict['advice'])}"]
    lines += [f"  - {escaped(reason)}" for reason in verdict["reasons"]]
    if own.known:
        lines += [f"- **Published numbers:** {own.known(next((FILES / name).glob('*_identified.urdf')))}"]
    if own.judged:
        lines += [f"- **On other logs:** {escaped(json.loads((FILES / name / JUDGED).read_text('utf-8'))['headline'])}"]
    if parts := [each["met"] for each in found.get("generalization", {}).get("parts", ())]:
        each = ", ".join(map(_percent, parts))
        lines += [f"- **Quarters**, each predicted by identified links and friction of the rest: {each}"]
    lines += unknown(found)
    lines += [f"- **Log:** {own.log}", f"- **Model:** {own.given}", f"- **Files:** {files(name)}", ""]
    return "\n".join(lines)


def unknown(found: dict) -> list[str]:
    """What the data leave open, in the words of the report; of drives what fixes the scale of masses and gains."""
    if found["kind"] == "drives":
        said = [escaped(line.strip()) for line in found["scale"]["lines"]]
        return [f"- **Scale {'open' if found['scale']['open'] else 'fixed'}:**", *(f"  - {line}" for line in said)]
    return [f"- **Open:** {escaped(each['why'])}" for each in found["unknown"]]


def files(name: str) -> str:
    kept = sorted(path.name for path in (FILES / name).iterdir() if path.name not in (PICTURE, "LICENSE"))
    links = ", ".join(f"[{file}](gallery/{name}/{file})" for file in kept)
    others = [] if EXHIBITS[name].shared else ["the model"]
    others += [] if DRAWS in kept else [f"`{DRAWS}`"]
    return f"{links}; the command writes {' and '.join(others)}" if others else links


def escaped(text: str) -> str:
    """Words of a report, whose only marks are those of code; options are code, lest their hyphens become dashes."""
    return re.sub(r"(--[a-z][a-z-]*(?: [\w=,:.]*\w)?)", r"`\1`", re.sub(r"([*<>\[\]|])", r"\\\1", text))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.3g} %"


def _mrad(error: float | None) -> str:
    return "" if error is None else f"{1e3 * error:.3g} mrad"


if __name__ == "__main__":
    given = [Path(word).resolve() for word in sys.argv[1:] if Path(word).is_dir()]
    names = [word for word in sys.argv[1:] if not Path(word).is_dir()]
    for each in (names or EXHIBITS) if given else ():
        run(each, given)
    PAGE.write_text(page(), "utf-8")
