import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steelyard.log.csv
from properties import tried
from steelyard.errors import LogError
from steelyard.log import Log, arrays, read_log, write_csv, write_npz

ROW = "0,1,2,3,4\n0.1,1.5,2.5,3.5,4.5\n"
Q = [[1, 2], [1.5, 2.5]]
TAU = [[3, 4], [3.5, 4.5]]


def written(folder, text, name="log.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def same(a, b):
    assert a.joint_names == b.joint_names and a.missing == b.missing
    for key in ("t", "q", "v", "a", "tau"):
        x, y = getattr(a, key), getattr(b, key)
        assert (x is None and y is None) or np.array_equal(x, y, equal_nan=True)


names = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=4, unique=True)
numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)


@st.composite
def logs(draw, names=names):
    joints = tuple(draw(names)) if draw(st.booleans()) else ()
    nv = len(joints) or draw(st.integers(1, 4))
    n = draw(st.integers(1, 5))
    channel = hnp.arrays(np.float64, (n, nv), elements=numbers)
    optional = {key: draw(channel) for key in ("v", "a", "tau") if draw(st.booleans())}
    t = draw(hnp.arrays(np.float64, (n,), elements=numbers))
    return Log(t=t, q=draw(channel), joint_names=joints, **optional)


@tried(60)
@given(log=logs())
def test_npz_round_trip(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "log.npz"
    text = [name for name in log.joint_names if name.rstrip("\0") != name]
    if not text:  # NumPy strings end at trailing zeros
        same(read_log(write_npz(log, path)), log)


@tried(120)
@given(log=logs())
def test_csv_round_trip_or_refusal(log, tmp_path_factory):
    """Whatever the joints are called, a written file reads back as it was, or is not written."""
    path = tmp_path_factory.mktemp("csv") / "log.csv"
    try:
        write_csv(log, path)
    except LogError as error:
        assert "cannot be told apart" in str(error)
        assert list(path.parent.iterdir()) == []
        return
    same(read_log(path), log)


@tried(60)
@given(log=logs(), comma=st.booleans())
def test_large_tables_read_as_small_ones_do(log, comma, tmp_path_factory):
    """By another parser, to the last bit; and with decimal commas, as spreadsheets of much of Europe write them."""
    path = tmp_path_factory.mktemp("large") / "log.csv"
    log = log.replace(joint_names=())
    write_csv(log, path)
    if comma:
        path.write_text(path.read_text().replace(",", ";").replace(".", ","))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steelyard.log.csv, "LARGE", 0)
        found = read_log(path)
    same(found, log)
    assert not any("comma" in note for note in read_log(path).notes) or comma
    same(read_log(path), log)


def test_parsers_agree_on_what_is_no_table(tmp_path, monkeypatch):
    """Comments, lines that are cut short, empty cells and words: the message is the same."""
    for text in (
        *("t,q_a\n0,1\n# a comment\n1,2\n", "t,q_a\n0,1\n1\n", "t,q_a\n0,1\n1,\n", "t,q_a\n0,1\n1,x\n"),
        *("t,q_a\r\n0,1\r\n\r\n1,2\r\n", "\ufefft,q_a\n0,1\n1,NaN\n", 't,q_a\n0,"1"\n1, 2 \n', "t,q_a\n0,1,\n1,2,\n"),
        *("t;q_a\n0;1,5\n1;x\n", "t;q_a\n0;1,5\n1;1.5\n", "t q_a\n0 1,5\n1 2,5\n", "t;q_a\n0;nan\n1;1,5\n"),
    ):
        path, said = written(tmp_path, text), []
        for large in (2**20, 0):
            monkeypatch.setattr(steelyard.log.csv, "LARGE", large)
            try:
                log = read_log(path)
                said.append((log.t.tolist(), np.nan_to_num(log.q, nan=-1).tolist()))
            except LogError as error:
                said.append(str(error))
        assert said[0] == said[1], text
    with pytest.raises(LogError, match=r"line 3, column 'q_a': '1\.234' is not a number"):
        read_log(written(tmp_path, "t;q_a\n0;1,5\n1;1.234\n"))  # is it a thousand?


plain = st.lists(st.from_regex(r"[a-z][a-z0-9]{1,6}(_(joint|position|link))?", fullmatch=True), min_size=2, unique=True)


