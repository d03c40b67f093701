/* Programs with delegates: what is cut, and that our own runtime gets from the blobs what the graph means. The yardstick is the graph
 * before it was cut, node by node on the reference kernels. */
#include "compiler/passes/pass_check.h"

#include <math.h>

#include "backends/xnnpack/compile/xnn_backend.h"
#include "compiler/emit/emit.h"
#include "compiler/pipeline.h"

/* ---- Weights: a sequence that each constant begins anew, by its size ---- */

static void fill_constants(const fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fidc_value *value = graph->values[i];
        if (value->origin != FIDC_FROM_CONSTANT || value->dtype != FID_FLOAT32) continue;
        uint32_t state = 12345u + (uint32_t)value->constant->bytes;
        float *data = fidc_allocate(graph->program, value->constant->bytes);
        for (size_t k = 0; k < value->constant->bytes / sizeof *data; k++) {
            state = state * 1664525u + 1013904223u;
            data[k] = (float)(state >> 8) / (float)(1u << 24) - (strstr(value->name, "var") ? 0.0f : 0.5f);
        }
        ((fidc_constant *)(uintptr_t)value->constant)->data = data;
    }
}

static void open_filled(pass_check *c, const char *text) {
    pass_open(c, text);
    fill_constants(c->program->methods[0]);
}

/* ---- Lowered and run ---- */

typedef struct bytes { uint8_t *data; size_t size; } bytes;

static fid_status append(void *self, const void *data, size_t size) {
    bytes *b = self;
    assert_true(b->size + size <= 1 << 21);
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return FID_OK;
}

static void lower(pass_check *c, bool per_operator, fidc_partition_summary *out_summary) {
    const fidc_options options = {.struct_size = sizeof options, .target = FIDC_TARGET_PORTABLE, .backend = &fidc_backend_xnnpack, .per_operator = per_operator};
    pass_ok(c, fidc_lower(c->program, &options));
    pass_ok(c, fidc_check_supported(c->program, FIDC_TARGET_PORTABLE));
    pass_ok(c, fidc_partition_summarize(c->program, out_summary));
}

static void emit(pass_check *c, bytes *file) {
    const fidc_plan_options how = {.alignment = 16, .alias_views = true, .plan_inputs = true, .plan_outputs = true};
    const fidc_emit_options options = {.target = FIDC_TARGET_PORTABLE};
    const fidc_writer writer = {append, file};
    fidc_plan plan;
    pass_ok(c, fidc_plan_protect(c->program->methods[0]));
    pass_ok(c, fidc_plan_graph(c->program->methods[0], &how, &plan));
    pass_ok(c, fidc_emit(c->program, &plan, &options, &writer));
}

static size_t read_outputs(fid_method *method, uint32_t count, double *out) {
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        const fid_value *value;
        assert_int_equal(fid_method_output(method, i, &value), FID_OK);
        const fid_tensor *t = value->as.tensor;
        for (size_t k = 0; k < fid_tensor_numel(t); k++) {
            assert_true(total < PASS_MOST_NUMBERS);
            out[total++] = pass_load(t, t->data, k);
        }
    }
    return total;
}

static size_t run_program(const fidc_graph *graph, const bytes *file, double *out) {
    static pass_tensor storage[PASS_MOST_INPUTS];
    const fid_method_options options = {.struct_size = sizeof options};
    fid_message message = {0};
    fid_environment environment = fid_environment_default(&message);
    fid_program *program = NULL;
    fid_method *method = NULL;
    uint32_t seed = 7;
    fid_status status = fid_program_open_memory(&environment, file->data, file->size, &program);
    if (status == FID_OK) status = fid_method_load(program, "forward", &options, &method);
    assert_string_equal(message.text, "");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        pass_input(graph->inputs[i], &storage[i], &seed);
        const fid_tensor *t = &storage[i].tensor;
        assert_int_equal(fid_method_set_input_tensor(method, i, t->dtype, t->sizes, t->rank, t->data), FID_OK);
    }
    status = fid_method_run(method);
    assert_string_equal(message.text, "");
    assert_int_equal(status, FID_OK);
    size_t count = read_outputs(method, graph->output_count, out);
    fid_method_unload(method);
    fid_program_close(program);
    return count;
}

