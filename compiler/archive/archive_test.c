/* Whole archives: what tests/archives/make_archives.py exported, as text of the IR; and how bad ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/archive/archive.h"
#include "fidibus.h"

typedef struct reading {
    fid_message message;
    fid_sink sink;
    fidc_program *program;
    fid_status status;
} reading;

static void read_path(reading *r, const fid_op_table *ops, const char *path) {
    r->message = (fid_message){0};
    r->sink = fid_message_sink(&r->message);
    fid_environment environment = fid_environment_default(NULL);
    assert_int_equal(fidc_program_create(environment.allocator, &r->sink, ops, &r->program), FID_OK);
    r->status = fidc_archive_read(r->program, path, "forward");
}

static void read_archive(reading *r, const char *name) {
    char path[500];
    snprintf(path, sizeof path, FID_SOURCE_DIR "/tests/archives/%s.pt2", name);
    read_path(r, &fid_builtin_ops, path);
}

static fidc_graph *graph_of(reading *r) {
    if (r->status != FID_OK) fail_msg("%s", r->message.text);
    assert_int_equal(r->program->method_count, 1);
    return r->program->methods[0];
}

/* The program is valid and its text holds each of the lines. */
static void check_text(reading *r, const char *const *lines) {
    char *text = NULL;
    graph_of(r);
    if (fidc_verify(r->program) != FID_OK) fail_msg("%s", r->message.text);
    assert_int_equal(fidc_print(r->program, &text), FID_OK);
    for (; *lines; lines++)
        if (!strstr(text, *lines)) fail_msg("no line '%s' in\n%s", *lines, text);
}

static void check_archive(const char *name, const char *const *lines) {
    reading r;
    read_archive(&r, name);
    check_text(&r, lines);
    fidc_program_destroy(r.program);
}
#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- Good archives ---- */

static const char *const linear_lines[] = {
    "method forward(%x: f32[1, 3]) {",
    "const %p_layer_weight: f32[2, 3] = \"layer.weight\" {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}",
    "const %p_layer_bias: f32[2] = \"layer.bias\" {0.5, -0.5}",
    "%linear: f32[1, 2] = aten.linear(%x, %p_layer_weight, %p_layer_bias)",
    "return %linear", NULL,
};

static void every_layout_gives_the_same_program(void **state) {
    (void)state;
    check_archive("linear", linear_lines);
    check_archive("deflated", linear_lines);       /* packed again by another tool */
    check_archive("legacy", linear_lines);         /* as torch wrote it before 2.8 */
    check_archive("pickled_weight", linear_lines); /* the weight in a torch.save of its own */
}

static void nodes_tell_where_they_come_from(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "linear");
    const fidc_node *node = graph_of(&r)->first;
    assert_non_null(strstr(fidc_where(node), "model.py:"));
    assert_non_null(strstr(fidc_where(node), "return self.layer(x)"));
    assert_string_equal(node->module, "layer");
    fidc_program_destroy(r.program);
}

static void weights_are_used_in_place(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "linear");
    graph_of(&r);
    const fidc_value *weight = NULL;
    for (uint32_t i = 0; i < r.program->methods[0]->value_count; i++)
        if (strcmp(r.program->methods[0]->values[i]->name, "p_layer_weight") == 0) weight = r.program->methods[0]->values[i];
    assert_non_null(weight);
    assert_true(weight->constant->is_parameter && weight->constant->persistent && !weight->constant->is_mutable);
    assert_int_equal((uintptr_t)weight->constant->data % 64, 0); /* the archive's alignment */
    fidc_program_destroy(r.program);
}

static void a_buffer_that_is_written_is_a_mutation(void **state) {
    (void)state;
    check_archive("counter_functional", LINES("buffer %b_count: i64[2] = \"count\" {0, 0}", "const %b_step: i64[2] = \"step\" {1, 2}",
                                              "%add: i64[2] = aten.add.Tensor(%b_count, %b_step, 1)", "update %b_count <- %add"));
}

/* Numbers with an imaginary part are constants, and calls take the overload for tensors. */
static void complex_numbers_are_constants(void **state) {
    (void)state;
    check_archive("complex_numbers", LINES("aten.mul.Tensor(%x, %_", "aten.rsub.Tensor(%z, %_", "aten.eq.Tensor(%z, %_", "aten.where.self(%gt, %_",
                                           "aten.expand(%_", "aten.masked_fill.Tensor(%z, %gt_1, %_"));
}

