/* Runs the fidibus command as a person would, in a folder of its own, and keeps what it says. For one test program. */
#ifndef FID_TESTS_CLI_H
#define FID_TESTS_CLI_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/npy.h"

#define CLI_COMMAND FID_BINARY_DIR "/fidibus"
#define CLI_ARCHIVES FID_SOURCE_DIR "/tests/archives/"

/* What the newest call wrote. */
static char cli_out[1 << 18], cli_err[1 << 16];

/* ---- Files ---- */

static inline void *cli_read(const char *path, size_t *out_size) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is not there", path);
    fseek(file, 0, SEEK_END);
    *out_size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*out_size + 1);
    assert_int_equal(fread(data, 1, *out_size, file), *out_size);
    data[*out_size] = 0;
    fclose(file);
    return data;
}

static inline void cli_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline bool cli_exists(const char *path) { return access(path, F_OK) == 0; }

static inline void cli_write_npy(const char *path, fid_dtype dtype, const int64_t *sizes, size_t rank, const void *data) {
    uint8_t file[4096];
    size_t header, bytes = fid_dtype_size(dtype);
    for (size_t i = 0; i < rank; i++) bytes *= (size_t)sizes[i];
    assert_int_equal(fid_npy_write_header(NULL, dtype, sizes, rank, file, &header), FID_OK);
    assert_true(header + bytes <= sizeof file);
    memcpy(file + header, data, bytes);
    cli_write(path, file, header + bytes);
}

/* The array in `path` is of this dtype and holds these bytes, row-major. */
static inline void cli_expect_npy(const char *path, fid_dtype dtype, const void *data, size_t size) {
    size_t file_size;
    void *file = cli_read(path, &file_size);
    fid_npy npy;
    assert_int_equal(fid_npy_parse(NULL, path, fid_span_of(file, file_size), &npy), FID_OK);
    assert_int_equal(npy.dtype, dtype);
    assert_int_equal(npy.data.size, size);
    assert_memory_equal(npy.data.data, data, size);
    free(file);
}

static inline void cli_expect_same_files(const char *a, const char *b) {
    size_t a_size, b_size;
    void *x = cli_read(a, &a_size), *y = cli_read(b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(x, y, a_size);
    free(x);
    free(y);
}

/* ---- Calls ---- */

/* A fresh folder, which becomes the working directory: cmocka's group setup. */
static inline int cli_enter(const char *name) {
    char line[4096];
    snprintf(line, sizeof line, "rm -rf '%s/tests/%s.work' && mkdir -p '%s/tests/%s.work/here'", FID_BINARY_DIR, name, FID_BINARY_DIR, name);
    if (system(line) != 0) return -1;
    snprintf(line, sizeof line, "%s/tests/%s.work/here", FID_BINARY_DIR, name);
    return chdir(line);
}

static inline void keep(const char *path, char *text, size_t size) {
    size_t length;
    char *all = cli_read(path, &length);
    snprintf(text, size, "%s", all);
    free(all);
}

/* `fidibus WORDS` in the shell; its exit status. */
__attribute__((format(printf, 1, 2))) static int cli(const char *format, ...) {
    char words[4096], line[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    snprintf(line, sizeof line, "'%s' %s >../stdout.txt 2>../stderr.txt </dev/null", CLI_COMMAND, words);
    int status = system(line);
    keep("../stdout.txt", cli_out, sizeof cli_out);
    keep("../stderr.txt", cli_err, sizeof cli_err);
    if (!WIFEXITED(status)) fail_msg("fidibus %s was killed\n%s", words, cli_err);
    return WEXITSTATUS(status);
}

/* The call succeeds and complains about nothing. */
#define cli_ok(...)                                                                                                    \
    do {                                                                                                               \
        int cli_status_ = cli(__VA_ARGS__);                                                                            \
        if (cli_status_ || cli_err[0]) fail_msg("exit status %d: %s", cli_status_, cli_err);                           \
    } while (0)

static inline void cli_expect_phrase(const char *text, const char *phrase) {
    if (!strstr(text, phrase)) fail_msg("expected \"%s\" in:\n%s", phrase, text);
}

#endif
