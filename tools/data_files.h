/* --data, --save-state and --load-state: weights and state in .ptd files. */
#ifndef FID_TOOLS_DATA_FILES_H
#define FID_TOOLS_DATA_FILES_H

#include "tools/command.h"

#define DATA_OPTION_ROW {"--data", "FILE.ptd", "weights that lie outside the program; may be repeated: of two that have a name, the later counts"}

typedef struct data_files {
    fid_data **items;
    size_t count;
} data_files;

/* Opens what --data names; a sentence goes to the sink. Close also after a failure. */
fid_status data_files_open(const fid_environment *environment, const arguments *a, data_files *out_files);
void data_files_close(data_files *files);

/* Writes the buffers of all methods; one that they share stands there once. FID_INVALID_STATE: two have different buffers of one name. */
fid_status state_save(const fid_environment *environment, const char *path, fid_method *const *methods, size_t count);
/* Gives each of the methods what was saved. */
fid_status state_load(const fid_environment *environment, const char *path, fid_method *const *methods, size_t count);

#endif
