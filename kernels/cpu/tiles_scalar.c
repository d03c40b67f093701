/* The tiles in portable C. */
#include "kernels/cpu/vec_base.h"

#include "kernels/cpu/tiles_body.h"
