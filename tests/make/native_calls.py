"""Calls of every function of the compiled core, whole and right: what tests of its boundary spoil."""

from functools import cache
from unittest.mock import patch

import numpy as np

from robots import urdf
from steelyard.dynamics import native_plans
from steelyard.dynamics.native_plans import sum_plan
from steelyard.model import load
from steelyard.native import core
from steelyard.payload.online import BIAS_SIZE, FADE, PAST_SIZE, RULES, STATE_SIZE


@cache
def plans(stem: str, floating: bool) -> dict[str, dict]:
    """Arguments of Tree, Links and Rows of one robot, as the library makes them, but for the tree."""
    robot, made = load(urdf(stem), floating=floating or None), {}

    def recorded(kind, *own, **arrays):
        made[kind] = {key: np.array(x, order="C") if isinstance(x, np.ndarray) else x for key, x in arrays.items()}
        return plain(kind, *own, **arrays)

    plain = native_plans._made
    with patch.object(native_plans, "_made", recorded):
        native_plans.native_links(robot)
        sum_plan(robot, np.arange(0, 10 * robot.nb, 2), [(0,)] * robot.nv)
    return made


@cache
def objects(stem: str, floating: bool) -> dict:
    """Tree, links and rows of one robot."""
    return made_of(plans(stem, floating))


def rebuilt(changed: dict[str, dict]) -> dict:
    """Tree, links and rows of a walking robot, with other arguments."""
    return made_of(plans("solo12", True) | changed)


def made_of(arrays: dict[str, dict]) -> dict:
    tree = core().Tree(**arrays["Tree"])
    return {"tree": tree, **{name.lower(): getattr(core(), name)(tree, **arrays[name]) for name in ("Links", "Rows")}}


