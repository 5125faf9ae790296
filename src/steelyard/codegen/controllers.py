"""Steps of controllers in C, which keep or change what they are given: natural adaptation and the momentum observer.

They are loops over bodies and joints, the same for every robot but for its numbers; memory is on the stack or the
caller's, and a step takes the same time whatever the numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Template

import numpy as np

from steelyard.dynamics import momentum_observer
from steelyard.fit.adaptation import LARGEST, THINNEST, natural_step
from steelyard.inertia import log_cholesky
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH

GAIN = 20.0  # with which C and library are compared
SWEEPS = 8  # of Jacobi rotations; quadratic convergence needs five for 4 x 4


@dataclass(frozen=True)
class Controller:
    """needs: functions that it calls. text: of it in C; about: a line of the header's comment. inputs: arrays of a
    trial, like: the one whose size its result has, trial: statements in C that fill `out`; expected: what the library
    makes of the same inputs, (n, size) each."""

    needs: tuple[str, ...]
    text: Template
    about: str
    inputs: tuple[str, ...]
    like: str
    trial: Template
    expected: Callable[[Robot, Mapping[str, np.ndarray], bool], np.ndarray]

    def written(self, prefix: str) -> str:
        """Its text for a robot of this name."""
        return self.text.substitute(
            prefix=prefix, PREFIX=prefix.upper(), largest=LARGEST, thinnest=THINNEST, width=COULOMB_WIDTH, sweeps=SWEEPS
        )


def trials(robot: Robot, count: int, bodies: int, rng) -> dict[str, np.ndarray]:
    """Inputs of controllers beside states: bodies that can exist, directions, torques and periods, (count, size)."""
    theta = log_cholesky.to_parameters(rng.uniform(-1, 1, size=(count, bodies, 10)))
    return {
        "theta": theta.reshape(count, -1),
        "direction": rng.normal(size=(count, 10 * bodies)),
        "tau": rng.normal(size=(count, robot.nv)),
        "period": rng.uniform(0.0005, 0.1, size=(count, 1)),
    }


def _adapted(robot: Robot, given, rotors: bool) -> np.ndarray:
    theta = given["theta"].reshape(len(given["theta"]), -1, 10)
    return natural_step(theta, given["direction"], gain=GAIN).reshape(given["theta"].shape)


def _observed(robot: Robot, given, rotors: bool) -> np.ndarray:
    t = np.cumsum(given["period"][:, 0])
    return momentum_observer(robot, t, given["q"], given["v"], given["tau"], gain=GAIN, rotors=rotors)


NATURAL_STEP = Template("""
/* Eigenvalues and, in columns, eigenvectors of a symmetric A, which is lost (cyclic Jacobi rotations). */
STEELYARD_APART void ${prefix}_eigen(STEELYARD_REAL A[4][4], STEELYARD_REAL values[4], STEELYARD_REAL axes[4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            axes[i][j] = i == j;
    for (int sweep = 0; sweep < $sweeps; sweep++)
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++) {
                const STEELYARD_REAL off = A[p][q], half = (A[q][q] - A[p][p]) / 2;
                const STEELYARD_REAL size = STEELYARD_SQRT(half * half + off * off);
                const STEELYARD_REAL t = size > 0 ? off / (half + (half < 0 ? -size : size)) : 0;
                const STEELYARD_REAL c = 1 / STEELYARD_SQRT(1 + t * t), s = t * c;
                for (int k = 0; k < 4; k++) {
                    const STEELYARD_REAL x = A[k][p], y = A[k][q];
                    A[k][p] = c * x - s * y;
                    A[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 4; k++) {
                    const STEELYARD_REAL x = A[p][k], y = A[q][k], u = axes[k][p], w = axes[k][q];
                    A[p][k] = c * x - s * y;
                    A[q][k] = s * x + c * y;
                    axes[k][p] = c * u - s * w;
                    axes[k][q] = s * u + c * w;
                }
                A[p][q] = A[q][p] = 0;
            }
    for (int i = 0; i < 4; i++)
        values[i] = A[i][i];
}

/* One body: J becomes L exp(-gain L'GL) L' with J = L L' (Lee, Kwon and Park 2018). Returns 0, or 1 for no body. */
STEELYARD_APART int ${prefix}_natural_step_of_body(
    const STEELYARD_REAL *theta, const STEELYARD_REAL *g, STEELYARD_REAL gain, STEELYARD_REAL *out)
{
    const STEELYARD_REAL half = (theta[4] + theta[6] + theta[9]) / 2;
    STEELYARD_REAL J[4][4] = {
        {half - theta[4], -theta[5], -theta[7], theta[1]},
        {-theta[5], half - theta[6], -theta[8], theta[2]},
        {-theta[7], -theta[8], half - theta[9], theta[3]},
        {theta[1], theta[2], theta[3], theta[0]}};
    const STEELYARD_REAL G[4][4] = {
        {g[6] + g[9], -g[5] / 2, -g[7] / 2, g[1] / 2},
        {-g[5] / 2, g[4] + g[9], -g[8] / 2, g[2] / 2},
        {-g[7] / 2, -g[8] / 2, g[4] + g[6], g[3] / 2},
        {g[1] / 2, g[2] / 2, g[3] / 2, g[0]}};
    STEELYARD_REAL L[4][4] = {{0}}, S[4][4], axes[4][4], values[4], sum = 0;
    for (int j = 0; j < 4; j++)
        for (int i = j; i < 4; i++) {
            STEELYARD_REAL left = J[i][j];
            for (int k = 0; k < j; k++)
                left -= L[i][k] * L[j][k];
            if (i == j && !(left > 0))
                return 1;
            L[i][j] = i == j ? STEELYARD_SQRT(left) : left / L[j][j];
        }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            S[i][j] = 0;
            for (int k = 0; k < 4; k++)
                for (int l = 0; l < 4; l++)
                    S[i][j] -= gain * L[k][i] * G[k][l] * L[l][j];
            if (!(S[i][j] - S[i][j] == 0))
                return 1;
        }
    ${prefix}_eigen(S, values, axes);
    for (int i = 0; i < 4; i++) {
        const STEELYARD_REAL most = values[i] > $largest ? $largest : values[i] < -$largest ? -$largest : values[i];
        values[i] = STEELYARD_EXP(most);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            S[i][j] = 0;
            for (int k = 0; k < 4; k++)
                S[i][j] += L[i][k] * axes[k][j];
        }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            J[i][j] = 0;
            for (int k = 0; k < 4; k++)
                J[i][j] += S[i][k] * values[k] * S[j][k];
        }
    ${prefix}_eigen(J, values, axes);
    for (int i = 0; i < 4; i++)
        sum += values[i];
    for (int i = 0; i < 4; i++)
        values[i] = values[i] > $thinnest * sum ? values[i] : $thinnest * sum;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            J[i][j] = 0;
            for (int k = 0; k < 4; k++)
                J[i][j] += axes[i][k] * values[k] * axes[j][k];
        }
    out[0] = J[3][3];
    for (int i = 0; i < 3; i++)
        out[1 + i] = J[3][i];
    out[4] = J[1][1] + J[2][2];
    out[5] = -J[0][1];
    out[6] = J[0][0] + J[2][2];
    out[7] = -J[0][2];
    out[8] = -J[1][2];
    out[9] = J[0][0] + J[1][1];
    return 0;
}

