/* Symbolic sizes: reads sympy's srepr text, and learns the range and the example value of each symbol.
 *
 *   term = INTEGER | NAME | Symbol('s0', ...) | Integer(3) | Float('0.5', ...) | Rational(1, 2) | NAME(term, term, ...)
 *
 * Division and floats occur inside, never at the outside of a size, so a term is a fraction of two integer expressions. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "compiler/archive/reader.h"

typedef struct fidc_symbol {
    const char *name;
    int64_t low, high, hint;
    bool hinted;   /* the archive told the value at the example inputs */
    bool unbacked; /* "u0": only running tells */
    const fidc_expr *expr;
} fidc_symbol;

typedef struct fraction { const fidc_expr *over, *under; } fraction; /* over NULL: not understood */

typedef struct parser {
    fidc_reader *r;
    const char *at;
    int depth;
} parser;

/* ---- Symbols ---- */

static fidc_symbol *find_symbol(fidc_reader *r, const char *name) {
    fidc_symbol *symbol = fidc_name_map_get(&r->symbols, name);
    if (symbol) return symbol;
    symbol = fidc_allocate(r->program, sizeof *symbol);
    char *copy = fidc_text(r->program, name);
    if (!symbol || !copy || !fidc_name_map_put(r->program, &r->symbols, copy, symbol)) return NULL;
    *symbol = (fidc_symbol){.name = copy, .high = FIDC_UNBOUNDED, .unbacked = name[0] == 'u'};
    return symbol;
}

static int64_t likely_value(const fidc_symbol *symbol) {
    if (symbol->hinted) return symbol->hint;
    int64_t value = symbol->unbacked ? 1 : 8;
    if (value < symbol->low) value = symbol->low;
    return value > symbol->high ? symbol->high : value;
}

/* Symbols of the second and later methods carry the method's name: each archive counts its own s0, s1, ... */
static const fidc_expr *expr_of(fidc_reader *r, fidc_symbol *symbol) {
    if (!symbol || symbol->expr) return symbol ? symbol->expr : NULL;
    const char *name = r->program->method_count > 1 ? fidc_text_format(r->program, "%s_%s", r->method, symbol->name) : symbol->name;
    if (!name) return NULL;
    if (symbol->unbacked) symbol->expr = fidc_expr_bounded(r->program, symbol->low, symbol->high, likely_value(symbol));
    else symbol->expr = fidc_expr_symbol(r->program, name, symbol->low, symbol->high, likely_value(symbol));
    return symbol->expr;
}

/* ---- Fractions ---- */

static const fidc_expr *binary(parser *p, fidc_expr_kind kind, const fidc_expr *a, const fidc_expr *b) {
    if (kind == FIDC_EXPR_MUL && !a) return b; /* a missing denominator is one */
    if (kind == FIDC_EXPR_MUL && !b) return a;
    return fidc_expr_binary(p->r->program, kind, a, b);
}

static fraction whole(const fidc_expr *e) { return (fraction){e, NULL}; }

static fraction multiply(parser *p, fraction a, fraction b) {
    return (fraction){binary(p, FIDC_EXPR_MUL, a.over, b.over), binary(p, FIDC_EXPR_MUL, a.under, b.under)};
}

static fraction divide(parser *p, fraction a, fraction b) {
    return multiply(p, a, (fraction){b.under ? b.under : fidc_expr_const(p->r->program, 1), b.over});
}

static fraction add(parser *p, fraction a, fraction b) {
    const fidc_expr *left = binary(p, FIDC_EXPR_MUL, a.over, b.under), *right = binary(p, FIDC_EXPR_MUL, b.over, a.under);
    return (fraction){binary(p, FIDC_EXPR_ADD, left, right), binary(p, FIDC_EXPR_MUL, a.under, b.under)};
}

static fraction rounded(parser *p, fraction a, fidc_expr_kind kind) {
    return a.under ? whole(binary(p, kind, a.over, a.under)) : a;
}

static fraction integers(parser *p, fidc_expr_kind kind, fraction a, fraction b) {
    return a.under || b.under ? whole(NULL) : whole(binary(p, kind, a.over, b.over));
}

