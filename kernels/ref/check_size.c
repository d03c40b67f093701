/* fid::check_size: what export promised of an input's size. Programs carry the upper bounds of sizes and nothing else, so the cpu
 * target writes a call of this before the first operator for the rest: lower bounds, sizes that are the same or follow from others. */
#include "ops/kernel.h"

static fid_status wrong_range(const fid_call *call, int64_t size) {
    int64_t low = fid_arg_int(call, 2), high = fid_arg_int(call, 3);
    long long input = (long long)fid_arg_int(call, 0), dim = (long long)fid_arg_int(call, 1);
    if (low == high) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "input %lld has size %lld in dimension %lld, the method takes %lld", input, (long long)size, dim,
                        (long long)low);
    }
    if (high == INT64_MAX) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "input %lld has size %lld in dimension %lld, the method takes at least %lld", input,
                        (long long)size, dim, (long long)low);
    }
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "input %lld has size %lld in dimension %lld, the method takes %lld to %lld", input, (long long)size,
                    dim, (long long)low, (long long)high);
}

static fid_status check_form(const fid_call *call, int64_t size) {
    int64_t factor = fid_arg_int(call, 4), offset = fid_arg_int(call, 5), whole;
    if (factor < 1 || __builtin_sub_overflow(size, offset, &whole) || whole % factor == 0) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "input %lld has size %lld in dimension %lld, the method takes multiples of %lld, plus %lld",
                    (long long)fid_arg_int(call, 0), (long long)size, (long long)fid_arg_int(call, 1), (long long)factor, (long long)offset);
}

static fid_status check_other(const fid_call *call, int64_t size) {
    const fid_tensor *other = fid_arg_tensor(call, 9);
    int64_t dim = fid_arg_int(call, 8), wanted;
    if (dim < 0 || dim >= other->rank) return fid_fail(call->sink, FID_INVALID_PROGRAM, "%s: there is no dimension %lld", call->name, (long long)dim);
    if (!__builtin_mul_overflow(other->sizes[dim], fid_arg_int(call, 4), &wanted) && !__builtin_add_overflow(wanted, fid_arg_int(call, 5), &wanted) &&
        wanted == size) {
        return FID_OK;
    }
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "input %lld has size %lld in dimension %lld; with size %lld in dimension %lld of input %lld it must be %lld",
                    (long long)fid_arg_int(call, 0), (long long)size, (long long)fid_arg_int(call, 1), (long long)other->sizes[dim], (long long)dim,
                    (long long)fid_arg_int(call, 7), (long long)wanted);
}

static fid_status check_size(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 6);
    int64_t dim = fid_arg_int(call, 1);
    if (dim < 0 || dim >= self->rank) return fid_fail(call->sink, FID_INVALID_PROGRAM, "%s: there is no dimension %lld", call->name, (long long)dim);
    int64_t size = self->sizes[dim];
    if (size < fid_arg_int(call, 2) || size > fid_arg_int(call, 3)) return wrong_range(call, size);
    return fid_arg_is_none(call, 9) ? check_form(call, size) : check_other(call, size);
}

const fid_kernel fid_ref_check_size = {.run = check_size};
