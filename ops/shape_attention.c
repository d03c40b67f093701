/* Shape of attention: (..., query length, value width). */
#include "ops/attention.h"
#include "ops/shape.h"

static fid_status no_attention(const fid_call *call, const char *why, const fid_tensor *a, const fid_tensor *b) {
    char left[120], right[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s: shapes %s and %s", call->name, why,
                    fid_shape_text(a->sizes, a->rank, left, sizeof left),
                    fid_shape_text(b->sizes, b->rank, right, sizeof right));
}

/* Size of `t` in dimension d of a result of `rank` dimensions, counted with leading ones. */
static int64_t padded_size(const fid_tensor *t, size_t rank, size_t d) {
    return d + t->rank < rank ? 1 : t->sizes[d + t->rank - rank];
}

/* The leading dimensions of all three, broadcast; with grouped queries the heads (last of them) are the query's. */
static fid_status leading_sizes(const fid_call *call, const fid_attention *a, fid_meta *lead) {
    const fid_tensor *tensors[3] = {a->query, a->key, a->value};
    size_t rank = lead->rank;
    for (size_t d = 0; d < rank; d++) {
        lead->sizes[d] = 1;
        for (size_t i = 0; i < 3; i++) {
            int64_t size = padded_size(tensors[i], rank + 2, d);
            if (a->grouped && d + 1 == rank && i > 0) {
                if (size < 1 || lead->sizes[d] % size != 0)
                    return no_attention(call, "query heads are not a multiple of key or value heads", a->query, tensors[i]);
                continue;
            }
            if (size != 1 && lead->sizes[d] != 1 && size != lead->sizes[d])
                return no_attention(call, "batches do not broadcast", a->query, tensors[i]);
            if (size != 1) lead->sizes[d] = size;
        }
    }
    return FID_OK;
}

static fid_status check_mask(const fid_call *call, const fid_attention *a, const fid_meta *lead) {
    const fid_tensor *mask = a->mask;
    size_t rank = lead->rank + 2u;
    if (!mask) return FID_OK;
    if (mask->dtype != FID_BOOL && !fid_dtype_is_float((fid_dtype)mask->dtype))
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the mask is %s, expected bool or a float dtype", call->name,
                        fid_dtype_name((fid_dtype)mask->dtype));
    bool fits = mask->rank <= rank;
    for (size_t d = 0; fits && d < mask->rank; d++) {
        size_t at = rank - mask->rank + d;
        int64_t size = at < lead->rank ? lead->sizes[at] : at == lead->rank ? a->queries : a->keys;
        fits = mask->sizes[d] == 1 || mask->sizes[d] == size;
    }
    return fits ? FID_OK : no_attention(call, "the mask does not broadcast to the scores", mask, a->query);
}

fid_status fid_attention_of(const fid_call *call, fid_attention *out, fid_meta *lead) {
    const fid_tensor *q = fid_arg_tensor(call, 0), *k = fid_arg_tensor(call, 1), *v = fid_arg_tensor(call, 2);
    if (q->rank < 2 || k->rank < 2 || v->rank < 2) return no_attention(call, "query, key and value need two dimensions", q, k);
    if (q->dtype != k->dtype || q->dtype != v->dtype || !fid_dtype_is_float((fid_dtype)q->dtype))
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: query, key and value must be of one float dtype", call->name);
    *out = (fid_attention){.query = q, .key = k, .value = v, .mask = fid_arg_tensor(call, 3)};
    out->queries = q->sizes[q->rank - 2], out->width = q->sizes[q->rank - 1];
    out->keys = k->sizes[k->rank - 2], out->value_width = v->sizes[v->rank - 1];
    out->causal = fid_arg_bool(call, 5);
    out->grouped = fid_arg_bool(call, 7);
    out->scale = fid_arg_is_none(call, 6) ? 1 / sqrt((double)out->width) : fid_arg_double(call, 6);
    if (k->sizes[k->rank - 1] != out->width) return no_attention(call, "query and key differ in width", q, k);
    if (v->sizes[v->rank - 2] != out->keys) return no_attention(call, "key and value differ in length", k, v);
    size_t rank = q->rank > k->rank ? q->rank : k->rank;
    if (v->rank > rank) rank = v->rank;
    if (out->grouped && (q->rank < 3 || k->rank < 3 || v->rank < 3)) return no_attention(call, "enable_gqa needs heads", q, k);
    lead->rank = (uint8_t)(rank - 2);
    FID_TRY(leading_sizes(call, out, lead));
    return check_mask(call, out, lead);
}

fid_status fid_shape_scaled_dot_product_attention(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_attention a;
    fid_meta lead;
    FID_TRY(fid_attention_of(call, &a, &lead));
    if (fid_arg_double(call, 4) != 0)
        return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: dropout; export the model in eval mode", call->name);
    size_t rank = lead.rank;
    lead.sizes[rank] = a.queries, lead.sizes[rank + 1] = a.value_width;
    fid_meta_set(outs, (fid_dtype)a.query->dtype, lead.sizes, rank + 2);
    return FID_OK;
}
