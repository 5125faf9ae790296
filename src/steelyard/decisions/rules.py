"""Everything that is decided between prepared logs and the fit, in one order: `IDENTIFIED`.

Each rule takes the `State` and yields what it decides, and the fields of the state that become others.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from steelyard.decisions.mistakes_by_fit import clipped_torques, gains, late_torques
from steelyard.decisions.state import Decision, Made, State
from steelyard.fit import Estimate
from steelyard.information import accumulate, reversal_weights
from steelyard.job import FRICTION, Job
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.terms import TERMS
from steelyard.weighed_columns import NUISANCES

LEAST_NOISE = 1e-3  # of the largest of a row, below which none is taken to be


def cutoffs(state: State) -> Made:
    """Cutoffs of the filters are those that the spectra ask for."""
    found = [each for each in state.read if each.cutoff and each.torque_cutoff]
    if state.job.cutoff is None and found:
        told = {f"{key}_hz": min(getattr(each, key) for each in found) for key in ("cutoff", "torque_cutoff")}
        hz, of_torques = told.values()
        what = f"Positions were filtered at {hz:.3g} Hz or more, torques at {of_torques:.3g} Hz or more."
        yield Decision("cutoff", what, "The spectra of the positions ask for that.", "--cutoff HZ", told), {}


def constant_torques(state: State) -> Made:
    """Joints of legs hardly turn, so constant torques pass for weights: with them, the total mass of simulated walks
    came out 3 % too heavy, and its interval did not say so."""
    if state.job.friction is None and _in_contact(state.logs):
        what, reason = "Constant torques are left out of friction.", "Those of legs on the ground pass for weights."
        kept = replace(state.job, friction=tuple(term for term in FRICTION if term != "offset"))
        yield Decision("constant_torques", what, reason, f"--friction {','.join(FRICTION)}"), {"job": kept}


def standstill(state: State) -> Made:
    """Samples near standstill count less, where friction depends on the direction of motion."""
    if weights := weights_of(state.job, state.robot):
        what = "Samples where a joint nearly stands still count less."
        yield Decision("standstill", what, "Friction has no one direction there."), {"weights": weights}


def shapes(state: State) -> Made:
    """A posterior of a tree without contacts has friction of any shape; on a fixed base mistakes of its logs, too."""
    if state.robot.loops or _in_contact(state.logs):
        return
    shape = {"friction": (*state.job.plain_friction, *state.job.shaped_friction)}
    shape["nuisances"] = () if state.robot.floating else NUISANCES
    also = " and small mistakes of the logs" if shape["nuisances"] else ""
    what = f"Friction of any shape over speed and load{also} stand beside the links."
    reason = "Evidence decides how much there is of each."
    yield Decision("shapes", what, reason, f"--friction {','.join(FRICTION)}"), {"shape": shape}


def contact_rows(state: State) -> Made:
    """Forces of contacts are those that suit motion and torques best."""
    rows = contact_weights(state.train, lambda: state.fit(accumulate(state.robot, state.train, **state.options)))
    if rows:
        what = "Forces of contacts are those that suit motion and torques best, each row weighed by its noise."
        yield Decision("contact_forces", what, "Faults of wiring are not looked for in such logs."), {"rows": rows}


TORQUES = (standstill, gains, late_torques, clipped_torques)
IDENTIFIED = (cutoffs, constant_torques, *TORQUES, shapes, contact_rows)


def _in_contact(logs: Iterable[Log]) -> bool:
    return any(log.contacts for log in logs)


def weights_of(job: Job, robot: Robot) -> dict[str, Any]:
    """The option of `accumulate` that says how much samples near standstill count, empty where all count alike."""
    if not any(TERMS[term].directed for term in job.plain_friction):
        return {}
    return {"sample_weights": partial(reversal_weights, robot)}


def contact_weights(logs: Iterable[Log], fitted: Callable[[], Estimate]) -> dict[str, Any]:
    """The option of `accumulate` by which forces of contacts are eliminated, empty without contacts: each row weighed
    by the noise that a first fit, by equal rows, leaves."""
    if not _in_contact(logs):
        return {}
    noise = fitted().noise
    return {"row_weights": 1 / np.maximum(noise, LEAST_NOISE * noise.max()) ** 2}