/* What the program gives is what the graph gave. `outside`: operators in no delegate, as the report has them. */
static void check(const char *text, uint32_t delegates, const char *outside) {
    static double expected[PASS_MOST_NUMBERS], given[PASS_MOST_NUMBERS];
    fidc_partition_summary summary;
    pass_check c = {0};
    bytes file = {aligned_alloc(64, 1 << 21), 0};
    open_filled(&c, text);
    size_t count = pass_run(&c, expected);
    pass_close(&c);
    open_filled(&c, text);
    lower(&c, false, &summary);
    assert_int_equal(summary.delegates, delegates);
    assert_string_equal(summary.outside_json, outside);
    free(summary.outside_json);
    emit(&c, &file);
    assert_int_equal(run_program(c.program->methods[0], &file, given), count);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(expected[i] - given[i]) <= 1e-5 * (1 + fabs(expected[i])))) fail_msg("element %zu: %g and %g\n%s", i, expected[i], given[i], text);
    pass_close(&c);
    free(file.data);
}

static void check_whole(const char *text) { check(text, 1, "[]"); }

/* ---- Operators ---- */

static void pointwise(void **state) {
    static const char *const unary[] = {"abs(%x)", "neg(%x)", "exp(%x)", "floor(%x)", "ceil(%x)", "sin(%x)", "cos(%x)", "tanh(%x)", "sigmoid(%x)",
                                        "hardswish(%x)", "gelu(%x, \"none\")", "pow.Tensor_Scalar(%x, 2)", "leaky_relu(%x, 0.25)", "elu(%x, 0.5, 1, 1)",
                                        "relu(%x)", "hardtanh(%x, -0.5, 1.25)", "clamp(%x, None, 0.5)", "clamp(%x, -0.25, None)",
                                        "add.Scalar(%x, 0.5, 1)", "mul.Scalar(%x, -3)", "div.Scalar(%x, 4)", "sub.Scalar(%x, 1, 1)", "_softmax(%x, -1, False)"};
    (void)state;
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        char text[300];
        snprintf(text, sizeof text, "method forward(%%x: f32[2, 3, 5]) {\n  %%y: f32[2, 3, 5] = aten.%s\n  return %%y\n}\n", unary[i]);
        check_whole(text);
    }
}

static void roots_and_logarithms(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[7]) {\n  %a: f32[7] = aten.exp(%x)\n  %b: f32[7] = aten.sqrt(%a)\n  %c: f32[7] = aten.rsqrt(%a)\n"
                "  %d: f32[7] = aten.log(%a)\n  return %b, %c, %d\n}\n");
}

static void operands_broadcast(void **state) {
    static const char *const binary[] = {"add.Tensor(%x, %y, 1)", "sub.Tensor(%y, %x, 1)", "mul.Tensor(%x, %y)", "div.Tensor(%x, %e)", "maximum(%x, %y)",
                                         "minimum(%y, %x)", "add.Tensor(%x, %w, 1)"};
    (void)state;
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        char text[400];
        snprintf(text, sizeof text, "method forward(%%x: f32[2, 3, 4, 5], %%y: f32[3, 1, 5]) {\n  const %%w: f32[4, 1] = \"w\"\n  %%e: f32[3, 1, 5] = aten.exp(%%y)\n"
                 "  %%z: f32[2, 3, 4, 5] = aten.%s\n  %%q: f32[2, 3, 4, 5] = aten.add.Tensor(%%z, %%e, 1)\n  return %%q, %%e\n}\n", binary[i]);
        check_whole(text);
    }
}

