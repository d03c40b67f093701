/* Windows that slide over channels-last images: which positions of the input an output position sees. */
#ifndef FID_KERNELS_CPU_WINDOWS_H
#define FID_KERNELS_CPU_WINDOWS_H

#include "kernels/cpu/operand.h"

/* Window positions that lie inside the image at output position `at` (3 entries): their offsets from the image's start in floats, and
 * their numbers among all positions (`rows`, may be NULL). Both arrays have room for all. Returns how many. For neighbouring `at` in
 * the middle of a line the offsets differ by one constant, stride * channels. */
size_t fidk_window_taps(const fid_window *window, size_t channels, const int64_t *at, int64_t *offsets, uint32_t *rows);
/* Output columns [begin, end) whose whole window lies inside its line. */
void fidk_window_middle(const fid_window *window, int64_t *out_begin, int64_t *out_end);
/* The same for whole lines of the kernel, one entry each: those inside the image in all dimensions but the last, from position 0 of the
 * line on, which may lie before the image. */
size_t fidk_window_lines(const fid_window *window, size_t channels, const int64_t *at, int64_t *out_offsets, uint32_t *out_rows);
/* The most positions that lie inside the image at once: no more than the image has. */
size_t fidk_window_count(const fid_window *window);

#endif
