/* Showing tensors to people. */
#include "tools/labels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/half.h"

void tensor_to_row_major(const fid_tensor *tensor, void *out) {
    size_t size = fid_dtype_size((fid_dtype)tensor->dtype), count = fid_tensor_numel(tensor);
    if (fid_tensor_is_contiguous(tensor)) {
        if (count) memcpy(out, tensor->data, count * size);
        return;
    }
    int64_t index[FID_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (size_t d = 0; d < tensor->rank; d++) at += index[d] * tensor->strides[d];
        memcpy((uint8_t *)out + i * size, (const uint8_t *)tensor->data + (size_t)at * size, size);
        for (size_t d = tensor->rank; d-- > 0;) {
            if (++index[d] < tensor->sizes[d]) break;
            index[d] = 0;
        }
    }
}

double tensor_element(const fid_tensor *tensor, size_t i, const void *row_major) {
    const uint8_t *at = (const uint8_t *)row_major + i * fid_dtype_size((fid_dtype)tensor->dtype);
    switch (tensor->dtype) {
#define CASE_OF(NAME, type)                                                                                            \
    case FID_##NAME: { type x; memcpy(&x, at, sizeof x); return (double)x; }
        CASE_OF(FLOAT32, float) CASE_OF(FLOAT64, double) CASE_OF(INT64, int64_t) CASE_OF(INT32, int32_t) CASE_OF(INT16, int16_t)
        CASE_OF(INT8, int8_t) CASE_OF(UINT8, uint8_t) CASE_OF(BOOL, uint8_t) CASE_OF(UINT16, uint16_t) CASE_OF(UINT32, uint32_t)
        CASE_OF(UINT64, uint64_t)
#undef CASE_OF
    case FID_BFLOAT16: { uint16_t x; memcpy(&x, at, sizeof x); return fid_float_from_bf16(x); }
    case FID_FLOAT16: { uint16_t x; memcpy(&x, at, sizeof x); return fid_float_from_f16(x); }
    default: return NAN;
    }
}

const char *tensor_summary(const fid_tensor *tensor, char *text, size_t size) {
    char sizes[160];
    size_t count = fid_tensor_numel(tensor);
    int at = snprintf(text, size, "%s%s", fid_dtype_name((fid_dtype)tensor->dtype),
                      fid_shape_text(tensor->sizes, tensor->rank, sizes, sizeof sizes));
    void *data = malloc(fid_tensor_bytes(tensor) + 1);
    if (!data || !count) {
        free(data);
        return text;
    }
    tensor_to_row_major(tensor, data);
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double x = tensor_element(tensor, i, data);
        low = x < low ? x : low;
        high = x > high ? x : high;
        sum += x;
    }
    for (size_t i = 0; i < count && i < 6 && at > 0 && (size_t)at < size; i++) {
        at += snprintf(text + at, size - (size_t)at, " %.6g", tensor_element(tensor, i, data));
    }
    if (count > 6 && at > 0 && (size_t)at < size) {
        snprintf(text + at, size - (size_t)at, " ... (min %.6g, mean %.6g, max %.6g)", low, sum / (double)count, high);
    }
    free(data);
    return text;
}

/* ---- Labels ---- */

/* The text of line `index`; NULL if the file has fewer. The file's bytes are cut in place. */
static const char *line_of(const char *text, size_t size, size_t index, size_t *out_length) {
    size_t at = 0;
    for (; index > 0 && at < size; at++) index -= text[at] == '\n';
    if (index || at >= size) return NULL;
    size_t end = at;
    while (end < size && text[end] != '\n' && text[end] != '\r') end++;
    *out_length = end - at;
    return text + at;
}

static double softmax_total(const fid_tensor *t, const void *data, size_t count, double *out_high) {
    double high = -INFINITY, total = 0;
    for (size_t i = 0; i < count; i++) high = fmax(high, tensor_element(t, i, data));
    for (size_t i = 0; i < count; i++) total += exp(tensor_element(t, i, data) - high);
    *out_high = high;
    return total;
}

static void print_likeliest(const fid_tensor *t, const void *data, size_t count, size_t top, const char *labels, size_t labels_size) {
    double high, total = softmax_total(t, data, count, &high), below = INFINITY;
    size_t last = SIZE_MAX;
    for (size_t rank = 0; rank < top && rank < count; rank++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < count; i++) { /* the next below the one before; equal values in order of index */
            double x = tensor_element(t, i, data);
            bool after = x < below || (x == below && i > last && last != SIZE_MAX);
            if (after && (best == SIZE_MAX || x > tensor_element(t, best, data))) best = i;
        }
        if (best == SIZE_MAX) return;
        below = tensor_element(t, best, data);
        last = best;
        size_t length = 0;
        const char *name = line_of(labels, labels_size, best, &length);
        printf("%6.2f %%  %.*s\n", 100 * exp(below - high) / total, name ? (int)length : 1, name ? name : "?");
    }
}

bool print_labels(const char *path, const fid_value *output, size_t top) {
    size_t size;
    char *labels = read_file(path, &size);
    if (!labels) {
        failed("run", "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    const fid_tensor *t = output->tag == FID_TAG_TENSOR ? output->as.tensor : NULL;
    size_t count = t ? fid_tensor_numel(t) : 0;
    void *data = t ? malloc(fid_tensor_bytes(t) + 1) : NULL;
    bool fits = data && count && fid_dtype_is_float((fid_dtype)t->dtype) && (size_t)t->sizes[t->rank ? t->rank - 1 : 0] == count;
    if (fits) {
        tensor_to_row_major(t, data);
        print_likeliest(t, data, count, top, labels, size);
    } else failed("run", "--labels wants a first output of float logits, one a class");
    free(data);
    free(labels);
    return fits;
}
