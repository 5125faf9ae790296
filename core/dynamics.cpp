// Bindings of trees and of what is computed on them.
#include "dynamics.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "kernels.hpp"

namespace steelyard {
namespace {

using nb::literals::operator""_a;

// The arrays of a plan stay alive with it.
class OwnedTree {
   public:
    Tree tree;

    OwnedTree(Indices above, Indices scalar, Indices other, Indices scalar_q, Numbers scalar_ratio,
              Numbers scalar_offset, Numbers scalar_R, Numbers scalar_p, Indices degree_start, Indices subtree_end,
              Numbers subspace, Indices coordinate, Numbers ratio, Numbers gravity, Indices body_joint, std::int64_t nq,
              std::int64_t nv)
        : kept_indices_{above, scalar, other, scalar_q, degree_start, subtree_end, coordinate, body_joint},
          kept_numbers_{scalar_ratio, scalar_offset, scalar_R, scalar_p, subspace, ratio, gravity} {
        const auto nj = static_cast<Index>(above.size()), nt = static_cast<Index>(ratio.size());
        const auto ns = static_cast<Index>(scalar_q.size()), nb = static_cast<Index>(body_joint.size());
        if (nq < 0 || nv < 0 || nv > nt) throw std::invalid_argument("nq or nv does not fit the degrees");
        tree = {nq,
                nv,
                nj,
                nt,
                nb,
                0,
                within(above, "above", nj, 0, nj + 1),
                within(scalar, "scalar", nj, -1, ns),
                within(other, "other", nj, -1, nj),
                within(scalar_q, "scalar_q", ns, 0, nq),
                checked(scalar_ratio, "scalar_ratio", {ns}),
                checked(scalar_offset, "scalar_offset", {ns}),
                checked(scalar_R, "scalar_R", {ns, 3, 9}),
                checked(scalar_p, "scalar_p", {ns, 4, 3}),
                starts(degree_start, "degree_start", nj, nt),
                within(subtree_end, "subtree_end", nj, 0, nt + 1),
                within(coordinate, "coordinate", nt, 0, nv),
                checked(subspace, "subspace", {nt, 6}),
                checked(ratio, "ratio", {nt}),
                checked(gravity, "gravity", {3}),
                within(body_joint, "body_joint", nb, 0, nj)};
        for (Index j = 0; j < nj; ++j) {
            if (tree.above[j] >= j && tree.above[j] != nj) throw std::invalid_argument("above must name earlier joints");
            if (tree.scalar[j] < 0 && tree.other[j] < 0) throw std::invalid_argument("a joint needs a pose");
            tree.fixed = tree.other[j] >= tree.fixed ? tree.other[j] + 1 : tree.fixed;
        }
    }

   private:
    Indices kept_indices_[8];
    Numbers kept_numbers_[7];
};

class OwnedLinks {
   public:
    Links links;

    OwnedLinks(const OwnedTree& owner, Numbers mount_R, Numbers mount_p, Numbers behind_mass, Numbers mass,
               Numbers first, Numbers second)
        : kept_{mount_R, mount_p, behind_mass, mass, first, second} {
        const Index nj = owner.tree.nj, nb = owner.tree.nb;
        links = {checked(mount_R, "mount_R", {nj, 3, 3}), checked(mount_p, "mount_p", {nj, 3}),
                 checked(behind_mass, "behind_mass", {nj}), checked(mass, "mass", {nb}),
                 checked(first, "first", {nb, 3}), checked(second, "second", {nb, 3, 3})};
        bodies_ = nb, joints_ = nj;
    }

    const Links& of(const Tree& tree) const {
        if (tree.nb != bodies_ || tree.nj != joints_) throw std::invalid_argument("links of another tree");
        return links;
    }

   private:
    Numbers kept_[6];
    Index bodies_, joints_;
};

class OwnedRows {
   public:
    Rows rows;