static void operators_in_place_are_marked(void **state) {
    (void)state;
    check_archive("counter", LINES("%add_: i64[2] = aten.add.Tensor!(%b_count, %b_step, 1)"));
    check_archive("in_place", LINES("%relu_: f32[2, 3] = aten.relu!(%add)", "%mul_: f32[3] = aten.mul.Tensor!(%select, %y)",
                                    /* a change of shape only: later uses of relu_ mean the view */
                                    "%unsqueeze_: f32[1, 2, 3] = aten.unsqueeze(%relu_, 0)", "aten.copy!(%y, %sum_1, False)",
                                    "return %unsqueeze_"));
}

static void results_are_written_into_arguments(void **state) {
    (void)state;
    check_archive("out_forms", LINES("%atan2: f32[2, 3] = aten.atan2(%x, %y)", "aten.copy!(%empty_like, %atan2, False)", "= aten.resize(%add, [2, 2]"));
}

static void sizes_are_expressions_of_symbols(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "dynamic");
    const fidc_graph *graph = graph_of(&r);
    const fidc_expr *batch = graph->inputs[0]->sizes[0], *twice = graph->inputs[1]->sizes[0];
    assert_int_equal(batch->low, 2);
    assert_int_equal(batch->high, 16);
    assert_int_equal(fidc_expr_at(batch, FIDC_AT_HINT), 3);
    assert_int_equal(fidc_expr_at(twice, FIDC_AT_HIGH), 32);
    assert_int_equal(fidc_expr_at(fidc_value_of(&graph->outputs[0])->sizes[0], FIDC_AT_HINT), 18); /* 6 + 12 rows */
    fidc_program_destroy(r.program);
}

static void numbers_of_the_graph_are_scalar_operators(void **state) {
    (void)state;
    check_archive("scaled", LINES("aten.sym_size.int(%x, 0)", "aten.mul.Tensor(%x, %sym_size_int_1)",
                                  "executorch_prim.floordiv.Scalar(%sym_size_int_1, 2)"));
    check_archive("live_int", LINES("%n: int(", "aten.add.Tensor(%x, %n, 1)"));
}

static void views_of_one_storage_are_taken_apart(void **state) {
    (void)state;
    check_archive("shared", LINES("\"whole\" {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0}",
                                  "\"part\" {4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0}",
                                  "\"turned\" {0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0}"));
}

static void every_dtype_is_read(void **state) {
    (void)state;
    check_archive("dtypes", LINES("bf16[2] = \"bf16\" {1.0, -2.5}", "f16[1] = \"f16\" {0.5}", "i64[1] = \"i64\" {-1099511627776}",
                                  "u8[3] = \"u8\" {255, 0, 7}", "b8[1, 2] = \"mask\" {1, 0}", "f32[0, 3] = \"empty\""));
}

static void a_channels_last_input_keeps_its_dim_order(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "channels_last");
    assert_memory_equal(graph_of(&r)->inputs[0]->dim_order, ((uint8_t[]){0, 2, 3, 1}), 4);
    fidc_program_destroy(r.program);
}

static void a_region_without_gradients_is_inlined(void **state) {
    (void)state;
    check_archive("no_grad", LINES("wrap_with_set_grad_enabled_add: f32[2] = aten.add.Tensor(%x, %x, 1)"));
}

static void names_that_we_make_up_yield(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "names"); /* forward(t0, example): an input is called example_0 */
    const fidc_graph *graph = graph_of(&r);
    assert_string_equal(graph->inputs[1]->name, "example_0");
    assert_int_equal(fidc_verify(r.program), FID_OK);
    fidc_value *made = fidc_value_number(r.program->methods[0], NULL, FIDC_INT, NULL);
    assert_string_not_equal(made->name, "t0");
    fidc_program_destroy(r.program);
}

static void methods_share_a_program_but_not_their_symbols(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "dynamic"); /* its s77 lies in [2, 16] */
    graph_of(&r);
    assert_int_equal(fidc_archive_read(r.program, FID_SOURCE_DIR "/tests/archives/scaled.pt2", "second"), FID_OK);
    const fidc_expr *first = r.program->methods[0]->inputs[0]->sizes[0], *second = r.program->methods[1]->inputs[0]->sizes[0];
    assert_ptr_not_equal(first, second);
    assert_int_equal(first->high, 16);
    assert_true(second->high == FIDC_UNBOUNDED);
    assert_int_equal(fidc_expr_at(second, FIDC_AT_HINT), 5);
    assert_int_equal(fidc_verify(r.program), FID_OK);
    fidc_program_destroy(r.program);
}

/* ---- Inputs ---- */

