/* Steps of fid::pointwise: their text and their definition. */
#include "ops/chain.h"

static const char *const unary_names[] = {
#define TEXT(NAME, text) text,
    FID_UNARY_MAP(TEXT)
};
static const char *const binary_names[] = {FID_BINARY_MAP(TEXT)};
#undef TEXT

bool fid_step_is_truth(const fid_step *step) {
    if (step->class == FID_STEP_UNARY) return step->function >= FID_UNARY_NOT;
    return step->class == FID_STEP_BINARY && step->function >= FID_BINARY_EQ;
}

/* ---- Text ---- */

typedef struct reader {
    const char *at, *end;
} reader;

static bool next_word(reader *r, const char **out_word, size_t *out_length) {
    while (r->at < r->end && *r->at == ' ') r->at++;
    *out_word = r->at;
    while (r->at < r->end && *r->at != ' ' && *r->at != ';') r->at++;
    *out_length = (size_t)(r->at - *out_word);
    return *out_length > 0;
}

static bool is_word(const char *name, const char *word, size_t length) { return strlen(name) == length && memcmp(name, word, length) == 0; }

static bool find_function(const char *word, size_t length, fid_step *step) {
    if (is_word("where", word, length)) {
        step->class = FID_STEP_WHERE;
        return true;
    }
    for (uint8_t i = 0; i < FID_UNARY_COUNT; i++)
        if (is_word(unary_names[i], word, length)) {
            step->class = FID_STEP_UNARY, step->function = i;
            return true;
        }
    for (uint8_t i = 0; i < FID_BINARY_COUNT; i++)
        if (is_word(binary_names[i], word, length)) {
            step->class = FID_STEP_BINARY, step->function = i;
            return true;
        }
    return false;
}

static bool read_operand(const char *word, size_t length, size_t inputs, size_t steps, size_t numbers, fid_operand *out) {
    size_t index = 0, limit = word[0] == '@' ? inputs : word[0] == '$' ? steps : word[0] == '#' ? numbers : 0;
    if (length < 2 || length > 3) return false;
    for (size_t i = 1; i < length; i++) {
        if (word[i] < '0' || word[i] > '9') return false;
        index = index * 10 + (size_t)(word[i] - '0');
    }
    *out = (fid_operand){.from = word[0] == '@' ? FID_FROM_INPUT : word[0] == '$' ? FID_FROM_STEP : FID_FROM_LISTED, .index = (uint8_t)index};
    return index < limit;
}

/* Sources may be anything, but the one of a unary function is no number; what follows them are numbers. */
static bool operands_fit(const fid_step *step, size_t count) {
    size_t sources = fid_step_sources(step);
    if (count < sources) return false;
    for (size_t i = sources; i < count; i++)
        if (step->operand[i].from != FID_FROM_LISTED) return false;
    return step->class != FID_STEP_UNARY || step->operand[0].from != FID_FROM_LISTED;
}

bool fid_chain_parse(const char *text, size_t length, size_t inputs, size_t numbers, fid_chain *out) {
    reader r = {text, text + length};
    const char *word;
    size_t size;
    *out = (fid_chain){0};
    while (next_word(&r, &word, &size)) {
        if (out->count == FID_CHAIN_STEPS) return false;
        fid_step *step = &out->steps[out->count];
        size_t count = 0;
        if (!find_function(word, size, step)) return false;
        while (r.at < r.end && *r.at != ';' && next_word(&r, &word, &size))
            if (count == 3 || !read_operand(word, size, inputs, out->count, numbers, &step->operand[count++])) return false;
        if (!operands_fit(step, count)) return false;
        out->count++;
        if (r.at < r.end) r.at++; /* the semicolon */
    }
    return out->count > 0 && r.at == r.end;
}

static size_t put(char *text, size_t size, size_t at, const char *piece) {
    size_t length = strlen(piece);
    if (at + length < size) memcpy(text + at, piece, length + 1);
    return at + length;
}

size_t fid_chain_print(const fid_chain *chain, char *text, size_t size) {
    static const char marks[] = {[FID_FROM_INPUT] = '@', [FID_FROM_STEP] = '$', [FID_FROM_LISTED] = '#'};
    size_t at = 0;
    for (size_t s = 0; s < chain->count; s++) {
        const fid_step *step = &chain->steps[s];
        if (s) at = put(text, size, at, "; ");
        at = put(text, size, at,
                 step->class == FID_STEP_WHERE ? "where" : step->class == FID_STEP_UNARY ? unary_names[step->function] : binary_names[step->function]);
        for (size_t i = 0; i < 3 && step->operand[i].from != FID_FROM_NOTHING; i++) {
            const fid_operand *o = &step->operand[i];
            char word[] = {' ', marks[o->from], (char)('0' + o->index / 10), (char)('0' + o->index % 10), 0};
            if (o->index < 10) word[2] = word[3], word[3] = 0;
            at = put(text, size, at, word);
        }
    }
    return at < size ? at : 0;
}

