/* Symbolic sizes: interned expressions over integers, their bounds, and their values at the points where shapes are probed. */
#include "compiler/ir/ir.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t mix(uint64_t h, uint64_t value) {
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t hash_of(const fidc_expr *e) {
    uint64_t h = mix(e->kind, (uint64_t)e->constant);
    for (const char *c = e->symbol; c && *c; c++) h = mix(h, (uint64_t)(unsigned char)*c);
    return mix(mix(h, e->a ? e->a->id + 1 : 0), e->b ? e->b->id + 1 : 0);
}

static bool same(const fidc_expr *x, const fidc_expr *y) {
    if (x->kind != y->kind || x->a != y->a || x->b != y->b) return false;
    if (x->kind == FIDC_EXPR_SYMBOL) return strcmp(x->symbol, y->symbol) == 0;
    return x->constant == y->constant; /* a bounded unknown carries its number here */
}

static bool grow_table(fidc_program *program) {
    uint32_t capacity = program->expr_capacity ? program->expr_capacity * 2 : 256;
    const fidc_expr **table = fidc_allocate(program, capacity * sizeof *table);
    if (!table) return false;
    for (uint32_t i = 0; i < program->expr_capacity; i++) {
        const fidc_expr *e = program->exprs[i];
        if (!e) continue;
        uint32_t at = (uint32_t)hash_of(e) & (capacity - 1);
        while (table[at]) at = (at + 1) & (capacity - 1);
        table[at] = e;
    }
    program->exprs = table;
    program->expr_capacity = capacity;
    return true;
}

/* The interned twin of `e`, or a copy of it that becomes the interned one. */
static fidc_expr *intern(fidc_program *program, const fidc_expr *e, bool *out_new) {
    if (program->expr_count * 2 >= program->expr_capacity && !grow_table(program)) return NULL;
    uint32_t mask = program->expr_capacity - 1, at = (uint32_t)hash_of(e) & mask;
    *out_new = false;
    for (; program->exprs[at]; at = (at + 1) & mask) {
        if (same(program->exprs[at], e)) return (fidc_expr *)program->exprs[at];
    }
    fidc_expr *copy = fidc_allocate(program, sizeof *copy);
    if (!copy) return NULL;
    *copy = *e;
    copy->id = program->expr_count++;
    program->exprs[at] = copy;
    *out_new = true;
    return copy;
}

/* ---- Arithmetic that saturates: a bound never wraps ---- */

static int64_t clamp128(__int128 value) {
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (a == INT64_MIN && b == -1) return INT64_MAX;
    int64_t q = a / b;
    return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
}

static int64_t power(int64_t a, int64_t b) {
    int64_t result = 1;
    for (int64_t i = 0; i < b && i < 64; i++) result = clamp128((__int128)result * a);
    return result;
}

static int64_t apply(fidc_expr_kind kind, int64_t a, int64_t b) {
    switch (kind) {
    case FIDC_EXPR_ADD: return clamp128((__int128)a + b);
    case FIDC_EXPR_MUL: return clamp128((__int128)a * b);
    case FIDC_EXPR_FLOORDIV: return floor_div(a, b);
    case FIDC_EXPR_CEILDIV: return b ? -floor_div(-a, b) : 0;
    case FIDC_EXPR_MOD: return b ? a - b * floor_div(a, b) : 0;
    case FIDC_EXPR_MAX: return a > b ? a : b;
    case FIDC_EXPR_MIN: return a < b ? a : b;
    case FIDC_EXPR_POW: return power(a, b);
    default: return 0;
    }
}

static bool is_infinite(int64_t bound) { return bound == FIDC_UNBOUNDED || bound == INT64_MIN; }

/* What has no bound has none either when something is added or when it is divided. */
static int64_t apply_to_bounds(fidc_expr_kind kind, int64_t a, int64_t b) {
    bool infinite = is_infinite(a) || is_infinite(b);
    if (kind == FIDC_EXPR_ADD && infinite) return is_infinite(a) ? a : b;
    if (kind == FIDC_EXPR_MUL && infinite) return a == 0 || b == 0 ? 0 : (a > 0) == (b > 0) ? FIDC_UNBOUNDED : INT64_MIN;
    bool divides = kind == FIDC_EXPR_FLOORDIV || kind == FIDC_EXPR_CEILDIV;
    if (divides && is_infinite(a) && b) return (a > 0) == (b > 0) ? FIDC_UNBOUNDED : INT64_MIN;
    return apply(kind, a, b);
}

