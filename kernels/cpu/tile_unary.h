/* Body of the tiles for functions of one element, over a block of rows. One function for each row of FID_UNARY_MAP (ops/chain.h). */

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
#define unary_CUBE(x) vec_mul(vec_mul(x, x), x)
#define unary_EXP2(x) math_exp2(x)
#define unary_EXPM1(x) math_expm1(x)
#define unary_LOG(x) math_log(x)
#define unary_LOG2(x) math_log2(x)
#define unary_LOG10(x) math_log10(x)
#define unary_LOG1P(x) math_log1p(x)
#define unary_SIN(x) math_periodic(x, false)
#define unary_COS(x) math_periodic(x, true)
#define unary_TAN(x) math_each(x, tanf)
#define unary_ASIN(x) math_each(x, asinf)
#define unary_ACOS(x) math_each(x, acosf)
#define unary_ATAN(x) math_each(x, atanf)
#define unary_SINH(x) math_each(x, sinhf)
#define unary_COSH(x) math_each(x, coshf)
#define unary_ASINH(x) math_each(x, asinhf)
#define unary_ACOSH(x) math_each(x, acoshf)
#define unary_ATANH(x) math_each(x, atanhf)
#define unary_ERFC(x) math_each(x, erfcf)
#define unary_SIGN(x) math_sign(x)
#define unary_FLOOR(x) math_floor(x)
#define unary_CEIL(x) math_ceil(x)
#define unary_ROUND(x) vec_round(x)
#define unary_TRUNC(x) math_trunc(x)
#define unary_SOFTPLUS(x) math_softplus(x, a, b)
#define unary_LOG_SIGMOID(x) math_log_sigmoid(x)
#define unary_MISH(x) math_mish(x)
#define unary_NOT(x) math_is_zero(x)
#define unary_ISNAN(x) math_truth(vec_is_nan(x))
#define unary_ISINF(x) math_truth(vec_equal(vec_abs(x), vec_set(INFINITY)))

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
FID_UNARY_MAP(DEFINE_UNARY)

#define NAME_UNARY(NAME, ...) unary_##NAME##_tile,
static const fidk_unary_tile unary_tiles[] = {FID_UNARY_MAP(NAME_UNARY)};