static void linear_layers_and_products(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[2, 3, 4], %m: f32[3, 4]) {\n  const %w: f32[5, 4] = \"w\"\n  const %b: f32[5] = \"b\"\n  const %t: f32[4, 6] = \"t\"\n"
                "  const %c: f32[6] = \"c\"\n  %y: f32[2, 3, 5] = aten.linear(%x, %w, %b)\n  %r: f32[2, 3, 5] = aten.relu(%y)\n"
                "  %z: f32[3, 6] = aten.addmm(%c, %m, %t)\n  %n: f32[3, 6] = aten.mm(%m, %t)\n  %s: f32[3, 6] = aten.add.Tensor(%z, %n, 1)\n"
                "  %q: f32[2, 5, 3] = aten.permute_copy(%r, [0, 2, 1])\n  %p: f32[2, 3, 3] = aten.bmm(%r, %q)\n"
                "  %v: f32[3, 6] = aten.view_copy(%p, [3, 6])\n  %o: f32[3, 6] = aten.mul.Tensor(%v, %s)\n  return %o\n}\n");
}

/* With bias and without, in groups, depthwise with a multiplier, dilated, transposed; the clamp goes into each. */
static void convolutions(void **state) {
    static const char *const cases[][3] = {
        {"f32[8, 4, 3, 3]", "[2, 1], [1, 0], [1, 2], False, [0, 0], 1", "f32[1, 8, 4, 3]"},
        {"f32[8, 2, 3, 3]", "[1, 1], [1, 1], [1, 1], False, [0, 0], 2", "f32[1, 8, 7, 7]"},
        {"f32[8, 1, 3, 2]", "[1, 2], [0, 1], [1, 1], False, [0, 0], 4", "f32[1, 8, 5, 4]"},
        {"f32[4, 8, 3, 3]", "[2, 2], [1, 1], [1, 1], True, [1, 0], 1", "f32[1, 8, 14, 13]"},
        {"f32[4, 4, 2, 3]", "[1, 1], [0, 0], [1, 1], True, [0, 0], 2", "f32[1, 8, 8, 9]"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int bias = 0; bias < 2; bias++) {
            char text[600];
            snprintf(text, sizeof text, "method forward(%%x: f32[1, 4, 7, 7]) {\n  const %%w: %s = \"w\"\n  const %%b: f32[8] = \"b\"\n"
                     "  %%y: %s = aten.convolution(%%x, %%w, %s, %s)\n  %%z: %s = aten.hardtanh(%%y, -1.0, 0.75)\n  return %%z\n}\n",
                     cases[i][0], cases[i][2], bias ? "%b" : "None", cases[i][1], cases[i][2]);
            check_whole(text);
        }
    }
}

/* Zeros before and after in sides of their own, as TensorFlow pads. */
static void frames_become_padding(void **state) {
    static const char *const kinds[] = {"f32[8, 4, 3, 3]", "1", "f32[8, 1, 3, 3]", "4"};
    (void)state;
    for (size_t i = 0; i < 4; i += 2) {
        char text[600];
        snprintf(text, sizeof text, "method forward(%%x: f32[1, 4, 7, 7]) {\n  const %%w: %s = \"w\"\n  %%p: f32[1, 4, 9, 10] = aten.constant_pad_nd(%%x, [1, 2, 0, 2], 0)\n"
                 "  %%y: f32[1, 8, 5, 5] = aten.convolution(%%p, %%w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], %s)\n  return %%y\n}\n", kinds[i], kinds[i + 1]);
        check_whole(text);
    }
}

static void convolutions_over_one_dimension(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[2, 4, 9]) {\n  const %w: f32[6, 2, 3] = \"w\"\n  const %b: f32[6] = \"b\"\n"
                "  %y: f32[2, 6, 5] = aten.convolution(%x, %w, %b, [2], [1], [1], False, [0], 2)\n  %z: f32[2, 6, 5] = aten.relu(%y)\n  return %z\n}\n");
}

static void norms_go_into_convolutions(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[1, 3, 6, 6]) {\n  const %w: f32[4, 3, 3, 3] = \"w\"\n  const %g: f32[4] = \"gamma\"\n  const %h: f32[4] = \"beta\"\n"
                "  const %mean: f32[4] = \"mean\"\n  const %var: f32[4] = \"var\"\n"
                "  %y: f32[1, 4, 4, 4] = aten.convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
                "  %n: f32[1, 4, 4, 4], %a: f32[0], %b: f32[0] = aten._native_batch_norm_legit_no_training(%y, %g, %h, %mean, %var, 0.1, 0.001)\n"
                "  return %n\n}\n");
}

