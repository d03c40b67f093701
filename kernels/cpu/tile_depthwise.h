/* Bodies of the depthwise convolution tile.
 *
 * Kernels of three and five positions a line over neighbouring pixels are unrolled: each vector of input is loaded once for all
 * outputs that see it, and at the edges those outside the image are passed over. Everything else goes position by position. */

#define DEPTHWISE_PIXELS 6
#define DEPTHWISE_VECTORS 4 /* of channels that a single pixel takes side by side, so that sums do not wait for each other */

VEC_INLINE vec depthwise_load(const float *at, const bool masked, vecm mask) { return masked ? vec_load_some(at, mask) : vec_load(at); }

VEC_INLINE vec depthwise_bias(const fidk_depthwise *d, size_t channel, const bool masked, vecm mask) {
    return d->bias ? depthwise_load(d->bias + channel, masked, mask) : vec_set(0);
}

VEC_INLINE const float *depthwise_weights(const fidk_depthwise *d, size_t channel) {
    return d->weights + channel / FIDK_PANEL * d->panel + channel % FIDK_PANEL;
}

VEC_INLINE void depthwise_finish(const fidk_depthwise *d, size_t pixel, size_t channel, vec sum, const bool masked, vecm mask) {
    size_t at = pixel * d->out_step + channel;
    if (d->add) sum = vec_add(sum, depthwise_load(d->add + at, masked, mask));
    sum = vec_min(vec_set(d->high), vec_max(vec_set(d->low), sum));
    if (d->hardswish) sum = math_hardswish(sum);
    if (masked) vec_store_some(d->out + at, sum, mask);
    else vec_store(d->out + at, sum);
}

/* ---- Position by position ---- */

/* One pixel, `vectors` vectors of channels. */
VEC_INLINE void depthwise_pixel(const fidk_depthwise *d, size_t pixel, size_t channel, const int vectors, const bool masked, vecm mask) {
    const float *in = d->in + pixel * d->in_step + channel;
    vec sum[DEPTHWISE_VECTORS];
    UNROLL_ALL for (int v = 0; v < vectors; v++) sum[v] = depthwise_bias(d, channel + (size_t)v * VEC_LANES, masked, mask);
    for (size_t t = 0; t < d->taps; t++) {
        const float *at = in + d->offsets[t];
        size_t row = d->rows[t] * (size_t)FIDK_PANEL; /* panels are padded: a whole vector of weights is there */
        UNROLL_ALL for (int v = 0; v < vectors; v++) {
            vec weight = vec_load(depthwise_weights(d, channel + (size_t)v * VEC_LANES) + row);
            sum[v] = vec_fma(depthwise_load(at + v * VEC_LANES, masked, mask), weight, sum[v]);
        }
    }
    UNROLL_ALL for (int v = 0; v < vectors; v++) depthwise_finish(d, pixel, channel + (size_t)v * VEC_LANES, sum[v], masked, mask);
}

static void depthwise_any(const fidk_depthwise *d) {
    for (size_t p = 0; p < d->pixels; p++) {
        size_t c = 0;
        for (; c + DEPTHWISE_VECTORS * VEC_LANES <= d->channels; c += DEPTHWISE_VECTORS * VEC_LANES)
            depthwise_pixel(d, p, c, DEPTHWISE_VECTORS, false, vec_first(0));
        for (; c + VEC_LANES <= d->channels; c += VEC_LANES) depthwise_pixel(d, p, c, 1, false, vec_first(0));
        if (c < d->channels) depthwise_pixel(d, p, c, 1, true, vec_first(d->channels - c));
    }
}

/* ---- Unrolled lines ---- */

