// Derivatives of inverse dynamics by positions, velocities, accelerations and joint twists (paper D, section 2), by
// the few numbers a joint needs of all that is behind it: `dynamics/displacements.py` has the mathematics.
#pragma once

#include "tree.hpp"

namespace steelyard::STEELYARD_ISA {

// Sums over the bodies behind a joint, at the world's origin.
struct Composite {
    Vector3 first, momentum;   // first moment; linear momentum
    Matrix3 inertia, bias;     // of rotation; half of what a changed angular velocity does
    Vector6 force;             // that accelerates them
};

// What a displacement does to whatever moves: a proper acceleration and an angular velocity.
struct Change {
    Vector6 acceleration;
    Vector3 spin;
};

struct DerivativeSpace {
    Motion motion;
    Composite* behind;  // (nj + 1)
    Change* resisted;   // (nt) [I S; (B^T S)_w] of every degree
    Pack *dq, *dv, *da;  // (nv, nv)
    Pack* twists;        // (6, nv)
};

STEELYARD_INLINE Vector3 cross(const Vector3& a, const Vector3& b) {
    Vector3 out{};
    add_cross(out, a, b);
    return out;
}

template <class Out>
STEELYARD_INLINE void add(Out& out, const Vector3& x) {
    for (int i = 0; i < 3; ++i) out[i] += x[i];
}

STEELYARD_INLINE void add(Vector6& out, const Vector6& x) {
    add(out.linear, x.linear);
    add(out.angular, x.angular);
}

STEELYARD_INLINE void add(Matrix3& out, const Matrix3& x) {
    for (int i = 0; i < 9; ++i) out.x[i] += x.x[i];
}

STEELYARD_INLINE Pack dot(const Vector6& a, const Vector6& b) {
    return dot(a.linear, b.linear) + dot(a.angular, b.angular);
}

STEELYARD_INLINE void add_body(const Motion& m, const Links& links, Index b, Index j, Composite& out) {
    const Matrix3& R = m.R[j];
    const Vector3 &p = m.p[j], &v = m.V[j].linear, &w = m.V[j].angular;
    const double *M = links.second + 9 * b, mass = links.mass[b];
    const Vector3 turned = times(R, links.first + 3 * b);
    Vector3 h;
    Matrix3 half, second;  // half: R times the second moment; second: moments in world axes at the world's origin
    for (int i = 0; i < 3; ++i) {
        h[i] = turned[i] + mass * p[i];
        for (int c = 0; c < 3; ++c) half(i, c) = R(i, 0) * M[c] + R(i, 1) * M[3 + c] + R(i, 2) * M[6 + c];
    }
    for (int i = 0; i < 3; ++i)
        for (int c = 0; c < 3; ++c)
            second(i, c) = half(i, 0) * R(c, 0) + half(i, 1) * R(c, 1) + half(i, 2) * R(c, 2) + turned[i] * p[c]
                           + p[i] * h[c];
    const Pack trace = second(0, 0) + second(1, 1) + second(2, 2), along = dot(h, v);
    Vector3 momentum = cross(w, h), spin = cross(h, v);
    Vector6 force;
    for (int i = 0; i < 3; ++i) {
        momentum[i] += mass * v[i];
        force.linear[i] = mass * m.A[j].linear[i];
        force.angular[i] = all(0);
        out.bias(i, i) += along;
        out.inertia(i, i) += trace;
        for (int c = 0; c < 3; ++c) {
            const Pack own = (i == c ? trace : all(0)) - second(i, c);
            spin[i] += own * w[c];
            force.angular[i] += own * m.A[j].angular[c];
            out.inertia(i, c) -= second(i, c);
            out.bias(i, c) -= v[i] * h[c];
        }
    }
    for (int c = 0; c < 3; ++c) {
        out.bias(0, c) -= w[1] * second(2, c) - w[2] * second(1, c);
        out.bias(1, c) -= w[2] * second(0, c) - w[0] * second(2, c);
        out.bias(2, c) -= w[0] * second(1, c) - w[1] * second(0, c);
    }
    add_cross(force.linear, m.A[j].angular, h);
    add_cross(force.linear, w, momentum);
    add_cross(force.angular, h, m.A[j].linear);
    add_cross(force.angular, v, momentum);
    add_cross(force.angular, w, spin);
    add(out.first, h);
    add(out.momentum, momentum);
    add(out.force, force);
}

STEELYARD_INLINE void composites(const Tree& tree, const Links& links, const Motion& m, Composite* behind) {
    for (Index j = 0; j <= tree.nj; ++j) behind[j] = Composite{};
    for (Index b = 0; b < tree.nb; ++b) add_body(m, links, b, tree.body_joint[b], behind[tree.body_joint[b]]);
    for (Index j = tree.nj - 1; j >= 0; --j) {
        Composite& above = behind[tree.above[j]];
        add(above.first, behind[j].first);
        add(above.momentum, behind[j].momentum);
        add(above.force, behind[j].force);
        add(above.inertia, behind[j].inertia);
        add(above.bias, behind[j].bias);
    }
}

// `[[D, C], [0, D]]` makes accelerations of displacements of what stands on a base with twist V and acceleration A.
struct Base {
    Matrix3 D, C;
    Vector3 w;
};

STEELYARD_INLINE Base base_of(const Vector6& V, const Vector6& A) {
    Base out;
    const Pack square = dot(V.angular, V.angular), mixed = 2 * dot(V.angular, V.linear);
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) {
            out.D(i, c) = V.angular[i] * V.angular[c];
            out.C(i, c) = V.linear[i] * V.angular[c] + V.angular[i] * V.linear[c];
        }
        out.D(i, i) -= square;
        out.C(i, i) -= mixed;
    }
    for (int i = 0; i < 3; ++i) {
        const int up = (i + 1) % 3, down = (i + 2) % 3;
        out.D(up, down) -= A.angular[i];
        out.D(down, up) += A.angular[i];
        out.C(up, down) -= A.linear[i];
        out.C(down, up) += A.linear[i];
    }
    out.w = V.angular;
    return out;
}

