"""Contacts and external wrenches by frame, as logs hold, read, write, filter and cut them."""

import h5py
import numpy as np
import pytest
from pyarrow import csv as arrow
from pyarrow import parquet
from scipy.io import savemat

import steelyard as sy
from random_robots import urdf_text
from steelyard.errors import SteelyardError
from steelyard.log import checks, filters, joined, split_blocks, write_csv, write_npz

N, NAMES = 400, ("hip", "knee")
RNG = np.random.default_rng(5)


def made(**changes):
    t = np.arange(N) / 200
    q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
    flags = {"FL_foot": (np.arange(N) // 50) % 2, "FR_foot": np.linspace(0, 1, N)}
    given = {"t": t, "q": q, "tau": RNG.normal(size=(N, 2)), "contacts": flags, "joint_names": NAMES}
    of_six = {"external": {"wrist": RNG.normal(size=(N, 6))}, "imu": {"trunk": RNG.normal(size=(N, 6))}}
    of_six["wrenches"] = {"tool": RNG.normal(size=(N, 6))}
    return sy.Log(**(given | of_six | changes))


def alike(found, log, rtol=0.0):
    for key in ("contacts", "external", "imu", "wrenches"):
        assert list(getattr(found, key)) == list(getattr(log, key))
        for frame, values in getattr(log, key).items():
            np.testing.assert_allclose(getattr(found, key)[frame], values, rtol=rtol, atol=0)


def as_mat(log, path):
    arrays = {"t": log.t, "q": log.q, "tau": log.tau} | {f"contact_{k}": x for k, x in log.contacts.items()}
    arrays |= {f"external_{k}": x for k, x in log.external.items()} | {
        f"wrench_{k}": x for k, x in log.wrenches.items()
    }
    savemat(path, arrays | {f"imu_{k}": x for k, x in log.imu.items()})


def as_hdf5(log, path):
    with h5py.File(path, "w") as file:
        for key in ("t", "q", "tau"):
            file[f"state/{key}"] = getattr(log, key)
        for word, channel in (
            ("contact", log.contacts),
            ("external", log.external),
            ("imu", log.imu),
            ("wrench", log.wrenches),
        ):
            for frame, values in channel.items():
                file[f"state/{word}_{frame}"] = values


def as_parquet(log, path):
    parquet.write_table(arrow.read_csv(write_csv(log, path.with_suffix(".csv"))), path)


@pytest.mark.parametrize(
    "write, name",
    [(write_csv, "a.csv"), (write_npz, "a.npz"), (as_mat, "a.mat"), (as_hdf5, "a.h5"), (as_parquet, "a.parquet")],
)
def test_every_format_gives_back_what_was_written(write, name, tmp_path):
    log = made()
    write(log, tmp_path / name)
    found = sy.read_log(tmp_path / name)
    alike(found, log, rtol=1e-15)
    assert not any("not used" in note for note in found.notes)


def test_columns_of_other_names_are_frames_where_told(tmp_path):
    log = made(contacts={"1": np.ones(N)}, external={})
    path = write_csv(log, tmp_path / "a.csv")
    told = sy.read_log(path, channels={"contacts": {"FL_foot": "contact_1"}})
    assert list(told.contacts) == ["FL_foot"]
    assert sy.read_log(path, channels={"contacts": None}).contacts == {}
    with pytest.raises(SteelyardError, match=r"wants foot for contacts; the file has .*contact_1"):
        sy.read_log(path, channels={"contacts": {"FL_foot": "foot"}})
    with pytest.raises(SteelyardError, match="gives 2 columns for external of hand: it has 6"):
        sy.read_log(path, channels={"external": {"hand": ["q_hip", "q_knee"]}})


def test_a_force_is_no_flag_and_half_a_wrench_is_none(tmp_path):
    path = write_csv(made(external={}), tmp_path / "a.csv")
    lines = path.read_text().splitlines()
    lines[0] += ",contact_force_FL,external_wrist_fx"
    path.write_text("\n".join([lines[0], *(f"{line},120.5,3" for line in lines[1:])]) + "\n")
    found = sy.read_log(path)
    assert set(found.contacts) == {"FL_foot", "FR_foot"} and not found.external
    said = " ".join(found.notes)
    assert "contact_force_FL: not used, as flags of contact are 0 to 1 and it runs from 120.5" in said
    assert "columns not used: external_wrist_fx" in said


def test_frames_that_the_robot_does_not_have_are_refused(tmp_path):
    model = tmp_path / "arm.urdf"
    model.write_text(urdf_text(np.random.default_rng(1), links=3, types=("revolute",), mimic=False))
    robot = sy.load(model)
    path = write_csv(made(joint_names=robot.joint_names[:2]), tmp_path / "a.csv")
    with pytest.raises(SteelyardError, match=r"FL_foot, FR_foot: the robot has no such frame; it has .*channels="):
        sy.read_log(path, robot)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"contacts": {"foot": np.ones(N - 1)}}, r"contacts of 'foot' are 400 flags.* shape \(399, 1\)"),
        ({"contacts": {"foot": np.ones((N, 2))}}, "one a sample"),
        ({"contacts": {"foot": 80 * np.ones(N)}}, "found 80 to 80, 0 of them no numbers. Compare a force"),
        ({"contacts": {"foot": np.where(np.arange(N), np.nan, 1)}}, "399 of them no numbers.*leave out"),
        ({"external": {"hand": np.ones((N, 3))}}, r"external wrench of hand has shape \(400, 3\), expected \(400, 6\)"),
    ],
)
def test_wrong_shapes_say_what_to_give(changes, said):
    with pytest.raises(SteelyardError, match=said):
        made(**changes)


