// Scales of priors and noise by evidence: `fit/evidence` says what is looked for. Columns of one joint are eliminated.
#pragma once

#include "dense.hpp"

namespace steelyard::STEELYARD_ISA {

struct EvidenceSpace {
    double *half, *gain, *inverse, *S;         // of local columns, and what their elimination leaves of Gss
    double *root, *back, *turned, *pulled;     // of one row group
    double *best, *precision;                  // (g, m) of local columns
    double *variance;                          // (g, m, m) covariance of local columns
    double *data, *moment;                     // (s, s), (s,) of the data
    double *P;                                 // (bodies, 10, 10) precision of the priors of links
    double *rest;                              // (s,) of the priors of all else
    double *U, *W, *C, *size;                  // of the posterior: factor, (size U^-1)^T, covariance
    double *free, *half_free, *prior;          // directions left by equalities; covariance that the priors have there
    double *slope, *step, *moved, *here;       // (s,), here of one row group
    double *deviation;                         // (p,)
    double *told, *square, *pull;              // of groups: precision times variance, and squares; (bodies, 10) slopes
    double *push, *pushed, *J, *turn;          // of scales: (s, n), (s, n), (n, n); (2 n + g,) or (f,)
    double *prior_U, *prior_size;              // (f, f), (f,), or of one body
};

struct Sizes {
    Index s, m, f, n;  // shared and local columns, directions, scales that are stepped together; whole tiles
};

STEELYARD_INLINE Sizes sizes_of(const Evidence& e) {
    return {tiled(e.shared_count), e.local_count, e.told ? tiled(e.directions) : tiled(e.shared_count),
            tiled(e.bodies + e.groups)};
}

struct State {
    double *links, *groups, *noise, *x;
    double log_det;  // of what belongs to local columns
};

// Pseudo-inertia of ten parameters, as of `inertia/pseudo`.
STEELYARD_INLINE void matrix_of(const double* theta, double (*J)[4]) {
    const double half = (theta[4] + theta[6] + theta[9]) / 2;
    J[0][0] = half - theta[4], J[1][1] = half - theta[6], J[2][2] = half - theta[9], J[3][3] = theta[0];
    J[0][1] = J[1][0] = -theta[5], J[0][2] = J[2][0] = -theta[7], J[1][2] = J[2][1] = -theta[8];
    for (int i = 0; i < 3; ++i) J[i][3] = J[3][i] = theta[1 + i];
}

// The slope by theta of a function with the slope G by J.
STEELYARD_INLINE void to_parameters(const double (*G)[4], double* out) {
    const double half = (G[0][0] + G[1][1] + G[2][2]) / 2;
    out[0] = G[3][3];
    for (int i = 0; i < 3; ++i) out[1 + i] = 2 * G[i][3];
    out[4] = half - G[0][0], out[6] = half - G[1][1], out[9] = half - G[2][2];
    out[5] = -2 * G[0][1], out[7] = -2 * G[0][2], out[8] = -2 * G[1][2];
}

// The inverse of J and the logarithm of its determinant; false where it is not positive definite.
STEELYARD_INLINE bool inverted(const double (*J)[4], double (*X)[4], double& log_det) {
    double L[4][4], back[4][4] = {};
    log_det = 0;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) {
            double total = J[i][j];
            for (int k = 0; k < j; ++k) total -= L[i][k] * L[j][k];
            if (i == j && !(total > 0)) return false;
            L[i][j] = i == j ? std::sqrt(total) : total / L[j][j];
        }
    for (int j = 0; j < 4; ++j) {
        log_det += 2 * std::log(L[j][j]);
        for (int i = j; i < 4; ++i) {
            double total = i == j;
            for (int k = j; k < i; ++k) total -= L[i][k] * back[k][j];
            back[i][j] = total / L[i][i];
        }
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            X[i][j] = 0;
            for (int k = i > j ? i : j; k < 4; ++k) X[i][j] += back[k][i] * back[k][j];
        }
    return true;
}

// Entropic divergence of theta from theta0, and its slope.
STEELYARD_INLINE bool divergence(const double* theta0, const double* theta, double& value, double* slope) {
    double J0[4][4], J[4][4], X0[4][4], X[4][4], log0, log1;
    value = 0;
    std::memset(slope, 0, sizeof(double) * 10);
    matrix_of(theta0, J0), matrix_of(theta, J);
    if (!inverted(J0, X0, log0) || !inverted(J, X, log1)) return false;
    value = log0 - log1 - 4;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) value += X0[i][j] * J[i][j], X0[i][j] -= X[i][j];
    to_parameters(X0, slope);
    return true;
}

