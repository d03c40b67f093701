/* What the machine can do at most, measured with loops that do nothing else. Nothing of a model runs on these. */

/* Independent chains of multiply-adds in registers, enough to hide their latency: rounds * 2 * 12 * VEC_LANES operations. */
static float peak_tile(size_t rounds) {
    vec sums[12];
    const vec factor = vec_set(0.999f), step = vec_set(0.001f);
    for (int i = 0; i < 12; i++) sums[i] = vec_set((float)i);
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < 12; i++) sums[i] = vec_fma(sums[i], factor, step);
    }
    float total[VEC_LANES];
    for (int i = 1; i < 12; i++) sums[0] = vec_add(sums[0], sums[i]);
    vec_store(total, sums[0]);
    return total[0];
}

/* Reads `count` floats, a multiple of 8 vectors. */
static float read_tile(const float *x, size_t count) {
    vec sums[8];
    for (int i = 0; i < 8; i++) sums[i] = vec_set(0);
    for (size_t at = 0; at < count; at += 8 * VEC_LANES) {
        for (int i = 0; i < 8; i++) sums[i] = vec_add(sums[i], vec_load(x + at + (size_t)i * VEC_LANES));
    }
    float total[VEC_LANES];
    for (int i = 1; i < 8; i++) sums[0] = vec_add(sums[0], sums[i]);
    vec_store(total, sums[0]);
    return total[0];
}
