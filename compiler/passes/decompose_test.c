/* Rewritten programs: what they look like for each target, and that they compute the same numbers. */
#include "compiler/passes/pass_check.h"

static void becomes(fidc_target target, const char *before, const char *after) {
    pass_check c;
    pass_open(&c, before);
    pass_ok(&c, fidc_decompose(c.program, target));
    pass_expect(&c, after);
    pass_close(&c);
}

/* ---- Text ---- */

static void views_become_copies_and_what_does_nothing_goes(void **state) {
    (void)state;
    becomes(FIDC_TARGET_CPU,
            "method forward(%x: f32[2, 3, 4]) {\n"
            "  %a: f32[2, 12] = aten.flatten.using_ints(%x, 1, 2)\n"
            "  %b: f32[2, 12] = aten.dropout(%a, 0.5, False)\n"
            "  %c: f32[2, 12] = aten.slice.Tensor(%b, 1, 0, 9223372036854775807, 1)\n"
            "  %d: f32[12, 2] = aten.t(%c)\n"
            "  %e: f32[12, 2] = aten.to.dtype(%d, dtype.float32, False, False, None)\n"
            "  %f: f32[12, 2] = aten.clone(%e, None)\n"
            "  return %f\n"
            "}\n",
            "method forward(%x: f32[2, 3, 4]) {\n"
            "  %a: f32[2, 12] = aten.view_copy(%x, [2, 12])\n"
            "  %d: f32[12, 2] = aten.permute_copy(%a, [1, 0])\n"
            "  return %d\n"
            "}\n");
}

static void a_permute_that_moves_only_ones_is_a_view(void **state) {
    (void)state;
    becomes(FIDC_TARGET_CPU,
            "method forward(%x: f32[2, 1, 4]) {\n"
            "  %a: f32[1, 2, 4] = aten.transpose.int(%x, 0, 1)\n"
            "  return %a\n"
            "}\n",
            "method forward(%x: f32[2, 1, 4]) {\n"
            "  %a: f32[1, 2, 4] = aten.view_copy(%x, [1, 2, 4])\n"
            "  return %a\n"
            "}\n");
}

static void a_symbolic_size_becomes_minus_one_in_a_view(void **state) {
    (void)state;
    becomes(FIDC_TARGET_CPU,
            "symbol s0 in [1, 8] hint 2\n"
            "method forward(%x: f32[s0, 3, 4]) {\n"
            "  %a: f32[s0, 12] = aten.flatten.using_ints(%x, 1, 2)\n"
            "  return %a\n"
            "}\n",
            "symbol s0 in [1, 8] hint 2\n"
            "method forward(%x: f32[s0, 3, 4]) {\n"
            "  %a: f32[s0, 12] = aten.view_copy(%x, [-1, 12])\n"
            "  return %a\n"
            "}\n");
}

static void an_operand_is_not_expanded_for_an_operator_that_broadcasts(void **state) {
    (void)state;
    becomes(FIDC_TARGET_CPU,
            "method forward(%x: f32[2, 3], %y: f32[3], %z: f32[1]) {\n"
            "  %a: f32[2, 3] = aten.expand(%y, [2, 3], False)\n"
            "  %b: f32[2, 3] = aten.add.Tensor(%x, %a, 1)\n"
            "  %c: f32[2, 1] = aten.expand(%z, [2, 1], False)\n"
            "  %d: f32[2, 1] = aten.neg(%c)\n"
            "  %e: f32[1, 3] = aten.expand(%y, [1, 3], False)\n"
            "  %f: f32[1, 3] = aten.add.Scalar(%e, 1, 1)\n"
            "  return %b, %d, %f\n"
            "}\n",
            "method forward(%x: f32[2, 3], %y: f32[3], %z: f32[1]) {\n"
            "  %b: f32[2, 3] = aten.add.Tensor(%x, %y, 1)\n"
            "  %c: f32[2, 1] = aten.expand_copy(%z, [2, -1], False)\n"
            "  %d: f32[2, 1] = aten.neg(%c)\n"
            "  %e: f32[1, 3] = aten.expand_copy(%y, [1, -1], False)\n"
            "  %f: f32[1, 3] = aten.add.Scalar(%e, 1, 1)\n"
            "  return %b, %d, %f\n"
            "}\n");
}

