/* Table look-ups: embedding copies rows of any dtype; _embedding_bag sums, averages or takes the largest of rows. */
#include "kernels/ref/dense.h"

static fid_status bad_index(const fid_call *call, int64_t index, int64_t rows) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside of a table of %lld rows", call->name,
                    (long long)index, (long long)rows);
}

/* One row of the table into the output, element by element when either is strided. */
static void copy_row(const fid_tensor *weight, int64_t row, const fid_tensor *out, int64_t out_at, size_t size) {
    int64_t from_stride = weight->strides[1], to_stride = out->strides[out->rank - 1];
    const uint8_t *from = (const uint8_t *)weight->data + row * weight->strides[0] * (int64_t)size;
    uint8_t *to = (uint8_t *)out->data + out_at * (int64_t)size;
    size_t width = (size_t)weight->sizes[1];
    if (from_stride == 1 && to_stride == 1) {
        memcpy(to, from, width * size);
        return;
    }
    for (size_t j = 0; j < width; j++)
        memcpy(to + (int64_t)j * to_stride * (int64_t)size, from + (int64_t)j * from_stride * (int64_t)size, size);
}

static fid_status run_embedding(fid_call *call) {
    const fid_tensor *weight = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    int64_t at[FID_MAX_RANK] = {0};
    if (fid_tensor_numel(indices) == 0) return FID_OK;
    do {
        int64_t row;
        fidk_load_row_int(indices, fidk_strided(at, indices->strides, indices->rank), 1, 1, &row);
        if (row < 0 || row >= weight->sizes[0]) return bad_index(call, row, weight->sizes[0]);
        if (weight->sizes[1])
            copy_row(weight, row, out, fidk_strided(at, out->strides, indices->rank), fid_dtype_size((fid_dtype)weight->dtype));
    } while (fidk_next_index(at, indices->sizes, indices->rank));
    return FID_OK;
}

const fid_kernel fid_ref_embedding = {.run = run_embedding};

/* ---- Bags ---- */

enum { BAG_SUM = 0, BAG_MEAN = 1, BAG_MAX = 2 };

typedef struct bags {
    const fid_tensor *weight, *out;
    int64_t count, index_count, mode, padding_index;
    int64_t *indices, *offsets;          /* (index_count), (count + 1): ends with index_count */
    int64_t *bag_of, *sizes, *largest;   /* (index_count), (count), (count, width): for outputs 1 to 3 */
    double *scales, *row, *sum;          /* (index_count), (width), (width) */
} bags;

/* Offsets and indices checked: offsets rise from 0 to at most the number of indices. */
static fid_status load_bags(fid_call *call, bags *b) {
    const fid_tensor *indices = fid_arg_tensor(call, 1), *offsets = fid_arg_tensor(call, 2);
    b->index_count = indices->sizes[0], b->count = b->out->sizes[0];
    FIDK_NEED(b->indices = fidk_ints(call, (size_t)b->index_count));
    FIDK_NEED(b->offsets = fidk_ints(call, (size_t)offsets->sizes[0] + 1));
    fidk_load_row_int(indices, 0, indices->strides[0], (size_t)b->index_count, b->indices);
    fidk_load_row_int(offsets, 0, offsets->strides[0], (size_t)offsets->sizes[0], b->offsets);
    if (offsets->sizes[0] == b->count) b->offsets[b->count] = b->index_count;
    for (int64_t i = 0; i < b->index_count; i++)
        if (b->indices[i] < 0 || b->indices[i] >= b->weight->sizes[0]) return bad_index(call, b->indices[i], b->weight->sizes[0]);
    for (int64_t i = 0; i <= b->count; i++) {
        if (b->offsets[i] < (i ? b->offsets[i - 1] : 0) || b->offsets[i] > b->index_count || (i == 0 && b->count && b->offsets[0] != 0))
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: offset %lld is %lld; offsets start at 0, do not fall, and end by %lld",
                            call->name, (long long)i, (long long)b->offsets[i], (long long)b->index_count);
    }
    return FID_OK;
}

