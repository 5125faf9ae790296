"""Where to hold a part for a motion: grasps of an identified payload, ranked by the torques of the arm.

    python examples/34_choose_a_grasp.py

A PUMA 560 holds a bar of 2 kg with a heavy end, and a coarse wrist sensor identifies it from one second of motion. The
planned motion could be made with other grasps. They are ranked by the effort, the integral of the squared torques as
shares of the limits, with the uncertainty of the payload; the true payload shows how right that was.
"""

import numpy as np

import steelyard as sy

HAND, NOISE = "link6", (2.0, 0.1)  # N and N m of a coarse sensor
TRUTH = sy.inertia.from_com_inertia(2.0, np.array([0.14, 0.0, 0.02]), np.diag([1e-3, 3e-2, 3e-2]))  # SI, in the hand
PLACES = (-0.1, 0.0, 0.1, 0.2, 0.21, 0.22, 0.3)  # m along the bar
ACROSS = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # the hand turned by 90 degrees: the bar along its axis
GRASPS = {f"across, {1e3 * x:+.0f} mm": (np.eye(3), np.array([x, 0, 0])) for x in PLACES} | {
    "at the end, along": (ACROSS, np.array([-0.1, 0, 0]))
}


def identification_log(arm, rng):
    """What the wrist sensor reads while three joints swing."""
    t = np.arange(0, 1, 0.008)
    rate, phase = np.array([1.0, 2.0, 3.0, 5.0, 6.0, 7.0]), np.arange(6)
    angle = t[:, None] * rate + phase
    motion = {"t": t, "q": 0.5 * np.sin(angle), "v": 0.5 * rate * np.cos(angle), "a": -0.5 * rate**2 * np.sin(angle)}
    still = sy.payload.carried_log(arm, **motion, wrench=np.zeros((len(t), 6)), frame=HAND)
    wrench = sy.payload.predicted_wrench(TRUTH, still)
    return still.replace(wrench=wrench + rng.normal(size=wrench.shape) * np.repeat(NOISE, 3))


def planned_motion(duration=1.2):
    """A minimum-jerk motion between two poses: t (n,), q, v, a (n, 6)."""
    start, end = np.array([-0.8, -0.9, 2.4, 0.0, 0.4, 0.0]), np.array([0.8, -0.3, 1.9, 0.3, -0.6, 1.0])
    t = np.linspace(0, duration, 121)
    s = (t / duration)[:, None]
    q = start + (end - start) * (10 * s**3 - 15 * s**4 + 6 * s**5)
    v = (end - start) * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
    a = (end - start) * (60 * s - 180 * s**2 + 120 * s**3) / duration**2
    return {"t": t, "q": q, "v": v, "a": a}


def main():
    arm = sy.library.puma560()
    found = sy.payload.identify(identification_log(arm, np.random.default_rng(0)), noise=NOISE)
    print(f"{found.summary()}\n")
    motion = planned_motion()
    ranking = sy.payload.rank_grasps(arm, found, GRASPS, **motion, frame=HAND)
    print(ranking.summary())
    true = sy.payload.rank_grasps(arm, TRUTH, GRASPS, **motion, frame=HAND)
    print(f"\nbest with the true payload: {true.best}")
    effort = dict(zip(true.names, true.effort, strict=True))
    below = [effort[name] <= bound for name, bound in zip(ranking.names, ranking.effort_upper, strict=True)]
    print(f"true efforts below their bounds: {sum(below)} of {len(below)}")


if __name__ == "__main__":
    main()
