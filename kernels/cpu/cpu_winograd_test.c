/* Winograd convolutions: the fast kernel against the reference, and both against direct sums over the plain weights. */
#include "kernels/cpu/kernel_testing.h"

#include "kernels/cpu/conv.h"

typedef struct layer {
    int64_t batch, in, out, height, width, before, after; /* padding, the same for lines and columns */
} layer;

static const layer layers[] = {
    {1, 1, 1, 1, 1, 1, 1},    {1, 1, 3, 3, 3, 0, 0},     {2, 3, 5, 4, 7, 1, 1},      {1, 16, 16, 8, 8, 1, 1},  {1, 17, 33, 5, 6, 1, 1},
    {1, 35, 40, 7, 9, 0, 1},  {3, 20, 18, 6, 5, 2, 0},   {1, 64, 70, 13, 11, 1, 1},  {2, 48, 16, 14, 14, 1, 1}, {1, 70, 64, 9, 23, 1, 2},
    {1, 40, 48, 33, 31, 1, 1}, {1, 331, 20, 6, 6, 1, 1}, {1, 128, 130, 2, 3, 1, 1},  {0, 4, 4, 6, 6, 1, 1},    {1, 4, 5, 5, 5, 7, 5},
    {1, 512, 32, 9, 9, 1, 1},
};
enum { LAYERS = sizeof layers / sizeof *layers };

/* Plain weights of one layer: row-major. */
static fid_convolution plain(const layer *l, float scale) {
    return (fid_convolution){.weight = FLOATS(ROW_MAJOR, scale, l->out, l->in, 3, 3)->as.tensor, .in_channels = l->in, .out_channels = l->out,
                             .groups = 1, .window = {.spatial = 2, .kernel = {1, 3, 3}}};
}

static fid_value *packed(const fid_convolution *conv, int64_t m) {
    fid_value *result = m ? FLOATS(ROW_MAJOR, 0, fid_panels(conv->out_channels), fid_winograd_positions(m), conv->in_channels, FID_PANEL)
                          : FLOATS(ROW_MAJOR, 0, fid_panels(conv->out_channels), 9 * conv->in_channels, FID_PANEL);
    assert_int_equal(fid_tensor_numel(result->as.tensor), m ? fidk_winograd_packed_floats(conv, m) : fidk_conv_packed_floats(conv));
    if (m) fidk_winograd_pack(conv, m, result->as.tensor->data);
    else fidk_conv_pack(conv, result->as.tensor->data);
    return testing_constant(result);
}

static fid_value *input_of(const layer *l) { return FLOATS(CHANNELS_LAST, 1, l->batch, l->in, l->height, l->width); }

static fid_value *add_of(const layer *l) {
    int64_t more = l->before + l->after - 2;
    return FLOATS(CHANNELS_LAST, 1, l->batch, l->out, l->height + more, l->width + more);
}

#define ARGUMENTS(l, input, weight, bias, add, activation, scale)                                                      \
    input, weight, bias, add, INT((l)->out), INTS(3, 3), INTS(1, 1), INTS((l)->before, (l)->before, (l)->after, (l)->after), INTS(1, 1), \
        INT(1), testing_text(activation), DOUBLE(-0.5), DOUBLE(0.75), scale

static void fast_kernel_matches(void **state) {
    const char *names[] = {"none", "relu", "clamp", "silu"};
    (void)state;
    for (size_t i = 0; i < 12 * LAYERS; i++) {
        const layer *l = &layers[i / 12];
        size_t way = i % 4;
        fid_convolution conv = plain(l, 0.5f);
        COMPARE(fused_convolution, 1, 1e-4, ARGUMENTS(l, input_of(l), packed(&conv, 2 + (int64_t)(i / 4 % 3)), way % 2 ? FLOATS(ROW_MAJOR, 1, l->out) : NOTHING,
                                                     way > 1 ? add_of(l) : NOTHING, names[(way + i / 12) % 4], way == 3 ? FLOATS(ROW_MAJOR, 1, l->out) : NOTHING));
        testing_free();
    }
}

/* The reference of both forms must agree, but for the rounding of transformed weights. */
static void transforms_give_the_convolution(void **state) {
    const fid_op *op = &fid_builtin_ops.ops[FID_OPID_fused_convolution];
    (void)state;
    for (size_t i = 0; i < 3 * LAYERS; i++) {
        const layer *l = &layers[i / 3];
        fid_convolution conv = plain(l, 1);
        fid_value *args[] = {ARGUMENTS(l, input_of(l), packed(&conv, 0), NOTHING, NOTHING, "none", NOTHING)};
        fid_tensor *direct = testing_run(op, op->reference, 14, args, 1, 0, 1, NULL);
        args[1] = packed(&conv, 2 + (int64_t)(i % 3));
        double distance = testing_distance(testing_run(op, op->reference, 14, args, 1, 0, 1, NULL), direct);
        if (!(distance <= 1e-5)) fail_msg("layer %zu, F(%zu): off by %g", i / 3, i % 3 + 2, distance);
        testing_free();
    }
}

