// Fits of one body's ten parameters: damped Newton steps, many entropic fits, and the online estimator. A body is its
// triangle w (10) of a 4 x 4 matrix W, off-diagonals times sqrt(2): `payload/central_path`, `payload/entropic` and
// `payload/online` say what is minimised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "small_matrices.hpp"

namespace steelyard {

using Four = Square<4>;
using Ten = Square<10>;

constexpr int ROW[10] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3}, COLUMN[10] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3};
const double ROOT2 = std::sqrt(2.0);

inline double share(int k) { return ROW[k] == COLUMN[k] ? 1.0 : ROOT2; }

inline void matrix(const double* w, Four& W) {
    for (int k = 0; k < 10; ++k) W[ROW[k]][COLUMN[k]] = W[COLUMN[k]][ROW[k]] = w[k] / share(k);
}

inline void unit(Four& W, double size) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) W[i][j] = i == j ? size : 0;
}

// (L L^T)^-1
inline void invert(const Four& L, Four& X) {
    for (int j = 0; j < 4; ++j) {
        double x[4] = {};
        x[j] = 1;
        solve<4>(L, x);
        for (int i = 0; i < 4; ++i) X[i][j] = x[i];
    }
}

// Entry of the matrix of `w -> triangle(X W X)` between entries i and j of the triangle.
inline double congruence(const Four& X, int i, int j) {
    const int r = ROW[i], c = COLUMN[i], s = ROW[j], t = COLUMN[j];
    if (r == c && s == t) return X[r][s] * X[r][s];
    if (r == c) return ROOT2 * X[r][s] * X[r][t];
    if (s == t) return ROOT2 * X[r][s] * X[c][s];
    return X[r][s] * X[c][t] + X[r][t] * X[c][s];
}

// Hessian of `1/2 w^T gram w - pull . w - log det W`, X the inverse of W.
inline void hessian(const Ten& gram, const Four& X, Ten& H) {
    for (int i = 0; i < 10; ++i)
        for (int j = 0; j <= i; ++j) H[i][j] = H[j][i] = gram[i][j] + congruence(X, i, j);
}

// pull - gram w + triangle(X): minus the gradient where X is the inverse of W.
inline void residual_at(const Ten& gram, const double* pull, const double* w, const Four& X, double* out) {
    for (int i = 0; i < 10; ++i) {
        out[i] = pull[i] + share(i) * X[ROW[i]][COLUMN[i]];
        for (int j = 0; j < 10; ++j) out[i] -= gram[i][j] * w[j];
    }
}

struct NewtonRules {
    double converged;
    int halvings;
};

// Damped Newton steps, eigenvalues of W above a margin; H and its factor L are left at the last point. False where
// they are not. left: squared decrement there, which is far below one at the minimum.
inline bool newton(const Ten& gram, const double* pull, double* w, Ten& H, Ten& L, int steps, double margin,
                   const NewtonRules& rules, double* left = nullptr) {
    Four W, X, C;
    double step[10], slope[10], trial[10];
    for (int turn = 0; turn <= steps; ++turn) {
        matrix(w, W);
        if (!cholesky<4>(W, C)) return false;
        invert(C, X);
        hessian(gram, X, H);
        if (!cholesky<10>(H, L)) return false;
        if (turn == steps && !left) return true;
        residual_at(gram, pull, w, X, slope);
        std::memcpy(step, slope, sizeof step);
        solve<10>(L, step);
        double decrement = 0, size = 0;
        for (int i = 0; i < 10; ++i) {
            decrement += step[i] * slope[i];
            for (int j = 0; j < 10; ++j) size += w[i] * gram[i][j] * w[j];
        }
        if (!(decrement < std::numeric_limits<double>::infinity())) return false;
        if (left) *left = decrement;
        if (turn == steps) return true;
        if (decrement < rules.converged * std::max(1.0, size)) return true;
        double length = 1;
        for (int halving = 0; halving < rules.halvings; ++halving, length *= 0.5) {
            for (int i = 0; i < 10; ++i) trial[i] = w[i] + length * step[i];
            matrix(trial, W);
            for (int i = 0; i < 4; ++i) W[i][i] -= margin;
            if (!cholesky<4>(W, C)) continue;
            for (int i = 0; i < 10; ++i) w[i] += (length == 1 ? length : 0.9 * length) * step[i];
            break;
        }
    }
    return true;
}

// Eigenvalues and axes (columns) by Jacobi rotations; A becomes diagonal.
inline void eigen(Four& A, double* values, Four& axes) {
    constexpr int SWEEPS = 20;
    constexpr double DIAGONAL = 1e-32;
    unit(axes, 1);
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        double off = 0, on = 0;
        for (int i = 0; i < 4; ++i) {
            on += A[i][i] * A[i][i];
            for (int j = i + 1; j < 4; ++j) off += A[i][j] * A[i][j];
        }
        if (off <= DIAGONAL * on) break;
        for (int p = 0; p < 3; ++p)
            for (int q = p + 1; q < 4; ++q) {
                if (A[p][q] == 0) continue;
                const double tau = (A[q][q] - A[p][p]) / (2 * A[p][q]);
                const double t = (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
                const double c = 1 / std::sqrt(1 + t * t), s = t * c;
                const auto rotate = [&](double& x, double& y) {
                    const double held = c * x - s * y;
                    y = s * x + c * y;
                    x = held;
                };
                for (int k = 0; k < 4; ++k) rotate(A[k][p], A[k][q]);
                for (int k = 0; k < 4; ++k) rotate(A[p][k], A[q][k]);
                for (int k = 0; k < 4; ++k) rotate(axes[k][p], axes[k][q]);
            }
    }
    for (int i = 0; i < 4; ++i) values[i] = A[i][i];
}

