// The online payload estimator, one sample after the other: `payload/online` says what the entries of state and
// configuration are, `tests/twins` has the same in Python.
#pragma once

#include "payload_fits.hpp"

namespace steelyard {

enum State { FELT, PULLED, COUNT, ALARM, ONSET, LAST, AGE, HELD, BEFORE, USUAL, ENERGY, TRUSTED, TIME, SEEN, LONG, SETTLED, RUN,
             STATE_SIZE = RUN + 6 };
enum Config { FORCE, TORQUE, KAPPA, FORGET, THRESHOLD, DRIFT, SETTLE, EMPTY, FORCE_RATE, TORQUE_RATE, FADING,
              NEWTON_STEPS, TYPICAL, LEARNING, YOUNG, YOUNG_STEPS, WILD, ONSET_SHARE, LEAST, CONVERGED, HALVINGS,
              DIFFERENT, PATIENCE, MEMORY, LASTING, RESTING, FAR, PATH_STEPS, PATH_TRIALS, CENTERED, ACCEPTED, BOUNDARY, SHORTER, CONFIG_SIZE };
constexpr int SUMMED[] = {FELT, PULLED, COUNT, ENERGY, TRUSTED}, SUMS = 5;

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

// Bias of the sensor's six channels and its rate, in units of noise, per unit of the ten numbers and as measured: what
// is left of a sample once its predicted part is taken off has no memory, so sums of it are those of a fit with biases.
// Channels of force share a covariance (bias, bias with rate, rate), those of torque another.
struct Bias {
    double value[6][11], rate[6][11], spread[2][3];

    // The rate fades to zero in `fading` s, and is driven so that its deviation stays as it is configured.
    void predict(double dt, const double* deviations, double fading) {
        if (!(dt > 0)) return;
        const double kept = std::exp(-dt / fading), shift = fading * (1 - kept);
        for (int i = 0; i < 6; ++i)
            for (int k = 0; k < 11; ++k) {
                value[i][k] += shift * rate[i][k];
                rate[i][k] *= kept;
            }
        for (int g = 0; g < 2; ++g) {
            double *P = spread[g], driven = deviations[g] * deviations[g] * (1 - kept * kept);
            P[0] += shift * (2 * P[1] + shift * P[2]) + driven * dt * dt / 3;
            P[1] = kept * (P[1] + shift * P[2]) + driven * dt / 2;
            P[2] = kept * kept * P[2] + driven;
        }
    }

    // After a sample of which `found` was not predicted, with a noise of this variance.
    void update(const double (&found)[6][11], double variance) {
        for (int i = 0; i < 6; ++i) {
            const double *P = spread[i / 3], S = P[0] + variance;
            for (int k = 0; k < 11; ++k) {
                value[i][k] += P[0] / S * found[i][k];
                rate[i][k] += P[1] / S * found[i][k];
            }
        }
        for (auto& P : spread) {
            const double S = P[0] + variance, b = P[0], c = P[1];
            P[0] -= b * b / S;
            P[1] -= b * c / S;
            P[2] -= c * c / S;
        }
    }

