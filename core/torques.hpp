// Inverse dynamics: one pass up the tree for the motion, one down for the wrenches.
#pragma once

#include "tree.hpp"

namespace steelyard::STEELYARD_ISA {

struct TorqueSpace {
    Motion motion;
    Vector6* wrench;  // (nj + 1) of all that is behind a joint
};

STEELYARD_INLINE void add_wrench(const Motion& m, const Links& links, Index b, Index j, Vector6& out) {
    const Matrix3& R = m.R[j];
    const double *M = links.second + 9 * b, mass = links.mass[b], trace = M[0] + M[4] + M[8];
    const Vector3 d = origin_acceleration(m, j), h = times(R, links.first + 3 * b);
    const Vector3 w = transposed_times(R, m.V[j].angular), e = transposed_times(R, m.A[j].angular);
    Vector3 turning{}, force{}, spin, change;
    add_cross(turning, m.V[j].angular, h);
    for (int i = 0; i < 3; ++i) {
        force[i] = mass * d[i];
        spin[i] = trace * w[i] - (M[3 * i] * w[0] + M[3 * i + 1] * w[1] + M[3 * i + 2] * w[2]);
        change[i] = trace * e[i] - (M[3 * i] * e[0] + M[3 * i + 1] * e[1] + M[3 * i + 2] * e[2]);
    }
    add_cross(force, m.A[j].angular, h);
    add_cross(force, m.V[j].angular, turning);
    add_cross(change, w, spin);
    Vector3 torque = times(R, change);
    add_cross(torque, h, d);
    add_cross(torque, m.p[j], force);
    for (int i = 0; i < 3; ++i) {
        out.linear[i] += force[i];
        out.angular[i] += torque[i];
    }
}

// tau (n, nv), overwritten.
static void torques(const Tree& tree, const Links& links, const Samples& samples, const TorqueSpace& s, double* tau) {
    Motion m = s.motion;
    begin_world(tree, m);
    for (Index i = 0; i < samples.n * tree.nv; ++i) tau[i] = 0;
    for (Index first = 0; first < samples.n; first += LANES) {
        const int count = static_cast<int>(samples.n - first < LANES ? samples.n - first : LANES);
        move(tree, Place{&samples, first, count}, m);
        for (Index j = 0; j <= tree.nj; ++j) s.wrench[j] = Vector6{};
        for (Index b = 0; b < tree.nb; ++b) add_wrench(m, links, b, tree.body_joint[b], s.wrench[tree.body_joint[b]]);
        for (Index j = tree.nj - 1; j >= 0; --j) {
            const Vector6& F = s.wrench[j];
            for (Index d = tree.degree_start[j]; d < tree.degree_start[j + 1]; ++d) {
                const Pack own = tree.ratio[d] * (dot(m.S[d].linear, F.linear) + dot(m.S[d].angular, F.angular));
                for (int lane = 0; lane < count; ++lane)
                    tau[(first + lane) * tree.nv + tree.coordinate[d]] += own[lane];
            }
            Vector6& above = s.wrench[tree.above[j]];
            for (int i = 0; i < 3; ++i) {
                above.linear[i] += F.linear[i];
                above.angular[i] += F.angular[i];
            }
        }
    }
}

}  // namespace steelyard::STEELYARD_ISA
