/* Elementary functions on vectors, at most 2 units in the last place from exact; NaN, infinities and subnormals come out right.
 *
 * The coefficients are weighted minimax fits of ours on the intervals that each comment names. */

/* exp(r) - 1 for |r| <= ln(2) / 2, as r + r^2 * p(r) */
VEC_INLINE vec math_expm1_reduced(vec r) {
    vec p = vec_set(0x1.6a1a7p-10f);
    p = vec_fma(p, r, vec_set(0x1.123fc6p-7f));
    p = vec_fma(p, r, vec_set(0x1.555916p-5f));
    p = vec_fma(p, r, vec_set(0x1.55548ap-3f));
    p = vec_fma(p, r, vec_set(0x1.fffffcp-2f));
    return vec_fma(vec_mul(p, r), r, r);
}

VEC_INLINE vec math_exp(vec x) {
    /* Beyond these ends the result is 0 or infinity; a NaN stays. */
    x = vec_min(vec_set(89.0f), vec_max(vec_set(-104.0f), x));
    vec n = vec_round(vec_mul(x, vec_set(0x1.715476p+0f)));
    vec r = vec_fnma(n, vec_set(0x1.62e4p-1f), x); /* ln 2 in two parts; n times the first is exact */
    r = vec_fnma(n, vec_set(0x1.7f7d1cp-20f), r);
    return vec_scale2(vec_add(math_expm1_reduced(r), vec_set(1.0f)), n);
}

/* 2^n - 1 + 2^n * q, by halves: 2^128 would be too large */
VEC_INLINE vec math_expm1(vec x) {
    x = vec_min(vec_set(89.0f), vec_max(vec_set(-104.0f), x));
    vec n = vec_round(vec_mul(x, vec_set(0x1.715476p+0f)));
    vec r = vec_fnma(n, vec_set(0x1.62e4p-1f), x);
    r = vec_fnma(n, vec_set(0x1.7f7d1cp-20f), r);
    vec q = math_expm1_reduced(r), half = vec_scale2(vec_set(1.0f), vec_sub(n, vec_set(1.0f)));
    vec y = vec_mul(vec_set(2.0f), vec_fma(q, half, vec_sub(half, vec_set(0.5f))));
    return vec_select(vec_equal(n, vec_set(0.0f)), q, y);
}

/* 1 / (1 + exp(-x)). exp(-|x|) is carried as a sum of two, and what the quotient rounds away is put back: the result of one division
 * alone would be 2.3 units off. */
VEC_INLINE vec math_sigmoid(vec x) {
    vec one = vec_set(1.0f), t = vec_max(vec_set(-104.0f), vec_neg(vec_abs(x))); /* exp(-x) would overflow far below zero */
    vec n = vec_round(vec_mul(t, vec_set(0x1.715476p+0f)));
    vec r = vec_fnma(n, vec_set(0x1.62e4p-1f), t);
    r = vec_fnma(n, vec_set(0x1.7f7d1cp-20f), r);
    vec q = math_expm1_reduced(r), high = vec_add(one, q);
    vec low = vec_scale2(vec_sub(q, vec_sub(high, one)), n), e = vec_scale2(high, n); /* e + low = exp(-|x|) */
    vec sum = vec_add(one, e), rest = vec_add(vec_sub(e, vec_sub(sum, one)), low);     /* sum + rest = 1 + e + low */
    vecm below = vec_less(x, vec_set(0.0f));
    vec top = vec_select(below, e, one), y = vec_div(top, sum);
    vec off = vec_add(vec_fnma(y, sum, top), vec_fnma(y, rest, vec_select(below, low, vec_set(0.0f))));
    return vec_fma(off, vec_select(below, vec_sub(one, y), y), y); /* 1 / sum is y, or 1 - y */
}

VEC_INLINE vec math_tanh(vec x) {
    vec t = vec_abs(x), s = vec_mul(x, x);
    vec p = vec_set(-0x1.6f4208p-8f); /* tanh(x) = x + x^3 * p(x^2) up to 0.64 */
    p = vec_fma(p, s, vec_set(0x1.50b826p-6f));
    p = vec_fma(p, s, vec_set(-0x1.b806a6p-5f));
    p = vec_fma(p, s, vec_set(0x1.1105a2p-3f));
    p = vec_fma(p, s, vec_set(-0x1.55552cp-2f));
    vec small = vec_fma(vec_mul(p, s), x, x);
    vec e = math_exp(vec_add(t, t));
    vec large = vec_sub(vec_set(1.0f), vec_div(vec_set(2.0f), vec_add(e, vec_set(1.0f))));
    return vec_select(vec_less(t, vec_set(0.625f)), small, vec_with_sign(large, x));
}