/* Norms that stand alone, of images and of others. */
static void norms(void **state) {
    static const char *const shapes[] = {"f32[2, 4]", "f32[2, 4, 5]", "f32[2, 4, 3, 5]", "f32[1, 4, 2, 3, 2]"};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int affine = 0; affine < 2; affine++) {
            char text[700];
            snprintf(text, sizeof text, "method forward(%%x: %s) {\n  const %%g: f32[4] = \"gamma\"\n  const %%h: f32[4] = \"beta\"\n  const %%mean: f32[4] = \"mean\"\n"
                     "  const %%var: f32[4] = \"var\"\n  %%n: %s, %%a: f32[0], %%b: f32[0] = aten._native_batch_norm_legit_no_training(%%x, %s, %%mean, %%var, 0.1, 0.001)\n"
                     "  %%r: %s = aten.relu(%%n)\n  return %%r\n}\n", shapes[i], shapes[i], affine ? "%g, %h" : "None, None", shapes[i]);
            check_whole(text);
        }
    }
}

/* Images stay images between convolutions; what wants the plain order gets it. */
static void images(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[1, 3, 8, 8]) {\n  const %w: f32[4, 3, 1, 1] = \"w\"\n  const %s: f32[4] = \"slope\"\n  const %k: f32[4, 1, 1] = \"k\"\n"
                "  %c: f32[1, 4, 8, 8] = aten.convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
                "  %p: f32[1, 4, 8, 8] = aten.prelu(%c, %s)\n  %t: f32[1, 4, 8, 8] = aten.mul.Tensor(%p, %k)\n"
                "  %m: f32[1, 4, 4, 4], %i: i64[1, 4, 4, 4] = aten.max_pool2d_with_indices(%t, [3, 3], [2, 2], [1, 1], [1, 1], False)\n"
                "  %a: f32[1, 4, 4, 4] = aten.avg_pool2d(%t, [2, 2], [2, 2], [0, 0], False, True, None)\n"
                "  %j: f32[1, 8, 4, 4] = aten.cat([%m, %a], 1)\n  %u: f32[1, 8, 7, 5] = aten.upsample_bilinear2d(%j, [7, 5], False, None, None)\n"
                "  %f: f32[1, 5, 7, 5] = aten.slice_copy.Tensor(%u, 1, 2, 7, 1)\n  %d: f32[1, 5, 8, 8] = aten.constant_pad_nd(%f, [1, 2, 0, 1], 0.5)\n"
                "  %h: f32[1, 8, 8, 5] = aten.permute_copy(%d, [0, 2, 3, 1])\n  %v: f32[64, 5] = aten.view_copy(%h, [64, 5])\n"
                "  %q: f32[1, 8, 1, 1] = aten.mean.dim(%u, [-1, -2], True, None)\n  %g: f32[1, 8] = aten.mean.dim(%u, [2, 3], False, None)\n"
                "  %l: f32[1, 8, 1, 1] = aten._adaptive_avg_pool2d(%j, [1, 1])\n  %b: f32[1, 8, 2, 2] = aten._adaptive_avg_pool2d(%j, [2, 2])\n"
                "  return %v, %q, %g, %l, %b, %t\n}\n");
}

/* What norms by row are made of. */
static void means_of_rows(void **state) {
    (void)state;
    check_whole("symbol s0 in [1, 8] hint 3\nmethod forward(%x: f32[2, s0, 6]) {\n  %a: f32[2, s0, 1] = aten.mean.dim(%x, [-1], True, None)\n"
                "  %d: f32[2, s0, 6] = aten.sub.Tensor(%x, %a, 1)\n  %b: f32[2, s0] = aten.mean.dim(%d, [2], False, None)\n  return %d, %b\n}\n");
    check_whole("method forward(%x: f32[1, 2, 3, 6]) {\n  %a: f32[1, 2, 3, 1] = aten.mean.dim(%x, [3], True, None)\n  return %a\n}\n");
}

