"""A model file for a robot known by its Denavit-Hartenberg rows only: kinematics from the rows, inertias from a guess.

    python examples/02_models_from_dh.py                                  # a built-in table, written and read back
    python examples/02_models_from_dh.py MODELS_JSON ROBOT -o robot.urdf  # one robot of a file of tables

MODELS_JSON maps robot names to `{"conv": "MDH ..." | "standard DH ...", "rows": [[alpha, a, d, theta_offset], ...]}` in
SI units; theta_offset is optional, and so is `types` such as "RRPR". "base Rx(pi)" in `conv` turns the table's first
frame upside down, for tables whose z axis points to the floor.

The inertias are a guess, meant as a weak prior for identification and nothing else: masses fall evenly from 8 kg at the
base to 1 kg at the tip, and each is spread along its link's line, round it by a quarter of its length. Every link is
a body that can exist. Joints are `joint1...n`, links `link1...n` on a link `base`; revolute joints have no limits.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path

import numpy as np

from steelyard.model import load

HEAVIEST, LIGHTEST = 8.0, 1.0  # kg, a guess for a mid-sized arm
LAST_LENGTH = 0.1  # m, what is assumed to lie beyond the last axis
SLENDERNESS, LEAST_RADIUS = 0.25, 0.06  # spread round the link's line, as a fraction of its length and in m
ROOM = 10.0  # m, travel of prismatic joints

PUMA_560 = [  # Armstrong, Khatib, Burdick 1986
    [0, 0, 0],
    [-math.pi / 2, 0, 0.2435],
    [0, 0.4318, -0.0934],
    [math.pi / 2, -0.0203, 0.4331],
    [-math.pi / 2, 0, 0],
    [math.pi / 2, 0, 0],
]


def screw_x(angle, length):
    """Pose (4, 4): rotation about x and translation along x."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def screw_z(angle, length):
    """Pose (4, 4): rotation about z and translation along z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, length], [0, 0, 0, 1.0]])


def joint_frames(rows, convention):
    """Poses of frames on the joint axes, each in the one before and at zero, and of the last DH frame in the last.

    A modified row is Rx(alpha) Tx(a) Rz(theta) Tz(d): the axis comes last and frames are DH frames. A standard row is
    Rz(theta) Tz(d) Tx(a) Rx(alpha): the axis comes first, so what follows it belongs to the next joint's frame.
    """
    frames, rest = [], np.eye(4)
    for alpha, a, d, *offset in rows:
        theta = offset[0] if offset else 0.0
        if convention == "modified":
            frames.append(screw_x(alpha, a) @ screw_z(theta, d))
        else:
            frames.append(rest @ screw_z(theta, 0.0))
            rest = screw_z(0.0, d) @ screw_x(alpha, a)
    return frames, rest


def nominal_inertial(mass, line):
    """Centre of mass and inertia about it of a guessed link that reaches from its frame along `line` (3,)."""
    radius = max(SLENDERNESS * np.linalg.norm(line), LEAST_RADIUS)
    spread = mass * (np.outer(line, line) / 12 + radius**2 / 4 * np.eye(3))  # second moments: a rod, thickened
    return line / 2, np.trace(spread) * np.eye(3) - spread


def urdf_from_dh(name, rows, *, convention="modified", types=None, base_from_dh=None):
    """URDF text of a serial arm.

    rows: (alpha, a, d[, theta_offset]) per joint; convention: "modified" (Craig) or "standard". types: "R" and "P" per
    joint, all revolute when None. base_from_dh: (4, 4) pose of the table's first frame in the base link. A fixed link
    `flange` marks the last frame of a standard table.
    """
    if convention not in ("modified", "standard"):
        raise SystemExit(f"Convention '{convention}' is not known; expected modified or standard.")
    types = types or "R" * len(rows)
    frames, flange = joint_frames(rows, convention)
    if base_from_dh is not None:
        frames[0] = base_from_dh @ frames[0]
    lines = [frame[:3, 3] for frame in frames[1:]]
    last = flange[:3, 3]
    lines.append(last if np.linalg.norm(last) > LEAST_RADIUS else np.array([0.0, 0.0, LAST_LENGTH]))
    masses = np.linspace(HEAVIEST, LIGHTEST, len(rows)).round(3)
    parts = ['  <link name="base"/>']
    for number, (kind, frame, mass, line) in enumerate(zip(types, frames, masses, lines, strict=True), start=1):
        parts += [_link(f"link{number}", mass, line), _joint(number, kind, frame)]
    if convention == "standard":
        parts.append('  <link name="flange"/>')
        parts.append(_fixed("flange_joint", f"link{len(rows)}", "flange", flange))
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n' + "\n".join(parts) + "\n</robot>\n"


def _link(name, mass, line):
    com, I = nominal_inertial(mass, line)
    return f"""  <link name="{name}">
    <inertial>
      <origin xyz="{_numbers(com)}" rpy="0 0 0"/>
      <mass value="{_numbers([mass])}"/>
      <inertia {" ".join(f'i{"xyz"[i]}{"xyz"[j]}="{_numbers([I[i, j]])}"' for i in range(3) for j in range(i, 3))}/>
    </inertial>
  </link>"""


def _joint(number, kind, frame):
    parent = "base" if number == 1 else f"link{number - 1}"
    limit = f'\n    <limit lower="-{ROOM}" upper="{ROOM}" effort="1e6" velocity="1e3"/>' if kind == "P" else ""
    return f"""  <joint name="joint{number}" type="{"prismatic" if kind == "P" else "continuous"}">
    <parent link="{parent}"/>
    <child link="link{number}"/>
    {_origin(frame)}
    <axis xyz="0 0 1"/>{limit}
  </joint>"""


def _fixed(name, parent, child, frame):
    return f"""  <joint name="{name}" type="fixed">
    <parent link="{parent}"/>
    <child link="{child}"/>
    {_origin(frame)}
  </joint>"""


def _origin(frame):
    R = frame[:3, :3]
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) > 1e-9:
        roll, yaw = math.atan2(R[2, 1], R[2, 2]), math.atan2(R[1, 0], R[0, 0])
    else:  # pointing straight up or down, roll and yaw turn about one axis: leave all of it to roll
        roll, yaw = math.atan2(-R[1, 2], R[1, 1]), 0.0
    return f'<origin xyz="{_numbers(frame[:3, 3])}" rpy="{_numbers([roll, pitch, yaw])}"/>'


def _numbers(values):
    """Shortest text that reads back to the same numbers, without the noise of sines and cosines."""
    return " ".join(repr(float(round(value, 16)) + 0.0) for value in values)


def urdf_from_table(path, robot):
    """URDF text of one robot of a JSON file of tables (see the top of this file)."""
    tables = {name: table for name, table in json.loads(Path(path).read_text()).items() if "conv" in table}
    if robot not in tables:
        raise SystemExit(f"{path} has no robot '{robot}'. Its robots: {', '.join(tables)}.")
    table = tables[robot]
    conventions = {"MDH": "modified", "standard DH": "standard"}
    known = [value for start, value in conventions.items() if table["conv"].startswith(start)]
    x, y, z = table.get("gravity", [0, 0, -9.81])
    if not known or x or y or z >= 0:
        raise SystemExit(f"{path}: '{robot}' must have conv 'MDH' or 'standard DH' and gravity along -z.")
    base = screw_x(math.pi, 0.0) if "base Rx(pi)" in table["conv"] else None
    return urdf_from_dh(robot, table["rows"], convention=known[0], types=table.get("types"), base_from_dh=base)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models_json", nargs="?", help="file of tables; without it a built-in PUMA 560 table is used")
    parser.add_argument("robot", nargs="?", help="name of the robot in the file")
    parser.add_argument("-o", "--output", help="URDF file to write; a temporary file when left out")
    given = parser.parse_args()
    if given.models_json and not given.robot:
        parser.error("name the robot to take from the file")
    text = urdf_from_table(given.models_json, given.robot) if given.models_json else urdf_from_dh("puma560", PUMA_560)
    output = Path(given.output) if given.output else Path(tempfile.mkdtemp()) / f"{given.robot or 'puma560'}.urdf"
    output.write_text(text)
    robot = load(output)
    print(f"{output}: {robot}")
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        print(f"  {name}: {theta[0]:.1f} kg, centre of mass {np.round(theta[1:4] / theta[0], 3).tolist()} m (guessed)")


if __name__ == "__main__":
    main()
