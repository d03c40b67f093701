/* Bodies of the tiles that look at whole rows: softmax, normalization, sums. */

#define ROW_BLOCK 1024 /* elements summed in one go: partial sums keep long sums accurate */

VEC_INLINE vec rows_load_tail(const float *row, size_t i, size_t columns, vec other) {
    vecm mask = vec_first(columns - i);
    return vec_select(mask, vec_load_some(row + i, mask), other);
}

/* ---- Softmax over rows ---- */

VEC_INLINE float row_largest(const float *x, size_t columns) {
    vec largest = vec_set(-INFINITY);
    size_t i = 0;
    for (; i + VEC_LANES <= columns; i += VEC_LANES) largest = vec_max(largest, vec_load(x + i));
    if (i < columns) largest = vec_max(largest, rows_load_tail(x, i, columns, vec_set(-INFINITY)));
    return vec_largest(largest);
}

/* exp(x) where x is at most 0; what would fall below the normal range, and would be slow, is 0. */
VEC_INLINE vec rows_exp(vec x) {
    const vec least = vec_set(-87.0f);
    return vec_select(vec_less(x, least), vec_set(0), math_exp(vec_max(least, x)));
}

/* y = exp(x - largest), unless y is NULL; returns the sum. */
VEC_INLINE float row_exp(const float *x, float *y, size_t columns, float largest) {
    vec shift = vec_set(largest), sum = vec_set(0);
    vecm rest = vec_first(columns % VEC_LANES);
    size_t i = 0;
    for (; i + VEC_LANES <= columns; i += VEC_LANES) {
        vec e = rows_exp(vec_sub(vec_load(x + i), shift));
        if (y) vec_store(y + i, e);
        sum = vec_add(sum, e);
    }
    if (i < columns) {
        vec e = rows_exp(vec_sub(vec_load_some(x + i, rest), shift));
        if (y) vec_store_some(y + i, e, rest);
        sum = vec_add(sum, vec_select(rest, e, vec_set(0)));
    }
    return vec_sum(sum);
}

VEC_INLINE void row_affine(const float *x, float *y, size_t columns, float scale, float shift) {
    vec a = vec_set(scale), b = vec_set(shift);
    vecm rest = vec_first(columns % VEC_LANES);
    size_t i = 0;
    for (; i + VEC_LANES <= columns; i += VEC_LANES) vec_store(y + i, vec_fma(vec_load(x + i), a, b));
    if (i < columns) vec_store_some(y + i, vec_fma(vec_load_some(x + i, rest), a, b), rest);
}

/* y = (x - largest) - log_sum, in two steps: the sum of both may be large and round the difference away. */
VEC_INLINE void row_log(const float *x, float *y, size_t columns, float largest, float log_sum) {
    vec a = vec_set(largest), b = vec_set(log_sum);
    vecm rest = vec_first(columns % VEC_LANES);
    size_t i = 0;
    for (; i + VEC_LANES <= columns; i += VEC_LANES) vec_store(y + i, vec_sub(vec_sub(vec_load(x + i), a), b));
    if (i < columns) vec_store_some(y + i, vec_sub(vec_sub(vec_load_some(x + i, rest), a), b), rest);
}

/* x and y may be the same memory: the logarithm needs x to the end, so it keeps no exponentials. */
static void softmax_tile(const fidk_rows *t) {
    for (size_t r = 0; r < t->rows; r++) {
        const float *x = t->x + r * t->x_stride;
        float *y = t->y + r * t->y_stride, largest = row_largest(x, t->columns);
        float sum = row_exp(x, t->logarithm ? NULL : y, t->columns, largest);
        if (t->logarithm) row_log(x, y, t->columns, largest, logf(sum));
        else row_affine(y, y, t->columns, 1 / sum, 0);
    }
}

/* One block of an online softmax: see fidk_online. */
static void online_tile(const fidk_online *t) {
    for (size_t r = 0; r < t->rows; r++) {
        float *x = t->scores + r * t->stride;
        float largest = row_largest(x, t->columns);
        if (!(largest > t->largest[r])) largest = t->largest[r];
        if (largest == -INFINITY) { /* nothing to look at so far, or only what is not a number */
            t->sum[r] += row_exp(x, x, t->columns, 0);
            t->factor[r] = 1;
            continue;
        }
        float factor = t->largest[r] == -INFINITY ? 0 : expf(t->largest[r] - largest);
        t->sum[r] = t->sum[r] * factor + row_exp(x, x, t->columns, largest);
        t->largest[r] = largest;
        t->factor[r] = factor;
    }
}

/* ---- Sums ---- */

VEC_INLINE vec rows_square(vec x, vec shift) {
    vec d = vec_sub(x, shift);
    return vec_mul(d, d);
}

