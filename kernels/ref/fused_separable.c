/* fid::separable_convolution: the three convolutions that it stands for, by the reference of fid::convolution. */
#include "kernels/ref/dense.h"
#include "ops/fused.h"

typedef struct image {
    fid_tensor tensor;
    int64_t sizes[4], strides[4];
    uint8_t dim_order[4];
} image;

static fid_status make_image(fid_call *call, const int64_t *sizes, image *out) {
    static const uint8_t last[4] = {0, 2, 3, 1};
    size_t count;
    memcpy(out->sizes, sizes, sizeof out->sizes);
    memcpy(out->dim_order, last, sizeof last);
    out->tensor = (fid_tensor){.sizes = out->sizes, .strides = out->strides, .dim_order = out->dim_order, .rank = 4, .dtype = FID_FLOAT32};
    fid_tensor_update_strides(&out->tensor);
    if (!fid_mul_sizes(sizes, 4, &count)) return FID_OUT_OF_MEMORY;
    FIDK_NEED(out->tensor.data = fidk_doubles(call, count));
    return FID_OK;
}

static fid_value optional(const fid_tensor *tensor) {
    return tensor ? fid_tensor_value((fid_tensor *)(uintptr_t)tensor) : fid_none_value();
}

static fid_value list(const int64_t *items, size_t count) { return (fid_value){.as.ints = {items, count}, .tag = FID_TAG_INT_LIST}; }

typedef struct part {
    const fid_tensor *in, *weight, *bias, *add;
    int64_t out_channels, groups;
    const fid_value *geometry; /* kernel, stride, padding, dilation */
    fid_value *const *activation; /* three arguments of the call */
    fid_tensor *out;
} part;

static fid_status convolve(const fid_call *call, const part *p) {
    extern const fid_kernel fid_ref_fused_convolution;
    fid_value own[] = {optional(p->in), optional(p->weight), optional(p->bias), optional(p->add), fid_int_value(p->out_channels),
                       p->geometry[0], p->geometry[1], p->geometry[2], p->geometry[3], fid_int_value(p->groups),
                       *p->activation[0], *p->activation[1], *p->activation[2], fid_none_value(), optional(p->out)};
    fid_value *args[sizeof own / sizeof *own];
    fid_call inner = *call;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) args[i] = &own[i];
    inner.args = args, inner.arg_count = sizeof own / sizeof *own, inner.output_index = inner.arg_count - 1;
    return fid_ref_fused_convolution.run(&inner);
}

static fid_status run(fid_call *call) {
    static const int64_t one[2] = {1, 1}, zero[4] = {0, 0, 0, 0};
    fid_separable s;
    image expanded, hidden;
    FID_TRY(fid_separable_of(call, &s));
    const fid_tensor *self = s.depthwise.input;
    const fid_window *w = &s.depthwise.window;
    int64_t channels = s.depthwise.groups;
    fid_value pointwise[] = {list(one, 2), list(one, 2), list(zero, 4), list(one, 2)};
    fid_value depthwise[] = {*call->args[9], *call->args[10], *call->args[11], *call->args[12]};
    if (s.expand_weight) {
        FID_TRY(make_image(call, (int64_t[]){s.depthwise.batch, channels, w->in[1], w->in[2]}, &expanded));
        FID_TRY(convolve(call, &(part){self, s.expand_weight, s.expand_bias, NULL, channels, 1, pointwise, call->args + 4, &expanded.tensor}));
        self = &expanded.tensor;
    }
    FID_TRY(make_image(call, (int64_t[]){s.depthwise.batch, channels, w->out[1], w->out[2]}, &hidden));
    FID_TRY(convolve(call, &(part){self, s.depthwise.weight, s.depthwise.bias, NULL, channels, channels, depthwise, call->args + 13, &hidden.tensor}));
    return convolve(call, &(part){&hidden.tensor, s.project_weight, s.project_bias, s.add, s.out_channels, 1, pointwise, call->args + 20,
                                  fid_out_tensor(call, 0)});
}

const fid_kernel fid_ref_fused_separable = {.run = run};
