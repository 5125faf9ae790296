// Rows of the regression and their Gram matrices, block by block: no row is stored beyond its block.
#pragma once

#include <cstring>

#include "tree.hpp"

namespace steelyard::STEELYARD_ISA {

constexpr int BLOCK = 128;  // samples of which rows are made before they are multiplied
constexpr int PACKS = BLOCK / LANES;

// World wrenches per unit of a body's ten parameters.
struct Wrenches {
    Vector3 force[4], torque[10];  // moments of inertia make no force
};

// One body: d, the proper acceleration of its origin; terms of angular motion in body axes.
STEELYARD_INLINE void unit_wrenches(const Motion& m, Index j, const std::uint8_t* needed, Wrenches& out) {
    const Matrix3& R = m.R[j];
    const Vector3 d = origin_acceleration(m, j);
    const Vector3 w = transposed_times(R, m.V[j].angular), e = transposed_times(R, m.A[j].angular);
    const Pack xx = w[0] * w[0], yy = w[1] * w[1], zz = w[2] * w[2];
    const Pack xy = w[0] * w[1], xz = w[0] * w[2], yz = w[1] * w[2];
    const Pack none = all(0);
    if (needed[0]) {
        out.force[0] = d;
        out.torque[0] = Vector3{};
    }
    const Vector3 first[3] = {{{-yy - zz, xy + e[2], xz - e[1]}},
                              {{xy - e[2], -xx - zz, yz + e[0]}},
                              {{xz + e[1], yz - e[0], -xx - yy}}};
    for (int c = 0; c < 3; ++c)
        if (needed[1 + c]) {
            out.force[1 + c] = times(R, first[c]);
            out.torque[1 + c] = Vector3{};
            add_cross(out.torque[1 + c], Vector3{{R(0, c), R(1, c), R(2, c)}}, d);
        }
    for (int c = 0; c < 4; ++c)
        if (needed[c]) add_cross(out.torque[c], m.p[j], out.force[c]);
    const Vector3 second[6] = {{{e[0], xz, -xy}},         {{e[1] - xz, e[0] + yz, xx - yy}}, {{-yz, e[1], xy}},
                               {{e[2] + xy, zz - xx, e[0] - yz}}, {{yy - zz, e[2] - xy, e[1] + xz}}, {{yz, none - xz, e[2]}}};
    for (int c = 0; c < 6; ++c)
        if (needed[4 + c]) out.torque[4 + c] = times(R, second[c]);
}

// What one thread needs: all of it for one block, but for the motion, which is of one pack.
struct SumSpace {
    Motion motion;
    Vector6* S;          // (PACKS, nt)
    Wrenches* wrenches;  // (PACKS, nb)
    Pack* y;             // (largest row, PACKS)
};

STEELYARD_INLINE void body_columns(const Tree& tree, const Rows& rows, const SumSpace& s, Index dof, int packs) {
    for (Index e = rows.start[dof]; e < rows.start[dof + 1]; ++e) {
        const Index d = rows.degree[e], b = rows.body[e], c = rows.parameter[e];
        Pack* y = s.y + rows.place[e] * PACKS;
        const Pack ratio = all(rows.ratio[e]);
        if (!rows.again[e]) std::memset(static_cast<void*>(y), 0, sizeof(Pack) * packs);
        if (c < 4) {
            for (int k = 0; k < packs; ++k) {
                const Vector6& S = s.S[k * tree.nt + d];
                const Wrenches& F = s.wrenches[k * tree.nb + b];
                y[k] += ratio * (dot(S.angular, F.torque[c]) + dot(S.linear, F.force[c]));
            }
        } else {
            for (int k = 0; k < packs; ++k)
                y[k] += ratio * dot(s.S[k * tree.nt + d].angular, s.wrenches[k * tree.nb + b].torque[c]);
        }
    }
}

// Effects and torque behind the columns of bodies, weights on all of them, zeros in the padding and behind the samples.
STEELYARD_INLINE void complete(const Tree& tree, const Rows& rows, const RowData& data, Index n, Pack* y, Index dof,
                               Index first, int packs, int last) {
    Index place = rows.bodies_end[dof];
    const auto count = [&](int k) { return k == packs - 1 ? last : LANES; };
    for (Index e = rows.effect_start[dof]; e < rows.effect_start[dof + 1]; ++e, ++place)
        for (int k = 0; k < packs; ++k)
            y[place * PACKS + k] = load(data.effects + rows.effect[e] * n + first + k * LANES, count(k));
    for (int k = 0; k < packs; ++k)
        y[place * PACKS + k] = gather(data.tau + (first + k * LANES) * tree.nv + dof, tree.nv, count(k));
    if (data.roots)
        for (int k = 0; k < packs; ++k) {
            const Pack root = gather(data.roots + (first + k * LANES) * tree.nv + dof, tree.nv, count(k));
            for (Index i = 0; i <= place; ++i) y[i * PACKS + k] *= root;
        }
    for (Index i = 0; i <= place; ++i) mask(y[i * PACKS + packs - 1], last);
    for (Index i = place + 1; i < rows.padded[dof]; ++i)
        std::memset(static_cast<void*>(y + i * PACKS), 0, sizeof(Pack) * packs);
}

// Adds the 4 x 4 inner products of rows from a and from b to G. Sixteen sums fill the vector registers.
STEELYARD_INLINE void add_tile(const Pack* a, const Pack* b, int packs, double* G, Index size) {
    Pack c[4][4] = {};
    for (int k = 0; k < packs; ++k) {
        Pack x[4], y[4];
        for (int i = 0; i < 4; ++i) x[i] = a[i * PACKS + k], y[i] = b[i * PACKS + k];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j) c[i][j] += x[i] * y[j];
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) G[i * size + j] += sum(c[i][j]);
}

STEELYARD_INLINE void add_gram(const Pack* y, Index size, int packs, double* G) {
    for (Index i = 0; i < size; i += 4)
        for (Index j = 0; j <= i; j += 4) add_tile(y + i * PACKS, y + j * PACKS, packs, G + i * size + j, size);
}

static void add_samples(const Tree& tree, const Rows& rows, const Samples& samples, const RowData& data,
                        const SumSpace& s, double* gram) {
    Motion motion = s.motion;
    begin_world(tree, motion);
    for (Index first = 0; first < samples.n; first += BLOCK) {
        const int count = static_cast<int>(samples.n - first < BLOCK ? samples.n - first : BLOCK);
        const int packs = (count + LANES - 1) / LANES, last = count - (packs - 1) * LANES;
        for (int k = 0; k < packs; ++k) {
            motion.S = s.S + k * tree.nt;
            move(tree, Place{&samples, first + k * LANES, k == packs - 1 ? last : LANES}, motion);
            for (Index b = 0; b < tree.nb; ++b)
                unit_wrenches(motion, tree.body_joint[b], rows.needed + 10 * b, s.wrenches[k * tree.nb + b]);
        }
        for (Index dof = 0; dof < tree.nv; ++dof) {
            body_columns(tree, rows, s, dof, packs);
            complete(tree, rows, data, samples.n, s.y, dof, first, packs, last);
            add_gram(s.y, rows.padded[dof], packs, gram + rows.gram_start[dof]);
        }
    }
}

}  // namespace steelyard::STEELYARD_ISA
