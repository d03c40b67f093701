/* Pointwise steps on whole numbers and truth values. */
#ifndef FID_KERNELS_CPU_WHOLE_H
#define FID_KERNELS_CPU_WHOLE_H

#include "kernels/cpu/loops.h"

/* True if the call's tensors share one dtype of bool or whole numbers, and the step has a form for it. */
bool fidk_whole_takes(const fid_call *call, const fid_step *step);
fid_status fidk_whole_run(fid_call *call, const fid_step *step);

#endif