def test_wrenches_that_are_not_finite_are_found():
    values = np.ones((N, 6))
    values[7, 2] = np.nan
    (found,) = checks.finite(made(external={"foot": values}))
    assert found.code == "not_finite" and "external of foot" in found.message and "sample 7" in found.message


def test_inertial_sensors_are_filtered_like_velocities(tmp_path):
    log = made()
    v = np.gradient(log.q, log.t, axis=0)
    log = log.replace(v=v, imu={"trunk": np.tile(v, (1, 3))})
    found = filters.differentiate(log, cutoff=8, torque_cutoff=20)
    np.testing.assert_allclose(found.imu["trunk"], np.tile(found.v, (1, 3)), atol=1e-12)
    with pytest.raises(SteelyardError, match=r"imu of trunk has shape \(400, 3\).*\[wx wy wz ax ay az\]"):
        made(imu={"trunk": np.ones((N, 3))})


def test_cut_split_and_joined():
    log = made()
    some = log[10:300:3]
    np.testing.assert_array_equal(some.contacts["FL_foot"], log.contacts["FL_foot"][10:300:3])
    np.testing.assert_array_equal(some.external["wrist"], log.external["wrist"][10:300:3])
    first, second = split_blocks(log)
    full = [part.replace(v=part.q, a=part.q) for part in (first, second)]
    alike(joined(full), log)
    with pytest.raises(SteelyardError, match="their external are of other frames"):
        joined([full[0], full[1].replace(external={})])


def test_wrenches_are_filtered_like_torques_and_flags_never():
    log = made()
    log = log.replace(external={"wrist": np.tile(log.tau, (1, 3))})
    found = filters.differentiate(log, cutoff=20, torque_cutoff=8)
    np.testing.assert_allclose(found.external["wrist"], np.tile(found.tau, (1, 3)), atol=1e-12)
    rows = np.searchsorted(log.t, found.t)
    for frame, flag in log.contacts.items():
        np.testing.assert_array_equal(found.contacts[frame], flag[rows])
    kept = filters.differentiate(log, cutoff=20, filter_torque=False)
    np.testing.assert_array_equal(kept.external["wrist"], log.external["wrist"][np.searchsorted(log.t, kept.t)])
    thin = filters.decimate(log, 2)
    rows = np.searchsorted(log.t, thin.t)
    np.testing.assert_allclose(thin.external["wrist"], np.tile(thin.tau, (1, 3)), atol=1e-12)
    np.testing.assert_array_equal(thin.contacts["FL_foot"], log.contacts["FL_foot"][rows])