static void convolutions_become_one_operator(void **state) {
    (void)state;
    becomes(FIDC_TARGET_CPU,
            "method forward(%x: f32[1, 2, 8], %w: f32[4, 2, 3]) {\n"
            "  %a: f32[1, 4, 4] = aten.conv1d(%x, %w, None, [2], [1], [1], 1)\n"
            "  return %a\n"
            "}\n",
            "method forward(%x: f32[1, 2, 8], %w: f32[4, 2, 3]) {\n"
            "  %a: f32[1, 4, 4] = aten.convolution(%x, %w, None, [2], [1], [1], False, [0], 1)\n"
            "  return %a\n"
            "}\n");
}

static void a_global_average_is_a_mean(void **state) {
    (void)state;
    becomes(FIDC_TARGET_PORTABLE,
            "method forward(%x: f32[1, 2, 7, 7]) {\n"
            "  %a: f32[1, 2, 1, 1] = aten.adaptive_avg_pool2d(%x, [1, 1])\n"
            "  return %a\n"
            "}\n",
            "method forward(%x: f32[1, 2, 7, 7]) {\n"
            "  %a: f32[1, 2, 1, 1] = aten.mean.dim(%x, [-2, -1], True, None)\n"
            "  return %a\n"
            "}\n");
}

static void linear_stays_on_the_cpu_and_is_a_product_for_upstream(void **state) {
    (void)state;
    const char *linear = "method forward(%x: f32[2, 3], %w: f32[4, 3], %b: f32[4]) {\n"
                         "  %a: f32[2, 4] = aten.linear(%x, %w, %b)\n"
                         "  return %a\n"
                         "}\n";
    becomes(FIDC_TARGET_CPU, linear, linear);
    becomes(FIDC_TARGET_PORTABLE, linear,
            "method forward(%x: f32[2, 3], %w: f32[4, 3], %b: f32[4]) {\n"
            "  %_0: f32[3, 4] = aten.permute_copy(%w, [1, 0])\n"
            "  %a: f32[2, 4] = aten.addmm(%b, %x, %_0, 1, 1)\n"
            "  return %a\n"
            "}\n");
}

static void a_copy_into_another_dtype_is_a_dim_order_operator_for_upstream(void **state) {
    (void)state;
    becomes(FIDC_TARGET_PORTABLE,
            "method forward(%x: f32[2, 3]) {\n"
            "  %a: i64[2, 3] = aten.to.dtype(%x, dtype.int64, False, False, None)\n"
            "  return %a\n"
            "}\n",
            "method forward(%x: f32[2, 3]) {\n"
            "  %a: i64[2, 3] = dim_order_ops._to_dim_order_copy(%x, dtype.i64, None, None, None, False, [0, 1])\n"
            "  return %a\n"
            "}\n");
}

static void a_fraction_is_added_in_the_dtype_of_the_result_for_upstream(void **state) {
    (void)state;
    const char *sum = "method forward(%x: i64[2]) {\n  %a: f32[2] = aten.add.Scalar(%x, 0.5, 1)\n  return %a\n}\n";
    becomes(FIDC_TARGET_CPU, sum, sum);
    becomes(FIDC_TARGET_PORTABLE, sum,
            "method forward(%x: i64[2]) {\n"
            "  %_0: f32[2] = dim_order_ops._to_dim_order_copy(%x, dtype.f32, None, None, None, False, [0])\n"
            "  %a: f32[2] = aten.add.Scalar(%_0, 0.5, 1)\n"
            "  return %a\n"
            "}\n");
}

static void outside_training_rrelu_has_one_slope(void **state) {
    (void)state;
    becomes(FIDC_TARGET_CPU, "method forward(%x: f32[2]) {\n  %a: f32[2] = aten.rrelu(%x, 0.25, 0.75, False, None)\n  return %a\n}\n",
            "method forward(%x: f32[2]) {\n  %a: f32[2] = aten.leaky_relu(%x, 0.5)\n  return %a\n}\n");
}

static void training_mode_is_refused(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward(%x: f32[2]) {\n  %a: f32[2] = aten.dropout(%x, 0.5, True)\n  return %a\n}\n");
    pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_CPU)); /* the check at the end tells it with everything else */
    assert_int_equal(fidc_check_supported(c.program, FIDC_TARGET_CPU), FID_NOT_SUPPORTED);
    assert_non_null(strstr(c.message.text, "model.eval()"));
    pass_close(&c);
}

