/* Windows of signals: Hann, Hamming, Blackman, Bartlett, Kaiser (Harris 1978, "On the use of windows for harmonic analysis"). */
#include "kernels/ref/elements.h"
#include "ops/kernel.h"

#define PI 3.14159265358979323846

/* A window's value at x, which runs from 0 at its first element to 1 at its last. */
typedef double window_value(double x, double a, double b);

static double cosine(double x, double a, double b) { return a - b * cos(2 * PI * x); }

static double blackman(double x, double a, double b) {
    (void)a, (void)b;
    return 0.42 - 0.5 * cos(2 * PI * x) + 0.08 * cos(4 * PI * x);
}

static double bartlett(double x, double a, double b) {
    (void)a, (void)b;
    return 1 - fabs(2 * x - 1);
}

/* The modified Bessel function of order 0, by its power series: sum of ((x / 2)^k / k!)^2. */
static double bessel_i0(double x) {
    double term = 1, sum = 1;
    for (int k = 1; k < 1000 && term > sum * 1e-17; k++) {
        term *= (x / 2) * (x / 2) / ((double)k * (double)k);
        sum += term;
    }
    return sum;
}

static double kaiser(double x, double beta, double b) {
    (void)b;
    double side = 2 * x - 1;
    return bessel_i0(beta * sqrt(fmax(0, 1 - side * side))) / bessel_i0(beta);
}

/* The length and the numbers that the overload takes; before the outputs stand dtype, layout, device and pin_memory too, but not in out= forms. */
static uint32_t arguments(const fid_call *call) { return call->output_index > 4 ? call->output_index - 4 : call->output_index; }

static double number(const fid_call *call, uint32_t i, double absent) { return i < arguments(call) ? fid_arg_double(call, i) : absent; }

/* A periodic window leaves the last element out, and one of a single element is 1. */
static fid_status fill(fid_call *call, window_value *value, double a, double b) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    bool periodic = arguments(call) > 1 ? fid_arg_bool(call, 1) : true;
    int64_t length = out->sizes[0], last = periodic ? length : length - 1;
    for (int64_t i = 0; i < length; i++)
        fidk_set_real(out, i * out->strides[0], length == 1 ? 1 : value((double)i / (double)last, a, b));
    return FID_OK;
}

static fid_status run_hann(fid_call *call) { return fill(call, cosine, 0.5, 0.5); }
static fid_status run_hamming(fid_call *call) { return fill(call, cosine, number(call, 2, 0.54), number(call, 3, 0.46)); }
static fid_status run_blackman(fid_call *call) { return fill(call, blackman, 0, 0); }
static fid_status run_bartlett(fid_call *call) { return fill(call, bartlett, 0, 0); }
static fid_status run_kaiser(fid_call *call) { return fill(call, kaiser, number(call, 2, 12), 0); }

const fid_kernel fid_ref_hann_window = {.run = run_hann};
const fid_kernel fid_ref_hann_window_periodic = {.run = run_hann};
const fid_kernel fid_ref_hamming_window = {.run = run_hamming};
const fid_kernel fid_ref_hamming_window_periodic = {.run = run_hamming};
const fid_kernel fid_ref_hamming_window_periodic_alpha = {.run = run_hamming};
const fid_kernel fid_ref_hamming_window_periodic_alpha_beta = {.run = run_hamming};
const fid_kernel fid_ref_blackman_window = {.run = run_blackman};
const fid_kernel fid_ref_blackman_window_periodic = {.run = run_blackman};
const fid_kernel fid_ref_bartlett_window = {.run = run_bartlett};
const fid_kernel fid_ref_bartlett_window_periodic = {.run = run_bartlett};
const fid_kernel fid_ref_kaiser_window = {.run = run_kaiser};
const fid_kernel fid_ref_kaiser_window_periodic = {.run = run_kaiser};
const fid_kernel fid_ref_kaiser_window_beta = {.run = run_kaiser};
