// The online payload estimator, one sample after the other: `payload/online` says what the entries of state and
// configuration are, `tests/twins` has the same in Python.
#pragma once

#include "payload_fits.hpp"

namespace steelyard {

enum State { FELT, PULLED, COUNT, ALARM, ONSET, LAST, AGE, HELD, BEFORE, USUAL, HELD_MOMENT, BEFORE_MOMENT = 13,
             ENERGY = 16, TRUSTED, STATE_SIZE };
enum Config { FORCE, TORQUE, KAPPA, FORGET, THRESHOLD, DRIFT, SETTLE, EMPTY, NEWTON_STEPS, TYPICAL, LEARNING, SAME,
              YOUNG, YOUNG_STEPS, WILD, ONSET_SHARE, LEAST, CONVERGED, HALVINGS, CONFIG_SIZE };

using BodyRows = double[6][10];

// Body regressor of one sample, and the acceleration that its mass feels.
inline void body_rows(const double (&R)[3][3], const double* V, const double* A, const double* gravity, BodyRows& Y,
                      double* d) {
    const double x = V[3], y = V[4], z = V[5], a = A[3], b = A[4], c = A[5];
    for (int i = 0; i < 3; ++i) {
        d[i] = A[i];
        for (int k = 0; k < 3; ++k) d[i] -= R[k][i] * gravity[k];
    }
    d[0] += y * V[2] - z * V[1];
    d[1] += z * V[0] - x * V[2];
    d[2] += x * V[1] - y * V[0];
    const double xx = x * x, yy = y * y, zz = z * z, xy = x * y, xz = x * z, yz = y * z;
    const BodyRows made = {{d[0], -(yy + zz), xy - c, xz + b},
                       {d[1], xy + c, -(xx + zz), yz - a},
                       {d[2], xz - b, yz + a, -(xx + yy)},
                       {0, 0, d[2], -d[1], a, b - xz, -yz, c + xy, yy - zz, yz},
                       {0, -d[2], 0, d[0], xz, a + yz, b, zz - xx, c - xy, -xz},
                       {0, d[1], -d[0], 0, -xy, xx - yy, xy, a - yz, b + xz, c}};
    std::memcpy(Y, made, sizeof made);
}

struct Stream {
    const double *gravity, *basis, *Q, *config;  // (3), (10, 10), (10, 10), (CONFIG_SIZE)
    double *state, *G, *h, *w, *H, *L;
};

// Newton steps towards the minimum; H and its factor L are left at the last point.
inline bool follow(const Stream& s, double mass, int steps) {
    const double half = 0.5 * s.config[KAPPA];
    Ten gram, H, L{};
    double pull[10];
    for (int i = 0; i < 10; ++i) {
        pull[i] = s.h[i] / half - (ROW[i] == COLUMN[i] ? 1 / mass : 0);
        for (int j = 0; j < 10; ++j) {
            const double near = s.Q[10 * i + j] / (mass * mass * half);
            gram[i][j] = s.G[10 * i + j] / half + near;
            if (ROW[j] == COLUMN[j]) pull[i] += near * mass;
        }
    }
    const NewtonRules rules{s.config[CONVERGED], static_cast<int>(s.config[HALVINGS])};
    if (!newton(gram, pull, s.w, H, L, steps, s.config[LEAST] * mass, rules)) return false;
    const double root = std::sqrt(half);
    for (int i = 0; i < 10; ++i)
        for (int j = 0; j < 10; ++j) {
            s.H[10 * i + j] = half * H[i][j];
            s.L[10 * i + j] = root * L[i][j];
        }
    return true;
}

// How unlikely a whitened sample is, as a chi-square of 6: innovation over its own variance.
inline double surprise(const Stream& s, const BodyRows& rows, const double* r, bool ready) {
    Square<6> S, C;
    Ten L;
    double e[6], solved[10];
    std::memcpy(L, s.L, sizeof L);
    for (int i = 0; i < 6; ++i) {
        e[i] = r[i];
        for (int k = 0; k < 10; ++k) e[i] -= rows[i][k] * s.w[k];
        std::memcpy(solved, rows[i], sizeof solved);
        if (ready) solve<10>(L, solved);
        for (int j = 0; j < 6; ++j) {
            S[i][j] = i == j;
            for (int k = 0; ready && k < 10; ++k) S[i][j] += solved[k] * rows[j][k];
        }
    }
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < i; ++j) S[i][j] = 0.5 * (S[i][j] + S[j][i]);
    if (!cholesky<6>(S, C)) return 0;
    double total = 0;
    for (int i = 0; i < 6; ++i) {
        for (int k = 0; k < i; ++k) e[i] -= C[i][k] * e[k];
        e[i] /= C[i][i];
        total += e[i] * e[i];
    }
    return total;
}

// Has the payload changed? Sums up how surprising samples are; at an alarm, sums of the new payload begin.
inline void watch(const Stream& s, double level, double t) {
    double *state = s.state, threshold = s.config[THRESHOLD];
    double excess = state[AGE] > s.config[SETTLE] ? level / state[USUAL] - 1 - s.config[DRIFT] : 0;
    excess = std::min(excess, threshold / 3);  // one wild sample is no change
    if (state[ALARM] < s.config[ONSET_SHARE] * threshold) state[ONSET] = t;
    state[ALARM] = std::max(0.0, state[ALARM] + excess);
    if (!(state[ALARM] > threshold)) return;
    state[BEFORE] = state[HELD];
    state[LAST] = state[ONSET];
    std::memcpy(state + BEFORE_MOMENT, state + HELD_MOMENT, 3 * sizeof(double));
    std::memset(s.G, 0, sizeof(Ten));
    std::memset(s.h, 0, 10 * sizeof(double));
    for (int each : {FELT, PULLED, COUNT, AGE, ALARM, ENERGY, TRUSTED}) state[each] = 0;
}

