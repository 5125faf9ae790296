"""Fits of the same data inside other volumes, at one noise and without proofs: enough to see what a shape costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.fit.asked import asked
from steelyard.fit.assembled import assembled
from steelyard.fit.consistent import consistent
from steelyard.fit.homogeneous import ratios, ratios_about
from steelyard.fit.program import Program
from steelyard.fit.solve import solve
from steelyard.fit.weighed import first_noise, weighed
from steelyard.information import Information


@dataclass(frozen=True, eq=False)
class Trials:
    """Fits of an Information at the noise that least squares leaves. options: of `consistent`, but for `within`."""

    info: Information
    options: Mapping

    def nearest(self, within, *, enough: Callable[[np.ndarray], bool] | None = None) -> np.ndarray:
        """(p,) parameters of `consistent` inside these volumes; with `enough`, see `solve`. Raises FitError."""
        wanted = asked(self.info, within=within, **self.options)
        program = replace(self._program, constraints=wanted.known)
        return program.parameters(solve(program, enough=enough, rough=True).w)

    @cached_property
    def seen(self) -> Information:
        """The Information as a fit sees it, rows without torque as the ratios that they tell without volumes."""
        if not ratios(self.info).groups.any():
            return self.info.base
        return ratios_about(self.info, consistent(self.info, **self.options).base).of(self.info)

    @cached_property
    def _program(self) -> Program:
        """The program without volumes: these change neither its cost nor its equalities."""
        wanted = asked(self.info, **self.options)
        noise = first_noise(self.seen) if wanted.noise is None else wanted.noise
        data = weighed(self.seen, noise, wanted.theta0, wanted.weight)
        return assembled(data, wanted.known, wanted.regularizer, wanted.weight)
