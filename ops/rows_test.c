/* The operator table itself: every row is well formed, and no two rows can be mixed up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/operator.h"

#define EACH_ROW(op) for (const fid_op *op = fid_builtin_ops.ops; op < fid_builtin_ops.ops + fid_builtin_ops.count; op++)

static void fail_row(const fid_op *op, const char *why) { fail_msg("%s.%s: %s", op->name, op->overload, why); }

/* A walk that stops early is a typing error in the row. */
static void schemas_are_well_formed(void **state) {
    (void)state;
    EACH_ROW(op) {
        fid_schema_cursor cursor = fid_schema_begin(op->schema);
        fid_schema_arg arg;
        while (fid_schema_next_arg(&cursor, &arg)) {
            if (arg.name.size == 0) fail_row(op, "an argument without name");
        }
        if (strncmp(cursor.at, " -> ", 4) != 0) fail_row(op, cursor.at);
        while (fid_schema_next_result(&cursor, &arg)) {}
        while (*cursor.at && strchr(" ->()", *cursor.at)) cursor.at++;
        if (*cursor.at) fail_row(op, cursor.at);
    }
}

/* Programs name rows by out overload, archives by functional overload. */
static void rows_are_found_by_their_names(void **state) {
    (void)state;
    EACH_ROW(op) {
        if (fid_op_find(&fid_builtin_ops, op->name, op->overload) != op) fail_row(op, "another row has this overload");
        if (!op->reference) continue;
        const fid_op *found = fid_op_find_out(&fid_builtin_ops, op->name, strlen(op->name), op->out, strlen(op->out));
        if (found != op) fail_row(op, "another row has this out overload");
    }
}

static bool gives_tensors(const fid_op *op) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg result;
    return fid_schema_next_result(&cursor, &result) && result.type == FID_SCHEMA_TENSOR;
}

static void kernels_have_what_they_need(void **state) {
    (void)state;
    EACH_ROW(op) {
        bool own = op->kind == FID_OP_SCALAR || op->kind == FID_OP_EFFECT || op->kind == FID_OP_DATA_DEPENDENT;
        if (op->cpu && !op->reference) fail_row(op, "a cpu kernel without a reference");
        if (op->reference && !op->reference->run) fail_row(op, "a kernel that cannot run");
        if (op->reference && !op->shape && gives_tensors(op) && !own) fail_row(op, "a kernel without a shape function");
        if (FID_MESSAGES && (!op->doc || !*op->doc)) fail_row(op, "no line of documentation");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_are_well_formed),
        cmocka_unit_test(rows_are_found_by_their_names),
        cmocka_unit_test(kernels_have_what_they_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
