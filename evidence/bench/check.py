"""How long the linter takes: a URDF of 1,000 links without meshes."""

import statistics
import tempfile
from pathlib import Path

from evidence.bench.timing import seconds

LINKS = 1000
REPEATS = 5
LINK = """  <link name="link{i}">
    <inertial>
      <origin xyz="0 0 0.05"/>
      <mass value="{mass}"/>
      <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/>
    </inertial>
    <collision><origin xyz="0 0 0.05"/><geometry><box size="0.1 0.1 0.16"/></geometry></collision>
  </link>
"""
JOINT = """  <joint name="joint{i}" type="revolute">
    <origin xyz="0 0 0.1"/>
    <parent link="link{parent}"/>
    <child link="link{i}"/>
    <axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/>
  </joint>
"""


def model(links: int = LINKS) -> str:
    """Text of a URDF: a binary tree of boxes."""
    masses = [0.5 + i / links for i in range(links)]
    tensors = [{"ixx": 0.0030 * mass, "iyy": 0.0028 * mass, "izz": 0.0016 * mass} for mass in masses]
    bodies = [LINK.format(i=i, mass=masses[i], **tensors[i]) for i in range(links)]
    joints = [JOINT.format(i=i, parent=(i - 1) // 2) for i in range(1, links)]
    return '<robot name="large">\n' + "".join(bodies + joints) + "</robot>\n"


def run() -> dict:
    """Median seconds of a check of 1,000 links, file reading included, and the number of findings."""
    from steelyard import check

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.urdf"
        path.write_text(model())
        median = statistics.median(seconds(lambda: check.run(path)) for _ in range(REPEATS))
        return {"links": LINKS, "seconds": median, "findings": len(check.run(path)), "limit_seconds": 2.0}
