/* Showing tensors to people: a summary line, the likeliest classes, a row-major copy. */
#ifndef FID_TOOLS_LABELS_H
#define FID_TOOLS_LABELS_H

#include "tools/command.h"

/* Copies elements in logical order. `out` holds fid_tensor_bytes. */
void tensor_to_row_major(const fid_tensor *tensor, void *out);
/* One element as a double. */
double tensor_element(const fid_tensor *tensor, size_t index_row_major, const void *row_major);
/* "float32[1, 1000] 0.1 0.2 ... (min, mean, max)" */
const char *tensor_summary(const fid_tensor *tensor, char *text, size_t size);
/* Softmax over the first output's last dimension and the likeliest names. False, with a message, if it does not fit. */
bool print_labels(const char *path, const fid_value *output, size_t top);

#endif