static fraction power(parser *p, fraction a, fraction b) {
    if (b.under || !fidc_expr_is_const(b.over)) return whole(NULL);
    int64_t n = b.over->constant;
    if (n == -1) return divide(p, whole(fidc_expr_const(p->r->program, 1)), a);
    return n < 0 ? whole(NULL) : integers(p, FIDC_EXPR_POW, a, b);
}

typedef enum term_kind {
    TERM_ADD, TERM_MUL, TERM_MAX, TERM_MIN, TERM_DIVIDE, TERM_FLOOR_DIVIDE, TERM_CEIL_DIVIDE, TERM_MOD, TERM_POWER, TERM_FLOOR,
    TERM_CEIL, TERM_SAME,
} term_kind;

typedef struct term_row { const char *name; term_kind kind; } term_row;

static const term_row terms[] = {
    {"Add", TERM_ADD}, {"Mul", TERM_MUL}, {"Max", TERM_MAX}, {"Min", TERM_MIN}, {"FloorDiv", TERM_FLOOR_DIVIDE},
    {"CleanDiv", TERM_FLOOR_DIVIDE}, {"CeilDiv", TERM_CEIL_DIVIDE}, {"Mod", TERM_MOD}, {"PythonMod", TERM_MOD}, {"Pow", TERM_POWER},
    {"PowByNatural", TERM_POWER}, {"IntTrueDiv", TERM_DIVIDE}, {"FloatTrueDiv", TERM_DIVIDE}, {"FloorToInt", TERM_FLOOR},
    {"TruncToInt", TERM_FLOOR}, {"TruncToFloat", TERM_FLOOR}, {"floor", TERM_FLOOR}, {"CeilToInt", TERM_CEIL}, {"ceiling", TERM_CEIL},
    {"ToFloat", TERM_SAME}, {"Identity", TERM_SAME},
};

static fraction combine(parser *p, term_kind kind, fraction a, fraction b) {
    switch (kind) {
    case TERM_ADD: return add(p, a, b);
    case TERM_MUL: return multiply(p, a, b);
    case TERM_MAX: return integers(p, FIDC_EXPR_MAX, a, b);
    case TERM_MIN: return integers(p, FIDC_EXPR_MIN, a, b);
    case TERM_DIVIDE: return divide(p, a, b);
    case TERM_FLOOR_DIVIDE: return rounded(p, divide(p, a, b), FIDC_EXPR_FLOORDIV);
    case TERM_CEIL_DIVIDE: return rounded(p, divide(p, a, b), FIDC_EXPR_CEILDIV);
    case TERM_MOD: return integers(p, FIDC_EXPR_MOD, a, b);
    case TERM_POWER: return power(p, a, b);
    default: return whole(NULL);
    }
}

static fraction single(parser *p, term_kind kind, fraction a) {
    if (kind == TERM_FLOOR) return rounded(p, a, FIDC_EXPR_FLOORDIV);
    if (kind == TERM_CEIL) return rounded(p, a, FIDC_EXPR_CEILDIV);
    bool same = kind == TERM_SAME || kind == TERM_ADD || kind == TERM_MUL || kind == TERM_MAX || kind == TERM_MIN;
    return same ? a : whole(NULL);
}

/* ---- Text ---- */

static fraction read_term(parser *p);

static bool accept(parser *p, char wanted) {
    while (*p->at == ' ') p->at++;
    if (*p->at != wanted) return false;
    p->at++;
    return true;
}

static bool read_integer(parser *p, int64_t *out) {
    while (*p->at == ' ') p->at++;
    char *end;
    errno = 0;
    *out = strtoll(p->at, &end, 10);
    if (end == p->at || errno) return false;
    p->at = end;
    return true;
}

/* 'text' in quotes, then anything up to the closing parenthesis: positive=True, precision=53, ... */
static bool read_quoted(parser *p, char *out, size_t size) {
    if (!accept(p, '\'')) return false;
    size_t length = strcspn(p->at, "'");
    if (!p->at[length] || length >= size) return false;
    memcpy(out, p->at, length);
    out[length] = 0;
    p->at += length + 1;
    p->at += strcspn(p->at, ")");
    return accept(p, ')');
}

static fraction read_symbol(parser *p) {
    char name[64];
    return whole(read_quoted(p, name, sizeof name) ? expr_of(p->r, find_symbol(p->r, name)) : NULL);
}

