/* Which algorithm a convolution of 3x3 takes: direct sums, or Winograd's with tiles of 2x2 or 4x4 outputs (ops/winograd.h).
 *
 * The kernel runs what the shape of the packed weights says, so the choice is made here, by an estimate of the time on one core with
 * AVX-512: products, weights that come from memory, and what is moved, into patches or into and out of transforms. Winograd has fewer
 * products and more weights (16 or 36 values instead of 9), and these make the file larger: a layer must win what it adds at the price of
 * GROWTH, a megabyte for a tenth of a millisecond. Small images with many channels, whose weights are most of their time, stay direct.
 *
 * Estimated and measured in milliseconds, direct, F(2x2), F(4x4): 64 channels of 56x56 1.8 1.0 0.6 and 1.7 0.9 0.6; 128 of 28x28 1.6 0.9 0.7
 * and 1.6 0.9 0.7; 256 of 14x14 1.7 1.1 1.3 and 1.6 1.1 1.3; 512 of 7x7 2.2 2.2 3.2 and 1.8 2.2 3.3. */
#include "compiler/passes/pack.h"
#include "ops/fused.h"

/* All a nanosecond. */
#define DIRECT_PRODUCTS 160.0   /* operations */
#define WINOGRAD_PRODUCTS 140.0 /* operations, in smaller products */
#define WEIGHTS 14.0            /* bytes from memory */
#define MOVES 6.0               /* floats into a patch, or into or out of a transform */
#define GROWTH 10.0             /* bytes of larger weights */
#define LEAST_CHANNELS 8        /* transforms of fewer would be all the time */

typedef struct layer {
    int64_t in, out; /* channels; what panels fill up is multiplied as well */
    int64_t pixels, tiles[2]; /* of 2x2 and 4x4; of all readers of the weight */
} layer;

static double nanoseconds_direct(const layer *l) {
    double weights = 9.0 * (double)l->in * (double)l->out, pixels = (double)l->pixels;
    return 2 * weights * pixels / DIRECT_PRODUCTS + 4 * weights / WEIGHTS + 9 * (double)l->in * pixels / MOVES;
}

static double nanoseconds_winograd(const layer *l, int64_t m) {
    double positions = (double)fid_winograd_positions(m), pairs = (double)l->in * (double)l->out, all = positions * (double)l->tiles[m / 4];
    return 2 * pairs * all / WINOGRAD_PRODUCTS + 4 * positions * pairs / WEIGHTS + (double)(l->in + l->out) * all / MOVES + 4 * (positions - 9) * pairs / GROWTH;
}

/* Adds one reader; false if the sizes of its image are not known. */
static bool add_reader(layer *l, const fidc_node *node) {
    const fidc_value *out = node->outputs[0];
    int64_t batch = fidc_size(out, 0), height = fidc_size(out, 2), width = fidc_size(out, 3);
    if (batch < 1) batch = 1;
    if (height < 1 || width < 1) return false;
    l->pixels += batch * height * width;
    for (int64_t m = 2; m <= 4; m += 2) l->tiles[m / 4] += batch * ((height + m - 1) / m) * ((width + m - 1) / m);
    return true;
}

fidc_packing fidc_choose_convolution(const fidc_packer *packer, const fidc_node *node) {
    static const fidc_packing all[] = {FIDC_PACK_CONVOLUTION, FIDC_PACK_WINOGRAD2, FIDC_PACK_WINOGRAD4};
    const fidc_value *weight = fidc_value_of(&node->args[1]);
    layer l = {.out = fid_panels(fidc_size(weight, 0)) * FID_PANEL, .in = fidc_size(weight, 1)};
    if (packer->program->no_winograd || packer->program->bf16_products || l.in < LEAST_CHANNELS || fidc_size(weight, 0) < LEAST_CHANNELS) return FIDC_PACK_CONVOLUTION;
    for (size_t i = 0; i < 3; i++)
        if (fidc_packer_has(packer, weight, all[i])) return all[i]; /* another layer of these weights has chosen */
    for (const fidc_node *n = node->graph->first; n; n = n->next)
        if (fidc_is(n, FID_OPID_convolution) && fidc_value_of(&n->args[1]) == weight && !add_reader(&l, n)) return FIDC_PACK_CONVOLUTION;
    double direct = nanoseconds_direct(&l), two = nanoseconds_winograd(&l, 2), four = nanoseconds_winograd(&l, 4);
    if (four < direct && four < two) return FIDC_PACK_WINOGRAD4;
    return two < direct ? FIDC_PACK_WINOGRAD2 : FIDC_PACK_CONVOLUTION;
}
