"""Tensors of a whole robot that are stated about the origins of its links: known by enough links without geometry.

The origin of a link, its joint, mostly lies farther from the centre of mass than the mass itself is spread: of a rod on
a joint at its end by sqrt(3) standard deviations. About the origin the stated spread holds that distance, so the origin
never is farther than one. One link may be so by chance, all links of a robot are not. Where few links have their
centre of mass away from the origin, their geometry decides: moved, all of these fit it, and as stated none does. And
links whose geometry is more like the tensors as stated speak against it, however near their origins are.
"""

import numpy as np

from steelyard.check.shaped_inertials import difference, is_placeholder, shaped_inertials
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Inertial, Sketch


def about_origins(sketch: Sketch) -> dict[int, np.ndarray]:
    """Part -> its tensor (3, 3) about the centre of mass, in its axes, where those of all links are about origins."""
    if "about_origins" not in sketch.memo:
        sketch.memo["about_origins"] = (_moved(sketch),)
    return sketch.memo["about_origins"][0]


def at_centre(inertial: Inertial) -> np.ndarray:
    """(3, 3) tensor about the centre of mass if the stated one is about the part's origin, in the part's axes."""
    c = inertial.com
    return inertial.tensor_in_part - inertial.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _moved(sketch: Sketch) -> dict[int, np.ndarray]:
    known = {
        i: each for i, _, each in sketch.stated() if each.usable and not each.is_point and not is_placeholder(each)
    }
    judged = [each for i, each in known.items() if sketch.parts[i].parent is not None and sketch.matters(i)]
    distances = np.array([_origin_distance(each) for each in judged])
    far = {(each.mass, round(d, 2)) for each, d in zip(judged, distances, strict=True) if d > THRESHOLDS.off_centre}
    if (distances > 1).any():
        return {}
    moved = {i: at_centre(each) for i, each in known.items() if each.com.any() and _origin_distance(each) <= 1}
    before, after = _differences(sketch, moved)
    if len(before) and before.mean() < after.mean():
        return {}
    fit = (before > THRESHOLDS.unlike) & (after < 0.5 * before) & (after < 2 * THRESHOLDS.alike)
    return moved if len(far) >= THRESHOLDS.several or (len(fit) > 1 and fit.all()) else {}


def _differences(sketch: Sketch, moved: dict[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How unlike their geometry the tensors are, as stated and moved, of links that the shift changes much."""
    found = []
    for w in shaped_inertials(sketch):
        solid, stated = w.solid_tensor, w.inertial.tensor_in_part
        if w.index in moved and solid is not None and difference(stated, moved[w.index]) > THRESHOLDS.unlike:
            found.append((difference(stated, solid), difference(moved[w.index], solid)))
    before, after = np.reshape(found, (-1, 2)).T
    return before, after


def _origin_distance(inertial: Inertial) -> float:
    """Squared distance of the origin from the centre of mass, in standard deviations of the mass."""
    spread = 0.5 * np.trace(inertial.tensor) * np.eye(3) - inertial.tensor_in_part
    if np.linalg.eigvalsh(spread)[0] <= THRESHOLDS.rounding * np.trace(spread):
        return np.inf
    return float(inertial.mass * inertial.com @ np.linalg.solve(spread, inertial.com))
