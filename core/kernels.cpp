// Compiled once for each instruction set, as STEELYARD_ISA.
#include "kernels.hpp"

#include "derivatives.hpp"
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
                                run_derivatives,              sines_and_cosines};

}  // namespace steelyard::STEELYARD_ISA
