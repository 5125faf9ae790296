"""Tables as spreadsheets, robot controllers and recorders write them, and the messages about those that will not do."""

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.log import read_log

GERMAN = """Aufzeichnung Zelle 3;;;;
Zeit [s];Achse1 Ist-Position [°];Achse2 Ist-Position [°];Achse1 Drehmoment [Nm];Achse2 Drehmoment [Nm]
1763700000,000;180,0;90,0;1,5;2,5
1763700000,008;90,0;180,0;3,5;4,5
"""
Q = [[np.pi, np.pi / 2], [np.pi / 2, np.pi]]
TAU = [[1.5, 2.5], [3.5, 4.5]]


def written(folder, text, encoding="utf-8", name="log.csv"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def same(log, names=("Achse1", "Achse2")):
    assert log.joint_names == names
    np.testing.assert_allclose(log.q, Q)
    np.testing.assert_array_equal(log.tau, TAU)
    np.testing.assert_allclose(np.diff(log.t), 0.008, atol=1e-6)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("size", [2**20, 0])
def test_a_table_from_a_german_desk(tmp_path, encoding, size, monkeypatch, fake_robot):
    monkeypatch.setattr("steelyard.log.csv.LARGE", size)
    path = written(tmp_path, GERMAN, encoding)
    log = read_log(path)
    same(log)
    assert "not read, above the header: Aufzeichnung Zelle 3;;;;" in log.notes
    assert any("not UTF-8" in note for note in log.notes) == (encoding in ("cp1252", "utf-16"))
    same(read_log(path, fake_robot(("pan", "lift"), 2, 2)), ("pan", "lift"))


def test_units_may_stand_below_the_header(tmp_path):
    text = (
        "recorded by hand, on a Tuesday\nt;q_a;q_b;tau_a;tau_b\nms;deg;deg;Nm;mNm\n0;180;90;1;1000\n8;90;180;2;2000\n"
    )
    log = read_log(written(tmp_path, text))
    np.testing.assert_allclose(log.q, Q)
    np.testing.assert_allclose(log.tau, [[1, 1], [2, 2]])
    np.testing.assert_allclose(log.t, [0, 0.008])
    assert "units are those of the line below the header" in log.notes


def test_a_line_of_words_is_not_taken_for_units(tmp_path):
    with pytest.raises(LogError, match=r"line 2, column 't': 'start' is not a number"):
        read_log(written(tmp_path, "t,q_a\nstart,run\nx,y\n"))


@pytest.mark.parametrize(
    "header",
    [
        "timestamp,actual_q_0,actual_q_1,actual_torque_0,actual_torque_1,target_q_0",
        "time,q_a_rad,q_b_rad,tau_a_Nm,tau_b_Nm,host",
        "time,a_pos_rad,b_pos_rad,a_torque_nm,b_torque_nm,host",
        "time,a actual position,b actual position,a torque [Nm],b torque [Nm],mode",
        "t,a_position_meas,b_position_meas,a_effort,b_effort,c_position",
    ],
)
def test_words_that_only_decorate(tmp_path, header, fake_robot):
    log = read_log(written(tmp_path, header + "\n0,1,2,3,4,5\n1,1,2,3,4,5\n"), fake_robot(("a", "b"), 2, 2))
    assert log.joint_names == ("a", "b")
    assert log.q[0].tolist() == [1, 2] and log.tau[0].tolist() == [3, 4]


def test_words_that_tell_columns_apart_stay(tmp_path, fake_robot):
    text = "t,a_position,a_actual_position,a_effort\n0,1,2,3\n1,1,2,3\n"
    assert read_log(written(tmp_path, text), fake_robot(("a",), 1, 1)).q[0].tolist() == [1]
    text = "t,q_actual,q_b,tau_actual,tau_b\n0,1,2,3,4\n1,1,2,3,4\n"
    assert read_log(written(tmp_path, text)).joint_names == ("actual", "b")
    text = "t,q_deg,q_b,tau_deg,tau_b\n0,1,2,3,4\n1,1,2,3,4\n"
    assert read_log(written(tmp_path, text), fake_robot(("deg", "b"), 2, 2)).q[0].tolist() == [1, 2]


@pytest.mark.parametrize("names", [("Shoulder", "ELBOW"), ("shoul der", "el-bow"), ("A1", "A2"), ("axis_0", "axis_1")])
def test_names_spelled_otherwise_or_only_counted(tmp_path, names, fake_robot):
    a, b = names
    text = f"t,q_{b},q_{a},tau_{b},tau_{a}\n0,2,1,4,3\n1,2,1,4,3\n"
    log = read_log(written(tmp_path, text), fake_robot(("shoulder", "elbow"), 2, 2))
    assert log.q[0].tolist() == [1, 2] and log.tau[0].tolist() == [3, 4]
    assert any(a in note and ("capitals" in note or "in its order: shoulder, elbow" in note) for note in log.notes)


@pytest.mark.parametrize(
    ("names", "joints"),
    [
        (("left", "right"), ("shoulder", "elbow")),
        (("A1", "B2"), ("shoulder", "elbow")),
        (("j1", "j2"), ("shoulder", "elbow")),
        (("joint1", "joint2"), ("shoulder", "elbow")),
        (("A1", "A3"), ("shoulder", "elbow")),
        (("elbow", "A2"), ("shoulder", "elbow")),
        (("Elbow", "shoulder"), ("elbow", "Elbow")),
    ],
)
def test_names_that_are_others_are_refused(tmp_path, names, joints, fake_robot):
    text = "t,q_{0},q_{1},tau_{0},tau_{1}\n0,1,2,3,4\n1,1,2,3,4\n".format(*names)
    with pytest.raises(LogError, match=r"log\.csv: q of joints .* is not in the log.*--channels"):
        read_log(written(tmp_path, text), fake_robot(joints, 2, 2))


def test_a_list_of_columns_is_in_the_order_of_the_robot(tmp_path, fake_robot):
    text = "t,left_position,right_position,left_torque,right_torque\n0,1,2,3,4\n1,1,2,3,4\n"
    channels = {"q": ["right_position", "left_position"], "tau": ["right_torque", "left_torque"]}
    path = written(tmp_path, text)
    log = read_log(path, fake_robot(("shoulder", "elbow"), 2, 2), channels=channels)
    assert log.q[0].tolist() == [2, 1] and log.tau[0].tolist() == [4, 3]
    assert read_log(path, fake_robot(("left", "right"), 2, 2), channels=channels).q[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frame,q_a\n0,1\n1,2\n", r"log\.csv: no column for time \(t\) among frame, q_a.*--channels"),
        (
            "t,q_a,q_a\n0,1,1\n1,1,1\n",
            r"log\.csv: columns 'q_a' and 'q_a' both look like q of a; choose with --channels",
        ),
        (
            "t,q_a,tau_b\n0,1,2\n1,1,2\n",
            r"log\.csv: no joint has all of q, tau\. Found q: a; tau: b\. Choose with --cha",
        ),
    ],
)
def test_messages_name_the_file_and_the_option(tmp_path, text, message):
    with pytest.raises(LogError, match=message):
        read_log(written(tmp_path, text))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("size", [2**20, 0])
