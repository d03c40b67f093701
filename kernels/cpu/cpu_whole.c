/* Pointwise operators on whole numbers and truth values: loops that the compiler turns into vectors, one for each width.
 *
 * Sums, differences and products wrap and do not care for signs; comparisons do. */
#include "kernels/cpu/whole.h"

typedef struct whole_block {
    void *y;
    const void *a, *b, *c;
    int64_t y_step, a_step, b_step, c_step; /* elements */
    size_t count;
    int64_t scale;
} whole_block;

typedef void (*whole_loop)(const whole_block *t);

#define LOOP(name, type, result, expression)                                                                           \
    static void name(const whole_block *t) {                                                                           \
        const type *pa = t->a, *pb = t->b;                                                                             \
        result *y = t->y;                                                                                              \
        const type scale = (type)t->scale;                                                                             \
        (void)scale;                                                                                                   \
        if (t->a_step == 1 && t->b_step == 1 && t->y_step == 1) {                                                      \
            for (size_t i = 0; i < t->count; i++) {                                                                    \
                const type a = pa[i], b = pb[i];                                                                       \
                y[i] = (result)(expression);                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            for (size_t i = 0; i < t->count; i++) {                                                                    \
                const type a = pa[(int64_t)i * t->a_step], b = pb[(int64_t)i * t->b_step];                             \
                y[(int64_t)i * t->y_step] = (result)(expression);                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Through unsigned arithmetic, which wraps. */
#define ARITHMETIC(X, type, wide)                                                                                      \
    X(ADD, type, type, (wide)a + (wide)b * (wide)scale)                                                                \
    X(SUB, type, type, (wide)a - (wide)b * (wide)scale)                                                                \
    X(MUL, type, type, (wide)a * (wide)b)                                                                              \
    X(MAX, type, type, a > b ? a : b)                                                                                  \
    X(MIN, type, type, a < b ? a : b)
#define COMPARISONS(X, type)                                                                                           \
    X(EQ, type, uint8_t, a == b) X(NE, type, uint8_t, a != b) X(LT, type, uint8_t, a < b) X(LE, type, uint8_t, a <= b) \
    X(GT, type, uint8_t, a > b) X(GE, type, uint8_t, a >= b)
#define LOGIC(X, type)                                                                                                 \
    X(AND, type, uint8_t, (a != 0) & (b != 0)) X(OR, type, uint8_t, (a != 0) | (b != 0)) X(XOR, type, uint8_t, (a != 0) ^ (b != 0))

#define WHOLE_TYPES(Y) Y(int8_t, uint32_t) Y(uint8_t, uint32_t) Y(int16_t, uint32_t) Y(int32_t, uint32_t) Y(int64_t, uint64_t)
#define DEFINE_int8_t(NAME, type, result, expression) LOOP(NAME##_i8, type, result, expression)
#define DEFINE_uint8_t(NAME, type, result, expression) LOOP(NAME##_u8, type, result, expression)
#define DEFINE_int16_t(NAME, type, result, expression) LOOP(NAME##_i16, type, result, expression)
#define DEFINE_int32_t(NAME, type, result, expression) LOOP(NAME##_i32, type, result, expression)
#define DEFINE_int64_t(NAME, type, result, expression) LOOP(NAME##_i64, type, result, expression)
#define DEFINE_TYPE(type, wide) ARITHMETIC(DEFINE_##type, type, wide) COMPARISONS(DEFINE_##type, type) LOGIC(DEFINE_##type, type)
WHOLE_TYPES(DEFINE_TYPE)

#define ENTRY_i8(NAME, ...) [FID_BINARY_##NAME] = NAME##_i8,
#define ENTRY_u8(NAME, ...) [FID_BINARY_##NAME] = NAME##_u8,
#define ENTRY_i16(NAME, ...) [FID_BINARY_##NAME] = NAME##_i16,
#define ENTRY_i32(NAME, ...) [FID_BINARY_##NAME] = NAME##_i32,
#define ENTRY_i64(NAME, ...) [FID_BINARY_##NAME] = NAME##_i64,
#define TABLE(suffix)                                                                                                  \
    static const whole_loop loops_##suffix[FID_BINARY_COUNT] = {                                                       \
        ARITHMETIC(ENTRY_##suffix, , ) COMPARISONS(ENTRY_##suffix, ) LOGIC(ENTRY_##suffix, )};
TABLE(i8)
TABLE(u8)
TABLE(i16)
TABLE(i32)
TABLE(i64)

static const whole_loop *loops_of(uint8_t dtype) {
    switch (dtype) {
    case FID_INT8: return loops_i8;
    case FID_BOOL: case FID_UINT8: return loops_u8;
    case FID_INT16: return loops_i16;
    case FID_INT32: return loops_i32;
    case FID_INT64: return loops_i64;
    default: return NULL;
    }
}

/* ---- Choosing one of two ---- */

#define DEFINE_CHOOSE(type)                                                                                            \
    static void choose_##type(const whole_block *t) {                                                                  \
        const uint8_t *c = t->c;                                                                                       \
        const type *a = t->a, *b = t->b;                                                                               \
        type *y = t->y;                                                                                                \
        for (size_t i = 0; i < t->count; i++)                                                                          \
            y[(int64_t)i * t->y_step] = c[(int64_t)i * t->c_step] ? a[(int64_t)i * t->a_step] : b[(int64_t)i * t->b_step]; \
    }
DEFINE_CHOOSE(uint8_t)
DEFINE_CHOOSE(uint16_t)
DEFINE_CHOOSE(uint32_t)
DEFINE_CHOOSE(uint64_t)

static whole_loop choose_of(size_t size) { return size == 1 ? choose_uint8_t : size == 2 ? choose_uint16_t : size == 4 ? choose_uint32_t : choose_uint64_t; }

/* ---- The call ---- */

typedef struct whole_work {
    whole_loop loop;
    int64_t scale;
    int operand[3]; /* in the loops: a, b, c */
} whole_work;

static void run_block(const void *context, const fidk_loops *block) {
    const whole_work *w = context;
    for (int64_t r = 0; r < block->sizes[0]; r++) {
        const uint8_t *at[3];
        for (size_t i = 0; i < 3; i++) {
            size_t n = (size_t)w->operand[i];
            at[i] = block->data[n] + r * block->strides[n][0] * (int64_t)block->element[n];
        }
        whole_block t = {.y = block->data[0] + r * block->strides[0][0] * (int64_t)block->element[0], .a = at[0], .b = at[1], .c = at[2],
                         .y_step = block->strides[0][1], .a_step = block->strides[w->operand[0]][1], .b_step = block->strides[w->operand[1]][1],
                         .c_step = block->strides[w->operand[2]][1], .count = (size_t)block->sizes[1], .scale = w->scale};
        w->loop(&t);
    }
}

/* The dtype that operands must have: that of the result, or for truth values what the first tensor has. */
static uint8_t operand_dtype(const fid_call *call, const fid_step *step) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    if (step->class == FID_STEP_WHERE || !fid_step_is_truth(step)) return out->dtype;
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    return a ? a->dtype : b->dtype;
}

static bool is_number_like(const fid_value *value, uint8_t dtype) {
    if (dtype == FID_BOOL) return value->tag == FID_TAG_BOOL;
    if (value->tag == FID_TAG_BOOL) return true;
    if (value->tag != FID_TAG_INT) return false;
    int64_t n = value->as.integer;
    switch (dtype) {
    case FID_INT8: return n == (int8_t)n;
    case FID_UINT8: return n == (uint8_t)n;
    case FID_INT16: return n == (int16_t)n;
    case FID_INT32: return n == (int32_t)n;
    default: return dtype == FID_INT64;
    }
}

static bool fits(const fid_call *call, const fid_operand *o, uint8_t dtype) {
    if (o->from != FID_FROM_INPUT) return false;
    const fid_value *value = call->args[o->index];
    return value->tag == FID_TAG_TENSOR ? value->as.tensor->dtype == dtype : is_number_like(value, dtype);
}

bool fidk_whole_takes(const fid_call *call, const fid_step *step) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    uint8_t dtype = operand_dtype(call, step);
    if (step->class == FID_STEP_UNARY) return false;
    if (step->class == FID_STEP_WHERE) {
        const fid_tensor *mask = fid_arg_tensor(call, step->operand[0].index);
        bool whole = loops_of(dtype) != NULL;
        for (size_t i = 1; i < 3; i++) { /* tensors of any dtype; numbers of whole ones */
            const fid_value *value = call->args[step->operand[i].index];
            if (value->tag == FID_TAG_TENSOR ? value->as.tensor->dtype != dtype : !whole || !is_number_like(value, dtype)) return false;
        }
        return mask->dtype == FID_BOOL && fid_dtype_size((fid_dtype)dtype) <= 8;
    }
    const whole_loop *loops = loops_of(dtype);
    if (!loops || !loops[step->function] || !fits(call, &step->operand[0], dtype) || !fits(call, &step->operand[1], dtype)) return false;
    bool logic = fid_step_is_truth(step);
    if (dtype == FID_BOOL && !logic && step->function != FID_BINARY_MAX && step->function != FID_BINARY_MIN && step->function != FID_BINARY_MUL)
        return false;
    return (logic ? FID_BOOL : dtype) == out->dtype && (step->operand[2].from == FID_FROM_NOTHING || fits(call, &step->operand[2], dtype));
}

/* A number as an element of `dtype`, little-endian as every host of this folder is. */
static void add_operand(fidk_loops *loops, const fid_call *call, const fid_operand *o, uint8_t dtype, const fid_tensor *out, int64_t *number) {
    const fid_value *value = call->args[o->index];
    fid_tensor scalar = {.data = number, .dtype = dtype};
    if (value->tag != FID_TAG_TENSOR) *number = fid_value_int(value);
    fidk_loops_add(loops, value->tag == FID_TAG_TENSOR ? value->as.tensor : &scalar, out);
}

fid_status fidk_whole_run(fid_call *call, const fid_step *step) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    uint8_t dtype = operand_dtype(call, step);
    bool where = step->class == FID_STEP_WHERE;
    int64_t numbers[2] = {0};
    whole_work w = {.loop = where ? choose_of(fid_dtype_size((fid_dtype)dtype)) : loops_of(dtype)[step->function], .scale = 1,
                    .operand = {1, 2, where ? 3 : 0}};
    if (!where && step->operand[2].from == FID_FROM_INPUT) w.scale = fid_arg_int(call, step->operand[2].index);
    fidk_loops loops;
    fidk_loops_begin(&loops, out);
    for (size_t i = 0; i < 2; i++) add_operand(&loops, call, &step->operand[where + i], dtype, out, &numbers[i]);
    if (where) fidk_loops_add(&loops, fid_arg_tensor(call, step->operand[0].index), out);
    fidk_loops_merge(&loops);
    fidk_loops_run(&loops, call->threads, (double)fid_tensor_numel(out) * 8, run_block, &w);
    return FID_OK;
}
