"""The signals behind the figures of a run, thinned to what a screen can show, so that a result can be drawn again.

Each is (2, k): horizontal and vertical values, NaN where a line breaks. The file `curves.npz` holds them as
`KIND/INDEX/SERIES`, with the index of a joint (or of a channel of the wrench) in the order of the summary.
"""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from steelyard.diagnose import contributions
from steelyard.diagnose.torque_contributions import EFFECTS
from steelyard.dynamics.effects import effect_column, extra_torque, friction_curve
from steelyard.errors import LogError, OptionError
from steelyard.fit import Estimate
from steelyard.log import Log
from steelyard.log.npz import members
from steelyard.log.stamps import gaps
from steelyard.model import Robot
from steelyard.pipeline import Result
from steelyard.report.figure_style import VISIBLE
from steelyard.report.torques import FEW
from steelyard.terms import COULOMB_WIDTH, friction_terms, stated_values

CurveKey = tuple[str, int, str]
Curves = Mapping[CurveKey, np.ndarray]

MOST_POINTS = 120_000  # of torques in all figures together: a megabyte or so of page
PARTS, CLOUD = 500, 400  # samples of contributions and of friction clouds, a joint
LINES = ("measured", "given", "identified")
SERIES = {"torque": LINES, "friction": LINES, "wrench": ("measured", "explained"), "motion": ("measured", "identified")}


def curves(result: Result) -> Curves:
    """Torques on held-out samples (given, identified, measured), what they are made of, and friction over speed."""
    after = result.after
    series = {"measured": after.measured, "given": result.before.predicted, "identified": after.predicted}
    found = (*screen_curves("torque", after.t, series), *_parts(result), *_friction(result))
    return {key: value.astype("f4") for key, value in found}


def screen_curves(kind: str, t, series: Mapping[str, np.ndarray]) -> Iterator[tuple[CurveKey, np.ndarray]]:
    """Signals thinned to what a screen can show. t: (n,) s; series: (n, k) values of k channels each, by their name."""
    t = t - t[0]
    channels = next(iter(series.values())).shape[1]
    limit = int(np.clip(MOST_POINTS / (3 * channels), 200, 2000))
    for i in range(channels):
        for name, values in series.items():
            yield (kind, i, name), np.stack(thin(t, values[:, i], limit)).astype("f4")


def thin(t, y, limit: int = 2000):
    """Smallest and largest sample of each stretch of a signal y at times t, about `limit` points at most, so that no
    peak is lost; NaN where time has a gap."""
    keep = _extremes(np.asarray(y), limit)
    broken = np.searchsorted(keep, gaps(t), side="right") if len(t) > 2 else np.zeros(0, dtype=int)
    broken = np.unique(broken[(broken > 0) & (broken < len(keep))])
    return np.insert(t[keep], broken, np.nan), np.insert(y[keep], broken, np.nan)


def _extremes(y, limit: int):
    """Indices of the smallest and largest value of every stretch, of all values of a short signal."""
    if len(y) <= limit:
        return np.arange(len(y))
    width = -(-2 * len(y) // limit)
    stretches = np.pad(y, (0, -len(y) % width), mode="edge").reshape(-1, width)
    start = width * np.arange(len(stretches))
    found = np.concatenate([start + stretches.argmin(axis=1), start + stretches.argmax(axis=1)])
    return np.unique(np.minimum(found, len(y) - 1))


def _parts(result: Result) -> Iterator[tuple[CurveKey, np.ndarray]]:
    some = _spread(result.held_out, PARTS, len(result.after.joint_names))
    found = contributions(result.estimate, some)
    parts = {"gravity": found.gravity, "motion": found.links.sum(axis=2) - found.gravity, **found.effects}
    t = some.t - result.after.t[0]
    visible = VISIBLE * np.abs(found.total).max(axis=0)
    for i in range(len(found.joint_names)):
        for name in EFFECTS:
            if np.abs(parts[name][:, i]).max() > visible[i]:
                yield ("part", i, name), np.stack([t, parts[name][:, i]])


def _friction(result: Result) -> Iterator[tuple[CurveKey, np.ndarray]]:
    """Measured torque less everything but friction, over speed, and the curves of both models."""
    estimate = result.estimate
    terms = [term for term in friction_terms() if term in estimate.layout.terms]
    if not terms or result.prior.loops:
        return
    some = _spread(result.held_out, CLOUD, len(estimate.layout.dofs))
    v, tau = some.require("v", "tau")
    found = contributions(estimate, some)
    rubbed = sum(found.effects[term] for term in terms)
    if curved := [each.kind == "curve" for each in estimate.layout.extras]:
        q, _, a = some.require("q", "v", "a")
        rubbed = rubbed + extra_torque(estimate.require_robot(), estimate.layout, estimate.extras * curved, q, v, a)
    left = tau - found.total + rubbed
    for i in estimate.layout.dofs:
        speed = np.linspace(-1, 1, 161) * np.abs(v[:, i]).max()
        yield ("friction", i, "measured"), np.stack([v[:, i], left[:, i]])
        for name, model in (("given", result.prior), ("identified", estimate)):
            yield ("friction", i, name), np.stack([speed, _rubbing(model, i, speed)])


def _rubbing(model: Estimate | Robot, i: int, v) -> np.ndarray:
    """(n,) friction of one degree at speeds v (n,), by a model."""
    robot = model.require_robot() if isinstance(model, Estimate) else model
    width = model.coulomb_width if isinstance(model, Estimate) else COULOMB_WIDTH
    values = {term: stated[i] for term, stated in stated_values(robot).items()}
    if isinstance(model, Estimate):
        place = model.layout.dofs.index(i)
        values |= {term: found[place] for term, found in model.friction.items()}
    terms = [term for term in friction_terms() if term in values]
    plain = np.sum([values[term] * effect_column(term, v, 0 * v, coulomb_width=width) for term in terms], axis=0)
    return plain + friction_curve(model.layout, model.extras, i, v) if isinstance(model, Estimate) else plain


def _spread(log: Log, count: int, joints: int) -> Log:
    """About `count` samples of a log, evenly spread; fewer where each is for many joints."""
    count = int(count * min(1.0, FEW / max(joints, 1)) ** 0.5)
    return log[:: -(-len(log) // count)]


def save_curves(found: Curves, path) -> None:
    """Write curves to an NPZ file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in found.items():
            with archive.open("/".join(map(str, key)) + ".npy", "w") as file:
                np.lib.format.write_array(file, value, allow_pickle=False)


def load_curves(path) -> Curves:
    """Curves of an NPZ file. Raises OptionError for a file of another kind."""
    try:
        with members(Path(path)) as file:
            found = {_key(name): _pairs(value) for name, value in file.everything().items()}
            _require_whole(found)
            return found
    except (LogError, ValueError) as error:
        raise OptionError(
            f"{path} holds no curves of a report: {error}. Run the identification again with --out."
        ) from error


def _require_whole(found: Curves) -> None:
    for kind, index, _ in found:
        missing = [name for name in SERIES.get(kind, ()) if (kind, index, name) not in found]
        if missing:
            raise ValueError(f"'{kind}/{index}' has no '{missing[0]}'")


def _pairs(value: np.ndarray) -> np.ndarray:
    """The signal. Raises ValueError for what is no (2, k) array of numbers."""
    if value.ndim != 2 or len(value) != 2 or value.dtype.kind != "f":
        raise ValueError(f"a signal is (2, k) numbers, not {value.dtype} of shape {value.shape}")
    return value


def _key(name: str) -> CurveKey:
    kind, index, series = name.split("/")
    return kind, int(index), series
