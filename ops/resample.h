/* What an upsampling call asks for, checked once, for shape functions and kernels. */
#ifndef FID_OPS_RESAMPLE_H
#define FID_OPS_RESAMPLE_H

#include "ops/kernel.h"

typedef struct fid_resample {
    const fid_tensor *input; /* (batch, channels, spatial...) */
    size_t spatial;          /* 1, 2 or 3 */
    bool align_corners;      /* the centers of the corner elements stay in place, instead of the corners of the image */
    int64_t in[3], out[3];   /* outermost first */
    double scale[3];         /* output over input as the caller gave it; 0: not given, sizes decide */
} fid_resample;

/* Which signature: `spatial` dimensions; `align`: there is an align_corners argument; `vec`: (input, output_size?,
 * [align_corners], scale_factors?), otherwise (self, output_size, [align_corners], one optional scale a dimension). */
typedef struct fid_resample_form {
    uint8_t spatial;
    bool align, vec;
} fid_resample_form;

/* Where PyTorch goes by sizes alone, whatever scale the caller gave: a dimension that keeps its size, and for nearest one that doubles. */
static inline bool fid_resample_by_size(const fid_resample *r, size_t d, bool nearest) {
    return r->out[d] == r->in[d] || (nearest && r->out[d] == 2 * r->in[d]);
}

fid_status fid_resample_of(const fid_call *call, fid_resample_form form, fid_resample *out);

#endif