/* A last window that reaches past the padding. */
static void pools_that_round_up(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[1, 3, 8, 7]) {\n"
                "  %m: f32[1, 3, 4, 4], %i: i64[1, 3, 4, 4] = aten.max_pool2d_with_indices(%x, [3, 2], [2, 2], [0, 0], [1, 1], True)\n  return %m\n}\n");
}

static void many_are_joined(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[2, 3], %y: f32[2, 1]) {\n  const %w: f32[2, 2] = \"w\"\n  %a: f32[2, 3] = aten.abs(%x)\n"
                "  %z: f32[2, 16] = aten.cat([%a, %y, %w, %x, %a, %y, %x], 1)\n  return %z\n}\n");
}

static void pieces_are_taken(void **state) {
    (void)state;
    check_whole("method forward(%x: f32[2, 6, 4, 3]) {\n  %a: f32[2, 6, 4, 3] = aten.abs(%x)\n  %s: f32[2, 4, 3] = aten.select_copy.int(%a, 1, -2)\n"
                "  %p: f32[2, 2, 4, 3], %q: f32[2, 2, 4, 3], %r: f32[2, 2, 4, 3] = aten.split_copy.Tensor(%a, 2, 1)\n"
                "  %t: f32[2, 1, 4, 3], %u: f32[2, 5, 4, 3] = aten.split_with_sizes_copy(%a, [1, 5], 1)\n"
                "  %v: f32[2, 6, 4], %w: f32[2, 6, 4], %y: f32[2, 6, 4] = aten.unbind_copy.int(%a, 3)\n"
                "  return %s, %p, %r, %u, %v, %y\n}\n");
}

/* ---- Cuts ---- */

/* They read the same but are not the same. */
static void parts_side_by_side_stay_apart(void **state) {
    (void)state;
    check("method forward(%x: f32[4, 6]) {\n  %a: f32[4, 6] = aten.exp(%x)\n  %b: f32[4, 6] = aten.tanh(%x)\n  return %a, %b\n}\n", 2, "[]");
}

/* The outside lies between two parts; what both sides of it read and make crosses the border once. */
static void operators_between_make_two_parts(void **state) {
    (void)state;
    check("method forward(%x: f32[4, 6]) {\n  %a: f32[4, 6] = aten.exp(%x)\n  %b: f32[4, 6] = aten.cumsum(%a, 1, dtype.f32)\n  %c: f32[4, 6] = aten.add.Tensor(%a, %b, 1)\n"
          "  %d: f32[4, 6] = aten.tanh(%a)\n  %e: f32[4, 6] = aten.mul.Tensor(%c, %d)\n  return %e, %d\n}\n", 2, "[{\"operator\": \"aten::cumsum\", \"count\": 1}]");
}

/* %d stands after the outside node in the list but belongs to the first part, which the outside needs. */
static void a_part_may_be_needed_before_its_last_node(void **state) {
    (void)state;
    check("method forward(%x: f32[4, 6], %y: f32[4, 6]) {\n  %n: f32[4, 6] = aten.cumsum(%y, 0, dtype.f32)\n  %a: f32[4, 6] = aten.exp(%x)\n"
          "  %b: f32[4, 6] = aten.cumsum(%a, 1, dtype.f32)\n  %d: f32[4, 6] = aten.tanh(%a)\n  %e: f32[4, 6] = aten.mul.Tensor(%n, %b)\n  return %e, %d\n}\n",
          2, "[{\"operator\": \"aten::cumsum\", \"count\": 2}]");
}

static void what_only_moves_stays_outside(void **state) {
    (void)state;
    check("method forward(%x: f32[4, 6]) {\n  %a: f32[6, 4] = aten.permute_copy(%x, [1, 0])\n  %b: f32[24] = aten.view_copy(%a, [24])\n  return %b\n}\n", 0,
          "[{\"operator\": \"aten::permute_copy\", \"count\": 1}, {\"operator\": \"aten::view_copy\", \"count\": 1}]");
}

