/* Body of the matrix product tiles: a block of c stays in registers while k runs. Compiled once for each instruction set;
 * the loops over rows and vectors have constant bounds and vanish. */

#define PANEL_VECTORS (FIDK_PANEL / VEC_LANES)
#define PRODUCT_ROWS (VEC_GEMM_ROWS > VEC_WIDE_ROWS ? VEC_GEMM_ROWS : VEC_WIDE_ROWS)
#define PRODUCT_VECTORS (VEC_GEMM_VECTORS > VEC_WIDE_VECTORS ? VEC_GEMM_VECTORS : VEC_WIDE_VECTORS)
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

/* What a tile does with its sums; constants where a case has its own code. */
typedef struct product_ending {
    bool accumulate, finish, scaled, added, hardswish;
} product_ending;

VEC_INLINE void product_store(const fidk_matmul *p, vec sum[][PRODUCT_VECTORS], const vecm *mask, const int rows, const int vectors, const bool masked,
                              const product_ending ending) {
    float *const c = p->c;
    const float *const scales = p->scale, *const biases = p->bias, *const add = p->add;
    const size_t c_stride = p->c_stride, add_stride = p->add_stride;
    const vec low = vec_set(p->low), high = vec_set(p->high);
    UNROLL_ALL for (int v = 0; v < vectors; v++) {
        const size_t column = (size_t)v * VEC_LANES;
        const vec scale = ending.scaled ? product_load(scales + column, masked, mask[v]) : vec_set(0);
        const vec bias = ending.finish && biases ? product_load(biases + column, masked, mask[v]) : vec_set(0);
        UNROLL_ALL for (int r = 0; r < rows; r++) {
            float *to = c + (size_t)r * c_stride + column;
            vec y = sum[r][v];
            if (ending.accumulate) y = vec_add(y, product_load(to, masked, mask[v]));
            if (ending.finish) {
                y = ending.scaled ? vec_fma(y, scale, bias) : vec_add(y, bias);
                if (ending.added) y = vec_add(y, product_load(add + (size_t)r * add_stride + column, masked, mask[v]));
                y = vec_min(high, vec_max(low, y));
                if (ending.hardswish) y = math_hardswish(y);
            }
            if (masked) vec_store_some(to, y, mask[v]);
            else vec_store(to, y);
        }
    }
}

VEC_INLINE void product_end(const fidk_matmul *p, vec sum[][PRODUCT_VECTORS], const vecm *mask, const int rows, const int vectors, const bool masked) {
    const product_ending ending = {p->accumulate, p->finish, p->finish && p->scale, p->finish && p->add, p->hardswish};
    /* Code of their own for the usual ones, but not for the last columns of a matrix or low tiles: it is large. */
    const bool usual = !masked && 2 * rows > VEC_GEMM_ROWS && ending.finish && !ending.accumulate && !ending.scaled;
    if (usual && !ending.added && !ending.hardswish) product_store(p, sum, mask, rows, vectors, masked, (product_ending){.finish = true});
    else if (usual && !ending.hardswish) product_store(p, sum, mask, rows, vectors, masked, (product_ending){.finish = true, .added = true});
    else if (usual && !ending.added) product_store(p, sum, mask, rows, vectors, masked, (product_ending){.finish = true, .hardswish = true});
    else product_store(p, sum, mask, rows, vectors, masked, ending);
}

/* rows, vectors and masked are constants at every call. */
VEC_INLINE void product_body(const fidk_matmul *p, const int rows, const int vectors, const bool masked) {
    vec sum[PRODUCT_ROWS]
           [PRODUCT_VECTORS];
    vecm mask[PRODUCT_VECTORS];
    const float *a[(VEC_GEMM_ROWS + ROW_GROUP - 1) / ROW_GROUP + VEC_WIDE_ROWS];
    const float *b[PRODUCT_VECTORS];
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
        vec row[PRODUCT_VECTORS];
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
    product_end(p, sum, mask, rows, vectors, masked);
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
