/* aten::scaled_dot_product_attention: softmax(scale * Q K^T + mask) V for every batch and head. */
#include "kernels/ref/dense.h"
#include "ops/attention.h"

typedef struct head {
    fid_attention a;
    double *query, *key, *value; /* (width), (keys, width), (value_width, keys): values transposed, for dot products */
    double *mask, *scores, *out; /* (keys), (keys), (value_width) */
} head;

/* Offset of leading index `index` (of `rank` entries) in a tensor with broadcast leading dimensions. `share` query heads
 * stand behind each head of the tensor. */
static int64_t head_offset(const fid_tensor *t, const int64_t *index, size_t rank, int64_t share) {
    int64_t offset = 0;
    size_t lead = t->rank > 2 ? t->rank - 2u : 0;
    for (size_t d = 0; d < lead; d++) {
        int64_t at = index[rank - lead + d];
        if (d + 1 == lead) at /= share;
        if (t->sizes[d] != 1) offset += at * t->strides[d];
    }
    return offset;
}

static int64_t share_of(const fid_attention *a, const fid_tensor *t, const fid_meta *lead) {
    return a->grouped ? lead->sizes[lead->rank - 1] / t->sizes[t->rank - 3] : 1;
}

static void load_keys(head *h, const int64_t *index, const fid_meta *lead) {
    const fid_tensor *k = h->a.key, *v = h->a.value;
    int64_t key_at = head_offset(k, index, lead->rank, share_of(&h->a, k, lead));
    int64_t value_at = head_offset(v, index, lead->rank, share_of(&h->a, v, lead));
    for (int64_t i = 0; i < h->a.keys; i++)
        fidk_load_row(k, key_at + i * k->strides[k->rank - 2], k->strides[k->rank - 1], (size_t)h->a.width, h->key + i * h->a.width);
    for (int64_t j = 0; j < h->a.value_width; j++)
        fidk_load_row(v, value_at + j * v->strides[v->rank - 1], v->strides[v->rank - 2], (size_t)h->a.keys, h->value + j * h->a.keys);
}

/* What is added to the scores of query row i: 0 to look, -INFINITY not to. */
static void load_mask(head *h, const int64_t *index, const fid_meta *lead, int64_t i) {
    const fid_tensor *mask = h->a.mask;
    size_t keys = (size_t)h->a.keys;
    for (size_t j = 0; j < keys; j++) h->mask[j] = 0;
    if (mask) {
        int64_t row = mask->rank >= 2 && mask->sizes[mask->rank - 2] != 1 ? mask->strides[mask->rank - 2] : 0;
        int64_t column = mask->rank >= 1 && mask->sizes[mask->rank - 1] != 1 ? mask->strides[mask->rank - 1] : 0;
        fidk_load_row(mask, head_offset(mask, index, lead->rank, 1) + i * row, column, keys, h->mask);
        for (size_t j = 0; mask->dtype == FID_BOOL && j < keys; j++) h->mask[j] = h->mask[j] != 0 ? 0 : -(double)INFINITY;
    }
    for (size_t j = (size_t)i + 1; h->a.causal && j < keys; j++) h->mask[j] = -(double)INFINITY;
}

/* Softmax in place; a row that sees no key gives zeros, as in PyTorch. */
static void softmax(double *scores, size_t count) {
    double most = -(double)INFINITY, sum = 0;
    for (size_t j = 0; j < count; j++)
        if (scores[j] > most || scores[j] != scores[j]) most = scores[j];
    for (size_t j = 0; j < count; j++) {
        scores[j] = most == -(double)INFINITY ? 0 : exp(scores[j] - most);
        sum += scores[j];
    }
    for (size_t j = 0; j < count && sum != 0; j++) scores[j] /= sum;
}

static void attend(head *h, const int64_t *index, const fid_meta *lead, const fid_tensor *out, int64_t out_at) {
    const fid_tensor *q = h->a.query;
    size_t keys = (size_t)h->a.keys, width = (size_t)h->a.width;
    int64_t query_at = head_offset(q, index, lead->rank, 1);
    for (int64_t i = 0; i < h->a.queries; i++) {
        fidk_load_row(q, query_at + i * q->strides[q->rank - 2], q->strides[q->rank - 1], width, h->query);
        load_mask(h, index, lead, i);
        for (size_t j = 0; j < keys; j++) h->scores[j] = h->a.scale * fidk_dot(h->query, h->key + j * width, width) + h->mask[j];
        softmax(h->scores, keys);
        for (int64_t j = 0; j < h->a.value_width; j++) h->out[j] = fidk_dot(h->scores, h->value + (size_t)j * keys, keys);
        fidk_store_row(out, out_at + i * out->strides[out->rank - 2], out->strides[out->rank - 1], (size_t)h->a.value_width, h->out);
    }
}

static fid_status run(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    int64_t index[FID_MAX_RANK] = {0};
    head h;
    fid_meta lead;
    FID_TRY(fid_attention_of(call, &h.a, &lead));
    if (fid_tensor_numel(out) == 0) return FID_OK;
    FIDK_NEED(h.query = fidk_doubles(call, (size_t)h.a.width));
    FIDK_NEED(h.key = fidk_doubles(call, fidk_product((int64_t[]){h.a.keys, h.a.width}, 2)));
    FIDK_NEED(h.value = fidk_doubles(call, fidk_product((int64_t[]){h.a.keys, h.a.value_width}, 2)));
    FIDK_NEED(h.mask = fidk_doubles(call, (size_t)h.a.keys));
    FIDK_NEED(h.scores = fidk_doubles(call, (size_t)h.a.keys));
    FIDK_NEED(h.out = fidk_doubles(call, (size_t)h.a.value_width));
    do {
        load_keys(&h, index, &lead);
        attend(&h, index, &lead, out, fidk_strided(index, out->strides, lead.rank));
    } while (fidk_next_index(index, lead.sizes, lead.rank));
    return FID_OK;
}

const fid_kernel fid_ref_scaled_dot_product_attention = {.run = run};
