#pragma once

#include <nanobind/nanobind.h>

namespace steelyard {
void bind_estimation(nanobind::module_& m);
}