/* Returns 0; or 1, with theta as it was, where a body cannot exist or a number is not finite. */
static inline int ${prefix}_natural_step(
    STEELYARD_REAL *theta, const STEELYARD_REAL *direction, STEELYARD_REAL gain)
{
    STEELYARD_REAL moved[10 * ${PREFIX}_NUMBER_OF_BODIES];
    for (int k = 0; k < ${PREFIX}_NUMBER_OF_BODIES; k++)
        if (${prefix}_natural_step_of_body(theta + 10 * k, direction + 10 * k, gain, moved + 10 * k))
            return 1;
    for (int k = 0; k < 10 * ${PREFIX}_NUMBER_OF_BODIES; k++)
        theta[k] = moved[k];
    return 0;
}
""")

OBSERVER = Template("""
/* Memory of a momentum observer; all zeros before the first call. */
typedef struct {
    int running;
    STEELYARD_REAL driven[${PREFIX}_NV], held[${PREFIX}_NV];
} ${prefix}_observer;

/* r: torques from outside behind a low-pass filter gain / (s + gain), exact for signals that are linear in a period. */
static inline void ${prefix}_momentum_observer(
    ${prefix}_observer *observer, const STEELYARD_REAL *q, const STEELYARD_REAL *v, const STEELYARD_REAL *tau,
    STEELYARD_REAL gain, STEELYARD_REAL period, STEELYARD_REAL *r)
{
    static const STEELYARD_REAL viscous[${PREFIX}_NV] = ${PREFIX}_VISCOUS_FRICTION;
    static const STEELYARD_REAL coulomb[${PREFIX}_NV] = ${PREFIX}_COULOMB_FRICTION;
    const STEELYARD_REAL step = observer->running && period > 0 ? period : 0;
    const STEELYARD_REAL whole = -STEELYARD_EXPM1(-gain * step) / gain;
    const STEELYARD_REAL fresh = step > 0 ? (step - whole) / (gain * step) : 0;
    STEELYARD_REAL momentum[2 * ${PREFIX}_NV];
    ${prefix}_momentum(q, v, momentum);
    for (int i = 0; i < ${PREFIX}_NV; i++) {
        const STEELYARD_REAL p = momentum[i], drift = momentum[${PREFIX}_NV + i];
        const STEELYARD_REAL friction = viscous[i] * v[i] + coulomb[i] * STEELYARD_TANH(v[i] / $width);
        const STEELYARD_REAL driven = gain * p + tau[i] - friction + drift;
        const STEELYARD_REAL held = observer->running ? observer->held[i] : p;
        const STEELYARD_REAL before = observer->running ? observer->driven[i] : driven;
        observer->held[i] = (1 - gain * whole) * held + (whole - fresh) * before + fresh * driven;
        observer->driven[i] = driven;
        r[i] = gain * (p - observer->held[i]);
    }
    observer->running = 1;
}
""")

CONTROLLERS = {
    "natural_step": Controller(
        needs=(),
        text=NATURAL_STEP,
        about="natural_step(theta, direction, gain): BODY_PARAMETERS after a step against direction = Y^T (v - vr)",
        inputs=("theta", "direction"),
        like="theta",
        trial=Template(
            f"for (int i = 0; i < 10 * ${{PREFIX}}_NUMBER_OF_BODIES; i++) out[i] = theta[i]; "
            f"${{prefix}}_natural_step(out, direction, {GAIN});"
        ),
        expected=_adapted,
    ),
    "momentum_observer": Controller(
        needs=("momentum",),
        text=OBSERVER,
        about="momentum_observer(observer, q, v, tau, gain, period, r): torques r (nv) from outside, as of contacts",
        inputs=("q", "v", "tau", "period"),
        like="tau",
        trial=Template(
            "static ${prefix}_observer kept; "
            f"${{prefix}}_momentum_observer(&kept, q, v, tau, {GAIN}, period[0], out);"
        ),
        expected=_observed,
    ),
}
