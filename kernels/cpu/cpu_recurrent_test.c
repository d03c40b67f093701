/* Fast recurrent layers against their references: several layers, both directions, both orders of batch and time. */
#include "kernels/cpu/kernel_testing.h"

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

static fid_value *parameters(const layers_case *c, int64_t gates, bool constant) {
    fid_value *values[64];
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
    return list(count, values);
}

static void check(fid_op_id id, int64_t gates, size_t outputs) {
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const layers_case *c = &cases[i / 2];
        int64_t first = c->batch_first ? c->batch : c->length, second = c->batch_first ? c->length : c->batch;
        fid_value *states[] = {FLOATS(ROW_MAJOR, 1, c->layers * c->directions, c->batch, c->width),
                               FLOATS(ROW_MAJOR, 1, c->layers * c->directions, c->batch, c->width)};
        fid_value *inputs[] = {FLOATS(ROW_MAJOR, 1, first, second, c->in), outputs == 3 ? list(2, states) : states[0],
                               parameters(c, gates, i % 2), BOOL(c->biases), INT(c->layers), DOUBLE(0), BOOL(false),
                               BOOL(c->directions == 2), BOOL(c->batch_first)};
        testing_compare(id, 9, inputs, outputs, 1e-5);
        testing_free();
    }
}

static void layers_match(void **state) {
    (void)state;
    check(FID_OPID_lstm_input, 4, 3);
    check(FID_OPID_gru_input, 3, 2);
    check(FID_OPID_rnn_tanh_input, 1, 2);
    check(FID_OPID_rnn_relu_input, 1, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
