/* Body of the tiles for functions of two elements, over rows and columns. An operand's column step is 1, or 0 for one that
 * stands still. */

/* `chosen` is b if b is not a number. */
VEC_INLINE vec binary_choose(vec a, vec chosen) { return vec_select(vec_is_nan(a), a, chosen); }

VEC_INLINE vec math_nonzero(vec x) { return vec_sub(vec_set(1.0f), math_is_zero(x)); }
/* r is fmod(a, b): takes the sign of b */
VEC_INLINE vec binary_remainder(vec r, vec b) {
    vec product = vec_mul(math_sign(r), math_sign(b));
    return vec_select(vec_less(product, vec_set(0.0f)), vec_add(r, b), r);
}

#define binary_ADD(a, b) vec_fma(b, scale, a)
#define binary_SUB(a, b) vec_fnma(b, scale, a)
#define binary_MUL(a, b) vec_mul(a, b)
#define binary_DIV(a, b) vec_div(a, b)
#define binary_MAX(a, b) binary_choose(a, vec_max(a, b)) /* a NaN on either side wins */
#define binary_MIN(a, b) binary_choose(a, vec_min(a, b))
#define binary_GATE(a, b) vec_mul(a, math_sigmoid(b))
#define binary_PRELU(a, b) math_positive_or(a, vec_mul(a, b))
#define binary_POW(a, b) math_each2(a, b, powf)
#define binary_ATAN2(a, b) math_each2(a, b, atan2f)
#define binary_FMOD(a, b) math_each2(a, b, fmodf)
#define binary_REMAINDER(a, b) binary_remainder(math_each2(a, b, fmodf), b)
#define binary_EQ(a, b) math_truth(vec_equal(a, b))
#define binary_NE(a, b) vec_sub(vec_set(1.0f), math_truth(vec_equal(a, b)))
#define binary_LT(a, b) math_truth(vec_less(a, b))
#define binary_LE(a, b) vec_max(math_truth(vec_less(a, b)), math_truth(vec_equal(a, b)))
#define binary_GT(a, b) math_truth(vec_less(b, a))
#define binary_GE(a, b) vec_max(math_truth(vec_less(b, a)), math_truth(vec_equal(a, b)))
#define binary_AND(a, b) vec_select(vec_equal(a, vec_set(0.0f)), vec_set(0.0f), math_nonzero(b))
#define binary_OR(a, b) vec_max(math_nonzero(a), math_nonzero(b))
#define binary_XOR(a, b) vec_abs(vec_sub(math_nonzero(a), math_nonzero(b)))

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

#define DEFINE_BINARY(NAME, ...)                                                                                            \
    static void binary_##NAME##_tile(const fidk_binary *t) {                                                           \
        const vec scale = vec_set(t->scale);                                                                           \
        const vecm rest = vec_first(t->columns % VEC_LANES);                                                           \
        (void)scale;                                                                                                   \
        if (t->a_step && t->b_step) BINARY_ROWS(NAME, 1, 1)                                                            \
        else if (t->a_step) BINARY_ROWS(NAME, 1, 0)                                                                    \
        else if (t->b_step) BINARY_ROWS(NAME, 0, 1)                                                                    \
        else BINARY_ROWS(NAME, 0, 0)                                                                                   \
    }
FID_BINARY_MAP(DEFINE_BINARY)

#define NAME_BINARY(NAME, ...) binary_##NAME##_tile,
static const fidk_binary_tile binary_tiles[] = {FID_BINARY_MAP(NAME_BINARY)};

static void where_tile(const fidk_where *t) {
    const vec zero = vec_set(0.0f);
    for (size_t r = 0; r < t->rows; r++) {
        const float *c = t->condition + (int64_t)r * t->condition_row, *a = t->a + (int64_t)r * t->a_row, *b = t->b + (int64_t)r * t->b_row;
        float *y = t->y + (int64_t)r * t->y_row;
        for (size_t i = 0; i < t->columns; i += VEC_LANES) {
            vecm m = vec_first(t->columns - i < VEC_LANES ? t->columns - i : VEC_LANES);
            vec x = t->condition_step ? vec_load_some(c + i, m) : vec_set(*c);
            vec yes = t->a_step ? vec_load_some(a + i, m) : vec_set(*a), no = t->b_step ? vec_load_some(b + i, m) : vec_set(*b);
            vec_store_some(y + i, vec_select(vec_equal(x, zero), no, yes), m);
        }
    }
}
