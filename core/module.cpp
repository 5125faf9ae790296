// The Python module steelyard._core. Each part binds itself.
#include <nanobind/nanobind.h>

#include "dynamics.hpp"
#include "estimation.hpp"

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false);  // plans that Python caches live until the end of the process
    m.doc() = "Compiled loops over samples. The library's other modules call it; it checks shapes and indices.";
    steelyard::bind_dynamics(m);
    steelyard::bind_estimation(m);
}
