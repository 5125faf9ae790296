"""Why a leg identified on a locked torso mispredicts the running robot (paper C, Table 6, redone on our own motion).

The Cheetah 3 leg with its motors is identified twice from noise-free data: with the torso locked, and with the torso in
a gallop-like motion. Both models predict both motions. The theory says beforehand which joints will be wrong: those
whose torque changes along a direction that the locked experiment cannot see. `run()` returns the numbers.

Run it: `python examples/21_locked_torso.py`. Rotors are bodies of their own, each on a joint that follows its leg
joint through the gear, so every torque here is that of plain rigid bodies.
"""

import numpy as np
from scipy.linalg import block_diag

from steelyard.dynamics import regressor_rows_with_rotors
from steelyard.identifiable import identifiability
from steelyard.model import library

SAMPLES, STRIDES, STRIDE = 600, 4, 0.45  # s
LEG = ("abad", "hip", "knee")


def geared_regressor(robot, q, v, a):
    """(n, nv, p) torque regressor: ten columns a link, four a symmetric rotor."""
    rows = regressor_rows_with_rotors(robot, q.T, v.T, a.T)
    content = block_diag(np.eye(10 * robot.nb), *(rotor.content for rotor in robot.rotors))
    return np.moveaxis(rows, -1, 0) @ content


def gallop(robot, *, torso_moves: bool):
    """States q, v, a like a transverse gallop's: the torso flies, pitches and yaws, the leg swings at every stride."""
    t = np.linspace(0, STRIDES * STRIDE, SAMPLES)
    rng = np.random.default_rng(3)
    stride = 2 * np.pi / STRIDE
    waves = stride * np.array([1.0, 2.0, 3.1])
    size = np.array([[0.25, 0.1, 0.06], [0.7, 0.25, 0.1], [0.9, 0.3, 0.15]])
    phase = rng.uniform(0, 2 * np.pi, size=(3, 3))
    angle = waves * t[:, None, None] + phase
    sine, cosine = np.sin(angle), np.cos(angle)
    leg_q = np.array([0.0, -0.8, 1.6]) + (size * sine).sum(-1)
    leg_v, leg_a = (size * waves * cosine).sum(-1), -(size * waves**2 * sine).sum(-1)
    twist, rate = np.zeros((SAMPLES, 6)), np.zeros((SAMPLES, 6))
    pose = np.tile([0, 0, 0.45, 0, 0, 0, 1.0], (SAMPLES, 1))
    if torso_moves:  # a twist in body axes; orientation decides only how gravity pulls
        amplitude = np.array([0.5, 0.15, 0.9, 0.6, 2.0, 0.5])
        torso_phase = rng.uniform(0, 2 * np.pi, size=6)
        frequency = stride * np.array([1, 1, 1, 1.3, 1, 0.7])
        twist = amplitude * np.sin(frequency * t[:, None] + torso_phase)
        rate = amplitude * frequency * np.cos(frequency * t[:, None] + torso_phase)
        half = -0.5 * amplitude[3:] / frequency[3:] * np.cos(frequency[3:] * t[:, None] + torso_phase[3:])
        pose[:, 3:6] = half  # small angles as they come; any orientation is a valid state
        pose[:, 6] = np.sqrt(1 - (half**2).sum(axis=1))
    return np.hstack([pose, leg_q]), np.hstack([twist, leg_v]), np.hstack([rate, leg_a])


def run():
    """RMS torque errors `{(identified, validated): (9,)}`: three torso forces, three torso torques, ab/ad, hip, knee.

    Also under "theory": the leg joints that the locked experiment must mispredict.
    """
    robot = library.cheetah3_leg(floating=True)
    data = {}
    for name in ("locked", "floating"):
        q, v, a = gallop(robot, torso_moves=name == "floating")
        data[name] = geared_regressor(robot, q, v, a)
    truth = np.concatenate([robot.inertias.ravel(), *(rotor.reading @ rotor.theta for rotor in robot.rotors)])
    leg = np.arange(10, len(truth))  # the torso's ten parameters are no part of a table-top experiment
    running = data["floating"].reshape(-1, len(truth))
    fits = {"floating": pseudo_inverse(running, running @ truth)}
    on_bench = data["locked"][:, 6:, leg].reshape(-1, len(leg))
    fits["locked"] = np.concatenate([truth[:10], pseudo_inverse(on_bench, on_bench @ truth[leg])])
    result = {
        (identified, validated): np.sqrt(np.mean((Y @ (theta - truth)) ** 2, axis=0))
        for identified, theta in fits.items()
        for validated, Y in data.items()
    }
    return {**result, "theory": mispredicted_joints()}


def pseudo_inverse(Y, tau):
    """Least-squares solution of least norm, as in the paper: no prior knowledge."""
    size = np.linalg.norm(Y, axis=0)
    size[size == 0] = 1.0
    return np.linalg.lstsq(Y / size, tau, rcond=1e-9)[0] / size


def mispredicted_joints():
    """Leg joints whose torque on the free robot changes along something that the locked experiment cannot see."""
    hidden = identifiability(library.cheetah3_leg(), motors=True).null_space
    hidden = np.vstack([np.zeros((10, hidden.shape[1])), hidden])  # the torso's ten parameters stay as they are
    free = library.cheetah3_leg(floating=True)
    felt = {joint: identifiability(free, motors=True, sensors=[joint]).regroup(hidden.T) for joint in LEG}
    return tuple(joint for joint in LEG if np.abs(felt[joint]).max() > 1e-9)


def main():
    result = run()
    print("RMS torque error on the leg (ab/ad, hip, knee) [N m]; torso torque [N m]; torso force [N]")
    for identified in ("floating", "locked"):
        for validated in ("locked", "floating"):
            e = result[identified, validated]
            parts = (e[6:], e[3:6], e[:3]) if validated == "floating" else (e[6:],)
            shown = "   ".join("[" + ", ".join(f"{x:.2f}" for x in part) + "]" for part in parts)
            print(f"identified {identified:8}  predicts {validated:8}: {shown}")
    print(f"The theory names the joints that the locked experiment mispredicts: {', '.join(result['theory'])}.")


if __name__ == "__main__":
    main()
