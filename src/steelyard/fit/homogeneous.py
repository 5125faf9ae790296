"""Rows without torque, `Y theta = 0`: they tell ratios of parameters and nothing about their scale.

The base wrench in flight, a joint that nothing drives. Whatever errors the motion has, half the parameters leave half
the residual, so rows weighed by it would draw everything to nothing (errors in variables: Van Huffel and Vandewalle
1991, chapter 2). Their residual is therefore taken over the scale: `Y theta / s(theta)` with `s = l^T theta`, to first
order about a reference x, `l^T x = 1`. These rows are linear again, `Y (1 - x l^T) theta + Y x`, blind to a common
factor, and their residual at the reference is the one of the equations as they are.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import choices
from steelyard.fit.prior import model_parameters
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.information import Information
from steelyard.information.gram import Squares
from steelyard.numbers import ROUNDING, SAME
from steelyard.terms import ParameterLayout


@dataclass(frozen=True, eq=False)
class Ratios:
    """What homogeneous rows say of ratios."""

    groups: np.ndarray  # (g,) whether a row group measures no torque
    reference: np.ndarray  # (r,) base parameters about which they are linear
    share: np.ndarray  # (g,) of their samples that count, so that bias is no information
    believed: np.ndarray  # (g,) whether they count at all

    def of(self, info: Information) -> Information:
        """The Information in base columns, its homogeneous rows as ratios."""
        info, x = info.base, self.reference
        if not self.groups.any():
            return info
        places, blocks, moment = info.squares.pattern.places, list(info.squares.blocks), info.moment.copy()
        energy = info.residual_energy(x) + (THRESHOLDS.silent_residual * reach(info, x)) ** 2 * info.counts
        most = _largest(info)
        for g in np.flatnonzero(self.groups):
            at, G = places[g], blocks[g]
            P = _without_scale(x[at], _apart(info, at) * G)
            left = P.T @ G @ P
            told = self.believed[g] & (np.diag(left) > ROUNDING * most[at])
            moment[g, at] = told * (self.share[g] * P.T @ (moment[g, at] - G @ x[at]))
            blocks[g] = np.outer(told, told) * (self.share[g] * left)
        return replace(
            info,
            squares=Squares.joined(info.squares.pattern.size, places, blocks),
            moment=moment,
            energy=np.where(self.groups, self.share * energy, info.energy),
            counts=np.where(self.groups, self.share * info.counts, info.counts),
            factors=None,
        )

    def after(self, info: Information, base) -> "Ratios | None":
        """What follows a fit of base parameters (r,), the reference moved there, or rows that no ratios meet left out;
        None if it may stay."""
        if not self.reference.any():  # bodies that the other rows show to be lighter than the prior: no row is silent
            groups = self.groups & (info.base.rms <= THRESHOLDS.silent * reach(info, base))
            return replace(self, groups=groups, reference=base, believed=np.ones_like(groups))
        size = np.maximum(reach(info, base), np.finfo(float).tiny)
        moved = (reach(info, base - self.reference) / size)[self.believed & self.groups].max(initial=0.0)
        found = self.updated(info, base)
        if moved >= THRESHOLDS.near_reference:
            return replace(found, believed=self.believed)
        return None if moved < THRESHOLDS.settled_reference and (found.believed == self.believed).all() else found

    def updated(self, info: Information, base) -> "Ratios":
        """The same about base parameters (r,), with as many samples as they leave, without rows they do not meet."""
        info, size = info.base, np.maximum(reach(info, base), np.finfo(float).tiny)
        left = np.sqrt(info.residual_energy(base) / np.maximum(info.counts, 1)) / size
        share = 1 / (1 + info.counts * info.independence * (THRESHOLDS.ratio_bias * left) ** 2)
        believed = self.believed & ~_shared(info, self.groups & (left > THRESHOLDS.unmet))
        return Ratios(self.groups, base, np.where(self.groups, share, 1.0), believed | ~self.groups)

    def notes(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What to say of rows that are not believed."""
        left_out = [name for name, believed in zip(names, self.believed, strict=True) if not believed]
        if not left_out:
            return ()
        return (
            f"{choices(left_out)} measured no torque, and no masses move without one like this: left out, as torques "
            "that were not measured or a motion that is too noisy to tell.",
        )


def ratios(info: Information, prior=None) -> Ratios:
    """Which rows of an Information are homogeneous, without a reference: they do not count.

    Args:
        info: the Information.
        prior: (p,) parameters that tell how large torques are, by default the model's. Where all torques are smaller
            than it says, its bodies are too heavy and no row is silent for that.

    Returns:
        The Ratios.
    """
    info = info.base
    if prior is None and info.robot is not None:
        prior = model_parameters(info.robot, info.layout)
    rms = info.base.rms
    if prior is None:
        groups = rms == 0
    else:
        bodies = np.where(np.arange(len(prior)) < info.layout.inertial.stop, prior, 0.0)  # vendors' friction is any
        reached = reach(info, info.basis.regroup(bodies))
        share = rms / np.maximum(np.maximum(rms, reached), np.finfo(float).tiny)
        groups = rms <= THRESHOLDS.silent * reached * share.max(initial=0.0)
    return Ratios(groups, np.zeros(info.basis.count), np.ones(len(groups)), ~groups)


