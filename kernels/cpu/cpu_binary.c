/* Arithmetic on two float32 operands with broadcasting, in any layouts. */
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operand.h"

typedef struct binary_work {
    const fidk_tiles *tiles;
    fidk_binary_kind kind;
    float scale;
} binary_work;

static float apply_one(fidk_binary_kind kind, float a, float b, float scale) {
    switch (kind) {
    case FIDK_BINARY_ADD: return a + scale * b;
    case FIDK_BINARY_SUB: return a - scale * b;
    case FIDK_BINARY_MUL: return a * b;
    case FIDK_BINARY_DIV: return a / b;
    case FIDK_BINARY_GATE: return a / (1 + expf(-b));
    case FIDK_BINARY_MAX: return a > b || a != a ? a : b;
    default: return a < b || a != a ? a : b;
    }
}

/* Columns that lie apart, as after a transposition. */
static void run_apart(const binary_work *w, const fidk_loops *block) {
    for (int64_t r = 0; r < block->sizes[0]; r++) {
        float *y = (float *)block->data[0] + r * block->strides[0][0];
        const float *a = (const float *)block->data[1] + r * block->strides[1][0];
        const float *b = (const float *)block->data[2] + r * block->strides[2][0];
        for (int64_t i = 0; i < block->sizes[1]; i++)
            y[i * block->strides[0][1]] = apply_one(w->kind, a[i * block->strides[1][1]], b[i * block->strides[2][1]], w->scale);
    }
}

static void run_block(const void *context, const fidk_loops *block) {
    const binary_work *w = context;
    int64_t a_step = block->strides[1][1], b_step = block->strides[2][1], columns = block->sizes[1];
    bool near = columns == 1 || (block->strides[0][1] == 1 && (a_step == 0 || a_step == 1) && (b_step == 0 || b_step == 1));
    if (!near) {
        run_apart(w, block);
        return;
    }
    fidk_binary tile = {.y = (float *)block->data[0], .a = (const float *)block->data[1], .b = (const float *)block->data[2],
                        .y_row = block->strides[0][0], .a_row = block->strides[1][0], .b_row = block->strides[2][0],
                        .a_step = a_step == 1, .b_step = b_step == 1, .rows = (size_t)block->sizes[0], .columns = (size_t)columns,
                        .scale = w->scale};
    w->tiles->binary[w->kind](&tile);
}

static fid_status run_tensors(fid_call *call, fidk_binary_kind kind, const fid_tensor *a, const fid_tensor *b, double scale) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    binary_work w = {fidk_tiles_for(call->cpu), kind, (float)scale};
    fidk_loops loops;
    fidk_loops_begin(&loops, out);
    fidk_loops_add(&loops, a, out);
    fidk_loops_add(&loops, b, out);
    fidk_loops_merge(&loops);
    fidk_loops_run(&loops, call->threads, (double)fid_tensor_numel(out) * 10, run_block, &w);
    return FID_OK;
}

static fid_status run_number(fid_call *call, fidk_binary_kind kind, double number, double scale) {
    float value = (float)number;
    fid_tensor scalar = {.data = &value, .dtype = FID_FLOAT32};
    return run_tensors(call, kind, fid_arg_tensor(call, 0), &scalar, scale);
}

static fid_status prepare_tensors(fid_call *call) {
    bool takes = fidk_is_f32(fid_arg_tensor(call, 0)) && fidk_is_f32(fid_arg_tensor(call, 1)) && fidk_is_f32(fid_out_tensor(call, 0));
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status prepare_number(fid_call *call) {
    return fidk_is_f32(fid_arg_tensor(call, 0)) && fidk_is_f32(fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}

/* op(self, other) and op(self, other, alpha) */
#define DEFINE_TENSORS(id, KIND, scale)                                                                                \
    static fid_status id##_run(fid_call *call) {                                                                       \
        return run_tensors(call, FIDK_BINARY_##KIND, fid_arg_tensor(call, 0), fid_arg_tensor(call, 1), scale);         \
    }                                                                                                                  \
    const fid_kernel fid_cpu_##id = {.prepare = prepare_tensors, .run = id##_run, .any_numbers = true};
#define DEFINE_NUMBER(id, KIND, scale)                                                                                 \
    static fid_status id##_run(fid_call *call) {                                                                       \
        return run_number(call, FIDK_BINARY_##KIND, fid_arg_double(call, 1), scale);                                   \
    }                                                                                                                  \
    const fid_kernel fid_cpu_##id = {.prepare = prepare_number, .run = id##_run, .any_numbers = true};

DEFINE_TENSORS(add_Tensor, ADD, fid_arg_double(call, 2))
DEFINE_TENSORS(sub_Tensor, SUB, fid_arg_double(call, 2))
DEFINE_TENSORS(mul_Tensor, MUL, 1)
DEFINE_TENSORS(div_Tensor, DIV, 1)
DEFINE_TENSORS(maximum, MAX, 1)
DEFINE_TENSORS(minimum, MIN, 1)
DEFINE_NUMBER(add_Scalar, ADD, fid_arg_double(call, 2))
DEFINE_NUMBER(sub_Scalar, SUB, fid_arg_double(call, 2))
DEFINE_NUMBER(mul_Scalar, MUL, 1)
DEFINE_NUMBER(div_Scalar, DIV, 1)

static fid_status rsub_Tensor_run(fid_call *call) {
    return run_tensors(call, FIDK_BINARY_SUB, fid_arg_tensor(call, 1), fid_arg_tensor(call, 0), fid_arg_double(call, 2));
}
const fid_kernel fid_cpu_rsub_Tensor = {.prepare = prepare_tensors, .run = rsub_Tensor_run, .any_numbers = true};

static fid_status rsub_Scalar_run(fid_call *call) {
    float value = (float)fid_arg_double(call, 1);
    fid_tensor scalar = {.data = &value, .dtype = FID_FLOAT32};
    return run_tensors(call, FIDK_BINARY_SUB, &scalar, fid_arg_tensor(call, 0), fid_arg_double(call, 2));
}
const fid_kernel fid_cpu_rsub_Scalar = {.prepare = prepare_number, .run = rsub_Scalar_run, .any_numbers = true};

/* ---- glu(self, dim): the first half times the sigmoid of the second ---- */

static fid_status glu_run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    binary_work w = {fidk_tiles_for(call->cpu), FIDK_BINARY_GATE, 1};
    fidk_loops loops;
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    float *second = (float *)self->data + out->sizes[dim] * self->strides[dim];
    fidk_loops_begin(&loops, out);
    fidk_loops_add_strides(&loops, out, self->data, sizeof(float), self->strides);
    fidk_loops_add_strides(&loops, out, second, sizeof(float), self->strides);
    fidk_loops_merge(&loops);
    fidk_loops_run(&loops, call->threads, (double)fid_tensor_numel(out) * 40, run_block, &w);
    return FID_OK;
}

const fid_kernel fid_cpu_glu = {.prepare = prepare_number, .run = glu_run, .any_numbers = true};
