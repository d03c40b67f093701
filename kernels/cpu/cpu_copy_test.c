/* Fast moves of elements against their references: every dtype size, both orders of images. */
#include "kernels/cpu/kernel_testing.h"

static fid_value *patterned(fid_dtype dtype, testing_order order, size_t rank, const int64_t *sizes) {
    fid_tensor *t = testing_tensor(dtype, rank, sizes, order);
    for (size_t i = 0; i < fid_tensor_bytes(t); i++) ((uint8_t *)t->data)[i] = (uint8_t)(i * 37 + 11) % 100;
    return testing_value(fid_tensor_value(t));
}
#define PATTERN(dtype, order, ...) patterned(dtype, order, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

/* Bytes must be equal, and so results do not have to be float32. */
static void same_bytes_of(fid_op_id id, size_t count, fid_value *const *inputs, size_t outputs) {
    const fid_op *op = &fid_builtin_ops.ops[id];
    fid_value *rights, *fasts;
    testing_run_all(op, op->reference, count, inputs, outputs, 0, 1, &rights);
    for (size_t run = 0; run < TESTING_RUNS; run++) {
        size_t threads = testing_threads(run);
        for (size_t way = 0; way < 2; way++) {
            assert_true(testing_run_all(op, op->cpu, count, inputs, outputs, way ? 0 : fid_cpu_detect(), threads, &fasts));
            for (size_t i = 0; i < outputs; i++) {
                const fid_tensor *right = testing_output(rights, i), *fast = testing_output(fasts, i);
                if (memcmp(fast->data, right->data, fid_tensor_bytes(right)) != 0) fail_msg("%s, %zu threads: output %zu differs", op->name, threads, i);
            }
        }
    }
}
static void same_bytes(fid_op_id id, size_t count, fid_value *const *inputs) { same_bytes_of(id, count, inputs, 1); }
#define PARTS(id, parts, ...)                                                                                          \
    same_bytes_of(FID_OPID_##id, sizeof((fid_value *[]){__VA_ARGS__}) / sizeof(fid_value *), (fid_value *[]){__VA_ARGS__}, parts)
#define SAME(id, ...) same_bytes(FID_OPID_##id, sizeof((fid_value *[]){__VA_ARGS__}) / sizeof(fid_value *), (fid_value *[]){__VA_ARGS__})

static const fid_dtype dtypes[] = {FID_UINT8, FID_FLOAT16, FID_FLOAT32, FID_INT64, FID_COMPLEX128};

static void copies_match(void **state) {
    (void)state;
    for (size_t d = 0; d < 5; d++) {
        fid_dtype t = dtypes[d];
        SAME(permute_copy, PATTERN(t, ROW_MAJOR, 3, 5, 17, 19), INTS(0, 2, 1, 3));
        SAME(permute_copy, PATTERN(t, ROW_MAJOR, 3, 5, 17, 19), INTS(3, 1, 0, 2));
        SAME(permute_copy, PATTERN(t, CHANNELS_LAST, 3, 5, 17, 19), INTS(0, -2, -1, 1));
        SAME(transpose_copy_int, PATTERN(t, ROW_MAJOR, 65, 33), INT(0), INT(1));
        SAME(expand_copy, PATTERN(t, ROW_MAJOR, 5, 1, 7), INTS(2, 5, 9, 7), BOOL(false));
        SAME(expand_copy, PATTERN(t, ROW_MAJOR, 5, 9, 1), INTS(-1, -1, 4), BOOL(false));
        SAME(slice_copy_Tensor, PATTERN(t, ROW_MAJOR, 5, 9, 7), INT(1), INT(2), INT(9), INT(3));
        SAME(slice_copy_Tensor, PATTERN(t, ROW_MAJOR, 5, 9, 7), INT(-1), INT(-3), NOTHING, INT(1));
        SAME(select_copy_int, PATTERN(t, ROW_MAJOR, 5, 9, 7), INT(1), INT(-2));
        SAME(view_copy, PATTERN(t, CHANNELS_LAST, 2, 6, 4, 5), INTS(2, -1));
        SAME(_clone_dim_order, PATTERN(t, ROW_MAJOR, 2, 18, 4, 5), BOOL(false), INTS(0, 2, 3, 1));
        SAME(_clone_dim_order, PATTERN(t, CHANNELS_LAST, 2, 18, 4, 5), BOOL(false), INTS(0, 1, 2, 3));
        SAME(clone, PATTERN(t, CHANNELS_LAST, 2, 18, 4, 5), NOTHING);
        testing_free();
        SAME(t_copy, PATTERN(t, ROW_MAJOR, 33, 17));
        SAME(unsqueeze_copy, PATTERN(t, ROW_MAJOR, 5, 9), INT(-2));
        SAME(squeeze_copy_dims, PATTERN(t, ROW_MAJOR, 1, 5, 1, 9), INTS(0, 1, 2));
        PARTS(split_copy_Tensor, 3, PATTERN(t, ROW_MAJOR, 3, 7, 5), INT(3), INT(1));
        PARTS(split_with_sizes_copy, 3, PATTERN(t, ROW_MAJOR, 3, 7, 5), INTS(4, 0, 3), INT(-2));
        PARTS(unbind_copy_int, 3, PATTERN(t, ROW_MAJOR, 7, 3, 5), INT(1));
        testing_free();
    }
    SAME(_clone_dim_order, PATTERN(FID_FLOAT32, ROW_MAJOR, 1, 3, 224, 224), BOOL(false), INTS(0, 2, 3, 1));
    SAME(_clone_dim_order, PATTERN(FID_FLOAT32, ROW_MAJOR, 2, 3, 5, 13), BOOL(false), INTS(0, 2, 3, 1));
    testing_free();
}

static fid_value *truths(size_t rows, size_t columns) {
    fid_value *v = patterned(FID_BOOL, ROW_MAJOR, 3, (int64_t[]){1, (int64_t)rows, (int64_t)columns});
    uint8_t *bytes = v->as.tensor->data;
    for (size_t i = 0; i < rows * columns; i++) bytes[i] = i % columns == (i / columns) * 5 % (columns + 3); /* one in most rows */
    return v;
}

static void one_number_and_any_match(void **state) {
    (void)state;
    const fid_dtype filled[] = {FID_FLOAT32, FID_BOOL, FID_INT64};
    for (size_t d = 0; d < 3; d++) {
        SAME(full_like, PATTERN(filled[d], ROW_MAJOR, 3, 7), INT(1), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING);
        SAME(full_like, PATTERN(filled[d], CHANNELS_LAST, 2, 3, 4, 5), BOOL(true), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING);
        SAME(full_like, PATTERN(filled[d], ROW_MAJOR, 0, 7), INT(1), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING);
        testing_free();
    }
    for (size_t d = 0; d < 3; d++) {
        SAME(full, INTS(3, 37), INT(1), INT(filled[d]), NOTHING, NOTHING, NOTHING);
        SAME(full, INTS(0, 3), INT(1), INT(filled[d]), NOTHING, NOTHING, NOTHING);
    }
    SAME(full_like, PATTERN(FID_FLOAT32, ROW_MAJOR, 3, 7), DOUBLE(-INFINITY), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING);
    for (size_t columns = 1; columns < 40; columns += 3) SAME(any_dim, truths(13, columns), INT(-1), BOOL(columns % 2));
    testing_free();
}

static fid_value *tensors(size_t count, fid_value *const *values) {
    fid_tensor **items = testing_allocate(count * sizeof *items);
    for (size_t i = 0; i < count; i++) items[i] = values[i]->as.tensor;
    return testing_value((fid_value){.as.tensors = {items, count}, .tag = FID_TAG_TENSOR_LIST});
}

static void concatenation_and_padding_match(void **state) {
    (void)state;
    fid_value *flat[] = {PATTERN(FID_INT64, ROW_MAJOR, 2, 3, 5), PATTERN(FID_INT64, ROW_MAJOR, 2, 4, 5), PATTERN(FID_INT64, ROW_MAJOR, 0)};
    SAME(cat, tensors(3, flat), INT(1));
    fid_value *images[] = {FLOATS(CHANNELS_LAST, 1, 1, 3, 6, 5), FLOATS(CHANNELS_LAST, 1, 1, 8, 6, 5)};
    SAME(cat, tensors(2, images), INT(1));
    SAME(constant_pad_nd, FLOATS(ROW_MAJOR, 1, 2, 3, 5), INTS(1, 2, 0, 3), DOUBLE(1.5));
    SAME(constant_pad_nd, FLOATS(CHANNELS_LAST, 1, 2, 3, 5, 4), INTS(0, 1, 0, 1), INT(0));
    SAME(constant_pad_nd, FLOATS(ROW_MAJOR, 1, 2, 3, 5), INTS(-1, 2, 1, -1), INT(3));
    testing_free();
}

static fid_value *indices(fid_dtype dtype, size_t count, const int64_t *items) {
    fid_tensor *t = testing_tensor(dtype, 1, (int64_t[]){(int64_t)count}, ROW_MAJOR);
    for (size_t i = 0; i < count; i++) {
        int32_t narrow = (int32_t)items[i];
        memcpy((uint8_t *)t->data + i * fid_dtype_size(dtype), dtype == FID_INT64 ? (const void *)&items[i] : &narrow, fid_dtype_size(dtype));
    }
    return testing_value(fid_tensor_value(t));
}
#define INDICES(dtype, ...) indices(dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static fid_value *matrix_of_indices(int64_t rows, int64_t columns, int64_t below) {
    fid_tensor *t = testing_tensor(FID_INT64, 2, (int64_t[]){rows, columns}, ROW_MAJOR);
    for (int64_t i = 0; i < rows * columns; i++) ((int64_t *)t->data)[i] = i * 7 % below;
    return testing_value(fid_tensor_value(t));
}

