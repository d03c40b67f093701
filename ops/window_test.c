/* Geometry of convolutions and pools as the shape functions of the training IR's operators give it; golden cases cover the rows
 * that have kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/shape.h"
#include "ops/window.h"

/* A call under construction: add arguments in order, then ask for the shape. */
typedef struct builder {
    fid_value values[12], *args[12];
    fid_tensor tensors[12];
    int64_t numbers[12][5], strides[12][5];
    uint8_t orders[12][5];
    uint32_t count;
    fid_message message;
    fid_sink sink;
    fid_meta out;
} builder;

static void add(builder *b, fid_value value) {
    b->values[b->count] = value;
    b->args[b->count] = &b->values[b->count];
    b->count++;
}

static void add_tensor(builder *b, size_t rank, const int64_t *sizes, bool channels_last) {
    uint32_t i = b->count;
    fid_tensor *t = &b->tensors[i];
    *t = (fid_tensor){.sizes = b->numbers[i], .strides = b->strides[i], .dim_order = b->orders[i], .rank = (uint8_t)rank, .dtype = FID_FLOAT32};
    memcpy(t->sizes, sizes, rank * sizeof sizes[0]);
    for (uint8_t d = 0; d < rank; d++) t->dim_order[d] = channels_last && d ? (uint8_t)(d + 1u < rank ? d + 1 : 1) : d;
    fid_tensor_update_strides(t);
    add(b, fid_tensor_value(t));
}

static void add_ints(builder *b, size_t count, const int64_t *items) {
    int64_t *copy = b->numbers[b->count];
    if (count) memcpy(copy, items, count * sizeof items[0]);
    add(b, (fid_value){.as.ints = {copy, count}, .tag = FID_TAG_INT_LIST});
}

#define TENSOR(b, channels_last, ...) add_tensor((b), sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__}, channels_last)
#define INTS(b, ...) add_ints((b), sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})

static fid_status shape(builder *b, fid_shape_function function) {
    b->sink = fid_message_sink(&b->message);
    fid_call call = {.name = "aten::test", .args = b->args, .arg_count = b->count, .output_index = b->count, .sink = &b->sink};
    return function(&call, &b->out, 1);
}

static void expect_out(const builder *b, size_t rank, const int64_t *sizes) {
    assert_int_equal(b->out.rank, rank);
    for (size_t d = 0; d < rank; d++) assert_int_equal(b->out.sizes[d], sizes[d]);
}
#define EXPECT(b, ...) expect_out((b), sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})

/* conv2d(input, weight, None, stride, padding, dilation, 1). */
static void conv2d_of(builder *b, fid_value padding, int64_t stride, int64_t dilation, bool channels_last) {
    TENSOR(b, channels_last, 2, 3, 9, 8);
    TENSOR(b, false, 4, 3, 4, 3);
    add(b, fid_none_value());
    INTS(b, stride);
    add(b, padding);
    INTS(b, dilation);
    add(b, fid_int_value(1));
}

static fid_value text(const char *name) { return (fid_value){.as.string = {name, strlen(name)}, .tag = FID_TAG_STRING}; }

static void one_number_stands_for_all_dimensions(void **state) {
    (void)state;
    builder b = {0};
    conv2d_of(&b, fid_int_value(1), 2, 1, false);
    assert_int_equal(shape(&b, fid_shape_conv_nd), FID_OK);
    EXPECT(&b, 2, 4, 4, 4);
}

static void same_padding_keeps_the_size_of_an_even_kernel(void **state) {
    (void)state;
    builder b = {0};
    conv2d_of(&b, text("same"), 1, 2, false);
    assert_int_equal(shape(&b, fid_shape_conv_nd), FID_OK);
    EXPECT(&b, 2, 4, 9, 8);
    fid_convolution conv;
    fid_call call = {.name = "aten::conv2d", .args = b.args, .arg_count = b.count, .output_index = b.count, .sink = &b.sink};
    assert_int_equal(fid_conv_nd_of(&call, &conv), FID_OK);
    assert_int_equal(conv.window.padding[1], 3); /* a kernel of 4 with dilation 2 reaches over 7: 3 before, 3 after */
    assert_int_equal(conv.window.padding_end[1], 3);
    assert_int_equal(conv.window.padding[2], 2);
}

