// Small dense matrices by rows, of sizes known when this is compiled.
#pragma once

#include <cmath>

namespace steelyard {

template <int N>
using Square = double[N][N];

// Lower factor; false where A is not positive definite. Only the lower half of A is read.
template <int N>
bool cholesky(const Square<N>& A, Square<N>& L) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j <= i; ++j) {
            double total = A[i][j];
            for (int k = 0; k < j; ++k) total -= L[i][k] * L[j][k];
            if (i != j) {
                L[i][j] = total / L[j][j];
            } else {
                if (!(total > 0)) return false;
                L[i][i] = std::sqrt(total);
            }
        }
    return true;
}

// x <- (L L^T)^-1 x
template <int N>
void solve(const Square<N>& L, double* x) {
    for (int i = 0; i < N; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= L[i][k] * x[k];
        x[i] /= L[i][i];
    }
    for (int i = N - 1; i >= 0; --i) {
        for (int k = i + 1; k < N; ++k) x[i] -= L[k][i] * x[k];
        x[i] /= L[i][i];
    }
}

template <int N>
void product(const Square<N>& A, const Square<N>& B, Square<N>& out) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            out[i][j] = 0;
            for (int k = 0; k < N; ++k) out[i][j] += A[i][k] * B[k][j];
        }
}

template <int N>
void transposed_product(const Square<N>& A, const Square<N>& B, Square<N>& out) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            out[i][j] = 0;
            for (int k = 0; k < N; ++k) out[i][j] += A[k][i] * B[k][j];
        }
}

template <int N>
void product_transposed(const Square<N>& A, const Square<N>& B, Square<N>& out) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            out[i][j] = 0;
            for (int k = 0; k < N; ++k) out[i][j] += A[i][k] * B[j][k];
        }
}

}  // namespace steelyard
