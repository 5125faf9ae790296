"""Derive formulas of rigid bodies symbolically, print them, and check the library's numbers against them.

1. The body regressor `f = Yb(V, a_g) theta` from Newton-Euler `M a_g + crf(V) M V = f` (paper A, "Inverse Dynamics").
2. The joint regressor `tau = Y(q, v, a) theta` of an arm of two links, row by row (paper A, "Joint regressor").
3. The log-Cholesky chart's Jacobian determinant `32 exp(20 alpha + 2 d1 + 3 d2 + 4 d3)` (paper A, "Log-Cholesky").

Run it: `python examples/10_symbolic_body.py`. It needs SymPy and takes five seconds.
"""

import numpy as np
import sympy as sp

import steelyard as sy
from steelyard import inertia, spatial
from steelyard.model import Joint, Robot, revolute_subspace

THETA = sp.symbols(inertia.parameters.NAMES, real=True)


def skew(u):
    return sp.Matrix([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])


def body_regressor():
    """Yb (6, 10) with the twist `V = [v; w]` and the proper spatial acceleration `a_g = [al; aw]`."""
    V = sp.Matrix(sp.symbols("vx vy vz wx wy wz", real=True))
    a_g = sp.Matrix(sp.symbols("alx aly alz awx awy awz", real=True))
    m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz = THETA
    Sh = skew((hx, hy, hz))
    rotational = sp.Matrix([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]])
    M = sp.Matrix(sp.BlockMatrix([[m * sp.eye(3), -Sh], [Sh, rotational]]))
    crf = sp.Matrix(sp.BlockMatrix([[skew(V[3:]), sp.zeros(3)], [skew(V[:3]), skew(V[3:])]]))
    wrench = (M * a_g + crf * M * V).expand()
    return V, a_g, wrench.jacobian(THETA).applyfunc(sp.factor)


def two_links():
    """Two hinges in a vertical plane, links of 1 m, gravity along -z."""
    hinge, still = revolute_subspace(np.array([0.0, 1.0, 0.0])), np.zeros(2)
    places = {"shoulder": [0.0, 0.0, 0.0], "elbow": [1.0, 0.0, 0.0]}
    return Robot(
        name="two links",
        joints=tuple(Joint(name, "revolute", hinge, np.eye(3), np.array(at)) for name, at in places.items()),
        parents=np.array([-1, 0]),
        body_names=("upper", "lower"),
        body_joints=np.array([0, 1]),
        inertias=np.zeros((2, 10)),
        gravity=np.array([0.0, 0.0, -9.81]),
        armature=still,
        damping=still,
        frictionloss=still,
    )


def joint_regressor(robot, V, a_g, Yb):
    """q, v, a and Y (n, 10 n) of a chain of hinges and sliders, from the body regressor Yb of V and a_g.

    Twists and accelerations go up the chain, wrenches per unit of each parameter come down (paper A).
    """
    q, v, a = (sp.symbols(f"{name}1:{robot.nv + 1}", real=True) for name in "qva")
    steps, Y = [], sp.zeros(robot.nv, 10 * robot.nv)
    twist, acceleration = sp.zeros(6, 1), sp.Matrix([*(-number(robot.gravity)), 0, 0, 0])
    for i, joint in enumerate(robot.joints):
        axis, R, p = number(joint.subspace), number(joint.rotation), number(joint.position)
        turn, slide = sp.Matrix(axis[3:]), sp.Matrix(axis[:3])
        K = skew(turn)
        R, p = R * (sp.eye(3) + sp.sin(q[i]) * K + (1 - sp.cos(q[i])) * K * K), p + R * slide * q[i]
        X = sp.Matrix(sp.BlockMatrix([[R.T, -R.T * skew(p)], [sp.zeros(3), R.T]]))  # to the child's axes and origin
        steps.append((axis, X))
        twist = X * twist + axis * v[i]
        cross = sp.Matrix(sp.BlockMatrix([[skew(twist[3:]), skew(twist[:3])], [sp.zeros(3), skew(twist[3:])]]))
        acceleration = X * acceleration + axis * a[i] + cross * axis * v[i]
        wrench = Yb.subs(dict(zip([*V, *a_g], [*twist, *acceleration], strict=True)))
        for j in range(i, -1, -1):
            axis, X = steps[j]
            Y[j, 10 * i : 10 * i + 10] = (axis.T * wrench).applyfunc(sp.trigsimp)
            wrench = X.T * wrench
    return (q, v, a), Y


