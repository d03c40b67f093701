/* What a call of scaled_dot_product_attention asks for, checked once, for shape function and kernels. */
#ifndef FID_OPS_ATTENTION_H
#define FID_OPS_ATTENTION_H

#include "ops/kernel.h"

typedef struct fid_attention {
    const fid_tensor *query; /* (..., queries, width) */
    const fid_tensor *key;   /* (..., keys, width) */
    const fid_tensor *value; /* (..., keys, value_width) */
    const fid_tensor *mask;  /* broadcasts to (..., queries, keys): bool (true: look) or added to the scores; may be NULL */
    int64_t queries, keys, width, value_width;
    double scale;
    bool causal;  /* query i sees keys 0..i */
    bool grouped; /* several query heads share one key and value head */
} fid_attention;

/* Arguments (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa). `lead` gets rank and sizes of the
 * dimensions in front of the last two, broadcast over query, key and value. */
fid_status fid_attention_of(const fid_call *call, fid_attention *out, fid_meta *lead);

#endif