    OwnedRows(const OwnedTree& owner, Indices start, Indices degree, Indices body, Indices parameter, Indices place,
              Indices again, Numbers ratio, Array<const bool> needed, Indices bodies_end, Indices effect_start,
              Indices effect, Indices padded, Indices gram_start)
        : kept_indices_{start, degree, body, parameter, place, again, bodies_end, effect_start, effect, padded,
                        gram_start},
          ratio_(ratio),
          needed_(needed) {
        const Index nv = owner.tree.nv, ne = static_cast<Index>(ratio.size()),
                    nf = static_cast<Index>(effect.size());
        checked(gram_start, "gram_start", {nv + 1});
        rows = {starts(start, "start", nv, ne),
                within(degree, "degree", ne, 0, owner.tree.nt),
                within(body, "body", ne, 0, owner.tree.nb),
                within(parameter, "parameter", ne, 0, 10),
                within(place, "place", ne, 0, 10 * owner.tree.nb),
                within(again, "again", ne, 0, 2),
                checked(ratio, "ratio", {ne}),
                reinterpret_cast<const std::uint8_t*>(checked(needed, "needed", {owner.tree.nb, 10})),
                within(bodies_end, "bodies_end", nv, 0, 10 * owner.tree.nb + 1),
                starts(effect_start, "effect_start", nv, nf),
                within(effect, "effect", nf, 0, nf + 1),
                checked(padded, "padded", {nv}),
                nv ? starts(gram_start, "gram_start", nv, gram_start.data()[nv]) : gram_start.data(),
                0};
        for (Index dof = 0; dof < nv; ++dof) {
            const Index width = rows.bodies_end[dof] + rows.effect_start[dof + 1] - rows.effect_start[dof] + 1;
            const Index size = rows.padded[dof];
            if (size % 4 || size < width || size > width + 3
                || rows.gram_start[dof + 1] - rows.gram_start[dof] != size * size)
                throw std::invalid_argument("padded and gram_start do not fit row " + std::to_string(dof));
            for (Index e = rows.start[dof]; e < rows.start[dof + 1]; ++e)
                if (rows.place[e] >= rows.bodies_end[dof] || !rows.needed[10 * rows.body[e] + rows.parameter[e]])
                    throw std::invalid_argument("entry " + std::to_string(e) + " has no place or is not needed");
            rows.largest = size > rows.largest ? size : rows.largest;
        }
        for (Index e = 0; e < nf; ++e) effects_ = rows.effect[e] >= effects_ ? rows.effect[e] + 1 : effects_;
        coordinates_ = nv, degrees_ = owner.tree.nt, bodies_ = owner.tree.nb;
    }

    const Rows& of(const Tree& tree) const {
        if (tree.nv != coordinates_ || tree.nt != degrees_ || tree.nb != bodies_)
            throw std::invalid_argument("rows of another tree");
        return rows;
    }

    Index effects() const { return effects_; }