/* Adds row k of the bag to the sum, or lets it raise the largest values so far. */
static void add_row(bags *b, int64_t bag, int64_t k) {
    const fid_tensor *weight = b->weight;
    size_t width = (size_t)weight->sizes[1];
    fidk_load_row(weight, b->indices[k] * weight->strides[0], weight->strides[1], width, b->row);
    for (size_t j = 0; j < width; j++) {
        if (b->mode != BAG_MAX) {
            b->sum[j] += b->row[j] * b->scales[k];
        } else if (b->sizes[bag] == 0 || b->row[j] > b->sum[j]) {
            b->sum[j] = b->row[j];
            b->largest[(size_t)bag * width + j] = b->indices[k];
        }
    }
    b->sizes[bag]++;
}

static void fill_bag(bags *b, int64_t bag) {
    size_t width = (size_t)b->weight->sizes[1];
    b->sizes[bag] = 0;
    for (size_t j = 0; j < width; j++) b->sum[j] = 0, b->largest[(size_t)bag * width + j] = 0;
    for (int64_t k = b->offsets[bag]; k < b->offsets[bag + 1]; k++) {
        b->bag_of[k] = bag;
        if (b->indices[k] != b->padding_index) add_row(b, bag, k);
    }
    for (size_t j = 0; b->mode == BAG_MEAN && b->sizes[bag] && j < width; j++) b->sum[j] /= (double)b->sizes[bag];
    fidk_store_row(b->out, bag * b->out->strides[0], b->out->strides[1], width, b->sum);
}

/* The bookkeeping as PyTorch leaves it: a sum needs none for its backward pass and gets zeros. */
static void store_bookkeeping(fid_call *call, const bags *b) {
    const fid_tensor *bag_of = fid_out_tensor(call, 1), *sizes = fid_out_tensor(call, 2), *largest = fid_out_tensor(call, 3);
    if (fid_tensor_numel(bag_of)) fidk_dense_store_int(bag_of, b->bag_of);
    for (int64_t i = 0; b->mode == BAG_SUM && i < b->count; i++) b->sizes[i] = 0;
    fidk_dense_store_int(sizes, b->sizes);
    fidk_dense_store_int(largest, b->mode == BAG_MAX ? b->largest : b->sizes);
}

static fid_status fill_bags(fid_call *call, int64_t padding_index) {
    bags b = {.weight = fid_arg_tensor(call, 0), .out = fid_out_tensor(call, 0), .mode = fid_arg_int(call, 4)};
    size_t width = (size_t)b.weight->sizes[1];
    b.padding_index = padding_index;
    FID_TRY(load_bags(call, &b));
    FIDK_NEED(b.bag_of = fidk_ints(call, (size_t)b.index_count));
    FIDK_NEED(b.sizes = fidk_ints(call, (size_t)b.count + 1));
    FIDK_NEED(b.largest = fidk_ints(call, fidk_product(b.out->sizes, 2)));
    FIDK_NEED(b.scales = fidk_dense_load_or(call, fid_arg_tensor(call, 6), (size_t)b.index_count, 1));
    FIDK_NEED(b.row = fidk_doubles(call, width));
    FIDK_NEED(b.sum = fidk_doubles(call, width));
    b.sizes[b.count] = 0;
    for (int64_t i = 0; i < b.index_count; i++) b.bag_of[i] = 0;
    for (int64_t bag = 0; bag < b.count; bag++) fill_bag(&b, bag);
    store_bookkeeping(call, &b);
    return FID_OK;
}

/* The inner operator: a negative padding index means none. */
static fid_status run_inner_embedding_bag(fid_call *call) { return fill_bags(call, fid_arg_int(call, 8)); }

/* The outer one, whose padding index may be absent, or negative to count from the end of the table. */
static fid_status run_embedding_bag(fid_call *call) {
    bool given = call->output_index > 8 && !fid_arg_is_none(call, 8);
    int64_t index = given ? fid_arg_int(call, 8) : -1, rows = fid_arg_tensor(call, 0)->sizes[0];
    if (given && (index < -rows || index >= rows)) return bad_index(call, index, rows);
    return fill_bags(call, given && index < 0 ? index + rows : index);
}

const fid_kernel fid_ref__embedding_bag = {.run = run_inner_embedding_bag};
const fid_kernel fid_ref__embedding_bag_forward_only = {.run = run_inner_embedding_bag};
const fid_kernel fid_ref_embedding_bag = {.run = run_embedding_bag};
const fid_kernel fid_ref_embedding_bag_padding_idx = {.run = run_embedding_bag};