def number(array):
    """A SymPy matrix of exact numbers."""
    return sp.Matrix(np.asarray(array)).applyfunc(sp.nsimplify)


def log_cholesky_jacobian():
    """`phi`, and `d theta / d phi` of `J = U U^T`."""
    phi = sp.symbols(inertia.log_cholesky.NAMES, real=True)
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = phi
    rows = [[sp.exp(d1), s12, s13, t1], [0, sp.exp(d2), s23, t2], [0, 0, sp.exp(d3), t3], [0, 0, 0, 1]]
    U = sp.exp(alpha) * sp.Matrix(rows)
    J = U * U.T
    Sigma = J[:3, :3]
    rotational = sp.trace(Sigma) * sp.eye(3) - Sigma
    vech = [rotational[i, j] for j in range(3) for i in range(j + 1)]
    theta = sp.Matrix([J[3, 3], *J[:3, 3], *vech])
    return phi, theta.jacobian(phi)


def determinant(phi, jacobian):
    """Determinant with every exponential renamed to a plain symbol, so that it is a polynomial."""
    names = sp.symbols("a e1 e2 e3", positive=True)
    exponentials = dict(zip((sp.exp(p) for p in phi[:4]), names, strict=True))
    polynomial = jacobian.applyfunc(lambda entry: sp.expand(entry, power_exp=True).subs(exponentials))
    det = sp.factor(polynomial.det(method="laplace"))
    return sp.powsimp(det.subs({name: value for value, name in exponentials.items()}))


def largest_differences(V, a_g, Y, robot, joints, rows, phi, jacobian):
    """Symbolic against numerical, at random arguments: wrench, joint regressor, chart."""
    rng = np.random.default_rng(0)
    twist, acceleration, chart_point = rng.normal(size=6), rng.normal(size=6), 0.5 * rng.normal(size=10)
    theta = inertia.log_cholesky.to_parameters(chart_point)
    M = inertia.to_spatial_inertia(theta)
    wrench = M @ acceleration + spatial.crf(twist) @ M @ twist
    symbolic = sp.lambdify([list(V), list(a_g)], Y)(twist, acceleration) @ theta
    chart = sp.lambdify([phi], jacobian)(chart_point) - inertia.log_cholesky.jacobian(chart_point)
    state = rng.normal(size=(3, robot.nv))
    arm = sp.lambdify([list(x) for x in joints], rows)(*state) - sy.regressor(robot, *state)
    return np.max(np.abs(symbolic - wrench)), np.max(np.abs(arm)), np.max(np.abs(chart))


def main():
    V, a_g, Y = body_regressor()
    print("Body regressor, f = Yb theta, with V = [v; w], a_g = [al; aw], theta =", ", ".join(map(str, THETA)))
    for row, component in enumerate(("fx", "fy", "fz", "nx", "ny", "nz")):
        terms = [f"({Y[row, k]}) {THETA[k]}" for k in range(10) if Y[row, k] != 0]
        print(f"  {component} = " + " + ".join(terms))
    robot = two_links()
    joints, rows = joint_regressor(robot, V, a_g, Y)
    print("\nJoint regressor of two links in a vertical plane")
    for j, name in enumerate(robot.joint_names):
        columns = ((k, f"{THETA[k % 10]} of {robot.body_names[k // 10]}") for k in range(rows.shape[1]))
        print(f"  {name} = " + "\n    + ".join(f"({rows[j, k]}) {what}" for k, what in columns if rows[j, k] != 0))
    phi, jacobian = log_cholesky_jacobian()
    print("\nLog-Cholesky chart, phi =", ", ".join(map(str, phi)))
    print("  det(d theta / d phi) =", determinant(phi, jacobian))
    body, arm, chart = largest_differences(V, a_g, Y, robot, joints, rows, phi, jacobian)
    print(f"\nLargest difference from the library: wrench {body:.1e} N, joints {arm:.1e}, chart Jacobian {chart:.1e}")


if __name__ == "__main__":
    main()
