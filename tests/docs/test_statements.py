"""Statements of the pages, held to the code that they are about."""

import ast
import importlib
import re
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from evidence import runner
from steelyard.check.catalog import RULES
from steelyard.check.thresholds import THRESHOLDS as CHECK
from steelyard.diagnose.faults import FATAL
from steelyard.excite import Limits
from steelyard.excite.thresholds import THRESHOLDS as EXCITE
from steelyard.fit.thresholds import THRESHOLDS as FIT
from steelyard.log import checks
from steelyard.log.automatic_cutoff import DISTORTS, SCATTER
from steelyard.log.masks import SATURATED
from steelyard.log.stamps import GAP
from steelyard.model.joint import ENDLESS, ENDLESS_EFFORT
from steelyard.model.meshes import PICTURE
from steelyard.model.references import HOMES, MARKERS
from steelyard.pipeline.inspection import NOISY
from steelyard.report.parameters import UNCERTAIN

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
# words that are modules of the library, and in examples variables: objects of these kinds
VARIABLES = {"bounds", "joint", "log", "payload", "report", "result", "robot", "rotor", "side", "view"}


def text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def flowing(page: str) -> str:
    """The text of a page in one line."""
    return " ".join(text(page).split())


def spans(page: str) -> str:
    return " ".join(re.findall(r"`[^`\n]+`", page))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_names_are_found_where_they_are_said_to_be(path):
    """`sy.a.b` and `steelyard.a.b` as they stand; `a.b` of a module a below `sy`, or where the page imports a."""
    page = path.read_text("utf-8")
    for name in re.findall(r"(?<![\w./])sy((?:\.[a-zA-Z_]\w*)+)", page):
        reduce(getattr, name.split(".")[1:], sy)
    for name in re.findall(r"`(steelyard(?:\.[a-zA-Z_]\w*)+)", page):
        assert _imported(name), name
    modules = {file.stem for file in (ROOT / "src" / "steelyard").rglob("*.py")} - VARIABLES
    for head, name in re.findall(r"(?<![\w.])([a-z_]+)\.([a-z_]\w*)\(", spans(page)):
        if head in modules and not re.search(rf"import (?:.*, )?{head}\b", page):
            holder = next((each for each in (sy, sy.inertia, sy.fit) if hasattr(each, head)), None)
            assert hasattr(getattr(holder, head, None), name), f"{head}.{name}"


