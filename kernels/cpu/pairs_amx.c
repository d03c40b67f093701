/* Pairs with AMX: four accumulator tiles of 16 x 16, two tiles of a and two of b, 32 values of k a step. */
#if defined(__x86_64__)
#include "kernels/cpu/pairs.h"

#include <immintrin.h>

/* Tiles 0 to 3: sums; 4 and 5: rows of a; 6 and 7: panels of b. All of 16 rows of 64 bytes. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_config;

/* Constant data: gcc's intrinsic names only the first bytes as read, and stores to the others would go. */
static const tile_config config = {.palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

static void begin(void) { _tile_loadconfig(&config); }

static void end(void) { _tile_release(); }

enum { STEP = 32 /* elements of a */, C_BYTES = FIDK_PAIR_TILE * sizeof(float) };

static void four_tiles(const fidk_pair_block *t) {
    const uint16_t *a = t->a, *b = t->b;
    const size_t a_bytes = t->a_stride * sizeof *a, below = 16 * t->a_stride;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t k = 0; k < t->depth; k += 16, a += STEP, b += 16 * FID_PAIR_COLUMNS) {
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + t->b_panel, 64);
        _tile_loadd(4, a, a_bytes);
        _tile_loadd(5, a + below, a_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, t->c, C_BYTES);
    _tile_stored(1, t->c + 16, C_BYTES);
    _tile_stored(2, t->c + 16 * FIDK_PAIR_TILE, C_BYTES);
    _tile_stored(3, t->c + 16 * FIDK_PAIR_TILE + 16, C_BYTES);
}

/* 16 rows, two panels */
static void two_tiles(const fidk_pair_block *t) {
    const uint16_t *a = t->a, *b = t->b;
    const size_t a_bytes = t->a_stride * sizeof *a;
    _tile_zero(0);
    _tile_zero(1);
    for (size_t k = 0; k < t->depth; k += 16, a += STEP, b += 16 * FID_PAIR_COLUMNS) {
        _tile_loadd(4, a, a_bytes);
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + t->b_panel, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
    }
    _tile_stored(0, t->c, C_BYTES);
    _tile_stored(1, t->c + 16, C_BYTES);
}

/* 16 rows, one panel */
static void one_tile(const fidk_pair_block *t, size_t row) {
    const uint16_t *a = t->a + row * t->a_stride, *b = t->b;
    _tile_zero(0);
    for (size_t k = 0; k < t->depth; k += 16, a += STEP, b += 16 * FID_PAIR_COLUMNS) {
        _tile_loadd(4, a, t->a_stride * sizeof *a);
        _tile_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
    }
    _tile_stored(0, t->c + row * FIDK_PAIR_TILE, C_BYTES);
}

static void block(const fidk_pair_block *t) {
    if (t->panels == 1) {
        for (size_t row = 0; row < t->rows; row += 16) one_tile(t, row);
    } else if (t->rows <= 16) two_tiles(t);
    else four_tiles(t);
}

const fidk_pair_tiles fidk_pair_tiles_amx = {"amx_bf16", begin, end, block};
#else
typedef int fidk_no_pairs_amx; /* an empty translation unit is not C */
#endif