static void new_nodes_tell_the_source_of_the_old(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward(%x: f32[2]) {\n  %a: f32[2] = aten.silu(%x)\n  return %a\n}\n");
    c.program->methods[0]->first->source = "File \"model.py\", line 3, in forward\n    return silu(x)\n";
    pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_PORTABLE));
    for (const fidc_node *node = c.program->methods[0]->first; node; node = node->next) {
        assert_non_null(strstr(fidc_where(node), "model.py:3"));
    }
    pass_close(&c);
}

/* ---- Numbers ---- */

/* Each program runs on reference kernels as it is and rewritten for upstream: the same numbers, by operators that upstream has. */
static const char *const equal_programs[] = {
    "method forward(%x: f32[3, 4]) {\n  %a: f32[3, 4] = aten.silu(%x)\n  return %a\n}\n",
    "method forward(%x: f32[3, 4]) {\n  %a: f32[3, 4] = aten.hardswish(%x)\n  %b: f32[3, 4] = aten.hardsigmoid(%x)\n  return %a, %b\n}\n",
    "method forward(%x: f32[3, 4]) {\n  %a: f32[3, 4] = aten.softplus(%x, 2.0, 1.5)\n  %b: f32[3, 4] = aten.mish(%x)\n  return %a, %b\n}\n",
    "method forward(%x: f32[3, 4]) {\n  %a: f32[3, 4] = aten.log_sigmoid(%x)\n  %b: f32[3, 4] = aten.selu(%x)\n"
    "  %c: f32[3, 4] = aten.celu(%x, 0.7)\n  return %a, %b, %c\n}\n",
    "method forward(%x: f32[2, 3, 4], %w: f32[3]) {\n  %a: f32[2, 3, 4] = aten.prelu(%x, %w)\n  return %a\n}\n",
    "method forward(%x: f32[9]) {\n  %a: f32[9] = aten.hardshrink(%x, 0.5)\n  %b: f32[9] = aten.softshrink(%x, 0.5)\n"
    "  %c: f32[9] = aten.threshold(%x, 0.5, 7.0)\n  return %a, %b, %c\n}\n",
    "method forward(%x: f32[4], %y: f32[4], %z: f32[4]) {\n  %a: f32[4] = aten.addcmul(%x, %y, %z, 0.5)\n"
    "  %b: f32[4] = aten.addcdiv(%x, %y, %z, 2.0)\n  %c: f32[4] = aten.lerp.Scalar(%x, %y, 0.25)\n"
    "  %d: f32[4] = aten.lerp.Tensor(%x, %y, %z)\n  return %a, %b, %c, %d\n}\n",
    "method forward(%x: f32[4], %y: f32[4]) {\n  %a: f32[4] = aten.fmax(%x, %y)\n  %b: f32[4] = aten.hypot(%x, %y)\n"
    "  %c: f32[4] = aten.logaddexp(%x, %y)\n  %d: f32[4] = aten.frac(%x)\n  return %a, %b, %c, %d\n}\n",
    "method forward(%x: f32[8]) {\n  %a: f32[8] = aten.erfc(%x)\n  %b: f32[8] = aten.exp2(%x)\n  %c: f32[8] = aten.sinc(%x)\n"
    "  %d: f32[8] = aten.special_entr(%x)\n  return %a, %b, %c, %d\n}\n",
    "method forward(%x: f32[3, 4]) {\n  %n: f32[3, 4] = aten.log(%x)\n  %a: f32[3, 4] = aten.nan_to_num(%n, 0.5, None, -9.0)\n"
    "  %b: b8[3, 4] = aten.isfinite(%n)\n  return %a, %b\n}\n",
    "method forward(%c: b8[6], %x: f32[6]) {\n  %a: f32[6] = aten.where.ScalarOther(%c, %x, 3)\n"
    "  %b: f32[6] = aten.where.ScalarSelf(%c, 3, %x)\n  return %a, %b\n}\n",
    "method forward(%x: f32[2, 3, 4]) {\n  %a: b8[2, 4] = aten.all.dim(%x, 1, False)\n  %b: i64[2, 3] = aten.count_nonzero(%x, 2)\n"
    "  %c: f32[2, 1, 4], %d: f32[2, 1, 4] = aten.aminmax(%x, 1, True)\n  return %a, %b, %c, %d\n}\n",
    "method forward(%x: f32[2, 3, 4]) {\n  %a: f32[2, 4] = aten.std.correction(%x, [1], 1, False)\n  %b: f32[2, 3], %m: f32[2, 3] = "
    "aten.var_mean.correction(%x, [2], 0, False)\n  %c: f32[2, 4] = aten.logsumexp(%x, [1], False)\n  return %a, %b, %m, %c\n}\n",
    "method forward(%x: f32[2, 3, 4]) {\n  %a: f32[2, 3, 1] = aten.linalg_vector_norm(%x, 2, [2], True, None)\n"
    "  %b: f32[2, 3] = aten.linalg_vector_norm(%x, 3, [2], False, None)\n  %c: f32[2, 3] = aten.linalg_vector_norm(%x, inf, [2], False, None)\n"
    "  return %a, %b, %c\n}\n",
    "method forward(%x: f32[2, 3, 4], %y: f32[4, 5]) {\n  %a: f32[2, 3, 5] = aten.matmul(%x, %y)\n  return %a\n}\n",
    "method forward(%x: f32[2, 1, 3, 4], %y: f32[5, 4, 2]) {\n  %a: f32[2, 5, 3, 2] = aten.matmul(%x, %y)\n  return %a\n}\n",
    "method forward(%x: f32[4], %y: f32[4], %m: f32[3, 4]) {\n  %a: f32[] = aten.dot(%x, %y)\n  %b: f32[3] = aten.mv(%m, %x)\n  return %a, %b\n}\n",
    "method forward(%x: f32[2, 3, 4], %w: f32[5, 4]) {\n  %a: f32[2, 3, 5] = aten.linear(%x, %w, None)\n  return %a\n}\n",
    "method forward(%s: f32[2, 3, 5], %x: f32[2, 3, 4], %y: f32[2, 4, 5]) {\n  %a: f32[2, 3, 5] = aten.baddbmm(%s, %x, %y, 0.5, 2)\n  return %a\n}\n",
    "method forward(%q: f32[1, 2, 3, 4], %k: f32[1, 2, 5, 4], %v: f32[1, 2, 5, 4], %m: b8[3, 5]) {\n"
    "  %a: f32[1, 2, 3, 4] = aten.scaled_dot_product_attention(%q, %k, %v, %m, 0.0, False, None, False)\n  return %a\n}\n",
    "method forward(%q: f32[1, 4, 3, 4], %k: f32[1, 2, 3, 4], %v: f32[1, 2, 3, 4]) {\n"
    "  %a: f32[1, 4, 3, 4] = aten.scaled_dot_product_attention(%q, %k, %v, None, 0.0, True, 0.3, True)\n  return %a\n}\n",
    "method forward(%x: f32[2, 3, 8], %w: f32[8], %b: f32[8]) {\n  %a: f32[2, 3, 8] = aten.layer_norm(%x, [8], %w, %b, 1e-05, True)\n"
    "  %c: f32[2, 3, 8] = aten.rms_norm(%x, [8], %w, None)\n  return %a, %c\n}\n",
    "method forward(%x: f32[2, 5, 3], %h: f32[1, 2, 4], %c: f32[1, 2, 4], %wi: f32[16, 3], %wh: f32[16, 4], %bi: f32[16], %bh: f32[16]) {\n"
    "  %y: f32[2, 5, 4], %hn: f32[1, 2, 4], %cn: f32[1, 2, 4] = aten.lstm.input(%x, [%h, %c], [%wi, %wh, %bi, %bh], True, 1, 0.0, False, "
    "False, True)\n  return %y, %hn, %cn\n}\n",
    "method forward(%x: f32[5, 2, 3], %h: f32[2, 2, 4], %a: f32[12, 3], %b: f32[12, 4], %c: f32[12, 3], %d: f32[12, 4]) {\n"
    "  %y: f32[5, 2, 8], %hn: f32[2, 2, 4] = aten.gru.input(%x, %h, [%a, %b, %c, %d], False, 1, 0.0, False, True, False)\n  return %y, %hn\n}\n",
    "method forward(%x: f32[1, 2, 5, 6]) {\n  %a: f32[1, 2, 7, 11] = aten.upsample_bicubic2d.vec(%x, [7, 11], False, None)\n  return %a\n}\n",
    "method forward(%x: f32[1, 2, 3, 4, 5]) {\n  %a: f32[1, 2, 6, 4, 9] = aten.upsample_trilinear3d.vec(%x, [6, 4, 9], True, None)\n"
    "  %b: f32[1, 2, 6, 8, 10] = aten.upsample_nearest3d.vec(%x, None, [2.0, 2.0, 2.0])\n  return %a, %b\n}\n",
    "method forward(%x: f32[1, 2, 5, 6]) {\n  %a: f32[1, 12, 12] = aten.im2col(%x, [2, 3], [1, 1], [1, 0], [2, 1])\n"
    "  %b: f32[1, 2, 5, 6] = aten.col2im(%a, [5, 6], [2, 3], [1, 1], [1, 0], [2, 1])\n  return %a, %b\n}\n",
    "method forward(%t: f32[2, 2, 3]) {\n  %a: f32[2, 3, 4, 2] = aten.affine_grid_generator(%t, [2, 1, 3, 4], False)\n"
    "  %b: f32[2, 3, 4, 2] = aten.affine_grid_generator(%t, [2, 1, 3, 4], True)\n  return %a, %b\n}\n",
    "method forward(%x: f32[1, 6, 2, 3]) {\n  %a: f32[1, 6, 2, 3] = aten.channel_shuffle(%x, 3)\n  return %a\n}\n",
    "method forward(%x: f32[1, 2, 5, 6, 7]) {\n  %a: f32[1, 2, 3, 3, 4] = aten.avg_pool3d(%x, [3, 2, 2], [2, 2, 2], [1, 0, 1], False, False, None)\n"
    "  %b: f32[1, 2, 2, 3, 3] = aten.avg_pool3d(%x, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, 5)\n  return %a, %b\n}\n",
    "method forward(%x: f32[1, 2, 5, 6, 7]) {\n  %a: f32[1, 2, 2, 3, 3], %i: i64[1, 2, 2, 3, 3] = "
    "aten.max_pool3d_with_indices(%x, [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False)\n  return %a\n}\n",
    "method forward(%x: f32[1, 2, 7]) {\n  %a: f32[1, 2, 3], %i: i64[1, 2, 3] = aten.adaptive_max_pool1d(%x, [3])\n  return %a\n}\n",
    "method forward(%x: f32[1, 3, 4, 5, 5], %w: f32[2, 3, 2, 3, 3], %b: f32[2]) {\n"
    "  %a: f32[1, 2, 3, 3, 3] = aten.convolution(%x, %w, %b, [2, 1, 1], [1, 0, 0], [1, 1, 1], False, [0, 0, 0], 1)\n  return %a\n}\n",
    "method forward(%x: f32[4, 3], %s: f32[2, 3]) {\n  const %i: i64[2] = \"i\" {2, 0}\n  %a: f32[4, 3] = aten.index_copy(%x, 0, %i, %s)\n"
    "  %b: f32[4, 3] = aten.index_add(%x, 0, %i, %s, 2)\n  return %a, %b\n}\n",
    "method forward(%x: f32[4, 3], %i: i64[5, 3], %s: f32[5, 3]) {\n"
    "  %a: f32[4, 3] = aten.scatter_reduce.two(%x, 0, %i, %s, \"mean\", True)\n  %b: f32[4, 3] = aten.scatter_reduce.two(%x, 0, %i, %s, \"amax\", False)\n"
    "  %c: f32[4, 3] = aten.scatter_reduce.two(%x, 0, %i, %s, \"sum\", False)\n  %d: f32[4, 3] = aten.scatter_reduce.two(%x, 0, %i, %s, \"prod\", True)\n"
    "  return %a, %b, %c, %d\n}\n",
    "method forward(%x: f32[3, 7]) {\n  %a: f32[3, 7], %i: i64[3, 7] = aten.sort(%x, 1, True)\n  %b: f32[3], %j: i64[3] = aten.kthvalue(%x, 2, 1, False)\n"
    "  %c: f32[3, 1], %k: i64[3, 1] = aten.median.dim(%x, 1, True)\n  return %a, %i, %b, %j, %c, %k\n}\n",
    "method forward(%x: f32[3, 4]) {\n  %a: f32[3, 6] = aten.constant_pad_nd(%x, [3, -1], 0.5)\n  return %a\n}\n",
    "method forward(%x: f32[3, 5], %d: f32[3]) {\n  %a: f32[3, 5] = aten.diagonal_scatter(%x, %d, 1, 0, 1)\n  return %a\n}\n",
    "method forward(%w: f32[4, 3], %i: i64[5]) {\n  const %o: i64[2] = \"o\" {0, 3}\n"
    "  %a: f32[2, 3], %b: i64[5], %c: i64[2], %d: i64[2] = aten.embedding_bag(%w, %i, %o, False, 1, False, None, False)\n  return %a\n}\n",
    "method forward(%x: f32[6], %y: f32[6]) {\n  %a: f32[6] = aten.heaviside(%x, %y)\n  %b: b8[6] = aten.isclose(%x, %y, 0.5, 0.1, False)\n"
    "  %c: f32[6] = aten.special_ndtr(%x)\n  %d: f32[6] = aten.special_xlog1py(%x, %y)\n  %e: f32[6] = aten.copysign.Tensor(%x, %y)\n"
    "  return %a, %b, %c, %d, %e\n}\n",
    "method forward(%x: f32[3, 4], %y: f32[2, 3]) {\n  %a: f32[3, 4] = aten.triu(%x, 1)\n  %b: f32[] = aten.trace(%x)\n"
    "  %c: f32[5, 7] = aten.block_diag([%x, %y])\n  %d: f32[6, 12] = aten.kron(%x, %y)\n  return %a, %b, %c, %d\n}\n",
    "method forward(%x: f32[2], %y: f32[3]) {\n  %a: f32[6, 2] = aten.cartesian_prod([%x, %y])\n  %b: f32[2, 2] = aten.diagflat(%x, 0)\n"
    "  return %a, %b\n}\n",
    "method forward(%x: f32[4, 3], %y: f32[4, 3]) {\n  %a: f32[4, 3] = aten.linalg_cross(%x, %y, -1)\n  %b: f32[4] = aten.linalg_vecdot(%x, %y, -1)\n"
    "  %c: f32[4] = aten.trapezoid.x(%x, %y, -1)\n  %d: f32[4, 2] = aten.cumulative_trapezoid.dx(%x, 0.5, -1)\n  return %a, %b, %c, %d\n}\n",
    "method forward(%x: f32[3, 4], %i: i64[2, 2], %t: i64[3]) {\n  %a: f32[2, 2] = aten.take(%x, %i)\n"
    "  %b: b8[2, 2] = aten.isin.Tensor_Tensor(%i, %t, False, True)\n  return %a, %b\n}\n",
    "method forward(%x: f32[3, 4], %t: f32[3, 4], %w: f32[4]) {\n  %a: f32[] = aten.smooth_l1_loss(%x, %t, 1, 0.7)\n"
    "  %b: f32[] = aten.huber_loss(%x, %t, 2, 0.7)\n  %c: f32[3, 4] = aten.binary_cross_entropy_with_logits(%x, %t, None, %w, 0)\n"
    "  %d: f32[3, 4] = aten.kl_div(%x, %t, 0, True)\n  return %a, %b, %c, %d\n}\n",
    "method forward(%a: f32[3, 4], %b: f32[3, 4], %c: f32[3, 4]) {\n  %x: f32[] = aten.triplet_margin_loss(%a, %b, %c, 1.0, 2.0, 0.000001, True, 1)\n"
    "  %y: f32[] = aten.margin_ranking_loss(%a, %b, %c, 0.1, 1)\n  %z: f32[] = aten.soft_margin_loss(%a, %b, 2)\n  return %x, %y, %z\n}\n",
    "method forward(%x: f32[3, 4], %t: i64[3], %w: f32[4]) {\n  %a: f32[], %n: f32[] = aten.nll_loss_forward(%x, %t, %w, 1, 2)\n"
    "  %b: f32[3], %m: f32[] = aten.nll_loss_forward(%x, %t, None, 0, -100)\n  return %a, %n, %b\n}\n",
    "method forward(%x: f32[], %y: f32[]) {\n  %a: f32[5] = aten.linspace.Tensor_Tensor(%x, %y, 5, dtype.f32, None, None, None)\n"
    "  %b: f32[5] = aten.logspace.Tensor_Scalar(%x, 2, 5, 3.0, dtype.f32, None, None, None)\n  return %a, %b\n}\n",
};