@tried(60)
@given(log=logs(plain.filter(lambda joints: len(joints) < 5)))
def test_csv_round_trip_of_ordinary_names(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "log.csv"
    if log.tau is not None:
        same(read_log(write_csv(log, path)), log)


@pytest.mark.parametrize(
    "header",
    [
        "t,q_a,q_b,tau_a,tau_b",
        "time,position_a,position_b,effort_a,effort_b",
        "Timestamp,pos_a,pos_b,torque_a,torque_b",
        "stamp,a_position,b_position,a_effort,b_effort",
        "__time,/joint_states/a/position,/joint_states/b/position,/joint_states/a/effort,/joint_states/b/effort",
        "# t,q_a,q_b,tau_a,tau_b",
        "# recorded on a Tuesday\n\n# t,q_a,q_b,tau_a,tau_b",
        '"t","q_a","q_b","tau_a","tau_b"',
        "\ufefft,joint_position_a,joint_position_b,joint_torque_a,joint_torque_b",
        "time_s,q.a,q.b,tau.a,tau.b",
    ],
)
def test_header_styles(tmp_path, header):
    log = read_log(written(tmp_path, header + "\n" + ROW))
    assert log.joint_names == ("a", "b")
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, TAU)
    np.testing.assert_array_equal(log.t, [0, 0.1])


@pytest.mark.parametrize(
    "header", ["t,q1,q2,tau1,tau2", "t,q_0,q_1,tau_0,tau_1", "t,q2,q1,tau2,tau1", "t,position[0],position[1],tau0,tau1"]
)
def test_numbered_columns_are_sorted_and_taken_in_order(tmp_path, header, fake_robot):
    robot = fake_robot(("a", "b"), 2, 2)
    log = read_log(written(tmp_path, header + "\n" + ROW), robot)
    turned = header.startswith("t,q2")
    np.testing.assert_array_equal(log.q, np.array(Q)[:, ::-1] if turned else Q)
    assert log.joint_names == ("a", "b")
    assert any("in the order of the robot's joints" in note for note in log.notes)


@pytest.mark.parametrize(("old", "new", "suffix"), [(",", ";", "csv"), (",", "\t", "tsv"), (",", "   ", "txt")])
def test_delimiters(tmp_path, old, new, suffix):
    text = ("t [ms],q_a [deg],q_b (rad),tau_a,tau_b\n" + ROW).replace(old, new)
    log = read_log(written(tmp_path, text, f"log.{suffix}"))
    np.testing.assert_allclose(log.q, [[np.radians(1), 2], [np.radians(1.5), 2.5]])


def test_units_of_the_header_and_of_the_caller(tmp_path):
    text = "t_ms,q_a [deg],v_a [deg/s],a_a (°/s²),tau_a [mN*m]\n1000,180,180,180,5\n2000,90,90,90,6\n"
    log = read_log(written(tmp_path, text))
    for key in ("q", "v", "a"):
        np.testing.assert_allclose(getattr(log, key)[:, 0], [np.pi, np.pi / 2])
    np.testing.assert_allclose(log.tau[:, 0], [5e-3, 6e-3])
    np.testing.assert_allclose(log.t, [1, 2])
    assert sum("as the header says" in note for note in log.notes) == 5
    log = read_log(written(tmp_path, text), units={"q": "rad"})
    np.testing.assert_allclose(log.q[:, 0], [180, 90])
    with pytest.raises(LogError, match="unit 'A' is not a unit of tau"):
        read_log(written(tmp_path, text.replace("mN*m", "A")))


def test_a_robot_selects_and_orders(tmp_path, fake_robot):
    text = "t,tau_b,q_grip,q_a,tau_a,q_b,q_finger,host\n0,4,9,1,3,2,8,pc\n1,4,9,1,3,2,8,pc\n"
    log = read_log(written(tmp_path, text), fake_robot(("a", "b"), 2, 2, mimic_names=("finger",)))
    np.testing.assert_array_equal(log.q[0], [1, 2])
    np.testing.assert_array_equal(log.tau[0], [3, 4])
    said = " ".join(log.notes)
    assert "follow another joint: finger" in said and "does not have them: grip" in said and "not used: host" in said
    with pytest.raises(LogError, match=r"q of joints c is not in the log. The log has grip, a, b, finger; .* has a, c"):
        read_log(written(tmp_path, text), fake_robot(("a", "c"), 2, 2))
    with pytest.raises(LogError, match=r"If a joint stood still .*--lock NAME=VALUE"):
        read_log(written(tmp_path, text), fake_robot(("a", "b", "grasp"), 3, 3))
    with pytest.raises(LogError, match=r"^(?!.*stood still).*The log has grip"):  # names of another robot
        read_log(written(tmp_path, text), fake_robot(("x", "y"), 2, 2))
    without = read_log(written(tmp_path, text))
    assert without.joint_names == ("a", "b") and "grip, finger" in " ".join(without.notes)


def test_a_robot_resolves_an_ambiguous_header(tmp_path, fake_robot):
    text = "t,a_joint_position,a_joint_effort\n0,1,2\n1,1,2\n"
    assert read_log(written(tmp_path, text), fake_robot(("a_joint",), 1, 1)).joint_names == ("a_joint",)


