"""Robot models of the test packages, and random states of a robot."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

EXAMPLE_ROBOTS = Path(sys.prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
EXAMPLE_ROBOTS = EXAMPLE_ROBOTS / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
URDFS = sorted(EXAMPLE_ROBOTS.rglob("*.urdf"))
SHARED_DATA = Path(__file__).parents[2].parent / "shared" / "data"


def urdf(stem: str) -> Path:
    """Path of one example URDF by file stem (the first when several folders have it)."""
    return next(path for path in URDFS if path.stem == stem)


def package_folder(name: str) -> Path:
    """Folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is a test dependency"
    return Path(spec.submodule_search_locations[0])


def random_state(robot, rng, batch=()):
    """Random q (unit quaternions), v, a of a robot."""
    q = rng.normal(size=(*batch, robot.nq))
    for joint, where in zip(robot.joints, robot.q_slices, strict=True):
        if joint.kind in ("spherical", "free"):
            count = int(np.prod(batch))
            q[..., where.stop - 4 : where.stop] = Rotation.random(count, rng=rng).as_quat().reshape(*batch, 4)
    return q, rng.normal(size=(*batch, robot.nv)), rng.normal(size=(*batch, robot.nv))
