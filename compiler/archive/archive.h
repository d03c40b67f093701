/* Reads what torch.export.save wrote into a graph. */
#ifndef FIDC_ARCHIVE_H
#define FIDC_ARCHIVE_H

#include "compiler/ir/ir.h"

/* Adds the method `name` (usually "forward") from the .pt2 at `path`. Constants point into memory that the program owns.
 * Failures name the file, the archive member and what was expected: not a zip, no export, a newer schema, a missing or short
 * weight, unknown operators (all of them, each with the user's source line). */
fid_status fidc_archive_read(fidc_program *program, const char *path, const char *name);

#endif