// Second derivatives of the divergence, times lambda.
STEELYARD_INLINE bool second_derivatives(const double* theta, double lambda, double* out) {
    double J[4][4], X[4][4], log_det;
    matrix_of(theta, J);
    if (!inverted(J, X, log_det)) return false;
    for (int c = 0; c < 10; ++c) {
        double unit[10] = {}, M[4][4], half[4][4], whole[4][4];
        unit[c] = lambda;
        matrix_of(unit, M);
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) {
                half[i][j] = 0;
                for (int k = 0; k < 4; ++k) half[i][j] += X[i][k] * M[k][j];
            }
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) {
                whole[i][j] = 0;
                for (int k = 0; k < 4; ++k) whole[i][j] += half[i][k] * X[k][j];
            }
        to_parameters(whole, out + 10 * c);
    }
    return true;
}

// What one row group has: its tiles of shared columns, how many columns these are, its local columns, and where its
// parts begin.
struct Group {
    const Index* tiles;
    Index width, local, begin, square, strip;
};

struct Walk {
    const Evidence& e;
    Sizes n;
    Index square = 0, strip = 0;

    Group at(Index g) {
        const Index first = e.tile_start[g], end = e.tile_start[g + 1];
        Group out{e.tiles + first, TILE * (end - first), 0, TILE * first, square, strip};
        while (out.local < n.m && e.local[g * n.m + out.local] >= 0) ++out.local;
        square += out.width * out.width;
        strip += out.width * n.m;
        return out;
    }
};

// What a row group has of a vector (s,).
STEELYARD_INLINE void take(const Group& own, const double* x, double* out) {
    for (Index t = 0; t < own.width; t += TILE)
        std::memcpy(out + t, x + TILE * own.tiles[t / TILE], sizeof(double) * TILE);
}

// Local columns eliminated at given scales: what is left of data (s, s) and moment (s,). Adds to log_det.
static bool weigh(const Evidence& e, const Sizes& n, const EvidenceSpace& s, State& state) {
    for (Index c = 0; c < e.columns; ++c)
        s.deviation[c] = e.unit[c] * (e.group[c] < 0 ? 1.0 : std::exp(state.groups[e.group[c]]));
    std::memset(s.data, 0, sizeof(double) * n.s * n.s);
    std::memset(s.moment, 0, sizeof(double) * n.s);
    Walk walk{e, n};
    state.log_det = 0;
    for (Index g = 0; g < e.rows; ++g) {
        const Group own = walk.at(g);
        const Index width = own.width, m = n.m;
        const double weight = e.share * std::exp(-2 * state.noise[g]);
        double *S = s.S + own.square, *half = s.half + own.strip, *gain = s.gain + own.strip;
        const double *Gss = e.Gss + own.square, *Gls = e.Gls + own.strip, *bs = e.bs + own.begin;
        if (own.local) {
            double *precision = s.precision + g * m, *best = s.best + g * m, *inverse = s.inverse + g * m * m, log_root;
            for (Index k = 0; k < m * m; ++k) s.root[k] = weight * e.Gll[g * m * m + k];
            for (Index k = 0; k < m; ++k) {
                const Index column = k < own.local ? e.local[g * n.m + k] : -1;
                const double deviation = column < 0 ? 1.0 : s.deviation[column];
                precision[k] = 1 / (deviation * deviation);
                s.root[k * m + k] += precision[k];
                s.pulled[k] = 0;
                if (column < 0) continue;
                s.pulled[k] = weight * e.bl[g * m + k] - (e.start[column] - e.middle[column]) * precision[k];
                state.log_det += 2 * std::log(deviation);
            }
            if (!scaled_factor(s.root, m, e.jitter, s.turned, log_root)) return false;
            state.log_det += log_root;
            std::memset(s.back, 0, sizeof(double) * m * m);
            for (Index k = 0; k < m; ++k) {
                s.back[k * m + k] = s.turned[k];
                for (Index c = 0; c < width; ++c) half[k * width + c] = s.turned[k] * weight * Gls[k * width + c];
            }
            forward(s.root, m, s.back, m, true);
            forward(s.root, m, half, width, false);  // whose square has no rounding times the condition of the root
            transposed_product(s.back, m, s.back, m, m, Shape::SYMMETRIC_OF_LOWER, inverse);
            mirror(inverse, m);
            transposed_product(s.back, m, half, width, m, Shape::LOWER_A, gain);
            for (Index k = 0; k < m; ++k) best[k] = inner(inverse + k * m, s.pulled, m);
            transposed_product(half, width, half, width, m, Shape::SYMMETRIC, S);
        }
        for (Index i = 0; i < width; ++i) s.here[i] = weight * bs[i];
        for (Index k = 0; k < own.local; ++k)
            for (Index i = 0; i < width; ++i) s.here[i] -= weight * s.best[g * m + k] * Gls[k * width + i];
        for (Index t = 0; t < width; t += TILE)
            for (Index i = t; i < t + TILE; ++i) {
                const Index row = own.tiles[t / TILE] * TILE + i - t;
                s.moment[row] += s.here[i];
                for (Index c = t; c < width; c += TILE) {
                    double* out = s.data + row * n.s + own.tiles[c / TILE] * TILE;
                    for (int j = 0; j < TILE; j += LANES) {
                        Pack left = weight * read(Gss + i * width + c + j);
                        if (own.local) {
                            left -= read(S + i * width + c + j);
                            write(S + i * width + c + j, left);
                        }
                        write(out + j, read(out + j) + left);
                    }
                }
            }
    }
    mirror(s.data, n.s);
    return true;
}

