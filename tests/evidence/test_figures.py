"""Claims about speed, size and accuracy, held to the stored figures of benchmarks and suites."""

import re
from pathlib import Path

import pytest
from evidence.claims import span

from evidence import runner

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
DESIGNED = ("Panda, 7 joints", "UR10, 6 joints", "Go2 on a stand, 12 joints", "G1 upper body, 31 joints")
ROBOTS = ("panda", "xarm7", "go2", "g1_29dof_rev_1_0")
TOOLS = ("Pinocchio + cvxpy", "FIGAROH", "mujoco.sysid")
STEADY = ("friction varies by 0% between runs", "friction varies by 1% between runs")
CHANGES = ("robot 3, friction of joint2", "robot 5, load of link6", "robot 7, friction of joint3")
STAGES = ("regressor", "identifiability", "identification", "urdf", "mjcf", "check")


def numbers(cell) -> list[float]:
    """Those of a cell: two of a range `1 .. 2`, the first of `3 of 4`, none in brackets."""
    found = NUMBER.findall(str(cell).split(" of ")[0].split("(")[0])
    assert found, f"{cell!r} has no number"
    return [float(number.replace(",", "")) for number in found]


@pytest.fixture
def hold(request, record_property):
    """Takes down numbers with their unit and what is promised of all of them, and holds them to it.

    Where the claim says how far it falls short, a promise that is missed is no failure.
    """
    short = any(mark.kwargs.get("short") for mark in request.node.iter_markers("claim"))

    def hold(says, found, unit="", *, most=None, least=None, page="benchmarks"):
        low, high = min(found), max(found)
        promises = (f"{word} {end:,g}" for word, end in (("at least", least), ("at most", most)) if end is not None)
        promise = ", ".join(promises)
        for value in (low, high):
            record_property("; ".join([says, unit, f"({promise})" if promise else ""]), float(value))
        record_property("page", f"docs/evidence/{page}.md")
        assert short or least is None or low >= least, f"{says}: {span(found)}, {promise}"
        assert short or most is None or high <= most, f"{says}: {span(found)}, {promise}"

    return hold


@pytest.fixture
def figure(hold):
    """Holds numbers of the stored table of a benchmark, some rows in one column. times: to come to the unit."""

    def figure(says, benchmark, rows, column, unit="", *, times=1.0, **promise):
        table = runner.read("benchmarks")[benchmark]["table"]
        table = table if isinstance(next(iter(table.values())), dict) else {"": table}
        hold(says, [times * x for row in rows for x in numbers(table[row][column])], unit, **promise)

    return figure


def test_numbers_of_cells():
    assert numbers("9.4 .. 11") == [9.4, 11] and numbers("1,500 (of 3)") == [1500]
    assert numbers("2 of 25") == [2] and numbers(6.5e-07) == [6.5e-07]
    with pytest.raises(AssertionError, match="no number"):
        numbers("-")


def test_a_missed_promise_is_told(hold):
    hold("time", [0.5, 1.0], "s", most=1.0)
    with pytest.raises(AssertionError, match="time: 2, at most 1"):
        hold("time", [2.0], "s", most=1.0)


@pytest.mark.claim("body.speed", "a million bodies through a chart, and a mesh of a million faces, with derivatives")
def test_bodies(figure):
    figure("chart and Jacobian", "inertia_charts", ("log_cholesky",), "both", "s", most=1.5)
    figure("mesh", "mesh_inertia", ("",), "parameters", "s", most=0.15)
    figure("all vertex derivatives", "mesh_inertia", ("",), "vertex derivatives", "s", most=1.0)
    figure("trimesh's time over ours", "mesh_inertia", ("",), "ratio")


@pytest.mark.claim("linter.false_alarms")
def test_false_alarms(hold):
    page = (ROOT / "docs" / "evidence" / "check_findings.md").read_text("utf-8")
    found = re.findall(r"^\| SY\d+ \| .*? \| ([\d.]+) % \|", page, flags=re.MULTILINE)
    assert len(found) >= 18
    hold("false alarms of a rule", list(map(float, found)), "%", most=5, page="check_findings")


@pytest.mark.claim("linter.speed", "1,000 links are checked in under two seconds")
def test_linter(figure):
    figure("time", "check", ("",), "seconds", "s", most=2)


@pytest.mark.claim(
    "identifiability.speed", "time grows with the number of links only: 1,000 in a second, example robots in 50 ms"
)
def test_identifiability(figure):
    figure("1,000 links", "identifiability", ("chain 1000",), "seconds", "s", most=1)
    figure("10,000 links", "identifiability", ("chain 10000",), "seconds", "s")
    figure("slowest robot", "identifiability", ("example robots",), "most", "ms", most=50, times=1e3)


