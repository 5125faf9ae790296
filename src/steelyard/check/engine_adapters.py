"""Physics engines, each asked in its own words what it read of a model; run as a program in a process of its own.

It imports nothing of Steelyard, so that another Python, which has other engines, can run it as well:
`python engine_adapters.py ENGINE TASK.json RESULT.json`.

A task: model (path), gravity (3,), joints (names) and states: q, v, a (n, joints), displacements from the pose of the
file. A result: version; poses: part -> rotation (9) and position (3) in the world, joints undisplaced; bodies: part ->
mass, com (3,), inertia (9) about the centre of mass, in the frame of the part; torques: joint -> (n,), where the engine
has inverse dynamics of the tree; notes.
"""

import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ENVIRONMENT = "STEELYARD_ENGINES"
"""Variable that names another Python, whose engines are asked where the one of Steelyard has none."""
ABSENT = 3  # exit status where the engine is not installed


def mujoco(task: dict) -> dict:
    mj: Any = import_module("mujoco")
    m = mj.MjModel.from_xml_path(task["model"])
    m.opt.gravity[:] = task["gravity"]
    flags = mj.mjtDisableBit.__members__
    for name in ("mjDSBL_CONSTRAINT", "mjDSBL_PASSIVE", "mjDSBL_SPRING", "mjDSBL_DAMPER"):  # the second until 3.3
        m.opt.disableflags |= int(flags.get(name, 0))
    data = mj.MjData(m)
    mj.mj_forward(m, data)
    names = [m.body(k).name or f"body{k}" for k in range(m.nbody)]
    poses, bodies = {}, {}
    for k in range(1, m.nbody):
        poses[names[k]] = _pose(data.xmat[k], data.xpos[k])
        axes = np.zeros(9)
        mj.mju_quat2Mat(axes, m.body_iquat[k])
        R = axes.reshape(3, 3)
        bodies[names[k]] = _body(m.body_mass[k], m.body_ipos[k], R @ np.diag(m.body_inertia[k]) @ R.T)
    single = {}
    for k in (k for k in range(m.njnt) if m.jnt_type[k] in (2, 3)):
        body = m.jnt_bodyid[k]
        single[m.joint(k).name or f"{names[body]}_joint{k - m.body_jntadr[body]}"] = k

    def torque(q, v, a):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mj.mj_inverse(m, data)
        return data.qfrc_inverse

    places = {name: (m.jnt_qposadr[k], m.jnt_dofadr[k]) for name, k in single.items()}
    torques = _torques(task, places, m.qpos0, m.nv, torque)
    return {"version": version("mujoco"), "poses": poses, "bodies": bodies, "torques": torques}


def pinocchio(task: dict) -> dict:
    pin: Any = import_module("pinocchio")
    read = pin.buildModelFromMJCF if task["model"].endswith(".xml") else pin.buildModelFromUrdf
    model = read(task["model"])
    model.gravity.linear = np.array(task["gravity"])
    data = model.createData()
    neutral = pin.neutral(model)
    pin.forwardKinematics(model, data, neutral)
    poses, bodies = {}, {}
    owned = set()
    for frame in model.frames:
        if frame.type != pin.FrameType.BODY:
            continue
        joint = frame.parentJoint
        placed = data.oMi[joint] * frame.placement
        poses[frame.name] = _pose(placed.rotation, placed.translation)
        if joint not in owned:  # the joint carries the sum of its links
            owned.add(joint)
            inertia = frame.placement.actInv(model.inertias[joint])
            bodies[frame.name] = _body(inertia.mass, inertia.lever, inertia.inertia)
        else:
            bodies[frame.name] = _body(0.0, np.zeros(3), np.zeros((3, 3)))
    own = [name for name in task["joints"] if model.existJointName(name)]
    places = {name: (model.joints[model.getJointId(name)].idx_v,) * 2 for name in own}
    torques = _torques(
        task,
        places,
        np.zeros(model.nv),
        model.nv,
        lambda q, v, a: pin.rnea(model, data, pin.integrate(model, neutral, q), v, a),
    )
    return {"version": pin.__version__, "poses": poses, "bodies": bodies, "torques": torques}