// A <- F^T A F of symmetric A, F the directions that equalities leave; or A itself where there are none. A: (s, s).
static void reduce(const Evidence& e, const Sizes& n, const EvidenceSpace& s, double* A, double* out) {
    if (e.told) {
        transposed_product(A, n.s, s.free, n.f, n.s, Shape::GENERAL, s.half_free);
        transposed_product(s.free, n.f, s.half_free, n.f, n.s, Shape::SYMMETRIC, out);
    } else if (A != out) {
        std::memcpy(out, A, sizeof(double) * n.s * n.s);
    }
    for (Index i = e.told ? e.directions : e.shared_count; i < n.f; ++i) out[i * n.f + i] = 1;
}

// The covariance F (U^T U)^-1 F^T of a scaled factor.
static void spread(const Evidence& e, const Sizes& n, const EvidenceSpace& s, const double* U, const double* size,
                   double* C) {
    std::memset(s.W, 0, sizeof(double) * n.f * n.s);
    for (Index i = 0; i < n.f; ++i)
        if (e.told)
            for (Index j = 0; j < n.s; ++j) s.W[i * n.s + j] = size[i] * s.free[j * n.f + i];
        else
            s.W[i * n.s + i] = i < e.shared_count ? size[i] : 0;
    forward(U, n.f, s.W, n.s, !e.told);
    transposed_product(s.W, n.s, s.W, n.s, n.f, e.told ? Shape::SYMMETRIC : Shape::SYMMETRIC_OF_LOWER, C);
    mirror(C, n.s);
}

STEELYARD_INLINE void add_prior(const Evidence& e, const Sizes& n, const EvidenceSpace& s, double* A) {
    for (Index b = 0; b < e.bodies; ++b)
        for (int i = 0; i < 10; ++i)
            for (int j = 0; j < 10; ++j) A[(10 * b + i) * n.s + 10 * b + j] += s.P[100 * b + 10 * i + j];
    for (Index i = 10 * e.bodies; i < e.shared_count; ++i) A[i * n.s + i] += s.rest[i];
}

// Slope and factor of the posterior at x, local columns eliminated, the Newton step from there and its decrement;
// log_det of the posterior precision less that of the prior.
static bool place(const Evidence& e, const Sizes& n, const EvidenceSpace& s, const State& state, double& log_det,
                  double& decrement) {
    const Index links = 10 * e.bodies;
    const double* x = state.x;
    double logarithm;
    log_det = state.log_det;
    std::memset(s.moved, 0, sizeof(double) * n.s);
    for (Index i = 0; i < e.shared_count; ++i) s.moved[i] = x[e.shared[i]] - e.start[e.shared[i]];
    for (Index i = 0; i < n.s; ++i) s.slope[i] = s.moment[i] - inner(s.data + i * n.s, s.moved, n.s);
    for (Index b = 0; b < e.bodies; ++b) {
        const double lambda = std::exp(state.links[b]);
        double value, slope[10];
        if (!second_derivatives(x + 10 * b, lambda, s.P + 100 * b)) return false;
        if (!divergence(e.theta0 + 10 * b, x + 10 * b, value, slope)) return false;
        for (int i = 0; i < 10; ++i) s.slope[10 * b + i] -= lambda * slope[i];
    }
    for (Index i = links; i < e.shared_count; ++i) {
        const Index column = e.shared[i];
        s.rest[i] = 1 / (s.deviation[column] * s.deviation[column]);
        s.slope[i] -= (x[column] - e.middle[column]) * s.rest[i];
    }
    if (e.told) {
        std::memset(s.C, 0, sizeof(double) * n.s * n.s);
        add_prior(e, n, s, s.C);
        reduce(e, n, s, s.C, s.prior_U);
        if (!scaled_factor(s.prior_U, n.f, e.jitter, s.prior_size, logarithm)) return false;
        log_det -= logarithm;
    } else {
        for (Index b = 0; b < e.bodies; ++b) {
            constexpr Index WIDE = 16;
            std::memset(s.prior_U, 0, sizeof(double) * WIDE * WIDE);
            for (Index i = 0; i < WIDE; ++i)
                for (Index j = 0; j < WIDE; ++j)
                    s.prior_U[i * WIDE + j] = i < 10 && j < 10 ? s.P[100 * b + 10 * i + j] : i == j;
            if (!scaled_factor(s.prior_U, WIDE, e.jitter, s.prior_size, logarithm)) return false;
            log_det -= logarithm;
        }
        for (Index i = links; i < e.shared_count; ++i) log_det -= std::log(s.rest[i]);
    }
    std::memcpy(s.C, s.data, sizeof(double) * n.s * n.s);
    add_prior(e, n, s, s.C);
    reduce(e, n, s, s.C, s.U);
    if (!scaled_factor(s.U, n.f, e.jitter, s.size, logarithm)) return false;
    log_det += logarithm;
    std::memset(s.step, 0, sizeof(double) * n.s);
    double* y = e.told ? s.turn : s.step;
    for (Index i = 0; i < n.f; ++i) {
        y[i] = e.told ? 0 : s.slope[i];
        for (Index j = 0; e.told && j < n.s; ++j) y[i] += s.free[j * n.f + i] * s.slope[j];
        y[i] *= s.size[i];
    }
    solve(s.U, n.f, y);
    for (Index i = 0; i < n.f; ++i) y[i] *= s.size[i];
    for (Index j = 0; e.told && j < n.s; ++j) s.step[j] = inner(s.free + j * n.f, y, n.f);
    decrement = inner(s.slope, s.step, n.s);
    return true;
}