/* A float is exactly a fraction with a power of two below; larger denominators than 2^20 are no sizes. */
static fraction read_float(parser *p) {
    char text[64];
    if (!read_quoted(p, text, sizeof text)) return whole(NULL);
    double value = strtod(text, NULL);
    int64_t under = 1;
    while (value != floor(value) && under < 1 << 20) value *= 2, under *= 2;
    if (value != floor(value) || fabs(value) > 1e15) return whole(NULL);
    return (fraction){fidc_expr_const(p->r->program, (int64_t)value), under > 1 ? fidc_expr_const(p->r->program, under) : NULL};
}

static fraction read_rational(parser *p) {
    int64_t over, under;
    if (!read_integer(p, &over) || !accept(p, ',') || !read_integer(p, &under) || !accept(p, ')') || under < 1) return whole(NULL);
    return (fraction){fidc_expr_const(p->r->program, over), fidc_expr_const(p->r->program, under)};
}

static fraction read_call(parser *p, const char *name, size_t length) {
    if (length == 7 && memcmp(name, "Integer", 7) == 0) {
        int64_t value;
        return whole(read_integer(p, &value) && accept(p, ')') ? fidc_expr_const(p->r->program, value) : NULL);
    }
    if (length == 6 && memcmp(name, "Symbol", 6) == 0) return read_symbol(p);
    if (length == 5 && memcmp(name, "Float", 5) == 0) return read_float(p);
    if (length == 8 && memcmp(name, "Rational", 8) == 0) return read_rational(p);
    size_t i = 0, count = sizeof terms / sizeof terms[0];
    while (i < count && (strlen(terms[i].name) != length || memcmp(terms[i].name, name, length) != 0)) i++;
    if (i == count) return whole(NULL);
    fraction value = read_term(p);
    bool alone = true;
    for (; value.over && accept(p, ','); alone = false) {
        fraction next = read_term(p);
        value = next.over ? combine(p, terms[i].kind, value, next) : whole(NULL);
    }
    if (!value.over || !accept(p, ')')) return whole(NULL);
    return alone ? single(p, terms[i].kind, value) : value;
}

static fraction read_term(parser *p) {
    if (p->depth >= 100) return whole(NULL);
    while (*p->at == ' ') p->at++;
    const char *start = p->at;
    int64_t value;
    if (*start == '-' || isdigit((unsigned char)*start)) return whole(read_integer(p, &value) ? fidc_expr_const(p->r->program, value) : NULL);
    while (isalnum((unsigned char)*p->at) || *p->at == '_') p->at++;
    size_t length = (size_t)(p->at - start);
    if (!length || length > 60) return whole(NULL);
    if (!accept(p, '(')) {
        char name[64];
        memcpy(name, start, length);
        name[length] = 0;
        return whole(expr_of(p->r, find_symbol(p->r, name)));
    }
    p->depth++;
    fraction result = read_call(p, start, length);
    p->depth--;
    return result;
}

const fidc_expr *fidc_symbols_parse(fidc_reader *r, const char *text, const int64_t *hint) {
    parser p = {r, text, 0};
    fraction value = read_term(&p);
    if (value.over && !*p.at) return rounded(&p, value, FIDC_EXPR_FLOORDIV).over;
    /* Seen before, it must stay the same unknown. */
    fidc_symbol *unknown = find_symbol(r, text);
    if (unknown && !unknown->expr) unknown->expr = fidc_expr_bounded(r->program, 0, FIDC_UNBOUNDED, hint ? *hint : 1);
    return unknown ? unknown->expr : NULL;
}

/* ---- Ranges and hints ---- */

static bool is_name(const char *text) {
    while (isalnum((unsigned char)*text) || *text == '_') text++;
    return !*text;
}

static fid_status read_ranges(fidc_reader *r) {
    const json_t *ranges = NULL;
    const char *text;
    json_t *range;
    FID_TRY(fidc_json_object(r, r->json, "range_constraints", &ranges));
    json_object_foreach((json_t *)ranges, text, range) {
        if (!is_name(text)) continue; /* "32*s0": follows from the range of s0 */
        fidc_symbol *symbol = find_symbol(r, text);
        if (!symbol) return FID_OUT_OF_MEMORY;
        json_t *low = json_object_get(range, "min_val"), *high = json_object_get(range, "max_val");
        if (json_is_integer(low) && json_integer_value(low) > 0) symbol->low = json_integer_value(low);
        /* "As many as there are numbers" is no bound. */
        if (json_is_integer(high) && json_integer_value(high) <= INT64_MAX / 2) symbol->high = json_integer_value(high);
        if (symbol->high < symbol->low)
            return fidc_reader_fail(r, FID_INVALID_PROGRAM, "range of '%s': %lld to %lld is empty", text, (long long)symbol->low,
                                    (long long)symbol->high);
    }
    return FID_OK;
}

