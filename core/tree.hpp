// Poses, axes, twists and accelerations of a tree in world axes at the world's origin, for one pack of samples.
#pragma once

#include "pack.hpp"

namespace steelyard::STEELYARD_ISA {

// What a pack of samples fills. The last of R, p, V, A is the world.
struct Motion {
    Matrix3* R;
    Vector3* p;
    Vector6 *V, *A, *S;
};

struct Place {
    const Samples* samples;
    Index first;
    int count;  // lanes in use
};

STEELYARD_INLINE void begin_world(const Tree& tree, Motion& m) {
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) m.R[tree.nj](i, j) = all(i == j);
        m.p[tree.nj][i] = all(0);
        m.V[tree.nj].linear[i] = m.V[tree.nj].angular[i] = m.A[tree.nj].angular[i] = all(0);
        m.A[tree.nj].linear[i] = all(-tree.gravity[i]);  // proper acceleration: gravity pulls by not being there
    }
}

// Pose of a joint's child in its parent.
STEELYARD_INLINE void local_pose(const Tree& tree, const Place& at, Index j, Matrix3& R, Vector3& p) {
    const Index k = tree.scalar[j];
    const Samples& x = *at.samples;
    if (k < 0) {
        const double* pose = x.fixed + tree.other[j] * 12 * x.n + at.first;
        for (int i = 0; i < 9; ++i) R.x[i] = load(pose + i * x.n, at.count);
        for (int i = 0; i < 3; ++i) p[i] = load(pose + (9 + i) * x.n, at.count);
        return;
    }
    const Pack q = gather(x.q + at.first * tree.nq + tree.scalar_q[k], tree.nq, at.count);
    const Pack angle = tree.scalar_ratio[k] * q + tree.scalar_offset[k];
    Pack sine, cosine;
    sine_and_cosine(angle, sine, cosine);
    const double *e = tree.scalar_R + 27 * k, *f = tree.scalar_p + 12 * k;
    for (int i = 0; i < 9; ++i) R.x[i] = e[i] + e[9 + i] * sine + e[18 + i] * cosine;
    for (int i = 0; i < 3; ++i) p[i] = f[i] + f[3 + i] * angle + f[6 + i] * sine + f[9 + i] * cosine;
}

STEELYARD_INLINE void move_joint(const Tree& tree, const Place& at, Index j, Motion& m) {
    const Index above = tree.above[j];
    Matrix3 R;
    Vector3 p;
    local_pose(tree, at, j, R, p);
    const Matrix3& parent = m.R[above];
    p = times(parent, p);
    for (int i = 0; i < 3; ++i) {
        m.p[j][i] = m.p[above][i] + p[i];
        for (int c = 0; c < 3; ++c)
            m.R[j](i, c) = parent(i, 0) * R(0, c) + parent(i, 1) * R(1, c) + parent(i, 2) * R(2, c);
    }
    Vector6 own{}, V = m.V[above], A = m.A[above];
    for (Index d = tree.degree_start[j]; d < tree.degree_start[j + 1]; ++d) {
        Vector6& S = m.S[d];
        const double* u = tree.subspace + 6 * d;
        const Index state = at.first * tree.nv + tree.coordinate[d];
        const Pack rate = tree.ratio[d] * gather(at.samples->v + state, tree.nv, at.count);
        const Pack change = tree.ratio[d] * gather(at.samples->a + state, tree.nv, at.count);
        S.linear = times(m.R[j], u);
        S.angular = times(m.R[j], u + 3);
        add_cross(S.linear, m.p[j], S.angular);
        for (int i = 0; i < 3; ++i) {
            own.linear[i] += S.linear[i] * rate;
            own.angular[i] += S.angular[i] * rate;
            A.linear[i] += S.linear[i] * change;
            A.angular[i] += S.angular[i] * change;
        }
    }
    for (int i = 0; i < 3; ++i) {
        V.linear[i] += own.linear[i];
        V.angular[i] += own.angular[i];
    }
    add_cross(A.linear, V.angular, own.linear);
    add_cross(A.linear, V.linear, own.angular);
    add_cross(A.angular, V.angular, own.angular);
    m.V[j] = V;
    m.A[j] = A;
}

STEELYARD_INLINE void move(const Tree& tree, const Place& at, Motion& m) {
    for (Index j = 0; j < tree.nj; ++j) move_joint(tree, at, j, m);
}

// Classical proper acceleration of the origin of joint j's child.
STEELYARD_INLINE Vector3 origin_acceleration(const Motion& m, Index j) {
    Vector3 velocity = m.V[j].linear, out = m.A[j].linear;
    add_cross(velocity, m.V[j].angular, m.p[j]);
    add_cross(out, m.A[j].angular, m.p[j]);
    add_cross(out, m.V[j].angular, velocity);
    return out;
}

}  // namespace steelyard::STEELYARD_ISA
