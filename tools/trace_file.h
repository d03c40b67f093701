/* Traces of the subcommands: a tracer for a method, and the file that it becomes. */
#ifndef FID_TOOLS_TRACE_FILE_H
#define FID_TOOLS_TRACE_FILE_H

#include "tools/command.h"

/* Writes what was recorded as .etdp. False, with a message of `command`, if it cannot. */
bool trace_save(const char *command, const fid_trace *trace, const char *path, const runtime_session *session);

#endif
