"""Regressors of other packages, each a function that computes one sample, or the reason why it is not there.

Packages: `pip install 'steelyard[peers]'`. None is needed by Steelyard.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np

FLOATING_ROOT = "steelyard_world"


def pinocchio(path: Path, floating: bool, rng) -> Callable[[], np.ndarray]:
    """`computeJointTorqueRegressor` at one random state."""
    import pinocchio as pin

    free = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(path), *free)
    data = model.createData()
    state = [pin.neutral(model), *rng.normal(size=(2, model.nv))]
    return lambda: pin.computeJointTorqueRegressor(model, data, *state)


def mujoco_sysid(path: Path, floating: bool, rng) -> Callable[[], np.ndarray]:
    """`mujoco_sysid.regressors.joint_torque_regressor`, after the inverse dynamics that it needs."""
    import mujoco
    from mujoco_sysid.regressors import joint_torque_regressor

    model = mujoco.MjModel.from_xml_string(_bare_urdf(path, floating))
    data = mujoco.MjData(model)
    data.qvel[:], data.qacc[:] = rng.normal(size=(2, model.nv))

    def sample():
        mujoco.mj_inverse(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        return joint_torque_regressor(model, data)

    return sample


def idyntree(path: Path, floating: bool, rng) -> Callable[[], np.ndarray]:
    """`KinDynComputations.inverseDynamicsInertialParametersRegressor`, whose base always floats."""
    import idyntree.bindings as binding

    loader = binding.ModelLoader()
    loader.loadModelFromFile(str(path))
    computations = binding.KinDynComputations()
    computations.loadRobotModel(loader.model())
    joints = loader.model().getNrOfDOFs()
    q, v, a = rng.normal(size=(3, joints))
    pose, base, gravity = np.eye(4), np.zeros(6), np.array([0, 0, -9.81])
    regressor = binding.MatrixDynSize(6 + joints, 10 * loader.model().getNrOfLinks())
    base_acceleration, acceleration = binding.Vector6(), binding.VectorDynSize(joints)
    for i, value in enumerate(a):
        acceleration.setVal(i, float(value))

    def sample():
        computations.setRobotState(pose, q, base, v, gravity)
        computations.inverseDynamicsInertialParametersRegressor(base_acceleration, acceleration, regressor)
        return regressor.toNumPy()

    return sample


MODULES = {
    "Pinocchio": ("pinocchio", pinocchio),
    "mujoco-sysid": ("mujoco_sysid", mujoco_sysid),
    "iDynTree": ("idyntree", idyntree),
}


def found(path: Path, floating: bool) -> tuple[dict[str, Callable], dict[str, str]]:
    """Functions of the installed peers, and why the others are missing."""
    present, missing = {}, {}
    for name, (module, make) in MODULES.items():
        if importlib.util.find_spec(module) is None:
            missing[name] = "not installed"
        else:
            present[name] = make(path, floating, np.random.default_rng(1))
    return present, missing


def _bare_urdf(path: Path, floating: bool) -> str:
    """The URDF without shapes, as MuJoCo reads it, its links kept apart, below a free joint where wanted."""
    from lxml import etree

    root = etree.parse(str(path), etree.XMLParser(remove_comments=True)).getroot()
    for tag in ("visual", "collision", "transmission", "gazebo"):
        for element in root.xpath(f".//{tag}"):
            element.getparent().remove(element)
    children = {joint.find("child").get("link") for joint in root.findall("joint")}
    top = next(link.get("name") for link in root.findall("link") if link.get("name") not in children)
    if floating:
        etree.SubElement(root, "link", name=FLOATING_ROOT)
        joint = etree.SubElement(root, "joint", name="floating_base", type="floating")
        etree.SubElement(joint, "parent", link=FLOATING_ROOT)
        etree.SubElement(joint, "child", link=top)
    settings = {"fusestatic": "true", "boundmass": "1e-4", "boundinertia": "1e-6", "balanceinertia": "true"}
    etree.SubElement(etree.SubElement(root, "mujoco"), "compiler", **settings)
    return etree.tostring(root, encoding="unicode")
