/* Options, messages and files for the subcommands. */
#include "tools/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "platform/posix/threads.h"

const char *option_text(const arguments *a, const char *name) {
    for (int i = a->option_count - 1; i >= 0; i--) {
        if (strcmp(a->options[i].name, name) == 0) return a->options[i].value;
    }
    return NULL;
}

bool option_flag(const arguments *a, const char *name) {
    for (int i = 0; i < a->option_count; i++) {
        if (strcmp(a->options[i].name, name) == 0) return true;
    }
    return false;
}

bool option_number(const arguments *a, const char *name, long low, long high, long *out_number) {
    const char *text = option_text(a, name);
    if (!text) return true;
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < low || number > high) {
        usage_error(a, "%s takes a whole number from %ld to %ld, not \"%s\"", name, low, high, text);
        return false;
    }
    *out_number = number;
    return true;
}

int failed(const char *command, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "fidibus %s: error: ", command);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return EXIT_FAILED;
}

int usage_error(const arguments *a, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "fidibus %s: ", a->command->name);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\nusage: fidibus %s %s\n", a->command->name, a->command->usage);
    fprintf(stderr, "`fidibus %s --help` lists the options\n", a->command->name);
    va_end(list);
    return EXIT_USAGE;
}

void *read_file(const char *path, size_t *out_size) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file) return NULL;
    if (fstat(fileno(file), &info) != 0 || S_ISDIR(info.st_mode)) {
        fclose(file);
        errno = EISDIR;
        return NULL;
    }
    size_t size = (size_t)info.st_size;
    void *data = malloc(size ? size : 1);
    bool ok = data && fread(data, 1, size, file) == size;
    fclose(file);
    if (!ok) {
        free(data);
        if (!errno) errno = EIO;
        return NULL;
    }
    *out_size = size;
    return data;
}

static bool write_parts(const char *path, const file_part *parts, int part_count) {
    FILE *file = fopen(path, "wb");
    bool ok = file != NULL;
    for (int i = 0; ok && i < part_count; i++) ok = fwrite(parts[i].data, 1, parts[i].size, file) == parts[i].size;
    if (file && fclose(file) != 0) ok = false;
    return ok;
}

bool write_file(const char *path, const file_part *parts, int part_count) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return write_parts(path, parts, part_count); /* a device: renaming would replace it */
    char temporary[4096];
    int length = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary) { errno = ENAMETOOLONG; return false; }
    bool ok = write_parts(temporary, parts, part_count) && rename(temporary, path) == 0;
    if (!ok) {
        int saved = errno;
        unlink(temporary);
        errno = saved;
    }
    return ok;
}

const char *bytes_text(uint64_t bytes, char *text, size_t size) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB"};
    double number = (double)bytes;
    int unit = 0;
    while (number >= 1000 && unit < 3) { number /= 1000; unit++; }
    snprintf(text, size, unit && number < 10 ? "%.2f %s" : unit && number < 100 ? "%.1f %s" : "%.0f %s", number, units[unit]);
    return text;
}

bool make_directory(const char *path) {
    char part[4096];
    size_t length = strlen(path);
    if (length >= sizeof part) { errno = ENAMETOOLONG; return false; }
    memcpy(part, path, length + 1);
    for (char *slash = part + 1; *slash; slash++) {
        if (*slash != '/') continue;
        *slash = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    struct stat info;
    if (mkdir(part, 0777) == 0) return true;
    return errno == EEXIST && stat(part, &info) == 0 && S_ISDIR(info.st_mode);
}

double milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* A line of Linux's account of this process, in bytes; -1 if there is none. */
static long status_bytes(const char *key) {
    char line[256];
    long kilobytes = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && kilobytes < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) kilobytes = strtol(line + strlen(key), NULL, 10);
    }
    if (file) fclose(file);
    return kilobytes < 0 ? -1 : kilobytes * 1024;
}

/* What getrusage tells counts the parent from before exec, too. */
long peak_resident_bytes(void) {
    struct rusage usage;
    long bytes = status_bytes("VmHWM:");
    if (bytes >= 0) return bytes;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * 1024L : 0;
}

long resident_bytes(void) {
    long bytes = status_bytes("VmRSS:");
    return bytes >= 0 ? bytes : peak_resident_bytes();
}

void print_json_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c == '\n') fputs("\\n", out);
        else if (c < 0x20) fprintf(out, "\\u%04x", c);
        else fputc(c, out);
    }
    fputc('"', out);
}

bool runtime_session_open(runtime_session *session, long threads) {
    *session = (runtime_session){.environment = fid_environment_default(NULL)};
    session->environment.sink = fid_whole_message_sink(&session->message);
    if (threads > 1 && fid_threads_create(session->environment.allocator, (uint32_t)threads, &session->pool) != FID_OK) return false;
    session->environment.threads = session->pool;
    return true;
}

bool runtime_session_load_kernels(runtime_session *session, const arguments *a) {
    fid_environment *environment = &session->environment;
    session->tables[0] = &fid_builtin_ops;
    for (int i = 0; i < a->option_count; i++) {
        if (strcmp(a->options[i].name, "--kernels") != 0) continue;
        size_t at = session->plugin_count;
        if (at == sizeof session->plugins / sizeof session->plugins[0]) {
            failed(a->command->name, "more than %zu files of kernels", at);
            return false;
        }
        fid_status status = fid_plugin_open(&environment->sink, a->options[i].value, &session->plugins[at], &session->tables[at + 1]);
        if (status != FID_OK) {
            failed_status(a->command->name, status, session);
            return false;
        }
        session->plugin_count++;
    }
    environment->tables = session->tables;
    environment->table_count = session->plugin_count + 1;
    return true;
}

void runtime_session_close(runtime_session *session) {
    for (size_t i = 0; i < session->plugin_count; i++) fid_plugin_close(session->plugins[i]);
    session->plugin_count = 0;
    if (session->pool) fid_threads_destroy(session->pool);
    fid_whole_message_deinit(&session->message);
}

int failed_status(const char *command, fid_status status, const runtime_session *session) {
    return failed(command, "%s", fid_whole_message_text(&session->message, status));
}

const char *choose_method(const fid_program *program, const arguments *a) {
    const char *name = option_text(a, "--method");
    if (name) return name;
    return fid_program_method_count(program) == 1 ? fid_program_method_name(program, 0) : "forward";
}
