"""Which drive each joint has: as the words of a job say, then its side file, then the actuators of its model."""

from collections.abc import Sequence

from steelyard.drive_kinds import DRIVE_KINDS
from steelyard.errors import OptionError, choices
from steelyard.job import AS_MODELLED
from steelyard.model import Drive, Robot

__all__ = ["Drive", "drives_of"]


def drives_of(robot: Robot, words: Sequence[str] = ()) -> dict[str, Drive]:
    """The drives of a robot's joints.

    Args:
        robot: whose `drives` are those of its MJCF actuators and, over them, of its side file (`read_side`).
        words: of a job: a kind for all joints, such as "position", "JOINT=KIND" for one, which counts more, or "model"
            for the kinds that `robot.drives` have. Numbers of `robot.drives` count where the kind is the same.

    Returns:
        Drive by name of the degree of freedom, in the robot's order, each with a kind; joints that no word speaks of
        are not among them.

    Raises:
        OptionError: a word that cannot be read, a kind or joint that is not there, or a joint whose kind the model does
            not say.
    """
    names = [robot.dof_names[dof] for dof in robot.driven_dofs]
    every: str | None = None
    single: dict[str, str] = {}
    for word in words:
        joint, equals, kind = word.rpartition("=")
        if kind not in (*DRIVE_KINDS, AS_MODELLED) or (equals and kind == AS_MODELLED):
            raise OptionError(
                f"--drive {word}: {kind!r} is no kind of drive. Write one of {choices(DRIVE_KINDS)}, for all joints or "
                f"as JOINT=KIND, or {AS_MODELLED}."
            )
        if equals and joint not in names:
            raise OptionError(f"--drive {word}: there is no joint {joint!r} with a motor; joints are {choices(names)}.")
        if equals:
            single[joint] = kind
        else:
            every = kind
    kinds = ({} if every is None else dict.fromkeys(names, every)) | single
    return {name: _drive(robot, name, kinds[name]) for name in names if name in kinds}


def _drive(robot: Robot, name: str, kind: str) -> Drive:
    held = robot.drives.get(name)
    if kind != AS_MODELLED:
        return Drive(kind).over(held)
    if held is None or held.kind is None:
        raise OptionError(
            f"--drive {AS_MODELLED}: neither an actuator of the model nor the side file says what drives {name}. Add "
            f'kind = "position" to [drives.{name}] of the side file, or give --drive {name}=position.'
        )
    return held
