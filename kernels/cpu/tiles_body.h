/* Everything that one instruction set compiles, and its table. Included by tiles_*.c after a vec_*.h. */
#include "kernels/cpu/tiles.h"

#include "kernels/cpu/tile_math.h"

#include "kernels/cpu/tile_product.h"

#include "kernels/cpu/tile_unary.h"

#include "kernels/cpu/tile_binary.h"

#include "kernels/cpu/tile_depthwise.h"

#include "kernels/cpu/tile_winograd.h"

#include "kernels/cpu/tile_pool.h"

#include "kernels/cpu/tile_move.h"

#include "kernels/cpu/tile_rows.h"

#include "kernels/cpu/tile_recurrent.h"

#include "kernels/cpu/tile_half.h"

#include "kernels/cpu/tile_roof.h"

const fidk_tiles VEC_TABLE = {
    .name = VEC_NAME,
    .lanes = VEC_LANES,
    .product_rows = VEC_GEMM_ROWS,
    .product_columns = VEC_GEMM_VECTORS * VEC_LANES,
    .wide_rows = VEC_WIDE_ROWS,
    .wide_columns = VEC_WIDE_VECTORS * VEC_LANES,
    .product = product_tiles,
    .wide = wide_tiles,
    .unary = unary_tiles,
    .binary = binary_tiles,
    .where = where_tile,
    .depthwise = depthwise_tile,
    .patch = patch_tile,
    .winograd_in = {winograd_in_2_tile, winograd_in_3_tile, winograd_in_4_tile},
    .winograd_out = {winograd_out_2_tile, winograd_out_3_tile, winograd_out_4_tile},
    .max_pool = max_pool_tile,
    .sum_pool = sum_pool_tile,
    .blend = blend_tile,
    .transpose = transpose_tile,
    .stream = stream_tile,
    .settle = settle_tile,
    .softmax = softmax_tile,
    .online = online_tile,
    .sum_rows = sum_rows_tile,
    .sum_columns = sum_columns_tile,
    .norm = norm_tile,
    .from_half = {from_f16_tile, from_bf16_tile},
    .to_half = {to_f16_tile, to_bf16_tile},
    .lstm = lstm_tile,
    .gru = gru_tile,
    .peak = peak_tile,
    .read = read_tile,
};
