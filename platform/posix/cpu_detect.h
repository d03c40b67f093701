/* What the processor can do. */
#ifndef FID_PLATFORM_POSIX_CPU_DETECT_H
#define FID_PLATFORM_POSIX_CPU_DETECT_H

#include "base/deps.h"

/* FID_CPU_ bits (ops/kernel.h) that this processor has and the operating system lets programs use. */
uint32_t fid_cpu_detect(void);

#endif
