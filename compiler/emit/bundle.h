/* From a lowered program, its sample inputs and its bytes to a bundled program (.bpte). */
#ifndef FIDC_BUNDLE_H
#define FIDC_BUNDLE_H

#include "compiler/emit/emit.h"

/* One case a method: the archive's sample inputs, and what the lowered graph gives for them on kernels without instruction sets, so
 * that equal archives give equal bundles on every machine. `program_bytes` is what fidc_emit wrote.
 * FID_NOT_FOUND: a method without sample inputs. */
fid_status fidc_bundle(const fidc_program *program, fid_span program_bytes, const fidc_writer *writer);

#endif
