/* Short-time Fourier transforms: frames of a signal, a window, and the transform of each frame; and back, by adding up the frames. */
#include "compiler/passes/rewrite.h"

enum { SCALE_NONE = 0, SCALE_ROOT = 1, SCALE_COUNT = 2 }; /* what the transforms divide by */

static bool is_complex(const fidc_value *x) { return x && fid_dtype_is_complex((fid_dtype)x->dtype); }
static fidc_arg dim_list(fidc_rewriter *rw, int64_t dim) { return fidc_ints(rw->program, &dim, 1); }

static fidc_value *padded_last(fidc_rewriter *rw, fidc_value *x, int64_t before, int64_t after) {
    int64_t pads[] = {before, after};
    if (!x || (!before && !after)) return x;
    return RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, 2), fidc_i(0));
}

/* The window of n_fft numbers, the given one in its middle; without one, ones. NULL if none is needed. */
static fidc_value *whole_window(fidc_rewriter *rw, uint32_t window_arg, uint32_t length_arg, int64_t n_fft, fid_dtype dtype, bool needed) {
    fidc_value *window = fidc_rw_value(rw, window_arg);
    int64_t length = window ? fidc_size(window, 0) : fidc_rw_int(rw, length_arg, n_fft);
    if (!window && length == n_fft && !needed) return NULL;
    if (!window) {
        const fidc_expr *size = fidc_expr_const(rw->program, length);
        window = fidc_rw_full(rw, &size, 1, dtype, fidc_i(1));
    }
    int64_t left = (n_fft - length) / 2;
    return length <= n_fft && length >= 0 ? padded_last(rw, window, left, n_fft - length - left) : NULL;
}

static fidc_value *transform(fidc_rewriter *rw, fidc_value *frames, bool onesided, int64_t scale) {
    if (!frames) return NULL;
    if (is_complex(frames)) return RW(rw, _fft_c2c, fidc_v(frames), dim_list(rw, -1), fidc_i(scale), fidc_b(true));
    return RW(rw, _fft_r2c, fidc_v(frames), dim_list(rw, -1), fidc_i(scale), fidc_b(onesided));
}

/* (self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window); a row of other frames is the other
 * overload's, which pads before. */
static fid_status stft(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *window;
    int64_t n_fft = fidc_rw_int(rw, 1, 0), hop = fidc_rw_int(rw, 2, n_fft / 4);
    if (n_fft < 1 || hop < 1 || x->rank < 1 || x->rank > 2) return fidc_rw_refuse(rw, "the length and the step of frames must be constant and positive");
    window = whole_window(rw, 4, 3, n_fft, (fid_dtype)x->dtype, false);
    bool onesided = fidc_rw_bool(rw, 6, !is_complex(x) && !is_complex(window));
    fidc_value *frames = RW(rw, unfold_copy, fidc_v(x), fidc_i(-1), fidc_i(n_fft), fidc_i(hop));
    if (window) frames = fidc_rw_op2(rw, FID_OPID_mul_Tensor, frames, window);
    fidc_value *spectrum = transform(rw, frames, onesided, fidc_rw_bool(rw, 5, false) ? SCALE_ROOT : SCALE_NONE);
    spectrum = fidc_rw_transpose(rw, spectrum, -2, -1);
    if (!is_complex(fidc_rw_out(rw))) spectrum = fidc_rw_op1(rw, FID_OPID_view_as_real_copy, spectrum);
    return fidc_rw_become(rw, spectrum);
}

/* Frames (batch, n_fft, count) added up at their places: (batch, length). */
static fidc_value *overlapped(fidc_rewriter *rw, fidc_value *frames, int64_t n_fft, int64_t hop, int64_t length) {
    int64_t size[] = {1, length}, kernel[] = {1, n_fft}, ones[] = {1, 1}, zeros[] = {0, 0}, step[] = {1, hop};
    if (!frames) return NULL;
    fidc_value *image = RW(rw, col2im, fidc_v(frames), fidc_ints(rw->program, size, 2), fidc_ints(rw->program, kernel, 2), fidc_ints(rw->program, ones, 2),
                           fidc_ints(rw->program, zeros, 2), fidc_ints(rw->program, step, 2));
    const fidc_expr *sizes[] = {frames->sizes[0], fidc_expr_const(rw->program, length)};
    return fidc_rw_view(rw, image, sizes, 2);
}

