/* Names and definitions of activations. */
#include "ops/activation.h"

static const char *const texts[] = {
#define TEXT(NAME, text) text,
    FID_ACTIVATION_MAP(TEXT)
#undef TEXT
};

fid_activation_kind fid_activation_from_value(const fid_value *name) {
    int kind = 0;
    if (name->tag != FID_TAG_STRING) return FID_ACTIVATION_COUNT;
    while (kind < FID_ACTIVATION_COUNT && (strlen(texts[kind]) != name->as.string.length ||
                                           memcmp(texts[kind], name->as.string.text, name->as.string.length) != 0))
        kind++;
    return (fid_activation_kind)kind;
}

const char *fid_activation_text(fid_activation_kind kind) { return kind < FID_ACTIVATION_COUNT ? texts[kind] : "?"; }

/* A NaN passes through. */
static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

double fid_activation_apply(const fid_activation *activation, double x) {
    switch (activation->kind) {
    case FID_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case FID_ACTIVATION_CLAMP: return clamp(x, activation->a, activation->b);
    case FID_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case FID_ACTIVATION_HARDSIGMOID: return clamp(x + 3, 0, 6) / 6;
    case FID_ACTIVATION_HARDSWISH: return x * clamp(x + 3, 0, 6) / 6;
    case FID_ACTIVATION_SILU: return x / (1 + exp(-x));
    case FID_ACTIVATION_GELU: return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case FID_ACTIVATION_GELU_TANH: return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case FID_ACTIVATION_TANH: return tanh(x);
    case FID_ACTIVATION_LEAKY_RELU: return x > 0 ? x : x * activation->a;
    case FID_ACTIVATION_ELU: return x > 0 ? x : activation->a * expm1(x);
    default: return x;
    }
}
