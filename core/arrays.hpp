// What Python hands over, checked before a kernel sees it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>

namespace steelyard {

namespace nb = nanobind;
template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Numbers = Array<const double>;
using Indices = Array<const std::int64_t>;

template <class T>
T* checked(const Array<T>& x, const char* name, std::initializer_list<std::int64_t> shape) {
    bool same = x.ndim() == shape.size();
    std::size_t i = 0;
    for (std::int64_t size : shape) same = same && static_cast<std::int64_t>(x.shape(i++)) == size;
    if (reinterpret_cast<std::uintptr_t>(x.data()) % alignof(T))
        throw std::invalid_argument(std::string(name) + " must be aligned in memory");
    if (same) return x.data();
    std::string text = std::string(name) + " must have shape (";
    for (std::int64_t size : shape) text += std::to_string(size) + ", ";
    throw std::invalid_argument(text + ")");
}

// Indices from `least` to below `end`, as many as `count`.
inline const std::int64_t* within(const Indices& x, const char* name, std::int64_t count, std::int64_t least,
                                  std::int64_t end) {
    const std::int64_t* data = checked(x, name, {count});
    for (std::int64_t i = 0; i < count; ++i)
        if (data[i] < least || data[i] >= end)
            throw std::invalid_argument(std::string(name) + " has " + std::to_string(data[i]) + " at "
                                        + std::to_string(i) + ", outside [" + std::to_string(least) + ", "
                                        + std::to_string(end) + ")");
    return data;
}

// Starts of pieces: from 0, never falling, up to `last`.
inline const std::int64_t* starts(const Indices& x, const char* name, std::int64_t pieces, std::int64_t last) {
    const std::int64_t* data = checked(x, name, {pieces + 1});
    bool good = data[0] == 0 && data[pieces] == last;
    for (std::int64_t i = 0; i < pieces; ++i) good = good && data[i] <= data[i + 1];
    if (!good) throw std::invalid_argument(std::string(name) + " must rise from 0 to " + std::to_string(last));
    return data;
}

// A number of steps, given among numbers of other kinds.
inline int steps_of(double x) {
    if (x >= 0 && x <= 10000) return static_cast<int>(x);
    throw std::invalid_argument("a number of steps must lie in [0, 10000], not " + std::to_string(x));
}

// Scratch memory, aligned to a cache line.
class Space {
   public:
    explicit Space(std::size_t bytes) : data_(::operator new(bytes ? bytes : 1, std::align_val_t{64})) {}
    ~Space() { ::operator delete(data_, std::align_val_t{64}); }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    void* data() const { return data_; }

   private:
    void* data_;
};

}  // namespace steelyard
