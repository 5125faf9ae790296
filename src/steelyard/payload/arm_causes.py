"""Mistakes that only an arm's torques can have: its model's friction, offsets and motors, and the scale of torques."""

import numpy as np

from steelyard.cards import MEMBERS
from steelyard.payload.misfit_causes import SHARED, Look, MisfitCause, causes_of, gain_columns, look_at
from steelyard.payload.rows import Rows, RowsFit, better, fitted, memory_of
from steelyard.payload.thresholds import THRESHOLDS

TERMS = ("offset", "viscous friction", "Coulomb friction", "armature")  # of `Rows.drive`, joint by joint
SURELY = 6.0  # deviations of a term that is named
LEAST_SCALE = 0.1  # of a scale that is not one: arms' own models are not better


def arm_causes(rows: Rows) -> tuple[Look, list[MisfitCause]]:
    """What of a log of joint torques a payload does not explain, and the mistakes that would. Friction, offsets and
    motors that are not those of the arm's model are fitted in any case where they are significant."""
    assert rows.own is not None and rows.drive is not None
    more = gain_columns(rows, fitted(rows).theta) | {"own": rows.own[:, :, None], "drives": rows.drive}
    look = look_at(rows, (), more)
    driven = look.fit("drives")
    if better(look.plain, driven) > THRESHOLDS.surely_better + 4 * len(driven.beside):
        look = Look(rows, look.sums, ("drives",), driven)
    hypotheses = (*SHARED, scale)
    causes = causes_of(look, hypotheses)
    if not causes and not look.taken:  # a mistake may hide behind what drives the joints
        behind = Look(rows, look.sums, ("drives",), driven)
        if causes := causes_of(behind, hypotheses):
            return behind, causes
    return look, causes


def drive_note(look: Look) -> tuple[str, ...]:
    """What was fitted beside, in words."""
    if not look.taken:
        return ()
    return (
        f"the arm's model lacks what drives its joints: {_terms(look.plain)}. They were fitted beside; deviations are "
        "smaller with a model of the same day (--arm RESULT)",
    )


def _terms(fit: RowsFit) -> str:
    """The surest of the terms that drive joints, with their size."""
    names = fit.rows.names
    sure = (
        np.abs(fit.beside) / np.maximum(fit.deviation, 1e-300) / np.sqrt(memory_of(fit.residual, fit.rows.groups).max())
    )
    at = [int(i) for i in np.argsort(-sure)[:MEMBERS] if sure[i] > SURELY] or [int(np.argmax(sure))]
    units = ("N m", "N m s/rad", "N m", "kg m^2")
    said = [
        f"{TERMS[i // len(names)]} of {names[i % len(names)]} {fit.beside[i]:+.3g} {units[i // len(names)]}" for i in at
    ]
    return ", ".join(said)


def scale(look: Look) -> MisfitCause | None:
    """Torques of another unit or scale: the arm's own torque shows it."""
    fit = look.fit("own")
    factor = 1 + float(fit.beside[-1])
    if not factor > 0 or abs(np.log(factor)) < np.log(1 + LEAST_SCALE):
        return None
    words = (
        f"torques are {factor:.3g} times what the arm's own weight and motion take: are they currents, or of another "
        f"unit? Name their unit (--unit), or multiply them by {1 / factor:.3g}."
    )
    theta = fit.theta / factor
    return MisfitCause("torques of another scale", words, fit.share, 1, theta=theta, noise=fit.noise, always=True)
