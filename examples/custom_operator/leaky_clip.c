/* An operator of our own: mine::leaky_clip(x, low, high, slope) clips to [low, high], with a slope outside.
 *
 *   cc -shared -fPIC -O2 leaky_clip.c $(pkg-config --cflags fidibus) -o leaky_clip.so
 *   fidibus compile model.pt2 -o model.pte --schemas operators.txt
 *   fidibus run model.pte --kernels ./leaky_clip.so --input x.npy
 *
 * A program of your own, or one without an operating system, puts `table` into fid_environment.tables instead. */
#include <fidibus.h>

static fid_status leaky_clip(fid_call *call) {
    const fid_tensor *x = fid_arg_tensor(call, 0);
    fid_tensor *y = fid_out_tensor(call, 0);
    float low = (float)fid_arg_double(call, 1), high = (float)fid_arg_double(call, 2), slope = (float)fid_arg_double(call, 3);
    const float *from = x->data;
    float *to = y->data;
    size_t count = 1;
    for (size_t i = 0; i < x->rank; i++) count *= (size_t)x->sizes[i];
    for (size_t i = 0; i < count; i++) {
        float clipped = from[i] < low ? low : from[i] > high ? high : from[i];
        to[i] = clipped + slope * (from[i] - clipped);
    }
    return FID_OK;
}

/* The output is like x. Asked at load, and before every run whose sizes are others than the last. */
static fid_status like_x(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *x = fid_arg_tensor(call, 0);
    outs[0].dtype = x->dtype;
    outs[0].rank = x->rank;
    for (size_t i = 0; i < x->rank; i++) {
        outs[0].sizes[i] = x->sizes[i];
        outs[0].dim_order[i] = x->dim_order[i];
    }
    return x->dtype == FID_FLOAT32 ? FID_OK : FID_NOT_SUPPORTED;
}

static const fid_kernel kernel = {.run = leaky_clip};
static const fid_op ops[] = {{.name = "mine::leaky_clip", .overload = "", .out = "out", .kind = FID_OP_POINTWISE, .shape = like_x, .reference = &kernel,
                              .schema = "(Tensor x, float low, float high, float slope=0.01) -> Tensor"}};
static const fid_op_table table = {ops, 1};

extern const fid_plugin fid_plugin_export;
const fid_plugin fid_plugin_export = {FID_PLUGIN_VERSION, &table};