/* `count` pixels of a kernel `width` positions wide: input vector j is position k of output (j - k) / stride. All constants. */
VEC_INLINE void depthwise_block(const fidk_depthwise *d, size_t pixel, size_t channel, const int width, const int stride, const int count,
                                const bool edges, const bool masked, vecm mask) {
    const float *weights = depthwise_weights(d, channel);
    const int64_t first = (int64_t)pixel * stride - d->left; /* column of input vector 0 */
    vec bias = depthwise_bias(d, channel, masked, mask), sum[DEPTHWISE_PIXELS];
    UNROLL_ALL for (int i = 0; i < count; i++) sum[i] = bias;
    for (size_t t = 0; t < d->taps; t++) {
        const float *row = weights + d->rows[t] * (size_t)FIDK_PANEL;
        int64_t at = d->offsets[t] + (int64_t)(pixel * d->in_step + channel);
        vec weight[5];
        UNROLL_ALL for (int k = 0; k < width; k++) weight[k] = vec_load(row + k * FIDK_PANEL);
        UNROLL_ALL for (int j = 0; j < (count - 1) * stride + width; j++, at += (int64_t)d->tap_step) {
            if (edges && (first + j < 0 || first + j >= d->columns)) continue;
            vec x = depthwise_load(d->in + at, masked, mask);
            UNROLL_ALL for (int k = 0; k < width; k++) {
                const int from = j - k;
                if (from >= 0 && from % stride == 0 && from / stride < count)
                    sum[from / stride] = vec_fma(x, weight[k], sum[from / stride]);
            }
        }
    }
    UNROLL_ALL for (int i = 0; i < count; i++) depthwise_finish(d, pixel + (size_t)i, channel, sum[i], masked, mask);
}

/* Blocks of one and two pixels are lines of no more: they have edges, if any. */
VEC_INLINE void depthwise_pixels(const fidk_depthwise *d, size_t pixel, size_t count, size_t channel, const int width, const int stride,
                                 const bool edges, const bool masked, vecm mask) {
    switch (count) {
    case 1: depthwise_block(d, pixel, channel, width, stride, 1, true, masked, mask); break;
    case 2: depthwise_block(d, pixel, channel, width, stride, 2, true, masked, mask); break;
    case 3: depthwise_block(d, pixel, channel, width, stride, 3, edges, masked, mask); break;
    case 4: depthwise_block(d, pixel, channel, width, stride, 4, edges, masked, mask); break;
    case 5: depthwise_block(d, pixel, channel, width, stride, 5, edges, masked, mask); break;
    default: depthwise_block(d, pixel, channel, width, stride, 6, edges, masked, mask);
    }
}

/* All pixels for the channels of one vector, in blocks of nearly equal size. */
VEC_INLINE void depthwise_line(const fidk_depthwise *d, size_t channel, const int width, const int stride, const bool masked, vecm mask) {
    size_t blocks = (d->pixels + DEPTHWISE_PIXELS - 1) / DEPTHWISE_PIXELS, pixel = 0;
    for (size_t i = 0; i < blocks; i++) {
        size_t count = (d->pixels - pixel) / (blocks - i);
        int64_t first = (int64_t)pixel * stride - d->left, last = first + ((int64_t)count - 1) * stride + width - 1;
        if (masked || count < 3 || first < 0 || last >= d->columns) depthwise_pixels(d, pixel, count, channel, width, stride, true, masked, mask);
        else depthwise_pixels(d, pixel, count, channel, width, stride, false, masked, mask);
        pixel += count;
    }
}

#define DEFINE_DEPTHWISE(width, stride)                                                                                \
    static void depthwise_##width##_##stride(const fidk_depthwise *d) {                                                \
        size_t c = 0;                                                                                                  \
        for (; c + VEC_LANES <= d->channels; c += VEC_LANES) depthwise_line(d, c, width, stride, false, vec_first(0)); \
        if (c < d->channels) depthwise_line(d, c, width, stride, true, vec_first(d->channels - c));                    \
    }
DEFINE_DEPTHWISE(3, 1)
DEFINE_DEPTHWISE(3, 2)
DEFINE_DEPTHWISE(5, 1)
DEFINE_DEPTHWISE(5, 2)

static void depthwise_tile(const fidk_depthwise *d) {
    bool once = d->in_step == d->tap_step;
    if (d->line_width == 3) (once ? depthwise_3_1 : depthwise_3_2)(d);
    else if (d->line_width == 5) (once ? depthwise_5_1 : depthwise_5_2)(d);
    else depthwise_any(d);
}
