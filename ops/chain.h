/* Pointwise functions as steps over elements: what fid::pointwise carries, what the fast pointwise kernels run, and how the compiler
 * reads an operator as steps. Steps compute in float32; a truth value is 0 or 1. */
#ifndef FID_OPS_CHAIN_H
#define FID_OPS_CHAIN_H

#include "ops/activation.h"
#include "ops/kernel.h"

/* Functions of one element beside the activations; NAME, text in programs. a and b are numbers of the step. */
#define FID_UNARY_MAP(X)                                                                                               \
    FID_ACTIVATION_MAP(X)                                                                                              \
    X(EXP, "exp") X(EXP2, "exp2") X(EXPM1, "expm1") X(LOG, "log") X(LOG2, "log2") X(LOG10, "log10") X(LOG1P, "log1p")  \
    X(SIN, "sin") X(COS, "cos") X(TAN, "tan") X(ASIN, "asin") X(ACOS, "acos") X(ATAN, "atan") X(SINH, "sinh")          \
    X(COSH, "cosh") X(ASINH, "asinh") X(ACOSH, "acosh") X(ATANH, "atanh") X(ERF, "erf") X(ERFC, "erfc")                \
    X(SQRT, "sqrt") X(RSQRT, "rsqrt") X(RECIPROCAL, "reciprocal") X(ABS, "abs") X(NEG, "neg") X(SQUARE, "square")      \
    X(CUBE, "cube") X(SIGN, "sign") X(FLOOR, "floor") X(CEIL, "ceil") X(ROUND, "round") X(TRUNC, "trunc")              \
    X(SOFTPLUS, "softplus") /* a: beta, b: threshold */                                                                \
    X(LOG_SIGMOID, "log_sigmoid") X(MISH, "mish") X(NOT, "not") X(ISNAN, "isnan") X(ISINF, "isinf")

/* Functions of two elements; the third operand of ADD and SUB, a number, scales the second. */
#define FID_BINARY_MAP(X)                                                                                              \
    X(ADD, "add") X(SUB, "sub") X(MUL, "mul") X(DIV, "div") X(MAX, "max") X(MIN, "min")                                \
    X(GATE, "gate")   /* x * sigmoid(y) */                                                                             \
    X(PRELU, "prelu") /* x above zero, else x * y */                                                                   \
    X(POW, "pow") X(ATAN2, "atan2") X(FMOD, "fmod") X(REMAINDER, "remainder")                                          \
    X(EQ, "eq") X(NE, "ne") X(LT, "lt") X(LE, "le") X(GT, "gt") X(GE, "ge") X(AND, "and") X(OR, "or") X(XOR, "xor")

typedef enum fid_unary_kind {
#define FID_UNARY_ENUM(NAME, ...) FID_UNARY_##NAME,
    FID_UNARY_MAP(FID_UNARY_ENUM)
#undef FID_UNARY_ENUM
    FID_UNARY_COUNT
} fid_unary_kind;

typedef enum fid_binary_kind {
#define FID_BINARY_ENUM(NAME, ...) FID_BINARY_##NAME,
    FID_BINARY_MAP(FID_BINARY_ENUM)
#undef FID_BINARY_ENUM
    FID_BINARY_COUNT
} fid_binary_kind;

typedef enum fid_operand_from {
    FID_FROM_NOTHING,
    FID_FROM_INPUT,  /* argument `index`: a tensor, or a number; `number` if it is absent */
    FID_FROM_STEP,   /* the result of step `index` */
    FID_FROM_NUMBER, /* `number` */
    FID_FROM_LISTED, /* number `index` of fid::pointwise */
} fid_operand_from;

typedef struct fid_operand {
    uint8_t from; /* fid_operand_from */
    uint8_t index;
    float number;
} fid_operand;

typedef enum fid_step_class {
    FID_STEP_UNARY,  /* f(x), then its numbers a and b */
    FID_STEP_BINARY, /* f(x, y), then its scale */
    FID_STEP_WHERE,  /* x is not zero: y, else z */
} fid_step_class;

typedef struct fid_step {
    uint8_t class;    /* fid_step_class */
    uint8_t function; /* fid_unary_kind or fid_binary_kind */
    fid_operand operand[3];
} fid_step;

enum { FID_CHAIN_STEPS = 24, FID_CHAIN_INPUTS = 8, FID_CHAIN_NUMBERS = 32 };

typedef struct fid_chain {
    size_t count;
    fid_step steps[FID_CHAIN_STEPS];
} fid_chain;

/* Operands that elements come from: 1, 2 or 3. */
static inline size_t fid_step_sources(const fid_step *step) { return (size_t)step->class + 1; }
/* True for comparisons and logic, whose result is a truth value. */
bool fid_step_is_truth(const fid_step *step);

/* Text of steps, separated by "; ": a name and operands, "@2" for input 2, "$0" for the result of step 0, "#1" for number 1:
 * "add @0 @1; relu $0". False if it is none, or steps read what does not stand before them. */
bool fid_chain_parse(const char *text, size_t length, size_t inputs, size_t numbers, fid_chain *out);
/* Bytes written, without the terminator; 0 if it does not fit. */
size_t fid_chain_print(const fid_chain *chain, char *text, size_t size);

/* The definition, for reference kernels: one function in double. */
double fid_unary_apply(fid_unary_kind kind, double x, double a, double b);
double fid_binary_apply(fid_binary_kind kind, double x, double y, double scale);

/* fid::pointwise(inputs, steps, numbers), read and checked. */
fid_status fid_chain_of(const fid_call *call, fid_chain *out);

#endif
