"""What a job says of its robot: the model with its side file, and what else is known of the bodies."""

from pathlib import Path

from steelyard.errors import OptionError, choices
from steelyard.fit import OTHERS, WORDS, Tied, fixed_from, masses_from, tied_from
from steelyard.job import Job
from steelyard.model import Known, Robot, load, read_known, read_side, side_path


def load_with_side(job: Job) -> Robot:
    """The given model, with the rotors and loops of its side file where the job uses it."""
    robot = load(job.model, floating=job.floating, gravity=job.gravity, folders=job.folders)
    side = side_of(job)
    return robot if side is None else read_side(side, robot)


def side_of(job: Job) -> Path | None:
    """The side file that a job reads: the one it names, else the one beside the model where there is one."""
    if job.side is not None:
        return Path(job.side)
    beside = side_path(job.model)
    return beside if job.rotors or beside.is_file() else None


def knowledge_of(job: Job, robot: Robot) -> tuple[dict, tuple[str, ...]]:
    """What a job and its side file say about the bodies, as arguments of `fit.consistent`; and notes on the latter.

    What the job says of a link counts more than what the file says of it. Raises SteelyardError for mistakes in either.
    """
    side = side_of(job)
    known = Known() if side is None else read_known(side, robot)
    if job.within not in WORDS:
        raise OptionError(f"within is {job.within!r}. Choose from {choices(WORDS)}.")
    told = {
        "within": {OTHERS: job.within} | known.ellipsoids,
        "masses": known.masses | masses_from(job.masses),
        "fixed": known.fixed | fixed_from(job.fixed),
        "tied": (*(Tied(*tie) for tie in known.tied), *tied_from(job.tied)),
    }
    return told, tuple(f"{side.name}: {text}" for text in known.words()) if side is not None else ()