    // Of a payload that is now known to be w, with a covariance C: no longer per unit of it.
    void settle(const double* w, const Ten& C) {
        for (int i = 0; i < 6; ++i) {
            double bent[3] = {};
            for (int k = 0; k < 10; ++k) {
                value[i][10] -= value[i][k] * w[k];
                rate[i][10] -= rate[i][k] * w[k];
                for (int j = 0; j < 10; ++j) {
                    bent[0] += value[i][k] * C[k][j] * value[i][j] / 3;
                    bent[1] += value[i][k] * C[k][j] * rate[i][j] / 3;
                    bent[2] += rate[i][k] * C[k][j] * rate[i][j] / 3;
                }
            }
            for (int k = 0; k < 3; ++k) spread[i / 3][k] += bent[k];
            std::memset(value[i], 0, 10 * sizeof(double));
            std::memset(rate[i], 0, 10 * sizeof(double));
        }
    }
};

// What held before a change that is not named yet: bias, payload and time where it began, sums up to the alarm. surely:
// the bias at the end of the last payload that was held for long.
struct Past {
    Bias surely, bias;
    double w[10], covariance[10][10], G[100], h[10], sums[SUMS], time, sure_time, usual;
};

struct Stream {
    const double *gravity, *basis, *Q, *wide, *config;  // (3), (10, 10) three times, (CONFIG_SIZE)
    double *state, *G, *h, *w, *H, *L, *shift;          // L: factor of H with the widest prior; shift: towards its fit
    Bias* bias;
    Past* past;
};

// Newton steps towards the minimum; H at the last point, and L and shift of the widest prior there, are left.
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
    const double* config = s.config;
    const NewtonRules rules{config[CONVERGED], static_cast<int>(config[HALVINGS])};
    double left = 0;
    const double margin = config[LEAST] * mass;
    if (!newton(gram, pull, s.w, H, L, steps, margin, rules, &left)) return false;
    if (left > config[FAR]) {  // steps were cut short at the border: follow the central path from the middle
        double w[10];
        for (int i = 0; i < 10; ++i) {
            w[i] = ROW[i] == COLUMN[i];
            pull[i] *= mass;
            for (int j = 0; j < 10; ++j) gram[i][j] *= mass * mass;
        }
        const PathRules path{static_cast<int>(config[PATH_STEPS]), 0, static_cast<int>(config[PATH_TRIALS]),
                             config[CENTERED], config[ACCEPTED], config[BOUNDARY], config[SHORTER], rules};
        if (!(central_point(gram, pull, w, path) < path.accepted)) return false;
        for (int i = 0; i < 10; ++i) {
            s.w[i] = mass * w[i];
            pull[i] /= mass;
            for (int j = 0; j < 10; ++j) gram[i][j] /= mass * mass;
        }
        if (!newton(gram, pull, s.w, H, L, steps, margin, rules)) return false;
    }
    Ten wide;
    for (int i = 0; i < 10; ++i) {
        s.shift[i] = 0;
        for (int j = 0; j < 10; ++j) {
            const double less = (s.wide[10 * i + j] - s.Q[10 * i + j]) / (mass * mass);
            s.H[10 * i + j] = half * H[i][j];
            wide[i][j] = s.H[10 * i + j] + less;
            s.shift[i] += less * (s.w[j] - (ROW[j] == COLUMN[j] ? mass : 0));
        }
    }
    if (!cholesky<10>(wide, L)) return false;
    std::memcpy(s.L, L, sizeof L);
    solve<10>(L, s.shift);
    return true;
}

// How unlikely what was not predicted of a whitened sample is, as a chi-square of 6: over its own variance.
// e: the same as six numbers of variance one.
inline double surprise(const Stream& s, const double (&found)[6][11], bool ready, double* e) {
    Square<6> S, C;
    Ten L;
    double solved[10];
    std::memcpy(L, s.L, sizeof L);
    for (int i = 0; i < 6; ++i) {
        e[i] = found[i][10];
        for (int k = 0; k < 10; ++k) e[i] -= found[i][k] * s.w[k];
    }
    for (int i = 0; i < 6; ++i) {
        std::memcpy(solved, found[i], sizeof solved);
        if (ready) solve<10>(L, solved);
        for (int j = 0; j <= i; ++j) {
            S[i][j] = (i == j) * (1 + s.bias->spread[i / 3][0]);
            for (int k = 0; ready && k < 10; ++k) S[i][j] += solved[k] * found[j][k];
        }
    }
    if (!cholesky<6>(S, C)) return 0;
    double total = 0;
    for (int i = 0; i < 6; ++i) {
        for (int k = 0; k < i; ++k) e[i] -= C[i][k] * e[k];
        e[i] /= C[i][i];
        total += e[i] * e[i];
    }
    return total;
}

// What a sample counts for a fit: what it usually leaves, or more where that lasts longer than a sample.
inline double loudness(const Stream& s) {
    return s.state[LONG] > s.config[LASTING] * s.state[USUAL] ? s.state[LONG] : s.state[USUAL];
}

// Covariance of the numbers w: of the fit, and of the way to the one that assumes least.
inline void covariance(const Stream& s, Ten& C) {
    Ten L;
    std::memcpy(L, s.L, sizeof L);
    for (int i = 0; i < 10; ++i) {
        for (int k = 0; k < 10; ++k) C[i][k] = (i == k) * loudness(s);
        solve<10>(L, C[i]);
        for (int k = 0; k < 10; ++k) C[i][k] += s.shift[i] * s.shift[k];
    }
}

