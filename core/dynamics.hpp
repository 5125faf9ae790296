#pragma once

#include <nanobind/nanobind.h>

namespace steelyard {
void bind_dynamics(nanobind::module_& m);
}
