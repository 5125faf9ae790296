// Compiled once for each instruction set, as STEELYARD_ISA.
#include "kernels.hpp"

#include "constrained_fits.hpp"
#include "derivatives.hpp"
#include "evidence.hpp"
#include "sums.hpp"
#include "torques.hpp"

namespace steelyard::STEELYARD_ISA {
namespace {

// Hands out arrays from one piece of scratch; with none it counts what they need.
struct Scratch {
    char* begin;
    std::size_t used = 0;

    template <class T>
    T* array(Index count) {
        T* out = reinterpret_cast<T*>(begin + used);
        used += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
        return out;
    }

    Motion motion(const Tree& tree) {
        const Index frames = tree.nj + 1;
        return {array<Matrix3>(frames), array<Vector3>(frames), array<Vector6>(frames), array<Vector6>(frames),
                array<Vector6>(tree.nt)};
    }

    SumSpace sums(const Tree& tree, const Rows& rows) {
        return {motion(tree), array<Vector6>(PACKS * tree.nt), array<Wrenches>(PACKS * tree.nb),
                array<Pack>(PACKS * rows.largest)};
    }

    TorqueSpace torques(const Tree& tree) { return {motion(tree), array<Vector6>(tree.nj + 1)}; }

    DerivativeSpace derivatives(const Tree& tree) {
        const Index square = tree.nv * tree.nv;
        return {motion(tree), array<Composite>(tree.nj + 1), array<Change>(tree.nt), array<Pack>(square),
                array<Pack>(square), array<Pack>(square), array<Pack>(6 * tree.nv)};
    }

    FitSpace fits(const ConstrainedFit& fit) {
        const Index groups = (fit.bodies + LANES - 1) / LANES, rest = (fit.bounds + LANES - 1) / LANES, n = fit.size;
        const auto vector = [&] { return array<double>(n); };
        return {array<double>((10 * fit.bodies + fit.bounds) * n), array<double>(n * n),
                vector(), vector(), vector(), vector(), vector(), array<double>(fit.bounds),
                array<Pack>(4 * groups + rest), array<Bodies>(groups)};
    }

    EvidenceSpace evidence(const Evidence& e) {
        const Sizes n = sizes_of(e);
        Walk walk{e, n};
        for (Index g = 0; g < e.rows; ++g) walk.at(g);
        const auto larger = [](Index a, Index b) { return a > b ? a : b; };
        const auto numbers = [&](Index count) { return array<double>(count); };
        const Index m = n.m, local = e.rows * m, s = n.s, f = larger(n.f, 16), pushed = s * larger(n.n, m);
        EvidenceSpace out;
        out.half = numbers(walk.strip), out.gain = numbers(walk.strip), out.inverse = numbers(local * m);
        out.S = numbers(walk.square), out.root = numbers(m * m), out.back = numbers(m * m);
        out.turned = numbers(m), out.pulled = numbers(m), out.best = numbers(local), out.precision = numbers(local);
        out.variance = numbers(local * m), out.data = numbers(s * s), out.moment = numbers(s);
        out.P = numbers(100 * e.bodies), out.rest = numbers(s), out.U = numbers(f * f), out.W = numbers(f * s);
        out.C = numbers(s * s), out.size = numbers(larger(f, n.n));
        out.free = numbers(e.told ? s * f : 0), out.half_free = numbers(e.told ? s * f : 0);
        out.prior = numbers(e.told ? s * s : 0), out.slope = numbers(s), out.step = numbers(s), out.moved = numbers(s);
        out.here = numbers(s);
        out.deviation = numbers(e.columns), out.told = numbers(e.groups), out.square = numbers(e.groups);
        out.pull = numbers(10 * e.bodies), out.push = numbers(pushed), out.pushed = numbers(pushed);
        out.J = numbers(n.n * n.n), out.turn = numbers(larger(f, 2 * n.n + e.rows));
        out.prior_U = numbers(f * f), out.prior_size = numbers(f);
        return out;
    }
};

std::size_t sum_space(const Tree& tree, const Rows& rows) {
    Scratch s{nullptr};
    s.sums(tree, rows);
    return s.used;
}

std::size_t torque_space(const Tree& tree) {
    Scratch s{nullptr};
    s.torques(tree);
    return s.used;
}

std::size_t derivative_space(const Tree& tree) {
    Scratch s{nullptr};
    s.derivatives(tree);
    return s.used;
}

std::size_t fit_space(const ConstrainedFit& fit) {
    Scratch s{nullptr};
    s.fits(fit);
    return s.used;
}

void run_sums(const Tree& tree, const Rows& rows, const Samples& x, const RowData& data, void* space, double* gram) {
    Scratch s{static_cast<char*>(space)};
    add_samples(tree, rows, x, data, s.sums(tree, rows), gram);
}

void run_torques(const Tree& tree, const Links& links, const Samples& x, void* space, double* tau) {
    Scratch s{static_cast<char*>(space)};
    torques(tree, links, x, s.torques(tree), tau);
}

void run_derivatives(const Tree& tree, const Links& links, const Samples& x, void* space, const Derivatives& out) {
    Scratch s{static_cast<char*>(space)};
    derivatives(tree, links, x, s.derivatives(tree), out);
}

void run_fits(const ConstrainedFit& fit, const FitRules& rules, const double* free, Index n, double first, double last,
              void* space, double* z, bool* arrived) {
    Scratch s{static_cast<char*>(space)};
    const FitSpace room = s.fits(fit);
    for (Index i = 0; i < n; ++i)
        arrived[i] = follow(fit, rules, free + i * fit.size, first, last, room, z + i * fit.size);
}

std::size_t evidence_space(const Evidence& e) {
    Scratch s{nullptr};
    s.evidence(e);
    return s.used;
}

bool run_evidence(const Evidence& e, void* space, double* starts, const EvidenceFound& out) {
    Scratch s{static_cast<char*>(space)};
    return maximise(e, s.evidence(e), starts, out);
}

void sines_and_cosines(const double* x, Index n, double* sine, double* cosine) {
    for (Index first = 0; first < n; first += LANES) {
        const int count = static_cast<int>(n - first < LANES ? n - first : LANES);
        Pack s, c;
        sine_and_cosine(load(x + first, count), s, c);
        for (int lane = 0; lane < count; ++lane) sine[first + lane] = s[lane], cosine[first + lane] = c[lane];
    }
}

}  // namespace

#define STEELYARD_TEXT_(x) #x
#define STEELYARD_TEXT(x) STEELYARD_TEXT_(x)
extern const Kernels KERNELS = {STEELYARD_TEXT(STEELYARD_ISA), sum_space,       torque_space,
                                derivative_space,             run_sums,        run_torques,
                                run_derivatives,              fit_space,       run_fits,
                                evidence_space,               run_evidence,    sines_and_cosines};

}  // namespace steelyard::STEELYARD_ISA