fid_status fid_chain_of(const fid_call *call, fid_chain *out) {
    const fid_value *inputs = call->args[0], *steps = call->args[1], *numbers = call->args[2];
    bool fits = inputs->as.tensors.count <= FID_CHAIN_INPUTS && inputs->as.tensors.count > 0 && numbers->as.doubles.count <= FID_CHAIN_NUMBERS &&
                fid_chain_parse(steps->as.string.text, steps->as.string.length, inputs->as.tensors.count, numbers->as.doubles.count, out);
    for (size_t i = 0; fits && i < inputs->as.tensors.count; i++) {
        uint8_t dtype = inputs->as.tensors.items[i]->dtype;
        fits = dtype == FID_FLOAT32 || dtype == FID_BOOL;
    }
    if (fits) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: its steps are none that this version knows over %zu float32 or bool inputs", call->name,
                    inputs->as.tensors.count);
}

/* ---- Definition ---- */

static double softplus(double x, double beta, double threshold) { return x * beta > threshold ? x : log1p(exp(x * beta)) / beta; }

double fid_unary_apply(fid_unary_kind kind, double x, double a, double b) {
    if ((int)kind < FID_ACTIVATION_COUNT) return fid_activation_apply(&(fid_activation){(fid_activation_kind)kind, a, b}, x);
    switch (kind) {
    case FID_UNARY_EXP: return exp(x);
    case FID_UNARY_EXP2: return exp2(x);
    case FID_UNARY_EXPM1: return expm1(x);
    case FID_UNARY_LOG: return log(x);
    case FID_UNARY_LOG2: return log2(x);
    case FID_UNARY_LOG10: return log10(x);
    case FID_UNARY_LOG1P: return log1p(x);
    case FID_UNARY_SIN: return sin(x);
    case FID_UNARY_COS: return cos(x);
    case FID_UNARY_TAN: return tan(x);
    case FID_UNARY_ASIN: return asin(x);
    case FID_UNARY_ACOS: return acos(x);
    case FID_UNARY_ATAN: return atan(x);
    case FID_UNARY_SINH: return sinh(x);
    case FID_UNARY_COSH: return cosh(x);
    case FID_UNARY_ASINH: return asinh(x);
    case FID_UNARY_ACOSH: return acosh(x);
    case FID_UNARY_ATANH: return atanh(x);
    case FID_UNARY_ERF: return erf(x);
    case FID_UNARY_ERFC: return erfc(x);
    case FID_UNARY_SQRT: return sqrt(x);
    case FID_UNARY_RSQRT: return 1 / sqrt(x);
    case FID_UNARY_RECIPROCAL: return 1 / x;
    case FID_UNARY_ABS: return fabs(x);
    case FID_UNARY_NEG: return -x;
    case FID_UNARY_SQUARE: return x * x;
    case FID_UNARY_CUBE: return x * x * x;
    case FID_UNARY_SIGN: return (x > 0) - (x < 0);
    case FID_UNARY_FLOOR: return floor(x);
    case FID_UNARY_CEIL: return ceil(x);
    case FID_UNARY_ROUND: return rint(x);
    case FID_UNARY_TRUNC: return trunc(x);
    case FID_UNARY_SOFTPLUS: return softplus(x, a, b);
    case FID_UNARY_LOG_SIGMOID: return (x < 0 ? x : 0) - log1p(exp(-fabs(x)));
    case FID_UNARY_MISH: return x * tanh(softplus(x, 1, 20));
    case FID_UNARY_NOT: return x == 0;
    case FID_UNARY_ISNAN: return x != x;
    default: return fabs(x) == (double)INFINITY; /* ISINF */
    }
}

static double remainder_of(double x, double y) {
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

double fid_binary_apply(fid_binary_kind kind, double x, double y, double scale) {
    switch (kind) {
    case FID_BINARY_ADD: return x + scale * y;
    case FID_BINARY_SUB: return x - scale * y;
    case FID_BINARY_MUL: return x * y;
    case FID_BINARY_DIV: return x / y;
    case FID_BINARY_MAX: return x > y || x != x ? x : y;
    case FID_BINARY_MIN: return x < y || x != x ? x : y;
    case FID_BINARY_GATE: return x / (1 + exp(-y));
    case FID_BINARY_PRELU: return x > 0 ? x : x * y;
    case FID_BINARY_POW: return pow(x, y);
    case FID_BINARY_ATAN2: return atan2(x, y);
    case FID_BINARY_FMOD: return fmod(x, y);
    case FID_BINARY_REMAINDER: return remainder_of(x, y);
    case FID_BINARY_EQ: return x == y;
    case FID_BINARY_NE: return x != y;
    case FID_BINARY_LT: return x < y;
    case FID_BINARY_LE: return x <= y;
    case FID_BINARY_GT: return x > y;
    case FID_BINARY_GE: return x >= y;
    case FID_BINARY_AND: return x != 0 && y != 0;
    case FID_BINARY_OR: return x != 0 || y != 0;
    default: return (x != 0) != (y != 0); /* XOR */
    }
}
