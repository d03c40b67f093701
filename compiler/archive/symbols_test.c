/* sympy's srepr text as sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/archive/reader.h"
#include "fidibus.h"

#define S "Symbol('s0', positive=True, integer=True)"

/* The value of the text at s0 = 10. */
static int64_t value_of(const char *text) {
    fidc_program *program = NULL;
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, NULL, &fid_builtin_ops, &program), FID_OK);
    fidc_reader r = {.program = program, .method = "forward"};
    json_t *json = json_loads("{\"range_constraints\": {\"s0\": {\"min_val\": 2, \"max_val\": 100}}, \"graph_module\": {\"graph\": {"
                              "\"tensor_values\": {\"x\": {\"sizes\": [{\"as_expr\": {\"expr_str\": \"Mul(Integer(3), " S ")\", "
                              "\"hint\": {\"as_int\": 30}}}]}}, \"sym_int_values\": {}}}}", 0, NULL);
    assert_non_null(json);
    r.json = json;
    assert_int_equal(fidc_symbols_read(&r), FID_OK);
    int64_t hint = -7;
    const fidc_expr *expr = fidc_symbols_parse(&r, text, &hint);
    assert_non_null(expr);
    assert_ptr_equal(expr, fidc_symbols_parse(&r, text, &hint)); /* the same text is the same size */
    int64_t value = fidc_expr_at(expr, FIDC_AT_HINT);
    json_decref(json);
    fidc_program_destroy(program);
    return value;
}

static void terms(void **state) {
    (void)state;
    assert_int_equal(value_of(S), 10); /* learnt from 3 * s0 = 30 */
    assert_int_equal(value_of("Add(Mul(Integer(2), " S "), Integer(-1))"), 19);
    assert_int_equal(value_of("Add(FloorDiv(Add(" S ", Integer(-1)), Integer(4)), Integer(1))"), 3);
    assert_int_equal(value_of("Mul(" S ", " S ", Integer(2))"), 200);
    assert_int_equal(value_of("Max(Integer(1), Add(" S ", Integer(-20)))"), 1);
    assert_int_equal(value_of("Mod(" S ", Integer(4))"), 2);
    assert_int_equal(value_of("Pow(" S ", Integer(2))"), 100);
}

static void fractions(void **state) {
    (void)state;
    assert_int_equal(value_of("Mul(Rational(1, 2), " S ")"), 5);
    assert_int_equal(value_of("FloorToInt(IntTrueDiv(" S ", Integer(3)))"), 3);
    assert_int_equal(value_of("CeilToInt(IntTrueDiv(" S ", Integer(3)))"), 4);
    assert_int_equal(value_of("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(" S ")))"), 15);
    assert_int_equal(value_of("Mul(" S ", Pow(Integer(5), Integer(-1)))"), 2);
    assert_int_equal(value_of("CeilDiv(" S ", Integer(4))"), 3);
}

static void what_is_not_understood_is_an_unknown_with_a_hint(void **state) {
    (void)state;
    assert_int_equal(value_of("BitwiseFn_bitwise_and(" S ", Integer(3))"), -7);
    assert_int_equal(value_of("Add(" S), -7);
    assert_int_equal(value_of("Mul(Float('0.1', precision=53), " S ")"), -7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms),
        cmocka_unit_test(fractions),
        cmocka_unit_test(what_is_not_understood_is_an_unknown_with_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
