"""Tables whose times are no numbers of seconds, rows of `ros2 topic echo --csv`, and registers of servos."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import LogError
from steelyard.log import read_log

START = datetime(2025, 3, 4, 23, 59, 57, tzinfo=UTC)  # three seconds before midnight
ROBOT = sy.library.scara()
LOG = sy.simulate.record(ROBOT, duration=6.0).log
LOG = LOG.replace(v=np.gradient(LOG.q, LOG.t, axis=0))
NAMES = LOG.joint_names
SIGNALS = [f"{key}_{name}" for key in ("q", "v", "tau") for name in NAMES]
NUMBERS = np.hstack([LOG.q, LOG.v, LOG.tau])


def stamps(form):
    ticks = np.round(1e6 * (LOG.t - LOG.t[0])).astype(int)
    for tick in ticks:
        now = START + timedelta(microseconds=int(tick))
        whole = int(START.timestamp() * 1e6) + int(tick)
        yield {
            "iso": now.isoformat(),
            "zulu": now.isoformat().replace("+00:00", "Z"),
            "space": now.strftime("%Y-%m-%d %H:%M:%S.%f"),
            "clock": now.strftime("%H:%M:%S.%f"),
            "comma": now.strftime("%H:%M:%S,%f"),
            "pair": f"{whole // 10**6},{whole % 10**6 * 1000}",
        }[form]


def written(path, head, form, beside="", separator=","):
    rows = (separator.join(f"{x:.9g}" for x in row) for row in NUMBERS)
    lines = [f"{stamp}{separator}{beside}{row}" for stamp, row in zip(stamps(form), rows, strict=True)]
    path.write_text("\n".join([*head, *lines]) + "\n")
    return path


def assert_same(log):
    np.testing.assert_allclose(log.t - log.t[0], LOG.t - LOG.t[0], atol=2e-6)
    for key in ("q", "v", "tau"):
        np.testing.assert_allclose(getattr(log, key), getattr(LOG, key), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("form", ["iso", "zulu", "space", "clock"])
def test_times_as_text(form, tmp_path):
    log = read_log(written(tmp_path / "run.csv", [",".join(["timestamp", *SIGNALS])], form), ROBOT)
    assert_same(log)
    assert any("times as text" in note for note in log.notes)


def test_a_comma_before_the_parts_of_a_second(tmp_path):
    assert_same(read_log(written(tmp_path / "run.csv", [";".join(["time", *SIGNALS])], "comma", separator=";"), ROBOT))


@pytest.mark.parametrize("words", ["sec,nanosec", "header.stamp.sec,header.stamp.nanosec", "secs,nsecs"])
def test_seconds_and_nanoseconds(words, tmp_path):
    assert_same(read_log(written(tmp_path / "run.csv", [",".join([words, *SIGNALS])], "pair"), ROBOT))


@pytest.mark.parametrize("frame", ["", "base_link"])
def test_echoes_of_a_topic(frame, tmp_path):
    path = written(tmp_path / "echo.csv", [], "pair", f"{frame},{','.join(NAMES)},")
    log = read_log(path, ROBOT)
    assert_same(log)
    assert "written by ros2 topic echo --csv" in log.notes
    turned = path.read_text().replace(",".join(NAMES), ",".join(NAMES[::-1]))
    path.write_text(turned)  # names say which number is whose
    np.testing.assert_allclose(read_log(path, ROBOT).q, LOG.q[:, ::-1], rtol=1e-7, atol=1e-9)


def test_what_is_no_echo_is_a_header(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("1,2,,a,b,0.1,0.2,0.3\n1,3,,a,b,0.1,0.2,0.3\n")  # three numbers of two names
    with pytest.raises(LogError, match="no column for time"):
        read_log(path)


def test_a_damaged_time_names_its_line(tmp_path):
    path = written(tmp_path / "run.csv", [",".join(["timestamp", *SIGNALS])], "iso")
    lines = path.read_text().splitlines()
    lines[5] = lines[5].replace("23:59", "23:99", 1)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LogError, match=r"line 6, column 'timestamp': '2025-03-04T23:99"):
        read_log(path, ROBOT)


def test_registers_of_servos_say_what_a_count_is(tmp_path):
    robot = sy.library.scara()
    counts = np.round(2048 + LOG.q * 2048 / np.pi)
    speeds = np.round(LOG.v / (0.229 * np.pi / 30))
    head = [f"present_{word}_{i + 1}" for word in ("position", "velocity") for i in range(len(NAMES))]
    path = tmp_path / "dxl.csv"
    table = np.column_stack([LOG.t, counts, speeds, LOG.tau])
    head = ["timestamp", *head, *(f"tau_{i + 1}" for i in range(len(NAMES)))]
    np.savetxt(path, table, "%.9g", ",", header=",".join(head), comments="")
    with pytest.raises(LogError, match=r"whole numbers up to .* an encoder counts") as refusal:
        sy.identify(robot, path)
    for word in ("--unit q=0.001533981", "--unit v=0.02398082", "--offset all=-3.141593"):
        assert word in str(refusal.value)