@pytest.mark.claim(
    "derivatives.speed",
    "all torque derivatives in less than ten inverse dynamics; those of q, v, a within twice Pinocchio's time",
    short="with NumPy alone, all derivatives take more than ten inverse dynamics",
)
def test_derivatives(figure):
    figure("inverse dynamics, kernel", "derivatives", ROBOTS, "calls", most=10)
    figure("inverse dynamics, NumPy", "derivatives", ROBOTS, "calls NumPy", most=10)
    figure("q, v, a over Pinocchio", "derivatives", ROBOTS, "q, v, a over Pinocchio", most=2)


@pytest.mark.claim(
    "information.speed",
    "regressors and their sums are faster than every peer's loop: 12 times on an arm, 8 times on a humanoid",
    short="NumPy alone does not reach the time of a sample that a prototype had on another machine",
)
def test_information(figure):
    for robot, least in (("panda", 12), ("g1_29dof_rev_1_0", 8)):
        says = f"Pinocchio with Gram over our kernel, {robot}"
        figure(says, "regressor", ("Pinocchio with Gram / sums kernel",), robot, least=least)
    figure("share of the processor's peak, g1", "regressor", ("fraction of peak",), "g1_29dof_rev_1_0")
    figure("sums by NumPy alone, panda", "regressor", ("sums NumPy, us",), "panda", "us a sample", most=1.9)


@pytest.mark.claim("information.memory")
def test_memory(figure):
    figure("growth", "streaming", ("panda, numpy", "panda, native"), "growth MB", "MB", most=50)


@pytest.mark.claim("information.start")
def test_start(figure):
    figure("import", "start", ("import steelyard",), "seconds", "s", most=0.3)
    figure("with every public name", "start", ("import steelyard, every public name",), "seconds", "s")


@pytest.mark.claim("fit.coverage")
def test_coverage(figure):
    noises = ("white", "AR(1), 0.9", "AR(1), 0.95", "AR(1), 0.98")
    figure("base parameters", "coverage", noises, "base", "%", least=92, most=98)
    figure("data-determined", "coverage", noises, "full", "%", least=92, most=98)
    figure("single ones", "coverage", noises, "base, worst and best", "%")


@pytest.mark.claim("fit.measured")
def test_measured_robots(figure):
    for robot in ("Panda", "UR10", "TX40", "KUKA"):
        figure(f"{robot}, held out", "estimators", ("reversals count less, consistent",), robot, "%")


@pytest.mark.claim(
    "fit.speed",
    "fits with ellipsoids, friction and rotors: 10 ms for an arm, 150 ms for a humanoid, 30 ms for paper B's job",
    short="paper B's job takes longer than 30 ms with NumPy alone",
)
def test_fits(figure):
    figure("leg, arm", "consistent", ("Cheetah 3 leg, 3 rotors", "PUMA 560, 6 rotors"), "fit", "ms", most=10)
    figure("humanoid", "consistent", ("G1, 30 bodies, no rotors",), "fit", "ms", most=150)
    figure("paper B's job", "consistent", ("paper B's job, fused kernel",), "all", "ms", most=30)
    figure("with NumPy alone", "consistent", ("paper B's job, NumPy",), "all", "ms", most=30)
    figure("by hand", "consistent", ("by hand, Pinocchio and CVXPY",), "all", "ms")


@pytest.mark.claim("payload.published")
def test_the_published_study(figure):
    for part, most in (("mass", 1.77), ("centre", 15.5), ("inertia", 43.5)):
        figure(f"{part} of the default", "payload", ("density",), f"{part} 1.5 rad/s [%]", "%", most=most)


@pytest.mark.claim(
    "payload.speed",
    "point masses in 1 ms (56 points) and 50 ms (10,000); online updates within 200 us",
    short="the small problem with norms as published takes a little more than 1 ms",
)
def test_payload(figure):
    figure("56 points", "payload", ("PMD, 150 samples, 56 points",), "time [ms]", "ms", most=1)
    figure("10,000 points", "payload", ("PMD, 150 samples, 10000 points",), "time [ms]", "ms", most=50)
    online = ("online update, 99.9 % (wall)",)
    figure("update, 99.9 %", "payload", online, "time [ms]", "us", most=200, times=1e3)


@pytest.mark.claim("excitation.safe")
def test_designs_are_safe_and_better(figure):
    for limit in ("limits", "collisions"):
        figure(limit, "excitation_robots", [f"{each}: designed" for each in DESIGNED], f"{limit} %", "%", most=0)
    for kind in ("designed", "random, safe", "sinusoids, safe"):
        rows = [f"{each}: {kind}" for each in DESIGNED]
        figure(f"base error, {kind}", "excitation_robots", rows, "base error, least squares")


