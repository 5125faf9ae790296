// A pack: as many doubles as one vector register of the instruction set holds, one sample a lane.
//
// Everything in namespace STEELYARD_ISA is compiled once for each instruction set and must not call functions that
// the linker could take from another one: no standard containers, only what is written here.
#pragma once

#include <cmath>
#include <cstring>

#include "plan.hpp"

#ifndef STEELYARD_ISA
#define STEELYARD_ISA baseline
#define STEELYARD_LANES 2
#endif

#define STEELYARD_INLINE static inline __attribute__((always_inline))

namespace steelyard::STEELYARD_ISA {

constexpr int LANES = STEELYARD_LANES;
using Pack = double __attribute__((vector_size(8 * STEELYARD_LANES)));

STEELYARD_INLINE Pack all(double x) { return Pack{} + x; }

// `count` consecutive numbers; lanes behind them repeat the last one, so that they stay finite.
STEELYARD_INLINE Pack load(const double* x, int count) {
    Pack out;
    for (int lane = 0; lane < LANES; ++lane) out[lane] = x[lane < count ? lane : count - 1];
    return out;
}

// The same, `stride` numbers apart.
STEELYARD_INLINE Pack gather(const double* x, Index stride, int count) {
    Pack out;
    for (int lane = 0; lane < LANES; ++lane) out[lane] = x[(lane < count ? lane : count - 1) * stride];
    return out;
}

// A whole pack of consecutive numbers, wherever they lie.
STEELYARD_INLINE Pack read(const double* x) {
    Pack out;
    std::memcpy(&out, x, sizeof out);
    return out;
}

STEELYARD_INLINE void write(double* x, const Pack& pack) { std::memcpy(x, &pack, sizeof pack); }

STEELYARD_INLINE double sum(const Pack& x) {
    double out = 0;
    for (int lane = 0; lane < LANES; ++lane) out += x[lane];
    return out;
}

// Zeros the lanes from `count` on.
STEELYARD_INLINE void mask(Pack& x, int count) {
    for (int lane = count; lane < LANES; ++lane) x[lane] = 0;
}

// Both at once: reduced to an eighth turn in three parts of pi / 2 (33 bits each), then their series.
STEELYARD_INLINE void sine_and_cosine(const Pack& x, Pack& sine, Pack& cosine) {
    constexpr double LARGEST = 1e5;              // rad, up to which the reduction loses nothing
    constexpr double ROUND = 6755399441055744.;  // 1.5 * 2^52: adding and subtracting it rounds to a whole number
    bool far = false;
    for (int lane = 0; lane < LANES; ++lane) far |= !(std::fabs(x[lane]) < LARGEST);
    if (far) {
        sine = cosine = x;
        for (int lane = 0; lane < LANES; ++lane) sine[lane] = std::sin(x[lane]), cosine[lane] = std::cos(x[lane]);
        return;
    }
    const Pack quarters = (x * 0.6366197723675814 + ROUND) - ROUND;
    const Pack r = ((x - quarters * 1.5707963267341256) - quarters * 6.077100506303966e-11)
                   - quarters * 2.0222662487959506e-21;
    const Pack z = r * r;
    Pack odd = -1 / 39916800. + z * (1 / 6227020800. - z / 1307674368000.);
    odd = -1 / 6. + z * (1 / 120. + z * (-1 / 5040. + z * (1 / 362880. + z * odd)));
    odd = r + r * z * odd;
    Pack even = 1 / 479001600. + z * (-1 / 87178291200. + z / 20922789888000.);
    even = 1 / 24. + z * (-1 / 720. + z * (1 / 40320. + z * (-1 / 3628800. + z * even)));
    even = 1 - (0.5 * z - z * z * even);
    for (int lane = 0; lane < LANES; ++lane) {
        const int turn = static_cast<int>(quarters[lane]) & 3;
        const double one = turn & 1 ? even[lane] : odd[lane], other = turn & 1 ? odd[lane] : even[lane];
        odd[lane] = turn & 2 ? -one : one;
        even[lane] = turn == 1 || turn == 2 ? -other : other;
    }
    sine = odd;
    cosine = even;
}

struct Vector3 {
    Pack x[3];
    Pack& operator[](int i) { return x[i]; }
    const Pack& operator[](int i) const { return x[i]; }
};

struct Matrix3 {
    Pack x[9];  // by rows
    Pack& operator()(int i, int j) { return x[3 * i + j]; }
    const Pack& operator()(int i, int j) const { return x[3 * i + j]; }
};

// A motion or a force: linear part first, as everywhere in the library.
struct Vector6 {
    Vector3 linear, angular;
};

STEELYARD_INLINE void add_cross(Vector3& out, const Vector3& a, const Vector3& b) {
    out[0] += a[1] * b[2] - a[2] * b[1];
    out[1] += a[2] * b[0] - a[0] * b[2];
    out[2] += a[0] * b[1] - a[1] * b[0];
}

STEELYARD_INLINE Pack dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// R x, with x the same for all samples or one a sample.
template <class Other>
STEELYARD_INLINE Vector3 times(const Matrix3& R, const Other& x) {
    Vector3 out;
    for (int i = 0; i < 3; ++i) out[i] = R(i, 0) * x[0] + R(i, 1) * x[1] + R(i, 2) * x[2];
    return out;
}

STEELYARD_INLINE Vector3 transposed_times(const Matrix3& R, const Vector3& x) {
    Vector3 out;
    for (int i = 0; i < 3; ++i) out[i] = R(0, i) * x[0] + R(1, i) * x[1] + R(2, i) * x[2];
    return out;
}

}  // namespace steelyard::STEELYARD_ISA
