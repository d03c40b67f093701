/* Turning dense matrices, and so images between logical and channels-last order. */
#include "kernels/cpu/gemm.h"

typedef struct turn_work {
    const fidk_tiles *tiles;
    const float *in;
    float *out;
    size_t batch, rows, columns, parts;
} turn_work;

/* A task takes a part of every batch item's columns. */
static void turn_part(void *context, size_t index) {
    const turn_work *w = context;
    size_t begin = fidk_part_begin(w->columns, w->parts, index), end = fidk_part_begin(w->columns, w->parts, index + 1);
    for (size_t b = 0; b < w->batch; b++) {
        fidk_turn turn = {.in = w->in + b * w->rows * w->columns + begin, .out = w->out + b * w->rows * w->columns + begin * w->rows,
                          .in_stride = w->columns, .out_stride = w->rows, .rows = w->rows, .columns = end - begin};
        w->tiles->transpose(&turn);
    }
}

void fidk_transpose(const fidk_tiles *tiles, const fid_threads *threads, const float *in, size_t batch, size_t rows, size_t columns,
                    float *out) {
    turn_work w = {tiles, in, out, batch, rows, columns, fidk_worthwhile_threads(threads, (double)(batch * rows * columns))};
    fidk_parallel(threads, turn_part, &w, w.parts);
}
