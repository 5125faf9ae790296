// The kernels as the bindings see them: one table an instruction set, chosen once.
#pragma once

#include <cstddef>

#include "plan.hpp"

namespace steelyard {

struct Kernels {
    const char* name;  // of the instruction set
    // bytes of scratch that a call needs, aligned to 64
    std::size_t (*sum_space)(const Tree&, const Rows&);
    std::size_t (*torque_space)(const Tree&);
    std::size_t (*derivative_space)(const Tree&);
    // adds to the Gram matrices of all rows, flat, lower tiles
    void (*add_samples)(const Tree&, const Rows&, const Samples&, const RowData&, void* space, double* gram);
    void (*torques)(const Tree&, const Links&, const Samples&, void* space, double* tau);
    void (*derivatives)(const Tree&, const Links&, const Samples&, void* space, const Derivatives&);
    std::size_t (*fit_space)(const ConstrainedFit&);
    // n fits nearest to free (n, size), from and into z (n, size), along the central path from mu first to last
    void (*constrained)(const ConstrainedFit&, const FitRules&, const double* free, Index n, double first, double last,
                        void* space, double* z, bool* arrived);
    std::size_t (*evidence_space)(const Evidence&);
    // the scales and x of most evidence, from starts and into the first; false where no precision is positive definite
    bool (*evidence)(const Evidence&, void* space, double* starts, const EvidenceFound&);
    void (*sines_and_cosines)(const double* x, Index n, double* sine, double* cosine);
};

// The best table for this processor, or the one named. Throws std::invalid_argument where there is none.
const Kernels& kernels_of(const char* instructions);
// Names of all tables that run here, best first, ending in null.
const char* const* available_kernels();

}  // namespace steelyard
