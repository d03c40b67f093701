/* Bodies of the tiles that move elements: turning a matrix, gathering patches, writing around the caches. */

VEC_INLINE void transpose_square(const fidk_turn *t, size_t r0, size_t c0) {
    size_t rows = t->rows - r0 < VEC_LANES ? t->rows - r0 : VEC_LANES, columns = t->columns - c0 < VEC_LANES ? t->columns - c0 : VEC_LANES;
    const float *in = t->in + r0 * t->in_stride + c0;
    float *out = t->out + c0 * t->out_stride + r0;
    vec square[VEC_LANES];
    if (rows == VEC_LANES && columns == VEC_LANES) {
        UNROLL_ALL for (size_t i = 0; i < VEC_LANES; i++) square[i] = vec_load(in + i * t->in_stride);
        vec_transpose(square);
        UNROLL_ALL for (size_t i = 0; i < VEC_LANES; i++) vec_store(out + i * t->out_stride, square[i]);
        return;
    }
    vecm in_mask = vec_first(columns), out_mask = vec_first(rows);
    for (size_t i = 0; i < VEC_LANES; i++) square[i] = i < rows ? vec_load_some(in + i * t->in_stride, in_mask) : vec_set(0);
    vec_transpose(square);
    for (size_t i = 0; i < columns; i++) vec_store_some(out + i * t->out_stride, square[i], out_mask);
}

/* Three planes to pixels, as pictures come: columns [0, returned) are done. */
VEC_INLINE size_t interleave_planes(const fidk_turn *t) {
    size_t c = 0;
    (void)t;
#ifdef VEC_STORE3
    if (t->rows != 3 || t->out_stride != 3) return 0;
    for (const float *in = t->in; c + VEC_LANES <= t->columns; c += VEC_LANES)
        vec_store3(t->out + c * 3, vec_load(in + c), vec_load(in + t->in_stride + c), vec_load(in + 2 * t->in_stride + c));
#endif
    return c;
}

static void transpose_tile(const fidk_turn *t) {
    for (size_t c = interleave_planes(t); c < t->columns; c += VEC_LANES)
        for (size_t r = 0; r < t->rows; r += VEC_LANES) transpose_square(t, r, c);
}

/* `run` floats, from NULL zeros. */
VEC_INLINE float *patch_copy(const float *from, size_t run, float *to) {
    size_t i = 0;
    vecm rest = vec_first(run % VEC_LANES);
    for (; i + VEC_LANES <= run; i += VEC_LANES) vec_store(to + i, from ? vec_load(from + i) : vec_set(0));
    if (i < run) vec_store_some(to + i, from ? vec_load_some(from + i, rest) : vec_set(0), rest);
    return to + run;
}

static void patch_tile(const fidk_patch *t) {
    for (size_t p = 0; p < t->pixels; p++) {
        float *to = t->out + p * t->out_stride;
        for (size_t l = 0; l < t->lines; l++) to = patch_copy(t->line[l] ? t->line[l] + p * t->in_step : NULL, t->run[l], to);
    }
}

/* ---- Results that no cache could keep ---- */

#ifndef VEC_STREAM
VEC_INLINE void vec_stream(float *p, vec v) { vec_store(p, v); }
VEC_INLINE void vec_settle(void) {}
#endif

static void stream_tile(const float *x, float *y, size_t count) {
    const size_t bytes = VEC_LANES * sizeof(float);
    size_t i = 0, ahead = (bytes - (uintptr_t)y % bytes) % bytes / sizeof(float);
    for (; i < count && i < ahead; i++) y[i] = x[i];
    for (; i + VEC_LANES <= count; i += VEC_LANES) vec_stream(y + i, vec_load(x + i));
    for (; i < count; i++) y[i] = x[i];
}

static void settle_tile(void) { vec_settle(); }
