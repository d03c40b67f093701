/* Bodies of the tiles that turn gate sums of recurrent cells into new states. Widths need no padding: the last vector is masked. */

VEC_INLINE vec gates_load(const float *p, size_t i, vecm mask) { return vec_load_some(p + i, mask); }

static void lstm_tile(const fidk_gates *t) {
    for (size_t r = 0; r < t->rows; r++) {
        const float *g = t->gates + r * t->gates_stride;
        float *c = t->cell + r * t->width, *h = t->hidden + r * t->hidden_stride;
        for (size_t i = 0; i < t->width; i += VEC_LANES) {
            vecm mask = vec_first(t->width - i < VEC_LANES ? t->width - i : VEC_LANES);
            vec input = math_sigmoid(gates_load(g, i, mask)), forget = math_sigmoid(gates_load(g + t->width, i, mask));
            vec candidate = math_tanh(gates_load(g + 2 * t->width, i, mask)), output = math_sigmoid(gates_load(g + 3 * t->width, i, mask));
            vec cell = vec_fma(forget, gates_load(c, i, mask), vec_mul(input, candidate));
            vec_store_some(c + i, cell, mask);
            vec_store_some(h + i, vec_mul(output, math_tanh(cell)), mask);
        }
    }
}

static void gru_tile(const fidk_gates *t) {
    for (size_t r = 0; r < t->rows; r++) {
        const float *x = t->gates + r * t->gates_stride, *u = t->hidden_gates + r * 3 * t->width, *before = t->before + r * t->before_stride;
        float *h = t->hidden + r * t->hidden_stride;
        for (size_t i = 0; i < t->width; i += VEC_LANES) {
            vecm mask = vec_first(t->width - i < VEC_LANES ? t->width - i : VEC_LANES);
            vec reset = math_sigmoid(vec_add(gates_load(x, i, mask), gates_load(u, i, mask)));
            vec update = math_sigmoid(vec_add(gates_load(x + t->width, i, mask), gates_load(u + t->width, i, mask)));
            vec candidate = math_tanh(vec_fma(reset, gates_load(u + 2 * t->width, i, mask), gates_load(x + 2 * t->width, i, mask)));
            vec old = gates_load(before, i, mask);
            vec_store_some(h + i, vec_fma(update, vec_sub(old, candidate), candidate), mask);
        }
    }
}