def ratios_about(info: Information, base) -> Ratios:
    """What homogeneous rows are at a fit that found base parameters (r,)."""
    found = ratios(info)
    return replace(found, believed=np.ones_like(found.groups)).updated(info, base)


def reach(info: Information, base) -> np.ndarray:
    """(g,) RMS torque that base parameters (r,) make in each row group where bodies do not cancel one another."""
    info = info.base
    pairs = zip(info.squares.pattern.places, info.squares.blocks, strict=True)
    energy = np.array([base[at] @ (_apart(info, at) * G) @ base[at] for at, G in pairs])
    return np.sqrt(np.maximum(energy, 0.0) / np.maximum(info.counts, 1))


def _shared(info: Information, chosen) -> np.ndarray:
    """(g,) chosen row groups, and all that see the same bodies and their masses alike: of a force, no axis is believed
    where one is not, nor of a moment."""
    most = _largest(info)
    keys = []
    for at, G in zip(info.squares.pattern.places, info.squares.blocks, strict=True):
        seen = info.basis.columns[at[np.diag(G) > ROUNDING * most[at]]]
        seen = seen[seen < info.layout.inertial.stop]
        keys.append((frozenset(seen // 10), bool((seen % 10 == 0).any())))
    doubted = {key for key, each in zip(keys, chosen, strict=True) if each}
    return np.array([key in doubted for key in keys])


def _largest(info: Information) -> np.ndarray:
    """(r,) largest square of each base column in any row group."""
    most = np.zeros(info.basis.count)
    for at, G in zip(info.squares.pattern.places, info.squares.blocks, strict=True):
        most[at] = np.maximum(most[at], np.diag(G))
    return most


def _apart(info: Information, at) -> np.ndarray:
    """(k, k) whether two base columns belong to the same body, or are the same."""
    columns = info.basis.columns[at]
    owner = np.where(columns < info.layout.inertial.stop, columns // 10, columns)
    return owner[:, None] == owner


def _without_scale(x, square) -> np.ndarray:
    """(k, k) `1 - x l^T`, l along `square x`: it takes x to nothing."""
    along = square @ x
    size = float(along @ x)
    return np.eye(len(x)) - np.outer(x, along) / size if size > 0 else np.eye(len(x))


def scale_is_lost(R, info: Information, found: Ratios, parameters, directions=None) -> bool:
    """Whether data leaves open the scale of all bodies, or the mass of those that only rows without torque see.

    R: (k, r) whitened data with `found`, what its homogeneous rows are, of an Information; parameters: (p,) estimate;
    directions: (p, k) in which what is known lets parameters move, by default all.
    """
    layout, base = info.layout, info.basis.regrouping
    count = layout.inertial.stop // 10
    bodies = np.zeros((count, layout.size))
    for i in range(count):
        bodies[i, layout.body(i)] = parameters[layout.body(i)]
    energy = np.array([info.base.squares.forms(base @ each) for each in bodies]).reshape(count, len(info.counts))
    measured, silent = energy[:, ~found.groups].sum(axis=1), energy[:, found.groups].sum(axis=1)
    alone = (silent > 0) & (measured <= ROUNDING * silent)
    masses = np.zeros(layout.size)
    masses[[layout.body(i).start for i in range(count) if alone[i]]] = 1.0
    return any(
        _scale_information(R, layout, base, scaled) < THRESHOLDS.lost_scale
        for scaled in (bodies.sum(axis=0), masses * parameters)
        if (base @ scaled).any() and _is_free(scaled, directions)
    )


def _scale_information(R, layout: ParameterLayout, base, scaled) -> float:
    """Weighted cost of taking bodies away, scaled (p,), when friction and all else that is no body makes up for it."""
    effects = R @ base[:, layout.inertial.stop :]
    target = R @ (base @ scaled)
    size = np.linalg.norm(effects, axis=0)
    seen = effects[:, size > 0] / size[size > 0]
    left = target - seen @ np.linalg.lstsq(seen, target)[0]
    return float(left @ left)


def _is_free(scaled, directions) -> bool:
    if directions is None or len(directions) == directions.shape[1]:
        return True
    size = np.linalg.norm(directions, axis=1)
    kept = size > 0
    if scaled[~kept].any():
        return False
    unit, wanted = directions[kept] / size[kept, None], scaled[kept] / size[kept]
    left = wanted - unit @ np.linalg.lstsq(unit, wanted)[0]
    return bool(np.linalg.norm(left) <= SAME * np.linalg.norm(wanted))
