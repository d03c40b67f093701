/* The algebra of complex matrices; see algebra.h. */
#include "kernels/ref/algebra.h"
#include "kernels/ref/elements.h"
#include "kernels/ref/number_complex.h"

static void load_complex(const fid_tensor *t, int64_t offset, int64_t row, int64_t column, size_t m, size_t n, bool conjugate, void *out) {
    fid_complex128 *numbers = out;
    fid_dtype dtype = (fid_dtype)t->dtype;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            int64_t at = offset + (int64_t)i * row + (int64_t)j * column;
            fid_complex128 value = fidk_convert(fidk_load(dtype, t->data, at), dtype, FID_COMPLEX128).c;
            numbers[i * n + j] = (fid_complex128){value.re, conjugate ? -value.im : value.im};
        }
}

static void store_complex(const fid_tensor *t, int64_t offset, int64_t row, int64_t column, size_t m, size_t n, bool conjugate, const void *a) {
    const fid_complex128 *numbers = a;
    fid_dtype dtype = (fid_dtype)t->dtype;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            fid_complex128 value = numbers[i * n + j];
            fidk_element e = {.c = {value.re, conjugate ? -value.im : value.im}};
            fidk_store(dtype, t->data, offset + (int64_t)i * row + (int64_t)j * column, fidk_convert(e, FID_COMPLEX128, dtype));
        }
}

#include "kernels/ref/algebra_body.h"
#include "kernels/ref/spectral_body.h"

const fidk_algebra fidk_algebra_complex = ALGEBRA_TABLE;