// Takes the damped Newton step: whole up to a length in the metric of the divergence; local columns follow.
static void take_step(const Evidence& e, const Sizes& n, const EvidenceSpace& s, State& state) {
    double longest = 0;
    for (Index b = 0; b < e.bodies; ++b) {
        double square = 0;
        const double* step = s.step + 10 * b;
        for (int i = 0; i < 10; ++i)
            for (int j = 0; j < 10; ++j) square += step[i] * s.P[100 * b + 10 * i + j] * step[j];
        square /= std::exp(state.links[b]);
        longest = square > longest ? square : longest;
    }
    const double length = std::sqrt(longest), taken = length < e.near ? 1 : 1 / (1 + length);
    for (Index i = 0; i < e.shared_count; ++i) {
        state.x[e.shared[i]] += taken * s.step[i];
        s.moved[i] = state.x[e.shared[i]] - e.start[e.shared[i]];
    }
    Walk walk{e, n};
    for (Index g = 0; g < e.rows; ++g) {
        const Group own = walk.at(g);
        if (own.local) take(own, s.moved, s.here);
        for (Index k = 0; k < own.local; ++k) {
            const Index column = e.local[g * n.m + k];
            const double* gain = s.gain + own.strip + k * own.width;
            state.x[column] = e.start[column] + s.best[g * n.m + k] - inner(gain, s.here, own.width);
        }
    }
}

// Sum of squared residuals of a row group at x.
STEELYARD_INLINE double residual(const Evidence& e, const Sizes& n, const EvidenceSpace& s, const Group& own, Index g,
                                 const double* x) {
    double total = e.energy[g];
    const double *Gss = e.Gss + own.square, *Gls = e.Gls + own.strip;
    take(own, s.moved, s.here);
    for (Index t = 0; t < own.width; t += TILE)
        for (Index i = t; i < t + TILE; ++i) {
            const double* row = Gss + i * own.width;
            const double beside = inner(row + t + TILE, s.here + t + TILE, own.width - t - TILE);
            total += s.here[i] * (inner(row + t, s.here + t, TILE) + 2 * (beside - e.bs[own.begin + i]));
        }
    for (Index k = 0; k < own.local; ++k) {
        const Index column = e.local[g * n.m + k];
        double pull = 2 * (inner(Gls + k * own.width, s.here, own.width) - e.bl[g * n.m + k]);
        for (Index l = 0; l < own.local; ++l) {
            const Index other = e.local[g * n.m + l];
            pull += e.Gll[(g * n.m + k) * n.m + l] * (x[other] - e.start[other]);
        }
        total += (x[column] - e.start[column]) * pull;
    }
    return total > 0 ? total : 0;
}

