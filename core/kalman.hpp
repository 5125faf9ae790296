// Kalman filter and Rauch-Tung-Striebel smoother of value, rate and acceleration, and of rotations:
// `tests/twins` has the same in Python.
#pragma once

#include <cstdint>
#include <cstring>

#include "small_matrices.hpp"

namespace steelyard {

using Count = std::int64_t;
using Three = Square<3>;

inline void transition(double dt, Three& F) {
    const Three made = {{1, dt, 0.5 * dt * dt}, {0, 1, dt}, {0, 0, 1}};
    std::memcpy(F, made, sizeof made);
}

// Covariance after dt of a triple integrator driven by white jerk of density q.
inline void predict(const Three& P, double dt, double q, Three& out) {
    Three F, half;
    transition(dt, F);
    product<3>(F, P, half);
    product_transposed<3>(half, F, out);
    const double d2 = dt * dt, d3 = d2 * dt;
    const Three noise = {{d2 * d3 / 20, d2 * d2 / 8, d3 / 6}, {d2 * d2 / 8, d3 / 3, d2 / 2}, {d3 / 6, d2 / 2, dt}};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) out[i][j] += q * noise[i][j];
}

// Gain and covariance after a measurement of the value; returns the innovation variance.
inline double update(const Three& P, double sigma, double* gain, Three& out) {
    const double S = P[0][0] + sigma * sigma;
    for (int i = 0; i < 3; ++i) gain[i] = P[i][0] / S;
    Three made;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) made[i][j] = P[i][j] - gain[i] * P[0][j];
    std::memcpy(out, made, sizeof made);
    return S;
}

// P F^T predicted^-1
inline void smoother_gain(const Three& P, const Three& predicted, double dt, Three& out) {
    const double a = predicted[0][0], b = predicted[0][1], c = predicted[0][2], d = predicted[1][1],
                 e = predicted[1][2], f = predicted[2][2];
    const double determinant = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d);
    const double xx = (d * f - e * e) / determinant, yy = (a * f - c * c) / determinant,
                 zz = (a * d - b * b) / determinant, xy = (c * e - b * f) / determinant,
                 xz = (b * e - c * d) / determinant, yz = (b * c - a * e) / determinant;
    const Three inverse = {{xx, xy, xz}, {xy, yy, yz}, {xz, yz, zz}};
    Three F, half;
    transition(dt, F);
    product_transposed<3>(P, F, half);
    product<3>(half, inverse, out);
}

// Everything that does not depend on the measurements. predicted: (n, 3, 3) of scratch.
inline void covariances(const double* t, Count n, double sigma, double q, bool smooth, double rate_spread,
                        double acceleration_spread, double (*gains)[3], Three* back, double* S, Three* P,
                        Three* predicted) {
    std::memset(gains, 0, sizeof(double) * 3 * n);
    std::memset(back, 0, sizeof(Three) * n);
    std::memset(P, 0, sizeof(Three) * n);
    if (n == 0) return;
    S[0] = 1;
    P[0][0][0] = sigma * sigma;
    P[0][1][1] = rate_spread * rate_spread;
    P[0][2][2] = acceleration_spread * acceleration_spread;
    for (Count k = 1; k < n; ++k) {
        predict(P[k - 1], t[k] - t[k - 1], q, predicted[k]);
        S[k] = update(predicted[k], sigma, gains[k], P[k]);
    }
    for (Count k = n - 2; smooth && k >= 0; --k) {
        Three change, half, more;
        smoother_gain(P[k], predicted[k + 1], t[k + 1] - t[k], back[k]);
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) change[i][j] = P[k + 1][i][j] - predicted[k + 1][i][j];
        product<3>(back[k], change, half);
        product_transposed<3>(half, back[k], more);
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) P[k][i][j] += more[i][j];
    }
}

// x, xp: (3, n, m), the latter scratch; x[0..2][0] hold the first state.
inline void filter_vector(const double* t, Count n, Count m, const double* measured, const double (*gains)[3],
                          const Three* back, bool smooth, double* x, double* xp, double* innovations) {
    const Count size = n * m;
    std::memset(innovations, 0, sizeof(double) * n);
    for (Count k = 1; k < n; ++k) {
        const double dt = t[k] - t[k - 1], *g = gains[k];
        for (Count i = k * m; i < (k + 1) * m; ++i) {
            const double value = x[i - m], rate = x[size + i - m], acceleration = x[2 * size + i - m];
            xp[i] = value + dt * rate + 0.5 * dt * dt * acceleration;
            xp[size + i] = rate + dt * acceleration;
            xp[2 * size + i] = acceleration;
            const double e = measured[i] - xp[i];
            innovations[k] += e * e;
            for (int s = 0; s < 3; ++s) x[s * size + i] = xp[s * size + i] + g[s] * e;
        }
    }
    for (Count k = n - 2; smooth && k >= 0; --k)
        for (Count i = k * m; i < (k + 1) * m; ++i) {
            double d[3];
            for (int s = 0; s < 3; ++s) d[s] = x[s * size + i + m] - xp[s * size + i + m];
            for (int s = 0; s < 3; ++s)
                x[s * size + i] += back[k][s][0] * d[0] + back[k][s][1] * d[1] + back[k][s][2] * d[2];
        }
}

