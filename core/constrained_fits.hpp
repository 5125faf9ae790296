// Fits of whole robots held physically consistent, one by one: `fit/posterior` says what is minimised and how.
#pragma once

#include "dense.hpp"

namespace steelyard::STEELYARD_ISA {

// One a body, a body a lane: symmetric 4 x 4 matrices by the triangles of `payload_fits`, off-diagonals times sqrt(2).
struct Bodies {
    Pack x[4][4];
};

STEELYARD_INLINE Pack root(const Pack& x) {
    Pack out;
    for (int lane = 0; lane < LANES; ++lane) out[lane] = std::sqrt(x[lane]);
    return out;
}

// Body triangles from `count` rows of ten numbers; lanes behind them repeat the last.
STEELYARD_INLINE void matrices(const double* y, int count, Bodies& out) {
    int k = 0;
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i <= j; ++i, ++k)
            out.x[i][j] = out.x[j][i] = gather(y + k, 10, count) * (i == j ? 1.0 : std::sqrt(0.5));
}

// Inverse of the lower factor of A, in its lower half.
STEELYARD_INLINE void inverse_factor(const Bodies& A, Bodies& out) {
    Bodies L;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) {
            Pack total = A.x[i][j];
            for (int k = 0; k < j; ++k) total -= L.x[i][k] * L.x[j][k];
            L.x[i][j] = i == j ? 1.0 / root(total) : total * L.x[j][j];  // the diagonal holds its inverse
        }
    for (int j = 0; j < 4; ++j) {
        out.x[j][j] = L.x[j][j];
        for (int i = j + 1; i < 4; ++i) {
            Pack total = all(0);
            for (int k = j; k < i; ++k) total -= L.x[i][k] * out.x[k][j];
            out.x[i][j] = total * L.x[i][i];
        }
    }
}

// F^T F
STEELYARD_INLINE void inverse(const Bodies& F, Bodies& out) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) {
            Pack total = all(0);
            for (int k = i; k < 4; ++k) total += F.x[k][i] * F.x[k][j];
            out.x[i][j] = out.x[j][i] = total;
        }
}

// Eigenvalues of F D F^T by Jacobi rotations; as many sweeps as any 4 x 4 matrix needs.
STEELYARD_INLINE void eigenvalues(const Bodies& F, const Bodies& D, Pack* values) {
    constexpr int SWEEPS = 6;
    Bodies half{}, A{};
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int k = 0; k <= i; ++k) half.x[i][j] += F.x[i][k] * D.x[k][j];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int k = 0; k <= j; ++k) A.x[i][j] += half.x[i][k] * F.x[j][k];
    for (int sweep = 0; sweep < SWEEPS; ++sweep)
        for (int p = 0; p < 3; ++p)
            for (int q = p + 1; q < 4; ++q) {
                const Pack off = 2.0 * A.x[p][q], apart = A.x[q][q] - A.x[p][p];
                const Pack size = root(apart * apart + off * off) + 1e-300;
                const Pack t = off / (apart < 0.0 ? apart - size : apart + size);
                const Pack c = 1.0 / root(1.0 + t * t), s = t * c;
                A.x[p][p] -= t * A.x[p][q];
                A.x[q][q] += t * A.x[p][q];
                A.x[p][q] = A.x[q][p] = all(0);
                for (int k = 0; k < 4; ++k) {
                    if (k == p || k == q) continue;
                    const Pack x = A.x[p][k], y = A.x[q][k];
                    A.x[p][k] = A.x[k][p] = c * x - s * y;
                    A.x[q][k] = A.x[k][q] = s * x + c * y;
                }
            }
    for (int i = 0; i < 4; ++i) values[i] = A.x[i][i];
}

struct FitSpace {
    double *W, *U;                                      // (10 bodies + bounds, size), (size, size)
    double *y, *gradient, *rise, *change, *slope;        // each (size,)
    double* gap;                                        // (bounds,)
    Pack* relative;                                     // changes over slacks, see `lengths`
    Bodies* factor;                                     // by groups of bodies
};