/* Dtypes, layouts and arguments that XNNPACK has no form for. */
static void what_xnnpack_cannot_have_stays_outside(void **state) {
    static const char *const cases[][3] = {
        {"f64[4, 6]", "aten.exp(%x)", "exp"}, {"f32[4, 6]", "aten._softmax(%x, 0, False)", "_softmax"}, {"f32[4, 6]", "aten.gelu(%x, \"tanh\")", "gelu"},
        {"f32[4, 6]", "aten.add.Tensor(%x, %x, 2)", "add"}, {"f32[4, 6]", "aten.hardtanh(%x, 1.0, 1.0)", "hardtanh"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300], outside[100];
        snprintf(text, sizeof text, "method forward(%%x: %s) {\n  %%y: %s = %s\n  return %%y\n}\n", cases[i][0], cases[i][0], cases[i][1]);
        snprintf(outside, sizeof outside, "[{\"operator\": \"aten::%s\", \"count\": 1}]", cases[i][2]);
        check(text, 0, outside);
    }
}

static void each_operator_can_be_a_delegate(void **state) {
    pass_check c = {0};
    fidc_partition_summary summary;
    (void)state;
    open_filled(&c, "method forward(%x: f32[4]) {\n  %a: f32[4] = aten.exp(%x)\n  %b: f32[4] = aten.abs(%a)\n  return %b\n}\n");
    lower(&c, true, &summary);
    assert_int_equal(summary.delegates, 2);
    free(summary.outside_json);
    pass_close(&c);
}

/* Two delegates read one weight: the program carries it once. */
static void weights_are_shared(void **state) {
    pass_check c = {0};
    fidc_partition_summary summary;
    (void)state;
    open_filled(&c, "method forward(%x: f32[2, 4]) {\n  const %w: f32[4, 4] = \"w\"\n  %a: f32[2, 4] = aten.linear(%x, %w, None)\n"
                    "  %b: f32[2, 4] = aten.cumsum(%a, 1, dtype.f32)\n  %c: f32[2, 4] = aten.linear(%b, %w, None)\n  return %c\n}\n");
    lower(&c, false, &summary);
    assert_int_equal(summary.delegates, 2);
    assert_int_equal(c.program->named_count, 1);
    free(summary.outside_json);
    pass_close(&c);
}

static void sizes_may_change(void **state) {
    (void)state;
    check_whole("symbol s0 in [1, 8] hint 3\nmethod forward(%x: f32[s0, 4, 6]) {\n  const %w: f32[5, 6] = \"w\"\n  %y: f32[s0, 4, 5] = aten.linear(%x, %w, None)\n"
                "  %v: f32[s0, 20] = aten.view_copy(%y, [-1, 20])\n  %z: f32[s0, 20] = aten._softmax(%v, -1, False)\n  return %z\n}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointwise), cmocka_unit_test(roots_and_logarithms), cmocka_unit_test(operands_broadcast), cmocka_unit_test(linear_layers_and_products),
        cmocka_unit_test(convolutions), cmocka_unit_test(frames_become_padding), cmocka_unit_test(convolutions_over_one_dimension), cmocka_unit_test(norms_go_into_convolutions),
        cmocka_unit_test(norms), cmocka_unit_test(images), cmocka_unit_test(pieces_are_taken), cmocka_unit_test(parts_side_by_side_stay_apart), cmocka_unit_test(means_of_rows), cmocka_unit_test(pools_that_round_up), cmocka_unit_test(many_are_joined), cmocka_unit_test(operators_between_make_two_parts),
        cmocka_unit_test(a_part_may_be_needed_before_its_last_node), cmocka_unit_test(what_only_moves_stays_outside),
        cmocka_unit_test(what_xnnpack_cannot_have_stays_outside), cmocka_unit_test(each_operator_can_be_a_delegate), cmocka_unit_test(weights_are_shared),
        cmocka_unit_test(sizes_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