// The covariance of local columns of a row group, and the degrees of freedom that all parameters take from it: trace of
// its part of the hat matrix, `<S, C> + m - sum of precisions times variances` with local columns eliminated.
STEELYARD_INLINE double taken(const Evidence& e, const Sizes& n, const EvidenceSpace& s, const Group& own, Index g,
                              double weight) {
    const double* S = own.local ? s.S + own.square : e.Gss + own.square;
    Pack once = all(0), twice = all(0);
    for (Index t = 0; t < own.width; t += TILE)
        for (Index i = t; i < t + TILE; ++i) {
            const double *row = S + i * own.width, *C = s.C + (own.tiles[t / TILE] * TILE + i - t) * n.s;
            for (Index j = 0; j < TILE; j += LANES)
                once += read(row + t + j) * read(C + own.tiles[t / TILE] * TILE + j);
            for (Index c = t + TILE; c < own.width; c += TILE)
                for (Index j = 0; j < TILE; j += LANES)
                    twice += read(row + c + j) * read(C + own.tiles[c / TILE] * TILE + j);
        }
    double found = (own.local ? 1 : weight) * (sum(once) + 2 * sum(twice));
    if (!own.local) return found;
    const double* gain = s.gain + own.strip;
    double *back = s.pushed, *turned = s.push, *V = s.variance + g * n.m * n.m;  // gain^T and C gain^T: (width, m)
    for (Index i = 0; i < own.width; ++i)
        for (Index k = 0; k < n.m; ++k) back[i * n.m + k] = gain[k * own.width + i];
    for (Index t = 0; t < own.width; t += TILE)
        for (Index c = 0; c < n.m; c += LANES) {
            Pack tile[TILE] = {};
            for (Index j = 0; j < own.width; j += TILE)
                add_products(s.C + own.tiles[j / TILE] * TILE * n.s + own.tiles[t / TILE] * TILE, n.s,
                             back + j * n.m + c, n.m, TILE, tile);
            for (int i = 0; i < TILE; ++i) write(turned + (t + i) * n.m + c, tile[i]);
        }
    transposed_product(back, n.m, turned, n.m, own.width, Shape::SYMMETRIC, V);
    mirror(V, n.m);
    for (Index k = 0; k < n.m * n.m; ++k) V[k] += s.inverse[g * n.m * n.m + k];
    for (Index k = 0; k < own.local; ++k) found += 1 - s.precision[g * n.m + k] * V[k * n.m + k];
    return found;
}

STEELYARD_INLINE double within(double x, double least, double most) { return x < least ? least : x > most ? most : x; }

// Mean of log lambda over links, beside its own prior.
STEELYARD_INLINE double centre(const Evidence& e, const State& state) {
    double total = e.tightness / (e.together * e.together);
    for (Index b = 0; b < e.bodies; ++b) total += state.links[b] / (e.apart * e.apart);
    return total / (e.bodies / (e.apart * e.apart) + 1 / (e.together * e.together));
}

// <P A Q, B>, of matrices of ten rows: A and B from larger ones of `n` columns.
STEELYARD_INLINE double sandwiched(const double* P, const double* A, const double* Q, const double* B, Index n) {
    double total = 0;
    for (int i = 0; i < 10; ++i) {
        double half[10] = {}, whole[10] = {};
        for (int k = 0; k < 10; ++k)
            for (int j = 0; j < 10; ++j) half[j] += P[10 * i + k] * A[k * n + j];
        for (int k = 0; k < 10; ++k)
            for (int j = 0; j < 10; ++j) whole[j] += half[k] * Q[10 * k + j];
        for (int j = 0; j < 10; ++j) total += whole[j] * B[i * n + j];
    }
    return total;
}

