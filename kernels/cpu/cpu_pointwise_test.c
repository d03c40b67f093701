/* Fast pointwise operators against their references: flat, broadcast and transposed operands. */
#include "kernels/cpu/kernel_testing.h"

static fid_value *special(fid_value *v) {
    float *data = v->as.tensor->data;
    const float values[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-40f, 100.0f, -100.0f, 3.0f, -3.0f};
    for (size_t i = 0; i < 10 && i * 3 < fid_tensor_numel(v->as.tensor); i++) data[i * 3] = values[i];
    return v;
}

#define UNARY(id, ...)                                                                                                 \
    for (int64_t n = 1; n < 60; n += 7) COMPARE(id, 1, 4e-7, special(FLOATS(ROW_MAJOR, 8, n, 3)) __VA_ARGS__);          \
    COMPARE(id, 1, 4e-7, special(FLOATS(CHANNELS_LAST, 8, 2, 5, 31, 33)) __VA_ARGS__);                                 \
    testing_free()

static void unary_functions_match(void **state) {
    (void)state;
    UNARY(relu);
    UNARY(sigmoid);
    UNARY(hardsigmoid);
    UNARY(hardswish);
    UNARY(tanh);
    UNARY(exp);
    UNARY(erf);
    UNARY(sqrt);
    UNARY(rsqrt);
    UNARY(reciprocal);
    UNARY(abs);
    UNARY(neg);
    UNARY(square);
    UNARY(silu);
    UNARY(hardtanh, , DOUBLE(-0.5), DOUBLE(6));
    UNARY(clamp, , NOTHING, DOUBLE(1));
    UNARY(clamp, , DOUBLE(-1), NOTHING);
    UNARY(clamp_min, , DOUBLE(0.5));
    UNARY(clamp_max, , DOUBLE(0.5));
    UNARY(leaky_relu, , DOUBLE(0.01));
    UNARY(elu, , DOUBLE(1.5), INT(1), INT(1));
    UNARY(gelu, , testing_text("none"));
    UNARY(gelu, , testing_text("tanh"));
    UNARY(pow_Tensor_Scalar, , INT(2));
    UNARY(pow_Tensor_Scalar, , INT(3));
    UNARY(pow_Tensor_Scalar, , DOUBLE(0.3));
    UNARY(log);
    UNARY(log2);
    UNARY(log1p);
    UNARY(expm1);
    UNARY(sin);
    UNARY(cos);
    UNARY(tan);
    UNARY(atan);
    UNARY(floor);
    UNARY(ceil);
    UNARY(round);
    UNARY(trunc);
    UNARY(sign);
    UNARY(softplus, , DOUBLE(2), DOUBLE(10));
    UNARY(log_sigmoid);
    UNARY(mish);
    UNARY(relu6);
}

#define PAIR(a, b)                                                                                                     \
    COMPARE(add_Tensor, 1, 3e-7, a, b, DOUBLE(1));                                                                     \
    COMPARE(sub_Tensor, 1, 3e-7, a, b, DOUBLE(0.5));                                                                   \
    COMPARE(rsub_Tensor, 1, 3e-7, a, b, INT(2));                                                                       \
    COMPARE(mul_Tensor, 1, 3e-7, a, b);                                                                                \
    COMPARE(div_Tensor, 1, 3e-7, a, b);                                                                                \
    COMPARE(maximum, 1, 0, a, b);                                                                                      \
    COMPARE(minimum, 1, 0, a, b);                                                                                      \
    testing_free()