/* (batch, count, n_fft) of spectra. */
static fidc_value *frames_of(fidc_rewriter *rw, fidc_value *spectra, int64_t n_fft, bool complex) {
    int64_t scale = fidc_rw_bool(rw, 6, false) ? SCALE_ROOT : SCALE_COUNT;
    if (!spectra) return NULL;
    if (complex) return RW(rw, _fft_c2c, fidc_v(spectra), dim_list(rw, -1), fidc_i(scale), fidc_b(false));
    spectra = fidc_rw_slice(rw, spectra, 2, fidc_i(0), fidc_i(n_fft / 2 + 1)); /* the other half mirrors it */
    return spectra ? RW(rw, _fft_c2r, fidc_v(spectra), dim_list(rw, -1), fidc_i(scale), fidc_i(n_fft)) : NULL;
}

/* (self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex) */
static fid_status istft(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t n_fft = fidc_rw_int(rw, 1, 0), hop = fidc_rw_int(rw, 2, n_fft / 4), count = x->rank ? fidc_size(x, x->rank - 1u) : -1;
    bool complex = fidc_rw_bool(rw, 9, false), center = fidc_rw_bool(rw, 5, true), batched = x->rank == 3;
    if (n_fft < 1 || hop < 1 || count < 1 || count > ((int64_t)1 << 30) / hop || x->rank < 2 || x->rank > 3 || !is_complex(x)) {
        return fidc_rw_refuse(rw, "the number, the length and the step of frames must be constant");
    }
    int64_t whole = n_fft + hop * (count - 1), start = center ? n_fft / 2 : 0;
    int64_t length = fidc_rw_int(rw, 8, whole - start - (center ? n_fft / 2 : 0)), end = start + length < whole ? start + length : whole;
    fid_dtype real = x->dtype == FID_COMPLEX128 ? FID_FLOAT64 : FID_FLOAT32;
    fidc_value *window = whole_window(rw, 4, 3, n_fft, real, true), *signal = batched ? x : fidc_rw_unsqueeze(rw, x, 0);
    fidc_value *frames = frames_of(rw, fidc_rw_transpose(rw, signal, 1, 2), n_fft, complex);
    frames = fidc_rw_transpose(rw, fidc_rw_op2(rw, FID_OPID_mul_Tensor, frames, window), 1, 2);
    fidc_value *sum = overlapped(rw, frames, n_fft, hop, whole);
    const fidc_expr *sizes[] = {fidc_expr_const(rw->program, 1), fidc_expr_const(rw->program, n_fft), fidc_expr_const(rw->program, count)};
    fidc_value *square = fidc_rw_op2(rw, FID_OPID_mul_Tensor, window, window);
    fidc_value *spread = fidc_rw_expand(rw, fidc_rw_view(rw, square, (const fidc_expr *[]){sizes[0], sizes[1], sizes[0]}, 3), sizes, 3);
    fidc_value *envelope = overlapped(rw, spread, n_fft, hop, whole);
    sum = fidc_rw_slice(rw, sum, 1, fidc_i(start), fidc_i(end));
    envelope = fidc_rw_slice(rw, envelope, 1, fidc_i(start), fidc_i(end));
    fidc_value *out = padded_last(rw, fidc_rw_op2(rw, FID_OPID_div_Tensor, sum, envelope), 0, start + length - end);
    return fidc_rw_become(rw, batched ? out : fidc_rw_squeeze(rw, out, 0));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_stft, stft},
    {FID_OPID_istft, istft},
};

void fidc_rules_add_stft(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