static void frozen_inputs_keep_their_places(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "scalars"); /* forward(x, 3, 0.5, True, None, "text") */
    const fidc_graph *graph = graph_of(&r);
    assert_int_equal(graph->input_count, 6);
    assert_int_equal(graph->inputs[0]->type, FIDC_TENSOR);
    for (uint32_t i = 1; i < 6; i++) assert_int_equal(graph->inputs[i]->type, FIDC_NOTHING);
    const fidc_arg *examples = graph->example_inputs;
    assert_non_null(examples);
    assert_int_equal(examples[1].as.integer, 3);
    assert_true(examples[2].as.number == 0.5);
    assert_int_equal(examples[3].kind, FIDC_ARG_BOOL);
    assert_int_equal(examples[4].kind, FIDC_ARG_NONE);
    assert_string_equal(examples[5].as.text, "text");
    fidc_program_destroy(r.program);
}

static float first_float(const fidc_arg *example) { return *(const float *)fidc_value_of(example)->constant->data; }

static void nested_examples_are_flattened_along_the_tree(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "nested"); /* forward((0, 1), {"b": 2, "a": 3}, bias=5, scale=4) */
    const fidc_arg *examples = graph_of(&r)->example_inputs;
    assert_non_null(examples);
    static const char *const names[] = {"pair_0", "pair_1", "table_b", "table_a", "bias"};
    static const float values[] = {0, 1, 2, 3, 5};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(r.program->methods[0]->inputs[i]->name, names[i]);
        assert_true(first_float(&examples[i]) == values[i]);
    }
    assert_int_equal(examples[5].as.integer, 4);
    assert_non_null(strstr(r.program->methods[0]->input_tree, "builtins.dict"));
    fidc_program_destroy(r.program);
}

/* ---- Control flow, on a table that has it ---- */

static const fid_op control_rows[] = {
    {.name = "higher_order::cond", .overload = "", .out = "", .schema = "(Scalar pred, Tensor[] operands) -> Tensor[]"},
    {.name = "aten::add", .overload = "Tensor", .out = "", .schema = "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"},
    {.name = "aten::mul", .overload = "Tensor", .out = "", .schema = "(Tensor self, Tensor other) -> Tensor"},
    {.name = "aten::sum", .overload = "", .out = "", .schema = "(Tensor self, *, ScalarType? dtype=None) -> Tensor"},
    {.name = "aten::gt", .overload = "Scalar", .out = "", .schema = "(Tensor self, Scalar other) -> Tensor"},
};

static void branches_are_graphs_of_their_node(void **state) {
    (void)state;
    reading r;
    fid_op_table table = {control_rows, sizeof control_rows / sizeof control_rows[0]};
    read_path(&r, &table, FID_SOURCE_DIR "/tests/archives/branches.pt2");
    const fidc_node *cond = graph_of(&r)->last;
    assert_string_equal(cond->op->name, "higher_order::cond");
    assert_int_equal(cond->graph_count, 2);
    assert_string_equal(cond->graphs[0]->first->op->name, "aten::add");
    assert_string_equal(cond->graphs[1]->first->op->name, "aten::mul");
    assert_int_equal(cond->args[1].as.list.count, 1);
    fidc_program_destroy(r.program);
}

/* ---- Bad archives ---- */

static void check_refused(const char *name, fid_status status, const char *sentence) {
    reading r;
    read_archive(&r, name);
    assert_int_equal(r.status, status);
    if (!strstr(r.message.text, sentence)) fail_msg("'%s' is not in '%s'", sentence, r.message.text);
    fidc_program_destroy(r.program);
}

static void bad_archives_are_refused_by_name(void **state) {
    (void)state;
    check_refused("no_such_file", FID_ACCESS_FAILED, "no_such_file.pt2: cannot be opened");
    check_refused("not_zip", FID_INVALID_PROGRAM, "not a zip archive");
    check_refused("no_export", FID_INVALID_PROGRAM, "a zip archive without an exported program");
    check_refused("checkpoint", FID_INVALID_PROGRAM, "this is a checkpoint (torch.save)");
    check_refused("newer_schema", FID_NOT_SUPPORTED, "export schema version 9.1");
    check_refused("big_endian", FID_NOT_SUPPORTED, "byteorder is 'big'");
    check_refused("missing_weight", FID_INVALID_PROGRAM, "weight 'layer.weight' is missing: the archive has no member "
                                                         "'model/data/weights/weight_0'");
    check_refused("unlisted_weight", FID_INVALID_PROGRAM, "weight 'layer.weight' is missing");
    check_refused("short_weight", FID_INVALID_PROGRAM, "'layer.weight' needs 24 bytes of member 'model/data/weights/weight_0', which has 20");
}

/* Reading goes on behind them, so that the check at the end can list everything; their shapes are the archive's. */
static void unknown_operators_are_read_as_they_are_called(void **state) {
    (void)state;
    reading r;
    read_archive(&r, "unknown_operators");
    const fidc_node *node = graph_of(&r)->first;
    assert_string_equal(node->op->name, "mylib::twist");
    assert_string_equal(node->op->schema, "(Tensor x, int by) -> (Tensor)");
    assert_int_equal(node->args[1].as.integer, 1);
    assert_int_equal(fidc_size(node->outputs[0], 0), 3);
    assert_null(node->op->reference);
    fidc_program_destroy(r.program);
}