static void binary_functions_broadcast(void **state) {
    (void)state;
    PAIR(FLOATS(ROW_MAJOR, 4, 3, 37), FLOATS(ROW_MAJOR, 4, 3, 37));
    PAIR(FLOATS(ROW_MAJOR, 4, 70, 41), FLOATS(ROW_MAJOR, 4, 41));
    PAIR(FLOATS(ROW_MAJOR, 4, 70, 41), FLOATS(ROW_MAJOR, 4, 70, 1));
    PAIR(FLOATS(ROW_MAJOR, 4, 1), FLOATS(ROW_MAJOR, 4, 5, 3));
    PAIR(FLOATS(ROW_MAJOR, 4, 5, 1, 3), FLOATS(ROW_MAJOR, 4, 1, 4, 3));
    PAIR(FLOATS(ROW_MAJOR, 4, 2, 1), FLOATS(ROW_MAJOR, 4, 1, 9));
    PAIR(FLOATS(CHANNELS_LAST, 4, 2, 19, 5, 6), FLOATS(CHANNELS_LAST, 4, 2, 19, 1, 1));
    PAIR(FLOATS(CHANNELS_LAST, 4, 2, 19, 5, 6), FLOATS(ROW_MAJOR, 4, 2, 19, 5, 6));
    PAIR(FLOATS(CHANNELS_LAST, 4, 2, 19, 5, 6), FLOATS(ROW_MAJOR, 4, 19, 1, 1));
    PAIR(special(FLOATS(ROW_MAJOR, 4, 40)), FLOATS(ROW_MAJOR, 4, 40));
    PAIR(FLOATS(ROW_MAJOR, 4, 40), special(FLOATS(ROW_MAJOR, 4, 40)));
    PAIR(FLOATS(ROW_MAJOR, 4, 300, 300), FLOATS(ROW_MAJOR, 4, 300, 300));
    PAIR(FLOATS(ROW_MAJOR, 4, 0, 5), FLOATS(ROW_MAJOR, 4, 5));
}

static void numbers_stand_for_tensors(void **state) {
    (void)state;
    COMPARE(add_Scalar, 1, 3e-7, FLOATS(ROW_MAJOR, 4, 3, 37), DOUBLE(1.5), INT(2));
    COMPARE(sub_Scalar, 1, 3e-7, FLOATS(ROW_MAJOR, 4, 3, 37), DOUBLE(1.5), INT(1));
    COMPARE(rsub_Scalar, 1, 3e-7, FLOATS(ROW_MAJOR, 4, 3, 37), INT(1), INT(1));
    COMPARE(mul_Scalar, 1, 3e-7, FLOATS(ROW_MAJOR, 4, 3, 37), DOUBLE(0.1));
    COMPARE(div_Scalar, 1, 3e-7, FLOATS(ROW_MAJOR, 4, 3, 37), INT(3));
    testing_free();
}

static void halves_gate_each_other(void **state) {
    (void)state;
    COMPARE(glu, 1, 4e-7, FLOATS(ROW_MAJOR, 4, 3, 38), INT(-1));
    COMPARE(glu, 1, 4e-7, FLOATS(ROW_MAJOR, 4, 3, 38, 5), INT(1));
    COMPARE(glu, 1, 4e-7, FLOATS(CHANNELS_LAST, 4, 3, 38, 5), INT(1));
    testing_free();
}

/* ---- fid::pointwise ---- */

static fid_value *listed(size_t count, fid_tensor **items) {
    fid_tensor **copy = testing_allocate(count * sizeof *copy);
    memcpy(copy, items, count * sizeof *copy);
    return testing_value((fid_value){.as.tensors = {copy, count}, .tag = FID_TAG_TENSOR_LIST});
}

static fid_value *numbers(double a, double b) {
    double *items = testing_allocate(2 * sizeof *items);
    items[0] = a, items[1] = b;
    return testing_value((fid_value){.as.doubles = {items, 2}, .tag = FID_TAG_DOUBLE_LIST});
}

static fid_value *truths(size_t rank, const int64_t *sizes) {
    fid_tensor *t = testing_tensor(FID_BOOL, rank, sizes, ROW_MAJOR);
    for (size_t i = 0; i < fid_tensor_numel(t); i++) ((uint8_t *)t->data)[i] = testing_random() > 0;
    return testing_value(fid_tensor_value(t));
}

#define LISTED(...) listed(sizeof((fid_value *[]){__VA_ARGS__}) / sizeof(fid_value *), tensors_of((fid_value *[]){__VA_ARGS__}, sizeof((fid_value *[]){__VA_ARGS__}) / sizeof(fid_value *)))

static fid_tensor **tensors_of(fid_value **values, size_t count) {
    fid_tensor **tensors = testing_allocate(count * sizeof *tensors);
    for (size_t i = 0; i < count; i++) tensors[i] = values[i]->as.tensor;
    return tensors;
}

