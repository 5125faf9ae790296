"""Write the tables of docs/papers.md: what the five papers publish beside what this library gives.

`PYTHONPATH=tests/make:tests:. python tools/paper_tables.py` replaces the text between the markers of each table; a test
compares it. Figures of fast computations are made anew, those of benchmarks come from their stored results.
"""

import json
import re
import runpy
from functools import cache, partial
from pathlib import Path

import numpy as np
from evidence.bench import payload as study

import steelyard as sy
from evidence import runner
from steelyard.identifiable import identifiability
from steelyard.model import library

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "papers.md"
KINDS = ("mass", "centre", "inertia")
OVER = 500.0  # per cent, above which the paper gives no figure
COUNTS = (  # robot, options, published: links, with motors
    ("PUMA 560", library.puma560, {}, (36, 40)),
    ("SCARA", library.scara, {}, (8, 11)),
    ("Cheetah 3 leg, fixed torso", library.cheetah3_leg, {}, (17, 18)),
    ("Cheetah 3 leg, free torso", library.cheetah3_leg, {"floating": True}, (21, 24)),
)
LOCKED = ("1.35, 2.39, 0.00", "7.40, 20.24, 4.71", "16.31, 12.40, 61.73")  # paper C, Table 6
ADL = {"linear": 1.45, "angular": 11.34, "rate": 1.08, "radius": 0.081}  # paper E, Table I: means, SI
RMS, COULOMB = (1.48, 1.69, 1.16), (3.12, 1.25, 0.95)  # paper B, section VI, N m


def tables() -> dict[str, str]:
    """Markdown of every table by its name."""
    stored = json.loads(study.STORED.read_text())
    return {
        "leg": leg(),
        "counts": counts(),
        "locked": locked(),
        "gravity": gravity(),
        "conditions": conditions(stored),
        "table 3": errors(stored["table"], study.PUBLISHED, study.TABLE_SPEEDS),
        "table 4": errors({k: [v] for k, v in stored["robot"].items()}, _each(study.PUBLISHED_ROBOT), (1.1,)),
        "figure 6": after_ten_seconds(stored),
        "prediction": prediction(stored),
    }


def leg() -> str:
    """Paper B: torque error, friction and time of the leg of the Cheetah 3."""
    example = runpy.run_path(str(ROOT / "examples" / "31_paper_b_leg.py"))
    robot, part = library.cheetah3_leg(), example["PART"]
    held, log = example["shapes"](robot), example["noisy"](example["recorded"](robot), np.random.default_rng(0))
    info = sy.accumulate(robot, log[:part], rotors=True)
    options = {"prior": example["guess"](robot, held), "within": held, "weight": example["WEIGHT"]}
    estimate = sy.fit.consistent(info, **options)
    validation = log[part::10]
    error = np.sqrt(np.mean((sum(example["parts"](estimate, validation).values()) - validation.tau) ** 2, axis=0))
    bench = runner.read("benchmarks")["consistent"]["table"]["paper B's job, fused kernel"]["all"]
    return _table(
        ("three links, three rotors, 10,000 samples", "paper", "here"),
        (
            ("RMS torque error of validation: ab/ad, hip, knee [N m]", _list(RMS), _list(error)),
            ("Coulomb friction [N m]", _list(COULOMB), _list(estimate.friction["coulomb"])),
            ("time [s]", "1.67 (MOSEK, 2011 laptop)", f"{1e-3 * float(bench):.2g}"),
        ),
    )


def counts() -> str:
    """Paper C: identifiable combinations of Tables 2, 4 and 5."""
    rows = []
    for name, make, options, published in COUNTS:
        torso = 10 if options else 0  # its own parameters are not counted
        found = (identifiability(make(**options), motors=motors).count - torso for motors in (False, True))
        rows.append((name, " / ".join(map(str, published)), " / ".join(map(str, found))))
    return _table(("identifiable combinations: links / with motors", "paper", "here"), rows)


@cache
def locked() -> str:
    """Paper C, Table 6."""
    result = runpy.run_path(str(ROOT / "examples" / "21_locked_torso.py"))["run"]()
    rows: list[tuple[str, ...]] = [("paper", *LOCKED)]
    for name, key in (
        ("pseudo-inverse, as in the paper", "locked"),
        ("least norm of scaled parameters", "locked, scaled"),
    ):
        rows.append((name, *(_list(part) for part in result[key, "gallop"].reshape(3, 3))))
    head = ("RMS error in a gallop", "ab/ad, hip, knee [N m]", "torque on the torso [N m]", "force on the torso [N]")
    return _table(head, rows)


