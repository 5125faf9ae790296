"""The posterior of links, friction and mistakes of a log, each weighed against the others by evidence.

    tau_j = Y_j theta + I_j a_j + f_j(v_j) + mu_j s(v_j) |tau_j(theta)| + sum_k n_k d tau_j / d n_k + e_j

Links are near those of the file as far as the data lets them (`fit.evidence`); friction is about what the file states,
of any shape over speed, and odd in it but for a twentieth; mistakes of the log n are about none. What is asked for
besides, such as known masses and volumes of the mass, holds exactly.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from steelyard.dynamics.effects import bump_speed
from steelyard.fit.cone_program import as_told
from steelyard.fit.estimate import Certificate, Estimate, Status, estimate_of
from steelyard.fit.evidence import Form, Group, Problem, Scales, form, maximised
from steelyard.fit.homogeneous import ratios, ratios_about
from steelyard.fit.joint_normal import JointNormal
from steelyard.fit.knowledge import Knowledge, Known, effect_bounds, knowledge_of_bodies
from steelyard.fit.prior import model_parameters
from steelyard.fit.volumes import CONSISTENT
from steelyard.fit.whitening import noise_floor, require_enough_samples, weak_directions, whiten
from steelyard.identifiable.basis import Basis
from steelyard.inertia import pseudo
from steelyard.information import Information
from steelyard.information.gram import Squares
from steelyard.model import Robot
from steelyard.terms import TERMS

WIDE = 10.0  # torques of its joint: deviation of armature, couplings and columns of the user before any data
EVEN = 0.05  # of the odd part of friction: what a drive's torque has that does not turn with the direction of motion
SLOW = 0.15  # of the RMS speed of a joint: below, friction is told by rests, and a curve is smooth
LOAD = 0.1  # deviation of friction by load
SIZES = {"lean": 0.01, "zero": 0.005, "gain": 0.01}  # of mistakes at a scale of one: rad, rad, 1
SPRING = 0.05  # torques of its joint, a radian: the same of its spring
CURVE = (-3.0, np.sqrt(10.0))  # mean and deviation of the logarithm of a curve's size, in torques of its joint
STATED = (0.0, 3.0)  # the same of viscous and Coulomb friction about the file's
MISTAKE = (-1.0, np.sqrt(2.0))  # the same of mistakes
SPRUNG = (-3.0, 1.0)  # the same of springs, which few joints have, and which pass for weight in a part of its range
STARTS = ((4.0, 0.05), (300.0, 0.3))  # lambda and size of curves: the evidence may have an optimum near each
VOUCHED = 25.0  # largest lambda in what is promised: links of files are right to 20 %
FIRST_NOISE = 0.1  # of the torque of a row
LIGHT = 1e-9  # weight of a second prior beside the posterior
PINNINGS = 4  # rounds in which parameters that cannot be negative are held at zero


def posterior(
    info: Information, *, prior=None, share: float | None = None, near: Estimate | None = None, **known
) -> Estimate:
    """Links, friction and mistakes of a log as data and model have them together.

    Args:
        info: sums of `accumulate`, whose default columns are those of this model.
        prior: a Robot or (nb, 10) array, by default the model's own values; repaired where it is not consistent.
        share: of the samples that are independent, by default as the Information says.
        near: an estimate of the same columns, whose scales are close.
        known: what is known of bodies exactly: within, centers, masses, fixed, tied, bounds as of `fit.consistent`.

    Returns:
        An Estimate with `evidence`, `scales`, `nuisances` and `expected_error`.

    Raises:
        FitError: fewer equations than unknowns, or knowledge that contradicts itself.
        OptionError: knowledge that cannot be read.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot, rng = sy.library.scara(), np.random.default_rng(0)
        >>> heavy = robot.with_inertias(robot.inertias * np.linspace(1.0, 1.5, robot.nb)[:, None])
        >>> info = sy.accumulate(robot, sy.simulate.record(heavy, duration=8.0).log)
        >>> estimate = sy.fit.posterior(info)
        >>> estimate.expected_error("written").value < 0.2 * estimate.expected_error("given").value
        True
    """
    told = Known(prior=prior, **{"within": CONSISTENT, **known}).of_model(info)
    info = replace(info, robot=prior).base if isinstance(prior, Robot) else info.base
    require_enough_samples(info)
    problem, knowledge = _problem(info, told, info.independence if share is None else share)
    found = maximised(problem, _starts(problem, near))
    for _ in range(PINNINGS):
        lower = knowledge.lower_bounds[info.layout.inertial.stop :]
        below = np.flatnonzero(found.x[info.layout.inertial.stop :] < lower) + info.layout.inertial.stop
        pinned = tuple(int(c) for c in below if c not in problem.pinned)
        if not pinned:
            break
        bound = problem.middle.copy()
        bound[list(pinned)] = knowledge.lower_bounds[list(pinned)]
        start = problem.start.copy()
        start[list(pinned)] = bound[list(pinned)]
        problem = replace(problem, middle=bound, start=start, pinned=(*problem.pinned, *pinned))
        found = maximised(problem, (found.scales,))
    return _estimate(found, knowledge, told)


def _problem(info: Information, told: Known, share: float):
    """Priors of all columns."""
    layout = info.layout
    knowledge = knowledge_of_bodies(info.robot, layout, told)
    lower, _ = effect_bounds(layout, told.bounds or {})
    knowledge = replace(knowledge, lower_bounds=lower)
    theta0 = knowledge.prior
    middle = np.zeros(layout.size) if info.robot is None else model_parameters(info.robot, layout)
    middle[layout.inertial] = theta0.ravel()
    found = ratios(info)
    if found.groups.any():
        info = ratios_about(info, info.basis.regroup(middle)).of(info)
    unit, groups = _sizes(info)
    facts = [each for each in knowledge.constraints if not each.definite]
    start, equal = middle, np.zeros((0, layout.size))
    if facts:
        start = middle.copy()
        start[layout.in_plain] = as_told(info.plain, replace(told, regularizer="pullback")).parameters
        equal = np.concatenate([equal, *(each.A for each in facts if each.equality)])
    return Problem(info, theta0, middle, unit, groups, share, start, equal), knowledge


def _sizes(info: Information) -> tuple[np.ndarray, tuple[Group, ...]]:
    """(p,) prior deviations of all columns but links, at scales of one, and the groups that share one."""
    layout, effects = info.layout, range(info.layout.inertial.stop, info.layout.size)
    rms = info.degree_rms if info.robot is not None else np.sqrt(info.energy / np.maximum(info.counts, 1))
    rms = np.maximum(rms, max(FLOOR * rms.max(initial=0.0), np.finfo(float).tiny))
    if info.robot is None and len(rms) <= max([*layout.dofs, -1]):
        rms = np.full(max(layout.dofs) + 1, rms.max())
    squares = np.array([info.squares.forms(info.basis.regrouping[:, c]) for c in effects]).reshape(len(effects), -1)
    columns = np.ones(layout.size)
    seen = np.sqrt((squares / np.maximum(info.counts, 1)).max(axis=1, initial=0.0))
    columns[layout.inertial.stop :] = np.where(seen > 0, seen, 1.0)
    unit, together = np.ones(layout.size), {}
    slow = dict.fromkeys(layout.dofs, np.finfo(float).tiny)
    if "viscous" in layout.terms:
        slow |= dict(zip(layout.dofs, SLOW * columns[layout.term("viscous")], strict=True))
    for term in layout.terms:
        for column, name, dof in zip(
            range(*layout.term(term).indices(layout.size)), layout.dof_names, layout.dofs, strict=True
        ):
            unit[column] = rms[dof] * (EVEN if term == "offset" else WIDE / columns[column])
            if TERMS[term].odd and TERMS[term].stated:
                unit[column] = rms[dof] / columns[column]
                together.setdefault((f"{name}.friction", *STATED), []).append(column)
    for column, extra in enumerate(layout.extras, start=layout.extra.start):
        torque = rms[list(extra.dofs)].max()
        unit[column] = WIDE * torque / columns[column]
        if extra.kind == "curve":
            unit[column] = torque * (1.0 if extra.number >= 0 else EVEN) * min(bump_speed(extra.number) / slow[extra.dofs[0]], 1.0)
            together.setdefault((extra.name.rpartition(".")[0], *CURVE), []).append(column)
        elif extra.kind == "load":
            unit[column] = LOAD
        elif extra.kind in SIZES:
            unit[column] = SIZES[extra.kind]
            together.setdefault((extra.kind, *MISTAKE), []).append(column)
        elif extra.kind == "spring":
            unit[column] = SPRING * torque
            together[(extra.name, *SPRUNG)] = [column]
    return unit, tuple(Group(name, np.array(at), *prior) for (name, *prior), at in together.items())


FLOOR = 0.02  # of the largest torque, that a joint's counts for at least


def _starts(problem: Problem, near: Estimate | None) -> Iterable[Scales]:
    info = problem.info
    if near is not None:
        return (near.require_weighed().scales,)
    rms = np.sqrt(info.energy / np.maximum(info.counts, 1))
    noise = np.log(np.maximum(FIRST_NOISE * rms, noise_floor(info)))
    return [
        Scales(
            np.full(len(problem.theta0), np.log(tightness)),
            np.array([np.log(curve) if group.mean == CURVE[0] else group.mean for group in problem.groups]),
            noise,
        )
        for tightness, curve in STARTS
    ]


def _estimate(found: Form, knowledge: Knowledge, told: Known) -> Estimate:
    """The Estimate of a form at its optimum."""
    problem, info = found.problem, found.problem.info
    layout = info.layout
    capped = form(problem, replace(found.scales, links=np.minimum(found.scales.links, np.log(VOUCHED))), found.x)
    root, parameters = capped.root, found.x.copy()
    parameters[list(problem.pinned)] = problem.middle[list(problem.pinned)]
    facts = tuple(each for each in knowledge.constraints if not each.definite)
    if any(not each.equality for each in facts):
        parameters = _within(found, told)
    relative = np.linalg.solve(
        pseudo.to_matrix(problem.theta0), pseudo.to_matrix(parameters[layout.inertial].reshape(-1, 10))
    )
    smallest = float(np.linalg.eigvals(relative).real.min(initial=np.inf))
    spread, plain = info.basis.regrouping @ root, info.plain
    weakest = weak_directions(whiten(plain), plain.layout, plain.basis)
    return estimate_of(
        info,
        "posterior of links, friction and mistakes, scales by evidence",
        parameters,
        spread @ spread.T,
        noise=np.exp(found.scales.noise),
        status=Status.WEAK_EXCITATION if weakest else Status.OK,
        physical=smallest > 0,
        certificate=Certificate(float(found.slope @ found.C @ found.slope), smallest, 0.0),
        weakest=weakest,
        fixed=tuple(np.flatnonzero(np.linalg.norm(root[: layout.inertial.stop], axis=1) == 0)),
        lower_bounds=knowledge.lower_bounds,
        notes=knowledge.notes,
        joint=JointNormal(parameters, root, problem.theta0, facts),
        within=facts,
        weighed=capped,
    )


def _within(found: Form, told: Known) -> np.ndarray:
    """(p,) parameters of most posterior probability, to second order, among those that keep all that is known."""
    info, p = found.problem.info, len(found.x)
    precision = np.linalg.pinv(found.root @ found.root.T, hermitian=True)
    nothing = np.zeros((p, 0))
    form = replace(
        info,
        squares=Squares.of(precision[None]),
        moment=(precision @ found.x)[None],
        energy=np.array([found.x @ precision @ found.x + p]),
        counts=np.array([float(p)]),
        weights=np.ones(1),
        columns=np.arange(p),
        group_names=("posterior",),
        layout=replace(info.layout, extras=tuple(replace(each, weighed=False) for each in info.layout.extras)),
        basis=Basis(np.arange(p), np.eye(p), nothing),
        independence=1.0,
        factors=None,
        discrepancy=None,
    )
    return as_told(form, replace(told, weight=LIGHT, noise=np.ones(1))).parameters