// Negative second derivatives of the log evidence by logarithms of lambdas and of sizes of groups, but for terms that
// couple local columns of several row groups, or these with others, in the determinant. J comes with its own diagonal.
static void curvature(const Evidence& e, const Sizes& n, const EvidenceSpace& s, const State& state) {
    const Index nb = e.bodies, links = 10 * nb;
    double* Y = s.push;
    std::memset(Y, 0, sizeof(double) * n.s * n.n);
    for (Index b = 0; b < nb; ++b)
        for (int i = 0; i < 10; ++i) Y[(10 * b + i) * n.n + b] = s.pull[10 * b + i];
    for (Index i = links; i < e.shared_count; ++i) {
        const Index column = e.shared[i], k = e.group[column];
        if (k >= 0) Y[i * n.n + nb + k] = -2 * s.rest[i] * (state.x[column] - e.middle[column]);
    }
    Walk walk{e, n};
    for (Index g = 0; g < e.rows; ++g) {
        const Group own = walk.at(g);
        const double *P = s.precision + g * n.m, *V = s.variance + g * n.m * n.m, *inverse = s.inverse + g * n.m * n.m;
        for (Index k = 0; k < own.local; ++k) {
            const Index column = e.local[g * n.m + k], first = e.group[column];
            if (first < 0) continue;
            const double pull = -2 * P[k] * (state.x[column] - e.middle[column]);
            const double* gain = s.gain + own.strip + k * own.width;
            for (Index i = 0; i < own.width; ++i)
                Y[(own.tiles[i / TILE] * TILE + i % TILE) * n.n + nb + first] -= pull * gain[i];
            for (Index l = 0; l < own.local; ++l) {
                const Index other = e.local[g * n.m + l], second = e.group[other];
                if (second < 0) continue;
                const double push = -2 * P[l] * (state.x[other] - e.middle[other]), both = V[k * n.m + l];
                const double fit = pull * inverse[k * n.m + l] * push, determinant = 2 * P[k] * P[l] * both * both;
                s.J[(nb + first) * n.n + nb + second] -= fit + determinant;
            }
        }
    }
    transposed_product(s.C, n.s, Y, n.n, n.s, Shape::GENERAL, s.pushed);
    for (Index r = 0; r < n.n; r += TILE)
        for (Index c = r; c < n.n; c += LANES) {
            Pack tile[TILE] = {};
            add_products(Y + r, n.n, s.pushed + c, n.n, n.s, tile);
            for (int i = 0; i < TILE; ++i) write(s.J + (r + i) * n.n + c, read(s.J + (r + i) * n.n + c) - tile[i]);
        }
    const double apart = 1 / (e.apart * e.apart), shared = apart * apart / (nb * apart + 1 / (e.together * e.together));
    for (Index a = 0; a < nb; ++a) {
        const double* P = s.P + 100 * a;
        for (Index b = a; b < nb; ++b) {
            const double *Q = s.P + 100 * b, *C = s.C + 10 * a * n.s + 10 * b, *free = s.prior + 10 * a * n.s + 10 * b;
            double change = sandwiched(P, C, Q, C, n.s);
            if (e.told) change -= sandwiched(P, free, Q, free, n.s);
            s.J[a * n.n + b] -= change / 2 + shared;
        }
        for (Index i = links; i < e.shared_count; ++i) {
            const Index k = e.group[e.shared[i]];
            if (k < 0) continue;
            const double* C = s.C + i * n.s + 10 * a;
            for (int r = 0; r < 10; ++r)
                for (int c = 0; c < 10; ++c) s.J[a * n.n + nb + k] += C[r] * P[10 * r + c] * C[c] * s.rest[i];
        }
    }
    for (Index i = links; i < e.shared_count; ++i)
        for (Index j = links; j < e.shared_count; ++j) {
            const Index k = e.group[e.shared[i]], l = e.group[e.shared[j]];
            const double both = s.C[i * n.s + j];
            if (k >= 0 && l >= 0) s.J[(nb + k) * n.n + nb + l] -= 2 * s.rest[i] * s.rest[j] * both * both;
        }
}

// Of the logarithms of scales: the slope of the negative log evidence, its second derivatives but for `curvature`, the
// step that each would take alone, and those of the noise, the longest of which is returned.
static double slopes(const Evidence& e, const Sizes& n, const EvidenceSpace& s, const State& state) {
    const Index nb = e.bodies;
    const double *x = state.x, middle = centre(e, state);
    double noise_moved = 0, *slope = s.turn, *alone = s.turn + n.n;  // the same for each scale alone
    std::memset(s.J, 0, sizeof(double) * n.n * n.n);
    std::memset(slope, 0, sizeof(double) * n.n);
    Walk walk{e, n};
    double* noise = s.turn + 2 * n.n;
    for (Index g = 0; g < e.rows; ++g) {
        const Group own = walk.at(g);
        double left = e.samples[g] - taken(e, n, s, own, g, e.share * std::exp(-2 * state.noise[g]));
        left = left > 1 ? left : 1;
        noise[g] = std::sqrt(e.share * residual(e, n, s, own, g, x) / left);
        noise[g] = std::log(noise[g] > e.floor[g] ? noise[g] : e.floor[g]) - state.noise[g];
        noise_moved = std::fabs(noise[g]) > noise_moved ? std::fabs(noise[g]) : noise_moved;
    }
    for (Index b = 0; b < nb; ++b) {
        double left = 0, all_told = 0, value = 0, lambda = std::exp(state.links[b]);
        for (int i = 0; i < 10; ++i)
            for (int j = 0; j < 10; ++j) {
                const Index at = (10 * b + i) * n.s + 10 * b + j;
                left += s.P[100 * b + 10 * i + j] * s.C[at];
                if (e.told) all_told += s.P[100 * b + 10 * i + j] * s.prior[at];
            }
        divergence(e.theta0 + 10 * b, x + 10 * b, value, s.pull + 10 * b);
        for (int i = 0; i < 10; ++i) s.pull[10 * b + i] *= lambda;
        const double whole = e.told ? all_told : 10, far = lambda * value;
        const double found = within(whole - left, e.least_found, 10);
        slope[b] = far - found / 2 + (state.links[b] - middle) / (e.apart * e.apart);
        s.J[b * n.n + b] = far + (left - (e.told ? whole : 0)) / 2 + 1 / (e.apart * e.apart);
        alone[b] = -slope[b] / (far + found * (1 - found / 10) / 2 + 1 / (e.apart * e.apart));
    }
    double *told = s.told, *square = s.square;
    for (Index k = 0; k < e.groups; ++k) told[k] = square[k] = 0;
    const auto add = [&](Index column, double precision, double variance) {
        const Index k = e.group[column];
        if (k < 0) return;
        const double off = x[column] - e.middle[column];
        told[k] += precision * variance;
        square[k] += precision * off * off;
    };
    for (Index i = 10 * nb; i < e.shared_count; ++i) add(e.shared[i], s.rest[i], s.C[i * n.s + i]);
    for (Index g = 0; g < e.rows; ++g)
        for (Index k = 0; k < n.m && e.local[g * n.m + k] >= 0; ++k)
            add(e.local[g * n.m + k], s.precision[g * n.m + k], s.variance[(g * n.m + k) * n.m + k]);
    for (Index k = 0; k < e.groups; ++k) {
        const double tight = 1 / (e.hyper[2 * k + 1] * e.hyper[2 * k + 1]), size = e.hyper_size[k];
        const double found = within(size - told[k], e.least_found, size), off = state.groups[k] - e.hyper[2 * k];
        slope[nb + k] = found - square[k] + off * tight;
        s.J[(nb + k) * n.n + nb + k] = 2 * square[k] + 2 * told[k] + tight;
        alone[nb + k] = -slope[nb + k] / (2 * square[k] + 2 * found * (1 - found / size) + tight);
    }
    return noise_moved;
}

