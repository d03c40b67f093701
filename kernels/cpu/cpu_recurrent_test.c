/* Fast recurrent layers against their references: several layers, both directions, both orders of batch and time. */
#include "kernels/cpu/kernel_testing.h"
#include "kernels/cpu/pack_weights.h"

typedef struct layers_case {
    int64_t layers, directions, length, batch, in, width;
    bool batch_first, biases;
} layers_case;

static const layers_case cases[] = {
    {1, 1, 1, 1, 3, 4, false, true}, {2, 1, 7, 2, 5, 17, true, true},  {1, 2, 9, 3, 20, 16, false, false},
    {3, 2, 5, 2, 8, 33, true, true}, {2, 1, 12, 1, 64, 64, true, true}, {1, 1, 4, 40, 16, 24, false, true},
};

static fid_value *list(size_t count, fid_value *const *values) {
    fid_tensor **items = testing_allocate(count * sizeof *items);
    for (size_t i = 0; i < count; i++) items[i] = values[i]->as.tensor;
    return testing_value((fid_value){.as.tensors = {items, count}, .tag = FID_TAG_TENSOR_LIST});
}

/* The same matrix in panels. */
static fid_value *packed(const fid_value *matrix) {
    const fid_tensor *w = matrix->as.tensor;
    size_t n = (size_t)w->sizes[0], k = (size_t)w->sizes[1];
    fid_value *result = FLOATS(ROW_MAJOR, 1, (int64_t)fidk_panels(n), (int64_t)k, FIDK_PANEL);
    fidk_pack_rows(w->data, k, n, k, result->as.tensor->data);
    return result;
}

/* With panels, `out_plain` is what they were made of. */
static fid_value *parameters(const layers_case *c, int64_t gates, bool constant, bool panels, fid_value **out_plain) {
    fid_value *values[64], *plain[64];
    size_t count = 0;
    for (int64_t i = 0; i < c->layers * c->directions; i++) {
        int64_t in = i < c->directions ? c->in : c->width * c->directions;
        values[count++] = FLOATS(ROW_MAJOR, 0.3f, gates * c->width, in);
        values[count++] = FLOATS(ROW_MAJOR, 0.3f, gates * c->width, c->width);
        if (!c->biases) continue;
        values[count++] = FLOATS(ROW_MAJOR, 0.5f, gates * c->width);
        values[count++] = FLOATS(ROW_MAJOR, 0.5f, gates * c->width);
    }
    for (size_t i = 0; constant && i < count; i++) testing_constant(values[i]);
    memcpy(plain, values, sizeof plain);
    for (size_t i = 0; panels && i < count; i++)
        if (values[i]->as.tensor->rank == 2) values[i] = packed(values[i]);
    *out_plain = list(count, plain);
    return list(count, values);
}

/* Plain, plain and constant, and in panels: the fast kernel against the reference, and the reference against itself with plain weights. */
static void check(fid_op_id id, fid_op_id fused, int64_t gates, size_t outputs) {
    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        const layers_case *c = &cases[i / 3];
        bool panels = i % 3 == 2;
        fid_value *plain;
        int64_t first = c->batch_first ? c->batch : c->length, second = c->batch_first ? c->length : c->batch;
        fid_value *states[] = {FLOATS(ROW_MAJOR, 1, c->layers * c->directions, c->batch, c->width),
                               FLOATS(ROW_MAJOR, 1, c->layers * c->directions, c->batch, c->width)};
        fid_value *inputs[] = {FLOATS(ROW_MAJOR, 1, first, second, c->in), outputs == 3 ? list(2, states) : states[0],
                               parameters(c, gates, i % 3 == 1, panels, &plain), BOOL(c->biases), INT(c->layers), DOUBLE(0), BOOL(false),
                               BOOL(c->directions == 2), BOOL(c->batch_first)};
        testing_compare(panels ? fused : id, 9, inputs, outputs, 1e-5);
        if (panels) {
            const fid_op *with_panels = &fid_builtin_ops.ops[fused], *without = &fid_builtin_ops.ops[id];
            const fid_tensor *a = testing_run(with_panels, with_panels->reference, 9, inputs, outputs, 0, 1, NULL);
            inputs[2] = plain;
            const fid_tensor *b = testing_run(without, without->reference, 9, inputs, outputs, 0, 1, NULL);
            assert_true(testing_distance(a, b) == 0);
        }
        testing_free();
    }
}

static void layers_match(void **state) {
    (void)state;
    check(FID_OPID_lstm_input, FID_OPID_fused_lstm, 4, 3);
    check(FID_OPID_gru_input, FID_OPID_fused_gru, 3, 2);
    check(FID_OPID_rnn_tanh_input, FID_OPID_fused_rnn_tanh, 1, 2);
    check(FID_OPID_rnn_relu_input, FID_OPID_fused_rnn_relu, 1, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
