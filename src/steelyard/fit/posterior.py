"""The posterior of links, friction and mistakes of a log, each weighed against the others by evidence.

    tau_j = Y_j theta + I_j a_j + f_j(v_j) + mu_j s(v_j) |tau_j(theta)| + sum_k n_k d tau_j / d n_k + e_j

Links are near those of the file as far as the data lets them (`fit.evidence`); friction is about what the file states,
of any shape over speed, and odd in it but for a twentieth; mistakes of the log n are about none. What is asked for
besides, such as known masses and volumes of the mass, holds exactly.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.cone_program import consistent
from steelyard.fit.estimate import Certificate, Estimate, Status, estimate_of
from steelyard.fit.evidence import Group, PosteriorForm, PosteriorProblem, Scales, least_noise, maximised
from steelyard.fit.homogeneous import Ratios, ratios, ratios_about
from steelyard.fit.joint_normal import JointNormal
from steelyard.fit.knowledge import Knowledge, Known, effect_bounds, knowledge_of_bodies
from steelyard.fit.linear import nonnegative_least_squares
from steelyard.fit.prior import degree_torques, model_parameters
from steelyard.fit.volumes import CONSISTENT
from steelyard.fit.whitening import require_enough_samples, weak_directions, whiten
from steelyard.identifiable.basis import Basis
from steelyard.inertia import pseudo
from steelyard.information import Information
from steelyard.information.gram import Squares
from steelyard.model import Robot
from steelyard.numbers import ROUNDS
from steelyard.terms import TERMS
from steelyard.weighed_columns import CURVE, EVEN, SHAPED_FRICTION, STATED, JointSize, weighed

WIDE = 10.0  # torques of its joint: deviation of armature, couplings and columns of the user before any data
SLOW = 0.15  # of the RMS speed of a joint: below, friction is told by rests, and a curve is smooth
VOUCHED = 25.0  # largest lambda in what is promised: links of files are right to 20 %
STARTS = ((4.0, 0.05), (300.0, 0.3))  # lambda and size of curves: the evidence may have an optimum near each
FIRST_NOISE = 0.1  # of the torque of a row
FAINT = 1e-9  # of a column's square, by which what no motion tells stays; weight of a second prior beside the posterior
PINNINGS = 4  # rounds in which parameters that cannot be negative are held at zero


def posterior(
    info: Information,
    *,
    prior=None,
    share: float | tuple[float, float] | None = None,
    near: Estimate | None = None,
    **known,
) -> Estimate:
    """Links, friction and mistakes of a log as data and model have them together.

    Args:
        info: sums of `accumulate`, whose default columns are those of this model.
        prior: a Robot or (nb, 10) array, by default the model's own values; repaired where it is not consistent.
        share: of the samples that are independent, at most what the bandwidth in the Information says, the default. Two
            are those of the fit and of what is promised.
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
    return _estimate(*optimum(info, told, share=share, near=near), told, info)


def optimum(
    info: Information, told: Known | None = None, *, share=None, near=None
) -> tuple[PosteriorForm, Knowledge, Ratios]:
    """Of a posterior of base parameters; what is known of bodies, and rows without torque."""
    require_enough_samples(info)
    told = told or Known(within=CONSISTENT).of_model(info)
    knowledge = knowledge_of_bodies(info.robot, info.layout, told)
    knowledge = replace(knowledge, lower_bounds=effect_bounds(info.layout, told.bounds or {})[0])
    shares, silent = tuple(np.broadcast_to(info.independence if share is None else share, 2).tolist()), ratios(info)
    if silent.groups.any():
        silent = ratios_about(info, info.basis.regroup(_middle(info, knowledge)))
    found = _found(silent.of(info), told, knowledge, shares, near)
    for _ in range(ROUNDS if silent.groups.any() else 0):
        following = silent.after(info, info.basis.regroup(found.x))
        if following is None:
            break
        silent = following
        found = _found(silent.of(info), told, knowledge, shares, near)
    return found, knowledge, silent


def _found(
    info: Information, told: Known, knowledge: Knowledge, shares: tuple[float, float], near: Estimate | None
) -> PosteriorForm:
    """The optimum at the scales of most evidence."""
    problem = _problem(info, told, knowledge, shares)
    return _bounded(problem, knowledge.lower_bounds, _starts(problem, near))


def _middle(info: Information, knowledge: Knowledge) -> np.ndarray:
    """(p,) prior means."""
    middle = np.zeros(info.layout.size) if info.robot is None else model_parameters(info.robot, info.layout)
    middle[info.layout.inertial] = knowledge.prior.ravel()
    return middle


