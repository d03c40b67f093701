/* Random numbers: rand, randn, native_dropout.
 *
 * Every call has a generator of its own that starts at the same seed when the method is loaded and goes on from run to run: results
 * can be repeated, and no state is shared between methods or threads. They are not PyTorch's numbers. */
#include "kernels/ref/box.h"

#define SEED 0x9e3779b97f4a7c15u

static fid_status prepare_random(fid_call *call) {
    uint64_t *state = fid_call_persist(call, sizeof *state);
    if (!state) return FID_OUT_OF_MEMORY;
    *state = SEED;
    call->state = state;
    return FID_OK;
}

/* splitmix64: a counter and a mixing of its bits. */
static uint64_t next_bits(uint64_t *state) {
    uint64_t z = *state += SEED;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [0, 1), a multiple of 2^-bits, so that a dtype with so many bits of mantissa never rounds it up to 1. */
static double next_uniform(uint64_t *state, int bits) { return ldexp((double)(next_bits(state) >> (64 - bits)), -bits); }

static int mantissa_bits(fid_dtype dtype) {
    switch (dtype) {
    case FID_FLOAT64: return 53;
    case FID_FLOAT16: return 11;
    case FID_BFLOAT16: return 8;
    default: return 24;
    }
}

static fid_status need_float(const fid_call *call, const fid_tensor *tensor) {
    if (fid_dtype_is_float((fid_dtype)tensor->dtype)) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s gives float tensors, not %s", call->name,
                    fid_dtype_name((fid_dtype)tensor->dtype));
}

static fid_status run_rand(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    int bits = mantissa_bits((fid_dtype)out->dtype);
    FID_TRY(need_float(call, out));
    for (int64_t i = 0, count = (int64_t)fid_tensor_numel(out); i < count; i++) {
        fidk_set_real(out, fidk_flat_offset(out, i), next_uniform(call->state, bits));
    }
    return FID_OK;
}

/* Box and Muller: one normal number of two uniform ones. */
static fid_status run_randn(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    FID_TRY(need_float(call, out));
    for (int64_t i = 0, count = (int64_t)fid_tensor_numel(out); i < count; i++) {
        double u = 1 - next_uniform(call->state, 53), angle = 6.283185307179586 * next_uniform(call->state, 53);
        fidk_set_real(out, fidk_flat_offset(out, i), sqrt(-2 * log(u)) * cos(angle));
    }
    return FID_OK;
}

/* input, p, train?: outside of training nothing is dropped. */
static fid_status run_native_dropout(fid_call *call) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0), *kept = fid_out_tensor(call, 1);
    double p = fid_arg_double(call, 1);
    bool train = fid_arg_is_none(call, 2) || fid_arg_bool(call, 2);
    double scale = train && p < 1 ? 1 / (1 - p) : 1;
    for (int64_t i = 0, count = (int64_t)fid_tensor_numel(input); i < count; i++) {
        bool keep = !train || next_uniform(call->state, 53) >= p;
        double value = fidk_get_real(input, fidk_flat_offset(input, i));
        fidk_set_real(out, fidk_flat_offset(out, i), keep ? value * scale : 0);
        fidk_set_int(kept, fidk_flat_offset(kept, i), keep);
    }
    return FID_OK;
}

const fid_kernel fid_ref_rand = {.prepare = prepare_random, .run = run_rand, .any_numbers = true};
const fid_kernel fid_ref_randn = {.prepare = prepare_random, .run = run_randn, .any_numbers = true};
const fid_kernel fid_ref_native_dropout = {.prepare = prepare_random, .run = run_native_dropout, .any_numbers = true};