def _imported(name: str) -> bool:
    """Whether modules as far as they go, and then their attributes, lead to a name."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            reduce(getattr, parts[k:], importlib.import_module(".".join(parts[:k])))
        except (ImportError, AttributeError):
            continue
        return True
    return False


def test_fatal_faults_are_those_of_the_code():
    page = text("docs/troubleshooting.md").split("## Faults of model, mounting and drives")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \| fatal", page, flags=re.MULTILINE)) == FATAL


def test_severities_of_findings_are_those_of_the_code():
    made: dict[str, set[str]] = {"fatal": set(), "warning": set()}
    for file in (path for name in ("log", "prepare") for path in (ROOT / "src/steelyard" / name).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in made and node.args:
                codes = [each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)]
                made[node.func.id] |= {code for code in codes if isinstance(code, str)}
    page = text("docs/troubleshooting.md").split("## Faults of a log")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (fatal|warning)", page, flags=re.MULTILINE)
    said = {severity: {code for code, s in rows if s == severity} for severity in made}
    assert len(said["fatal"]) >= 8
    assert not said["warning"] & (made["fatal"] - made["warning"])
    t, still = np.arange(30.0), np.zeros((30, 1))
    t[10], t[21] = t[9], t[19]  # two that the code names in a table
    found = {each.code: each.severity for each in checks.check(sy.Log(t=t, q=still, tau=still, joint_names=("j",)))}
    assert said["fatal"] <= made["fatal"] | {code for code, severity in found.items() if severity == "fatal"}


def test_numbers_of_the_pages_on_checks_and_motions():
    excitation, check = flowing("docs/excitation.md"), flowing("docs/check.md")
    assert f"±180° or ±{EXCITE.position['prismatic']} m" in excitation
    assert (
        f"{EXCITE.velocity['revolute']:g} rad/s or {EXCITE.velocity['prismatic']} m/s where it has none" in excitation
    )
    assert f"{EXCITE.acceleration:g} times the velocity limit" in excitation
    assert f"`margin` ({Limits().margin:.0%}".replace("%", " %") in excitation
    assert f"`clearance` ({1000 * Limits().clearance:g} mm)" in excitation
    assert f"`balance` ({1000 * Limits().balance:g} mm)" in excitation
    assert f"more than {PICTURE // 2**20} MB" in check
    assert (ENDLESS, ENDLESS_EFFORT) == (1000, 10**6)
    assert "from 1000 rad or m (per second) on and efforts from 10^6 N m or N on" in flowing("docs/conventions.md")
    assert CHECK.thin == 1e-3


def test_numbers_of_the_page_on_logs():
    page = text("docs/troubleshooting.md")
    assert f"The log has fewer than {checks.MINIMUM} samples." in page
    assert f"Fewer than {checks.SLOWEST:g} samples a second" in page
    assert f"Time steps spread by more than {100 * checks.JITTER:g} % of their median." in page
    assert f"longer than {GAP:g} median steps" in page
    assert f"Over {100 * SATURATED:g} % of a joint's torques are exactly its extreme value" in page
    assert f"accelerations are over {100 * NOISY:g} % encoder steps" in page
    assert f"accelerations are over {100 * NOISY:g} % noise" in page
    assert f"never moves (less than {checks.STILL:g} rad or m)" in page
    page = text("docs/evidence/cutoffs.md")
    assert f"`{SCATTER:g} s^0.5 / sqrt(T - 2 / cutoff)`" in page
    assert f"`{DISTORTS:g} sqrt(D)`" in page


def test_thresholds_behind_barely_and_hardly():
    page, files, report = (flowing(f"docs/{name}.md") for name in ("command_line", "files", "report"))
    condition = -np.log10(FIT.weak) / 2
    assert f"barely excites (a condition number of the weighted, scaled regressor of more than 1e{condition:g})" in page
    assert f"poorly excited, standard deviation above {100 * UNCERTAIN:g} % of the natural size" in files
    assert f"(standard deviation above {100 * UNCERTAIN:g} % of their natural size)" in report


def test_packages_are_marked_as_the_pages_say():
    for page in ("SECURITY.md", "docs/command_line.md"):
        assert all(f"`{name}`" in flowing(page) for name in (*MARKERS[:3], "site-packages", "share"))
    assert {"site-packages", "share"} <= set(HOMES)


def test_accuracy_of_contacts_is_that_of_the_stored_run():
    table, page = runner.read("benchmarks")["contacts"]["table"], flowing("docs/controller_code.md")
    free = table.pop("no contact")
    most = -np.log(0.05) / free["hours"]  # an hour, by Poisson's law without an alarm
    assert free["false alarms"] == 0 and f"{free['hours']:.3g} h of motion without contact has 0" in page
    assert f"rules out more than {most:.0f} an hour (95 %)" in page
    columns = ("found of all, %", "delay, median, ms", "delay, 90 %, ms", "link named, %", "one before it, %")
    for force, row in table.items():
        cells = [f"{row[each]:.0f} {each.rpartition(' ')[2]}" for each in columns]
        assert f"| {force} | {row['pushes']} | {' | '.join(cells)} |" in page
        assert row["found of these, %"] == 100 and row["one beyond it, %"] == 0
    shares = [f"{table[force]['beyond the band, %']:.0f} % of those of {force}" for force in ("10 N", "80 N")]
    assert ", ".join(shares) in page


def test_figures_of_rehearsals_are_those_of_the_stored_rows():
    page = flowing("docs/excitation.md")
    stored = runner.read("rehearsals")
    rows = [row for row in stored.values() if not row["moved"]]
    servos = stored["SO-101, commands"]
    own, (other,) = [1e3 * each["left"] for each in servos["alike"]], servos["rough"]
    predicted = f"predicted {1e3 * servos['left']:.1f} mrad in windows, reached {min(own):.1f} to {max(own):.1f}"
    assert f"{predicted}, with friction of other forms {1e3 * other['left']:.1f}" in page
    held = [each["in promised"] for each in (*servos["alike"], other)]
    assert f"of drive numbers, {100 * min(held):.0f} to {100 * max(held):.0f} % err by less" in page

    def span(values, digits: int = 0) -> str:
        return f"{100 * min(values):.{digits}f} to {100 * max(values):.{digits}f} %"

    def mean(kind: str, key: str) -> list[float]:
        return [float(np.mean([each[key] for each in row[kind]])) for row in rows]

    left = {kind: [each["left"] for row in rows for each in row[kind]] for kind in ("alike", "rough")}
    assert (
        f"errors on unlike motion are {span(left['alike'], 2)}, predicted {span([r['left'] for r in rows], 2)}" in page
    )
    assert f"{span(mean('alike', 'in promised'))} of the parameters err by less than the promised interval" in page
    assert f"errors are {span(left['rough'], 1)}, and {span(mean('rough', 'in promised'))} stay within" in page
    assert f"hold then, too ({span(mean('rough', 'in own'))})" in page


def test_what_is_mended_on_demand_is_what_is_no_error():
    index = text("docs/check.md")
    for rule in RULES:
        repaired = "no" if not rule.repairs else "yes" if rule.severity == "error" else "on demand"
        assert re.search(rf"^\| \[{rule.code}\].* \| {repaired} \|$", index, flags=re.MULTILINE), rule.code
