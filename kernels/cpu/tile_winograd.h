/* Bodies of the Winograd transforms (ops/winograd.h): the matrices as sums, constants unrolled, first down the columns of a tile and
 * then across its rows, a vector of channels at a time. */

#define WINOGRAD_PP ((float)(FID_WINOGRAD_P * FID_WINOGRAD_P))
#define WINOGRAD_QQ ((float)(FID_WINOGRAD_Q * FID_WINOGRAD_Q))

/* B' d for one line of d. */
VEC_INLINE void winograd_in_line(const int m, const vec *d, vec *to, const size_t step) {
    if (m == 2) {
        to[0] = vec_sub(d[2], d[0]);
        to[step] = vec_add(d[2], d[1]);
        to[2 * step] = vec_sub(d[2], d[1]);
        to[3 * step] = vec_sub(d[3], d[1]);
        return;
    }
    const vec p = vec_set((float)FID_WINOGRAD_P), q = vec_set((float)FID_WINOGRAD_Q), pp = vec_set(WINOGRAD_PP), qq = vec_set(WINOGRAD_QQ);
    const vec both = vec_set(WINOGRAD_PP + WINOGRAD_QQ), product = vec_set(WINOGRAD_PP * WINOGRAD_QQ);
    vec even_p = vec_fnma(qq, d[2], d[4]), odd_p = vec_fnma(qq, d[1], d[3]);
    vec even_q = vec_fnma(pp, d[2], d[4]), odd_q = vec_fnma(pp, d[1], d[3]);
    to[0] = vec_fma(product, d[0], vec_fnma(both, d[2], d[4]));
    to[step] = vec_fma(p, odd_p, even_p);
    to[2 * step] = vec_fnma(p, odd_p, even_p);
    to[3 * step] = vec_fma(q, odd_q, even_q);
    to[4 * step] = vec_fnma(q, odd_q, even_q);
    to[5 * step] = vec_fma(product, d[1], vec_fnma(both, d[3], d[5]));
}

/* A' d for one line of d. */
VEC_INLINE void winograd_out_line(const int m, const vec *d, vec *to, const size_t step) {
    vec sum_p = vec_add(d[1], d[2]), difference_p = vec_sub(d[1], d[2]);
    if (m == 2) {
        to[0] = vec_add(d[0], sum_p);
        to[step] = vec_add(d[3], difference_p);
        return;
    }
    const vec p = vec_set((float)FID_WINOGRAD_P), q = vec_set((float)FID_WINOGRAD_Q), pp = vec_set(WINOGRAD_PP), qq = vec_set(WINOGRAD_QQ);
    vec sum_q = vec_add(d[3], d[4]), difference_q = vec_sub(d[3], d[4]);
    vec odd_p = vec_mul(p, difference_p), odd_q = vec_mul(q, difference_q);
    to[0] = vec_add(d[0], vec_add(sum_p, sum_q));
    to[step] = vec_add(odd_p, odd_q);
    to[2 * step] = vec_fma(pp, sum_p, vec_mul(qq, sum_q));
    to[3 * step] = vec_fma(pp, odd_p, vec_fma(qq, odd_q, d[5]));
}

VEC_INLINE void winograd_in_vector(const fidk_winograd_in *t, size_t c, const int m, const bool masked, vecm mask) {
    const size_t n = (size_t)m + 2;
    vec half[36], line[6];
    UNROLL_ALL for (size_t x = 0; x < n; x++) {
        UNROLL_ALL for (size_t y = 0; y < n; y++) line[y] = masked ? vec_load_some(t->pixel[y * n + x] + c, mask) : vec_load(t->pixel[y * n + x] + c);
        winograd_in_line(m, line, half + x, n);
    }
    float *out = t->out + c;
    UNROLL_ALL for (size_t y = 0; y < n; y++) {
        winograd_in_line(m, half + y * n, line, 1);
        UNROLL_ALL for (size_t x = 0; x < n; x++) {
            if (masked) vec_store_some(out, line[x], mask);
            else vec_store(out, line[x]);
            out += t->position;
        }
    }
}

VEC_INLINE void winograd_in_tile(const fidk_winograd_in *t, const int m) {
    size_t c = 0;
    for (; c + VEC_LANES <= t->channels; c += VEC_LANES) winograd_in_vector(t, c, m, false, vec_first(0));
    if (c < t->channels) winograd_in_vector(t, c, m, true, vec_first(t->channels - c));
}

VEC_INLINE vec winograd_some(const float *at, const bool masked, vecm mask) { return masked ? vec_load_some(at, mask) : vec_load(at); }

VEC_INLINE void winograd_out_vector(const fidk_winograd_out *t, size_t c, const int m, const bool masked, vecm mask) {
    const size_t n = (size_t)m + 2;
    vec half[24], line[6], scale = vec_set(1), bias = vec_set(0), low = vec_set(t->low), high = vec_set(t->high);
    if (t->scale) scale = winograd_some(t->scale + c, masked, mask);
    if (t->bias) bias = winograd_some(t->bias + c, masked, mask);
    UNROLL_ALL for (size_t x = 0; x < n; x++) {
        const float *in = t->in + x * t->position + c;
        UNROLL_ALL for (size_t y = 0; y < n; y++) line[y] = winograd_some(in + y * n * t->position, masked, mask);
        winograd_out_line(m, line, half + x, n);
    }
    UNROLL_ALL for (size_t y = 0; y < (size_t)m; y++) {
        winograd_out_line(m, half + y * n, line, 1);
        UNROLL_ALL for (size_t x = 0; x < (size_t)m; x++) {
            if (y >= t->lines || x >= t->columns) continue;
            size_t at = y * t->line + x * t->pixel + c;
            vec v = vec_fma(line[x], scale, bias);
            if (t->add) v = vec_add(v, winograd_some(t->add + at, masked, mask));
            v = vec_min(high, vec_max(low, v));
            if (masked) vec_store_some(t->out + at, v, mask);
            else vec_store(t->out + at, v);
        }
    }
}

VEC_INLINE void winograd_out_tile(const fidk_winograd_out *t, const int m) {
    size_t c = 0;
    for (; c + VEC_LANES <= t->channels; c += VEC_LANES) winograd_out_vector(t, c, m, false, vec_first(0));
    if (c < t->channels) winograd_out_vector(t, c, m, true, vec_first(t->channels - c));
}

static void winograd_in_2_tile(const fidk_winograd_in *t) { winograd_in_tile(t, 2); }
static void winograd_in_4_tile(const fidk_winograd_in *t) { winograd_in_tile(t, 4); }
static void winograd_out_2_tile(const fidk_winograd_out *t) { winograd_out_tile(t, 2); }
static void winograd_out_4_tile(const fidk_winograd_out *t) { winograd_out_tile(t, 4); }
