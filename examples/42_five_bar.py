"""A closed loop: the spherical five-bar linkage, its motors' torques and their derivatives, what can be known of it.

    python examples/42_five_bar.py

Two motors move four links; three passive joints follow. The example computes the torques of a motion, checks the power
balance, identifies the links from the two motors alone, and shows what a wrong choice of motors says.
"""

import numpy as np

import steelyard as sy


def motion(samples=1500):
    """t (n,), q, v, a (n, 2) of the two motors."""
    t = np.arange(samples) * 0.01
    w, phase = np.array([[1.1, 3.7, 6.1], [1.7, 2.9, 7.3]]), np.array([[0, 1, 2], [3, 4, 5]])
    size = np.array([[0.25, 0.12, 0.05], [0.25, 0.12, 0.05]])
    angle = t[:, None, None] * w + phase
    q, v, a = (np.sin(angle) * size, np.cos(angle) * size * w, -np.sin(angle) * size * w**2)
    return t, q.sum(axis=-1), v.sum(axis=-1), a.sum(axis=-1)


def main():
    robot = sy.library.five_bar()
    print(f"{robot}\nloops: {robot.loop_names}, motors: {robot.actuated}")
    t, q, v, a = motion()
    tau = sy.closed_loop.inverse_dynamics(robot, q, v, a)
    print(f"largest torques of the motors: {np.abs(tau).max(axis=0).round(3)} N m")

    tree = sy.closed_loop.tree_state(robot, q, v, a)
    power = (sy.power_regressor(robot, *tree) @ robot.inertias.ravel()) + np.sum(
        robot.armature * tree[1] * tree[2], axis=1
    )
    print(f"power of all bodies less that of the two motors: {np.abs(power - np.sum(tau * v, axis=1)).max():.1e} W")

    slopes = sy.closed_loop.inverse_dynamics_derivatives(robot, q[0], v[0], a[0])
    print(f"d tau / d q at the start:\n{slopes.dtau_dq.round(3)}")

    idn = sy.identifiability(robot)
    print(f"\n{idn.table()}\n")

    rng = np.random.default_rng(0)
    noisy = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    robot = robot.with_joint_properties(damping=0 * robot.damping, frictionloss=0 * robot.frictionloss)
    log = sy.Log(t=t, q=q, v=v, a=a, tau=noisy, joint_names=robot.actuated)
    wrong = robot.with_inertias(robot.inertias * np.array([[1.5], [0.6], [1.3], [0.7]]))
    estimate = sy.fit.consistent(sy.accumulate(wrong, log, friction=()))
    before, after = sy.validate(wrong, log).relative_error, sy.validate(estimate, log).relative_error
    print(f"torque error from the nominal model {before:.1%}, identified from two motors {after:.1%}")

    try:
        sy.closed_loop.independent(robot, actuated=["joint1"])
    except sy.errors.LoopError as error:
        print(f"\n{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
