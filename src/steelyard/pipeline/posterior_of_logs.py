"""The posterior of logs: sums and estimate in turns, as nuisances are linear about the links that are found.

A correction that a diagnosis asks for is recommended where the posterior of corrected logs predicts held-out torques
better.

The share of samples that are independent follows from the residual: 1 / its integrated autocorrelation, over a window
of five times itself (Sokal 1997). Without it the evidence believes ten to thirty times too much. A fit takes slow parts
of the noise from its residual, which then seems up to four times as independent as the noise: in what is promised, the
spread of the posterior's torque, which has as much, is added (a step of expectation and maximisation for the noise).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np

from steelyard.decisions.fit_plan import FitPlan
from steelyard.diagnose import Fault
from steelyard.errors import SteelyardError
from steelyard.fit import Estimate, validate
from steelyard.information import Information, accumulate, reversal_weights
from steelyard.information.accumulation import Columns, collected, specified
from steelyard.information.samples import torque_spread
from steelyard.log import Log
from steelyard.log.decimate import lagged_products, thinning_of
from steelyard.model import Robot

ROUNDS = 4  # at most, each about the links of the one before
SETTLED = 0.3  # deviations of the noise, by which torques of two rounds differ, below which the last one stays
BLOCKS = 8  # of a log, whose quarters are predicted from one another
WINDOW = 5.0  # times of correlation, over which it is summed
Fit = Callable[..., Estimate]


def posterior_of(
    robot: Robot, logs: Sequence[Log], fit: Fit, options: Mapping[str, Any], near: Estimate | None = None
) -> tuple[Estimate, list[tuple[Information, ...]]]:
    """The posterior of several logs, by a fit such as `fit.posterior`, and sums of their blocks, by log. near: of
    nearly the same logs."""
    logs = [log[:: thinning_of(log)] for log in logs]
    edges = [np.linspace(0, len(log), min(BLOCKS, len(log)) + 1).astype(int) for log in logs]

    def summed(about: Robot) -> list[tuple[Information, ...]]:
        asked = specified(about, logs, Columns(**options))
        return [
            tuple(collected(asked, log[i:j]) for i, j in pairwise(own)) for log, own in zip(logs, edges, strict=True)
        ]

    blocks = summed(robot if near is None else robot.with_inertias(near.theta))
    estimate = fit(reduce(add, [each for own in blocks for each in own]), prior=robot, near=near)
    for _ in range(ROUNDS - 1):
        before, share = estimate, independent_share(estimate, logs, weighted="sample_weights" in options)
        blocks = summed(robot.with_inertias(before.theta))
        estimate = fit(reduce(add, [each for own in blocks for each in own]), prior=robot, share=share, near=before)
        if _moved(before, estimate) < SETTLED:
            break
    return estimate, blocks


def everything(
    robot: Robot, estimate: Estimate, total: Information, others: Sequence[Log], fit: Fit, options: Mapping[str, Any]
) -> Estimate:
    """The posterior of all samples, once others have judged that of some. total: sums of those that were fitted;
    others: parts of logs with the other samples; the rest as of `posterior_of`."""
    about = total.robot
    assert about is not None, "sums of logs have a robot"
    more = [accumulate(about, log[:: thinning_of(log)], **options) for log in others if len(log)]
    return fit(reduce(add, more, total), prior=robot, share=estimate.require_weighed().problem.shares, near=estimate)


def _moved(before: Estimate, after: Estimate) -> float:
    """RMS torque between two estimates over the noise of the latter, of the joint where it is most."""
    info = after.require_weighed().problem.info
    energy = info.squares.forms(after.base - before.base)
    return float(np.max(np.sqrt(np.maximum(energy, 0.0) / np.maximum(info.counts, 1)) / after.noise, initial=0.0))


def independent_share(estimate: Estimate, logs: Sequence[Log], *, weighted: bool = True) -> tuple[float, float]:
    """Share of the samples of logs that count as independent, by the residual of an estimate, and by it and what the
    fit took from the noise: means over joints and logs. weighted: whether samples near standstill count less, as they
    did in the fit."""
    robot, info, shares, counts = estimate.require_robot(), estimate.require_weighed().problem.info, [], []
    root = info.basis.regroup(estimate.require_weighed().root.T).T
    for log in logs:
        left = validate(estimate, log).error
        weight = np.ones_like(left) if log.weights is None else log.weights
        if weighted and not robot.loops:
            weight = weight * reversal_weights(robot, log)
        left = np.sqrt(weight) * left
        seen = lagged_products(left - left.mean(axis=0))
        whole = seen.copy()
        for dof, spread in enumerate([] if robot.loops or log.contacts else torque_spread(info, log, root)):
            whole[:, dof] += lagged_products(np.sqrt(weight[:, dof, None]) * spread).sum(axis=1)
        shares.append([np.mean([_independent(x) for x in each.T if x.any()] or [1.0]) for each in (seen, whole)])
        counts.append(len(log))
    share, sure = np.average(shares, axis=0, weights=counts).tolist()
    return share, min(share, sure)


def _independent(products) -> float:
    times = 2 * np.cumsum(products[: len(products) // 2] / products[0]) - 1
    ends = np.flatnonzero(np.arange(len(times)) >= WINDOW * times)
    return 1 / max(float(times[ends[0] if len(ends) else -1]), 1.0)


COUPLING, DELAY, LEAVE_OUT = "--coupling", "--delay", "--leave-out"  # the latter of a log that is read already
REAL = 0.05  # share of the held-out torque error that a correction must take off: users notice no less
VISIBLE = 0.005  # torque error over torque below which no drive tells: logs of simulations show mistakes below it


def tried(
    faults: Sequence[Fault], plan: FitPlan, estimate: Estimate | None = None
) -> tuple[tuple[Fault, ...], tuple[str, ...]]:
    """Faults whose correction is worth making, and notes on those whose is not. Delays are tried together, then the one
    that explains most. estimate: the posterior of the samples that do not judge, where it is known."""
    late = tuple(each for each in faults if each.options[:1] == (DELAY,))
    before = cache(lambda: _posterior(plan) if estimate is None else estimate)
    kept, notes = [], []
    for each in faults:
        if each.severity == "fatal" or (each.options or ("",))[0] not in (COUPLING, DELAY, LEAVE_OUT):
            kept.append(each)
        elif each not in late[1:]:
            said = ""
            for together in (late, (each,)) if each in late and len(late) > 1 else ((each,),):
                better, said = _judged(plan, before, together)
                if better:
                    kept += [replace(one, message=f"{one.message} Tried: {said}") for one in together]
                    break
            else:
                notes += [f"Not recommended: {said}"] if said else []
    return tuple(kept), tuple(notes)


def _judged(plan: FitPlan, before: Callable[[], Estimate], faults: Sequence[Fault]) -> tuple[bool, str]:
    """Whether options of faults, obeyed together, are worth it, and how much; nothing where users notice neither."""
    option, words = faults[0].options[0], [word for each in faults for word in each.options[1:]]
    options = " ".join(f"{option} {word}" for word in words)
    try:
        error, after = _errors(plan, before(), option, words)
    except SteelyardError:  # the figure is none of a mistake
        return False, f"{options}, which cannot be made."
    if error < VISIBLE:
        return False, ""
    said = f"{options} takes the torque error on held-out samples from {error:.2%} to {after:.2%}."
    return after <= (1 - REAL) * error, said


def _errors(plan: FitPlan, estimate: Estimate, option: str, words: Sequence[str]) -> tuple[float, float]:
    """Held-out torque errors over torque, of the logs as they are and after a correction, of the same samples."""
    if option == COUPLING:
        changed, near = replace(plan, job=replace(plan.job, coupling=(*plan.job.coupling, *words))), None
    else:
        changed, near = plan.corrected(**{option.removeprefix("--").replace("-", "_"): words}), estimate
    judged, error = changed if option == LEAVE_OUT else plan, plan.held_out.error
    return error(estimate, judged.logs), error(_posterior(changed, near), changed.logs)


def _posterior(plan: FitPlan, near: Estimate | None = None) -> Estimate:
    return posterior_of(plan.robot, plan.train, plan.fit, plan.options, near)[0]
