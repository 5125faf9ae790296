"""Groups of options that make a `Job`, and say where its work is done; `identify`, `fleet` and `inspect` share them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steelyard import defaults
from steelyard.app.options import (
    AUTO,
    FRICTION,
    Channels,
    Coupling,
    Folders,
    Friction,
    Gravity,
    Side,
    channels_of,
    corrections_of,
    cutoff_of,
    friction_of,
)

if TYPE_CHECKING:
    from steelyard.prepare import Corrections


@dataclass(frozen=True)
class ModelOptions:
    """How logs are filtered, what of the robot is unknown, and the prior."""

    cutoff: Annotated[
        str,
        typer.Option(metavar="HZ", help="Low-pass cutoff; auto: from each log's spectrum; 0: v and a as recorded."),
    ] = AUTO
    torque_cutoff: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Cutoff of torques. [default: --cutoff; with auto 10]"),
    ] = None
    smoother: Annotated[
        str, typer.Option(metavar="NAME", help="What filters and differentiates: butterworth, kalman or savgol.")
    ] = defaults.SMOOTHER
    friction: Friction = FRICTION
    armature: Annotated[bool, typer.Option("--armature/--no-armature", help="Identify the motors' inertia too.")] = True
    coupling: Coupling = None
    rotors: Annotated[bool, typer.Option("--rotors", help="Rotors of the side file are bodies.")] = False
    side: Side = None
    folders: Folders = None
    gravity: Gravity = None
    weight: Annotated[float, typer.Option(metavar="W", help="Weight of the given model as prior.")] = defaults.WEIGHT
    regularizer: Annotated[
        str, typer.Option(metavar="NAME", help="Distance to the prior: pullback, entropic or euclidean.")
    ] = defaults.REGULARIZER

    def of_job(self) -> dict[str, Any]:
        """The same as fields of a `Job`. Raises OptionError."""
        return vars(self) | {
            "cutoff": cutoff_of(self.cutoff),
            "friction": friction_of(self.friction),
            "coupling": tuple(self.coupling or ()),
            "side": None if self.side is None else str(self.side),
            "folders": tuple(map(str, self.folders or ())),
        }


@dataclass(frozen=True)
class LogOptions:
    """Which column is which signal, and what the logs have wrong: `Corrections`, but for saturation."""

    channels: Channels = None
    unit: Annotated[
        list[str] | None,
        typer.Option(metavar="CHANNEL=UNIT", help="Unit of t, q, v, a or tau: q=deg, tau=mNm; repeatable."),
    ] = None
    base: Annotated[
        str | None,
        typer.Option(metavar="CONVENTION", help="Of a free base's pose and twist: mujoco, or wxyz,world,body."),
    ] = None
    order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINTS", help="Joints that the columns belong to, in their order; also tau:JOINTS, q:JOINTS."
        ),
    ] = None
    scale: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CHANNEL:]JOINT=FACTOR", help="Sign, gear or torque constant: tau:joint3=-1; repeatable."
        ),
    ] = None
    unwrap: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT", help="Positions jump by full turns, take these out; all; repeatable."),
    ] = None
    offset: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT=RAD", help="Added to a joint's position, rad or m; repeatable."),
    ] = None
    delay: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT=S", help="Time by which a torque comes late; all=S, or auto; repeatable."),
    ] = None
    gravity_compensated: Annotated[
        bool, typer.Option("--gravity-compensated", help="Torques lack gravity: add that of the given model.")
    ] = False
    gravity_model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Torques lack the gravity of this model, the controller's: add it."),
    ] = None
    even_stamps: Annotated[bool, typer.Option("--even-stamps", help="Samples were taken at even times.")] = False

    def read(self, **more) -> "tuple[dict | None, Corrections]":
        """Channel map, and corrections of these options, of its table `corrections` and of `more`, joined.

        Raises OptionError.
        """
        told = vars(self) | more
        table = channels_of(told.pop("channels"))
        return table, corrections_of(table, **told)


@dataclass(frozen=True)
class WorkOptions:
    """Where the work on many logs is done."""

    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE", help="local (a Dask cluster here), processes, or the address of a Dask scheduler."
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes of a scheduler here. [default: one a core]")
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder or URL of finished work, from which a killed run goes on."),
    ] = None
