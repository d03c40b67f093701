/* A sink for hosted programs that keeps everything said of the newest failure, however long: fid_message (base/status.h) cuts. */
#ifndef FID_PLATFORM_WHOLE_MESSAGE_H
#define FID_PLATFORM_WHOLE_MESSAGE_H

#include "base/status.h"

/* Sentences of one failure arrive from the inside out, "value 3 is no tensor", then "method forward", and are joined by ": ".
 * Starts zeroed; stays where it is while its sink is in use. */
typedef struct fid_whole_message {
    fid_status status;
    char *text; /* malloc'ed; NULL: nothing said */
} fid_whole_message;

fid_sink fid_whole_message_sink(fid_whole_message *message);
/* What was said of a failure with this status, else the status' own text; valid until the next sentence. */
const char *fid_whole_message_text(const fid_whole_message *message, fid_status status);
void fid_whole_message_deinit(fid_whole_message *message);

#endif