struct PathRules {
    int steps, polish, trials;
    double centered, accepted, boundary, shorter;
    NewtonRules newton;
};

// A pair W, S scaled so that both are diag(point): scaling = diag(sqrt(point)) axes^T L^-1, and its inverse.
struct Scaled {
    double point[4];
    Four scaling, back;

    void set(const Four& L, const Four& axes) {
        for (int i = 0; i < 4; ++i)
            for (int j = 3; j >= 0; --j) {
                double total = axes[j][i] * std::sqrt(point[i]);
                for (int k = j + 1; k < 4; ++k) total -= L[k][j] * scaling[i][k];
                scaling[i][j] = total / L[j][j];
            }
        product<4>(L, axes, back);
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) back[i][j] /= std::sqrt(point[j]);
    }

    // Longest step that keeps both matrices positive, with room.
    double length(const Four& dW, const Four& dS, double boundary, const PathRules& rules) const {
        double length = 1;
        for (int trial = 0; trial < rules.trials; ++trial, length *= rules.shorter)
            if (inside(dS, length / boundary) && inside(dW, length / boundary)) return length;
        return 0;
    }

    double gap_after(const Four& dW, const Four& dS, double length) const {
        double after = 0;
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) {
                const double own = i == j ? point[i] : 0;
                after += 0.25 * (own + length * dW[i][j]) * (own + length * dS[i][j]);
            }
        return after;
    }

    // Steps to a scaled complementarity.
    void step_to(const Four& target, const Ten& factor, const double* residual, Four& dW, Four& dS) const {
        Four half, push;
        double step[10];
        transposed_product<4>(scaling, target, half);
        product<4>(half, scaling, push);
        for (int i = 0; i < 10; ++i) step[i] = residual[i] + share(i) * push[ROW[i]][COLUMN[i]];
        solve<10>(factor, step);
        matrix(step, push);
        product<4>(scaling, push, half);
        product_transposed<4>(half, scaling, dW);
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j) dS[i][j] = target[i][j] - dW[i][j];
            dS[i][i] -= point[i];
        }
    }

   private:
    bool inside(const Four& step, double length) const {
        Four trial, L;
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j) trial[i][j] = length * step[i][j];
            trial[i][i] += point[i];
        }
        return cholesky<4>(trial, L);
    }
};

// `entropic._central_point`: w in place. Returns the distance from the central path.
inline double central_point(const Ten& gram, const double* pull, double* w, const PathRules& rules) {
    const double infinite = std::numeric_limits<double>::infinity();
    Four W, S, L{}, M{}, axes, dW, dS, target, half;
    Ten H, K;
    Scaled pair;
    double values[4], residual[10], size = 0;
    matrix(w, W);
    residual_at(gram, pull, w, M, residual);
    for (double each : residual) size += each * each;
    unit(S, std::max(1.0, std::sqrt(size)));
    double distance = infinite;
    for (int turn = 0; turn < rules.steps; ++turn) {
        if (!cholesky<4>(W, L)) return infinite;
        transposed_product<4>(L, S, half);
        product<4>(half, L, M);
        eigen(M, values, axes);
        double gap = 0;
        distance = 0;
        for (int i = 0; i < 4; ++i) {
            distance = std::max(distance, std::fabs(values[i] - 1));
            gap += 0.25 * values[i];
            pair.point[i] = std::sqrt(values[i]);
        }
        if (!(distance < infinite) || distance < rules.centered) return distance;
        pair.set(L, axes);
        transposed_product<4>(pair.scaling, pair.scaling, M);
        hessian(gram, M, H);
        if (!cholesky<10>(H, K)) return infinite;
        unit(M, 0);
        residual_at(gram, pull, w, M, residual);
        unit(target, 0);
        for (int i = 0; i < 4; ++i) target[i][i] = 1 / pair.point[i];
        pair.step_to(target, K, residual, dW, dS);
        const double after = pair.gap_after(dW, dS, pair.length(dW, dS, 1.0, rules));
        const double ratio = gap > 1 ? std::min(1.0, std::max(0.0, after - 1) / (gap - 1)) : 0;
        product<4>(dW, dS, M);
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j) target[i][j] = -(M[i][j] + M[j][i]) / (pair.point[i] + pair.point[j]);
            target[i][i] += std::max(1.0, ratio * ratio * ratio * gap) / pair.point[i];
        }
        pair.step_to(target, K, residual, dW, dS);
        const double length = pair.length(dW, dS, rules.boundary, rules);
        product<4>(pair.back, dW, M);
        product_transposed<4>(M, pair.back, half);
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) W[i][j] += length * half[i][j];
        transposed_product<4>(pair.scaling, dS, M);
        product<4>(M, pair.scaling, half);
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) S[i][j] += length * half[i][j];
        for (int i = 0; i < 10; ++i) w[i] = share(i) * W[ROW[i]][COLUMN[i]];
    }
    return distance;
}

// One entropic fit; the inverse of the Hessian into spread. False where it does not converge.
inline bool entropic(const Ten& gram, const double* pull, double* w, Ten& spread, const PathRules& rules) {
    Ten H, K;
    for (int i = 0; i < 10; ++i) w[i] = ROW[i] == COLUMN[i];
    if (!(central_point(gram, pull, w, rules) < rules.accepted)) return false;
    if (!newton(gram, pull, w, H, K, rules.polish, 0.0, rules.newton)) return false;
    for (int j = 0; j < 10; ++j) {
        double column[10] = {};
        column[j] = 1;
        solve<10>(K, column);
        for (int i = 0; i < 10; ++i) spread[i][j] = column[i];
    }
    return true;
}

}  // namespace steelyard