// Adds a sample to the sums, in which a wild one counts little and old ones are forgotten.
inline void add_sample(const Stream& s, const BodyRows& rows, const double* r, const double* felt, const double* wrench,
                       double trust) {
    const double forget = s.config[FORGET];
    double strength = 0, force = 0, *state = s.state;
    for (int i = 0; i < 3; ++i) {
        strength += felt[i] * felt[i];
        force += felt[i] * wrench[i];
    }
    state[FELT] = forget * state[FELT] + trust * strength;
    state[PULLED] = forget * state[PULLED] + trust * force;
    state[COUNT] = forget * state[COUNT] + 1;
    state[TRUSTED] = forget * state[TRUSTED] + trust;
    state[ENERGY] *= forget;
    for (int m = 0; m < 6; ++m) state[ENERGY] += trust * r[m] * r[m];
    for (int i = 0; i < 10; ++i) {
        double total = 0;
        for (int m = 0; m < 6; ++m) total += rows[m][i] * r[m];
        s.h[i] = forget * s.h[i] + trust * total;
        for (int j = 0; j < 10; ++j) {
            total = 0;
            for (int m = 0; m < 6; ++m) total += rows[m][i] * rows[m][j];
            s.G[10 * i + j] = forget * s.G[10 * i + j] + trust * total;
        }
    }
}

inline void start_body(const Stream& s, double mass) {
    for (int i = 0; i < 10; ++i) s.w[i] = ROW[i] == COLUMN[i] ? mass : 0;
}

// What has happened, now that the new sums have settled: 1 picked up, 2 swapped, 3 dropped, 0 nothing.
inline double change_of(const Stream& s, double mass, const double* theta) {
    const double *state = s.state, empty = s.config[EMPTY];
    const bool was = state[BEFORE] > empty, now = mass > empty;
    if (state[LAST] < 0) return 0;
    const double kind = now && !was ? 1 : was && !now ? 3 : was ? 2 : 0;
    if (kind == 2 && std::fabs(mass - state[BEFORE]) < empty) {
        double moved = 0;
        for (int i = 0; i < 3; ++i) moved += (theta[1 + i] - state[BEFORE_MOMENT + i]) * (theta[1 + i] - state[BEFORE_MOMENT + i]);
        if (std::sqrt(moved) < s.config[SAME] * empty) return 0;  // the same payload: a disturbance
    }
    return kind;
}

struct StreamSamples {
    const double *t, (*R)[3][3], (*wrench)[6], (*twist)[6], (*acceleration)[6];
    std::int64_t n;
};

// Feeds samples; thetas (n, 10) and events (n, 4) are filled. Returns the number of events.
inline std::int64_t advance(const Stream& s, const StreamSamples& x, double (*thetas)[10], double (*events)[4]) {
    const double* config = s.config;
    double* state = s.state;
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < x.n; ++k) {
        BodyRows Y, rows;
        double felt[3], r[6];
        body_rows(x.R[k], x.twist[k], x.acceleration[k], s.gravity, Y, felt);
        for (int i = 0; i < 6; ++i) {
            const double scale = 1 / (i < 3 ? config[FORCE] : config[TORQUE]);
            r[i] = x.wrench[k][i] * scale;
            for (int j = 0; j < 10; ++j) {
                rows[i][j] = 0;
                for (int m = 0; m < 10; ++m) rows[i][j] += Y[i][m] * scale * s.basis[10 * m + j];
            }
        }
        const double found = surprise(s, rows, r, state[AGE] > 0), level = found / 6;
        state[AGE] += 1;
        watch(s, level, x.t[k]);
        const bool settled = state[AGE] > config[SETTLE];
        const double trust = settled ? std::min(1.0, config[WILD] * state[USUAL] / std::max(found, 1e-300)) : 1;
        add_sample(s, rows, r, felt, x.wrench[k], trust);
        const double mass = state[PULLED] / state[FELT], held = std::max(mass, 0.3 * config[EMPTY]);
        if (state[AGE] == 0) start_body(s, held);
        const double steps = state[AGE] < config[YOUNG] ? config[YOUNG_STEPS] : config[NEWTON_STEPS];
        if (!follow(s, held, static_cast<int>(steps))) start_body(s, held);
        for (int i = 0; i < 10; ++i) {
            thetas[k][i] = 0;
            for (int j = 0; j < 10; ++j) thetas[k][i] += s.basis[10 * i + j] * s.w[j];
        }
        // how surprising samples usually are, motion errors included: never less than the sensor alone
        if (state[AGE] > config[YOUNG])
            state[USUAL] = std::max(
                1.0, state[USUAL] + (std::min(level, config[TYPICAL]) - state[USUAL]) / config[LEARNING]);
        if (state[AGE] == config[SETTLE]) {
            const double kind = change_of(s, mass, thetas[k]);
            if (kind > 0) {
                const double event[4] = {state[LAST], kind, state[BEFORE], mass};
                std::memcpy(events[count++], event, sizeof event);
            }
            state[LAST] = -1;
        }
        if (state[AGE] >= config[SETTLE]) {
            state[HELD] = mass;
            std::memcpy(state + HELD_MOMENT, thetas[k] + 1, 3 * sizeof(double));
        }
    }
    return count;
}

}  // namespace steelyard
