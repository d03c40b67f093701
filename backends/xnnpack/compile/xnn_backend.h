/* XNNPACK as a backend of the compiler: `fidibus compile --target xnnpack`. */
#ifndef FIDC_XNN_BACKEND_H
#define FIDC_XNN_BACKEND_H

#include "compiler/partition/partition.h"

extern const fidc_backend fidc_backend_xnnpack;

#endif
