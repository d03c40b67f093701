/* The algebra of real matrices; see algebra.h. */
#include "kernels/ref/algebra.h"
#include "kernels/ref/dense.h"
#include "kernels/ref/number_real.h"

static void load_real(const fid_tensor *t, int64_t offset, int64_t row, int64_t column, size_t m, size_t n, bool conjugate, void *out) {
    (void)conjugate;
    for (size_t i = 0; i < m; i++) fidk_load_row(t, offset + (int64_t)i * row, column, n, (double *)out + i * n);
}

static void store_real(const fid_tensor *t, int64_t offset, int64_t row, int64_t column, size_t m, size_t n, bool conjugate, const void *a) {
    (void)conjugate;
    for (size_t i = 0; i < m; i++) fidk_store_row(t, offset + (int64_t)i * row, column, n, (const double *)a + i * n);
}

#include "kernels/ref/algebra_body.h"
#include "kernels/ref/spectral_body.h"

const fidk_algebra fidk_algebra_real = ALGEBRA_TABLE;