static void the_portable_form_gives_the_same_numbers(void **state) {
    (void)state;
    static double before[PASS_MOST_NUMBERS], after[PASS_MOST_NUMBERS];
    for (size_t p = 0; p < sizeof equal_programs / sizeof equal_programs[0]; p++) {
        size_t count = pass_numbers(equal_programs[p], false, before);
        assert_int_equal(pass_numbers(equal_programs[p], true, after), count);
        for (size_t i = 0; i < count; i++) {
            bool same = before[i] == after[i] || (isnan(before[i]) && isnan(after[i])) ||
                        fabs(before[i] - after[i]) <= 2e-5 * (1 + fabs(before[i]));
            if (!same) fail_msg("element %zu is %g, was %g in\n%s", i, after[i], before[i], equal_programs[p]);
        }
    }
}

/* Composites have no kernel to compare with: their definitions, on numbers that are easy to follow. */
typedef struct worked_example { const char *text; double wanted[12]; size_t count; } worked_example;

static const worked_example worked_examples[] = {
    {"method forward() {\n  const %x: f32[4] = \"x\" {1, 3, 6, 10}\n  %a: f32[3] = aten.diff(%x, 1, -1, None, None)\n  return %a\n}\n", {2, 3, 4}, 3},
    {"method forward() {\n  const %x: f32[2] = \"x\" {1, 2}\n  %a: f32[4] = aten.repeat_interleave.self_int(%x, 2, None)\n  return %a\n}\n",
     {1, 1, 2, 2}, 4},
    {"method forward() {\n  const %x: f32[2, 2] = \"x\" {1, 2, 3, 4}\n  %a: f32[2, 2] = aten.rot90(%x, 1, [0, 1])\n  return %a\n}\n", {2, 4, 1, 3}, 4},
    {"method forward() {\n  const %x: f32[2] = \"x\" {1, 2}\n  const %y: f32[3] = \"y\" {1, 10, 100}\n"
     "  %a: f32[2, 3] = aten.einsum(\"i,j->ij\", [%x, %y], None)\n  return %a\n}\n",
     {1, 10, 100, 2, 20, 200}, 6},
    {"method forward() {\n  const %x: f32[2, 2] = \"x\" {1, 2, 3, 4}\n  %a: f32[] = aten.einsum(\"ii\", [%x], None)\n  return %a\n}\n", {5}, 1},
    {"method forward() {\n  const %x: f32[1, 2, 2] = \"x\" {1, 2, 3, 4}\n  const %y: f32[2, 1, 2] = \"y\" {1, 0, 0, 1}\n"
     "  %a: f32[2, 2] = aten.einsum(\"bij,jbk->ik\", [%x, %y], None)\n  return %a\n}\n",
     {1, 2, 3, 4}, 4},
    {"method forward() {\n  const %x: f32[2, 2] = \"x\" {1, 2, 3, 4}\n  %a: f32[2, 2] = aten.einsum(\"...i->i...\", [%x], None)\n  return %a\n}\n",
     {1, 3, 2, 4}, 4},
    {"method forward() {\n  const %x: i64[2] = \"x\" {2, 0}\n  %a: i64[2, 3] = aten.one_hot(%x, 3)\n  return %a\n}\n", {0, 0, 1, 1, 0, 0}, 6},
    {"method forward() {\n  const %x: f32[3] = \"x\" {1, 2, 3}\n  %a: f32[6] = aten._pad_circular(%x, [1, 2])\n  return %a\n}\n", {3, 1, 2, 3, 1, 2}, 6},
    {"method forward() {\n  const %x: f32[1, 2] = \"x\" {3, 4}\n  const %g: f32[1, 1] = \"g\" {1}\n"
     "  %a: f32[1, 2] = aten._weight_norm(%x, %g, 0)\n  return %a\n}\n",
     {0.6, 0.8}, 2},
    {"method forward() {\n  const %x: f32[1, 2] = \"x\" {-inf, -inf}\n  %a: f32[1, 2] = aten._safe_softmax(%x, 1, None)\n  return %a\n}\n", {0, 0}, 2},
    {"method forward() {\n  const %x: f32[2] = \"x\" {1, 2}\n  const %y: f32[2] = \"y\" {3, 4}\n"
     "  %a: f32[2, 2], %b: f32[2, 2] = aten.meshgrid.indexing([%x, %y], \"xy\")\n  return %a, %b\n}\n",
     {1, 2, 1, 2, 3, 3, 4, 4}, 8},
    {"method forward() {\n  const %x: f32[1, 1, 2, 2] = \"x\" {1, 2, 3, 4}\n  const %w: f32[1, 1, 2, 2] = \"w\" {1, 1, 1, 1}\n"
     "  %a: f32[1, 1, 2, 2] = aten.conv2d.padding(%x, %w, None, [1, 1], \"same\", [1, 1], 1)\n  return %a\n}\n",
     {10, 6, 7, 4}, 4},
    {"method forward() {\n  const %x: f32[1, 1, 4] = \"x\" {1, 3, 5, 9}\n  %a: f32[1, 1, 2] = aten.adaptive_avg_pool1d(%x, [2])\n"
     "  %b: f32[1, 1, 2] = aten.max_pool1d(%x, [2], [], [0], [1], False)\n  return %a, %b\n}\n",
     {2, 7, 3, 9}, 4},
    {"method forward() {\n  const %x: f32[4] = \"x\" {0.375, 2, -9, 100}\n"
     "  %a: i32[4] = quantized_decomposed.quantize_per_tensor(%x, 0.25, 1, -30, 127, dtype.i32)\n"
     "  %b: f32[4] = quantized_decomposed.dequantize_per_tensor(%a, 0.25, 1, -30, 127, dtype.i32, None)\n  return %a, %b\n}\n",
     {3, 9, -30, 127, 0.5, 2, -7.75, 31.5}, 8}, /* 1.5 rounds to 2 */
    {"method forward() {\n  const %x: f32[2, 2] = \"x\" {1, 2, 3, 4}\n  const %s: f32[2] = \"s\" {0.5, 2}\n  const %z: i64[2] = \"z\" {0, 10}\n"
     "  %a: i8[2, 2] = quantized_decomposed.quantize_per_channel(%x, %s, %z, 1, -128, 127, dtype.i8)\n  return %a\n}\n",
     {2, 11, 6, 12}, 4},
    {"method forward() {\n  const %x: f32[2] = \"x\" {-1, 1.55}\n"
     "  %s: f64[1], %z: i64[1] = quantized_decomposed.choose_qparams.tensor(%x, 0, 255, 1e-05, dtype.u8)\n  return %s, %z\n}\n",
     {0.01, 100}, 2},
};