static void valid_padding_is_none(void **state) {
    (void)state;
    builder b = {0};
    conv2d_of(&b, text("valid"), 1, 1, false);
    assert_int_equal(shape(&b, fid_shape_conv_nd), FID_OK);
    EXPECT(&b, 2, 4, 6, 6);
}

static void same_padding_refuses_a_stride(void **state) {
    (void)state;
    builder b = {0};
    conv2d_of(&b, text("same"), 2, 1, false);
    assert_int_equal(shape(&b, fid_shape_conv_nd), FID_INVALID_ARGUMENT);
    assert_non_null(strstr(b.message.text, "stride 1"));
}

static void channels_last_stays(void **state) {
    (void)state;
    builder b = {0};
    conv2d_of(&b, fid_int_value(0), 1, 1, true);
    assert_int_equal(shape(&b, fid_shape_conv_nd), FID_OK);
    assert_true(fid_is_channels_last(b.out.dim_order, b.out.rank));
}

static void a_transposed_convolution_undoes_the_size_of_a_plain_one(void **state) {
    (void)state;
    builder b = {0};
    TENSOR(&b, false, 1, 4, 5, 4);
    TENSOR(&b, false, 4, 3, 3, 3);
    add(&b, fid_none_value());
    INTS(&b, 2, 2);
    INTS(&b, 1, 1);
    INTS(&b, 0, 1); /* output padding */
    add(&b, fid_int_value(2));
    INTS(&b, 1, 1);
    assert_int_equal(shape(&b, fid_shape_conv_transpose_nd), FID_OK);
    EXPECT(&b, 1, 6, 9, 8);
}

/* Numbers that a damaged program may hold. */
static void huge_numbers_are_refused(void **state) {
    (void)state;
    for (int which = 0; which < 3; which++) {
        builder b = {0};
        TENSOR(&b, false, 1, 1, 8);
        TENSOR(&b, false, 1, 1, 3);
        add(&b, fid_none_value());
        INTS(&b, which == 0 ? INT64_MAX : 1);
        INTS(&b, which == 1 ? INT64_MAX : 0);
        INTS(&b, which == 2 ? INT64_MIN : 1);
        add(&b, fid_int_value(1));
        assert_int_equal(shape(&b, fid_shape_conv_nd), FID_INVALID_ARGUMENT);
    }
}

/* max_pool2d(self, kernel, stride, padding, dilation, ceil_mode). */
static fid_status pool(builder *b, int64_t kernel, size_t stride_count, int64_t padding, bool ceil_mode) {
    TENSOR(b, false, 3, 7, 6);
    INTS(b, kernel);
    add_ints(b, stride_count, (int64_t[]){3, 3});
    INTS(b, padding);
    INTS(b, 1);
    add(b, fid_bool_value(ceil_mode));
    return shape(b, fid_shape_max_pool2d);
}

static void an_empty_stride_means_the_kernel(void **state) {
    (void)state;
    builder b = {0};
    assert_int_equal(pool(&b, 2, 0, 0, false), FID_OK);
    EXPECT(&b, 3, 3, 3);
}

static void ceil_mode_adds_a_window_only_if_it_starts_inside(void **state) {
    (void)state;
    builder b = {0}, c = {0};
    assert_int_equal(pool(&b, 2, 2, 0, true), FID_OK); /* height 7: windows at 0, 3, 6; width 6: at 0, 3, not at 6 */
    EXPECT(&b, 3, 3, 2);
    assert_int_equal(pool(&c, 2, 2, 1, true), FID_OK);
    EXPECT(&c, 3, 3, 3);
}

static void padding_is_at_most_half_of_the_kernel(void **state) {
    (void)state;
    builder b = {0};
    assert_int_equal(pool(&b, 3, 2, 2, false), FID_INVALID_ARGUMENT);
    assert_non_null(strstr(b.message.text, "half"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number_stands_for_all_dimensions),
        cmocka_unit_test(same_padding_keeps_the_size_of_an_even_kernel),
        cmocka_unit_test(valid_padding_is_none),
        cmocka_unit_test(same_padding_refuses_a_stride),
        cmocka_unit_test(channels_last_stays),
        cmocka_unit_test(a_transposed_convolution_undoes_the_size_of_a_plain_one),
        cmocka_unit_test(huge_numbers_are_refused),
        cmocka_unit_test(an_empty_stride_means_the_kernel),
        cmocka_unit_test(ceil_mode_adds_a_window_only_if_it_starts_inside),
        cmocka_unit_test(padding_is_at_most_half_of_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
