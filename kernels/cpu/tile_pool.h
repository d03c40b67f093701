/* Body of the pool tiles: each output pixel looks at its window, channels are the lanes. */

VEC_INLINE vec pool_larger(vec best, vec x) { return vec_select(vec_is_nan(best), best, vec_max(best, x)); }

VEC_INLINE vec pool_load(const float *at, const bool masked, vecm mask) { return masked ? vec_load_some(at, mask) : vec_load(at); }

/* Channels [channel, channel + VEC_LANES) of a pixel; largest and masked are constants at every call. */
VEC_INLINE void pool_channels(const fidk_pool *t, size_t pixel, size_t channel, const bool largest, const bool masked, vecm mask) {
    const float *in = t->in + pixel * t->in_step + channel;
    float *out = t->out + pixel * t->out_step + channel;
    vec result = largest ? vec_set(-INFINITY) : vec_set(0);
    for (size_t k = 0; k < t->taps; k++) {
        vec x = pool_load(in + t->offsets[k], masked, mask);
        result = largest ? pool_larger(result, x) : vec_add(result, x);
    }
    if (!largest) result = vec_mul(result, vec_set(t->scale));
    if (masked) vec_store_some(out, result, mask);
    else vec_store(out, result);
}

VEC_INLINE void pool_pixels(const fidk_pool *t, const bool largest) {
    vecm rest = vec_first(t->channels % VEC_LANES);
    for (size_t p = 0; p < t->pixels; p++) {
        size_t c = 0;
        for (; c + VEC_LANES <= t->channels; c += VEC_LANES) pool_channels(t, p, c, largest, false, rest);
        if (c < t->channels) pool_channels(t, p, c, largest, true, rest);
    }
}

static void max_pool_tile(const fidk_pool *t) { pool_pixels(t, true); }
static void sum_pool_tile(const fidk_pool *t) { pool_pixels(t, false); }

/* y = sum over taps of weight * row, for interpolation. */
static void blend_tile(const fidk_blend *t) {
    for (size_t i = 0; i < t->columns; i += VEC_LANES) {
        vecm mask = vec_first(t->columns - i < VEC_LANES ? t->columns - i : VEC_LANES);
        vec sum = vec_set(0);
        for (size_t k = 0; k < t->taps; k++) sum = vec_fma(vec_load_some(t->rows[k] + i, mask), vec_set(t->weights[k]), sum);
        vec_store_some(t->y + i, sum, mask);
    }
}
