/* Body of the tile that turns a matrix: out[c][r] = in[r][c]. */

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

static void transpose_tile(const fidk_turn *t) {
    for (size_t c = 0; c < t->columns; c += VEC_LANES)
        for (size_t r = 0; r < t->rows; r += VEC_LANES) transpose_square(t, r, c);
}
