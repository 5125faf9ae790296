"""Scales that logs of commands leave open: which joints share one, and what says it (`homogeneous_rows`).

Joints whose torques depend on common combinations of parameters share a factor; a leg beside other legs, or a slide
that nothing couples to the rest, has one of its own. A stated gain, a measured torque or a known mass fixes it; a mass
only where nothing unknown makes up for it in sums, as centres of mass do in an arm with turning joints alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.drives import Drive
from steelyard.identifiable.analysis import Analysis
from steelyard.identifiable.homogeneous_rows import MET, Freedom, freedom, null_columns
from steelyard.identifiable.known_facts import ALL, Fact, balance_fact, facts_of, mass_fact
from steelyard.identifiable.numeric_rank import EXTRA_STATES
from steelyard.identifiable.scale import Scale
from steelyard.identifiable.torque_rows import FREE_BASE, WRENCH, TorqueRows, torque_rows

TRUTH_SEED = 20260118


def scales_of(result: Analysis, *, masses: Iterable = (), fixed: Mapping | None = None) -> tuple[Scale, ...]:
    """The scales of a robot whose joints log commands.

    Args:
        result: of `identifiability`; the torque of joints without a drive in its setup is measured.
        masses: bodies, tuples of bodies or "all" whose mass is known.
        fixed: parts of bodies that are as in the model, as of `fit.consistent`.

    Returns:
        One Scale a group of joints.

    Raises:
        OptionError: bodies that are not there.
    """
    facts = facts_of(result.mechanism.layout, result.values, masses, fixed or {})
    return tuple(_Open(result, facts, torque_rows(result)).scales())


@dataclass(frozen=True, eq=False)
class _Open:
    """What is open of one experiment, and what each source says of it: the number of a gain, or a Fact."""

    result: Analysis
    facts: tuple[Fact, ...]
    rows: TorqueRows

    def scales(self) -> Iterator[Scale]:
        sources = self._sources()
        left = self._after(sources.values())
        changing = np.linalg.norm(left.parameters, axis=1) > MET * np.abs(self.open.parameters).max(initial=0.0)
        layout = self.result.mechanism.layout
        for group in self._groups():
            joints = tuple(name for i in group if (name := self.rows.names[i]) not in (FREE_BASE, WRENCH))
            if not joints:
                continue
            enters = self.rows.entering(group)
            bodies = tuple(name for b, name in enumerate(layout.body_names) if enters[layout.body(b)].any())
            if left.moves[group].any():
                own = np.flatnonzero(changing & enters[self.result.columns])
                found = self._measurements(bodies, joints, group, sources, left)
                yield Scale(joints, bodies, parameters=tuple(self.result.base_names[k] for k in own), **found)
            else:
                yield Scale(joints, bodies, **self._fixed_by(sources, group))

    @property
    def drives(self) -> Mapping[str, Drive]:
        return self.result.setup.drives

    def _sources(self) -> dict[str, int | Fact]:
        """What says a size, by its words."""
        gains = {_known_torque(name, self.drives.get(name)): i for i, name in enumerate(self.rows.names)}
        return {words: i for words, i in gains.items() if words} | {f.words: f for f in self.facts if len(f.sizes)}

    @cached_property
    def truth(self) -> np.ndarray:
        """(p,) parameters like any others but for known ratios, in the mechanism's units."""
        drawn = np.random.default_rng(TRUTH_SEED).normal(size=self.result.size)
        free = null_columns(self._in_units([fact.ratios for fact in self.facts]))
        return free @ (free.T @ drawn)

    @cached_property
    def open(self) -> Freedom:
        """All that may change as far as only ratios are known."""
        found = self._freedom(self.result.columns, self.truth)
        return found.where(self._told(found, [fact.ratios for fact in self.facts]))

    def _freedom(self, columns, truth) -> Freedom:
        count = 3 * self.result.size // len(self.rows.owners) + EXTRA_STATES
        return freedom(self.rows.sampled, columns, truth, self.rows.owners, count)

    def _after(self, sources) -> Freedom:
        """What is left open by several sources."""
        gains = [self.open.shares[i : i + 1] for i in sources if isinstance(i, int)]
        known = [fact.sizes for fact in sources if isinstance(fact, Fact)]
        return self.open.where(*gains, self._told(self.open, [*(fact.ratios for fact in self.facts), *known]))

    def _told(self, found: Freedom, rows) -> np.ndarray:
        """(c, f) what known rows say of changes, whatever parameters that nothing shows do beside them."""
        known = self._in_units(rows)
        beside = known @ self._hidden
        told = null_columns(beside.T).T if beside.size else np.eye(len(known))
        size = np.abs(found.parameters).max(initial=1.0)
        return told @ known[:, self.result.columns] @ found.parameters / size

    def _in_units(self, rows) -> np.ndarray:
        """Rows of parameters in SI units as unit rows in the mechanism's."""
        known = np.concatenate([np.zeros((0, self.result.mechanism.layout.size)), *rows])
        scaled = np.pad(known, ((0, 0), (0, self.result.size - known.shape[1]))) * self.rows.scale  # of rotors: none
        return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)

    @cached_property
    def _hidden(self) -> np.ndarray:
        """(p, d) orthonormal null space, in the mechanism's units."""
        return np.linalg.qr(self.result.null_space / self.rows.scale[:, None])[0]

    def _groups(self) -> Iterator[list[int]]:
        """Gains with the same share in all that may change, without those whose rows show nothing."""
        shares = self.open.shares
        waiting = [i for i in range(len(self.rows.names)) if self.rows.entering([i]).any()]
        while waiting:
            apart = np.linalg.norm(shares[waiting] - shares[waiting[0]], axis=1)
            group = [i for i, far in zip(waiting, apart, strict=True) if far < MET]
            waiting = [i for i in waiting if i not in group]
            yield group

    def _fixed_by(self, sources: Mapping[str, int | Fact], group) -> dict:
        enough = [words for words, each in sources.items() if not self._after([each]).moves[group].any()]
        if enough or not sources:
            return {"fixed_by": tuple(enough)}
        needed = dict(sources)
        for words in sources:
            fewer = {other: each for other, each in needed.items() if other != words}
            if not self._after(fewer.values()).moves[group].any():
                needed = fewer
        return {"fixed_by": tuple(needed), "together": True}

    def _measurements(self, bodies, joints, group, sources: Mapping[str, int | Fact], left: Freedom) -> dict:
        """What would fix the scale of a group, beside all that is said already."""
        layout = self.result.mechanism.layout

        def enough(fact: Fact) -> bool:
            return not self._after([*sources.values(), fact]).moves[group].any()

        weighed = tuple(name for name in (*bodies, ALL) if enough(mass_fact(layout, name)))
        return {
            "loaded": tuple(name for name in reversed(bodies) if not self._loaded(name, left).moves[group].any()),
            "weighed": weighed,
            "balanced": tuple(name for name in reversed(bodies) if enough(balance_fact(layout, name))),
            "gains": {name: self.drives[name].features.gain for name in joints},
            "limits": {name: most for name in joints if (most := self.drives[name].limit) is not None},
        }

    def _loaded(self, body: str, left: Freedom) -> Freedom:
        """What is left open by one more log with a load of known mass, and nothing else known of it, on a body."""
        layout = self.result.mechanism.layout
        span = layout.body(layout.body_names.index(body))
        load = np.zeros(self.result.size)
        load[span] = np.random.default_rng(TRUTH_SEED).normal(size=10)
        made_up_for = self._freedom(np.arange(span.start + 1, span.stop), load).shares
        return left.where(left.shares - made_up_for @ (made_up_for.T @ left.shares))


def _known_torque(name: str, drive: Drive | None) -> str:
    """What makes the torque of a row known with its size, in words; nothing where it is not."""
    if name == FREE_BASE:
        return ""
    if name == WRENCH:
        return WRENCH
    if drive is None or drive.torque_per_unit is None:
        return "" if drive else f"torque of {name}"
    key = drive.features.gain
    return f"torque of {name}" if getattr(drive, key) is None else f"{key} of {name}"