// y = S z; S is upper triangular.
STEELYARD_INLINE void apply(const ConstrainedFit& fit, const double* z, double* y) {
    for (Index i = 0; i < fit.size; ++i) {
        Pack total = all(0);
        for (Index c = i / LANES * LANES; c < fit.size; c += LANES)
            total += read(fit.S + i * fit.size + c) * read(z + c);
        y[i] = sum(total);
    }
}

STEELYARD_INLINE void add_row(const double* row, double factor, Index first, Index size, double* out) {
    for (Index c = first / LANES * LANES; c < size; ++c) out[c] += factor * row[c];
}

// Slacks at y, what the barrier adds to the gradient (rise), and its curvature times S (W), from the first columns that
// `factor` reads.
STEELYARD_INLINE void barrier(const ConstrainedFit& fit, double mu, const FitSpace& s) {
    const Index size = fit.size, cut = 10 * fit.bodies;
    std::memset(s.rise, 0, sizeof(double) * size);
    for (Index first = 0; first < fit.bodies; first += LANES) {
        const int count = static_cast<int>(fit.bodies - first < LANES ? fit.bodies - first : LANES);
        Bodies B, X;
        matrices(s.y + 10 * first, count, B);
        for (int i = 0; i < 4; ++i) B.x[i][i] += 1.0;
        inverse_factor(B, s.factor[first / LANES]);
        inverse(s.factor[first / LANES], X);
        for (int lane = 0; lane < count; ++lane) {
            double x[4][4], curvature[10];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) x[i][j] = X.x[i][j][lane];
            const Index begin = 10 * (first + lane);
            Index k = begin;
            for (int t = 0; t < 4; ++t)
                for (int r = 0; r <= t; ++r, ++k) {
                    add_row(fit.S + k * size, (r == t ? 1 : std::sqrt(2.0)) * x[r][t], k, size, s.rise);
                    int l = 0;
                    for (int b = 0; b < 4; ++b)
                        for (int a = 0; a <= b; ++a, ++l) {
                            const double both = x[r][a] * x[t][b] + x[r][b] * x[t][a];
                            curvature[l] = mu * both * (r == t ? std::sqrt(0.5) : 1) * (a == b ? std::sqrt(0.5) : 1);
                        }
                    double* W = s.W + k * size;
                    for (Index c = begin / TILE * TILE; c < size; c += LANES) {
                        Pack total = all(0);
                        for (int i = 0; i < 10; ++i)
                            total += curvature[i] * read(fit.S + (begin + i) * size + c);
                        write(W + c, total);
                    }
                }
        }
    }
    for (Index b = 0; b < fit.bounds; ++b) {
        const Index row = fit.bounded[b];
        const double* own = fit.S + row * size;
        s.gap[b] = s.y[row] - fit.lower[b];
        add_row(own, 1 / s.gap[b], row, size, s.rise);
        const double weight = mu / (s.gap[b] * s.gap[b]);
        for (Index c = 0; c < size; ++c) s.W[(cut + b) * size + c] = weight * own[c];
    }
}

// Upper factor of I + S^T W into U.
STEELYARD_INLINE void factor(const ConstrainedFit& fit, const FitSpace& s) {
    const Index size = fit.size, cut = 10 * fit.bodies;
    for (Index r = 0; r < size; r += TILE) {
        const Index rows = r + TILE < cut ? r + TILE : cut;
        for (Index c = r; c < size; c += LANES) {
            Pack tile[TILE] = {}, known[TILE] = {};
            for (Index k = 0; k < rows; ++k) add_outer(fit.S + k * size + r, s.W + k * size + c, tile);
            for (Index b = 0; b < fit.bounds; ++b)
                if (fit.bounded[b] < r + TILE)
                    add_outer(fit.S + fit.bounded[b] * size + r, s.W + (cut + b) * size + c, tile);
            for (Index k = 0; k < r; ++k) add_outer(s.U + k * size + r, s.U + k * size + c, known);
            for (int i = 0; i < TILE; ++i) {
                tile[i] -= known[i];
                if (r + i >= c && r + i < c + LANES) tile[i][r + i - c] += 1;
                write(s.U + (r + i) * size + c, tile[i]);
            }
        }
        for (Index i = r; i < r + TILE; ++i) {
            double* own = s.U + i * size;
            for (Index k = r; k < i; ++k) add_row(s.U + k * size, -s.U[k * size + i], r, size, own);
            const double scale = 1 / std::sqrt(own[i]);
            for (Index c = i; c < size; ++c) own[c] *= scale;
        }
    }
}