/* One pass gives what the functions give one after the other, over broadcasts, rows apart, and blocks that end anywhere. */
static void chains_run_in_one_pass(void **state) {
    static const char *const texts[] = {"add @0 @1; relu $0", "mul @0 @1; sub $0 @2 #0; sigmoid $1; mul $2 @0; gate $3 $1", "div @1 #0; clamp $0 #0 #1; max $1 @2",
                                        "lt @0 @1; where $0 @2 #1; add $1 @0; silu $2"};
    static const int64_t shapes[][3][4] = {{{3, 37, 1, 1}, {3, 37, 1, 1}, {3, 37, 1, 1}}, {{2, 5, 31, 33}, {1, 5, 1, 1}, {2, 1, 31, 33}},
                                           {{1, 1, 70, 41}, {1, 1, 1, 41}, {1, 1, 70, 1}}, {{1, 1, 3, 1025}, {1, 1, 1, 1}, {1, 1, 3, 1025}},
                                           {{1, 4, 1, 3000}, {1, 1, 5, 1}, {1, 4, 5, 3000}}, {{0, 4, 1, 1}, {1, 4, 1, 1}, {1, 1, 1, 1}}};
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (testing_order order = ROW_MAJOR; order <= CHANNELS_LAST; order++) {
                COMPARE(fused_pointwise, 1, 6e-7, LISTED(testing_floats(4, shapes[s][0], order, 3), testing_floats(4, shapes[s][1], ROW_MAJOR, 3),
                        testing_floats(4, shapes[s][2], ROW_MAJOR, 3)), testing_text(texts[t]), numbers(0.5, 2));
                testing_free();
            }
    COMPARE(fused_pointwise, 1, 0, LISTED(FLOATS(ROW_MAJOR, 3, 7, 45), truths(2, (int64_t[]){7, 1})), testing_text("not @1; where $0 @0 #0"), numbers(-1, 0));
    testing_free();
}

/* Rows of any start and length, by every instruction set's stores around the caches. */
static void streams_write_what_they_are_told(void **state) {
    (void)state;
    const fidk_tiles *tiles;
    uint32_t needs;
    float from[200], to[200];
    for (int i = 0; i < 200; i++) from[i] = (float)i + 1;
    for (size_t s = 0; (tiles = fidk_tiles_at(s, &needs)); s++) {
        for (size_t begin = 0; begin < 18 && !(needs & ~fid_cpu_detect()); begin++)
            for (size_t count = 0; count < 150; count += 1 + count / 9) {
                memset(to, 0, sizeof to);
                tiles->stream(from + 3, to + begin, count);
                tiles->settle();
                for (size_t i = 0; i < 200; i++) assert_true(to[i] == (i >= begin && i < begin + count ? from[i - begin + 3] : 0));
            }
    }
}

/* Too large for the caches: written around them. */
static void large_results_come_out_the_same(void **state) {
    (void)state;
    const int64_t count = (8 << 20) + 5;
    const fid_op *op = &fid_builtin_ops.ops[FID_OPID_add_Tensor];
    fid_value *inputs[] = {FLOATS(ROW_MAJOR, 1, count), FLOATS(ROW_MAJOR, 1, count), INT(1)};
    for (size_t threads = 1; threads <= 2; threads++) {
        const fid_tensor *sum = testing_run(op, op->cpu, 3, inputs, 1, fid_cpu_detect(), threads, NULL);
        const float *a = inputs[0]->as.tensor->data, *b = inputs[1]->as.tensor->data, *y = sum->data;
        int64_t wrong = 0;
        for (int64_t i = 0; i < count; i++) wrong += !(y[i] == a[i] + b[i]);
        assert_int_equal(wrong, 0);
    }
    testing_free();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_write_what_they_are_told), cmocka_unit_test(large_results_come_out_the_same),
        cmocka_unit_test(unary_functions_match),
        cmocka_unit_test(binary_functions_broadcast),
        cmocka_unit_test(numbers_stand_for_tensors),
        cmocka_unit_test(halves_gate_each_other),
        cmocka_unit_test(chains_run_in_one_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