// Rotation of a rotation vector.
inline void exponential(const double* u, Three& out) {
    const double x = u[0], y = u[1], z = u[2], square = x * x + y * y + z * z, angle = std::sqrt(square);
    const bool far = angle > 1e-6;
    const double s = far ? std::sin(angle) / angle : 1 - square / 6;
    const double c = far ? (1 - std::cos(angle)) / square : 0.5 - square / 24;
    const Three made = {{1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y},
                        {c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x},
                        {c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)}};
    std::memcpy(out, made, sizeof made);
}

// Rotation vector of A^T B for rotations less than half a turn apart.
inline void logarithm(const Three& A, const Three& B, double* out) {
    double trace = 0;
    for (int i = 0; i < 3; ++i) {
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        double low = 0, high = 0;
        for (int j = 0; j < 3; ++j) {
            trace += A[j][i] * B[j][i];
            low += A[j][b] * B[j][a];
            high += A[j][a] * B[j][b];
        }
        out[i] = 0.5 * (low - high);
    }
    const double sine = std::sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    const double scale = sine > 1e-9 ? std::atan2(sine, 0.5 * (trace - 1)) / sine : 1.0;
    for (int i = 0; i < 3; ++i) out[i] *= scale;
}

struct RotationState {
    Three* R;
    double (*w)[3];
    double (*al)[3];
};

inline void filter_rotation(const double* t, Count n, const Three* measured, const double (*gains)[3],
                            const Three* back, bool smooth, RotationState found, RotationState predicted,
                            double* innovations) {
    Three turn, turned;
    double e[3], u[3];
    std::memset(innovations, 0, sizeof(double) * n);
    if (n == 0) return;
    std::memcpy(found.R[0], measured[0], sizeof(Three));
    std::memset(found.w[0], 0, sizeof e);
    std::memset(found.al[0], 0, sizeof e);
    for (Count k = 1; k < n; ++k) {
        const double dt = t[k] - t[k - 1], *g = gains[k];
        for (int i = 0; i < 3; ++i) {
            u[i] = found.w[k - 1][i] * dt + 0.5 * dt * dt * found.al[k - 1][i];
            predicted.w[k][i] = found.w[k - 1][i] + dt * found.al[k - 1][i];
            predicted.al[k][i] = found.al[k - 1][i];
        }
        exponential(u, turn);
        product<3>(found.R[k - 1], turn, predicted.R[k]);
        logarithm(predicted.R[k], measured[k], e);
        for (int i = 0; i < 3; ++i) {
            innovations[k] += e[i] * e[i];
            u[i] = g[0] * e[i];
            found.w[k][i] = predicted.w[k][i] + g[1] * e[i];
            found.al[k][i] = predicted.al[k][i] + g[2] * e[i];
        }
        exponential(u, turn);
        product<3>(predicted.R[k], turn, found.R[k]);
    }
    for (Count k = n - 2; smooth && k >= 0; --k) {
        const Three& C = back[k];
        logarithm(predicted.R[k + 1], found.R[k + 1], e);
        for (int i = 0; i < 3; ++i) {
            const double dw = found.w[k + 1][i] - predicted.w[k + 1][i],
                         da = found.al[k + 1][i] - predicted.al[k + 1][i];
            u[i] = C[0][0] * e[i] + C[0][1] * dw + C[0][2] * da;
            found.w[k][i] += C[1][0] * e[i] + C[1][1] * dw + C[1][2] * da;
            found.al[k][i] += C[2][0] * e[i] + C[2][1] * dw + C[2][2] * da;
        }
        exponential(u, turn);
        product<3>(found.R[k], turn, turned);
        std::memcpy(found.R[k], turned, sizeof turned);
    }
}

// One step of both filters, in place. x: position, velocity, acceleration.
inline void track(double dt, const Three& R_measured, const double* p_measured, const double* sigma, const double* q,
                  Three& R, double* w, double* al, Three& x, Three* P) {
    Three predicted, turn, turned;
    double gain[3], e[3], u[3];
    predict(P[0], dt, q[0], predicted);
    update(predicted, sigma[0], gain, P[0]);
    for (int i = 0; i < 3; ++i) {
        x[0][i] += dt * x[1][i] + 0.5 * dt * dt * x[2][i];
        x[1][i] += dt * x[2][i];
        const double miss = p_measured[i] - x[0][i];
        for (int s = 0; s < 3; ++s) x[s][i] += gain[s] * miss;
    }
    predict(P[1], dt, q[1], predicted);
    update(predicted, sigma[1], gain, P[1]);
    for (int i = 0; i < 3; ++i) {
        u[i] = w[i] * dt + 0.5 * dt * dt * al[i];
        w[i] += dt * al[i];
    }
    exponential(u, turn);
    product<3>(R, turn, turned);
    logarithm(turned, R_measured, e);
    for (int i = 0; i < 3; ++i) {
        u[i] = gain[0] * e[i];
        w[i] += gain[1] * e[i];
        al[i] += gain[2] * e[i];
    }
    exponential(u, turn);
    product<3>(turned, turn, R);
}

}  // namespace steelyard
