/* Reads sympy's text of an expression, as torch.export writes it.
 *
 *   sum      = product (('+' | '-') product)*
 *   product  = power (('*' | '//' | '/' | '%') power)*
 *   power    = ('-' power) | atom ('**' power)?
 *   atom     = number | name | name '(' sum (',' sum)* ')' | '(' sum ')'
 */
#include <ctype.h>
#include <stdlib.h>

#include "compiler/ir/ir.h"

typedef struct reader {
    fidc_program *program;
    const char *at;
    int depth;
} reader;

static const fidc_expr *read_sum(reader *r);

static void skip(reader *r) {
    while (isspace((unsigned char)*r->at)) r->at++;
}

static bool accept(reader *r, const char *text) {
    skip(r);
    size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0) return false;
    r->at += length;
    return true;
}

static const fidc_expr *negate(reader *r, const fidc_expr *e) {
    return e ? fidc_expr_binary(r->program, FIDC_EXPR_MUL, e, fidc_expr_const(r->program, -1)) : NULL;
}

typedef struct function_row {
    const char *name;
    int kind; /* -1: the argument itself */
} function_row;

static const function_row functions[] = {
    {"FloorDiv", FIDC_EXPR_FLOORDIV}, {"CleanDiv", FIDC_EXPR_FLOORDIV}, {"CeilDiv", FIDC_EXPR_CEILDIV}, {"PythonMod", FIDC_EXPR_MOD},
    {"Mod", FIDC_EXPR_MOD}, {"Max", FIDC_EXPR_MAX}, {"Min", FIDC_EXPR_MIN}, {"PowByNatural", FIDC_EXPR_POW}, {"Pow", FIDC_EXPR_POW},
    {"IntTrueDiv", FIDC_EXPR_FLOORDIV}, {"TruncToInt", -1}, {"ToFloat", -1}, {"floor", -1}, {"Integer", -1},
};

static const fidc_expr *read_function(reader *r, const char *name, size_t length) {
    size_t i = 0, count = sizeof functions / sizeof functions[0];
    while (i < count && (strlen(functions[i].name) != length || strncmp(functions[i].name, name, length) != 0)) i++;
    if (i == count) return NULL;
    const fidc_expr *value = read_sum(r);
    while (value && accept(r, ",")) {
        const fidc_expr *next = read_sum(r);
        value = next && functions[i].kind >= 0 ? fidc_expr_binary(r->program, (fidc_expr_kind)functions[i].kind, value, next) : NULL;
    }
    return accept(r, ")") ? value : NULL;
}

static const fidc_expr *read_name(reader *r) {
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_') r->at++;
    size_t length = (size_t)(r->at - start);
    char name[64];
    if (length >= sizeof name) return NULL;
    memcpy(name, start, length);
    name[length] = 0;
    if (accept(r, "(")) return read_function(r, name, length);
    /* A symbol that is known keeps its bounds. */
    for (uint32_t i = 0; i < r->program->expr_capacity; i++) {
        const fidc_expr *e = r->program->exprs[i];
        if (e && e->kind == FIDC_EXPR_SYMBOL && strcmp(e->symbol, name) == 0) return e;
    }
    return fidc_expr_symbol(r->program, name, 0, FIDC_UNBOUNDED, 8);
}

static const fidc_expr *read_number(reader *r) {
    char *end;
    long long value = strtoll(r->at, &end, 10);
    if (end[0] == '.' && end[1] == '0' && !isdigit((unsigned char)end[2])) end += 2; /* "2.0" */
    r->at = end;
    return fidc_expr_const(r->program, value);
}

static const fidc_expr *read_atom(reader *r) {
    skip(r);
    if (isdigit((unsigned char)*r->at)) return read_number(r);
    if (isalpha((unsigned char)*r->at) || *r->at == '_') return read_name(r);
    if (!accept(r, "(")) return NULL;
    const fidc_expr *inner = read_sum(r);
    return accept(r, ")") ? inner : NULL;
}

static const fidc_expr *read_power(reader *r) {
    if (accept(r, "-")) return negate(r, read_power(r));
    const fidc_expr *base = read_atom(r);
    if (!base || !accept(r, "**")) return base;
    return fidc_expr_binary(r->program, FIDC_EXPR_POW, base, read_power(r));
}

static const fidc_expr *read_product(reader *r) {
    const fidc_expr *value = read_power(r);
    while (value) {
        fidc_expr_kind kind;
        if (accept(r, "//")) kind = FIDC_EXPR_FLOORDIV;
        else if (accept(r, "*")) kind = FIDC_EXPR_MUL;
        else if (accept(r, "/")) kind = FIDC_EXPR_FLOORDIV; /* torch writes it only where it divides evenly */
        else if (accept(r, "%")) kind = FIDC_EXPR_MOD;
        else break;
        value = fidc_expr_binary(r->program, kind, value, read_power(r));
    }
    return value;
}

static const fidc_expr *read_sum(reader *r) {
    if (++r->depth > 100) return NULL;
    const fidc_expr *value = read_product(r);
    while (value) {
        if (accept(r, "+")) value = fidc_expr_binary(r->program, FIDC_EXPR_ADD, value, read_product(r));
        else if (accept(r, "-")) value = fidc_expr_binary(r->program, FIDC_EXPR_ADD, value, negate(r, read_product(r)));
        else break;
    }
    r->depth--;
    return value;
}

const fidc_expr *fidc_expr_parse(fidc_program *program, const char *text) {
    reader r = {program, text, 0};
    const fidc_expr *value = read_sum(&r);
    skip(&r);
    return *r.at ? NULL : value;
}
