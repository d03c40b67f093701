/* Blocks of an image as columns (im2col) and their sum back into an image (col2im). */
#include "kernels/ref/accumulate.h"
#include "ops/blocks.h"

/* Walks (batch, channel, row in block, column in block, block row, block column); gives the columns' offset and the image's, which
 * is -1 in the padding. */
typedef struct block_walk {
    fidk_walk walk;
    const fid_blocks *blocks;
    int64_t image_strides[4]; /* batch, channel, row, column */
    int64_t column_strides[3]; /* batch, row, column */
} block_walk;

static block_walk begin_blocks(const fid_blocks *blocks, const fid_tensor *image, const fid_tensor *columns) {
    block_walk bw = {.blocks = blocks};
    size_t skip = !blocks->batched;
    for (size_t i = skip; i < 4; i++) bw.image_strides[i] = image->strides[i - skip];
    for (size_t i = skip; i < 3; i++) bw.column_strides[i] = columns->strides[i - skip];
    const int64_t sizes[6] = {blocks->batch, blocks->channels, blocks->kernel[0], blocks->kernel[1], blocks->count[0], blocks->count[1]};
    fidk_walk_begin(&bw.walk, sizes, 6);
    return bw;
}

static int64_t column_offset(const block_walk *bw) {
    const int64_t *i = bw->walk.index;
    const fid_blocks *b = bw->blocks;
    int64_t row = (i[1] * b->kernel[0] + i[2]) * b->kernel[1] + i[3], column = i[4] * b->count[1] + i[5];
    return i[0] * bw->column_strides[0] + row * bw->column_strides[1] + column * bw->column_strides[2];
}

static int64_t image_offset(const block_walk *bw) {
    const int64_t *i = bw->walk.index;
    const fid_blocks *b = bw->blocks;
    int64_t row = i[4] * b->stride[0] - b->padding[0] + i[2] * b->dilation[0];
    int64_t column = i[5] * b->stride[1] - b->padding[1] + i[3] * b->dilation[1];
    if (row < 0 || row >= b->image[0] || column < 0 || column >= b->image[1]) return -1;
    return i[0] * bw->image_strides[0] + i[1] * bw->image_strides[1] + row * bw->image_strides[2] + column * bw->image_strides[3];
}

static fid_status run_im2col(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t size = fid_dtype_size((fid_dtype)self->dtype);
    fid_blocks blocks;
    FID_TRY(fid_im2col_of(call, &blocks));
    block_walk bw = begin_blocks(&blocks, self, out);
    FIDK_WALK(&bw.walk) {
        int64_t from = image_offset(&bw);
        uint8_t *to = (uint8_t *)out->data + (size_t)column_offset(&bw) * size;
        if (from < 0) memset(to, 0, size);
        else memcpy(to, (const uint8_t *)self->data + (size_t)from * size, size);
    }
    return FID_OK;
}

static fid_status run_col2im(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fid_blocks blocks;
    fidk_accumulator acc;
    FID_TRY(fid_col2im_of(call, &blocks));
    size_t bytes = fid_tensor_bytes(out);
    if (bytes) memset(out->data, 0, bytes);
    FID_TRY(fidk_accumulator_begin(call, FIDK_ADD, true, &acc));
    block_walk bw = begin_blocks(&blocks, out, self);
    FIDK_WALK(&bw.walk) {
        int64_t to = image_offset(&bw);
        if (to >= 0) fidk_accumulate(&acc, to, fidk_load((fid_dtype)self->dtype, self->data, column_offset(&bw)));
    }
    fidk_accumulator_end(&acc);
    return FID_OK;
}

static size_t col2im_bytes(const fid_call *call) { return fidk_accumulator_bytes(fid_out_tensor(call, 0)); }

const fid_kernel fid_ref_im2col = {.run = run_im2col};
const fid_kernel fid_ref_col2im = {.run = run_col2im, .scratch_bytes = col2im_bytes};