STEELYARD_INLINE Change displaced(const Base& base, const Vector6& S) {
    Change out{{times(base.D, S.linear), times(base.D, S.angular)}, cross(base.w, S.angular)};
    add(out.acceleration.linear, times(base.C, S.angular));
    return out;
}

// I x1 + B x2 of the links behind a joint.
STEELYARD_INLINE Vector6 response(double mass, const Composite& behind, const Change& x) {
    Vector6 out{cross(x.acceleration.angular, behind.first), cross(behind.first, x.acceleration.linear)};
    const Vector3 carried = cross(x.spin, behind.momentum), turned = times(behind.inertia, x.acceleration.angular),
                  biased = times(behind.bias, x.spin);
    for (int i = 0; i < 3; ++i) {
        out.linear[i] += mass * x.acceleration.linear[i] + 2 * carried[i];
        out.angular[i] += turned[i] + 2 * biased[i];
    }
    return out;
}

// out += d x* F
STEELYARD_INLINE void add_force_cross(Vector6& out, const Vector6& d, const Vector6& F) {
    add_cross(out.linear, d.angular, F.linear);
    add_cross(out.angular, d.linear, F.linear);
    add_cross(out.angular, d.angular, F.angular);
}

STEELYARD_INLINE Change resistance(double mass, const Composite& behind, const Vector6& S) {
    Change out{{cross(S.angular, behind.first), cross(behind.first, S.linear)}, cross(behind.momentum, S.linear)};
    const Vector3 turned = times(behind.inertia, S.angular), biased = transposed_times(behind.bias, S.angular);
    for (int i = 0; i < 3; ++i) {
        out.acceleration.linear[i] += mass * S.linear[i];
        out.acceleration.angular[i] += turned[i];
        out.spin[i] = 2 * (out.spin[i] + biased[i]);
    }
    return out;
}

STEELYARD_INLINE Pack dot(const Change& a, const Change& b) {
    return dot(a.acceleration, b.acceleration) + dot(a.spin, b.spin);
}

// Torques of one degree t of joint j: on what is behind it by its changes of position and rate, above by the response.
STEELYARD_INLINE void fill_degree(const Tree& tree, const DerivativeSpace& s, Index j, Index t, const Change& by_q,
                                  const Change& by_v, const Vector6& response_q, const Vector6& response_v) {
    const Index at = tree.coordinate[t] * tree.nv;
    const double ratio = tree.ratio[t];
    const Vector6* S = s.motion.S;
    for (Index k = tree.degree_start[j]; k < tree.subtree_end[j]; ++k) {
        const Index to = at + tree.coordinate[k];
        const double both = ratio * tree.ratio[k];
        s.dq[to] += both * dot(s.resisted[k], by_q);
        s.dv[to] += both * dot(s.resisted[k], by_v);
        s.da[to] += both * dot(s.resisted[k].acceleration, S[t]);
    }
    for (Index above = tree.above[j]; above < tree.nj; above = tree.above[above])
        for (Index k = tree.degree_start[above]; k < tree.degree_start[above + 1]; ++k) {
            const Index to = at + tree.coordinate[k];
            const double both = ratio * tree.ratio[k];
            s.dq[to] += both * dot(S[k], response_q);
            s.dv[to] += both * dot(S[k], response_v);
            s.da[to] += both * dot(S[k], s.resisted[t].acceleration);
        }
}

// Six unit twists of a frame: what they displace in world axes, times sign.
STEELYARD_INLINE void add_unit_twists(const Matrix3& R, const Vector3& p, double sign, Vector6* d) {
    for (int c = 0; c < 3; ++c) {
        const Vector3 x{{sign * R(0, c), sign * R(1, c), sign * R(2, c)}};
        add(d[c].linear, x);
        add(d[3 + c].angular, x);
        add_cross(d[3 + c].linear, p, x);
    }
}

STEELYARD_INLINE void add_change(Change& out, const Change& x) {
    add(out.acceleration, x.acceleration);
    add(out.spin, x.spin);
}

