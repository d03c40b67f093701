/* The only door to libc for base/, ops/, format/, runtime/ and kernels/.
 *
 * A freestanding target replaces this header; nothing else names a libc function.
 * Memory functions are those that a C compiler may call anyway. */
#ifndef FID_BASE_DEPS_H
#define FID_BASE_DEPS_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#endif
