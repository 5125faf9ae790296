"""What decides a run of `steelyard payload`: `Request`. Each field says everything about its option once.

The command line and the command that repeats a run are made of these fields, and of those of a `Job` that they repeat.
Loads no other library.
"""

from dataclasses import dataclass, fields
from pathlib import Path

from steelyard.corrections import Corrections
from steelyard.job import Job
from steelyard.job_options import PAYLOAD, option


def _own(default, help: str, **about):
    """The option of a payload alone."""
    return option(default, help, commands=(PAYLOAD,), **about)


@dataclass(frozen=True)
class Request:
    """Everything that decides a run; stored in `summary.json`, so that the run can be repeated.

    log: wrench log, or joint log with `torques`. `Option` of each other field says what it is; those without are
    options of a `Job`. Of a path its text is kept.
    """

    log: str
    shape: str | None = _own(None, "Shape in the sensor frame: mesh or point cloud.", metavar="MESH", path=True)
    scale: float = _own(1.0, "Metres per unit of the shape's file.", metavar="M")
    shape_pose: tuple[float, float, float, float, float, float] | None = _own(
        None, "Frame of the shape in the sensor frame, m and rad.", metavar="X Y Z ROLL PITCH YAW"
    )
    shape_pose_std: tuple[float, float] | None = _own(
        None, "Standard deviations of that pose, rotation and position.", metavar="RAD M", unset="0 0"
    )
    scale_std: float | None = _own(
        None, "Standard deviation of the shape's scale, a share.", metavar="SHARE", unset="0"
    )
    unseen: float = _own(0.0, "Share of the volume that the shape lacks on one side.", metavar="SHARE")
    method: str = _own("auto", "auto, density, pmd, geo, ellipsoid, hull, consistent, ols, rtls.", metavar="NAME")
    arm: str | None = _own(
        None, "Arm that carries the sensor: a model, or a result's folder.", metavar="MODEL", path=True
    )
    frame: str | None = _own(None, "Link of the sensor.", metavar="LINK", unset="the last body")
    flange: str | None = _own(
        None, "Link in whose axes exports are.", metavar="LINK", unset="tool0 or another vendor's flange"
    )
    torques: bool = _own(False, "No sensor: use the joint torques of the arm.")
    cutoff: float = _own(10.0, "Low-pass cutoff with --torques.", metavar="HZ", unit="Hz")
    hand: str | None = _own(
        None,
        "The same with an empty hand: finds its weight and the bias; recommended with --torques.",
        metavar="LOG",
        path=True,
    )
    bias: bool = _own(False, "Estimate a constant wrench beside the payload.")
    drift: bool = _own(False, "The same for a bias that changes steadily with time.")
    axes: str = _own("sensor", "Axes of wrench and motion: sensor or world.", metavar="AXES")
    negate: bool = _own(False, "The sensor reports the reaction.")
    gravity: tuple[float, float, float] | None = _own(
        None, "In the world, m/s^2.", metavar="X Y Z", unit="m/s^2", unset="the file's, or 0 0 -9.81"
    )
    noise: tuple[float, float] | None = _own(
        None, "Known noise of force and torque.", metavar="N NM", unset="from the log"
    )
    elsewhere: bool = _own(False, "The robot is not on the Earth: believe another gravity.")
    folder: tuple[str, ...] = ()
    arg: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    channels: dict | None = None
    unit: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()

    def __post_init__(self):
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Path):
                object.__setattr__(self, each.name, str(value))
        object.__setattr__(self, "folder", tuple(map(str, self.folder)))

    @property
    def job(self) -> Job:
        """The options that are those of a Job: how models and logs are read."""
        return Job(
            "",
            (),
            folders=self.folder,
            arguments=self.arg,
            lock=self.lock,
            channels=self.channels,
            corrections=Corrections(unit=self.unit, order=self.order, leave_out=self.leave_out),
        )