   private:
    Indices kept_indices_[11];
    Numbers ratio_;
    Array<const bool> needed_;
    Index effects_ = 0, coordinates_, degrees_, bodies_;
};

Samples samples_of(const Tree& tree, const Numbers& q, const Numbers& v, const Numbers& a, const Numbers& fixed) {
    if (v.ndim() != 2) throw std::invalid_argument("v must have shape (n, nv)");
    const auto n = static_cast<Index>(v.shape(0));
    return {checked(q, "q", {n, tree.nq}), checked(v, "v", {n, tree.nv}), checked(a, "a", {n, tree.nv}),
            checked(fixed, "fixed", {tree.fixed, 12, n}), n};
}

void add_samples(const OwnedTree& owner, const OwnedRows& owned, Numbers q, Numbers fixed, Numbers v, Numbers a,
                 Numbers tau, Numbers effects, std::optional<Numbers> roots, Array<double> gram,
                 const std::string& instructions) {
    const Tree& tree = owner.tree;
    const Rows& rows = owned.of(tree);
    const Samples x = samples_of(tree, q, v, a, fixed);
    const RowData data{checked(tau, "tau", {x.n, tree.nv}), checked(effects, "effects", {owned.effects(), x.n}),
                       roots ? checked(*roots, "roots", {x.n, tree.nv}) : nullptr};
    double* out = checked(gram, "gram", {rows.gram_start[tree.nv]});
    const Kernels& kernels = kernels_of(instructions.c_str());
    const Space space(kernels.sum_space(tree, rows));
    nb::gil_scoped_release release;
    kernels.add_samples(tree, rows, x, data, space.data(), out);
}

void torques(const OwnedTree& owner, const OwnedLinks& links, Numbers q, Numbers fixed, Numbers v, Numbers a,
             Array<double> tau, const std::string& instructions) {
    const Tree& tree = owner.tree;
    const Links& own = links.of(tree);
    const Samples x = samples_of(tree, q, v, a, fixed);
    double* out = checked(tau, "tau", {x.n, tree.nv});
    const Kernels& kernels = kernels_of(instructions.c_str());
    const Space space(kernels.torque_space(tree));
    nb::gil_scoped_release release;
    kernels.torques(tree, own, x, space.data(), out);
}

void derivatives(const OwnedTree& owner, const OwnedLinks& links, Numbers q, Numbers fixed, Numbers v, Numbers a,
                 Array<double> dq, Array<double> dv, Array<double> da, std::optional<Array<double>> twists,
                 const std::string& instructions) {
    const Tree& tree = owner.tree;
    const Links& own = links.of(tree);
    const Samples x = samples_of(tree, q, v, a, fixed);
    const Derivatives out{checked(dq, "dq", {x.n, tree.nv, tree.nv}), checked(dv, "dv", {x.n, tree.nv, tree.nv}),
                          checked(da, "da", {x.n, tree.nv, tree.nv}),
                          twists ? checked(*twists, "twists", {x.n, tree.nj, 6, tree.nv}) : nullptr};
    const Kernels& kernels = kernels_of(instructions.c_str());
    const Space space(kernels.derivative_space(tree));
    nb::gil_scoped_release release;
    kernels.derivatives(tree, own, x, space.data(), out);
}

void sines_and_cosines(Numbers x, Array<double> sine, Array<double> cosine, const std::string& instructions) {
    const auto n = static_cast<Index>(x.size());
    kernels_of(instructions.c_str()).sines_and_cosines(checked(x, "x", {n}), n, checked(sine, "sine", {n}),
                                          checked(cosine, "cosine", {n}));
}

}  // namespace

void bind_dynamics(nb::module_& m) {
    nb::class_<OwnedTree>(m, "Tree").def(
        nb::init<Indices, Indices, Indices, Indices, Numbers, Numbers, Numbers, Numbers, Indices, Indices, Numbers,
                 Indices, Numbers, Numbers, Indices, std::int64_t, std::int64_t>(),
        "above"_a, "scalar"_a, "other"_a, "scalar_q"_a, "scalar_ratio"_a, "scalar_offset"_a, "scalar_R"_a,
        "scalar_p"_a, "degree_start"_a, "subtree_end"_a, "subspace"_a, "coordinate"_a, "ratio"_a, "gravity"_a,
        "body_joint"_a, "nq"_a, "nv"_a);
    nb::class_<OwnedLinks>(m, "Links").def(
        nb::init<const OwnedTree&, Numbers, Numbers, Numbers, Numbers, Numbers, Numbers>(), "tree"_a, "mount_R"_a,
        "mount_p"_a, "behind_mass"_a, "mass"_a, "first"_a, "second"_a);
    nb::class_<OwnedRows>(m, "Rows").def(
        nb::init<const OwnedTree&, Indices, Indices, Indices, Indices, Indices, Indices, Numbers, Array<const bool>,
                 Indices, Indices, Indices, Indices, Indices>(),
        "tree"_a, "start"_a, "degree"_a, "body"_a, "parameter"_a, "place"_a, "again"_a, "ratio"_a, "needed"_a,
        "bodies_end"_a, "effect_start"_a, "effect"_a, "padded"_a, "gram_start"_a);
    m.def("add_samples", add_samples, "tree"_a, "rows"_a, "q"_a, "fixed"_a, "v"_a, "a"_a, "tau"_a, "effects"_a,
          "roots"_a.none(), "gram"_a.noconvert(), "instructions"_a = "");
    m.def("torques", torques, "tree"_a, "links"_a, "q"_a, "fixed"_a, "v"_a, "a"_a, "tau"_a.noconvert(), "instructions"_a = "");
    m.def("derivatives", derivatives, "tree"_a, "links"_a, "q"_a, "fixed"_a, "v"_a, "a"_a, "dq"_a.noconvert(), "dv"_a.noconvert(),
          "da"_a.noconvert(),
          "twists"_a.none().noconvert(), "instructions"_a = "");
    m.def("sines_and_cosines", sines_and_cosines, "x"_a, "sine"_a.noconvert(), "cosine"_a.noconvert(), "instructions"_a = "");
    m.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const char* const* name = available_kernels(); *name; ++name) names.emplace_back(*name);
        return names;
    });
}

}  // namespace steelyard
