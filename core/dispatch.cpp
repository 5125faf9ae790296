// Which of the compiled instruction sets this processor has.
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace steelyard {

namespace baseline {
extern const Kernels KERNELS;
}
#ifdef STEELYARD_X86
namespace avx2 {
extern const Kernels KERNELS;
}
namespace avx512 {
extern const Kernels KERNELS;
}
#endif

namespace {

struct Choice {
    const Kernels* tables[3] = {};
    const char* names[4] = {};

    Choice() {
        int count = 0;
#ifdef STEELYARD_X86
        __builtin_cpu_init();
        const bool two = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        const bool wide = two && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
                          && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
        if (wide) tables[count++] = &avx512::KERNELS;
        if (two) tables[count++] = &avx2::KERNELS;
#endif
        tables[count++] = &baseline::KERNELS;
        for (int i = 0; i < count; ++i) names[i] = tables[i]->name;
    }
};

const Choice& choice() {
    static const Choice found;
    return found;
}

}  // namespace

const Kernels& kernels_of(const char* instructions) {
    for (const Kernels* table : choice().tables)
        if (table && (!*instructions || !std::strcmp(table->name, instructions))) return *table;
    throw std::invalid_argument(std::string("instruction set '") + instructions + "' is not available here");
}

const char* const* available_kernels() { return choice().names; }

}  // namespace steelyard