static void replaced_parts_match(void **state) {
    (void)state;
    for (size_t d = 0; d < 5; d++) {
        fid_dtype t = dtypes[d];
        SAME(slice_scatter, PATTERN(t, ROW_MAJOR, 3, 9, 5), PATTERN(t, ROW_MAJOR, 3, 2, 5), INT(1), INT(4), INT(6), INT(1));
        SAME(slice_scatter, PATTERN(t, ROW_MAJOR, 3, 9, 5), PATTERN(t, ROW_MAJOR, 3, 4, 5), INT(-2), INT(-8), NOTHING, INT(2));
        SAME(slice_scatter, PATTERN(t, CHANNELS_LAST, 2, 6, 4, 5), PATTERN(t, ROW_MAJOR, 2, 3, 4, 5), INT(1), INT(1), INT(4), INT(1));
        SAME(select_scatter, PATTERN(t, ROW_MAJOR, 3, 9, 5), PATTERN(t, ROW_MAJOR, 3, 5), INT(1), INT(-1));
        SAME(select_scatter, PATTERN(t, ROW_MAJOR, 3, 9, 5), PATTERN(t, ROW_MAJOR, 9, 5), INT(0), INT(1));
        testing_free();
    }
}

/* copy_ has no shape function and writes into its first argument: each kernel gets a target of its own. */
static void copy_into(const fid_kernel *kernel, fid_value *self, fid_value *source, uint32_t cpu) {
    static const fid_sink sink = {testing_print, NULL};
    fid_value *args[] = {self, source, BOOL(false), NOTHING};
    fid_call call = {.name = "copy_", .args = args, .arg_count = 4, .output_index = 3, .sink = &sink, .cpu = cpu};
    assert_int_equal(kernel->prepare ? kernel->prepare(&call) : FID_OK, FID_OK);
    assert_int_equal(kernel->run(&call), FID_OK);
    assert_ptr_equal(args[3]->as.tensor, self->as.tensor);
}