def gravity() -> str:
    """Paper E, Table I: gravity beside other forces in activities of daily living, from the means."""
    a, alpha, rate, r = (ADL[key] for key in ("linear", "angular", "rate", "radius"))
    g = 9.81
    force, torque = (g + a) / a, (r * g + r * (a + r * alpha + r * rate**2)) / (r * (a + r * alpha + r * rate**2))
    return _table(
        ("all forces over those of motion", "paper", "here"),
        (("force", "about 5", f"{force:.1f}"), ("torque, a point mass at the mean radius", "about 5", f"{torque:.1f}")),
    )


def conditions(stored) -> str:
    """Paper E: condition number of the regressor of 150 samples."""
    rows = [
        (speed, *(f"{each[name]:.3g}" for name in each))
        for speed, each in stored["condition"].items()
        if speed != "1.1"
    ]
    published = [f"{x:g}" for x in study.PUBLISHED_CONDITION]
    head = ("rad/s", "paper", *(f"here, {name}" for name in next(iter(stored["condition"].values()))))
    return _table(head, [(row[0], x, *row[1:]) for row, x in zip(rows, published, strict=True)])


def errors(found, published, speeds) -> str:
    """Errors of mass, centre of mass and inertia in per cent, published and here."""
    head = ["method", *(f"{kind}, {of}" for kind in KINDS for of in ("paper", "here"))]
    rows = []
    for name, values in found.items():
        row = [name]
        for kind in range(3):
            row.append(_percents(published[name], kind) if name in published else "")
            row.append(_percents(values, kind))
        rows.append(row)
    speed = " / ".join(f"{x:g}" for x in speeds)
    return _table((f"method; % at {speed} rad/s", *head[1:]), rows)


def after_ten_seconds(stored) -> str:
    """Paper E, Figure 6: inertia error by noise level at three speeds, and the signal-to-noise ratio of the wrench."""
    at = [stored["speeds"].index(speed) for speed in (1.0, 2.0, 4.0)]
    levels = stored["by_noise"]
    rows = []
    for name in study.METHODS:
        values = ([levels[level][name][k][2] for k in at] for level in levels)
        rows.append((name, *(" / ".join(map(_two, each)) for each in values)))
    ratios = (
        (" / ".join(f"{stored['snr'][level][k]:,.0f}" for k in at) if level in stored["snr"] else "")
        for level in levels
    )
    return _table(
        ("inertia error [%] at 1 / 2 / 4 rad/s; noise:", *levels), [*rows, ("signal-to-noise ratio", *ratios)]
    )


def prediction(stored) -> str:
    """Paper E, Figure 8."""
    found = stored["predicted"]["found"]
    rows = [(name, f"{100 * each['share off']:.1f} %") for name, each in found.items()]
    return _table(("parameters of the tee after 1.5 s, by", "RMS torque error, of the RMS torque"), rows)


def _each(values) -> dict:
    return {name: (row,) for name, row in values.items()}


def _percents(rows, kind: int) -> str:
    return " / ".join("> 500" if row[kind] >= OVER else f"{row[kind]:.3g}" for row in rows)


def _two(x: float) -> str:
    """Two digits of a per cent."""
    return "< 0.01" if x < 0.01 else f"{x:.0f}" if x >= 100 else f"{x:.2g}"


def _three(x: float) -> str:
    """Three digits, without an exponent."""
    return f"{x:.3g}" if x < 1000 else f"{float(f'{x:.3g}'):,.0f}"


def _list(values) -> str:
    return ", ".join(f"{x:.2f}" for x in values)


def _table(head, rows) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def marked(text: str, made: dict[str, str]) -> str:
    """The page with the tables between their markers."""
    for name, table in made.items():
        pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n)(?:(?!<!--).)*(<!-- end -->)", flags=re.DOTALL)
        text, count = pattern.subn(partial(_between, table), text)
        assert count == 1, f"docs/papers.md has {count} places for the table '{name}'"
    return text


def _between(table: str, found: re.Match) -> str:
    return f"{found[1]}{table}\n{found[2]}"


if __name__ == "__main__":
    PAGE.write_text(marked(PAGE.read_text("utf-8"), tables()), encoding="utf-8")
