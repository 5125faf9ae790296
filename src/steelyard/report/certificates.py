"""The fit and its certificate: method, duality gap, active constraints, weakly excited directions."""

from collections.abc import Iterator

import numpy as np

from steelyard.cards import SEVERAL
from steelyard.fit.volumes import CAN_EXIST
from steelyard.numbers import number, plural, some
from steelyard.pipeline import Result
from steelyard.report.document import Chapter, ReportPart
from steelyard.report.identification_records import Fit
from steelyard.report.schema import filled


def _numbers(result: Result, _: dict) -> dict:
    estimate = result.estimate
    found = filled(
        Fit,
        estimate,
        status=estimate.status.name.lower(),
        status_text=estimate.status.value,
        parameters=estimate.layout.size,
        identifiable=int(np.isin(estimate.basis.columns, estimate.layout.in_plain).sum()),
        weak_directions=estimate.weakest,
        physically_consistent=bool(estimate.physical),
    )
    return {"fit": found}


def _parts(summary: dict) -> Iterator[ReportPart]:
    fit = summary["fit"]
    yield ReportPart(text=f"{fit['method']}: {fit['status_text']}.")
    if fit["certificate"]:
        found = fit["certificate"]
        yield ReportPart(
            text=f"Relative duality gap {number(found['duality_gap'])}; smallest eigenvalue of the links' "
            f"pseudo-inertias, relative to the nominal model's, {number(found['smallest_eigenvalue'])}; smallest slack "
            f"of all other constraints, relative to what each bounds, {number(found['smallest_slack'])}."
        )
    if fit["binding"]:
        yield ReportPart(items=tuple(fit["binding"]), folded=plural(len(fit["binding"]), "active constraint"))
    if fit["weak_directions"]:
        yield ReportPart(items=tuple(fit["weak_directions"]), folded=f"{len(fit['weak_directions'])} poorly excited")


def active_constraints(summary: dict) -> str:
    """The constraints at which the estimate lies, in one line; the report has all of them."""
    binding = summary["fit"]["binding"]
    bodies = [each.removesuffix(CAN_EXIST).strip() for each in binding if each.endswith(CAN_EXIST)]
    others = [each for each in binding if not each.endswith(CAN_EXIST)]
    told = [f"physical consistency of {some(bodies, SEVERAL)}"] if bodies else []
    told += [some(others, SEVERAL)] if others else []
    return f"{plural(len(binding), 'active constraint')} (the unconstrained fit violates them): {'; '.join(told)}."


CERTIFICATES = Chapter("Certificates", "Certificates", _numbers, _parts)
