"""The command line that repeats a run: every option that is not at its default, quoted for a shell."""

import json
import shlex
from dataclasses import fields, replace

from steelyard.pipeline import Job

NO_FRICTION = "none"
FOLDER = "OUT"  # stands in the command when the run wrote no files


def repeat_command(job: Job, out=None) -> str:
    """`steelyard identify ...` with the same job. out: folder to write to, the word OUT when there is none."""
    words = ["steelyard", "identify", *_path_words([job.model, *job.logs]), "--out", str(out or FOLDER), *_options(job)]
    return shlex.join(words)


def _path_words(paths) -> list[str]:
    """Paths as arguments: one that starts with a dash would be read as an option."""
    return [f"./{path}" if str(path).startswith("-") else str(path) for path in paths]


def _options(job: Job) -> list[str]:
    default = {field.name: field.default for field in fields(Job)}
    words = []
    if job.floating is not None:
        words.append("--floating" if job.floating else "--fixed")
    if job.gravity is not None:
        words += ["--gravity", *(repr(float(g)) for g in job.gravity)]
    for name in ("cutoff", "torque_cutoff", "validation", "weight", "reversal_weight"):
        if getattr(job, name) != default[name]:
            words += [f"--{name.replace('_', '-')}", repr(float(getattr(job, name)))]
    if tuple(job.friction) != default["friction"]:
        words += ["--friction", ",".join(job.friction) or NO_FRICTION]
    if not job.armature:
        words.append("--no-armature")
    for name in ("smoother", "regularizer", "within"):
        if getattr(job, name) != default[name]:
            words += [f"--{name}", getattr(job, name)]
    for option, given in (("coupling", job.coupling), ("mass", job.masses), ("fix", job.fixed), ("tie", job.tied)):
        for word in given:
            words += [f"--{option}", word]
    if job.rotors:
        words.append("--rotors")
    if job.side is not None:
        words += ["--side", *_path_words([job.side])]
    words += folder_options(job)
    words += job.corrections.words()
    if job.drive_gains:
        words.append("--drive-gains")
    for option, given in (("load", job.loads), ("accept", job.accept)):
        for word in given:
            words += [f"--{option}", word]
    return words + _channels(job)


def folder_options(job: Job) -> list[str]:
    """Folders whose files the model may name, for any command."""
    return [word for folder in job.folders for word in ("--folder", *_path_words([folder]))]


def log_options(job: Job) -> list[str]:
    """How its logs are read, for another command: channels, and mistakes undone."""
    return [*replace(job.corrections, saturation=False).words(), *_channels(job)]


def _channels(job: Job) -> list[str]:
    return ["--channels", json.dumps(job.channels)] if job.channels else []