def test_a_table_of_several_clocks_has_the_samples_of_its_positions(tmp_path, delimiter, size, monkeypatch):
    """Speeds of their own clock, torques with the positions, and a sensor in rows of its own."""
    monkeypatch.setattr("steelyard.log.csv.LARGE", size)
    named = ["wrist/velocity", "wrist/position", "hip/position", "hip/velocity", "wrist/effort", "hip/effort"]
    rows: list[list] = [["time", "/sonar/front/range", *(f"/arm/state/{name}" for name in named)]]
    for k in range(200):
        t = k * 0.005
        q, v = [t, 2 * t], [3 * t, 5 * t]
        if k % 3 == 2:
            rows.append([t, 7.5, "", "", "", "", "", ""])
        elif k % 3 == 1:
            rows.append([t, "", v[0], "", "", v[1], "", ""])
        else:
            rows.append([t, "", "", *q, "", 4 * t, 6 * t])
    text = "\n".join(delimiter.join(map(str, row)) for row in rows) + "\n"
    log = read_log(written(tmp_path, text))
    assert log.joint_names == ("wrist", "hip")
    t = np.arange(3, 200, 3) * 0.005  # no speed before the first one
    t = t[t <= 199 * 0.005]
    np.testing.assert_allclose(np.diff(log.t), 0.015)
    np.testing.assert_allclose(log.q, np.outer(t, [1, 2])[: len(log.q)])
    np.testing.assert_allclose(log.v, np.outer(t, [3, 5])[: len(log.q)])
    np.testing.assert_allclose(log.tau, np.outer(t, [4, 6])[: len(log.q)])
    assert len(log.q) >= 65 and any("v interpolated" in note for note in log.notes)


def test_torques_missing_over_long_are_not_drawn_as_a_line(tmp_path):
    lines = [f"{k / 100},{k},{'' if 40 <= k < 60 or k == 20 else k}" for k in range(100)]
    log = read_log(written(tmp_path, "t,q_a,tau_a\n" + "\n".join(lines) + "\n"))
    assert np.flatnonzero(np.isnan(log.tau[:, 0])).tolist() == list(range(40, 60)) and log.tau[20, 0] == 20


@pytest.mark.parametrize("row", ["0.5,,2,3,4", "0.5,1,2,,4", ",1,2,3,4", "0.5,x,2,3,4"])
def test_cells_missing_among_those_of_a_signal_are_refused(tmp_path, row):
    with pytest.raises(LogError, match=r"line 3, column"):
        read_log(written(tmp_path, f"t,q_a,q_b,tau_a,tau_b\n0,1,2,3,4\n0.2,,,,\n{row}\n1,1,2,3,4\n"))