def test_several_columns_a_joint_are_taken_in_order(tmp_path, fake_robot):
    ball = fake_robot(("ball",), nq=4, nv=3)
    head = "t,q1,q2,q3,q4,v1,v2,v3,tau1,tau2,tau3\n"
    log = read_log(written(tmp_path, head + "0,0,0,0,1,1,2,3,4,5,6\n"), ball)
    assert (log.nq, log.nv, log.joint_names) == (4, 3, ())
    with pytest.raises(
        LogError, match=r"q has 3 columns without usable joint names, the robot needs 4.*A joint with several"
    ):
        read_log(written(tmp_path, "t,q1,q2,q3\n0,1,2,3\n"), ball)


def test_explicit_channels(tmp_path):
    text = "clock,x,y [deg],m,n\n" + ROW
    path = written(tmp_path, text)
    log = read_log(path, channels={"t": "clock", "q": ["y", "x"], "tau": [3, 4]}, joint_names=["j", "k"])
    np.testing.assert_allclose(log.q, [[np.radians(2), 1], [np.radians(2.5), 1.5]])
    np.testing.assert_array_equal(log.tau, TAU)
    assert log.joint_names == ("j", "k")
    log = read_log(path, channels={"t": 0, "q": {"k": "x", "j": "m"}, "tau": {"j": 3, "k": "n"}, "v": None})
    assert log.joint_names == ("k", "j")
    np.testing.assert_array_equal(log.tau[0], [4, 3])
    for wrong, message in (
        ({"t": "clock", "q": ["z"]}, "wants column 'z' for q, which the file does not have; it has clock, x"),
        ({"time": "clock"}, "channels= has no channel time; channels are t, q, v, a, tau"),
    ):
        with pytest.raises(LogError, match=message):
            read_log(path, channels=wrong)