static void widen(fidc_expr *e, int64_t value) {
    if (value < e->low) e->low = value;
    if (value > e->high) e->high = value;
}

/* Bounds and hint of a binary expression from those of its sides: exact at the corners, which suffices for monotone kinds. */
static void derive(fidc_expr *e) {
    const fidc_expr *a = e->a, *b = e->b;
    e->hint = apply(e->kind, a->hint, b->hint);
    if (e->kind == FIDC_EXPR_MOD) {
        e->low = 0;
        e->high = b->high > 0 && b->high != FIDC_UNBOUNDED ? b->high - 1 : a->high;
        return;
    }
    e->low = INT64_MAX;
    e->high = INT64_MIN;
    widen(e, apply_to_bounds(e->kind, a->low, b->low));
    widen(e, apply_to_bounds(e->kind, a->low, b->high));
    widen(e, apply_to_bounds(e->kind, a->high, b->low));
    widen(e, apply_to_bounds(e->kind, a->high, b->high));
}

/* ---- Making ---- */

const fidc_expr *fidc_expr_const(fidc_program *program, int64_t value) {
    fidc_expr e = {.kind = FIDC_EXPR_CONST, .constant = value, .low = value, .high = value, .hint = value};
    bool is_new;
    return intern(program, &e, &is_new);
}

/* A symbol may be met in an expression before its range is known: then everything above it is derived again. */
static void derive_all(fidc_program *program) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < program->expr_capacity; i++) {
            fidc_expr *e = (fidc_expr *)program->exprs[i];
            if (!e || !e->a) continue;
            fidc_expr before = *e;
            derive(e);
            changed |= before.low != e->low || before.high != e->high || before.hint != e->hint;
        }
    }
}

const fidc_expr *fidc_expr_symbol(fidc_program *program, const char *name, int64_t low, int64_t high, int64_t hint) {
    fidc_expr e = {.kind = FIDC_EXPR_SYMBOL, .symbol = name, .low = low, .high = high, .hint = hint};
    bool is_new;
    fidc_expr *symbol = intern(program, &e, &is_new);
    if (!symbol) return NULL;
    if (is_new) {
        symbol->symbol = fidc_text(program, name);
        return symbol->symbol ? symbol : NULL;
    }
    if (symbol->low != low || symbol->high != high || symbol->hint != hint) {
        symbol->low = low;
        symbol->high = high;
        symbol->hint = hint;
        derive_all(program);
    }
    return symbol;
}

const fidc_expr *fidc_expr_bounded(fidc_program *program, int64_t low, int64_t high, int64_t hint) {
    fidc_expr e = {.kind = FIDC_EXPR_BOUNDED, .constant = program->expr_count, .low = low, .high = high, .hint = hint};
    bool is_new;
    return intern(program, &e, &is_new);
}

/* x + 0, x * 1, x * 0, x // 1, max(x, x): what can be dropped without knowing values. NULL: nothing. */
static const fidc_expr *simplify(fidc_program *program, fidc_expr_kind kind, const fidc_expr *a, const fidc_expr *b) {
    bool constant = b->kind == FIDC_EXPR_CONST;
    if (a->kind == FIDC_EXPR_CONST && constant) return fidc_expr_const(program, apply(kind, a->constant, b->constant));
    if (kind == FIDC_EXPR_ADD && constant && b->constant == 0) return a;
    if (kind == FIDC_EXPR_MUL && constant && b->constant == 1) return a;
    if (kind == FIDC_EXPR_MUL && constant && b->constant == 0) return b;
    if ((kind == FIDC_EXPR_FLOORDIV || kind == FIDC_EXPR_CEILDIV || kind == FIDC_EXPR_POW) && constant && b->constant == 1) return a;
    if ((kind == FIDC_EXPR_MAX || kind == FIDC_EXPR_MIN) && a == b) return a;
    if (kind == FIDC_EXPR_MAX && a->low >= b->high) return a;
    if (kind == FIDC_EXPR_MAX && b->low >= a->high) return b;
    return NULL;
}

static bool commutes(fidc_expr_kind kind) {
    return kind == FIDC_EXPR_ADD || kind == FIDC_EXPR_MUL || kind == FIDC_EXPR_MAX || kind == FIDC_EXPR_MIN;
}