def calls(n: int, rng) -> dict[str, dict]:
    """Function -> right arguments by name, for n samples."""
    made, arrays = objects("solo12", True), plans("solo12", True)
    nq, nv, nj = arrays["Tree"]["nq"], arrays["Tree"]["nv"], len(arrays["Tree"]["above"])
    gram = np.zeros(arrays["Rows"]["gram_start"][-1])

    def normal(*shape):
        return rng.normal(size=shape)

    def zeros(*shape):
        return np.zeros(shape)

    def rotations(*shape):
        return np.tile(np.eye(3), (*shape, 1, 1))

    t = np.arange(n) * 0.01
    states = {"q": normal(n, nq), "fixed": normal(1, 12, n), "v": normal(n, nv), "a": normal(n, nv)}
    chosen = {"instructions": str(rng.choice(core().instruction_sets()))}
    moved = {"tree": made["tree"], "links": made["links"], **states}
    gains = {"t": t, "measured": normal(n, 4), "gains": normal(n, 3), "back": normal(n, 3, 3), "smooth": True}
    wrenches = {"twist": normal(n, 6), "acceleration": normal(n, 6), "gravity": np.array([0, 0, -9.81])}
    spread = np.tile(np.eye(10), (n, 1, 1))
    bodies = np.tile([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1], (2, 1))
    middle = np.concatenate([bodies.ravel(), np.zeros(5)])
    return {
        "add_samples": {
            "tree": made["tree"],
            "rows": made["rows"],
            **states,
            "tau": normal(n, nv),
            "effects": normal(1, n),
            "roots": normal(n, nv),
            "gram": gram,
            **chosen,
        },
        "torques": moved | {"tau": zeros(n, nv)} | chosen,
        "derivatives": {
            **moved,
            **{name: zeros(n, nv, nv) for name in ("dq", "dv", "da")},
            "twists": zeros(n, nj, 6, nv),
            **chosen,
        },
        "sines_and_cosines": {"x": normal(n), "sine": zeros(n), "cosine": zeros(n), **chosen},
        "covariances": {
            "t": t,
            "sigma": 0.1,
            "q": 1.0,
            "smooth": True,
            "rate_spread": 1.0,
            "acceleration_spread": 1.0,
            "gains": zeros(n, 3),
            "back": zeros(n, 3, 3),
            "S": zeros(n),
            "P": zeros(n, 3, 3),
        },
        "filter_vector": gains | {"x": normal(3, n, 4), "innovations": zeros(n)},
        "filter_rotation": gains
        | {"measured": rotations(n), "R": rotations(n), "w": zeros(n, 3), "al": zeros(n, 3), "innovations": zeros(n)},
        "track": {
            "dt": 0.01,
            "R_measured": np.eye(3),
            "p_measured": normal(3),
            "sigma": np.ones(2),
            "q": np.ones(2),
            "R": np.eye(3),
            "w": zeros(3),
            "al": zeros(3),
            "x": zeros(3, 3),
            "P": rotations(2),
        },
        "entropic": {
            "grams": spread,
            "pulls": normal(n, 10),
            "solutions": zeros(n, 10),
            "spreads": zeros(n, 10, 10),
            "rules": np.array([50, 5, 20, 0.1, 0.5, 0.9, 0.7, 1e-9, 20.0]),
            "converged": np.zeros(n, dtype=bool),
        },
        "constrained_fits": {
            "S": np.triu(0.1 * normal(24, 24)) + np.eye(24),
            "bodies": 2,
            "bounded": np.array([20, 22]),
            "lower": -np.ones(2),
            "rules": np.array([0.2, 0.1, 0.9, 10, 30, 20]),
            "free": 0.1 * normal(n, 24),
            "first": 1.0,
            "last": 1e-3,
            "z": zeros(n, 24),
            "arrived": np.zeros(n, dtype=bool),
            **chosen,
        },
        "evidence": {
            "theta0": bodies,
            "middle": middle,
            "unit": np.ones(25),
            "start": middle,
            "shared": np.arange(23),
            "local": np.array([[23, 24, *[-1] * 6], [-1] * 8]),
            "group": np.repeat([-1, 0, 1], [20, 3, 2]),
            "tiles": np.array([0, 1, 2, 1]),
            "tile_start": np.array([0, 3, 4]),
            "Gss": np.concatenate([np.eye(24).ravel(), np.eye(8).ravel()]),
            "Gls": np.zeros(8 * 32),
            "Gll": np.tile(np.diag([1.0, 1.0, *[0.0] * 6]), (2, 1, 1)),
            "bs": normal(32),
            "bl": zeros(2, 8),
            "energy": np.full(2, 100.0),
            "free": np.eye(23)[:, 1:] if n % 2 else None,
            "hyper": np.tile([0.0, 1.0], (2, 1)),
            "samples": np.full(2, 50.0),
            "floor": np.full(2, 1e-6),
            "share": 1.0,
            "rules": np.array([2.0, 2.0, 4.0, 0.02, 1.5, 1e-10, 0.3, 1e-13, 1e-9, 0.3, 20.0, 20.0]),
            "beginnings": np.tile(np.concatenate([zeros(2), zeros(2), zeros(2), middle]), (2, 1)),
            "prior": zeros(2, 10, 10),
            "C": zeros(23, 23),
            "gain": zeros(2, 8, 23),
            "inverse": zeros(2, 8, 8),
            "slope": zeros(23),
            "curvature": zeros(4, 4),
            "evidence": zeros(1),
            **chosen,
        },
        "advance": {
            "t": t,
            "R": rotations(n),
            "wrench": normal(n, 6),
            **wrenches,
            "basis": np.eye(10),
            "Q": np.eye(10),
            "wide": np.eye(10),
            "config": np.ones(FADE + 1 + len(RULES)),
            "state": np.ones(STATE_SIZE),
            "G": np.eye(10),
            "h": normal(10),
            "w": np.ones(10),
            "H": np.eye(10),
            "L": np.eye(10),
            "shift": zeros(10),
            "bias": zeros(BIAS_SIZE),
            "past": zeros(PAST_SIZE),
            "thetas": zeros(n, 10),
            "events": zeros(n, 4),
        },
        "without_tool": {"R": rotations(n), "wrench": normal(n, 6), **wrenches, "theta": normal(10), "bias": normal(6)},
    }