def test_table_without_header(tmp_path):
    path = written(tmp_path, ROW)
    log = read_log(path, channels={"t": 0, "q": [1, 2], "tau": [3, 4]})
    np.testing.assert_array_equal(log.tau, TAU)
    with pytest.raises(LogError, match=r"no column for time \(t\) among 0, 1, 2, 3, 4"):
        read_log(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,q_a,q_b\n0,1,2\n\n1,oops,3\n", r"line 4, column 'q_a': 'oops' is not a number"),
        ("t,q_a,q_b\n0,1,2\n1,,3\n", r"line 3, column 'q_a': an empty cell is not a number"),
        ("t;q_a\n0;1.0\n1;1,5\n", r"line 3, column 'q_a': '1,5' is not a number; decimals need a point"),
        ("t,q_a,q_b\n0,1,2\n1,1\n", r"line 3: 2 cells, but column 'q_b' is number 3"),
        ("t,q_a,position_a\n0,1,1\n1,2,2\n", "both look like q of a; choose with --channels"),
        ("x,q_a\n0,1\n1,2\n", "no column for time"),
        ("t,tau_a\n0,1\n1,2\n", "no column for joint positions"),
        ("t,q_a\n", "holds no samples"),
        ("", "holds no samples"),
        ("t,q_a,tau_b\n0,1,2\n", "no joint has all of q, tau. Found q: a; tau: b"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    with pytest.raises(LogError, match=message):
        read_log(written(tmp_path, text))


def test_binary_table(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(LogError, match="is not a UTF-8 text file"):
        read_log(path)


def test_npz_synonyms_are_reported(tmp_path):
    path = tmp_path / "log.npz"
    arrays = {"time": [0, 1], "q": Q, "velocity": Q, "ddq": Q, "effort": TAU, "names": ["a", "b"], "host": [1]}
    np.savez(path, **{key: np.array(value) for key, value in arrays.items()})
    log = read_log(path)
    np.testing.assert_array_equal(log.tau, TAU)
    np.testing.assert_array_equal(log.a, Q)
    assert log.joint_names == ("a", "b") and log.missing == ()
    for word in ("time", "velocity", "ddq", "effort"):
        assert any(f"read from array {word!r}" in note for note in log.notes)
    assert "arrays not used: host" in log.notes
    log = read_log(path, channels={"q": ["host", "host"], "t": "host", "v": None, "a": None, "tau": None})
    assert log.q.shape == (1, 2) and log.missing == ("v", "a", "tau")


def test_npz_own_key_wins_and_two_synonyms_do_not(tmp_path):
    path = tmp_path / "log.npz"
    np.savez(path, t=[0, 1], q=Q, tau=TAU, effort=Q)
    assert "arrays not used: effort" in read_log(path).notes
    np.savez(path, t=[0, 1], q=Q, torque=TAU, effort=Q)
    with pytest.raises(LogError, match="torque, effort all look like tau; choose with channels="):
        read_log(path)


def forged(path, header, body=b"", declare=None):
    """An archive whose single array `q` has a header of our making, and a declared size of our making."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, header)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.npy", _npy(np.zeros(2)))
        archive.writestr("q.npy", buffer.getvalue() + body)
    if declare:
        data = path.read_bytes()
        size = (len(buffer.getvalue()) + len(body)).to_bytes(4, "little")
        where = data.rindex(b"PK\x01\x02") + 24
        assert data[where : where + 4] == size
        path.write_bytes(data[:where] + declare.to_bytes(4, "little") + data[where + 4 :])


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def test_hostile_archives(tmp_path):
    path = tmp_path / "log.npz"
    huge = {"descr": "<f8", "fortran_order": False, "shape": (10**15, 7)}
    forged(path, huge)
    with pytest.raises(LogError, match=r"'q' declares shape \(1000000000000000, 7\) of float64, but holds 0 bytes"):
        read_log(path)
    forged(path, {**huge, "shape": (2, 1)}, bytes(16), declare=arrays.LIMIT + 1)
    with pytest.raises(LogError, match="'q' declares 2,147,483,649 bytes, over the limit"):
        read_log(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.npy", _npy(np.zeros(2)))
        archive.writestr("q.npy", _npy(np.array([object(), None])))
    with pytest.raises(LogError, match="'q' holds pickled Python objects"):
        read_log(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.npy", b"no array")
        archive.writestr("q.npy", b"no array")
    with pytest.raises(LogError, match="'t' cannot be read"):
        read_log(path)


def test_damaged_archives(tmp_path, motion):
    whole = write_npz(motion(), tmp_path / "whole.npz").read_bytes()
    path = tmp_path / "log.npz"
    middle = len(whole) // 3
    flipped = whole[:middle] + bytes(b ^ 255 for b in whole[middle : middle + 40]) + whole[middle + 40 :]
    for damage in (b"", b"not a zip", whole[: len(whole) // 2], flipped, _npy(np.zeros(3))):
        path.write_bytes(damage)
        with pytest.raises(LogError, match=r"not a whole .npz archive|cannot be read"):
            read_log(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"q": Q}, r"no array for time \(t\); it has q"),
        ({"t": [0, 1], "tau": Q}, r"no array for joint positions \(q\)"),
        ({"t": [0, 1], "q": ["a", "b"]}, "q must be numbers"),
        ({"t": [0, 1], "q": Q, "joint_names": ["a"]}, "1 names in 'joint_names', but columns are {'q': 2}"),
        ({"t": [0, 1], "q": Q, "joint_names": [1, 2]}, "expected joint names as an array of strings"),
        ({"t": [0, 1, 2], "q": Q}, r"t has 3 samples, but q has shape \(2, 2\)"),
    ],
)
def test_bad_archives(tmp_path, arrays, message):
    np.savez(tmp_path / "log.npz", **{key: np.array(value) for key, value in arrays.items()})
    with pytest.raises(LogError, match=message):
        read_log(tmp_path / "log.npz")


def test_wrong_paths(tmp_path, motion):
    with pytest.raises(LogError, match="no log at"):
        read_log(tmp_path / "none.csv")
    with pytest.raises(LogError, match=r"suffix '.xyz' is not a log format that can be read; known: .csv"):
        read_log(written(tmp_path, "", "log.xyz"))
    with pytest.raises(LogError, match="is no ROS 2 bag"):
        read_log(tmp_path)
    with pytest.raises(LogError, match=r"ending in .csv"):
        write_csv(motion(), tmp_path / "log.npz")
    with pytest.raises(LogError, match="cannot write"):
        write_npz(motion(), tmp_path / "nowhere" / "log.npz")


def test_a_failed_write_leaves_the_old_file(tmp_path, motion, monkeypatch):
    path = write_csv(motion(), tmp_path / "log.csv")
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savetxt", fail)
    with pytest.raises(LogError, match="No space left"):
        write_csv(motion(), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_names_given_replace_names_found(tmp_path, fake_robot):
    path = written(tmp_path, "t,q_a,q_b,tau_a,tau_b\n" + ROW)
    log = read_log(path, fake_robot(("x", "y"), 2, 2), joint_names=["y", "x"])
    np.testing.assert_array_equal(log.q[0], [2, 1])
    assert any("replaced by joint_names=" in note for note in log.notes)
    with pytest.raises(LogError, match="joint_names= has 3 names, but tau has 2 columns"):
        read_log(path, joint_names=["x", "y", "z"])