@pytest.mark.claim(
    "excitation.samples",
    "ten times fewer samples than safe random motion for the same covariance",
    pages=("docs/excitation.md",),
    short="five to ten on a Panda, nine to eleven on a UR10, three to five where random motions may collide",
)
def test_samples(figure):
    for robot in ("UR10", "Panda"):
        figure(f"{robot}, times fewer", "excitation", (f"{robot}, D", f"{robot}, A"), "kept D", least=10)


@pytest.mark.claim(
    "excitation.speed",
    "an arm's motion in 10 s, with a condition number at least as good as other tools'",
    pages=("docs/excitation.md",),
    short="15 to 31 s for the designs of the comparison with random motions, 80 s for a humanoid; log-determinants "
    "of other tools were not compared",
)
def test_designs(figure):
    scripts = ("UR10, script", "Panda, script")
    figure("time", "excitation_robots", [f"{each}: designed" for each in DESIGNED[:2]], "design s", "s", most=10)
    figure("time beside random", "excitation", ("UR10, D", "UR10, A", "Panda, D", "Panda, A"), "s", "s")
    figure("condition, ours", "excitation", scripts, "condition")
    figure("condition, a script's", "excitation", scripts, "script condition")
    figure("a script's time over ours", "excitation", scripts, "time ratio", least=1)


@pytest.mark.claim("logs.cutoff")
def test_cutoffs(figure):
    for smoother in ("butterworth", "kalman", "savgol"):
        figure(f"{smoother}, over the best of nine", "cutoffs", ("largest",), f"{smoother} over best", most=1.1)


@pytest.mark.claim(
    "logs.speed", "read, checked and summed at 150 MB/s; recordings ten times as fast as a loop over their messages"
)
def test_logs(figure):
    figure("NPZ, Parquet", "logs", (".npz", ".parquet"), "MB/s", "MB/s", least=150)
    recordings = ("rosbag2 (SQLite)", "rosbag2 (MCAP)", "ROS 1 bag", "MCAP")
    figure("recordings", "logs", recordings, "ratio", "times", least=10)


@pytest.mark.claim("report.size", "a million samples of 35 joints in 3 s and 8 MB")
def test_report(figure):
    figure("time", "report", ("all",), "s", "s", most=3)
    figure("page", "report", ("all",), "MB", "MB", most=8)


@pytest.mark.claim("scale.killed")
def test_fleet(figure):
    figure("difference", "fleet", ("Dask, 2 workers", "killed and resumed"), "difference", most=1e-10)
    figure("efficiency of two workers over one", "fleet", ("Dask, 2 workers",), "efficiency")
    figure("partitions kept", "fleet", ("killed and resumed",), "kept")
    figure("computed again", "fleet", ("killed and resumed",), "computed")


@pytest.mark.claim("scale.changes")
def test_changes(figure):
    for change in CHANGES:
        figure(f"share of fleets where {change} is named", "fleet_changes", STEADY, f"{change}: named", least=0.9)
    figure("fleets of 25 with a false alarm", "fleet_changes", STEADY, "fleets with a false alarm")


@pytest.mark.claim("scale.payloads")
def test_batches(figure):
    figure("a second", "batch", ("batch (native)",), "problems / s", least=1e4)
    figure("times a cone solver in a loop", "batch", ("cone solver in a loop",), "time, batch = 1")


@pytest.mark.claim("trust.conformance")
def test_conformance(hold):
    rows = [row["stages"] for row in runner.read("conformance").values() if "stages" in row]
    for stage in STAGES:
        passed = sum(stages.get(stage, {}).get("status") == "pass" for stages in rows)
        hold(f"{stage}: pass", [passed], page="conformance")


@pytest.mark.claim(
    "trust.peers",
    "other tools predict held-out motion of the same job no better",
    pages=("docs/comparison.md",),
    short="the script and FIGAROH take less time than the command; FIGAROH predicts the measured Panda as well, with "
    "nine negative coefficients of friction or armature",
)
def test_peers(hold):
    tables = [row["table"] for row in runner.read("peers").values() if "table" in row]
    for says, column in (
        ("their time over ours", "s / ours"),
        ("their held-out error over ours", "error / ours"),
        ("their distance from the truth over ours", "distance / ours"),
    ):
        cells = [table[tool].get(column) for table in tables for tool in TOOLS]
        least = None if column == "s / ours" else 1
        hold(says, [x for cell in cells if cell for x in numbers(cell)], least=least, page="peers")


@pytest.mark.claim("trust.fuzzed")
def test_fuzzing(hold):
    rows = runner.read("fuzzing").values()
    hold("executions", [sum(row["executions"] for row in rows)], page="fuzzing")
    hold("findings, repaired", [sum(row["found"] for row in rows)], page="fuzzing")