/* Sum of x, or of (x - shift)^2 if `squares`. */
VEC_INLINE float row_sum_block(const float *x, size_t columns, float shift, const bool squares) {
    vec s = vec_set(shift), sum[4] = {vec_set(0), vec_set(0), vec_set(0), vec_set(0)};
    size_t i = 0;
    for (; i + 4 * VEC_LANES <= columns; i += 4 * VEC_LANES) {
        UNROLL_ALL for (size_t u = 0; u < 4; u++) {
            vec v = vec_load(x + i + u * VEC_LANES);
            sum[u] = squares ? vec_fma(vec_sub(v, s), vec_sub(v, s), sum[u]) : vec_add(sum[u], v);
        }
    }
    for (; i < columns; i += VEC_LANES) {
        vecm mask = vec_first(columns - i < VEC_LANES ? columns - i : VEC_LANES);
        vec v = vec_load_some(x + i, mask);
        sum[0] = vec_add(sum[0], squares ? vec_select(mask, rows_square(v, s), vec_set(0)) : v);
    }
    return vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
}

VEC_INLINE float row_sum(const float *x, size_t columns, float shift, const bool squares) {
    double sum = 0;
    for (size_t i = 0; i < columns; i += ROW_BLOCK)
        sum += row_sum_block(x + i, columns - i < ROW_BLOCK ? columns - i : ROW_BLOCK, shift, squares);
    return (float)sum;
}

static void sum_rows_tile(const fidk_rows *t) {
    for (size_t r = 0; r < t->rows; r++) {
        const float *x = t->x + r * t->x_stride;
        t->y[r * t->y_stride] = (t->squares ? row_sum(x, t->columns, t->shift, true) : row_sum(x, t->columns, 0, false)) * t->scale;
    }
}

/* y[j] = scale * (sum over r of x[r][j]), block by block of rows. */
VEC_INLINE void sum_column(const fidk_rows *t, size_t j, const bool squares, const bool masked, vecm mask) {
    vec total = vec_set(0), shift = vec_set(t->shift);
    for (size_t begin = 0; begin < t->rows; begin += ROW_BLOCK / 16) {
        size_t end = begin + ROW_BLOCK / 16 < t->rows ? begin + ROW_BLOCK / 16 : t->rows;
        vec sum[2] = {vec_set(0), vec_set(0)};
        for (size_t r = begin; r < end; r++) {
            const float *at = t->x + r * t->x_stride + j;
            vec x = masked ? vec_load_some(at, mask) : vec_load(at);
            sum[r % 2] = vec_add(sum[r % 2], squares ? rows_square(x, shift) : x);
        }
        total = vec_add(total, vec_add(sum[0], sum[1]));
    }
    total = vec_mul(total, vec_set(t->scale));
    if (masked) vec_store_some(t->y + j, total, mask);
    else vec_store(t->y + j, total);
}

VEC_INLINE void sum_columns_of(const fidk_rows *t, const bool squares) {
    size_t j = 0;
    for (; j + VEC_LANES <= t->columns; j += VEC_LANES) sum_column(t, j, squares, false, vec_first(0));
    if (j < t->columns) sum_column(t, j, squares, true, vec_first(t->columns - j));
}

static void sum_columns_tile(const fidk_rows *t) {
    if (t->squares) sum_columns_of(t, true);
    else sum_columns_of(t, false);
}

/* ---- Normalization of rows ---- */

/* y = (x - mean) * factor * weight + bias */
VEC_INLINE void row_normalize(const fidk_norm *t, const float *x, float *y, float mean, float factor) {
    vec m = vec_set(mean), f = vec_set(factor);
    for (size_t i = 0; i < t->columns; i += VEC_LANES) {
        vecm mask = vec_first(t->columns - i < VEC_LANES ? t->columns - i : VEC_LANES);
        vec v = vec_mul(vec_sub(vec_load_some(x + i, mask), m), f);
        if (t->weight) v = vec_mul(v, vec_load_some(t->weight + i, mask));
        if (t->bias) v = vec_add(v, vec_load_some(t->bias + i, mask));
        vec_store_some(y + i, v, mask);
    }
}

static void norm_tile(const fidk_norm *t) {
    for (size_t r = 0; r < t->rows; r++) {
        const float *x = t->x + r * t->columns;
        float mean = t->centred ? row_sum(x, t->columns, 0, false) / (float)t->columns : 0;
        float factor = 1 / sqrtf(row_sum(x, t->columns, mean, true) / (float)t->columns + t->eps);
        row_normalize(t, x, t->y + r * t->columns, mean, factor);
        if (t->mean) t->mean[r] = mean;
        if (t->factor) t->factor[r] = factor;
    }
}
