"""Which contacts a log is fitted with: flags as recorded or found from the motion, and samples that they make doubtful.

Around a change of any flag forces come and go within the reach of the filters, and a foot that slides is not where its
force was thought to act; such samples are left out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.dynamics import frame_velocity
from steelyard.errors import LogError, OptionError, choices
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.prepare.contact_checks import EVEN, SLOW, alike, foot_motion, near_changes

AUTO, NONE = "auto", "none"
LEAST = 2  # samples left out on either side of a change
REACH = 1.5, 1.0, 0.5  # periods of the cutoff left out on either side: forces that come and go smear over them
LEFT = 0.1  # share of the samples that is to be left; the most periods that leave it are taken
FEET = ("foot", "toe", "ankle_roll", "sole")  # ends of names of links that stand, in files of legged robots


def with_contacts(robot: Robot, log: Log, words: Sequence[str]) -> Log:
    """The log with the contacts asked for ("auto", "none", or frames, which must have flags, with auto those to look
    at), and in its notes where they are from. Raises OptionError, LogError for frames without flags, ModelError for
    unknown ones."""
    words = parted(words)
    if not words:
        return log
    frames = [word for word in words if word not in (AUTO, NONE)]
    if NONE in words:
        if len(words) > 1:
            raise OptionError(f"contacts {','.join(words)!r}: none goes with nothing else.")
        return log.replace(contacts={})
    for frame in frames:
        robot.frame(frame)
    if AUTO in words:
        return _found(robot, log, frames)
    if lacking := [frame for frame in frames if frame not in log.contacts]:
        raise LogError(
            f"log {log.name!r} has no contacts of {choices(lacking)}; it has {choices(log.contacts) or 'none'}. Record "
            f"columns contact_{lacking[0]}, or find them from the motion: --contacts auto,{','.join(frames)}."
        )
    left = [frame for frame in log.contacts if frame not in frames]
    notes = (f"contacts of {choices(left)} not used, as they were not asked for",) if left else ()
    return log.replace(contacts={frame: log.contacts[frame] for frame in frames}).noted(*notes)


def parted(words: Sequence[str]) -> list[str]:
    """Words, also those between commas."""
    return [word.strip() for each in words for word in each.split(",") if word.strip()]


def _found(robot: Robot, log: Log, frames: Sequence[str]) -> Log:
    """With flags from the motion, of frames asked for, the log's and their like, or links named as feet; wider than it
    says: forces that are allowed for in vain cost rows, missing ones falsify masses."""
    from scipy.ndimage import binary_dilation

    if not robot.floating:
        raise OptionError("contacts auto looks for feet on the ground, and the base is fixed: flag what touches.")
    chosen = tuple(frames) or (*log.contacts, *alike(robot, tuple(log.contacts))) or standing_frames(robot)
    if not chosen:
        raise OptionError("contacts auto finds no link named as a foot; name them: --contacts auto,FL_foot,FR_foot,...")
    motion = foot_motion(robot, log, chosen)
    flags = binary_dilation(motion.touching, np.ones((1, 2 * round(EVEN * log.rate) + 1)))
    shares = ", ".join(f"{f} {share:.0%}" for f, share in zip(chosen, flags.mean(axis=1), strict=True))
    tilt = np.degrees(np.arctan(np.linalg.norm(motion.slope)))
    return log.replace(contacts=dict(zip(chosen, flags.astype(float), strict=True))).noted(
        f"contacts found from the speed and height of feet over ground that slopes by {tilt:.1f} degrees: {shares}"
    )


def standing_frames(robot: Robot) -> tuple[str, ...]:
    """Frames that are named as feet, one a body, the last of them. robot: with named frames."""
    named = [name for name in robot.frames if name.lower().removesuffix("_link").endswith(FEET)]
    return tuple({robot.frame(name).body: name for name in named}.values())


def in_steady_contact(robot: Robot, log: Log, cutoff: float) -> Log:
    """The filtered log less samples about changes of flags, and those in which a flagged foot moves; notes say how
    many. cutoff: of the filters, Hz."""
    if not log.contacts:
        return log
    period = log.rate / cutoff if cutoff else 0.0
    flags = _without_flicker(np.stack([flag > 0 for flag in log.contacts.values()]), max(2 * LEAST, round(period / 2)))
    log = log.replace(contacts=dict(zip(log.contacts, flags.astype(float), strict=True)))
    (v,) = log.require("v")
    speed = np.stack([np.linalg.norm(frame_velocity(robot, log.q, v, f)[:, :3], axis=1) for f in log.contacts])
    moving = np.any(flags & (speed > SLOW), axis=0)
    tried = [max(LEAST, round(periods * period)) for periods in REACH]
    left = (np.mean(~(near_changes(log, flags, each) | moving)) for each in tried)
    reach = next((each for each, share in zip(tried, left, strict=True) if share >= LEFT), tried[-1])
    changing = near_changes(log, flags, reach)
    moving &= ~changing
    keep = ~(changing | moving)
    if not keep.any():
        raise LogError(
            f"log {log.name!r}: contacts change or move in every sample, so none is left. Look at the flags, or walk "
            "slower; --contacts none leaves contacts out."
        )
    if keep.all():
        return log
    return log[keep].noted(
        f"contacts: {changing.mean():.1%} of the samples left out within {reach} samples of a change of flags, "
        f"{moving.mean():.1%} as a foot that is flagged moves faster than {SLOW} m/s"
    )


def _without_flicker(flags: NDArray[np.bool_], shortest: int) -> NDArray[np.bool_]:
    """Flags (f, n) of frames that touch on through gaps of up to so many samples: to allow for a force too much costs
    rows, one too few masses."""
    from scipy.ndimage import binary_closing

    wide = np.pad(flags, ((0, 0), (shortest, shortest)), mode="edge")
    return np.asarray(binary_closing(wide, np.ones((1, shortest + 1), dtype=bool)), dtype=bool)[:, shortest:-shortest]
