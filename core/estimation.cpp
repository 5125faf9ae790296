// Bindings of filters and of fits.
#include "estimation.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <vector>

#include "arrays.hpp"
#include "kalman.hpp"
#include "kernels.hpp"
#include "payload_stream.hpp"

namespace steelyard {
namespace {

using nb::literals::operator""_a;
using Out = Array<double>;

Three* threes(double* x) { return reinterpret_cast<Three*>(x); }
const Three* threes(const double* x) { return reinterpret_cast<const Three*>(x); }
template <int N>
auto rows_of(double* x) {
    return reinterpret_cast<double(*)[N]>(x);
}
template <int N>
auto rows_of(const double* x) {
    return reinterpret_cast<const double(*)[N]>(x);
}

Count samples(const Numbers& t) { return static_cast<Count>(t.size()); }

void bound_covariances(Numbers t, double sigma, double q, bool smooth, double rate_spread, double acceleration_spread,
                       Out gains, Out back, Out S, Out P) {
    const Count n = samples(t);
    const double* times = checked(t, "t", {n});
    auto* g = rows_of<3>(checked(gains, "gains", {n, 3}));
    Three *b = threes(checked(back, "back", {n, 3, 3})), *p = threes(checked(P, "P", {n, 3, 3}));
    double* variance = checked(S, "S", {n});
    const Space predicted(sizeof(Three) * n);
    nb::gil_scoped_release release;
    covariances(times, n, sigma, q, smooth, rate_spread, acceleration_spread, g, b, variance, p,
                static_cast<Three*>(predicted.data()));
}

void bound_filter_vector(Numbers t, Numbers measured, Numbers gains, Numbers back, bool smooth, Out x,
                         Out innovations) {
    const Count n = samples(t);
    if (measured.ndim() != 2) throw std::invalid_argument("measured must have shape (n, m)");
    const auto m = static_cast<Count>(measured.shape(1));
    const double *times = checked(t, "t", {n}), *y = checked(measured, "measured", {n, m});
    const auto* g = rows_of<3>(checked(gains, "gains", {n, 3}));
    const Three* b = threes(checked(back, "back", {n, 3, 3}));
    double *state = checked(x, "x", {3, n, m}), *found = checked(innovations, "innovations", {n});
    const Space scratch(sizeof(double) * 3 * n * m);
    nb::gil_scoped_release release;
    filter_vector(times, n, m, y, g, b, smooth, state, static_cast<double*>(scratch.data()), found);
}

void bound_filter_rotation(Numbers t, Numbers measured, Numbers gains, Numbers back, bool smooth, Out R, Out w, Out al,
                           Out innovations) {
    const Count n = samples(t);
    const double* times = checked(t, "t", {n});
    const Three* y = threes(checked(measured, "measured", {n, 3, 3}));
    const auto* g = rows_of<3>(checked(gains, "gains", {n, 3}));
    const Three* b = threes(checked(back, "back", {n, 3, 3}));
    const RotationState found{threes(checked(R, "R", {n, 3, 3})), rows_of<3>(checked(w, "w", {n, 3})),
                              rows_of<3>(checked(al, "al", {n, 3}))};
    double* squares = checked(innovations, "innovations", {n});
    const Space scratch(sizeof(double) * 15 * n);
    auto* room = static_cast<double*>(scratch.data());
    const RotationState predicted{threes(room), rows_of<3>(room + 9 * n), rows_of<3>(room + 12 * n)};
    nb::gil_scoped_release release;
    filter_rotation(times, n, y, g, b, smooth, found, predicted, squares);
}

void bound_track(double dt, Numbers R_measured, Numbers p_measured, Numbers sigma, Numbers q, Out R, Out w, Out al,
                 Out x, Out P) {
    track(dt, *threes(checked(R_measured, "R_measured", {3, 3})), checked(p_measured, "p_measured", {3}),
          checked(sigma, "sigma", {2}), checked(q, "q", {2}), *threes(checked(R, "R", {3, 3})), checked(w, "w", {3}),
          checked(al, "al", {3}), *threes(checked(x, "x", {3, 3})), threes(checked(P, "P", {2, 3, 3})));
}

void bound_entropic(Numbers grams, Numbers pulls, Numbers rules, Out solutions, Out spreads, Array<bool> converged) {
    const auto n = static_cast<std::int64_t>(pulls.size() / 10);
    const auto* gram = reinterpret_cast<const Ten*>(checked(grams, "grams", {n, 10, 10}));
    const auto* pull = rows_of<10>(checked(pulls, "pulls", {n, 10}));
    const double* r = checked(rules, "rules", {9});
    const PathRules path{steps_of(r[0]), steps_of(r[1]), steps_of(r[2]), r[3], r[4], r[5],
                         r[6], {r[7], steps_of(r[8])}};
    auto* w = rows_of<10>(checked(solutions, "solutions", {n, 10}));
    auto* spread = reinterpret_cast<Ten*>(checked(spreads, "spreads", {n, 10, 10}));
    bool* done = checked(converged, "converged", {n});
    nb::gil_scoped_release release;
    for (std::int64_t k = 0; k < n; ++k) done[k] = entropic(gram[k], pull[k], w[k], spread[k], path);
}

void bound_constrained_fits(Numbers S, Count bodies, Indices bounded, Numbers lower, Numbers rules, Numbers free,
                      double first, double last, Out z, Array<bool> arrived,
                      const std::string& instructions) {
    if (S.ndim() != 2 || S.shape(0) == 0 || S.shape(0) % 8 || bodies < 0
        || bodies > static_cast<Index>(S.shape(0)) / 10)
        throw std::invalid_argument("S must be square, of a multiple of 8 rows, ten of them a body");
    const auto size = static_cast<Index>(S.shape(0)), n = static_cast<Index>(arrived.size()),
               bounds = static_cast<Index>(bounded.size());
    const ConstrainedFit fit{size, bodies, bounds, checked(S, "S", {size, size}),
                             within(bounded, "bounded", bounds, 10 * bodies, size), checked(lower, "lower", {bounds})};
    const double* r = checked(rules, "rules", {6});
    const FitRules own{r[0], r[1], r[2], r[3], steps_of(r[4]), steps_of(r[5])};
    const double* target = checked(free, "free", {n, size});
    double* found = checked(z, "z", {n, size});
    bool* done = checked(arrived, "arrived", {n});
    const Kernels& kernels = kernels_of(instructions.c_str());
    const Space space(kernels.fit_space(fit));
    nb::gil_scoped_release release;
    kernels.constrained(fit, own, target, n, first, last, space.data(), found, done);
}

bool bound_evidence(Numbers theta0, Numbers middle, Numbers unit, Numbers start, Indices shared, Indices local,
                    Indices group, Indices tiles, Indices tile_start, Numbers Gss, Numbers Gls, Numbers Gll, Numbers bs,
                    Numbers bl, Numbers energy, std::optional<Numbers> free, Numbers hyper, Numbers samples,
                    Numbers floor, double share, Numbers rules, Out beginnings, Out prior, Out C, Out gain, Out inverse,
                    Out slope, Out curvature, Out evidence, const std::string& instructions) {
    constexpr Index TILE = 8;
    if (local.ndim() != 2 || local.shape(1) % TILE || (free && free->ndim() != 2) || beginnings.ndim() != 2)
        throw std::invalid_argument("local must have rows of a multiple of 8, free and beginnings two dimensions");
    const auto bodies = static_cast<Index>(theta0.size() / 10), p = static_cast<Index>(middle.size()),
               s = static_cast<Index>(shared.size()), rows = static_cast<Index>(local.shape(0)),
               m = static_cast<Index>(local.shape(1)), count = static_cast<Index>(hyper.size() / 2),
               begun = static_cast<Index>(beginnings.shape(0)), tile_count = static_cast<Index>(tiles.size());
    const double* r = checked(rules, "rules", {12});
    Evidence e{};
    e.bodies = bodies, e.columns = p, e.shared_count = s, e.local_count = m, e.rows = rows, e.groups = count;
    e.directions = free ? static_cast<Index>(free->shape(1)) : s, e.starts = begun, e.told = free.has_value();
    e.shared = within(shared, "shared", s, 0, p), e.local = checked(local, "local", {rows, m});
    e.group = within(group, "group", p, -1, count);
    e.tiles = within(tiles, "tiles", tile_count, 0, (s + TILE - 1) / TILE);
    e.tile_start = starts(tile_start, "tile_start", rows, tile_count);
    bool ordered = begun > 0 && 10 * bodies <= s;
    for (Index i = 0; i < rows * m; ++i) ordered = ordered && e.local[i] >= -1 && e.local[i] < p;
    for (Index i = 0; ordered && i < 10 * bodies; ++i) ordered = e.shared[i] == i;
    Index square = 0, width = 0;
    for (Index g = 0; ordered && g < rows; ++g) {
        for (Index t = e.tile_start[g] + 1; t < e.tile_start[g + 1]; ++t)
            ordered = ordered && e.tiles[t - 1] < e.tiles[t];
        const Index own = TILE * (e.tile_start[g + 1] - e.tile_start[g]);
        square += own * own, width += own;
    }
    if (!ordered)
        throw std::invalid_argument("shared must begin with ten columns a body, tiles rise, local be columns or -1");
    e.theta0 = checked(theta0, "theta0", {bodies, 10}), e.middle = checked(middle, "middle", {p});
    e.unit = checked(unit, "unit", {p}), e.start = checked(start, "start", {p}), e.Gss = checked(Gss, "Gss", {square});
    e.Gls = checked(Gls, "Gls", {m * width}), e.Gll = checked(Gll, "Gll", {rows, m, m});
    e.bs = checked(bs, "bs", {width}), e.bl = checked(bl, "bl", {rows, m});
    e.energy = checked(energy, "energy", {rows});
    if (free) e.free = checked(*free, "free", {s, e.directions});
    e.hyper = checked(hyper, "hyper", {count, 2}), e.samples = checked(samples, "samples", {rows});
    e.floor = checked(floor, "floor", {rows});
    e.share = share, e.tightness = r[0], e.apart = r[1], e.together = r[2], e.settled = r[3], e.longest = r[4];
    e.arrived = r[5], e.near = r[6], e.jitter = r[7], e.least_found = r[8], e.same = r[9];
    e.scale_rounds = steps_of(r[10]), e.newton_rounds = steps_of(r[11]);
    std::vector<double> sizes(count);
    for (Index i = 0; i < p; ++i)
        if (e.group[i] >= 0) ++sizes[e.group[i]];
    e.hyper_size = sizes.data();
    const EvidenceFound found{checked(prior, "prior", {bodies, 10, 10}), checked(C, "C", {s, s}),
                              checked(gain, "gain", {rows, m, s}), checked(inverse, "inverse", {rows, m, m}),
                              checked(slope, "slope", {s}),
                              checked(curvature, "curvature", {bodies + count, bodies + count}),
                              checked(evidence, "evidence", {1})};
    double* from = checked(beginnings, "beginnings", {begun, bodies + count + rows + p});
    const Kernels& kernels = kernels_of(instructions.c_str());
    const Space space(kernels.evidence_space(e));
    nb::gil_scoped_release release;
    return kernels.evidence(e, space.data(), from, found);
}

StreamSamples stream_samples(const Numbers& t, const Numbers& R, const double* wrench, const Numbers& twist,
                             const Numbers& acceleration) {
    const Count n = samples(t);
    return {checked(t, "t", {n}),
            reinterpret_cast<const double(*)[3][3]>(checked(R, "R", {n, 3, 3})),
            rows_of<6>(wrench),
            rows_of<6>(checked(twist, "twist", {n, 6})),
            rows_of<6>(checked(acceleration, "acceleration", {n, 6})),
            n};
}

std::int64_t bound_advance(Numbers t, Numbers R, Numbers wrench, Numbers twist, Numbers acceleration, Numbers gravity,
                           Numbers basis, Numbers Q, Numbers wide, Numbers config, Out state, Out G, Out h, Out w,
                           Out H, Out L, Out shift, Out bias, Out past, Out thetas, Out events) {
    const Count n = samples(t);
    const StreamSamples x =
        stream_samples(t, R, checked(wrench, "wrench", {n, 6}), twist, acceleration);
    const Stream s{checked(gravity, "gravity", {3}), checked(basis, "basis", {10, 10}), checked(Q, "Q", {10, 10}),
                   checked(wide, "wide", {10, 10}), checked(config, "config", {CONFIG_SIZE}),
                   checked(state, "state", {STATE_SIZE}), checked(G, "G", {10, 10}), checked(h, "h", {10}),
                   checked(w, "w", {10}), checked(H, "H", {10, 10}), checked(L, "L", {10, 10}),
                   checked(shift, "shift", {10}),
                   reinterpret_cast<Bias*>(checked(bias, "bias", {sizeof(Bias) / sizeof(double)})),
                   reinterpret_cast<Past*>(checked(past, "past", {sizeof(Past) / sizeof(double)}))};
    for (const int entry : {NEWTON_STEPS, YOUNG_STEPS, HALVINGS, PATH_STEPS, PATH_TRIALS}) steps_of(s.config[entry]);
    auto* found = rows_of<10>(checked(thetas, "thetas", {n, 10}));
    auto* told = rows_of<4>(checked(events, "events", {n, 4}));
    nb::gil_scoped_release release;
    return advance(s, x, found, told);
}

// Takes a tool's own wrench and bias off samples, in place.
void bound_without_tool(Numbers R, Out wrench, Numbers twist, Numbers acceleration, Numbers gravity, Numbers theta,
                        Numbers bias) {
    const auto n = static_cast<Count>(wrench.size() / 6);
    const auto* rotation = reinterpret_cast<const double(*)[3][3]>(checked(R, "R", {n, 3, 3}));
    auto* f = rows_of<6>(checked(wrench, "wrench", {n, 6}));
    const auto* V = rows_of<6>(checked(twist, "twist", {n, 6}));
    const auto* A = rows_of<6>(checked(acceleration, "acceleration", {n, 6}));
    const double *g = checked(gravity, "gravity", {3}), *own = checked(theta, "theta", {10}),
                 *constant = checked(bias, "bias", {6});
    for (Count k = 0; k < n; ++k) {
        BodyRows Y;
        double felt[3];
        body_rows(rotation[k], V[k], A[k], g, Y, felt);
        for (int i = 0; i < 6; ++i) {
            f[k][i] -= constant[i];
            for (int j = 0; j < 10; ++j) f[k][i] -= Y[i][j] * own[j];
        }
    }
}

}  // namespace

void bind_estimation(nb::module_& m) {
    m.def("covariances", bound_covariances, "t"_a, "sigma"_a, "q"_a, "smooth"_a, "rate_spread"_a,
          "acceleration_spread"_a, "gains"_a.noconvert(), "back"_a.noconvert(), "S"_a.noconvert(), "P"_a.noconvert());
    m.def("filter_vector", bound_filter_vector, "t"_a, "measured"_a, "gains"_a, "back"_a, "smooth"_a,
          "x"_a.noconvert(), "innovations"_a.noconvert());
    m.def("filter_rotation", bound_filter_rotation, "t"_a, "measured"_a, "gains"_a, "back"_a, "smooth"_a,
          "R"_a.noconvert(), "w"_a.noconvert(), "al"_a.noconvert(), "innovations"_a.noconvert());
    m.def("track", bound_track, "dt"_a, "R_measured"_a, "p_measured"_a, "sigma"_a, "q"_a, "R"_a.noconvert(),
          "w"_a.noconvert(), "al"_a.noconvert(), "x"_a.noconvert(), "P"_a.noconvert());
    m.def("entropic", bound_entropic, "grams"_a, "pulls"_a, "rules"_a, "solutions"_a.noconvert(),
          "spreads"_a.noconvert(), "converged"_a.noconvert());
    m.def("constrained_fits", bound_constrained_fits, "S"_a, "bodies"_a, "bounded"_a, "lower"_a, "rules"_a, "free"_a,
          "first"_a, "last"_a, "z"_a.noconvert(), "arrived"_a.noconvert(), "instructions"_a = "");
    m.def("evidence", bound_evidence, "theta0"_a, "middle"_a, "unit"_a, "start"_a, "shared"_a, "local"_a, "group"_a,
          "tiles"_a, "tile_start"_a, "Gss"_a, "Gls"_a, "Gll"_a, "bs"_a, "bl"_a, "energy"_a, "free"_a.none(), "hyper"_a,
          "samples"_a, "floor"_a, "share"_a, "rules"_a, "beginnings"_a.noconvert(), "prior"_a.noconvert(),
          "C"_a.noconvert(), "gain"_a.noconvert(), "inverse"_a.noconvert(), "slope"_a.noconvert(),
          "curvature"_a.noconvert(), "evidence"_a.noconvert(), "instructions"_a = "");
    m.def("advance", bound_advance, "t"_a, "R"_a, "wrench"_a, "twist"_a, "acceleration"_a, "gravity"_a, "basis"_a,
          "Q"_a, "wide"_a, "config"_a, "state"_a.noconvert(), "G"_a.noconvert(), "h"_a.noconvert(), "w"_a.noconvert(),
          "H"_a.noconvert(), "L"_a.noconvert(), "shift"_a.noconvert(), "bias"_a.noconvert(), "past"_a.noconvert(),
          "thetas"_a.noconvert(), "events"_a.noconvert());
    m.def("without_tool", bound_without_tool, "R"_a, "wrench"_a.noconvert(), "twist"_a, "acceleration"_a, "gravity"_a,
          "theta"_a, "bias"_a);
}

}  // namespace steelyard
