/* Which algorithm a convolution of 3x3 takes: direct sums, or Winograd's with tiles of 2x2, 3x3 or 4x4 outputs (ops/winograd.h).
 *
 * The kernel runs what the shape of the packed weights says, so the choice is made here, by an estimate of the time on one core with
 * AVX-512: products, weights that come from memory, and what is moved, into patches or into and out of transforms. Winograd has fewer
 * products and more weights (16, 25 or 36 values instead of 9), and these make the file larger: a layer must win what it adds at the price of
 * GROWTH, a megabyte for a tenth of a millisecond. Small images with many channels, whose weights are most of their time, stay direct.
 *
 * An algorithm counts only for as many channels as make its rounding no larger than that of direct sums.
 *
 * Estimated and measured in milliseconds, direct, F(2x2), F(3x3), F(4x4):
 *     64 channels of 56x56    1.8 1.0 0.7 0.6   1.7 0.9 0.7 0.6
 *     128 channels of 28x28   1.6 0.9 0.8 0.7   1.5 0.9 0.9 0.7
 *     256 channels of 14x14   1.7 1.1 1.1 1.3   1.6 1.1 1.1 1.2
 *     512 channels of 7x7     2.2 2.2 2.8 3.3   1.6 2.1 2.5 3.1 */
#include "compiler/passes/pack.h"
#include "ops/fused.h"

/* All a nanosecond. */
#define DIRECT_PRODUCTS 160.0   /* operations */
#define WINOGRAD_PRODUCTS 140.0 /* operations, in smaller products */
#define WEIGHTS 14.0            /* bytes from memory */
#define MOVES 6.0               /* floats into a patch, or into or out of a transform */
#define GROWTH 10.0             /* bytes of larger weights */
/* By m, input channels from which on its rounding is not above that of direct sums (ops/winograd.h); and transforms of fewer would take
 * all the time. */
static const int64_t least_channels[FID_WINOGRAD_MOST + 1] = {[2] = 8, [3] = 64, [4] = 128};

typedef struct layer {
    int64_t in, out; /* channels; what panels fill up is multiplied as well */
    int64_t pixels, tiles[FID_WINOGRAD_MOST + 1]; /* by m; of all readers of the weight */
} layer;

static double nanoseconds_direct(const layer *l) {
    double weights = 9.0 * (double)l->in * (double)l->out, pixels = (double)l->pixels;
    return 2 * weights * pixels / DIRECT_PRODUCTS + 4 * weights / WEIGHTS + 9 * (double)l->in * pixels / MOVES;
}

static double nanoseconds_winograd(const layer *l, int64_t m) {
    double positions = (double)fid_winograd_positions(m), pairs = (double)l->in * (double)l->out, all = positions * (double)l->tiles[m];
    return 2 * pairs * all / WINOGRAD_PRODUCTS + 4 * positions * pairs / WEIGHTS + (double)(l->in + l->out) * all / MOVES + 4 * (positions - 9) * pairs / GROWTH;
}

/* Adds one reader; false if the sizes of its image are not known. */
static bool add_reader(layer *l, const fidc_node *node) {
    const fidc_value *out = node->outputs[0];
    int64_t batch = fidc_size(out, 0), height = fidc_size(out, 2), width = fidc_size(out, 3);
    if (batch < 1) batch = 1;
    if (height < 1 || width < 1) return false;
    l->pixels += batch * height * width;
    for (int64_t m = FID_WINOGRAD_LEAST; m <= FID_WINOGRAD_MOST; m++) l->tiles[m] += batch * ((height + m - 1) / m) * ((width + m - 1) / m);
    return true;
}

static fidc_packing fastest(const layer *l) {
    fidc_packing found = FIDC_PACK_CONVOLUTION;
    double least = nanoseconds_direct(l);
    for (int64_t m = FID_WINOGRAD_LEAST; m <= FID_WINOGRAD_MOST; m++) {
        double time = nanoseconds_winograd(l, m);
        if (time >= least || l->in < least_channels[m]) continue;
        least = time;
        found = FIDC_PACK_WINOGRAD2 + (fidc_packing)(m - FID_WINOGRAD_LEAST);
    }
    return found;
}

fidc_packing fidc_choose_convolution(const fidc_packer *packer, const fidc_node *node) {
    const fidc_value *weight = fidc_value_of(&node->args[1]);
    layer l = {.out = fid_panels(fidc_size(weight, 0)) * FID_PANEL, .in = fidc_size(weight, 1)};
    if (packer->program->no_winograd || packer->program->bf16_products) return FIDC_PACK_CONVOLUTION;
    for (fidc_packing p = FIDC_PACK_CONVOLUTION; p <= FIDC_PACK_WINOGRAD4; p++)
        if (fidc_packer_has(packer, weight, p)) return p; /* another layer of these weights has chosen */
    for (const fidc_node *n = node->graph->first; n; n = n->next)
        if (fidc_is(n, FID_OPID_convolution) && fidc_value_of(&n->args[1]) == weight && !add_reader(&l, n)) return FIDC_PACK_CONVOLUTION;
    return fastest(&l);
}