// Has the payload changed? Sums up how surprising samples are; at an alarm, sums of the new payload begin, with the bias
// as it was where the surprise began.
inline bool watch(const Stream& s, double level, double t) {
    double *state = s.state, threshold = s.config[THRESHOLD];
    double excess = state[AGE] > s.config[SETTLE] ? level / state[USUAL] - 1 - s.config[DRIFT] : 0;
    excess = std::min(excess, threshold / 3);  // one wild sample is no change
    if (state[ALARM] < s.config[ONSET_SHARE] * threshold) {
        state[ONSET] = t;
        if (state[LAST] < 0) {
            s.past->bias = *s.bias;
            std::memcpy(s.past->w, s.w, sizeof s.past->w);
            s.past->time = t;
        }
    }
    state[ALARM] = std::max(0.0, state[ALARM] + excess);
    if (!(state[ALARM] > threshold)) return false;
    if (state[LAST] < 0) {
        state[BEFORE] = state[HELD];
        state[LAST] = state[ONSET];
        covariance(s, s.past->covariance);
        s.past->usual = loudness(s);
        std::memcpy(s.past->G, s.G, sizeof s.past->G);
        std::memcpy(s.past->h, s.h, sizeof s.past->h);
        for (int i = 0; i < SUMS; ++i) s.past->sums[i] = state[SUMMED[i]];
    }
    if (state[AGE] > s.config[LEARNING]) {
        s.past->surely = s.past->bias;
        s.past->surely.settle(s.past->w, s.past->covariance);
        s.past->sure_time = s.past->time;
    }
    *s.bias = s.past->surely;
    s.bias->predict(t - s.past->sure_time, s.config + FORCE_RATE, s.config[FADING]);
    std::memset(s.G, 0, sizeof(Ten));
    std::memset(s.h, 0, 10 * sizeof(double));
    for (int each : SUMMED) state[each] = 0;
    state[AGE] = state[ALARM] = 0;
    std::memset(state + RUN, 0, 6 * sizeof(double));
    return true;
}

// Adds what was not predicted of a sample to the sums, in which a wild one counts little and old ones are forgotten,
// unless this one tells hardly anything: at rest a payload cannot be told from a bias that drifts.
// force: without the bias, along the acceleration felt.
inline void add_sample(const Stream& s, const double (&rows)[6][11], const double (&found)[6][11], double strength,
                       double force, double trust) {
    double *state = s.state, weight[6], told = 0, shown = 1e-300;
    for (int m = 0; m < 6; ++m) {
        weight[m] = 1 / (s.bias->spread[m / 3][0] + 1 / trust);
        for (int k = 0; k < 10; ++k) {
            told += weight[m] * found[m][k] * found[m][k];
            shown += trust * rows[m][k] * rows[m][k];
        }
    }
    const double forget = std::pow(s.config[FORGET], std::min(1.0, told / (s.config[RESTING] * shown)));
    for (int each : SUMMED) state[each] *= forget;
    state[FELT] += trust * strength;
    state[PULLED] += trust * force;
    state[COUNT] += 1;
    for (int m = 0; m < 6; ++m) {
        state[ENERGY] += weight[m] * found[m][10] * found[m][10];
        state[TRUSTED] += weight[m] * (s.bias->spread[m / 3][0] + 1) / 6;
    }
    for (int i = 0; i < 10; ++i) {
        double total = 0;
        for (int m = 0; m < 6; ++m) total += weight[m] * found[m][i] * found[m][10];
        s.h[i] = forget * s.h[i] + total;
        for (int j = 0; j < 10; ++j) {
            total = 0;
            for (int m = 0; m < 6; ++m) total += weight[m] * found[m][i] * found[m][j];
            s.G[10 * i + j] = forget * s.G[10 * i + j] + total;
        }
    }
}

inline void start_body(const Stream& s, double mass) {
    for (int i = 0; i < 10; ++i) s.w[i] = ROW[i] == COLUMN[i] ? mass : 0;
}

// Squared difference of the payloads before and after an alarm, over its covariance: a chi-square of 10.
inline double difference(const Stream& s) {
    Ten C, L;
    double apart[10], solved[10], total = 0;
    covariance(s, C);
    const double louder = loudness(s) / s.past->usual;
    for (int i = 0; i < 10; ++i) {
        apart[i] = solved[i] = s.w[i] - s.past->w[i];
        for (int j = 0; j < 10; ++j) C[i][j] += louder * s.past->covariance[i][j];
    }
    if (!cholesky<10>(C, L)) return 0;
    solve<10>(L, solved);
    for (int i = 0; i < 10; ++i) total += apart[i] * solved[i];
    return total;
}

// The same payload after all: its sums go on.
inline void go_on(const Stream& s) {
    const double faded = std::pow(s.config[FORGET], s.state[AGE] + 1);
    for (int i = 0; i < SUMS; ++i) s.state[SUMMED[i]] += faded * s.past->sums[i];
    for (int i = 0; i < 100; ++i) s.G[i] += faded * s.past->G[i];
    for (int i = 0; i < 10; ++i) s.h[i] += faded * s.past->h[i];
}

enum Kind { UNKNOWN = -1, SAME, PICKED_UP, SWAPPED, DROPPED, RESTARTED };

