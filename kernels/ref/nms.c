/* Non-maximum suppression (torchvision::nms): of boxes that overlap by more than a share of their union only the best one stays. */
#include "kernels/ref/dense.h"
#include "kernels/ref/order.h"

typedef struct boxes {
    const double *corners; /* x1, y1, x2, y2 of each */
    bool wide;             /* computed in double; else every step is rounded to float32, so that ties at the threshold fall as PyTorch's do */
    double threshold;
} boxes;

static double narrow(const boxes *b, double x) { return b->wide ? x : (double)(float)x; }

static double area(const boxes *b, const double *box) { return narrow(b, narrow(b, box[2] - box[0]) * narrow(b, box[3] - box[1])); }

static bool overlap(const boxes *b, int64_t i, int64_t j) {
    const double *p = b->corners + 4 * i, *q = b->corners + 4 * j;
    double width = fmax(0, narrow(b, fmin(p[2], q[2]) - fmax(p[0], q[0])));
    double height = fmax(0, narrow(b, fmin(p[3], q[3]) - fmax(p[1], q[1])));
    double both = narrow(b, width * height), sum = narrow(b, area(b, p) + area(b, q));
    return narrow(b, both / narrow(b, sum - both)) > b->threshold;
}

/* The indices that stay, at the front of `ranked`, best first; returns their number. */
static int64_t keep_best(const boxes *b, fidk_ranked *ranked, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool stays = true;
        for (size_t k = 0; k < kept && stays; k++) stays = !overlap(b, ranked[k].index, ranked[i].index);
        if (stays) ranked[kept++] = ranked[i];
    }
    return (int64_t)kept;
}

static fid_status run_nms(fid_call *call) {
    const fid_tensor *dets = fid_arg_tensor(call, 0), *scores = fid_arg_tensor(call, 1);
    fid_tensor *out = fid_out_tensor(call, 0);
    size_t count = (size_t)dets->sizes[0];
    boxes b = {.wide = dets->dtype == FID_FLOAT64, .threshold = fid_arg_double(call, 2)};
    fidk_ranked *ranked = fid_call_scratch(call, 2 * count * sizeof *ranked + 1);
    FIDK_NEED(ranked);
    FIDK_NEED(b.corners = fidk_dense_load(call, dets));
    for (size_t i = 0; i < count; i++) {
        int64_t place = (int64_t)i;
        ranked[i] = (fidk_ranked){fidk_order_key((fid_dtype)scores->dtype, scores->data, place * scores->strides[0]), place};
    }
    fidk_sort_ranked(ranked, ranked + count, count, true);
    int64_t kept = keep_best(&b, ranked, count);
    FID_TRY(fid_tensor_resize(call->sink, out, &kept, 1));
    for (int64_t k = 0; k < kept; k++) fidk_set_int(out, k * out->strides[0], ranked[k].index);
    return FID_OK;
}

const fid_kernel fid_ref_nms = {.run = run_nms};
