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

VEC_INLINE vec math_expm1(vec x) {
    vec small = math_expm1_reduced(x), large = vec_sub(math_exp(x), vec_set(1.0f));
    return vec_select(vec_less(vec_abs(x), vec_set(0.34f)), small, large);
}

VEC_INLINE vec math_sigmoid(vec x) {
    vec one = vec_set(1.0f), e = math_exp(vec_neg(vec_abs(x))); /* exp(-x) would overflow far below zero */
    return vec_div(vec_select(vec_less(x, vec_set(0.0f)), e, one), vec_add(one, e));
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

VEC_INLINE vec math_hardsigmoid(vec x) {
    vec y = math_clamp(vec_add(x, vec_set(3.0f)), vec_set(0.0f), vec_set(6.0f));
    return vec_div(y, vec_set(6.0f));
}

VEC_INLINE vec math_hardswish(vec x) {
    vec y = math_clamp(vec_add(x, vec_set(3.0f)), vec_set(0.0f), vec_set(6.0f));
    return vec_div(vec_mul(x, y), vec_set(6.0f));
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
