/* Fast convolutions against their references: odd sizes, strides, dilations, groups, one to three dimensions. */
#include "kernels/cpu/kernel_testing.h"

#include "kernels/cpu/conv.h"
#include "kernels/cpu/pack_weights.h"

typedef struct convolution_case {
    size_t spatial;
    int64_t batch, in, out, groups;
    int64_t size[3], kernel[3], stride[3], padding[3], dilation[3];
} convolution_case;

static const convolution_case cases[] = {
    {2, 1, 3, 5, 1, {9, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {2, 2, 16, 33, 1, {5, 7}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {2, 1, 20, 17, 1, {8, 6}, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {2, 1, 35, 40, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {2, 1, 64, 48, 1, {6, 5}, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
    {2, 2, 12, 18, 3, {6, 8}, {3, 2}, {1, 2}, {1, 0}, {1, 1}},
    {2, 1, 6, 12, 6, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {2, 2, 19, 19, 19, {9, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {2, 1, 32, 32, 32, {14, 14}, {5, 5}, {2, 2}, {2, 2}, {1, 1}},
    {2, 1, 35, 35, 35, {4, 3}, {7, 7}, {1, 1}, {3, 3}, {1, 1}},
    {2, 1, 17, 17, 17, {11, 11}, {3, 3}, {1, 1}, {3, 3}, {3, 3}},
    {2, 1, 33, 33, 33, {9, 16}, {5, 5}, {1, 1}, {4, 4}, {2, 2}},
    {2, 2, 20, 20, 20, {8, 9}, {3, 3}, {1, 1}, {0, 1}, {2, 4}},
    {2, 1, 16, 16, 16, {6, 7}, {3, 5}, {1, 1}, {2, 9}, {1, 4}},
    {2, 1, 18, 18, 18, {7, 8}, {3, 3}, {2, 2}, {1, 8}, {1, 1}},
    {2, 1, 18, 18, 18, {3, 4}, {3, 3}, {1, 1}, {5, 6}, {5, 6}},
    {1, 2, 7, 9, 1, {21}, {5}, {2}, {2}, {1}},
    {1, 1, 40, 40, 40, {37}, {31}, {1}, {15}, {1}},
    {3, 1, 3, 6, 1, {4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}},
    {3, 1, 5, 5, 5, {4, 5, 6}, {3, 3, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}},
    {2, 0, 3, 5, 1, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    /* Kernels that mostly see padding. */
    {2, 1, 35, 40, 1, {14, 14}, {3, 3}, {1, 1}, {12, 12}, {12, 12}},
    {2, 2, 400, 70, 1, {9, 16}, {3, 3}, {1, 1}, {6, 9}, {6, 9}},
    {2, 1, 20, 17, 1, {17, 30}, {3, 5}, {2, 1}, {14, 40}, {14, 20}},
    {1, 2, 8, 33, 1, {70}, {4}, {1}, {60}, {40}},
    {3, 1, 3, 6, 1, {5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {4, 5, 6}, {4, 5, 6}},
    {2, 1, 3, 4, 1, {2, 2}, {2, 2}, {1, 1}, {30, 30}, {1, 1}},
};
enum { CASES = sizeof cases / sizeof *cases };

static fid_value *image(const convolution_case *c, testing_order order, int64_t channels, const int64_t *sizes) {
    int64_t all[5] = {c->batch, channels};
    memcpy(all + 2, sizes, c->spatial * sizeof *sizes);
    return testing_floats(c->spatial + 2, all, order, 1);
}

static fid_value *plain_weight(const convolution_case *c) {
    int64_t sizes[5] = {c->out, c->in / c->groups};
    memcpy(sizes + 2, c->kernel, c->spatial * sizeof *sizes);
    return testing_floats(c->spatial + 2, sizes, ROW_MAJOR, 1);
}

static void plain_convolution_matches(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        const convolution_case *c = &cases[i];
        for (int order = 0; order < 2; order++) {
            fid_value *weight = plain_weight(c);
            COMPARE(convolution, 1, 1e-4, image(c, (testing_order)order, c->in, c->size), order ? weight : testing_constant(weight),
                    i % 2 ? NOTHING : FLOATS(ROW_MAJOR, 1, c->out), testing_ints(c->spatial, c->stride),
                    testing_ints(c->spatial, c->padding), testing_ints(c->spatial, c->dilation), BOOL(false),
                    testing_ints(c->spatial, (int64_t[]){0, 0, 0}), INT(c->groups));
            testing_free();
        }
    }
}

static void transposed_convolution_matches(void **state) {
    static const struct {
        size_t spatial;
        int64_t batch, in, out, groups;
        int64_t size[3], kernel[3], stride[3], padding[3], more[3];
    } layers[] = {
        {2, 1, 3, 5, 1, {4, 5}, {2, 2}, {2, 2}, {0, 0}, {0, 0}},   {2, 2, 16, 20, 1, {5, 7}, {4, 4}, {2, 2}, {1, 1}, {0, 0}},
        {2, 1, 6, 4, 2, {5, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},   {2, 1, 8, 8, 8, {6, 5}, {3, 3}, {2, 1}, {1, 1}, {0, 0}},
        {1, 2, 5, 7, 1, {9}, {16}, {8}, {4}, {0}},                 {1, 1, 5, 7, 1, {9}, {2}, {3}, {0}, {1}},
        {3, 1, 3, 4, 1, {2, 3, 4}, {3, 2, 3}, {2, 2, 1}, {1, 0, 1}, {1, 0, 0}}, {2, 1, 5, 6, 1, {4, 4}, {3, 3}, {1, 1}, {0, 0}, {0, 0}},
        {2, 1, 5, 6, 1, {4, 4}, {3, 3}, {1, 1}, {2, 2}, {0, 0}},
        {2, 1, 4, 4, 1, {4, 4}, {4, 4}, {4, 4}, {0, 0}, {3, 3}},   {2, 2, 6, 12, 1, {5, 4}, {5, 3}, {3, 2}, {2, 1}, {2, 1}},
        {2, 1, 4, 3, 1, {3, 5}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof layers / sizeof *layers; i++) {
        int64_t sizes[5] = {layers[i / 2].batch, layers[i / 2].in}, weight_sizes[5] = {layers[i / 2].in, layers[i / 2].out / layers[i / 2].groups};
        size_t spatial = layers[i / 2].spatial;
        memcpy(sizes + 2, layers[i / 2].size, spatial * sizeof *sizes);
        memcpy(weight_sizes + 2, layers[i / 2].kernel, spatial * sizeof *sizes);
        fid_value *weight = testing_floats(spatial + 2, weight_sizes, ROW_MAJOR, 1);
        COMPARE(convolution, 1, 1e-4, testing_floats(spatial + 2, sizes, (testing_order)(i % 2), 1), i % 2 ? testing_constant(weight) : weight,
                i % 3 ? FLOATS(ROW_MAJOR, 1, layers[i / 2].out) : NOTHING, testing_ints(spatial, layers[i / 2].stride),
                testing_ints(spatial, layers[i / 2].padding), testing_ints(spatial, (int64_t[]){1, 1, 1}), BOOL(true),
                testing_ints(spatial, layers[i / 2].more), INT(layers[i / 2].groups));
        testing_free();
    }
}

/* The packed form of a plain weight, with the geometry that packing needs. */
static fid_value *packed(const convolution_case *c) {
    fid_convolution conv = {.weight = plain_weight(c)->as.tensor, .in_channels = c->in, .out_channels = c->out, .groups = c->groups};
    int64_t taps = 1, group_out = c->out / c->groups;
    for (size_t d = 0; d < 3; d++) conv.window.kernel[d] = d + c->spatial < 3 ? 1 : c->kernel[d + c->spatial - 3];
    for (size_t d = 0; d < 3; d++) taps *= conv.window.kernel[d];
    bool depthwise = fid_convolution_is_depthwise(&conv);
    int64_t panels = depthwise ? fid_panels(c->out) : c->groups * fid_panels(group_out);
    fid_value *result = FLOATS(ROW_MAJOR, 0, panels, depthwise ? taps : taps * c->in / c->groups, FID_PANEL);
    assert_int_equal(fid_tensor_numel(result->as.tensor), fidk_conv_packed_floats(&conv));
    fidk_conv_pack(&conv, result->as.tensor->data);
    return testing_constant(result);
}

static void fused_convolution_matches(void **state) {
    (void)state;
    const char *names[] = {"none", "relu", "clamp", "hardswish", "silu"};
    for (size_t i = 0; i < CASES; i++) {
        const convolution_case *c = &cases[i];
        int64_t padding[6], out[3];
        for (size_t d = 0; d < c->spatial; d++) {
            padding[d] = c->padding[d];
            padding[c->spatial + d] = c->padding[d] + 1; /* one more after than before */
            out[d] = (c->size[d] + 2 * c->padding[d] + 1 - (c->kernel[d] - 1) * c->dilation[d] - 1) / c->stride[d] + 1;
        }
        bool depthwise = c->groups > 1 && c->groups == c->in && c->groups == c->out;
        for (size_t a = 0; a < 5; a++) {
            COMPARE(fused_convolution, 1, 1e-4, image(c, CHANNELS_LAST, c->in, c->size), packed(c), a % 2 ? NOTHING : FLOATS(ROW_MAJOR, 1, c->out),
                    a > 2 ? NOTHING : image(c, CHANNELS_LAST, c->out, out), INT(c->out), testing_ints(c->spatial, c->kernel),
                    testing_ints(c->spatial, c->stride), testing_ints(2 * c->spatial, padding), testing_ints(c->spatial, c->dilation),
                    INT(c->groups), testing_text(names[a]), DOUBLE(0), DOUBLE(6),
                    a % 3 || depthwise ? NOTHING : FLOATS(ROW_MAJOR, 1, c->out));
            testing_free();
        }
    }
}

static fid_value *panels(int64_t n, int64_t k) {
    fid_value *plain = FLOATS(ROW_MAJOR, 1, n, k), *packed_value = FLOATS(ROW_MAJOR, 0, fid_panels(n), k, FID_PANEL);
    fidk_pack_rows(plain->as.tensor->data, (size_t)k, (size_t)n, (size_t)k, packed_value->as.tensor->data);
    return packed_value;
}

/* Images large enough for several bands, with and without an expansion. */
static void separable_convolution_matches(void **state) {
    static const struct {
        int64_t batch, in, hidden, out, height, width, kernel, stride, dilation;
    } blocks[] = {{1, 5, 19, 7, 9, 11, 3, 1, 1}, {2, 16, 96, 24, 56, 30, 3, 2, 1}, {1, 24, 144, 24, 40, 40, 5, 1, 1}, {1, 8, 33, 20, 70, 33, 3, 1, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        for (int expand = 0; expand < 2; expand++) {
            int64_t k = blocks[i].kernel, s = blocks[i].stride, d = blocks[i].dilation, hidden = blocks[i].hidden, p = k / 2;
            int64_t height = (blocks[i].height + 2 * p - (k - 1) * d - 1) / s + 1, width = (blocks[i].width + 2 * p - (k - 1) * d - 1) / s + 1;
            int64_t in = expand ? blocks[i].in : hidden;
            COMPARE(fused_separable, 1, 3e-4, FLOATS(CHANNELS_LAST, 1, blocks[i].batch, in, blocks[i].height, blocks[i].width),
                    expand ? panels(hidden, in) : NOTHING, expand ? FLOATS(ROW_MAJOR, 1, hidden) : NOTHING, INT(hidden), testing_text("clamp"),
                    DOUBLE(0), DOUBLE(6), panels(hidden, k * k), FLOATS(ROW_MAJOR, 1, hidden), INTS(k, k), INTS(s, s), INTS(p, p, p, p),
                    INTS(d, d), testing_text("hardswish"), DOUBLE(0), DOUBLE(0), panels(blocks[i].out, hidden),
                    i % 2 ? FLOATS(ROW_MAJOR, 1, blocks[i].out) : NOTHING,
                    expand ? FLOATS(CHANNELS_LAST, 1, blocks[i].batch, blocks[i].out, height, width) : NOTHING, INT(blocks[i].out),
                    testing_text("none"), DOUBLE(0), DOUBLE(0));
            testing_free();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_convolution_matches),
        cmocka_unit_test(transposed_convolution_matches),
        cmocka_unit_test(fused_convolution_matches),
        cmocka_unit_test(separable_convolution_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
