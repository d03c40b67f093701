/* Box steps and the one strided copy behind every operator that moves elements. */
#include "kernels/ref/box.h"

fidk_box fidk_box_of(const fid_tensor *tensor) {
    fidk_box box = {.data = tensor->data, .rank = tensor->rank, .dtype = (fid_dtype)tensor->dtype};
    for (size_t i = 0; i < tensor->rank; i++) {
        box.sizes[i] = tensor->sizes[i];
        box.strides[i] = tensor->strides[i];
    }
    return box;
}

/* An empty tensor may have no memory: its box is never read, but even its address must not be computed. */
static void advance(fidk_box *box, int64_t elements) {
    if (box->data) box->data += elements * (int64_t)fid_dtype_size(box->dtype);
}

void fidk_box_narrow(fidk_box *box, size_t dim, int64_t start, int64_t size, int64_t step) {
    if (size > 0) advance(box, start * box->strides[dim]);
    box->sizes[dim] = size;
    box->strides[dim] *= step;
}

void fidk_box_select(fidk_box *box, size_t dim, int64_t index) {
    advance(box, index * box->strides[dim]);
    box->rank--;
    for (size_t i = dim; i < box->rank; i++) {
        box->sizes[i] = box->sizes[i + 1];
        box->strides[i] = box->strides[i + 1];
    }
}

void fidk_box_swap(fidk_box *box, size_t a, size_t b) {
    int64_t size = box->sizes[a], stride = box->strides[a];
    box->sizes[a] = box->sizes[b];
    box->strides[a] = box->strides[b];
    box->sizes[b] = size;
    box->strides[b] = stride;
}

void fidk_box_insert(fidk_box *box, size_t dim, int64_t size, int64_t stride) {
    for (size_t i = box->rank; i > dim; i--) {
        box->sizes[i] = box->sizes[i - 1];
        box->strides[i] = box->strides[i - 1];
    }
    box->sizes[dim] = size;
    box->strides[dim] = stride;
    box->rank++;
}

void fidk_box_split(fidk_box *box, size_t dim, int64_t inner) {
    int64_t size = box->sizes[dim], stride = box->strides[dim];
    fidk_box_insert(box, dim, inner ? size / inner : 0, stride * inner);
    box->sizes[dim + 1] = inner;
}

void fidk_box_move(fidk_box *box, size_t from, size_t to) {
    for (; from < to; from++) fidk_box_swap(box, from, from + 1);
    for (; from > to; from--) fidk_box_swap(box, from, from - 1);
}

void fidk_box_expand(fidk_box *box, const int64_t *sizes, size_t rank) {
    while (box->rank < rank) fidk_box_insert(box, 0, 1, 0);
    for (size_t i = 0; i < rank; i++) {
        if (box->sizes[i] == 1) box->strides[i] = 0;
        box->sizes[i] = sizes[i];
    }
}

void fidk_box_diagonal(fidk_box *box, const fid_diagonal *diagonal) {
    size_t row = diagonal->row_dim, column = diagonal->column_dim;
    int64_t stride = box->strides[row] + box->strides[column];
    if (diagonal->count > 0) advance(box, diagonal->row * box->strides[row] + diagonal->column * box->strides[column]);
    fidk_box_select(box, row > column ? row : column, 0);
    fidk_box_select(box, row > column ? column : row, 0);
    fidk_box_insert(box, box->rank, diagonal->count, stride);
}

/* ---- Walking ---- */

/* A position in a box, in elements from its start. */
typedef struct position {
    const fidk_box *box;
    int64_t index[FIDK_BOX_RANK];
    int64_t at;
} position;

/* Steps the dimensions before the last `inner` ones. */
static void step(position *p, size_t inner) {
    for (size_t i = p->box->rank - inner; i-- > 0;) {
        p->at += p->box->strides[i];
        if (++p->index[i] < p->box->sizes[i]) return;
        p->at -= p->index[i] * p->box->strides[i];
        p->index[i] = 0;
    }
}

static size_t count_of(const fidk_box *box) {
    size_t count = 1;
    for (size_t i = 0; i < box->rank; i++) count *= (size_t)box->sizes[i];
    return count;
}

static void copy_element(const fidk_box *to, int64_t to_at, const fidk_box *from, int64_t from_at, size_t size) {
    if (to->dtype != from->dtype) {
        fidk_element element = fidk_load(from->dtype, from->data, from_at);
        fidk_store(to->dtype, to->data, to_at, fidk_convert(element, from->dtype, to->dtype));
        return;
    }
    memcpy(to->data + to_at * (int64_t)size, from->data + from_at * (int64_t)size, size);
}

/* One run along the last dimension. */
static void copy_run(const fidk_box *to, int64_t to_at, const fidk_box *from, int64_t from_at, size_t size) {
    size_t last = to->rank - 1;
    int64_t count = to->sizes[last];
    if (to->strides[last] == 1 && from->strides[last] == 1 && to->dtype == from->dtype) {
        memcpy(to->data + to_at * (int64_t)size, from->data + from_at * (int64_t)size, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        copy_element(to, to_at + i * to->strides[last], from, from_at + i * from->strides[last], size);
    }
}

void fidk_box_copy(const fidk_box *to, const fidk_box *from) {
    size_t count = count_of(to), size = fid_dtype_size(to->dtype);
    if (count == 0) return;
    if (to->rank == 0) {
        copy_element(to, 0, from, 0, size);
        return;
    }
    position out = {.box = to}, in = {.box = from};
    for (size_t runs = count / (size_t)to->sizes[to->rank - 1]; runs > 0; runs--) {
        copy_run(to, out.at, from, in.at, size);
        step(&out, 1);
        step(&in, 1);
    }
}

static bool is_row_major(const fidk_box *box) {
    int64_t stride = 1;
    for (size_t i = box->rank; i-- > 0;) {
        if (box->sizes[i] > 1 && box->strides[i] != stride) return false;
        stride *= box->sizes[i];
    }
    return true;
}

void fidk_box_reshape(const fidk_box *to, const fidk_box *from) {
    size_t count = count_of(to), size = fid_dtype_size(to->dtype);
    if (count == 0) return;
    if (to->dtype == from->dtype && is_row_major(to) && is_row_major(from)) {
        memcpy(to->data, from->data, count * size);
        return;
    }
    position out = {.box = to}, in = {.box = from};
    for (; count > 0; count--) {
        copy_element(to, out.at, from, in.at, size);
        step(&out, 0);
        step(&in, 0);
    }
}

void fidk_box_fill(const fidk_box *box, fidk_element value) {
    position out = {.box = box};
    for (size_t count = count_of(box); count > 0; count--) {
        fidk_store(box->dtype, box->data, out.at, value);
        step(&out, 0);
    }
}

int64_t fidk_flat_offset(const fid_tensor *tensor, int64_t flat) {
    int64_t offset = 0;
    for (size_t i = tensor->rank; i-- > 0;) {
        offset += flat % tensor->sizes[i] * tensor->strides[i];
        flat /= tensor->sizes[i];
    }
    return offset;
}

void fidk_copy(const fid_tensor *out, const fid_tensor *in) {
    fidk_box to = fidk_box_of(out), from = fidk_box_of(in);
    fidk_box_copy(&to, &from);
}

void fidk_reshape(const fid_tensor *out, const fid_tensor *in) {
    fidk_box to = fidk_box_of(out), from = fidk_box_of(in);
    fidk_box_reshape(&to, &from);
}

void fidk_fill(const fid_tensor *out, fidk_element value) {
    fidk_box to = fidk_box_of(out);
    fidk_box_fill(&to, value);
}