/* Rounding in float32 stays near to that of direct sums: inputs and sums as in a network, of size 1. */
static void rounding_is_small(void **state) {
    const fid_op *op = &fid_builtin_ops.ops[FID_OPID_fused_convolution];
    static const double most[] = {2e-6, 3e-6, 5e-6};
    (void)state;
    for (int64_t channels = 64; channels <= 512; channels *= 2) {
        for (size_t i = 0; i < 3; i++) {
            layer l = {1, channels, 16, 14, 14, 1, 1};
            fid_convolution conv = plain(&l, 1 / sqrtf((float)channels));
            fid_value *args[] = {ARGUMENTS(&l, input_of(&l), packed(&conv, 0), NOTHING, NOTHING, "none", NOTHING)};
            fid_tensor *right = testing_run(op, op->reference, 14, args, 1, 0, 1, NULL);
            args[1] = packed(&conv, 2 + (int64_t)i);
            double distance = testing_distance(testing_run(op, op->cpu, 14, args, 1, fid_cpu_detect(), 1, NULL), right);
            if (!(distance <= most[i])) fail_msg("%d channels, F(%zu): off by %g", (int)channels, i + 2, distance);
            testing_free();
        }
    }
}

/* Layers of several blocks, shared by tiles and by output channels: the same bits for every number of threads. */
static void blocks_and_threads_do_not_show(void **state) {
    static const layer large[] = {{1, 20, 24, 90, 85, 1, 1}, {2, 64, 40, 30, 31, 1, 1}, {1, 512, 320, 19, 20, 1, 1}};
    const fid_op *op = &fid_builtin_ops.ops[FID_OPID_fused_convolution];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const layer *l = &large[i];
        fid_convolution conv = plain(l, 1 / sqrtf((float)l->in));
        fid_value *args[] = {ARGUMENTS(l, input_of(l), packed(&conv, 2 + (int64_t)i % 2), FLOATS(ROW_MAJOR, 1, l->out), add_of(l), "clamp", NOTHING)};
        fid_tensor *right = testing_run(op, op->reference, 14, args, 1, 0, 1, NULL), *serial = NULL;
        for (size_t threads = 1; threads <= 8; threads++) {
            fid_tensor *fast = testing_run(op, op->cpu, 14, args, 1, fid_cpu_detect(), threads, NULL);
            if (!serial) serial = fast;
            assert_true(testing_distance(fast, right) <= 1e-5);
            assert_memory_equal(serial->data, fast->data, fid_tensor_bytes(serial));
        }
        testing_free();
    }
}

static void nan_comes_out(void **state) {
    const fid_op *op = &fid_builtin_ops.ops[FID_OPID_fused_convolution];
    (void)state;
    for (int64_t m = 2; m <= 4; m++) {
        layer l = {1, 16, 16, 9, 9, 1, 1};
        fid_convolution conv = plain(&l, 1);
        fid_value *input = input_of(&l);
        ((float *)input->as.tensor->data)[16 * 40] = NAN; /* the middle: line 4, column 4 */
        fid_value *args[] = {ARGUMENTS(&l, input, packed(&conv, m), NOTHING, NOTHING, "relu", NOTHING)};
        const float *out = testing_run(op, op->cpu, 14, args, 1, fid_cpu_detect(), 1, NULL)->data;
        for (size_t y = 3; y <= 5; y++)
            for (size_t x = 3; x <= 5; x++) assert_true(out[(y * 9 + x) * 16] != out[(y * 9 + x) * 16]);
        testing_free();
    }
}

/* Weights of another geometry are refused, not read. */
static void wrong_calls_are_refused(void **state) {
    const fid_op *op = &fid_builtin_ops.ops[FID_OPID_fused_convolution];
    (void)state;
    struct { size_t argument; fid_value *value; } wrong[] = {
        {1, FLOATS(ROW_MAJOR, 1, 1, 16, 5, 16)}, {1, FLOATS(ROW_MAJOR, 1, 2, 16, 4, 16)}, {1, FLOATS(ROW_MAJOR, 1, 1, 24, 4, 16)},
        {1, FLOATS(ROW_MAJOR, 1, 1, 16, 4, 8)},  {5, INTS(3, 1)},                           {6, INTS(2, 2)},
        {8, INTS(2, 2)},                         {9, INT(2)},                               {4, INT(17)},
    };
    layer l = {1, 4, 6, 8, 8, 1, 1};
    fid_convolution conv = plain(&l, 1);
    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        fid_value *args[] = {ARGUMENTS(&l, input_of(&l), packed(&conv, 2), NOTHING, NOTHING, "none", NOTHING)};
        fid_call call = {.name = op->name, .args = args, .arg_count = 14, .output_index = 14};
        fid_meta meta;
        if (i) args[wrong[i - 1].argument] = wrong[i - 1].value;
        assert_int_equal(op->shape(&call, &meta, 1), i ? FID_INVALID_ARGUMENT : FID_OK);
    }
    testing_free();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_kernel_matches), cmocka_unit_test(transforms_give_the_convolution), cmocka_unit_test(rounding_is_small), cmocka_unit_test(blocks_and_threads_do_not_show),
        cmocka_unit_test(nan_comes_out),       cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