def _problem(info: Information, told: Known, knowledge: Knowledge, shares: tuple[float, float]) -> PosteriorProblem:
    """Priors of all columns, and what is known exactly."""
    layout, middle = info.layout, _middle(info, knowledge)
    facts = _facts(knowledge)
    start, equal = middle, np.zeros((0, layout.size))
    if facts:
        start = middle.copy()
        start[layout.in_plain] = consistent(info.plain, told).parameters
        equal = np.concatenate([equal, *(each.A for each in facts if each.equality)])
    return PosteriorProblem(info, knowledge.prior, middle, *_sizes(info), shares, start, equal)


def _facts(knowledge: Knowledge) -> tuple:
    """Constraints that the divergence does not keep by itself."""
    return tuple(each for each in knowledge.constraints if not each.definite)


def _sizes(info: Information) -> tuple[np.ndarray, tuple[Group, ...]]:
    """(p,) prior deviations of all columns but links, at scales of one, and the groups that share one."""
    layout, torque, column = info.layout, degree_torques(info).tolist(), _column_sizes(info)
    unit, column, together = WIDE / column, column.tolist(), {}
    slow = dict.fromkeys(layout.dofs, np.finfo(float).tiny)
    if "viscous" in layout.terms:
        slow |= {dof: SLOW * size for dof, size in zip(layout.dofs, column[layout.term("viscous")], strict=True)}
    for term in layout.terms:
        for place, (name, dof) in enumerate(zip(layout.dof_names, layout.dofs, strict=True)):
            at = layout.term(term).start + place
            unit[at] *= torque[dof] / WIDE
            if term == "offset":
                unit[at] = EVEN * torque[dof]
            group = term if term == "offset" else f"{name}.{'friction' if TERMS[term].odd else term}"
            together.setdefault((group, *STATED), []).append(at)
    for at, extra in enumerate(layout.extras, start=layout.extra.start):
        own = max(torque[dof] for dof in extra.dofs)
        unit[at] *= own
        if extra.weighed:
            size = weighed(extra.kind).size(extra, JointSize(own, column[at], slow.get(extra.dofs[0], 0.0)))
            unit[at] = size.deviation
            if size.scale is not None:
                together.setdefault(size.scale, []).append(at)
    return unit, tuple(Group(name, np.array(at), *prior) for (name, *prior), at in together.items())


def _column_sizes(info: Information) -> np.ndarray:
    """(p,) RMS of each column beside the links in the row group where it is largest; 1 where it is nothing."""
    found, start = np.ones(info.layout.size), info.layout.inertial.stop
    effects = info.basis.regrouping[:, start:]
    squares = np.zeros((len(info.counts), effects.shape[1]))
    for row, places, block in zip(squares, info.squares.pattern.places, info.squares.blocks, strict=True):
        row[:] = np.sum(effects[places] * (block @ effects[places]), axis=0)
    size = np.sqrt(np.maximum(squares, 0.0) / np.maximum(info.counts, 1)[:, None]).max(axis=0, initial=0.0)
    found[start:] = np.where(size > 0, size, 1.0)
    return found


def _starts(problem: PosteriorProblem, near: Estimate | None) -> Iterable[Scales]:
    """Scales from which those of most evidence are looked for."""
    if near is not None:
        return (near.require_weighed().scales,)
    info = problem.info
    noise = np.log(np.maximum(FIRST_NOISE * info.rms, least_noise(info)))
    return [
        Scales(
            np.full(len(problem.theta0), np.log(tightness)),
            np.array([np.log(curve) if group.mean == CURVE[0] else group.mean for group in problem.groups]),
            noise,
        )
        for tightness, curve in STARTS
    ]


def _bounded(problem: PosteriorProblem, lower, starts: Iterable[Scales]) -> PosteriorForm:
    """The optimum with parameters at their bounds that would lie below. lower: (p,)."""
    found = maximised(problem, starts)
    for _ in range(PINNINGS):
        below = np.flatnonzero(found.x < np.where(np.arange(len(lower)) < problem.links, -np.inf, lower))
        fresh = np.setdiff1d(below, problem.pinned)
        if not len(fresh):
            break
        middle = problem.middle.copy()
        middle[fresh] = lower[fresh]
        problem = problem.held(middle=middle, pinned=(*problem.pinned, *fresh.tolist()))
        untold = [{*problem.pinned}.issuperset(group.columns.tolist()) for group in problem.groups]
        groups = np.where(untold, [group.mean for group in problem.groups], found.scales.groups)
        scales = replace(found.scales, groups=groups)
        try:
            found = maximised(problem, (scales,), found.x)
        except FitError:  # from bodies that hardly exist no step leads on
            found = maximised(problem, (scales,))
    x = found.x.copy()
    x[list(problem.pinned)] = problem.middle[list(problem.pinned)]
    return replace(found, x=x)


