// Dense matrices by rows whose sizes are multiples of TILE. All that is slow is sums of products of two rows, a tile of
// which stays in registers.
#pragma once

#include "pack.hpp"

namespace steelyard::STEELYARD_ISA {

constexpr Index TILE = 8;  // rows at a time, a multiple of every pack

STEELYARD_INLINE Index tiled(Index count) { return (count + TILE - 1) / TILE * TILE; }

// tile[i] += a[i] b
STEELYARD_INLINE void add_outer(const double* a, const double* b, Pack* tile) {
    const Pack right = read(b);
#pragma GCC unroll 8
    for (int i = 0; i < TILE; ++i) tile[i] += a[i] * right;
}

// tile += sum of the outer products of `count` rows, those of A da numbers apart, those of B db.
STEELYARD_INLINE void add_products(const double* a, Index da, const double* b, Index db, Index count, Pack* tile) {
    for (Index k = 0; k < count; ++k) add_outer(a + k * da, b + k * db, tile);
}

// C = A^T B, A: (count, rows), B: (count, columns); of a lower triangular A, or of a symmetric C, only as much as that
// asks for: of a symmetric C the upper tiles.
enum class Shape { GENERAL, LOWER_A, SYMMETRIC, SYMMETRIC_OF_LOWER };

STEELYARD_INLINE void transposed_product(const double* A, Index rows, const double* B, Index columns, Index count,
                                         Shape shape, double* C) {
    const bool symmetric = shape == Shape::SYMMETRIC || shape == Shape::SYMMETRIC_OF_LOWER;
    for (Index r = 0; r < rows; r += TILE)
        for (Index c = symmetric ? r : 0; c < columns; c += LANES) {
            Index first = 0;  // rows above are zero
            if (shape == Shape::LOWER_A) first = r;
            if (shape == Shape::SYMMETRIC_OF_LOWER) first = c / TILE * TILE;
            Pack tile[TILE] = {};
            add_products(A + first * rows + r, rows, B + first * columns + c, columns, count - first, tile);
            for (int i = 0; i < TILE; ++i) write(C + (r + i) * columns + c, tile[i]);
        }
}

// Writes the upper tiles of A (n, n) to where the lower ones belong.
STEELYARD_INLINE void mirror(double* A, Index n) {
    for (Index r = 0; r < n; r += TILE)
        for (Index c = r + TILE; c < n; c += TILE)
            for (Index i = r; i < r + TILE; ++i)
                for (Index j = c; j < c + TILE; ++j) A[j * n + i] = A[i * n + j];
}

// tile <- L^-1 tile, of the tile of an upper factor L^T at U, whose rows are n apart.
STEELYARD_INLINE void eliminate(const double* U, Index n, Pack* tile) {
#pragma GCC unroll 8
    for (int i = 0; i < TILE; ++i) {
#pragma GCC unroll 8
        for (int k = 0; k < i; ++k) tile[i] -= U[k * n + i] * tile[k];
        tile[i] = tile[i] / U[i * n + i];
    }
}

// The upper factor of A (n, n), in place of its upper tiles; false where A is not positive definite.
static bool factor(double* A, Index n) {
    for (Index r = 0; r < n; r += TILE)
        for (Index c = r; c < n; c += LANES) {
            Pack tile[TILE] = {};
            add_products(A + r, n, A + c, n, r, tile);
            for (int i = 0; i < TILE; ++i) tile[i] = read(A + (r + i) * n + c) - tile[i];
            if (c >= r + TILE) eliminate(A + r * n + r, n, tile);
            for (int i = 0; i < TILE; ++i) write(A + (r + i) * n + c, tile[i]);
            if (c + LANES != r + TILE) continue;
            for (Index i = r; i < r + TILE; ++i) {
                double* own = A + i * n;
                for (Index k = r; k < i; ++k)
                    for (Index j = i; j < r + TILE; ++j) own[j] -= A[k * n + i] * A[k * n + j];
                if (!(own[i] > 0)) return false;
                const double scale = 1 / std::sqrt(own[i]);
                for (Index j = i; j < r + TILE; ++j) own[j] *= scale;
                for (Index j = r; j < i; ++j) own[j] = 0;
            }
        }
    return true;
}

// B <- U^-T B, of an upper factor U (n, n) and B (n, columns); of a lower triangular B no more than that.
static void forward(const double* U, Index n, double* B, Index columns, bool lower) {
    for (Index r = 0; r < n; r += TILE)
        for (Index c = 0; c < (lower ? r + TILE : columns); c += LANES) {
            const Index first = lower ? c / TILE * TILE : 0;
            Pack tile[TILE] = {};
            add_products(U + first * n + r, n, B + first * columns + c, columns, r - first, tile);
            for (int i = 0; i < TILE; ++i) tile[i] = read(B + (r + i) * columns + c) - tile[i];
            eliminate(U + r * n + r, n, tile);
            for (int i = 0; i < TILE; ++i) write(B + (r + i) * columns + c, tile[i]);
        }
}

// x <- (U^T U)^-1 x
STEELYARD_INLINE void solve(const double* U, Index size, double* x) {
    for (Index i = 0; i < size; ++i) {
        x[i] /= U[i * size + i];
        for (Index c = i + 1; c < size; ++c) x[c] -= U[i * size + c] * x[i];
    }
    for (Index i = size - 1; i >= 0; --i) {
        Pack total = all(0);
        const Index whole = (i / LANES + 1) * LANES;
        for (Index c = i + 1; c < whole; ++c) total[0] += U[i * size + c] * x[c];
        for (Index c = whole; c < size; c += LANES) total += read(U + i * size + c) * read(x + c);
        x[i] = (x[i] - sum(total)) / U[i * size + i];
    }
}

STEELYARD_INLINE double inner(const double* a, const double* b, Index size) {
    Pack total = all(0);
    for (Index c = 0; c < size; c += LANES) total += read(a + c) * read(b + c);
    return sum(total);
}

// An upper factor of A (n, n) scaled to a unit diagonal, in place, `jitter` added to that; size: (n,) its scales.
// log_det: of A. False where A is not positive definite.
static bool scaled_factor(double* A, Index n, double jitter, double* size, double& log_det) {
    log_det = 0;
    for (Index i = 0; i < n; ++i) {
        if (!(A[i * n + i] > 0)) return false;
        size[i] = 1 / std::sqrt(A[i * n + i]);
        log_det -= 2 * std::log(size[i]);
    }
    for (Index i = 0; i < n; ++i) {
        for (Index c = i / TILE * TILE; c < n; ++c) A[i * n + c] *= size[i] * size[c];
        A[i * n + i] += jitter;
    }
    if (!factor(A, n)) return false;
    for (Index i = 0; i < n; ++i) log_det += 2 * std::log(A[i * n + i]);
    return true;
}

}  // namespace steelyard::STEELYARD_ISA