// Scales that explain better what was found, one Newton step of their logarithms where the log evidence is concave, and
// else of each alone; returns the longest of them.
static double rescale(const Evidence& e, const Sizes& n, const EvidenceSpace& s, State& state) {
    const Index nb = e.bodies, count = nb + e.groups;
    const double noise_moved = slopes(e, n, s, state);
    double *slope = s.turn, *alone = s.turn + n.n, *noise = s.turn + 2 * n.n;
    double longest = 0;
    if (noise_moved < e.longest) {
        double log_det;
        curvature(e, n, s, state);
        for (Index i = count; i < n.n; ++i) s.J[i * n.n + i] = 1;
        if (scaled_factor(s.J, n.n, 0.0, s.size, log_det)) {
            for (Index i = 0; i < n.n; ++i) slope[i] *= -s.size[i];
            solve(s.J, n.n, slope);
            for (Index i = 0; i < count; ++i) {
                slope[i] *= s.size[i];
                longest = std::fabs(slope[i]) > longest ? std::fabs(slope[i]) : longest;
            }
            const double kept = longest > e.longest ? e.longest / longest : 1;
            for (Index i = 0; i < count; ++i) alone[i] = kept * slope[i];
        }
    }
    longest = noise_moved;
    for (Index i = 0; i < count; ++i) {
        const double moved = within(alone[i], -e.longest, e.longest);
        (i < nb ? state.links[i] : state.groups[i - nb]) += moved;
        longest = std::fabs(moved) > longest ? std::fabs(moved) : longest;
    }
    for (Index g = 0; g < e.rows; ++g) state.noise[g] += noise[g];
    return longest;
}

// Log marginal likelihood but for a constant, by Laplace's approximation, priors of scales included.
static double log_evidence(const Evidence& e, const Sizes& n, const EvidenceSpace& s, const State& state,
                           double log_det) {
    const double middle = centre(e, state);
    double fit = 0, hyper = (middle - e.tightness) * (middle - e.tightness) / (e.together * e.together);
    for (Index i = 0; i < e.shared_count; ++i) s.moved[i] = state.x[e.shared[i]] - e.start[e.shared[i]];
    Walk walk{e, n};
    for (Index g = 0; g < e.rows; ++g) {
        const Group own = walk.at(g);
        const double weight = e.share * std::exp(-2 * state.noise[g]);
        fit += weight * residual(e, n, s, own, g, state.x) / 2 + e.samples[g] * state.noise[g];
    }
    for (Index b = 0; b < e.bodies; ++b) {
        const double off = (state.links[b] - middle) / e.apart;
        double value = 0, slope[10];
        divergence(e.theta0 + 10 * b, state.x + 10 * b, value, slope);
        fit += std::exp(state.links[b]) * value;
        hyper += off * off;
    }
    for (Index c = 10 * e.bodies; c < e.columns; ++c) {
        const double off = (state.x[c] - e.middle[c]) / s.deviation[c];
        fit += off * off / 2;
    }
    for (Index k = 0; k < e.groups; ++k) {
        const double off = (state.groups[k] - e.hyper[2 * k]) / e.hyper[2 * k + 1];
        hyper += off * off;
    }
    return -(fit + (log_det + hyper) / 2);
}

