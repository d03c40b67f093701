/* Body of the matrix product tiles: a block of c stays in registers while k runs. Compiled once for each instruction set;
 * the loops over rows and vectors have constant bounds and vanish. */

#define PANEL_VECTORS (FIDK_PANEL / VEC_LANES)
#define ROW_GROUP 3 /* rows that share one pointer: x86 addresses p, p + stride and p + 2 * stride without another register */
#ifdef __clang__
#define UNROLL_ALL _Pragma("clang loop unroll(full)")
#else
#define UNROLL_ALL _Pragma("GCC unroll 32")
#endif

/* Where vector v of row k of b lies, from the row's start. */
VEC_INLINE size_t product_vector_offset(const fidk_matmul *p, int v) {
    return (size_t)(v / PANEL_VECTORS) * p->b_panel + (size_t)(v % PANEL_VECTORS) * VEC_LANES;
}

VEC_INLINE vec product_load(const float *at, bool masked, vecm mask) {
    return masked ? vec_load_some(at, mask) : vec_load(at);
}

VEC_INLINE void product_finish(const fidk_matmul *p, vec *sum, int r, int v, bool masked, vecm mask, vec scale, vec bias) {
    size_t column = (size_t)v * VEC_LANES;
    float *c = p->c + (size_t)r * p->c_stride + column;
    if (p->accumulate) *sum = vec_add(*sum, product_load(c, masked, mask));
    if (p->finish) {
        *sum = p->scale ? vec_fma(*sum, scale, bias) : vec_add(*sum, bias);
        if (p->add) *sum = vec_add(*sum, product_load(p->add + (size_t)r * p->add_stride + column, masked, mask));
        *sum = vec_min(vec_set(p->high), vec_max(vec_set(p->low), *sum));
    }
    if (masked) vec_store_some(c, *sum, mask);
    else vec_store(c, *sum);
}

/* rows, vectors and masked are constants at every call. */
VEC_INLINE void product_body(const fidk_matmul *p, const int rows, const int vectors, const bool masked) {
    vec sum[VEC_GEMM_ROWS > VEC_WIDE_ROWS ? VEC_GEMM_ROWS : VEC_WIDE_ROWS]
           [VEC_GEMM_VECTORS > VEC_WIDE_VECTORS ? VEC_GEMM_VECTORS : VEC_WIDE_VECTORS];
    vecm mask[VEC_GEMM_VECTORS > VEC_WIDE_VECTORS ? VEC_GEMM_VECTORS : VEC_WIDE_VECTORS];
    const float *a[(VEC_GEMM_ROWS + ROW_GROUP - 1) / ROW_GROUP + VEC_WIDE_ROWS];
    const float *b[VEC_GEMM_VECTORS > VEC_WIDE_VECTORS ? VEC_GEMM_VECTORS : VEC_WIDE_VECTORS];
    const size_t stride = p->a_stride, b_row = p->b_row;
    UNROLL_ALL for (int v = 0; v < vectors; v++) {
        size_t before = (size_t)v * VEC_LANES, left = p->columns > before ? p->columns - before : 0;
        mask[v] = vec_first(left < VEC_LANES ? left : VEC_LANES);
        b[v] = p->b + product_vector_offset(p, v);
        UNROLL_ALL for (int r = 0; r < rows; r++) sum[r][v] = vec_set(0);
    }
    UNROLL_ALL for (int r = 0; r < rows; r += ROW_GROUP) a[r / ROW_GROUP] = p->a + (size_t)r * stride;
    /* A line each row of k is about what memory gives; without anything to fetch the prefetch stays on one line and costs nothing. */
    const float *fetch = p->fetch ? p->fetch : p->c;
    const size_t fetch_step = p->fetch ? 16 : 0;
    for (size_t k = p->depth; k; k--) {
        __builtin_prefetch(fetch, 0, 2);
        fetch += fetch_step;
        vec row[VEC_GEMM_VECTORS > VEC_WIDE_VECTORS ? VEC_GEMM_VECTORS : VEC_WIDE_VECTORS];
        UNROLL_ALL for (int v = 0; v < vectors; v++) {
            row[v] = product_load(b[v], masked, mask[v]);
            b[v] += b_row;
        }
        UNROLL_ALL for (int r = 0; r < rows; r++) {
            vec x = vec_set(a[r / ROW_GROUP][(size_t)(r % ROW_GROUP) * stride]);
            UNROLL_ALL for (int v = 0; v < vectors; v++) sum[r][v] = vec_fma(x, row[v], sum[r][v]);
        }
        UNROLL_ALL for (int g = 0; g * ROW_GROUP < rows; g++) a[g]++;
    }
    UNROLL_ALL for (int v = 0; v < vectors; v++) {
        vec scale = vec_set(0), bias = vec_set(0);
        if (p->finish && p->scale) scale = product_load(p->scale + (size_t)v * VEC_LANES, masked, mask[v]);
        if (p->finish && p->bias) bias = product_load(p->bias + (size_t)v * VEC_LANES, masked, mask[v]);
        UNROLL_ALL for (int r = 0; r < rows; r++) product_finish(p, &sum[r][v], r, v, masked, mask[v], scale, bias);
    }
}

#define DEFINE_PRODUCT(rows)                                                                                           \
    static void product_##rows(const fidk_matmul *p) {                                                               \
        if (p->columns == VEC_GEMM_VECTORS * VEC_LANES) product_body(p, rows, VEC_GEMM_VECTORS, false);                \
        else if (p->columns > VEC_LANES) product_body(p, rows, VEC_GEMM_VECTORS, true);                                \
        else product_body(p, rows, 1, true);                                                                           \
    }
#define DEFINE_WIDE(rows)                                                                                              \
    static void wide_##rows(const fidk_matmul *p) {                                                                  \
        if (p->columns == VEC_WIDE_VECTORS * VEC_LANES) product_body(p, rows, VEC_WIDE_VECTORS, false);                \
        else product_body(p, rows, VEC_WIDE_VECTORS, true);                                                            \
    }
#define NAME_PRODUCT(rows) product_##rows,
#define NAME_WIDE(rows) wide_##rows,

#define TIMES_1(X) X(1)
#define TIMES_2(X) TIMES_1(X) X(2)
#define TIMES_3(X) TIMES_2(X) X(3)
#define TIMES_4(X) TIMES_3(X) X(4)
#define TIMES_5(X) TIMES_4(X) X(5)
#define TIMES_6(X) TIMES_5(X) X(6)
#define TIMES_14(X) TIMES_6(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define TIMES_(n, X) TIMES_##n(X)
#define TIMES(n, X) TIMES_(n, X)

TIMES(VEC_GEMM_ROWS, DEFINE_PRODUCT)
TIMES(VEC_WIDE_ROWS, DEFINE_WIDE)
static const fidk_matmul_tile product_tiles[] = {TIMES(VEC_GEMM_ROWS, NAME_PRODUCT)};
static const fidk_matmul_tile wide_tiles[] = {TIMES(VEC_WIDE_ROWS, NAME_WIDE)};