/* The value of the one symbol in `e` at which `e` is `target`. */
static bool solve(const fidc_expr *e, int64_t target, const fidc_expr **out_symbol, int64_t *out_value) {
    if (e->kind == FIDC_EXPR_SYMBOL) {
        *out_symbol = e;
        *out_value = target;
        return true;
    }
    if (!e->a || !e->b) return false;
    bool right = fidc_expr_is_const(e->b);
    const fidc_expr *constant = right ? e->b : e->a, *rest = right ? e->a : e->b;
    if (!fidc_expr_is_const(constant)) return false;
    int64_t c = constant->constant;
    if (e->kind == FIDC_EXPR_ADD) return !__builtin_sub_overflow(target, c, &target) && solve(rest, target, out_symbol, out_value);
    if (e->kind == FIDC_EXPR_MUL) return c > 0 && target % c == 0 && solve(rest, target / c, out_symbol, out_value);
    return e->kind == FIDC_EXPR_FLOORDIV && right && !__builtin_mul_overflow(target, c, &target) && solve(rest, target, out_symbol, out_value);
}

static fidc_symbol *symbol_of(const fidc_reader *r, const fidc_expr *expr) {
    for (size_t i = 0; i < r->symbols.capacity; i++) {
        fidc_symbol *symbol = r->symbols.slots[i].item;
        if (symbol && symbol->expr == expr) return symbol;
    }
    return NULL;
}

static fid_status learn_hint(fidc_reader *r, const json_t *sym_int, bool plain_only) {
    const json_t *expr = json_object_get(sym_int, "as_expr"), *hint = json_object_get(json_object_get(expr, "hint"), "as_int");
    const char *text = json_string_value(json_object_get(expr, "expr_str"));
    if (!text || !json_is_integer(hint)) return FID_OK;
    if (plain_only && (strncmp(text, "Symbol(", 7) != 0 || strcspn(text, ")") != strlen(text) - 1)) return FID_OK;
    int64_t value = json_integer_value(hint), at;
    const fidc_expr *whole_expr = fidc_symbols_parse(r, text, &value), *found;
    if (!whole_expr) return FID_OUT_OF_MEMORY;
    if (!solve(whole_expr, value, &found, &at)) return FID_OK;
    fidc_symbol *symbol = symbol_of(r, found);
    if (!symbol || symbol->hinted || at < symbol->low || at > symbol->high) return FID_OK;
    symbol->hint = at;
    symbol->hinted = true;
    fidc_expr_symbol(r->program, found->symbol, symbol->low, symbol->high, at);
    return FID_OK;
}

static fid_status learn_hints(fidc_reader *r, const json_t *graph, bool plain_only) {
    const json_t *tensors = NULL, *ints = NULL;
    const char *name;
    json_t *item, *size;
    size_t i;
    FID_TRY(fidc_json_object(r, graph, "tensor_values", &tensors));
    FID_TRY(fidc_json_object(r, graph, "sym_int_values", &ints));
    json_object_foreach((json_t *)ints, name, item) FID_TRY(learn_hint(r, item, plain_only));
    json_object_foreach((json_t *)tensors, name, item) {
        const json_t *sizes = json_object_get(item, "sizes");
        json_array_foreach(sizes, i, size) FID_TRY(learn_hint(r, size, plain_only));
    }
    return FID_OK;
}

fid_status fidc_symbols_read(fidc_reader *r) {
    FID_TRY(read_ranges(r));
    const json_t *module = NULL, *graph = NULL;
    FID_TRY(fidc_json_object(r, r->json, "graph_module", &module));
    FID_TRY(fidc_json_object(r, module, "graph", &graph));
    FID_TRY(learn_hints(r, graph, true));
    return learn_hints(r, graph, false);
}