// Pose of joint j's child at the joint's zero.
STEELYARD_INLINE void mount(const Tree& tree, const Links& links, const Motion& m, Index j, Matrix3& R, Vector3& p) {
    const Matrix3& parent = m.R[tree.above[j]];
    const double* local = links.mount_R + 9 * j;
    p = times(parent, links.mount_p + 3 * j);
    add(p, m.p[tree.above[j]]);
    for (int i = 0; i < 3; ++i)
        for (int c = 0; c < 3; ++c)
            R(i, c) = parent(i, 0) * local[c] + parent(i, 1) * local[3 + c] + parent(i, 2) * local[6 + c];
}

// Torques of the six changes of joint j's twist into s.twists.
STEELYARD_INLINE void fill_twists(const Tree& tree, const Links& links, const DerivativeSpace& s, Index j,
                                  const Base& base) {
    const Motion& m = s.motion;
    const Base own = base_of(m.V[j], m.A[j]);
    Vector6 hung[6] = {}, mounted[6] = {};
    Matrix3 R;
    Vector3 p;
    mount(tree, links, m, j, R, p);
    add_unit_twists(m.R[j], m.p[j], -1, hung);
    add_unit_twists(R, p, 1, mounted);
    for (int c = 0; c < 6; ++c) {
        Pack* out = s.twists + c * tree.nv;
        Change x = displaced(own, hung[c]);
        add_change(x, displaced(base, mounted[c]));
        Vector6 both = hung[c];
        add(both, mounted[c]);
        Vector6 felt = response(links.behind_mass[j], s.behind[j], x);
        add_force_cross(felt, both, s.behind[j].force);
        for (Index k = 0; k < tree.nv; ++k) out[k] = all(0);
        for (Index k = tree.degree_start[j]; k < tree.subtree_end[j]; ++k)
            out[tree.coordinate[k]] += tree.ratio[k] * dot(s.resisted[k], x);
        for (Index above = tree.above[j]; above < tree.nj; above = tree.above[above])
            for (Index k = tree.degree_start[above]; k < tree.degree_start[above + 1]; ++k)
                out[tree.coordinate[k]] += tree.ratio[k] * dot(m.S[k], felt);
        for (Index k = tree.degree_start[j]; k < tree.degree_start[j + 1]; ++k) {
            Vector6 turned{};
            add_force_cross(turned, m.S[k], s.behind[j].force);
            out[tree.coordinate[k]] -= tree.ratio[k] * dot(turned, hung[c]);
        }
    }
}

// Numbers of one pack (size) to `count` samples of an array (n, size), `stride` apart.
STEELYARD_INLINE void store(const Pack* x, Index size, int count, double* out, Index stride) {
    for (int lane = 0; lane < count; ++lane)
        for (Index i = 0; i < size; ++i) out[lane * stride + i] = x[i][lane];
}

static void derivatives(const Tree& tree, const Links& links, const Samples& samples, const DerivativeSpace& s,
                        const Derivatives& out) {
    Motion m = s.motion;
    const Index square = tree.nv * tree.nv, six = 6 * tree.nv;
    begin_world(tree, m);
    for (Index first = 0; first < samples.n; first += LANES) {
        const int count = static_cast<int>(samples.n - first < LANES ? samples.n - first : LANES);
        for (Index i = 0; i < square; ++i) s.dq[i] = s.dv[i] = s.da[i] = all(0);
        move(tree, Place{&samples, first, count}, m);
        composites(tree, links, m, s.behind);
        for (Index j = 0; j < tree.nj; ++j)
            for (Index k = tree.degree_start[j]; k < tree.degree_start[j + 1]; ++k)
                s.resisted[k] = resistance(links.behind_mass[j], s.behind[j], m.S[k]);
        for (Index j = 0; j < tree.nj; ++j) {
            const Index above = tree.above[j];
            const Base base = base_of(m.V[above], m.A[above]);
            Vector6 both = m.V[above];
            add(both, m.V[j]);
            for (Index t = tree.degree_start[j]; t < tree.degree_start[j + 1]; ++t) {
                const Vector6& S = m.S[t];
                const Change by_q = displaced(base, S);
                Change by_v{{cross(both.angular, S.linear), cross(both.angular, S.angular)}, S.angular};
                add_cross(by_v.acceleration.linear, both.linear, S.angular);
                Vector6 response_q = response(links.behind_mass[j], s.behind[j], by_q);
                add_force_cross(response_q, S, s.behind[j].force);
                fill_degree(tree, s, j, t, by_q, by_v, response_q, response(links.behind_mass[j], s.behind[j], by_v));
            }
            if (out.twists) {
                fill_twists(tree, links, s, j, base);
                store(s.twists, six, count, out.twists + (first * tree.nj + j) * six, tree.nj * six);
            }
        }
        store(s.dq, square, count, out.dq + first * square, square);
        store(s.dv, square, count, out.dv + first * square, square);
        store(s.da, square, count, out.da + first * square, square);
    }
}

}  // namespace steelyard::STEELYARD_ISA