VEC_INLINE vec math_erf(vec x) {
    vec t = vec_min(vec_set(4.0f), vec_abs(x)), s = vec_mul(x, x); /* erf rounds to 1 before 4 */
    vec p = vec_set(-0x1.35bf4ep-11f); /* erf(x) = x + x * p(x^2) up to 0.94 */
    p = vec_fma(p, s, vec_set(0x1.462964p-8f));
    p = vec_fma(p, s, vec_set(-0x1.b65c7p-6f));
    p = vec_fma(p, s, vec_set(0x1.ce172ep-4f));
    p = vec_fma(p, s, vec_set(-0x1.8126d2p-2f));
    p = vec_fma(p, s, vec_set(0x1.06eba6p-3f));
    vec small = vec_fma(p, x, x);
    vec q = vec_set(0x1.c0c27ap-13f); /* 1 - erf(t) = exp(-t + t * q(t)) from 0.92 to 4 */
    q = vec_fma(q, t, vec_set(-0x1.a56418p-9f));
    q = vec_fma(q, t, vec_set(0x1.770780p-6f));
    q = vec_fma(q, t, vec_set(-0x1.af270ep-4f));
    q = vec_fma(q, t, vec_set(-0x1.457cdep-1f));
    q = vec_fma(q, t, vec_set(-0x1.07328ap-3f));
    vec large = vec_sub(vec_set(1.0f), math_exp(vec_fma(q, t, vec_neg(t))));
    return vec_select(vec_less(vec_abs(x), vec_set(0.93f)), small, vec_with_sign(large, x));
}

VEC_INLINE vec math_clamp(vec x, vec low, vec high) { return vec_min(high, vec_max(low, x)); }

/* x / 6, rounded as the division rounds it: the product with 1 / 6, and what that leaves. */
VEC_INLINE vec math_sixth(vec x) {
#if VEC_FUSED
    vec sixth = vec_set(1.0f / 6), q = vec_mul(x, sixth);
    return vec_select(vec_less(vec_abs(x), vec_set(INFINITY)), vec_fma(vec_fnma(q, vec_set(6.0f), x), sixth, q), q);
#else
    return vec_div(x, vec_set(6.0f));
#endif
}
VEC_INLINE vec math_hardsigmoid(vec x) {
    vec y = math_clamp(vec_add(x, vec_set(3.0f)), vec_set(0.0f), vec_set(6.0f));
    return math_sixth(y);
}

VEC_INLINE vec math_hardswish(vec x) {
    vec y = math_clamp(vec_add(x, vec_set(3.0f)), vec_set(0.0f), vec_set(6.0f));
    return math_sixth(vec_mul(x, y));
}

VEC_INLINE vec math_gelu(vec x) {
    vec half = vec_mul(x, vec_set(0.5f));
    return vec_mul(half, vec_add(vec_set(1.0f), math_erf(vec_mul(x, vec_set(0.70710678f)))));
}

VEC_INLINE vec math_gelu_tanh(vec x) {
    vec cube = vec_mul(vec_mul(x, x), x), half = vec_mul(x, vec_set(0.5f));
    vec inner = vec_mul(vec_set(0.79788456f), vec_fma(vec_set(0.044715f), cube, x));
    return vec_mul(half, vec_add(vec_set(1.0f), math_tanh(inner)));
}

VEC_INLINE vec math_positive_or(vec x, vec other) { return vec_select(vec_less(vec_set(0.0f), x), x, other); }

/* ---- Logarithms ---- */

/* log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], without f itself: -f^2 / 2 + f^3 * p(f) */
VEC_INLINE vec math_log_tail(vec f) {
    vec p = vec_set(0x1.145750p-4f);
    p = vec_fma(p, f, vec_set(-0x1.de3c18p-4f));
    p = vec_fma(p, f, vec_set(0x1.e6f096p-4f));
    p = vec_fma(p, f, vec_set(-0x1.fc220ap-4f));
    p = vec_fma(p, f, vec_set(0x1.233766p-3f));
    p = vec_fma(p, f, vec_set(-0x1.555c4ep-3f));
    p = vec_fma(p, f, vec_set(0x1.99a4b6p-3f));
    p = vec_fma(p, f, vec_set(-0x1.000006p-2f));
    p = vec_fma(p, f, vec_set(0x1.555548p-2f));
    vec square = vec_mul(f, f);
    return vec_fma(vec_mul(p, f), square, vec_mul(square, vec_set(-0.5f)));
}

