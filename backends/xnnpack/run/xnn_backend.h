/* The backend that runs XNNPACK delegates of upstream's programs on our kernels. */
#ifndef FID_BACKENDS_XNNPACK_BACKEND_H
#define FID_BACKENDS_XNNPACK_BACKEND_H

#include "runtime/backend.h"

/* For fid_environment.backends; keeps no state. */
extern const fid_backend fid_backend_xnnpack;

#endif