def _estimate(found: PosteriorForm, knowledge: Knowledge, silent: Ratios, told: Known, seen: Information) -> Estimate:
    """The Estimate of a form at its optimum. silent: rows without torque of the Information that was seen."""
    problem, info = found.problem, found.problem.info
    layout, plain, facts = info.layout, info.plain, _facts(knowledge)
    root, noise = np.hstack([found.promised(VOUCHED).root, found.root_of_scales]), np.exp(found.scales.noise)
    held = None if all(each.equality for each in facts) else _within(found, told)
    parameters = found.x if held is None else held.parameters
    J = (pseudo.to_matrix(each) for each in (problem.theta0, parameters[layout.inertial].reshape(-1, 10)))
    smallest = float(np.linalg.eigvals(np.linalg.solve(*J)).real.min(initial=np.inf))
    spread = info.basis.regroup(root.T).T
    weighted = whiten(plain.weighted(problem.share / noise**2))
    weakest = weak_directions(weighted, plain.layout, plain.basis)
    lost = bool(silent.groups.any()) and consistent(seen, told).status is Status.LOST_SCALE
    return estimate_of(
        info,
        "posterior of links, friction and mistakes, scales by evidence",
        parameters,
        spread @ spread.T,
        noise=noise,
        status=Status.LOST_SCALE if lost else Status.WEAK_EXCITATION if weakest else Status.OK,
        physical=smallest > 0,
        certificate=Certificate(float(found.slope @ found.C @ found.slope), smallest, 0.0),
        weakest=weakest,
        fixed=tuple(np.flatnonzero(~root[: problem.links].any(axis=1)).tolist()),
        lower_bounds=knowledge.lower_bounds,
        binding=() if held is None else tuple(each.label for each in facts if each.label in held.binding),
        notes=(*knowledge.notes, *silent.notes(info.group_names)),
        joint=JointNormal(parameters, root, problem.theta0, facts),
        within=facts,
        weighed=found,
    )


def _within(found: PosteriorForm, told: Known) -> Estimate:
    """Of most posterior probability, to second order, among those that keep all that is known."""
    info, p = found.problem.info, len(found.x)
    size = np.linalg.norm(found.root, axis=1)
    size = np.where(size > 0, size, 1.0)
    unit = found.root / size[:, None]
    precision = np.linalg.pinv(unit @ unit.T, hermitian=True) / size / size[:, None]
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
        basis=Basis(np.arange(p), np.eye(p), np.zeros((p, 0))),
        independence=1.0,
        factors=None,
        discrepancy=None,
    )
    return consistent(form, replace(told, weight=FAINT, noise=np.ones(1)))


def nearest_plain(estimate: Estimate, info: Information) -> dict[str, np.ndarray]:
    """Viscous and Coulomb friction alone, as close to all friction of an estimate as they come in the recorded motion:
    for model files, which have no place for friction near standstill and by load.

    Args:
        estimate: of a robot.
        info: that it was fitted to.

    Returns:
        By attribute of the Robot (nv,), none without such terms.
    """
    layout, robot = info.layout, estimate.require_robot()
    further = [at for at, each in enumerate(layout.extras) if each.kind in SHAPED_FRICTION]
    terms = [term for term in ("viscous", "coulomb") if term in layout.terms]
    place = {column: at for at, column in enumerate(info.base.columns)}
    gram = info.base.squares.weighted(np.ones(len(info.energy)))  # columns of one joint share its row alone
    found = {str(TERMS[term].stated): getattr(robot, str(TERMS[term].stated)).copy() for term in terms if further}
    for dof in {layout.extras[at].dofs[0] for at in further}:
        plain = [layout.term(term).start + layout.dofs.index(dof) for term in terms]
        every = [*plain, *(layout.extra.start + at for at in further if layout.extras[at].dofs[0] == dof)]
        if not plain or not all(column in place for column in every):
            continue
        rows, columns = [place[column] for column in plain], [place[column] for column in every]
        square, x = gram[np.ix_(rows, rows)], estimate.parameters
        stay = np.diag(FAINT * np.diag(square) + np.finfo(float).tiny)
        root = np.linalg.cholesky(square + stay)
        wanted = np.linalg.solve(root, gram[np.ix_(rows, columns)] @ x[every] + stay @ x[plain])
        for term, value in zip(terms, nonnegative_least_squares(root.T, wanted)[0], strict=True):
            found[str(TERMS[term].stated)][dof] = value
    return found
