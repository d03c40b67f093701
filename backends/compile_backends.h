/* The backends that the compiler is built with. */
#ifndef FIDC_COMPILE_BACKENDS_H
#define FIDC_COMPILE_BACKENDS_H

#include "compiler/partition/partition.h"

#ifdef FID_BACKEND_XNNPACK
#include "backends/xnnpack/compile/xnn_backend.h"
#define FIDC_BACKEND_TARGETS "xnnpack"
#else
#define FIDC_BACKEND_TARGETS "no others in this build"
#endif

/* The backend of a target's name; NULL: there is none. */
static inline const fidc_backend *fidc_backend_find(const char *target) {
#ifdef FID_BACKEND_XNNPACK
    if (strcmp(target, fidc_backend_xnnpack.target) == 0) return &fidc_backend_xnnpack;
#endif
    (void)target;
    return NULL;
}

#endif