/* ---- Altered bytes ---- */

typedef struct file_bytes { uint8_t *data; size_t size; } file_bytes;

static file_bytes load(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    file_bytes bytes = {malloc(100000), 0};
    bytes.size = fread(bytes.data, 1, 100000, file);
    fclose(file);
    return bytes;
}

static fid_status read_bytes(const uint8_t *data, size_t size) {
    char path[] = "/tmp/fidibus_archive_XXXXXX";
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    reading r;
    read_path(&r, &fid_builtin_ops, path);
    if (r.status != FID_OK) assert_true(r.message.text[0] != 0); /* every refusal says why */
    fidc_program_destroy(r.program);
    remove(path);
    return r.status;
}

static void a_cut_file_is_refused(void **state) {
    (void)state;
    file_bytes bytes = load(FID_SOURCE_DIR "/tests/archives/linear.pt2");
    for (size_t size = 0; size < bytes.size; size += 97) assert_int_not_equal(read_bytes(bytes.data, size), FID_OK);
    free(bytes.data);
}

static void a_damaged_weight_is_refused(void **state) {
    (void)state;
    file_bytes bytes = load(FID_SOURCE_DIR "/tests/archives/linear.pt2");
    bytes.data[64 + 3] ^= 1; /* the first member's data: the weight */
    assert_int_equal(read_bytes(bytes.data, bytes.size), FID_INVALID_PROGRAM);
    free(bytes.data);
}

/* Any byte may change: the archive is read or refused, and nothing worse. */
static void altered_bytes_do_no_harm(void **state) {
    (void)state;
    file_bytes bytes = load(FID_SOURCE_DIR "/tests/archives/deflated.pt2");
    for (size_t at = 0; at < bytes.size; at += 7) {
        uint8_t before = bytes.data[at];
        bytes.data[at] ^= 0x5a;
        read_bytes(bytes.data, bytes.size);
        bytes.data[at] = before;
    }
    free(bytes.data);
}

/* ---- Memory ---- */

typedef struct failing { fid_allocator inner; size_t left; } failing;

static void *resize_failing(void *self, void *memory, size_t old_size, size_t new_size) {
    failing *f = self;
    if (new_size && !f->left) return NULL;
    if (new_size) f->left--;
    return f->inner.resize(f->inner.self, memory, old_size, new_size);
}

static void short_memory_is_an_error(void **state) {
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        failing f = {fid_environment_default(NULL).allocator, allowed};
        fidc_program *program = NULL;
        fid_status status = fidc_program_create((fid_allocator){resize_failing, &f}, NULL, &fid_builtin_ops, &program);
        if (status == FID_OK) status = fidc_archive_read(program, FID_SOURCE_DIR "/tests/archives/deflated.pt2", "forward");
        fidc_program_destroy(program);
        if (status == FID_OK) break;
        assert_int_equal(status, FID_OUT_OF_MEMORY);
        assert_true(allowed < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_gives_the_same_program),
        cmocka_unit_test(nodes_tell_where_they_come_from),
        cmocka_unit_test(weights_are_used_in_place),
        cmocka_unit_test(a_buffer_that_is_written_is_a_mutation),
        cmocka_unit_test(complex_numbers_are_constants),
        cmocka_unit_test(operators_in_place_are_marked),
        cmocka_unit_test(results_are_written_into_arguments),
        cmocka_unit_test(sizes_are_expressions_of_symbols),
        cmocka_unit_test(numbers_of_the_graph_are_scalar_operators),
        cmocka_unit_test(views_of_one_storage_are_taken_apart),
        cmocka_unit_test(every_dtype_is_read),
        cmocka_unit_test(a_channels_last_input_keeps_its_dim_order),
        cmocka_unit_test(a_region_without_gradients_is_inlined),
        cmocka_unit_test(names_that_we_make_up_yield),
        cmocka_unit_test(methods_share_a_program_but_not_their_symbols),
        cmocka_unit_test(frozen_inputs_keep_their_places),
        cmocka_unit_test(nested_examples_are_flattened_along_the_tree),
        cmocka_unit_test(branches_are_graphs_of_their_node),
        cmocka_unit_test(bad_archives_are_refused_by_name),
        cmocka_unit_test(unknown_operators_are_read_as_they_are_called),
        cmocka_unit_test(a_cut_file_is_refused),
        cmocka_unit_test(a_damaged_weight_is_refused),
        cmocka_unit_test(altered_bytes_do_no_harm),
        cmocka_unit_test(short_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