// Changes of all slacks in a unit step, over the slacks, padded with zeros; returns how many packs.
STEELYARD_INLINE Index relative_changes(const ConstrainedFit& fit, const FitSpace& s) {
    Pack* out = s.relative;
    for (Index first = 0; first < fit.bodies; first += LANES, out += 4) {
        const int count = static_cast<int>(fit.bodies - first < LANES ? fit.bodies - first : LANES);
        Bodies D;
        matrices(s.change + 10 * first, count, D);
        eigenvalues(s.factor[first / LANES], D, out);
        for (int i = 0; i < 4; ++i) mask(out[i], count);
    }
    for (Index b = 0; b < fit.bounds; b += LANES, ++out)
        for (int lane = 0; lane < LANES; ++lane)
            (*out)[lane] = b + lane < fit.bounds ? s.change[fit.bounded[b + lane]] / s.gap[b + lane] : 0;
    return out - s.relative;
}

// The step that minimises `slope t + bend t^2 / 2 - mu sum log(1 + t relative)`, by bisection of its derivative.
STEELYARD_INLINE double step_length(const FitRules& rules, double slope, double bend, double mu, const Pack* relative,
                                    Index packs) {
    double fastest = 0;
    for (Index k = 0; k < packs; ++k)
        for (int lane = 0; lane < LANES; ++lane) fastest = -relative[k][lane] > fastest ? -relative[k][lane] : fastest;
    double low = 0, high = fastest * rules.longest > rules.reach ? rules.reach / fastest : rules.longest;
    for (int halving = 0; halving < rules.halvings; ++halving) {
        const double t = (low + high) / 2;
        Pack total = all(0);
        for (Index k = 0; k < packs; ++k) total += relative[k] / (1.0 + t * relative[k]);
        (slope + bend * t > mu * sum(total) ? high : low) = t;
    }
    return high;
}

// Follows the central path of one fit from mu to the last one, z in place; false where it does not arrive.
static bool follow(const ConstrainedFit& fit, const FitRules& rules, const double* free, double mu, double last,
                   const FitSpace& s, double* z) {
    const Index size = fit.size;
    for (int step = 0; step < rules.steps; ++step) {
        apply(fit, z, s.y);
        barrier(fit, mu, s);
        for (Index i = 0; i < size; ++i) s.gradient[i] = s.slope[i] = z[i] - free[i] - mu * s.rise[i];
        factor(fit, s);
        solve(s.U, size, s.slope);  // Newton's step, with the other sign
        solve(s.U, size, s.rise);   // along the central path
        const bool close = inner(s.slope, s.gradient, size) < rules.close * rules.close * mu;
        double aim = mu;
        if (close) aim = mu * rules.shrink > last ? mu * rules.shrink : last;
        for (Index i = 0; i < size; ++i) s.slope[i] = (aim - mu) * s.rise[i] - s.slope[i];
        apply(fit, s.slope, s.change);
        for (Index i = 0; i < size; ++i) s.gradient[i] = z[i] - free[i];
        const Index packs = relative_changes(fit, s);
        const double length = step_length(rules, inner(s.slope, s.gradient, size), inner(s.slope, s.slope, size), aim,
                                          s.relative, packs);
        for (Index i = 0; i < size; ++i) z[i] += length * s.slope[i];
        if (close && mu <= last) return z[0] == z[0];
        mu = aim;
    }
    return false;
}

}  // namespace steelyard::STEELYARD_ISA