/* A fixed order of the sides makes s0 + s1 and s1 + s0 one expression: constants last, then by name or content. */
static bool goes_after(const fidc_expr *a, const fidc_expr *b) {
    if (a->kind != b->kind) return a->kind == FIDC_EXPR_CONST || (b->kind != FIDC_EXPR_CONST && a->kind > b->kind);
    if (a->kind == FIDC_EXPR_SYMBOL) return strcmp(a->symbol, b->symbol) > 0;
    return a->id > b->id;
}

const fidc_expr *fidc_expr_binary(fidc_program *program, fidc_expr_kind kind, const fidc_expr *a, const fidc_expr *b) {
    if (!a || !b) return NULL;
    if (commutes(kind) && goes_after(a, b)) {
        const fidc_expr *swap = a;
        a = b;
        b = swap;
    }
    const fidc_expr *simple = simplify(program, kind, a, b);
    if (simple) return simple;
    /* (x + 1) + 2 and (x * 2) * 3: gather the constants. */
    if ((kind == FIDC_EXPR_ADD || kind == FIDC_EXPR_MUL) && b->kind == FIDC_EXPR_CONST && a->kind == kind &&
        a->b->kind == FIDC_EXPR_CONST) {
        const fidc_expr *both = fidc_expr_const(program, apply(kind, a->b->constant, b->constant));
        return fidc_expr_binary(program, kind, a->a, both);
    }
    fidc_expr e = {.kind = (uint8_t)kind, .a = a, .b = b};
    derive(&e);
    bool is_new;
    return intern(program, &e, &is_new);
}

/* ---- Values at points ---- */

static int64_t probe(const fidc_expr *symbol, int64_t step) {
    uint64_t h = hash_of(symbol);
    int64_t value = symbol->low + step + (int64_t)(h % 7);
    return value < symbol->high ? value : symbol->high;
}

static int64_t leaf_at(const fidc_expr *e, fidc_point point) {
    switch (point) {
    case FIDC_AT_HIGH: return e->high != FIDC_UNBOUNDED ? e->high : e->hint > 4 ? e->hint * 2 : 8;
    case FIDC_AT_LOW: return e->low;
    case FIDC_AT_PROBE_1: return e->kind == FIDC_EXPR_SYMBOL ? probe(e, 3) : e->hint;
    case FIDC_AT_PROBE_2: return e->kind == FIDC_EXPR_SYMBOL ? probe(e, 17) : e->hint;
    default: return e->hint;
    }
}

int64_t fidc_expr_at(const fidc_expr *e, fidc_point point) {
    if (e->kind == FIDC_EXPR_CONST) return e->constant;
    if (e->kind == FIDC_EXPR_SYMBOL || e->kind == FIDC_EXPR_BOUNDED) return leaf_at(e, point);
    return apply(e->kind, fidc_expr_at(e->a, point), fidc_expr_at(e->b, point));
}

void fidc_expr_set_high(const fidc_expr *e, int64_t high) {
    if (e->kind != FIDC_EXPR_SYMBOL && e->kind != FIDC_EXPR_BOUNDED) return;
    fidc_expr *own = (fidc_expr *)(uintptr_t)e; /* ours, from the program's arena */
    own->high = high > e->low ? high : e->low;
    if (own->hint > own->high) own->hint = own->high;
}

/* ---- Text ---- */

size_t fidc_expr_print(const fidc_expr *e, char *text, size_t size) {
    static const char *const names[] = {[FIDC_EXPR_FLOORDIV] = "FloorDiv", [FIDC_EXPR_CEILDIV] = "CeilDiv", [FIDC_EXPR_MOD] = "Mod",
                                        [FIDC_EXPR_MAX] = "Max", [FIDC_EXPR_MIN] = "Min", [FIDC_EXPR_POW] = "Pow"};
    char a[200], b[200];
    switch (e->kind) {
    case FIDC_EXPR_CONST: return (size_t)snprintf(text, size, "%lld", (long long)e->constant);
    case FIDC_EXPR_SYMBOL: return (size_t)snprintf(text, size, "%s", e->symbol);
    case FIDC_EXPR_BOUNDED: return (size_t)snprintf(text, size, "u%lld", (long long)e->constant);
    default: break;
    }
    fidc_expr_print(e->a, a, sizeof a);
    fidc_expr_print(e->b, b, sizeof b);
    if (e->kind == FIDC_EXPR_ADD) return (size_t)snprintf(text, size, "(%s + %s)", a, b);
    if (e->kind == FIDC_EXPR_MUL) return (size_t)snprintf(text, size, "%s*%s", a, b);
    return (size_t)snprintf(text, size, "%s(%s, %s)", names[e->kind], a, b);
}
