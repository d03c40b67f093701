/* Body of the depthwise convolution tile: a few neighbouring pixels at a time share each weight that is loaded. */

#define DEPTHWISE_PIXELS 6

/* Pixels [pixel, pixel + count), channels [channel, channel + VEC_LANES); count and masked are constants at every call. */
VEC_INLINE void depthwise_block(const fidk_depthwise *d, size_t pixel, size_t channel, const int count, const bool masked, vecm mask) {
    const float *in = d->in + pixel * d->in_step + channel;
    const float *weights = d->weights + channel / FIDK_PANEL * d->panel + channel % FIDK_PANEL;
    float *out = d->out + pixel * d->out_step + channel;
    vec bias = vec_set(0), sum[DEPTHWISE_PIXELS];
    if (d->bias) bias = masked ? vec_load_some(d->bias + channel, mask) : vec_load(d->bias + channel);
    UNROLL_ALL for (int i = 0; i < count; i++) sum[i] = bias;
    for (size_t t = 0; t < d->taps; t++) {
        vec weight = vec_load(weights + d->rows[t] * FIDK_PANEL); /* panels are padded: a whole vector is there */
        const float *at = in + d->offsets[t];
        UNROLL_ALL for (int i = 0; i < count; i++) {
            vec x = masked ? vec_load_some(at + (size_t)i * d->in_step, mask) : vec_load(at + (size_t)i * d->in_step);
            sum[i] = vec_fma(x, weight, sum[i]);
        }
    }
    UNROLL_ALL for (int i = 0; i < count; i++) {
        if (d->add) {
            const float *add = d->add + (pixel + (size_t)i) * d->out_step + channel;
            sum[i] = vec_add(sum[i], masked ? vec_load_some(add, mask) : vec_load(add));
        }
        sum[i] = vec_min(vec_set(d->high), vec_max(vec_set(d->low), sum[i]));
        if (masked) vec_store_some(out + (size_t)i * d->out_step, sum[i], mask);
        else vec_store(out + (size_t)i * d->out_step, sum[i]);
    }
}

VEC_INLINE void depthwise_channels(const fidk_depthwise *d, size_t channel, const bool masked, vecm mask) {
    size_t pixel = 0;
    for (; pixel + DEPTHWISE_PIXELS <= d->pixels; pixel += DEPTHWISE_PIXELS)
        depthwise_block(d, pixel, channel, DEPTHWISE_PIXELS, masked, mask);
    for (; pixel + 2 <= d->pixels; pixel += 2) depthwise_block(d, pixel, channel, 2, masked, mask);
    if (pixel < d->pixels) depthwise_block(d, pixel, channel, 1, masked, mask);
}

static void depthwise_tile(const fidk_depthwise *d) {
    size_t channel = 0;
    for (; channel + VEC_LANES <= d->channels; channel += VEC_LANES) depthwise_channels(d, channel, false, vec_first(0));
    if (channel < d->channels) depthwise_channels(d, channel, true, vec_first(d->channels - channel));
}