def drake(task: dict) -> dict:
    from_plant: Any = import_module("pydrake.multibody.plant")
    parsing: Any = import_module("pydrake.multibody.parsing")
    plant = from_plant.MultibodyPlant(0.0)
    (instance, *_) = parsing.Parser(plant).AddModels(task["model"])
    plant.mutable_gravity_field().set_gravity_vector(task["gravity"])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    home = np.zeros(plant.num_positions())
    for index in plant.GetFloatingBaseBodies():
        home[plant.get_body(index).floating_positions_start()] = 1.0
    plant.SetPositions(context, home)
    poses, bodies = {}, {}
    for index in plant.GetBodyIndices(instance):
        body = plant.get_body(index)
        X = plant.EvalBodyPoseInWorld(context, body)
        poses[body.name()] = _pose(X.rotation().matrix(), X.translation())
        M = body.CalcSpatialInertiaInBodyFrame(context)
        com = M.get_com()
        about = M.CalcRotationalInertia().ShiftToCenterOfMass(M.get_mass(), com)
        bodies[body.name()] = _body(M.get_mass(), com, about.CopyToFullMatrix3())
    forces_of: Any = import_module("pydrake.multibody.tree").MultibodyForces

    def torque(q, v, a):
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        forces = forces_of(plant)
        forces.mutable_generalized_forces()[:] = plant.CalcGravityGeneralizedForces(context)
        return plant.CalcInverseDynamics(context, a, forces)

    joints = [each for each in map(plant.get_joint, plant.GetJointIndices(instance)) if each.name() in task["joints"]]
    places = {each.name(): (each.position_start(), each.velocity_start()) for each in joints}
    torques = _torques(task, places, home, plant.num_velocities(), torque)
    return {"version": version("drake"), "poses": poses, "bodies": bodies, "torques": torques}


def pybullet(task: dict) -> dict:
    p: Any = import_module("pybullet")
    p.connect(p.DIRECT)
    flags = p.URDF_USE_INERTIA_FROM_FILE if task["options"].get("inertia_from_file", True) else 0
    flags |= p.URDF_MERGE_FIXED_LINKS if task["options"].get("merge_fixed_links") else 0
    robot = p.loadURDF(task["model"], useFixedBase=True, flags=flags)
    p.setGravity(*task["gravity"])
    count = p.getNumJoints(robot)
    kinds = [p.getJointInfo(robot, k)[2] for k in range(count)]
    for k in range(count):
        p.resetJointState(robot, k, 0.0)
    poses, bodies = {}, {}
    for k in range(-1, count):
        mass, _, moments, at, turned = [p.getDynamicsInfo(robot, k)[i] for i in (0, 1, 2, 3, 4)]
        R = np.reshape(p.getMatrixFromQuaternion(turned), (3, 3))
        if k < 0:
            name = p.getBodyInfo(robot)[0].decode()
            where, axes = p.getBasePositionAndOrientation(robot)
            A = np.reshape(p.getMatrixFromQuaternion(axes), (3, 3)) @ R.T
            poses[name] = _pose(A, np.array(where) - A @ np.array(at))
            mass = p.getDynamicsInfo(robot, k)[0]
        else:
            name = p.getJointInfo(robot, k)[12].decode()
            state = p.getLinkState(robot, k, computeForwardKinematics=True)
            poses[name] = _pose(p.getMatrixFromQuaternion(state[5]), state[4])
        bodies[name] = _body(mass, at, R @ np.diag(moments) @ R.T)
    if count:
        bodies.pop(p.getBodyInfo(robot)[0].decode())  # a base that is held has no mass to it
    moving = [k for k in range(count) if kinds[k] in (p.JOINT_REVOLUTE, p.JOINT_PRISMATIC)]
    places = {p.getJointInfo(robot, k)[1].decode(): (i, i) for i, k in enumerate(moving)}
    torques: dict[str, list] = {}
    if all(kind in (p.JOINT_REVOLUTE, p.JOINT_PRISMATIC, p.JOINT_FIXED) for kind in kinds):
        home = np.zeros(len(moving))
        torques = _torques(
            task,
            places,
            home,
            len(moving),
            lambda *state: p.calculateInverseDynamics(robot, *(each.tolist() for each in state)),
        )
    return {"version": version("pybullet"), "poses": poses, "bodies": bodies, "torques": torques}


