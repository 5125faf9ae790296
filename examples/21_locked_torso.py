"""Why a leg identified on a locked torso mispredicts the galloping robot (paper C, Table 6, on our own gallop).

Cheetah 3 gallops in MuJoCo, on ground that pushes its feet. From noise-free data of that gallop its parameters are
identified three times: all of the robot, from the wrench of the torso and the torques of the joints; all of it, from
torques alone while nobody knows the forces of the ground; and one leg, which makes the same motion on a locked torso.
The theory says beforehand which joints the last model mispredicts: those whose torque changes along a direction that
the locked experiment cannot see. By how much is the choice of
norm: it fixes the 24 of the leg's 42 parameters that the locked experiment leaves open. So the leg is fitted twice, by
the pseudo-inverse of the paper (least norm in SI units) and with columns of unit length. `run()` returns the numbers.

Run it: `python examples/21_locked_torso.py`. Rotors are bodies of their own, each on a joint that follows its joint
through the gear, so every torque here is that of plain rigid bodies.
"""

import numpy as np
from scipy.linalg import block_diag

import steelyard as sy
from steelyard.dynamics.contact_forces import contact_jacobian, orthonormal
from steelyard.dynamics.newton_euler import regressor_rows_with_rotors
from steelyard.identifiable import identifiability
from steelyard.model import library

LEG = ("abad", "hip", "knee")
FRONT_LEFT = slice(6, 9)  # of the velocities
SECONDS, STANDING = 6.0, 5.0  # s; N, above which a foot stands
CUTOFF = 1e-9  # of singular values
PUBLISHED = "[1.35, 2.39, 0.00]   [7.40, 20.24, 4.71]   [16.31, 12.40, 61.73]"  # Table 6, fixed torso, gallop


def geared_regressor(robot, q, v, a):
    """(n, nv, p) torque regressor: ten columns a link, four a symmetric rotor."""
    rows = regressor_rows_with_rotors(robot, q.T, v.T, a.T)
    content = block_diag(np.eye(10 * robot.nb), *(rotor.content for rotor in robot.rotors))
    return np.moveaxis(rows, -1, 0) @ content


def parameters(robot):
    """(p,) in the order of these columns."""
    return np.concatenate([robot.inertias.ravel(), *(rotor.reading @ rotor.theta for rotor in robot.rotors)])


def run():
    """RMS torque errors `{(identified, validated): (3,) or (9,)}`: ab/ad, hip, knee of the front left leg; of a gallop
    then torques and forces of the torso, too. "locked, scaled" is the other choice of norm. Also "theory": the joints
    that the locked experiment must mispredict, and "counts": identifiable combinations seen by each experiment."""
    cheetah, leg = library.cheetah3(), library.cheetah3_leg()
    exact = sy.simulate.walk("gallop", robot=cheetah, duration=SECONDS).exact
    q, v, a = exact.require("q", "v", "a")
    gallop = geared_regressor(cheetah, q, v, a)
    swing = geared_regressor(leg, q[:, 7:10], v[:, FRONT_LEFT], a[:, FRONT_LEFT])
    truth, truth_of_leg = parameters(cheetah), parameters(leg)
    front_left = np.r_[10:40, 130:142]  # of its columns: three links, three rotors

    whole, seen = pseudo_inverse(gallop.reshape(-1, len(truth)), gallop.reshape(-1, len(truth)) @ truth)
    free = free_of_ground(cheetah, exact, gallop)
    unpushed, free_seen = pseudo_inverse(free, free @ truth)
    bench = swing.reshape(-1, len(truth_of_leg))
    locked, locked_seen = pseudo_inverse(bench, bench @ truth_of_leg)
    scaled, _ = pseudo_inverse(bench, bench @ truth_of_leg, scaled=True)

    def of_gallop(theta):
        error = np.sqrt(np.mean((gallop @ (theta - truth)) ** 2, axis=0))
        return error[np.r_[FRONT_LEFT, 3:6, 0:3]]

    def of_bench(theta):
        return np.sqrt(np.mean((swing @ (theta[front_left] - truth_of_leg)) ** 2, axis=0))

    def with_leg(found):
        theta = truth.copy()
        theta[front_left] = found
        return theta

    fits = {"gallop": whole, "no forces": unpushed, "locked": with_leg(locked), "locked, scaled": with_leg(scaled)}
    result = {(name, "gallop"): of_gallop(theta) for name, theta in fits.items()}
    result |= {(name, "locked"): of_bench(theta) for name, theta in fits.items()}
    counts = {"gallop": seen, "no forces": free_seen, "locked": locked_seen}
    return {**result, "theory": mispredicted_joints(), "counts": counts}


def free_of_ground(robot, exact, rows):
    """Rows (m, p) of torques that forces at standing feet do not enter, whatever they are."""
    stands = np.array([np.linalg.norm(each[:, :3], axis=1) > STANDING for each in exact.external.values()])
    found = []
    for pattern in np.unique(stands, axis=1).T:
        at = np.flatnonzero((pattern == stands.T).all(axis=1))
        feet = [foot for foot, stood in zip(exact.external, pattern, strict=True) if stood]
        pushed = orthonormal(contact_jacobian(robot, exact.q[at].T, feet, ["point"] * len(feet)))
        found.append(rows[at] - pushed @ (pushed.mT @ rows[at]))
    return np.concatenate(found).reshape(-1, rows.shape[-1])


def pseudo_inverse(Y, tau, *, scaled=False):
    """Least-squares solution of least norm, without prior knowledge, and the rank of Y. scaled: the norm of parameters
    in units in which every column has length one; otherwise in SI units, as in the paper."""
    size = np.linalg.norm(Y, axis=0) if scaled else np.ones(Y.shape[1])
    size[size == 0] = 1.0
    found, _, rank, _ = np.linalg.lstsq(Y / size, tau, rcond=CUTOFF)
    return found / size, int(rank)


def mispredicted_joints():
    """Leg joints whose torque on the free robot changes along something that the locked experiment cannot see."""
    hidden = identifiability(library.cheetah3_leg(), motors=True).null_space
    hidden = np.vstack([np.zeros((10, hidden.shape[1])), hidden])  # the torso's ten parameters stay as they are
    free = library.cheetah3_leg(floating=True)
    felt = {joint: identifiability(free, motors=True, sensors=[joint]).regroup(hidden.T) for joint in LEG}
    return tuple(joint for joint in LEG if np.abs(felt[joint]).max() > 1e-9)


def main():
    result = run()
    print("RMS errors of the front left leg's torques (ab/ad, hip, knee) [N m]; torso torque [N m]; torso force [N]")
    names = {
        "gallop": "the gallop",
        "no forces": "the gallop, ground forces unknown",
        "locked": "a locked torso",
        "locked, scaled": "a locked torso, least norm of scaled parameters",
    }
    for identified, name in names.items():
        print(f"identified from {name}, {result['counts'][identified.split(',')[0]]} combinations")
        for validated in ("locked", "gallop"):
            e = result[identified, validated]
            parts = (e[:3], e[3:6], e[6:]) if validated == "gallop" else (e,)
            shown = "   ".join("[" + ", ".join(f"{x:.2f}" for x in part) + "]" for part in parts)
            print(f"    predicts {validated:8}: {shown}")
    print(f"published for a locked torso, gallop: {PUBLISHED}")
    print(f"The theory names the joints that the locked experiment mispredicts: {', '.join(result['theory'])}.")


if __name__ == "__main__":
    main()
