"""The job with FIGAROH: a subclass that reads the log, a configuration file, its physically consistent fit."""

import tempfile
from pathlib import Path

import numpy as np
import yaml
from figaroh.data.trajectory import JOINT_TORQUE, TrajectoryData
from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.robot import Robot
from scipy.signal import butter, filtfilt

EDGE = 20  # samples at each end that filters and differences spoil


class Identification(BaseIdentification):
    file, names, torque_filter = "", (), ()

    def load_trajectory_data(self, data_source=None):
        with np.load(self.file) as log:
            t, first = np.unique(log["t"], return_index=True)
            q, tau = log["q"][first], log["tau"][first]
        even = np.arange(t[0], t[-1], np.median(np.diff(t)))
        q, tau = (np.stack([np.interp(even, t, column) for column in x.T], axis=1) for x in (q, tau))
        tau = filtfilt(*self.torque_filter, tau, axis=0)  # it filters positions only
        inner = np.abs(np.arange(len(even)) - len(even) / 2) < len(even) / 2 - EDGE
        return TrajectoryData(even, self.names, q, tau, effort_kind=JOINT_TORQUE, effort_unit="N m", mask=inner)


def identify(urdf: str, file: str, cutoff: float):
    robot = Robot(urdf, package_dirs=str(Path(urdf).parent))
    names = list(robot.model.names[1:])
    with np.load(file) as log:
        rate = float(1 / np.median(np.diff(np.unique(log["t"]))))
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
    job.file, job.names, job.torque_filter = file, tuple(names), butter(4, cutoff, fs=rate)
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