def idyntree(task: dict) -> dict:
    i: Any = import_module("idyntree.bindings")
    loader = i.ModelLoader()
    if not loader.loadModelFromFile(task["model"]):
        raise ValueError("it could not load the file")
    model = loader.model()
    dynamics = i.KinDynComputations()
    dynamics.loadRobotModel(model)
    n = model.getNrOfDOFs()
    at_rest = i.Twist.Zero()

    def filled(vector, values):
        for k, value in enumerate(values):
            vector.setVal(k, float(value))
        return vector

    def put(q, v):
        s, ds = (filled(i.VectorDynSize(n), each) for each in (q, v))
        dynamics.setRobotState(i.Transform.Identity(), s, at_rest, ds, filled(i.Vector3(), task["gravity"]))

    put(*np.zeros((2, n)))
    poses, bodies = {}, {}
    for k in range(model.getNrOfLinks()):
        name, inertia = model.getLinkName(k), model.getLink(k).getInertia()
        X = dynamics.getWorldTransform(name)
        poses[name] = _pose(X.getRotation().toNumPy(), X.getPosition().toNumPy())
        about = inertia.getRotationalInertiaWrtCenterOfMass().toNumPy()
        bodies[name] = _body(inertia.getMass(), inertia.getCenterOfMass().toNumPy(), about)
    wrenches = i.LinkWrenches(model)

    def torque(q, v, a):
        put(q, v)
        tau = i.FreeFloatingGeneralizedTorques(model)
        dynamics.inverseDynamics(filled(i.Vector6(), np.zeros(6)), filled(i.VectorDynSize(n), a), wrenches, tau)
        return tau.jointTorques().toNumPy()

    own = [name for name in task["joints"] if model.getJointIndex(name) >= 0]
    places = {name: (model.getJoint(model.getJointIndex(name)).getDOFsOffset(),) * 2 for name in own}
    torques = _torques(task, places, np.zeros(n), n, torque)
    return {"version": version("idyntree"), "poses": poses, "bodies": bodies, "torques": torques}


def dartpy(task: dict) -> dict:
    d: Any = import_module("dartpy")
    loader = getattr(d, "io", d.utils).DartLoader()
    options = getattr(d, "io", d.utils).DartLoaderOptions()
    options.mDefaultRootJointType = getattr(d, "io", d.utils).DartLoaderRootJointType.FIXED
    loader.setOptions(options)
    robot = loader.parseSkeleton(task["model"])
    if robot is None:
        raise ValueError("it could not load the file")
    robot.setGravity(task["gravity"])
    robot.setPositions(np.zeros(robot.getNumDofs()))
    poses, bodies = {}, {}
    for k in range(robot.getNumBodyNodes()):
        body = robot.getBodyNode(k)
        X = body.getWorldTransform()
        poses[body.getName()] = _pose(X.rotation(), X.translation())
        inertia = body.getInertia()
        bodies[body.getName()] = _body(inertia.getMass(), inertia.getLocalCOM(), inertia.getMoment())

    def torque(q, v, a):
        robot.setPositions(q)
        robot.setVelocities(v)
        return robot.getMassMatrix() @ a + robot.getCoriolisAndGravityForces()

    n, joints = robot.getNumDofs(), [robot.getJoint(k) for k in range(robot.getNumJoints())]
    places = {each.getName(): (each.getIndexInSkeleton(0),) * 2 for each in joints if each.getNumDofs() == 1}
    torques = _torques(task, places, np.zeros(n), n, torque)
    return {"version": d.__version__, "poses": poses, "bodies": bodies, "torques": torques}