// The optimum of given scales: U, C, slope and the rest of the space as there.
static bool settle(const Evidence& e, const Sizes& n, const EvidenceSpace& s, State& state, double& log_det) {
    if (!weigh(e, n, s, state)) return false;
    double decrement = 2 * e.arrived;
    for (int round = 0; round < e.newton_rounds && !(decrement < e.arrived); ++round) {
        if (!place(e, n, s, state, log_det, decrement)) return false;
        take_step(e, n, s, state);
    }
    return place(e, n, s, state, log_det, decrement);
}

// From each of several starts (scales, then x) to the scales of most evidence, or none further for no rounds of scales,
// and to the optimum there, or at x for no rounds of x either. The best comes to the first row. A start that comes
// close to the best so far is left, as is one that leads nowhere.
static bool maximise(const Evidence& e, const EvidenceSpace& s, double* starts, const EvidenceFound& out) {
    const Sizes n = sizes_of(e);
    const Index scales = e.bodies + e.groups + e.rows, length = scales + e.columns;
    double log_det, decrement;
    if (e.told) std::memset(s.free, 0, sizeof(double) * n.s * n.f);
    for (Index i = 0; e.told && i < e.shared_count; ++i)
        std::memcpy(s.free + i * n.f, e.free + i * e.directions, sizeof(double) * e.directions);
    bool any = false;
    for (Index start = 0; start < e.starts; ++start) {
        double* own = starts + start * length;
        State state{own, own + e.bodies, own + e.bodies + e.groups, own + scales, 0};
        double apart = 2 * e.same;
        bool fine = !e.scale_rounds || settle(e, n, s, state, log_det);  // what a step leaves is no noise
        for (int round = 0; fine && round < e.scale_rounds && !(apart < e.same); ++round) {
            fine = weigh(e, n, s, state) && place(e, n, s, state, log_det, decrement);
            if (!fine) break;
            spread(e, n, s, s.U, s.size, s.C);
            if (e.told) spread(e, n, s, s.prior_U, s.prior_size, s.prior);
            take_step(e, n, s, state);
            if (rescale(e, n, s, state) < e.settled) break;
            if (!any) continue;
            apart = 0;
            for (Index i = 0; i < scales; ++i) {
                const double off = std::fabs(own[i] - starts[i]);
                apart = off > apart ? off : apart;
            }
        }
        if (!fine || apart < e.same || !settle(e, n, s, state, log_det)) continue;
        const double evidence = log_evidence(e, n, s, state, log_det);
        if (any ? !(evidence > *out.evidence) : !std::isfinite(evidence)) continue;
        *out.evidence = evidence, any = true;
        if (start) std::memcpy(starts, own, sizeof(double) * length);
    }
    if (!any) return false;
    State best{starts, starts + e.bodies, starts + e.bodies + e.groups, starts + scales, 0};
    if (e.starts > 1 && (!weigh(e, n, s, best) || !place(e, n, s, best, log_det, decrement))) return false;
    spread(e, n, s, s.U, s.size, s.C);
    if (e.told) spread(e, n, s, s.prior_U, s.prior_size, s.prior);
    slopes(e, n, s, best);
    curvature(e, n, s, best);
    for (Index i = 0; i < e.bodies + e.groups; ++i)
        for (Index j = 0; j < e.bodies + e.groups; ++j)
            out.curvature[i * (e.bodies + e.groups) + j] = s.J[(i < j ? i : j) * n.n + (i < j ? j : i)];
    std::memcpy(out.prior, s.P, sizeof(double) * 100 * e.bodies);
    std::memcpy(out.slope, s.slope, sizeof(double) * e.shared_count);
    for (Index i = 0; i < e.shared_count; ++i)
        std::memcpy(out.C + i * e.shared_count, s.C + i * n.s, sizeof(double) * e.shared_count);
    Walk walk{e, n};
    std::memset(out.gain, 0, sizeof(double) * e.rows * n.m * e.shared_count);
    for (Index g = 0; g < e.rows; ++g) {
        const Group own = walk.at(g);
        if (own.local) std::memcpy(out.inverse + g * n.m * n.m, s.inverse + g * n.m * n.m, sizeof(double) * n.m * n.m);
        for (Index k = 0; k < own.local; ++k)
            for (Index i = 0; i < own.width; ++i) {
                const Index column = own.tiles[i / TILE] * TILE + i % TILE;
                if (column < e.shared_count)
                    out.gain[(g * n.m + k) * e.shared_count + column] = s.gain[own.strip + k * own.width + i];
            }
    }
    return true;
}

}  // namespace steelyard::STEELYARD_ISA
