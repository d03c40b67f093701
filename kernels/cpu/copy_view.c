/* Copying between tensors of any strides. */
#include "kernels/cpu/copy_view.h"

#include "kernels/cpu/operand.h"

typedef struct copy_work {
    const fidk_tiles *tiles;
} copy_work;

#define COPY_APART(type)                                                                                               \
    for (int64_t r = 0; r < b->sizes[0]; r++) {                                                                        \
        type *to = (type *)(void *)b->data[0] + r * b->strides[0][0];                                                  \
        const type *from = (const type *)(const void *)b->data[1] + r * b->strides[1][0];                              \
        for (int64_t i = 0; i < b->sizes[1]; i++) to[i * to_step] = from[i * from_step];                               \
    }

typedef struct sixteen_bytes { uint64_t half[2]; } sixteen_bytes;

static void copy_apart(const fidk_loops *b) {
    int64_t to_step = b->strides[0][1], from_step = b->strides[1][1];
    switch (b->element[0]) {
    case 1: COPY_APART(uint8_t) return;
    case 2: COPY_APART(uint16_t) return;
    case 4: COPY_APART(uint32_t) return;
    case 8: COPY_APART(uint64_t) return;
    default: COPY_APART(sixteen_bytes) return;
    }
}

static void copy_block(const void *context, const fidk_loops *b) {
    const copy_work *w = context;
    size_t element = b->element[0];
    if (b->strides[0][1] == 1 && b->strides[1][1] == 1) {
        for (int64_t r = 0; r < b->sizes[0]; r++)
            memcpy(b->data[0] + r * b->strides[0][0] * (int64_t)element, b->data[1] + r * b->strides[1][0] * (int64_t)element,
                   (size_t)b->sizes[1] * element);
    } else if (element == 4 && b->strides[0][1] == 1 && b->strides[1][0] == 1 && b->sizes[0] > 1) {
        fidk_turn turn = {.in = (const float *)b->data[1], .out = (float *)b->data[0], .in_stride = (size_t)b->strides[1][1],
                          .out_stride = (size_t)b->strides[0][0], .rows = (size_t)b->sizes[1], .columns = (size_t)b->sizes[0]};
        w->tiles->transpose(&turn);
    } else copy_apart(b);
}

static void swap_dimensions(fidk_loops *l, size_t a, size_t b) {
    int64_t size = l->sizes[a];
    l->sizes[a] = l->sizes[b], l->sizes[b] = size;
    for (size_t n = 0; n < l->operands; n++) {
        int64_t stride = l->strides[n][a];
        l->strides[n][a] = l->strides[n][b], l->strides[n][b] = stride;
    }
}

void fidk_copy_view(const fid_call *call, const fid_tensor *out, const void *in, const int64_t *strides) {
    copy_work w = {fidk_tiles_for(call->cpu)};
    fidk_loops loops;
    size_t element = fid_dtype_size((fid_dtype)out->dtype);
    fidk_loops_begin(&loops, out);
    fidk_loops_add_strides(&loops, out, (void *)(uintptr_t)in, element, strides);
    fidk_loops_merge(&loops);
    /* The input's innermost dimension next to the output's: blocks are then turned in squares. */
    for (size_t d = 0; d + 2 < loops.rank && loops.strides[1][loops.rank - 1] != 1; d++)
        if (loops.strides[1][d] == 1) swap_dimensions(&loops, d, loops.rank - 2);
    fidk_loops_run(&loops, call->threads, (double)fid_tensor_bytes(out) * 2, copy_block, &w);
}

void fidk_see(const fid_tensor *t, fidk_seen *out) {
    *out = (fidk_seen){.tensor = *t};
    memcpy(out->sizes, t->sizes, t->rank * sizeof *t->sizes);
    memcpy(out->strides, t->strides, t->rank * sizeof *t->strides);
    memcpy(out->order, t->dim_order, t->rank);
    out->tensor.sizes = out->sizes, out->tensor.strides = out->strides, out->tensor.dim_order = out->order;
}

void fidk_drop_dimension(fidk_seen *s, size_t dim) {
    size_t rank = --s->tensor.rank, kept = 0;
    for (size_t i = 0; i <= rank; i++)
        if (s->order[i] != dim) s->order[kept++] = (uint8_t)(s->order[i] - (s->order[i] > dim));
    memmove(s->sizes + dim, s->sizes + dim + 1, (rank - dim) * sizeof *s->sizes);
    memmove(s->strides + dim, s->strides + dim + 1, (rank - dim) * sizeof *s->strides);
}
