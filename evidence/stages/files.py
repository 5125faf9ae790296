"""Stages on files: the linter, and writing a changed robot in both formats, read back by us and by MuJoCo."""

from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np
from lxml import etree

import steelyard as sy
from evidence.stages.models import possible
from evidence.stages.outcome import FAIL, GIVEN, PASS, REFUSED, Outcome
from robots import random_state
from steelyard.errors import SteelyardError

BOUND = 1e-9


def check(path: Path) -> Outcome:
    """`check` comes to an end; what it finds is a figure, not a failure."""
    found = sy.check.run(path)
    return Outcome(PASS, {"check": str(len(found))})


def urdf(path: Path) -> Outcome:
    return _written(path, ".urdf")


def mjcf(path: Path) -> Outcome:
    return _written(path, ".xml")


def _written(path: Path, suffix: str) -> Outcome:
    """A robot with other inertias, saved, read back, and compiled by MuJoCo."""
    robot = possible(sy.load(path))
    robot = robot.with_inertias(1.1 * robot.inertias)
    column = suffix[1:].replace("xml", "mjcf")
    with TemporaryDirectory() as folder:
        target = Path(folder) / f"written{suffix}"
        sy.save(robot, target)
        again = sy.load(target, gravity=robot.gravity)
        lost = {joint.name for joint in robot.joints if joint.nv} - {joint.name for joint in again.joints}
        if lost:
            return Outcome(FAIL, {column: "joints"}, f"reads back without the joints {', '.join(sorted(lost))}")
        worst = _torque_difference(robot, again)
        if worst > BOUND:
            return Outcome(FAIL, {column: f"{worst:.0e}"}, f"{suffix} reads back with a difference of {worst:.2g}")
        try:
            masses = _mujoco_masses(target)
        except (ValueError, SyntaxError) as error:
            first = str(error).strip().splitlines()[0]
            status = GIVEN if path.suffix == suffix and not _accepted(path) else FAIL
            return Outcome(status, {column: f"{worst:.0e}, not MuJoCo"}, f"MuJoCo refuses the {suffix} file: {first}")
    moved = sum(float(theta[0]) for theta in robot.inertias)
    if masses < moved * (1 - BOUND):
        return Outcome(FAIL, {column: "mass"}, f"MuJoCo reads {masses:.6g} kg from {suffix}; {moved:.6g} kg move")
    return Outcome(PASS, {column: f"{worst:.0e}"})


def _torque_difference(robot: sy.Robot, again: sy.Robot) -> float:
    """Largest relative difference of torques, which frames of links do not touch.

    Armature is left out: URDF has no place for it.
    """
    robot, again = (each.with_joint_properties(armature=np.zeros(each.nv)) for each in (robot, again))
    state = random_state(robot, np.random.default_rng(3), (5,))
    moved = tuple(np.zeros((5, size)) for size in (again.nq, again.nv, again.nv))
    places = {joint.name: index for index, joint in enumerate(again.joints)}
    back = np.zeros((again.nv, robot.nv))
    for k, joint in enumerate(robot.joints):
        other = again.joints[places[joint.name]]
        if other.mimics is not None:
            continue  # moves, and is felt, with its master
        at_q, at_v = again.q_slices[places[joint.name]], again.v_slices[places[joint.name]]
        own_q, own_v = robot.q_slices[k], robot.v_slices[k]
        moved[0][:, at_q] = state[0][:, own_q]
        for mine, theirs in zip(state[1:], moved[1:], strict=True):
            theirs[:, at_v] = mine[:, own_v]
        back[at_v, own_v] = np.eye(joint.nv)
    before, after = sy.inverse_dynamics(robot, *state), sy.inverse_dynamics(again, *moved) @ back
    return float(np.abs(after - before).max() / max(np.abs(before).max(), 1e-300))


def _accepted(path: Path) -> bool:
    """Whether MuJoCo takes a file as it was given to us."""
    try:
        _mujoco_masses(path)
    except (ValueError, SyntaxError):
        return False
    return True


def _mujoco_masses(path: Path) -> float:
    """Total mass that MuJoCo reads, without the shapes of a URDF, whose packages it cannot find."""
    if path.suffix == ".xml":
        return float(np.sum(mujoco.MjModel.from_xml_path(str(path)).body_mass))
    root = etree.parse(str(path)).getroot()
    for element in root.xpath(".//visual | .//collision | .//transmission | .//gazebo"):
        element.getparent().remove(element)
    # MuJoCo wants a mass in every body that moves; dummy links of compound joints have none
    compiler = {"fusestatic": "false", "boundmass": "1e-12", "boundinertia": "1e-15"}
    etree.SubElement(etree.SubElement(root, "mujoco"), "compiler", **compiler)
    return float(np.sum(mujoco.MjModel.from_xml_string(etree.tostring(root, encoding="unicode")).body_mass))


def refusal(error: SteelyardError) -> Outcome:
    """A message of ours, without the folder of the file."""
    words = str(error).split()
    return Outcome(REFUSED, reason=" ".join(word.rsplit("/", 1)[-1] if word.count("/") > 2 else word for word in words))
