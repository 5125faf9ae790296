"""A robot and its drives in MuJoCo: what they do when they are told the commands of a log.

The simulation is the one that users will run: position actuators, joint damping, friction loss, armature. Contacts are
off for robots that stand; those on a free base walk on the ground of their file. Commands reach the drives late and
with a limited slope before MuJoCo sees them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.ground import Ground, with_ground
from steelyard.drives.under_load import Driven, Stepped
from steelyard.drives.windows import Recorded
from steelyard.errors import ModelError, choices
from steelyard.inertia import to_com_inertia
from steelyard.model import Robot, from_mujoco, mjcf_text
from steelyard.model.changes import OPEN
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.mjcf_drives import IMPEDANCE
from steelyard.model.mjcf_write import principal_moments
from steelyard.model.mujoco_state import to_mujoco
from steelyard.model.robot import ContactParameters
from steelyard.native import threads
from steelyard.numbers import SAME

FINEST, COARSEST, STEPS_A_SAMPLE = 2e-3, 5e-3, 2  # s, s, of the simulation
NEAR_GROUND, TOUCHING = 0.2, 5e-3  # m
GIVE = 0.05  # of the range of a joint, by which its stops may yield
ROOM = 2**27  # numbers of all states that one call may return: a gigabyte
CALL = 2**18  # steps times joints of one call of MuJoCo, a fraction of a second: signals are heard between calls


def step_for(rate: float) -> float:
    """Step, s, of the simulation of a log with samples at a rate, Hz."""
    return float(np.clip(1 / (STEPS_A_SAMPLE * rate), FINEST, COARSEST))


def unbounded(robot: Robot, recordings: Sequence[Recorded]) -> tuple[Robot, tuple[str, ...]]:
    """A robot without the position limits that recordings exceed by far, or come near to where they are a turn apart,
    and a note for each: a simulation would push joints back there, as real stops do, which yield a little."""
    lowest, highest = (np.stack([f(own.joints, axis=0) for own in recordings]) for f in (np.min, np.max))
    spans = dict(zip(robot.dof_names, zip(lowest.min(axis=0), highest.max(axis=0), strict=True), strict=True))
    notes, joints = [], []
    for joint in robot.joints:
        low, high = spans.get(joint.name, (np.inf, -np.inf))
        span = joint.upper[0] - joint.lower[0]
        turns = np.any(joint.subspace[3:]) and 2 * np.pi - GIVE < span < np.inf
        room = GIVE * (-span if turns else span)
        if low < joint.lower[0] - room or high > joint.upper[0] + room:
            notes.append(
                f"{joint.name} moved from {low:.3g} to {high:.3g}, {'about to' if turns else 'beyond'} its limits of "
                f"{joint.lower[0]:.3g} and {joint.upper[0]:.3g} in the model"
                f"{', a turn apart, where no stop is' if turns else ''}: these limits are left out of the simulation."
            )
            joint = replace(joint, lower=np.array([-np.inf]), upper=np.array([np.inf]))
        joints.append(joint)
    return (replace(robot, joints=tuple(joints)) if notes else robot), tuple(notes)


class Simulation:
    """A robot in MuJoCo, with one actuator a degree of freedom.

    centred: whether what coarse steps get wrong first of all is taken back, so that what is found with them is right
    for fine ones (leapfrog): a step moves on with the speed at its end, so that positions are half a step ahead of
    their time, and damps by the speed at its end, as if there were armature of half a step times the damping more.

    Raises ModelError for robots whose joints cannot have one each: closed loops, mimic joints, several degrees.
    """

    def __init__(self, robot: Robot, step: float, *, centred: bool = False):
        import mujoco

        _require_plain(robot)
        spec = mujoco.MjSpec.from_string(mjcf_text(replace(robot, drives={})))
        self.driven_dofs = list(robot.driven_dofs)
        names = [robot.dof_names[dof] for dof in self.driven_dofs]
        ground = with_ground(spec, robot) if robot.floating else Ground()
        for name in names:
            actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            actuator.forcelimited, actuator.forcerange = True, [-OPEN, OPEN]
        self.robot, self.step, self.model = robot, step, spec.compile()
        self.notes, self.lead = ground.notes, 0.5 if centred else 0.0
        ground.settle(self.model)
        self.model.opt.timestep = step
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE  # the sparse factor of 4.0.0 is wrong (mujoco#3767)
        if not robot.floating:
            self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.soft = np.column_stack([self.model.dof_solref[:, 0], self.model.dof_solimp[:, :2]])
        self.hard = np.array([2 * step, IMPEDANCE, IMPEDANCE])
        _harden(self.model, slice(None), self.hard)
        self.bodies = [self.model.body(name).id for name in robot.body_names]
        self.dofs = [self.model.joint(name).dofadr[0] for name in names]
        self.actuators = [self.model.actuator(name).id for name in names]
        self.floor = np.flatnonzero(self.model.body_weldid[self.model.geom_bodyid] == 0)
        self._stepped = Stepped(self)

    @cached_property
    def limbs(self) -> np.ndarray:
        """(nv,) which tree on what stands a joint is of: those of others it does not move. A free base moves all."""
        if self.robot.floating:
            return np.zeros(self.robot.nv, dtype=int)
        return self.model.dof_treeid[[self.model.joint(name).dofadr[0] for name in self.robot.dof_names]]

    @cached_property
    def _workers(self):
        import mujoco
        from mujoco import rollout

        return rollout.Rollout(nthread=threads()), [mujoco.MjData(self.model) for _ in range(threads())]

    @captured_warnings()
    def driven(self, drives: DriveArrays, on: np.ndarray | None = None) -> Driven:
        """The robot with these drives. on: (nv,) joints whose drive is on; None: of all."""
        import copy

        import mujoco

        m = copy.copy(self.model)
        at, own, on = self.actuators, self.driven_dofs, np.ones(self.robot.nv, dtype=bool) if on is None else on
        m.actuator_gainprm[at, 0] = (drives.gain * on)[own]
        m.actuator_biasprm[at, 1] = (-drives.gain * drives.follows_q * on)[own]
        m.actuator_biasprm[at, 2] = (-drives.kd * on)[own]
        most = np.minimum(drives.limit, OPEN)[own]
        m.actuator_forcerange[at] = np.stack([-most, most], axis=1)
        m.dof_damping[self.dofs], m.dof_frictionloss[self.dofs] = drives.damping[own], drives.frictionloss[own]
        more = self.lead * self.step * (drives.damping + drives.kd * on)
        m.dof_armature[self.dofs] = np.maximum(drives.armature - more, SAME)[own]
        if np.any(drives.softness):
            share = np.asarray(drives.softness)[own, None]
            _harden(m, self.dofs, (1 - share) * self.hard + share * self.soft[self.dofs])
        if drives.inertias is not self.robot.inertias:
            m.body_mass[self.bodies], m.body_ipos[self.bodies], inertia = to_com_inertia(drives.inertias)
            m.body_inertia[self.bodies], m.body_iquat[self.bodies] = principal_moments(inertia)
        _change_ground(m, self.floor, *drives.ground)
        mujoco.mj_setConst(m, self._workers[1][0])
        return Driven(m, drives, self.robot.with_inertias(drives.inertias), on)

    def together(self, windows) -> int:
        """How many sets of drives one call may simulate in some windows."""
        return max(1, ROOM // (len(windows) * windows.steps * (1 + self.model.nq + self.model.nv)))

    @captured_warnings()
    def run(self, driven: Sequence[Driven], q, v, controls, lengths=None) -> np.ndarray:
        """Positions (k, s + 1, nq) of every run from its start on. driven: k robots; q, v: (k, nq), (k, nv); controls:
        (k, s, nv) at the beginning of every step. lengths: (k,) steps of each that count, the others stay zero."""
        import mujoco

        m, kind = self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS
        qpos, qvel, _ = to_mujoco(m, self.robot, np.asarray(q), np.asarray(v), np.zeros_like(v))
        start = np.zeros((len(q), mujoco.mj_stateSize(m, kind)))
        start[:, 1 : 1 + m.nq], start[:, 1 + m.nq : 1 + m.nq + m.nv] = qpos, qvel
        loaded = any(each.drives.loaded.any() for each in set(driven))
        models, told = [each.model for each in driven], self.ordered(controls)
        lengths = np.full(len(q), told.shape[1]) if lengths is None else lengths
        order = np.argsort(lengths, kind="stable")  # runs side by side take as many steps as the longest of them
        found = np.zeros((len(q), told.shape[1] + 1, np.shape(q)[1]))
        found[:, 0] = q
        for rows in map(np.sort, np.array_split(order, -(-told.size // CALL))):
            most, some = int(lengths[rows].max(initial=0)), rows.tolist()
            if loaded:
                states = self._stepped.states([driven[k] for k in some], start[rows], controls[rows, :most])
            else:
                states = self.rolled([models[k] for k in some], start[rows], told[rows, :most])
            found[rows, 1 : most + 1] = self.positions(states)[0]
        return found

    def gap(self, q) -> np.ndarray:
        """(k,) height of the lowest part of the robot above the ground, m, at positions (k, nq): negative within it,
        inf where it is further away than `NEAR_GROUND`."""
        import copy

        touching = self._touching(copy.copy(self.model), q, NEAR_GROUND)
        return np.array([min((each.dist for each in contacts), default=np.inf) for contacts in touching])

    def contact(self, q, drives: DriveArrays) -> ContactParameters | None:
        """What contacts with the ground have at positions (k, nq), drives on theirs; None where they are of several
        kinds, or there are none."""
        import mujoco

        found = set()
        for each in chain.from_iterable(self._touching(self.driven(drives).model, q, TOUCHING)):
            friction = np.where(each.friction > mujoco.mjMINMU, each.friction, 0.0)[[0, 2, 3]]  # it has no less
            numbers = (tuple(values.tolist()) for values in (friction, each.solref, each.solimp))
            found.add(ContactParameters(*numbers, condim=int(each.dim)))
        return found.pop() if len(found) == 1 else None

    def _touching(self, m, q, margin: float) -> Iterator[list]:
        """Contacts with the ground at each of positions (k, nq), within a margin, m."""
        import mujoco

        m.geom_margin[:], d = margin, mujoco.MjData(m)
        for d.qpos[:] in to_mujoco(m, self.robot, q, np.zeros((len(q), m.nv)), np.zeros((len(q), m.nv)))[0]:
            mujoco.mj_fwdPosition(m, d)
            yield [each for each in d.contact if np.isin(each.geom, self.floor).any()]

    def ordered(self, controls) -> np.ndarray:
        """Controls (k, s, nu) as the model has them."""
        found = np.zeros((*controls.shape[:2], self.model.nu))
        found[:, :, self.actuators] = controls[:, :, self.driven_dofs]
        return found

    def rolled(self, models: Sequence, start, controls) -> np.ndarray:
        """MuJoCo's states after each step."""
        pool, datas = self._workers
        start, controls = (np.ascontiguousarray(each, dtype=float) for each in (start, controls))
        states = np.empty((*controls.shape[:2], start.shape[1]))
        sensors = np.empty((*controls.shape[:2], self.model.nsensordata))
        steps = controls.shape[1]  # checks of many models take longer than a few steps of theirs
        pool.rollout(
            list(models), datas, start, controls, skip_checks=True, nstep=steps, state=states, sensordata=sensors
        )
        return states

    def positions(self, states) -> tuple[np.ndarray, np.ndarray]:
        """Positions and speeds (..., nv) of MuJoCo's states (..., n)."""
        m = self.model
        qpos, qvel = states[..., 1 : 1 + m.nq], states[..., 1 + m.nq : 1 + m.nq + m.nv]
        q, v, _ = from_mujoco(m, self.robot, qpos, qvel, np.zeros((*states.shape[:-1], m.nv)))
        return q, v


def _harden(m, dofs, numbers):
    """Friction of joints with a time constant, s, and impedances."""
    m.dof_solref[dofs, 0], m.dof_solimp[dofs, :2] = numbers[..., 0], numbers[..., 1:]


def _change_ground(m, floor, height: float, friction: float, softness: float):
    """Change what is touched, as of `DriveArrays.ground`. floor: geoms that stand."""
    m.geom_pos[floor, 2] += height
    m.geom_friction[:, 0] *= np.exp(friction)
    m.pair_friction[:, :2] *= np.exp(friction)
    for solref in (m.geom_solref, m.pair_solref):
        constants = solref[:, :1] > 0  # else stiffness and damping, negative
        solref *= np.where(constants, [np.exp(softness), 1.0], [np.exp(-2 * softness), np.exp(-softness)])


def _require_plain(robot: Robot):
    several = [joint.name for joint in robot.free_joints if joint.nv != 1 and joint.kind != "free"]
    if robot.loops or robot.mimic_names or several:
        odd = (*robot.loop_names, *robot.mimic_names, *several)
        raise ModelError(
            f"Robot '{robot.name}' cannot be rolled out: {choices(odd)} would need more than one motor a joint. Lock "
            "these joints (--lock), or use the part of the robot without them."
        )