// What has happened, once the new sums have settled. A payload that was picked up a moment ago is hardly known: where it
// turns out otherwise, it is no other one.
inline Kind change_of(const Stream& s, double mass) {
    const double *state = s.state, empty = s.config[EMPTY];
    const bool was = state[BEFORE] > empty, now = mass > empty;
    if (was != now) return now ? PICKED_UP : DROPPED;
    if (was && difference(s) > s.config[DIFFERENT]) return state[SETTLED] > 0 ? SWAPPED : RESTARTED;
    return was && state[AGE] < s.config[PATIENCE] ? UNKNOWN : SAME;
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
        BodyRows Y;
        double felt[3], rows[6][11], found[6][11], strength = 0, force = 0;
        body_rows(x.R[k], x.twist[k], x.acceleration[k], s.gravity, Y, felt);
        if (state[COUNT] == 0 && state[LAST] < 0) state[TIME] = s.past->sure_time = x.t[k];
        s.bias->predict(x.t[k] - state[TIME], config + FORCE_RATE, config[FADING]);
        state[TIME] = x.t[k];
        for (int i = 0; i < 6; ++i) {
            const double scale = 1 / (i < 3 ? config[FORCE] : config[TORQUE]);
            rows[i][10] = x.wrench[k][i] * scale;
            for (int j = 0; j < 10; ++j) {
                rows[i][j] = 0;
                for (int m = 0; m < 10; ++m) rows[i][j] += Y[i][m] * scale * s.basis[10 * m + j];
            }
        }
        const auto unpredicted = [&] {
            for (int i = 0; i < 6; ++i)
                for (int j = 0; j < 11; ++j) found[i][j] = rows[i][j] - s.bias->value[i][j];
        };
        unpredicted();
        double e[6] = {};
        const double chance = surprise(s, found, state[AGE] > 0, e), level = chance / 6;
        state[AGE] += 1;
        if (watch(s, level, x.t[k])) unpredicted();
        const bool settled = state[AGE] > config[SETTLE];
        const double trust = settled ? std::min(1.0, config[WILD] * state[USUAL] / std::max(chance, 1e-300)) : 1;
        for (int i = 0; i < 3; ++i) {
            double bias = s.bias->value[i][10];
            for (int j = 0; j < 10; ++j) bias -= s.bias->value[i][j] * s.w[j];
            strength += felt[i] * felt[i];
            force += felt[i] * (x.wrench[k][i] - config[FORCE] * bias);
        }
        add_sample(s, rows, found, strength, force, trust);
        s.bias->update(found, 1 / trust);
        const double mass = state[PULLED] / state[FELT], held = std::max(mass, 0.3 * config[EMPTY]);
        if (state[AGE] == 0) start_body(s, held);
        const double steps = state[AGE] < config[YOUNG] ? config[YOUNG_STEPS] : config[NEWTON_STEPS];
        if (!follow(s, held, static_cast<int>(steps))) start_body(s, held);
        for (int i = 0; i < 10; ++i) {
            thetas[k][i] = 0;
            for (int j = 0; j < 10; ++j) thetas[k][i] += s.basis[10 * i + j] * s.w[j];
        }
        // how surprising samples usually are, motion errors included: never less than the sensor alone; and how their
        // sums are, as errors of the motion last longer than a sample
        if (state[AGE] > config[YOUNG]) {
            double run = 0;
            for (int i = 0; i < 6; ++i) {
                double& sum = state[RUN + i];
                sum = config[MEMORY] * sum + e[i] * std::sqrt(trust);
                run += (1 - config[MEMORY] * config[MEMORY]) * sum * sum / 6;
            }
            state[SEEN] = std::min(state[SEEN] + 1, config[LEARNING]);
            state[USUAL] = std::max(1.0, state[USUAL] + (std::min(level, config[TYPICAL]) - state[USUAL]) / state[SEEN]);
            state[LONG] += (run - state[LONG]) / state[SEEN];
        }
        if (state[AGE] < config[SETTLE]) continue;
        if (state[LAST] >= 0) {
            const Kind kind = change_of(s, mass);
            if (kind == PICKED_UP || kind == SWAPPED || kind == DROPPED) {
                const double event[4] = {state[LAST], static_cast<double>(kind), state[BEFORE], thetas[k][0]};
                std::memcpy(events[count++], event, sizeof event);
                state[SETTLED] = kind == SWAPPED;
            }
            if (kind == SAME) go_on(s);
            if (kind != UNKNOWN) state[LAST] = -1;
        } else if (state[AGE] > config[LEARNING]) {
            state[SETTLED] = 1;
        }
        if (state[LAST] < 0) state[HELD] = thetas[k][0];
    }
    return count;
}

}  // namespace steelyard
