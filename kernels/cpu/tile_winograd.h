/* Bodies of the Winograd transforms (ops/winograd.h): the matrices as sums, constants unrolled, first down the columns of a tile and
 * then across its rows, a vector of channels at a time. */

typedef struct winograd_points {
    vec p, q, pp, qq; /* and their squares */
} winograd_points;

VEC_INLINE winograd_points winograd_points_of(const int m) {
    const float p = m == 3 ? (float)FID_WINOGRAD3_P : (float)FID_WINOGRAD4_P, q = m == 3 ? (float)FID_WINOGRAD3_Q : (float)FID_WINOGRAD4_Q;
    return (winograd_points){vec_set(p), vec_set(q), vec_set(p * p), vec_set(q * q)};
}

/* Points +-p and +-q of B' d: x^3 - x qq and x^2 - qq times x or p, and so on; `d` from the lowest power on. */
VEC_INLINE void winograd_in_pairs(const winograd_points *at, const vec *d, vec *to, const size_t step) {
    vec odd_p = vec_fnma(at->qq, d[1], d[3]), even_p = vec_fnma(at->qq, d[0], d[2]);
    vec odd_q = vec_fnma(at->pp, d[1], d[3]), even_q = vec_fnma(at->pp, d[0], d[2]);
    to[0] = vec_fma(at->p, even_p, odd_p);
    to[step] = vec_fnma(at->p, even_p, odd_p);
    to[2 * step] = vec_fma(at->q, even_q, odd_q);
    to[3 * step] = vec_fnma(at->q, even_q, odd_q);
}

/* (x^2 - pp) (x^2 - qq): the point 0, or infinity. */
VEC_INLINE vec winograd_in_end(const winograd_points *at, const vec *d) {
    return vec_fma(vec_mul(at->pp, at->qq), d[0], vec_fnma(vec_add(at->pp, at->qq), d[2], d[4]));
}

/* B' d for one line of d. */
VEC_INLINE void winograd_in_line(const int m, const vec *d, vec *to, const size_t step) {
    if (m == 2) {
        to[0] = vec_sub(d[2], d[0]);
        to[step] = vec_add(d[2], d[1]);
        to[2 * step] = vec_sub(d[2], d[1]);
        to[3 * step] = vec_sub(d[3], d[1]);
        return;
    }
    const winograd_points at = winograd_points_of(m);
    if (m == 3) {
        winograd_in_pairs(&at, d, to, step);
        to[4 * step] = winograd_in_end(&at, d);
        return;
    }
    to[0] = winograd_in_end(&at, d);
    winograd_in_pairs(&at, d + 1, to + step, step);
    to[5 * step] = winograd_in_end(&at, d + 1);
}

/* A' d for one line of d. */
VEC_INLINE void winograd_out_line(const int m, const vec *d, vec *to, const size_t step) {
    const size_t zero = m != 3; /* the first point is 0 */
    vec sum_p = vec_add(d[zero], d[zero + 1]), difference_p = vec_sub(d[zero], d[zero + 1]);
    if (m == 2) {
        to[0] = vec_add(d[0], sum_p);
        to[step] = vec_add(d[3], difference_p);
        return;
    }
    const winograd_points at = winograd_points_of(m);
    vec sum_q = vec_add(d[zero + 2], d[zero + 3]), difference_q = vec_sub(d[zero + 2], d[zero + 3]);
    vec odd_p = vec_mul(at.p, difference_p), odd_q = vec_mul(at.q, difference_q);
    to[0] = m == 3 ? vec_add(sum_p, sum_q) : vec_add(d[0], vec_add(sum_p, sum_q));
    to[step] = vec_add(odd_p, odd_q);
    if (m == 3) {
        to[2 * step] = vec_fma(at.pp, sum_p, vec_fma(at.qq, sum_q, d[4]));
        return;
    }
    to[2 * step] = vec_fma(at.pp, sum_p, vec_mul(at.qq, sum_q));
    to[3 * step] = vec_fma(at.pp, odd_p, vec_fma(at.qq, odd_q, d[5]));
}

VEC_INLINE void winograd_in_vector(const fidk_winograd_in *t, size_t c, const int m, const bool masked, vecm mask) {
    const size_t n = (size_t)m + 2;
    vec half[FID_WINOGRAD_LINE * FID_WINOGRAD_LINE], line[FID_WINOGRAD_LINE];
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
    vec half[FID_WINOGRAD_MOST * FID_WINOGRAD_LINE], line[FID_WINOGRAD_LINE], scale = vec_set(1), bias = vec_set(0), low = vec_set(t->low), high = vec_set(t->high);
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

#define DEFINE_WINOGRAD(m)                                                                                             \
    static void winograd_in_##m##_tile(const fidk_winograd_in *t) { winograd_in_tile(t, m); }                          \
    static void winograd_out_##m##_tile(const fidk_winograd_out *t) { winograd_out_tile(t, m); }
DEFINE_WINOGRAD(2)
DEFINE_WINOGRAD(3)
DEFINE_WINOGRAD(4)