/* x = (1 + f) * 2^n, f as above; x above 0 and finite */
VEC_INLINE vec math_log_split(vec x, vec *out_f) {
    vec m, n = vec_exponent(x, &m);
    vecm high = vec_less(vec_set(1.41421354f), m);
    *out_f = vec_sub(vec_select(high, vec_mul(m, vec_set(0.5f)), m), vec_set(1.0f));
    return vec_select(high, vec_add(n, vec_set(1.0f)), n);
}

/* y = log of x where x is above 0 and finite; elsewhere what a logarithm gives. */
VEC_INLINE vec math_log_ends(vec x, vec y) {
    y = vec_select(vec_less(x, vec_set(INFINITY)), y, x); /* infinity, or a NaN */
    y = vec_select(vec_less(x, vec_set(0.0f)), vec_set(NAN), y);
    return vec_select(vec_equal(x, vec_set(0.0f)), vec_set(-INFINITY), y);
}

VEC_INLINE vec math_log(vec x) {
    vec f, n = math_log_split(x, &f), tail = math_log_tail(f);
    vec y = vec_add(vec_fma(n, vec_set(0x1.0bfbe8p-15f), tail), f); /* ln 2 in two parts; n times the first is exact */
    return math_log_ends(x, vec_fma(n, vec_set(0x1.62e0p-1f), y));
}

/* In another base: the tail of the logarithm times `factor`, and n times the base's logarithm of 2 (high and low). */
VEC_INLINE vec math_log_base(vec x, vec factor, vec factor_low, vec high, vec low) {
    vec f, n = math_log_split(x, &f), tail = math_log_tail(f);
    vec y = vec_fma(tail, factor, vec_fma(f, factor_low, vec_mul(n, low)));
    return math_log_ends(x, vec_fma(n, high, vec_fma(f, factor, y)));
}
VEC_INLINE vec math_log2(vec x) {
    return math_log_base(x, vec_set(0x1.715476p+0f), vec_set(0x1.4ae0c0p-26f), vec_set(1.0f), vec_set(0.0f));
}
VEC_INLINE vec math_log10(vec x) {
    return math_log_base(x, vec_set(0x1.bcb7b2p-2f), vec_set(-0x1.5b235ep-27f), vec_set(0x1.344p-2f), vec_set(0x1.3509f8p-18f));
}

VEC_INLINE vec math_log1p(vec x) {
    vec one = vec_set(1.0f), u = vec_add(one, x);
    vec lost = vec_sub(x, vec_sub(u, one)); /* of x, in u */
    lost = vec_select(vec_less(vec_abs(x), vec_set(0x1p24f)), vec_div(lost, u), vec_set(0.0f));
    lost = vec_select(vec_equal(u, vec_set(0.0f)), vec_set(0.0f), lost);
    vec y = vec_add(math_log(u), lost);
    return vec_select(vec_equal(x, vec_set(0.0f)), x, y); /* keeps the sign of zero */
}

VEC_INLINE vec math_exp2(vec x) {
    x = vec_min(vec_set(129.0f), vec_max(vec_set(-151.0f), x));
    vec n = vec_round(x), r = vec_mul(vec_sub(x, n), vec_set(0x1.62e43p-1f));
    return vec_scale2(vec_add(math_expm1_reduced(r), vec_set(1.0f)), n);
}

/* ---- Sine and cosine ---- */

/* Through one element at a time, for functions without a vector form. */
VEC_INLINE vec math_each(vec x, float (*function)(float)) {
    float lanes[VEC_LANES];
    vec_store(lanes, x);
    for (int i = 0; i < VEC_LANES; i++) lanes[i] = function(lanes[i]);
    return vec_load(lanes);
}
VEC_INLINE vec math_each2(vec x, vec y, float (*function)(float, float)) {
    float a[VEC_LANES], b[VEC_LANES];
    vec_store(a, x);
    vec_store(b, y);
    for (int i = 0; i < VEC_LANES; i++) a[i] = function(a[i], b[i]);
    return vec_load(a);
}

/* whole numbers only: 1 for odd ones, else 0 */
VEC_INLINE vec math_odd(vec n) {
    vec half = vec_mul(n, vec_set(0.5f)), below = vec_round(vec_sub(half, vec_set(0.25f)));
    return vec_fnma(below, vec_set(2.0f), n);
}

/* x - n * pi / 2. Fused products need no short factors: the first difference is exact below 2^16. Others take parts of 11 bits, whose
 * products are exact below 2^13. */