static void composites_follow_their_definitions(void **state) {
    (void)state;
    static double got[PASS_MOST_NUMBERS];
    for (size_t e = 0; e < sizeof worked_examples / sizeof worked_examples[0]; e++) {
        const worked_example *example = &worked_examples[e];
        pass_check c;
        pass_open(&c, example->text);
        pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_CPU));
        pass_ok(&c, fidc_check_supported(c.program, FIDC_TARGET_CPU));
        assert_int_equal(pass_run(&c, got), example->count);
        for (size_t i = 0; i < example->count; i++) {
            if (fabs(got[i] - example->wanted[i]) > 1e-6) fail_msg("element %zu is %g, not %g in\n%s", i, got[i], example->wanted[i], example->text);
        }
        pass_close(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_become_copies_and_what_does_nothing_goes),
        cmocka_unit_test(a_permute_that_moves_only_ones_is_a_view),
        cmocka_unit_test(a_symbolic_size_becomes_minus_one_in_a_view),
        cmocka_unit_test(an_operand_is_not_expanded_for_an_operator_that_broadcasts),
        cmocka_unit_test(convolutions_become_one_operator),
        cmocka_unit_test(a_global_average_is_a_mean),
        cmocka_unit_test(linear_stays_on_the_cpu_and_is_a_product_for_upstream),
        cmocka_unit_test(a_copy_into_another_dtype_is_a_dim_order_operator_for_upstream),
        cmocka_unit_test(a_fraction_is_added_in_the_dtype_of_the_result_for_upstream),
        cmocka_unit_test(outside_training_rrelu_has_one_slope),
        cmocka_unit_test(training_mode_is_refused),
        cmocka_unit_test(new_nodes_tell_the_source_of_the_old),
        cmocka_unit_test(the_portable_form_gives_the_same_numbers),
        cmocka_unit_test(composites_follow_their_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
