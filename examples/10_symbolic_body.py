"""Derive the two formulas of one rigid body symbolically, print them, and check the library's numbers against them.

1. The body regressor `f = Yb(V, a_g) theta` from Newton-Euler `M a_g + crf(V) M V = f` (paper A, "Inverse Dynamics").
2. The log-Cholesky chart's Jacobian determinant `32 exp(20 alpha + 2 d1 + 3 d2 + 4 d3)` (paper A, "Log-Cholesky").

Run it: `python examples/10_symbolic_body.py`. It needs SymPy and takes two seconds.
"""

import numpy as np
import sympy as sp

from steelyard import inertia, spatial

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


def largest_difference(V, a_g, Y, phi, jacobian):
    """Symbolic against numerical, at random arguments."""
    rng = np.random.default_rng(0)
    twist, acceleration, chart_point = rng.normal(size=6), rng.normal(size=6), 0.5 * rng.normal(size=10)
    theta = inertia.log_cholesky.to_parameters(chart_point)
    M = inertia.to_spatial_inertia(theta)
    wrench = M @ acceleration + spatial.crf(twist) @ M @ twist
    symbolic = sp.lambdify([list(V), list(a_g)], Y)(twist, acceleration) @ theta
    chart = sp.lambdify([phi], jacobian)(chart_point) - inertia.log_cholesky.jacobian(chart_point)
    return np.max(np.abs(symbolic - wrench)), np.max(np.abs(chart))


def main():
    V, a_g, Y = body_regressor()
    print("Body regressor, f = Yb theta, with V = [v; w], a_g = [al; aw], theta =", ", ".join(map(str, THETA)))
    for row, component in enumerate(("fx", "fy", "fz", "nx", "ny", "nz")):
        terms = [f"({Y[row, k]}) {THETA[k]}" for k in range(10) if Y[row, k] != 0]
        print(f"  {component} = " + " + ".join(terms))
    phi, jacobian = log_cholesky_jacobian()
    print("\nLog-Cholesky chart, phi =", ", ".join(map(str, phi)))
    print("  det(d theta / d phi) =", determinant(phi, jacobian))
    regressor_error, chart_error = largest_difference(V, a_g, Y, phi, jacobian)
    print(f"\nLargest difference from the library: wrench {regressor_error:.1e} N, chart Jacobian {chart_error:.1e}")


if __name__ == "__main__":
    main()
