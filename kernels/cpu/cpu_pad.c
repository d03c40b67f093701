/* Padding by mirrored content (reflection) and by the edge (replication), of any dtype: runs of memory where the input lies behind, single
 * elements at the ends. Dimensions go in memory order, so that channels-last images are moved a pixel at a time. */
#include "kernels/cpu/operand.h"
#include "ops/padding.h"

typedef struct pad_work {
    const fid_tensor *self, *out;
    fid_padding padding;
    size_t element; /* bytes */
    bool reflect;
    size_t shared;  /* the level whose positions tasks share; those above it have one */
    size_t tasks;
} pad_work;

static size_t dimension(const pad_work *w, size_t level) { return w->out->dim_order[level]; }

/* Bytes from one position to the next in dimension `dim`. */
static int64_t step(const pad_work *w, const fid_tensor *t, size_t dim) { return t->strides[dim] * (int64_t)w->element; }

static int64_t source(const pad_work *w, size_t dim, int64_t at) {
    return fid_padding_source(at - w->padding.before[dim], w->self->sizes[dim], w->reflect);
}

/* The innermost dimension: out holds input positions [first, last) as they are. */
static void pad_run(const pad_work *w, size_t dim, const uint8_t *in, uint8_t *out) {
    int64_t size = w->out->sizes[dim], before = w->padding.before[dim], element = (int64_t)w->element;
    int64_t first = before < 0 ? 0 : before < size ? before : size, last = before + w->self->sizes[dim];
    if (last > size) last = size;
    if (last < first) last = first;
    for (int64_t i = 0; i < first; i++) memcpy(out + i * element, in + source(w, dim, i) * element, w->element);
    if (first < last) memcpy(out + first * element, in + (first - before) * element, (size_t)(last - first) * w->element);
    for (int64_t i = last; i < size; i++) memcpy(out + i * element, in + source(w, dim, i) * element, w->element);
}

/* Positions [begin, end) of the dimension at `level`, and all below. */
static void pad_level(const pad_work *w, size_t level, int64_t begin, int64_t end, const uint8_t *in, uint8_t *out) {
    size_t dim = dimension(w, level);
    if (level + 1 == w->out->rank) {
        pad_run(w, dim, in, out);
        return;
    }
    int64_t below = w->out->sizes[dimension(w, level + 1)];
    for (int64_t i = begin; i < end; i++)
        pad_level(w, level + 1, 0, below, in + source(w, dim, i) * step(w, w->self, dim), out + i * step(w, w->out, dim));
}

static void run_task(void *context, size_t index) {
    const pad_work *w = context;
    const uint8_t *in = w->self->data;
    size_t size = (size_t)w->out->sizes[dimension(w, w->shared)];
    for (size_t level = 0; level < w->shared; level++) in += source(w, dimension(w, level), 0) * step(w, w->self, dimension(w, level));
    int64_t begin = (int64_t)fidk_part_begin(size, w->tasks, index), end = (int64_t)fidk_part_begin(size, w->tasks, index + 1);
    pad_level(w, w->shared, begin, end, in, w->out->data);
}

/* Strides as the dim order has them, the innermost 1; both tensors in one order. */
static fid_status prepare(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    bool takes = self->dtype == out->dtype && self->rank == out->rank && out->rank > 0 && memcmp(self->dim_order, out->dim_order, out->rank) == 0;
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run(fid_call *call, bool reflect) {
    pad_work w = {.self = fid_arg_tensor(call, 0), .out = fid_out_tensor(call, 0), .reflect = reflect};
    FID_TRY(fid_padding_of(call, &w.padding));
    if (fid_tensor_numel(w.out) == 0) return FID_OK;
    w.element = fid_dtype_size((fid_dtype)w.out->dtype);
    while (w.shared + 2 < w.out->rank && w.out->sizes[dimension(&w, w.shared)] == 1) w.shared++;
    size_t positions = (size_t)w.out->sizes[dimension(&w, w.shared)];
    w.tasks = w.shared + 1 == w.out->rank ? 1 : fidk_worthwhile_threads(call->threads, (double)fid_tensor_numel(w.out));
    if (w.tasks > positions) w.tasks = positions;
    fidk_parallel(call->threads, run_task, &w, w.tasks);
    return FID_OK;
}

static fid_status run_reflection(fid_call *call) { return run(call, true); }
static fid_status run_replication(fid_call *call) { return run(call, false); }

#define DEFINE_KERNELS(dims)                                                                                           \
    const fid_kernel fid_cpu_reflection_pad##dims = {.prepare = prepare, .run = run_reflection, .any_numbers = true};   \
    const fid_kernel fid_cpu_replication_pad##dims = {.prepare = prepare, .run = run_replication, .any_numbers = true};

DEFINE_KERNELS(1d)
DEFINE_KERNELS(2d)
DEFINE_KERNELS(3d)
