/* What the subcommands share: options, messages, files. Only tools/ prints and only tools/ exits. */
#ifndef FID_TOOLS_COMMAND_H
#define FID_TOOLS_COMMAND_H

#include <stdio.h>

#include "include/fidibus.h"
#include "platform/posix/whole_message.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct arguments;

/* One option of a subcommand. `--name VALUE` or, without value, a flag. */
typedef struct option_row {
    const char *name;     /* "--threads" */
    const char *value;    /* "N" for the help; NULL: a flag */
    const char *help;
} option_row;

typedef struct command_row {
    const char *name;
    const char *usage;    /* "M.pt2 -o M.pte" */
    const char *summary;  /* one line */
    const char *example;  /* lines of the help */
    const option_row *options; /* ends with name NULL */
    int (*run)(struct arguments *arguments);
} command_row;

typedef struct given_option { const char *name, *value; } given_option;

/* The parsed command line: options in order, then what is no option. */
typedef struct arguments {
    const command_row *command;
    given_option options[256];
    int option_count;
    const char *files[64];
    int file_count;
} arguments;

extern const command_row command_compile, command_run, command_bench, command_inspect, command_verify, command_ops, command_profile;

/* Last value of an option, or NULL / `otherwise`. */
const char *option_text(const arguments *a, const char *name);
bool option_flag(const arguments *a, const char *name);
/* False, with a message, if the text is no whole number in [low, high]. Leaves *out_number alone when the option is absent. */
bool option_number(const arguments *a, const char *name, long low, long high, long *out_number);

/* "fidibus run: error: ..." on stderr; returns EXIT_FAILED / EXIT_USAGE. */
int failed(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
int usage_error(const arguments *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The whole file in malloc'ed memory, NULL with errno set. */
void *read_file(const char *path, size_t *out_size);
/* Writes under a temporary name and renames (a device is written as it is). `parts` are written one after the other. False with errno set. */
typedef struct file_part { const void *data; size_t size; } file_part;
bool write_file(const char *path, const file_part *parts, int part_count);
bool make_directory(const char *path); /* with parents; existing is fine */

double milliseconds_now(void);
long peak_resident_bytes(void);
long resident_bytes(void); /* now; where nobody tells, the peak so far */

/* --method, else the only method, else "forward". */
const char *choose_method(const fid_program *program, const arguments *a);

/* Text with quotes and escapes for JSON. */
void print_json_text(FILE *out, const char *text);

/* "1.48 kB" into text, which holds at least 16 bytes. */
const char *bytes_text(uint64_t bytes, char *text, size_t size);
#define BYTES_TEXT(bytes) bytes_text((bytes), (char[24]){0}, 24)
/* "s" unless there is one: "%u input%s". */
static inline const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* The default environment with a thread pool of `threads` (1: none), and what the library said of the newest failure, however
 * long (a list of operators may be). Stays where it is while open: the environment's sink points to it. */
typedef struct runtime_session {
    fid_environment environment;
    fid_whole_message message;
    fid_threads *pool;
    const fid_op_table *tables[17]; /* the built-in one, then those of --kernels */
    void *plugins[16];
    size_t plugin_count;
} runtime_session;
bool runtime_session_open(runtime_session *session, long threads);
void runtime_session_close(runtime_session *session);
/* --kernels FILE.so: operators of the user's own. False with a message. */
#define KERNELS_OPTION_ROW {"--kernels", "FILE.so", "operators of your own: a shared library (examples/custom_operator); may be repeated"}
bool runtime_session_load_kernels(runtime_session *session, const arguments *a);

/* Failure of a library call: what it said, else the status text. Returns EXIT_FAILED. */
int failed_status(const char *command, fid_status status, const runtime_session *session);

#endif
