/* Products with weights of bfloat16 pairs against their references, on every form of the pair tiles: AMX, AVX512-BF16, plain.
 *
 * Inputs are multiples of 1/8 below 2, which bfloat16 holds: what differs is the order of sums alone. One test rounds. */
#include "kernels/cpu/kernel_testing.h"

#include "kernels/cpu/conv.h"
#include "kernels/cpu/pack_weights.h"
#include "platform/posix/cpu_detect.h"

static const uint32_t sets[] = {0, FID_CPU_AVX2_FMA, FID_CPU_AVX2_FMA | FID_CPU_AVX512 | FID_CPU_AVX512_BF16,
                                FID_CPU_AVX2_FMA | FID_CPU_AVX512 | FID_CPU_AVX512_BF16 | FID_CPU_AMX_BF16};

static fid_value *eighths(fid_value *v) {
    float *data = v->as.tensor->data;
    for (size_t i = 0; i < fid_tensor_numel(v->as.tensor); i++) data[i] = rintf(data[i] * 8) / 8;
    return v;
}

static fid_value *pairs_of(const float *packed, int64_t panels, int64_t k) {
    fid_tensor *t = testing_tensor(FID_BFLOAT16, 3, (int64_t[]){panels, fid_pair_rows(k), FID_PAIR_COLUMNS}, ROW_MAJOR);
    fidk_pack_pairs(packed, (size_t)panels, (size_t)k, t->data);
    return testing_constant(testing_value(fid_tensor_value(t)));
}

static void compare(fid_op_id id, size_t count, fid_value *const *inputs, double tolerance) {
    const fid_op *op = &fid_builtin_ops.ops[id];
    fid_tensor *right = testing_run(op, op->reference, count, inputs, 1, 0, 1, NULL);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        if (sets[s] & ~fid_cpu_detect()) continue;
        fid_tensor *serial = NULL;
        for (size_t run = 0; run < TESTING_RUNS; run++) {
            size_t threads = testing_threads(run);
            fid_tensor *fast = testing_run(op, op->cpu, count, inputs, 1, sets[s], threads, NULL);
            assert_non_null(fast);
            double distance = testing_distance(fast, right);
            if (!(distance <= tolerance)) fail_msg("%s: set %zu, %zu threads: off by %g", op->name, s, threads, distance);
            if (!serial) serial = fast;
            assert_memory_equal(serial->data, fast->data, fid_tensor_bytes(serial));
        }
    }
}

static fid_value *linear_weight(int64_t n, int64_t k) {
    fid_tensor *w = eighths(FLOATS(ROW_MAJOR, 2, n, k))->as.tensor;
    float *packed = testing_allocate(fidk_packed_floats((size_t)n, (size_t)k) * sizeof *packed);
    fidk_pack_rows(w->data, (size_t)k, (size_t)n, (size_t)k, packed);
    return pairs_of(packed, (int64_t)fidk_panels((size_t)n), k);
}

static void linear_layers_match(void **state) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 33, 7}, {2, 64, 40}, {3, 100, 9}, {5, 16, 0}, {17, 17, 31}, {31, 33, 32}, {33, 48, 65},
                                        {64, 96, 512}, {197, 70, 641}, {300, 16, 2000}, {0, 4, 3}};
    static const char *const names[] = {"none", "relu", "silu", "clamp"};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
        fid_value *inputs[] = {eighths(FLOATS(ROW_MAJOR, 2, m, k)), linear_weight(n, k), i % 2 ? NOTHING : FLOATS(ROW_MAJOR, 1, n),
                               i % 3 ? FLOATS(ROW_MAJOR, 1, m, n) : NOTHING, INT(n), testing_text(names[i % 4]), DOUBLE(-1), DOUBLE(3)};
        compare(FID_OPID_fused_linear, 8, inputs, 1e-4);
        testing_free();
    }
}

/* Rows are rounded to bfloat16: 2^-9 of each product at most, and as often up as down. */
static void rows_are_rounded(void **state) {
    (void)state;
    fid_value *inputs[] = {FLOATS(ROW_MAJOR, 1, 70, 384), linear_weight(50, 384), NOTHING, NOTHING, INT(50), testing_text("none"), DOUBLE(0), DOUBLE(0)};
    compare(FID_OPID_fused_linear, 8, inputs, 0.05);
    testing_free();
}

static void not_a_number_reaches_the_result(void **state) {
    (void)state;
    fid_value *a = eighths(FLOATS(ROW_MAJOR, 2, 35, 40));
    ((float *)a->as.tensor->data)[41] = NAN;
    ((float *)a->as.tensor->data)[1390] = INFINITY;
    fid_value *inputs[] = {a, linear_weight(5, 40), NOTHING, NOTHING, INT(5), testing_text("relu"), DOUBLE(0), DOUBLE(0)};
    compare(FID_OPID_fused_linear, 8, inputs, 1e-4);
    testing_free();
}

static void convolutions_match(void **state) {
    static const struct { int64_t batch, in, out, groups, size[2], kernel[2], stride[2], padding[4], dilation[2]; } cases[] = {
        {1, 3, 5, 1, {9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},   {2, 16, 33, 1, {5, 7}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
        {1, 35, 40, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1, 0, 2}, {1, 1}},  {1, 64, 48, 1, {6, 5}, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
        {2, 12, 18, 3, {6, 8}, {3, 2}, {1, 2}, {1, 0, 1, 0}, {1, 1}},  {1, 20, 17, 1, {30, 31}, {1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t in = cases[i].in / cases[i].groups, out = cases[i].out / cases[i].groups, taps = cases[i].kernel[0] * cases[i].kernel[1];
        fid_tensor *plain = eighths(FLOATS(ROW_MAJOR, 2, cases[i].out, in, cases[i].kernel[0], cases[i].kernel[1]))->as.tensor;
        fid_convolution conv = {.weight = plain, .groups = cases[i].groups, .in_channels = cases[i].in, .out_channels = cases[i].out,
                                .window = {.kernel = {1, cases[i].kernel[0], cases[i].kernel[1]}}};
        float *packed = testing_allocate(fidk_conv_packed_floats(&conv) * sizeof *packed);
        fidk_conv_pack(&conv, packed);
        fid_value *inputs[] = {eighths(FLOATS(CHANNELS_LAST, 2, cases[i].batch, cases[i].in, cases[i].size[0], cases[i].size[1])),
                               pairs_of(packed, cases[i].groups * (int64_t)fidk_panels((size_t)out), taps * in), FLOATS(ROW_MAJOR, 1, cases[i].out), NOTHING,
                               INT(cases[i].out), testing_ints(2, cases[i].kernel), testing_ints(2, cases[i].stride), testing_ints(4, cases[i].padding),
                               testing_ints(2, cases[i].dilation), INT(cases[i].groups), testing_text(i % 2 ? "relu" : "hardswish"), DOUBLE(0), DOUBLE(0),
                               i % 2 ? FLOATS(ROW_MAJOR, 1, cases[i].out) : NOTHING};
        compare(FID_OPID_fused_convolution, 14, inputs, 1e-4);
        testing_free();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_layers_match),
        cmocka_unit_test(rows_are_rounded),
        cmocka_unit_test(not_a_number_reaches_the_result),
        cmocka_unit_test(convolutions_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
