/* Body of the tiles for functions of two elements, over rows and columns. An operand's column step is 1, or 0 for one that
 * stands still. */

/* `chosen` is b if b is not a number. */
VEC_INLINE vec binary_choose(vec a, vec chosen) { return vec_select(vec_is_nan(a), a, chosen); }

#define binary_ADD(a, b) vec_fma(b, scale, a)
#define binary_SUB(a, b) vec_fnma(b, scale, a)
#define binary_MUL(a, b) vec_mul(a, b)
#define binary_DIV(a, b) vec_div(a, b)
#define binary_MAX(a, b) binary_choose(a, vec_max(a, b)) /* a NaN on either side wins */
#define binary_MIN(a, b) binary_choose(a, vec_min(a, b))
#define binary_GATE(a, b) vec_mul(a, math_sigmoid(b))

VEC_INLINE vec binary_load(const float *row, size_t i, const size_t step, const bool masked, vecm mask) {
    return !step ? vec_set(*row) : masked ? vec_load_some(row + i, mask) : vec_load(row + i);
}

#define BINARY_ROWS(NAME, a_step, b_step)                                                                              \
    for (size_t r = 0; r < t->rows; r++) {                                                                             \
        const float *a = t->a + (int64_t)r * t->a_row, *b = t->b + (int64_t)r * t->b_row;                              \
        float *y = t->y + (int64_t)r * t->y_row;                                                                       \
        size_t i = 0;                                                                                                  \
        for (; i + VEC_LANES <= t->columns; i += VEC_LANES) {                                                          \
            vec u = binary_load(a, i, a_step, false, rest), v = binary_load(b, i, b_step, false, rest);                \
            vec_store(y + i, binary_##NAME(u, v));                                                                     \
        }                                                                                                              \
        if (i < t->columns) {                                                                                          \
            vec u = binary_load(a, i, a_step, true, rest), v = binary_load(b, i, b_step, true, rest);                  \
            vec_store_some(y + i, binary_##NAME(u, v), rest);                                                          \
        }                                                                                                              \
    }

#define DEFINE_BINARY(NAME)                                                                                            \
    static void binary_##NAME##_tile(const fidk_binary *t) {                                                           \
        const vec scale = vec_set(t->scale);                                                                           \
        const vecm rest = vec_first(t->columns % VEC_LANES);                                                           \
        (void)scale;                                                                                                   \
        if (t->a_step && t->b_step) BINARY_ROWS(NAME, 1, 1)                                                            \
        else if (t->a_step) BINARY_ROWS(NAME, 1, 0)                                                                    \
        else if (t->b_step) BINARY_ROWS(NAME, 0, 1)                                                                    \
        else BINARY_ROWS(NAME, 0, 0)                                                                                   \
    }
FIDK_BINARY_MAP(DEFINE_BINARY)

#define NAME_BINARY(NAME) binary_##NAME##_tile,
static const fidk_binary_tile binary_tiles[] = {FIDK_BINARY_MAP(NAME_BINARY)};
