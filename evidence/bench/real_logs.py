"""What `steelyard inspect` finds in the measured logs of four robots: the pages of docs/evidence/inspect.

    python -m evidence.bench.real_logs            # logs in ../shared/data, pages to docs/evidence/inspect
    python -m evidence.bench.real_logs DATA -o OUT

DATA holds the logs and `models.json`, the robots' Denavit-Hartenberg tables, of which models with guessed inertias are
made (`examples/02_models_from_dh.py`): what an owner has who knows the drawing of the robot and no more. Each page has
the words of `WORDS` and what the command prints, and the index links them.
"""

import argparse
import io
import runpy
import tempfile
from pathlib import Path

from plotly.graph_objects import Figure
from rich.console import Console

import steelyard as sy
from steelyard.pipeline import inspect
from steelyard.report.log_health import health_overview, health_view

ROOT = Path(__file__).parents[2]
DATA, OUT = ROOT.parent / "shared" / "data", ROOT / "docs" / "evidence" / "inspect"
LOGS = {"panda": "panda_unisa_30Hz", "tx40": "tx40_100Hz", "ur10": "ur10_unisa_125Hz", "kuka_kr300": "kuka_kr300_A"}
TITLES = {"panda": "Franka Panda", "tx40": "Stäubli TX40", "ur10": "Universal Robots UR10", "kuka_kr300": "KUKA KR 300"}
PICTURES = {"panda": ("spectrum", 0), "tx40": ("motion", 0), "ur10": ("spectrum", 4), "kuka_kr300": ("spectrum", 1)}
CAPTIONS = {"spectrum": "Spectrum of one joint, its noise and the cutoff", "motion": "Speed of each joint over the log"}
WORDS = {
    "panda": """The stamps look perfect, 30 Hz to a quarter of a percent, and that is what is wrong with them: 14
samples repeat the one before while the arm moves, because the log was resampled by holding the last value. The
samples were taken at other times than the stamps say, by up to a whole step; `filters.restamp` drops the repeats
and spaces the rest evenly, and `identify` does so on its own. The torque of the first joint is half noise (0.44 of
0.93 N m): gravity does not act on it, so its inertia will be known worst. Joint 4 alternates quickly (23 reversals,
a stretch of one radian), all others swing slowly.""",
    "tx40": """The richest of the four logs: accelerations of 13 to 28 rad/s² and a spectrum that reaches beyond 10 Hz,
where cutoffs end. Its tail is poorly excited: the tenths of every joint's speed fall off, and in the last 1.4 seconds
nothing moves at all. Held out for validation, as `identify` does with the end of a log by default, this stretch
measures little but friction and gravity; judge the fit by blocks spread over the log (`split_blocks(log,
blocks=...)`, `steelyard.log.folds`). The model shows that joints 5 and 6 share a motor, which the drawing does not
say.""",
    "ur10": """The cleanest log: no gap, no jitter, noise of a tenth of a microradian. It looks as if it had been
smoothed before it was published: the noise of the torques, 2e-4 N m and less, is not that of any sensor. What is
left is friction: the torque error of joints 5 and 6 sits at standstill and reversals, where Coulomb friction jumps
and a filter smears it. It lasts far longer than noise does, so neither delays nor zeros can be told to better than
some milliseconds and a tenth of a radian. Samples near standstill deserve less weight, which
`identify` gives them.""",
    "kuka_kr300": """A large robot with a gravity compensator that the model does not have, recorded on the side of the
drives. The log itself is healthy; it is the model that does not fit, and the report says so: rigid links leave a
large share of the torque, even without physical constraints, and what is left stays alike for the better part of a
second, as no noise does.""",
}


def printed(found) -> str:
    """What the command prints of an inspection, without colours."""
    screen = Console(file=io.StringIO(), width=100, color_system=None)
    screen.print(health_overview(found))
    return "\n".join(line.rstrip() for line in screen.file.getvalue().splitlines())


def page(name: str, data: Path, out: Path | None = None) -> str:
    """Markdown of one robot. out: folder for its picture."""
    robot = model(name, data)
    log = sy.read_log(data / f"{LOGS[name]}.npz", robot)
    found = inspect(log, robot)
    text = printed(found)
    if out is not None:
        drawn = Figure(health_view(found, log).figures[PICTURES[name]])  # written by kaleido and Chrome
        drawn.write_image(out / f"{name}.svg", width=480, height=260)
    command = f"$ steelyard inspect {LOGS[name]}.npz --model {name}.urdf"
    picture = f"![{CAPTIONS[PICTURES[name][0]]}]({name}.svg)"
    return f"# {TITLES[name]}\n\n{WORDS[name]}\n\n{picture}\n\n```console\n{command}\n{text}\n```\n"


def model(name: str, data: Path):
    """Robot of the table."""
    make = runpy.run_path(str(ROOT / "examples" / "02_models_from_dh.py"))["urdf_from_table"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.urdf"
        path.write_text(make(data / "models.json", name), encoding="utf-8")
        return sy.load(path)


def index() -> str:
    """Markdown that leads to the pages."""
    rows = [f"- [{TITLES[name]}]({name}.md): `{log}`" for name, log in LOGS.items()]
    said = (
        "What `steelyard inspect` finds in logs that were measured on robots, beside models that know the\n"
        "kinematics and guess the inertias. Written by `python -m evidence.bench.real_logs`; the logs belong to\n"
        "their authors and are no part of the project. What the command looks for: [logs](../../logs.md#health)\n"
        "and [diagnosis](../../diagnosis.md)."
    )
    return "\n".join(["# Real logs, inspected", "", said, "", *rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Write the pages of docs/evidence/inspect.")
    parser.add_argument("data", type=Path, nargs="?", default=DATA, help="folder with the logs and models.json")
    parser.add_argument("-o", "--out", type=Path, default=OUT, help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "README.md").write_text(index(), encoding="utf-8")
    for name in LOGS:
        (options.out / f"{name}.md").write_text(page(name, options.data, options.out), encoding="utf-8")


if __name__ == "__main__":
    main()
