"""The job with FIGAROH: a subclass that reads the log, a configuration file, its physically consistent fit."""

import tempfile
from pathlib import Path

import numpy as np
import yaml
from figaroh.data.trajectory import JOINT_TORQUE, TrajectoryData
from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.robot import Robot
from scipy.signal import butter, filtfilt


def motion(file: str, cutoff: float):
    with np.load(file) as log:
        t, first = np.unique(log["t"], return_index=True)
        q, tau = log["q"][first], log["tau"][first]
    even = np.arange(t[0], t[-1], np.median(np.diff(t)))
    q, tau = (np.stack([np.interp(even, t, column) for column in x.T], axis=1) for x in (q, tau))
    step = even[1] - even[0]
    b, a = butter(4, cutoff, fs=1 / step)
    q, tau = filtfilt(b, a, q, axis=0), filtfilt(b, a, tau, axis=0)
    v = np.gradient(q, step, axis=0)
    acc = np.gradient(v, step, axis=0)
    return [x[20:-20] for x in (q, v, acc, tau)]


class Identification(BaseIdentification):
    names, motion = (), ()

    def load_trajectory_data(self, data_source=None):
        q, v, acc, tau, t = self.motion
        return TrajectoryData(t, self.names, q, tau, dq=v, ddq=acc, effort_kind=JOINT_TORQUE, effort_unit="N m")

    def filter_kinematics_data(self, filter_config=None):  # its own knows no gap between two files
        q, v, acc, _, t = self.motion
        self.processed_data = {"timestamps": t, "positions": q, "velocities": v, "accelerations": acc}


def identify(urdf: str, files: list[str], cutoff: float):
    robot = Robot(urdf, package_dirs=str(Path(urdf).parent))
    names = list(robot.model.names[1:])
    with np.load(files[0]) as log:
        rate = float(1 / np.median(np.diff(np.unique(log["t"]))))
    q, v, acc, tau = map(np.concatenate, zip(*(motion(file, cutoff) for file in files), strict=True))
    components = {"friction": True, "actuator_inertia": True, "joint_offset": True}
    task = {
        "enabled": True,
        "type": "identification",
        "joints": {"active_joints": names},
        "problem": {"model_components": components},
        "signal_processing": {"sampling_frequency": rate, "cutoff_frequency": cutoff, "filter_order": 4},
        "coupling": {"has_coupled_wrist": False},
        "physical_fit": {"enabled": True, "solver": "cvxopt"},
        "select_stage": "physical_fit",
    }
    config = {"robot": {"name": robot.model.name, "properties": {}}, "tasks": {"identification": task}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(yaml.safe_dump(config))
        job = Identification(robot, str(path))
    job.names, job.motion = tuple(names), (q, v, acc, tau, np.arange(len(q)) / rate)
    index = np.arange(len(names))
    job.identif_config.update(act_idxq=index, act_idxv=index)
    job.initialize()
    job.solve(decimate=False, plotting=False, wls=True)
    found = job.selected.parameter_dict()
    if not found:  # without a physical fit, the base parameters of its least squares, as they stand for the others
        found = dict.fromkeys(job.standard_parameter, 0.0)
        found |= {name.split()[0]: value for name, value in zip(job.params_base, job.phi_base, strict=True)}
    inertial = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
    theta = np.array([[found[f"{key}_{name}"] for key in inertial] for name in names])
    return theta, *(np.array([found[f"{key}_{name}"] for name in names]) for key in ("fv", "fs", "Ia", "off"))
