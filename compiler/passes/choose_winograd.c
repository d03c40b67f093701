/* Which algorithm a convolution of 3x3 takes: direct sums, or Winograd's with tiles of 2x2 or 4x4 outputs (ops/winograd.h).
 *
 * The kernel runs what the shape of the packed weights says, so the choice is made here, by an estimate of the time on one core: products
 * at PRODUCTS, weights that come from memory at WEIGHTS, what Winograd moves for its transforms at MOVES. Fewer products stand against
 * more weights (16 or 36 values instead of 9), and these make the file larger: a layer must win what it adds at the price of GROWTH, a
 * megabyte for a tenth of a millisecond. Small images with many channels, whose weights are all their time, stay direct. */
#include "compiler/passes/pack.h"
#include "ops/fused.h"

#define PRODUCTS 150.0 /* operations, all a nanosecond */
#define WEIGHTS 20.0   /* bytes */
#define MOVES 3.0      /* floats into or out of a transform */
#define GROWTH 10.0    /* bytes of larger weights */
#define LEAST_CHANNELS 16

typedef struct layer {
    int64_t in, out, pixels, tiles[2]; /* of 2x2 and 4x4; of all readers of the weight */
} layer;

static double nanoseconds_direct(const layer *l) {
    double weights = 9.0 * (double)l->in * (double)l->out;
    return 2 * weights * (double)l->pixels / PRODUCTS + 4 * weights / WEIGHTS;
}

static double nanoseconds_winograd(const layer *l, int64_t m) {
    double tiles = (double)l->tiles[m / 4], positions = (double)fid_winograd_positions(m), pairs = (double)l->in * (double)l->out;
    return 2 * positions * pairs * tiles / PRODUCTS + 4 * positions * pairs / WEIGHTS + positions * tiles * (double)(l->in + l->out) / MOVES +
           4 * (positions - 9) * pairs / GROWTH;
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
    layer l = {.out = fidc_size(weight, 0), .in = fidc_size(weight, 1)};
    if (packer->program->no_winograd || packer->program->bf16_products || l.in < LEAST_CHANNELS || l.out < LEAST_CHANNELS) return FIDC_PACK_CONVOLUTION;
    for (size_t i = 0; i < 3; i++)
        if (fidc_packer_has(packer, weight, all[i])) return all[i]; /* another layer of these weights has chosen */
    for (const fidc_node *n = node->graph->first; n; n = n->next)
        if (fidc_is(n, FID_OPID_convolution) && fidc_value_of(&n->args[1]) == weight && !add_reader(&l, n)) return FIDC_PACK_CONVOLUTION;
    double direct = nanoseconds_direct(&l), two = nanoseconds_winograd(&l, 2), four = nanoseconds_winograd(&l, 4);
    if (four < direct && four < two) return FIDC_PACK_WINOGRAD4;
    return two < direct ? FIDC_PACK_WINOGRAD2 : FIDC_PACK_CONVOLUTION;
}