static void copies_into_match(void **state) {
    (void)state;
    const fid_op *op = &fid_builtin_ops.ops[FID_OPID_copy_];
    for (size_t d = 0; d < 5; d++) {
        fid_dtype t = dtypes[d];
        fid_value *sources[] = {PATTERN(t, CHANNELS_LAST, 2, 3, 4, 5), PATTERN(t, ROW_MAJOR, 3, 1, 5), PATTERN(t, ROW_MAJOR, 1)};
        for (size_t i = 0; i < 3; i++) {
            fid_value *right = PATTERN(t, ROW_MAJOR, 2, 3, 4, 5), *fast = PATTERN(t, ROW_MAJOR, 2, 3, 4, 5);
            copy_into(op->reference, right, sources[i], 0);
            copy_into(op->cpu, fast, sources[i], fid_cpu_detect());
            assert_memory_equal(fast->as.tensor->data, right->as.tensor->data, fid_tensor_bytes(right->as.tensor));
        }
        testing_free();
    }
}

static void edge_pads_match(void **state) {
    (void)state;
    for (size_t d = 0; d < 5; d++) {
        fid_dtype t = dtypes[d];
        for (int o = 0; o < 2; o++) {
            testing_order order = o ? CHANNELS_LAST : ROW_MAJOR;
            SAME(reflection_pad2d, PATTERN(t, order, 2, 5, 6, 7), INTS(3, 2, 1, 5));
            SAME(reflection_pad2d, PATTERN(t, order, 1, 40, 60, 61), INTS(60, 0, 0, 2));
            SAME(replication_pad2d, PATTERN(t, order, 1, 1, 3, 4), INTS(9, 1, 7, 2));
            SAME(replication_pad2d, PATTERN(t, order, 2, 3, 6, 7), INTS(-2, 4, 3, -1)); /* negative pads take away */
        }
        SAME(reflection_pad1d, PATTERN(t, ROW_MAJOR, 3, 9), INTS(8, 4));
        SAME(replication_pad1d, PATTERN(t, ROW_MAJOR, 2, 3, 1), INTS(8, 4));
        SAME(replication_pad1d, PATTERN(t, ROW_MAJOR, 2, 3, 5), INTS(-3, 9));
        SAME(reflection_pad3d, PATTERN(t, ROW_MAJOR, 2, 3, 4, 5), INTS(4, 1, 3, 0, 2, 1));
        SAME(replication_pad3d, PATTERN(t, ROW_MAJOR, 1, 2, 3, 4, 5), INTS(4, 1, 3, 0, 2, 1));
        testing_free();
    }
}