#define MATH_PERIODIC_END (VEC_FUSED ? 30000.0f : 6000.0f)
VEC_INLINE vec math_less_turns(vec x, vec n) {
    if (VEC_FUSED) {
        x = vec_fnma(n, vec_set(0x1.921fb6p+0f), x);
        x = vec_fnma(n, vec_set(-0x1.777a5cp-25f), x);
        return vec_fnma(n, vec_set(-0x1.ee59dap-50f), x);
    }
    x = vec_fnma(n, vec_set(0x1.92p+0f), x);
    x = vec_fnma(n, vec_set(0x1.fb4p-12f), x);
    x = vec_fnma(n, vec_set(0x1.444p-24f), x);
    return vec_fnma(n, vec_set(0x1.68c234p-39f), x);
}

/* sin(x), or cos(x) = sin(x + pi / 2) with a quarter turn, for |x| below MATH_PERIODIC_END. */
VEC_INLINE vec math_sine(vec x, const bool quarter) {
    vec n = vec_round(vec_mul(x, vec_set(0x1.45f306p-1f))), r = math_less_turns(x, n);
    vec s = vec_mul(r, r);
    vec p = vec_fma(vec_set(0x1.6ccbb2p-19f), s, vec_set(-0x1.a00f68p-13f));
    p = vec_fma(vec_fma(p, s, vec_set(0x1.111108p-7f)), s, vec_set(-0x1.555556p-3f));
    vec sine = vec_fma(vec_mul(p, s), r, r);
    vec c = vec_fma(vec_set(0x1.99dba0p-16f), s, vec_set(-0x1.6c0bfcp-10f));
    c = vec_fma(c, s, vec_set(0x1.55554ap-5f));
    vec cosine = vec_fma(vec_mul(s, s), c, vec_fma(s, vec_set(-0.5f), vec_set(1.0f)));
    vec turns = quarter ? vec_add(n, vec_set(1.0f)) : n, odd = math_odd(turns);
    vec y = vec_select(vec_less(vec_set(0.5f), odd), cosine, sine);
    vec flips = math_odd(vec_mul(vec_sub(turns, odd), vec_set(0.5f)));
    return vec_select(vec_less(vec_set(0.5f), flips), vec_neg(y), y);
}
VEC_INLINE vec math_periodic(vec x, const bool quarter) {
    if (!(vec_largest(vec_select(vec_less(vec_abs(x), vec_set(MATH_PERIODIC_END)), vec_set(0.0f), vec_set(1.0f))) > 0)) return math_sine(x, quarter);
    return math_each(x, quarter ? cosf : sinf);
}

/* ---- Small compositions ---- */

VEC_INLINE vec math_floor(vec x) {
    vec n = vec_round(x);
    return vec_with_sign(vec_abs(vec_sub(n, vec_select(vec_less(x, n), vec_set(1.0f), vec_set(0.0f)))), x);
}
VEC_INLINE vec math_ceil(vec x) { return vec_neg(math_floor(vec_neg(x))); }
VEC_INLINE vec math_trunc(vec x) { return vec_with_sign(math_floor(vec_abs(x)), x); }
VEC_INLINE vec math_truth(vecm m) { return vec_select(m, vec_set(1.0f), vec_set(0.0f)); }
VEC_INLINE vec math_sign(vec x) { return vec_sub(math_truth(vec_less(vec_set(0.0f), x)), math_truth(vec_less(x, vec_set(0.0f)))); }
VEC_INLINE vec math_is_zero(vec x) { return math_truth(vec_equal(x, vec_set(0.0f))); }

VEC_INLINE vec math_softplus(vec x, vec beta, vec threshold) {
    vec t = vec_mul(x, beta);
    return vec_select(vec_less(threshold, t), x, vec_div(math_log1p(math_exp(t)), beta));
}
VEC_INLINE vec math_log_sigmoid(vec x) {
    return vec_sub(vec_min(vec_set(0.0f), x), math_log1p(math_exp(vec_neg(vec_abs(x)))));
}
/* x * tanh(log(1 + e^x)) = x * (s - 1) / (s + 1) with s = (1 + e^x)^2 */
VEC_INLINE vec math_mish(vec x) {
    vec e = math_exp(vec_min(vec_set(20.0f), x)), t = vec_mul(e, vec_add(e, vec_set(2.0f)));
    return vec_select(vec_less(vec_set(20.0f), x), x, vec_mul(x, vec_div(t, vec_add(t, vec_set(2.0f)))));
}
