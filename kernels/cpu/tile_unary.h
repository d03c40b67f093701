/* Body of the tiles for functions of one element, over a block of rows. One function for each row of FIDK_UNARY_MAP. */

#define unary_NONE(x) (x)
#define unary_RELU(x) vec_max(vec_set(0.0f), x)
#define unary_CLAMP(x) math_clamp(x, a, b)
#define unary_SIGMOID(x) math_sigmoid(x)
#define unary_HARDSIGMOID(x) math_hardsigmoid(x)
#define unary_HARDSWISH(x) math_hardswish(x)
#define unary_SILU(x) vec_mul(x, math_sigmoid(x))
#define unary_GELU(x) math_gelu(x)
#define unary_GELU_TANH(x) math_gelu_tanh(x)
#define unary_TANH(x) math_tanh(x)
#define unary_LEAKY_RELU(x) math_positive_or(x, vec_mul(x, a))
#define unary_ELU(x) math_positive_or(x, vec_mul(a, math_expm1(x)))
#define unary_EXP(x) math_exp(x)
#define unary_ERF(x) math_erf(x)
#define unary_SQRT(x) vec_sqrt(x)
#define unary_RSQRT(x) vec_div(vec_set(1.0f), vec_sqrt(x))
#define unary_RECIPROCAL(x) vec_div(vec_set(1.0f), x)
#define unary_ABS(x) vec_abs(x)
#define unary_NEG(x) vec_neg(x)
#define unary_SQUARE(x) vec_mul(x, x)

#define DEFINE_UNARY(NAME, ...)                                                                                        \
    static void unary_##NAME##_tile(const fidk_unary *u) {                                                             \
        const vec a = vec_set(u->a), b = vec_set(u->b);                                                                \
        const size_t whole = u->columns - u->columns % VEC_LANES;                                                      \
        const vecm rest = vec_first(u->columns % VEC_LANES);                                                           \
        (void)a, (void)b;                                                                                              \
        for (size_t r = 0; r < u->rows; r++) {                                                                         \
            const float *in = u->x + r * u->x_stride;                                                                  \
            float *out = u->y + r * u->y_stride;                                                                       \
            for (size_t i = 0; i < whole; i += VEC_LANES) {                                                            \
                vec x = vec_load(in + i);                                                                              \
                vec_store(out + i, unary_##NAME(x));                                                                   \
            }                                                                                                          \
            if (whole < u->columns) {                                                                                  \
                vec x = vec_load_some(in + whole, rest);                                                               \
                vec_store_some(out + whole, unary_##NAME(x), rest);                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
FIDK_UNARY_MAP(DEFINE_UNARY)

#define NAME_UNARY(NAME, ...) unary_##NAME##_tile,
static const fidk_unary_tile unary_tiles[] = {FIDK_UNARY_MAP(NAME_UNARY)};
