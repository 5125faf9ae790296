// A robot as flat arrays. What the arrays mean and how they are made: `dynamics/native_plans.py`, which has the same
// names. The bindings check every index before a kernel sees a plan.
#pragma once

#include <cstdint>

namespace steelyard {

using Index = std::int64_t;

struct Tree {
    Index nq, nv, nj, nt, nb, fixed;  // positions, velocities, joints, degrees, bodies, joints of several degrees
    const Index *above, *scalar, *other, *scalar_q;  // joints
    const double *scalar_ratio, *scalar_offset, *scalar_R, *scalar_p;
    const Index *degree_start, *subtree_end, *coordinate;  // degrees
    const double *subspace, *ratio, *gravity;
    const Index* body_joint;
};

struct Rows {
    const Index *start, *degree, *body, *parameter, *place, *again;  // products of a degree's axis and a body's wrench
    const double* ratio;
    const std::uint8_t* needed;  // (nb, 10)
    const Index *bodies_end, *effect_start, *effect, *padded, *gram_start;
    Index largest;  // of padded
};

struct Links {
    const double *mount_R, *mount_p, *behind_mass;  // joints
    const double *mass, *first, *second;            // bodies
};

// Samples by rows, as a log holds them. fixed: (tree.fixed, 12, n).
struct Samples {
    const double *q, *v, *a, *fixed;
    Index n;
};

// (n, nv), (ne, n), and (n, nv) or null.
struct RowData {
    const double *tau, *effects, *roots;
};

// Changes before torques: (n, nv, nv), and (n, nj, 6, nv) or null.
struct Derivatives {
    double *dq, *dv, *da, *twists;
};

// What fits of one robot share, see `fit/posterior`: y = S z, ten numbers a body, then the effects; effects `bounded` at
// least `lower`. S: (size, size), upper triangular, size a multiple of 8, padded with zeros.
struct ConstrainedFit {
    Index size, bodies, bounds;
    const double* S;
    const Index* bounded;
    const double* lower;
};

struct FitRules {
    double shrink, close, reach, longest;
    int steps, halvings;
};

// What scales and optimum are looked for of, see `fit/evidence`, whose names these are. Row groups have tiles of eight
// shared columns each, and sums of these alone: Gss, Gls and bs of one group after the other. local: (rows, local_count)
// whole tiles, -1 for none. hyper: (groups, 2) mean and deviation of a scale, of hyper_size columns.
struct Evidence {
    Index bodies, columns, shared_count, local_count, rows, groups, directions, starts;
    bool told;  // whether there are equalities
    const Index *shared, *local, *group, *tiles, *tile_start;
    const double *theta0, *middle, *unit, *start;
    const double *Gss, *Gls, *Gll, *bs, *bl, *energy, *free, *hyper, *hyper_size;
    const double *samples, *floor;  // (rows,) independent ones, least noise
    double share, tightness, apart, together, settled, longest, arrived, near, jitter, least_found, same;
    int scale_rounds, newton_rounds;
};

// (bodies, 10, 10) precision of priors, (s, s), (g, m, s), (g, m, m), (s,), (bodies + groups, same) and one number.
struct EvidenceFound {
    double *prior, *C, *gain, *inverse, *slope, *curvature, *evidence;
};

}  // namespace steelyard
