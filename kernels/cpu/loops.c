/* Loop nests over one output and its operands. */
#include "kernels/cpu/loops.h"

void fidk_loops_begin(fidk_loops *loops, const fid_tensor *out) {
    loops->rank = out->rank;
    loops->operands = 0;
    for (size_t i = 0; i < out->rank; i++) loops->sizes[i] = out->sizes[out->dim_order[i]];
    fidk_loops_add_strides(loops, out, out->data, fid_dtype_size((fid_dtype)out->dtype), out->strides);
}

void fidk_loops_add_strides(fidk_loops *loops, const fid_tensor *out, void *data, size_t element, const int64_t *strides) {
    size_t n = loops->operands++;
    loops->data[n] = data;
    loops->element[n] = element;
    for (size_t i = 0; i < out->rank; i++) loops->strides[n][i] = strides[out->dim_order[i]];
}

void fidk_loops_add(fidk_loops *loops, const fid_tensor *tensor, const fid_tensor *out) {
    int64_t strides[FID_MAX_RANK];
    for (size_t i = 0; i < out->rank; i++) {
        size_t back = out->rank - i; /* from the last dimension */
        bool moves = back <= tensor->rank && tensor->sizes[tensor->rank - back] != 1;
        strides[i] = moves ? tensor->strides[tensor->rank - back] : 0;
    }
    fidk_loops_add_strides(loops, out, tensor->data, fid_dtype_size((fid_dtype)tensor->dtype), strides);
}

/* True if dimension `outer` continues `inner` for every operand. */
static bool continues(const fidk_loops *loops, size_t outer, size_t inner) {
    for (size_t n = 0; n < loops->operands; n++)
        if (loops->strides[n][outer] != loops->strides[n][inner] * loops->sizes[inner]) return false;
    return true;
}

static void put_dimension(fidk_loops *loops, size_t to, size_t from) {
    loops->sizes[to] = loops->sizes[from];
    for (size_t n = 0; n < loops->operands; n++) loops->strides[n][to] = loops->strides[n][from];
}

/* Puts dimensions of size one in front. */
static void pad_rank(fidk_loops *loops) {
    while (loops->rank < 2) {
        for (size_t i = loops->rank; i > 0; i--) put_dimension(loops, i, i - 1);
        loops->sizes[0] = 1;
        for (size_t n = 0; n < loops->operands; n++) loops->strides[n][0] = loops->rank ? 0 : 1;
        loops->rank++;
    }
}

void fidk_loops_merge(fidk_loops *loops) {
    size_t kept = 0;
    for (size_t i = 0; i < loops->rank; i++) {
        if (loops->sizes[i] == 1) continue;
        put_dimension(loops, kept, i);
        if (kept && continues(loops, kept - 1, kept)) {
            int64_t outer = loops->sizes[kept - 1];
            put_dimension(loops, kept - 1, kept);
            loops->sizes[kept - 1] *= outer;
        } else kept++;
    }
    loops->rank = kept;
    pad_rank(loops);
}

typedef struct loops_work {
    const fidk_loops *loops;
    fidk_block block;
    const void *context;
    size_t dimension, parts; /* that tasks share */
} loops_work;

static void move_by(fidk_loops *loops, size_t dimension, int64_t steps) {
    for (size_t n = 0; n < loops->operands; n++)
        if (loops->data[n]) loops->data[n] += steps * loops->strides[n][dimension] * (int64_t)loops->element[n];
}

/* All pieces of dimensions [0, rank - 2). */
static void run_pieces(const fidk_loops *loops, fidk_block block, const void *context) {
    int64_t index[FID_MAX_RANK + 2] = {0};
    fidk_loops piece = *loops;
    size_t outer = loops->rank - 2;
    for (;;) {
        fidk_loops two = piece;
        two.rank = 2;
        for (size_t i = 0; i < 2; i++) put_dimension(&two, i, outer + i);
        block(context, &two);
        size_t d = outer;
        while (d > 0 && ++index[d - 1] == loops->sizes[d - 1]) {
            index[d - 1] = 0;
            move_by(&piece, d - 1, 1 - loops->sizes[d - 1]);
            d--;
        }
        if (d == 0) return;
        move_by(&piece, d - 1, 1);
    }
}

static void run_part(void *context, size_t index) {
    const loops_work *w = context;
    fidk_loops part = *w->loops;
    size_t size = (size_t)part.sizes[w->dimension];
    size_t begin = fidk_part_begin(size, w->parts, index), end = fidk_part_begin(size, w->parts, index + 1);
    part.sizes[w->dimension] = (int64_t)(end - begin);
    part.task = index;
    move_by(&part, w->dimension, (int64_t)begin);
    if (begin < end) run_pieces(&part, w->block, w->context);
}

void fidk_loops_run(const fidk_loops *loops, const fid_threads *threads, double operations, fidk_block block, const void *context) {
    loops_work w = {loops, block, context, 0, fidk_worthwhile_threads(threads, operations)};
    for (size_t i = 0; i < loops->rank; i++)
        if (loops->sizes[i] == 0) return;
    for (size_t i = 0; i < loops->rank; i++)
        if (loops->sizes[w.dimension] < (int64_t)w.parts && loops->sizes[i] > loops->sizes[w.dimension]) w.dimension = i;
    if ((int64_t)w.parts > loops->sizes[w.dimension]) w.parts = (size_t)loops->sizes[w.dimension];
    fidk_parallel(threads, run_part, &w, w.parts);
}