static void other_moves_match(void **state) {
    (void)state;
    for (size_t d = 0; d < 5; d++) {
        fid_dtype t = dtypes[d];
        fid_value *parts[] = {PATTERN(t, ROW_MAJOR, 3, 4), PATTERN(t, ROW_MAJOR, 3, 4)};
        SAME(stack, tensors(2, parts), INT(1));
        SAME(repeat, PATTERN(t, ROW_MAJOR, 3, 4), INTS(2, 1, 3));
        SAME(roll, PATTERN(t, ROW_MAJOR, 3, 7, 5), INTS(2, -3), INTS(1, 2));
        SAME(roll, PATTERN(t, ROW_MAJOR, 3, 7, 5), INTS(9), INTS(-1));
        SAME(pixel_shuffle, PATTERN(t, ROW_MAJOR, 2, 18, 4, 5), INT(3));
        SAME(pixel_shuffle, PATTERN(t, CHANNELS_LAST, 2, 18, 4, 5), INT(3));
        SAME(pixel_unshuffle, PATTERN(t, ROW_MAJOR, 2, 3, 6, 8), INT(2));
        SAME(index_select, PATTERN(t, ROW_MAJOR, 4, 5, 3), INT(1), INDICES(FID_INT32, 4, 0, 0, 2));
        fid_tensor *list[] = {NULL, INDICES(FID_INT64, -1, 3, 0)->as.tensor};
        fid_tensor **items = testing_allocate(sizeof list);
        memcpy(items, list, sizeof list);
        SAME(gather, PATTERN(t, ROW_MAJOR, 7), INT(0), INDICES(FID_INT64, 6, 0, 3, 3, 1, 2, 5, 4, 6), BOOL(false));
        SAME(gather, PATTERN(t, ROW_MAJOR, 4, 5), INT(1), matrix_of_indices(3, 4, 5), BOOL(false));
        SAME(embedding, PATTERN(t, ROW_MAJOR, 6, 7), matrix_of_indices(5, 3, 6), INT(-1), BOOL(false), BOOL(false));
        SAME(index_Tensor, PATTERN(t, ROW_MAJOR, 4, 5, 3), testing_value((fid_value){.as.tensors = {items, 2}, .tag = FID_TAG_OPTIONAL_TENSOR_LIST}));
        testing_free();
    }
}

static void casts_match(void **state) {
    static const fid_dtype from[] = {FID_FLOAT16, FID_BFLOAT16, FID_INT64, FID_INT32, FID_BOOL, FID_UINT8};
    (void)state;
    for (size_t d = 0; d < 6; d++) {
        for (int64_t n = 1; n < 40; n += 6) {
            fid_value *to = INT(FID_FLOAT32), *other = INT(from[d]);
            SAME(_to_copy, PATTERN(from[d], ROW_MAJOR, 3, n), to, NOTHING, NOTHING, NOTHING, BOOL(false), NOTHING);
            if (d < 2) SAME(_to_copy, FLOATS(ROW_MAJOR, 1000, 3, n), other, NOTHING, NOTHING, NOTHING, BOOL(false), NOTHING);
            testing_free();
        }
    }
    fid_value *x = FLOATS(ROW_MAJOR, 1, 37);
    float values[] = {NAN, -NAN, INFINITY, -INFINITY, 65504, 65520, 1e-8f, 3e38f, 5.96e-8f, -0.0f, 1.00048828125f, 1.00390625f, 1.01171875f};
    memcpy(x->as.tensor->data, values, sizeof values);
    for (size_t d = 0; d < 2; d++) SAME(_to_copy, x, INT(from[d]), NOTHING, NOTHING, NOTHING, BOOL(false), NOTHING);
    testing_free();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_match), cmocka_unit_test(one_number_and_any_match),
        cmocka_unit_test(concatenation_and_padding_match),
        cmocka_unit_test(replaced_parts_match), cmocka_unit_test(copies_into_match), cmocka_unit_test(edge_pads_match), cmocka_unit_test(other_moves_match),
        cmocka_unit_test(casts_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