def newton(task: dict) -> dict:
    nt: Any = import_module("newton")
    wp: Any = import_module("warp")
    builder = nt.ModelBuilder()
    add = {".urdf": builder.add_urdf, ".xml": builder.add_mjcf}.get(Path(task["model"]).suffix, builder.add_usd)
    add(task["model"], **task["options"])
    builder.gravity = task["gravity"]
    model = builder.finalize(device="cpu")
    state, home = model.state(), model.joint_q.numpy().copy()

    def put(q, v):
        state.joint_q.assign(q.astype(np.float32))
        state.joint_qd.assign(v.astype(np.float32))
        nt.eval_fk(model, state.joint_q, state.joint_qd, state)

    labels = [name.rpartition("/")[2] for name in getattr(model, "joint_label", None) or model.joint_key]
    starts_q, starts_v = model.joint_q_start.numpy(), model.joint_qd_start.numpy()
    known = {re.sub(r"\W", "_", label): k for k, label in enumerate(labels)}  # USD has identifiers for names
    known = {name: known.get(re.sub(r"\W", "_", name), -1) for name in task["joints"]}
    places = {
        name: (starts_q[k], starts_v[k]) for name, k in known.items() if k >= 0 and starts_v[k + 1] - starts_v[k] == 1
    }
    for where, _ in places.values():
        home[where] = 0.0
    put(home, np.zeros(model.joint_dof_count))
    at, mass = state.body_q.numpy(), model.body_mass.numpy()
    com, inertia = model.body_com.numpy(), model.body_inertia.numpy()
    poses, bodies = {}, {}
    for k, label in enumerate(getattr(model, "body_label", None) or model.body_key):
        name = label.rpartition("/")[2]
        poses[name] = _pose(wp.quat_to_matrix(wp.quat(*map(float, at[k, 3:]))), at[k, :3])
        bodies[name] = _body(mass[k], com[k], inertia[k])
    torques: dict[str, list] = {}
    if hasattr(nt, "eval_inverse_dynamics_passive") and model.articulation_count == 1:
        n = model.joint_dof_count
        M, bias, weight = (wp.zeros(shape, dtype=wp.float32, device="cpu") for shape in ((1, n, n), n, n))

        def torque(q, v, a):
            put(q, v)
            nt.eval_inverse_dynamics_passive(model, state, mass_matrix=M, gravity_force=weight, coriolis_force=bias)
            return M.numpy()[0] @ a + bias.numpy() + weight.numpy()

        torques = _torques(task, places, home, n, torque)
    return {"version": version("newton"), "poses": poses, "bodies": bodies, "torques": torques}


ENGINES = {each.__name__: each for each in (mujoco, pinocchio, drake, pybullet, idyntree, dartpy, newton)}

MODULES = {"drake": "pydrake"}  # names of engines' modules, where they are others


def _torques(task: dict, places: dict, home, size: int, torque: Callable) -> dict[str, list]:
    """Of known joints at all states. places: by name, where they are in positions and in velocities (size,); home:
    positions of the pose of the file; torque: inverse dynamics of positions, velocities and accelerations."""
    known = [(k, *places[name]) for k, name in enumerate(task["joints"]) if name in places]
    found: dict[str, list] = {task["joints"][k]: [] for k, *_ in known}
    for q, v, a in zip(*(np.asarray(task[key], dtype=float) for key in "qva"), strict=True):
        at, (speed, acceleration) = np.array(home, dtype=float), np.zeros((2, size))
        for k, i, j in known:
            at[i] += q[k]
            speed[j], acceleration[j] = v[k], a[k]
        tau = torque(at, speed, acceleration)
        for k, _, j in known:
            found[task["joints"][k]].append(tau[j])
    return found


def _pose(rotation, position) -> dict:
    return {"rotation": np.ravel(rotation).tolist(), "position": np.ravel(position).tolist()}


def _body(mass, com, inertia) -> dict:
    return {"mass": float(mass), "com": np.ravel(com).tolist(), "inertia": np.ravel(inertia).tolist()}


if __name__ == "__main__":
    name, task, result = sys.argv[1:]
    try:
        import_module(MODULES.get(name, name))
    except ModuleNotFoundError:
        sys.exit(ABSENT)
    found = ENGINES[name](json.loads(Path(task).read_text("utf-8")))
    Path(result).write_text(json.dumps(found, default=float), "utf-8")
