/* Status values. The numbers are those of upstream's runtime/core/error.h, so that
 * tools which know upstream's codes read ours. */
#ifndef FID_BASE_STATUS_H
#define FID_BASE_STATUS_H

#include "base/config.h"
#include "base/deps.h"

/* name, value, text */
#define FID_STATUS_MAP(X)                                                      \
    X(OK, 0x00, "ok")                                                          \
    X(INTERNAL, 0x01, "internal error")                                        \
    X(INVALID_STATE, 0x02, "invalid state")                                    \
    X(END_OF_METHOD, 0x03, "end of method")                                    \
    X(ALREADY_LOADED, 0x04, "already loaded")                                  \
    X(NOT_SUPPORTED, 0x10, "not supported")                                    \
    X(NOT_IMPLEMENTED, 0x11, "not implemented")                                \
    X(INVALID_ARGUMENT, 0x12, "invalid argument")                              \
    X(INVALID_TYPE, 0x13, "invalid type")                                      \
    X(OPERATOR_MISSING, 0x14, "operator missing")                              \
    X(TOO_MANY_KERNELS, 0x15, "too many kernels registered")                   \
    X(KERNEL_ALREADY_REGISTERED, 0x16, "kernel already registered")            \
    X(NOT_FOUND, 0x20, "not found")                                            \
    X(OUT_OF_MEMORY, 0x21, "out of memory")                                    \
    X(ACCESS_FAILED, 0x22, "access failed")                                    \
    X(INVALID_PROGRAM, 0x23, "invalid program")                                \
    X(INVALID_EXTERNAL_DATA, 0x24, "invalid external data")                    \
    X(OUT_OF_RESOURCES, 0x25, "out of resources")                              \
    X(DELEGATE_INCOMPATIBLE, 0x30, "delegate incompatible")                    \
    X(DELEGATE_OUT_OF_MEMORY, 0x31, "delegate out of memory")                  \
    X(DELEGATE_INVALID_HANDLE, 0x32, "delegate handle invalid")                \
    X(CANCELLED, 0x40, "cancelled")

typedef enum fid_status {
#define FID_STATUS_ENUM(name, value, text) FID_##name = value,
    FID_STATUS_MAP(FID_STATUS_ENUM)
#undef FID_STATUS_ENUM
} fid_status;

/* Short text of a status; "unknown status" for a number outside the map. Static storage. */
const char *fid_status_text(fid_status status);

/* Where failures explain themselves. `write` may be NULL: then nobody listens.
 * It gets the sentence of one failure (UTF-8, no newline, valid during the call only)
 * and may be called from whichever thread failed. A failure is reported once, where it
 * is first known; callers pass the status on, and may add a sentence that says where. */
typedef struct fid_sink {
    void (*write)(void *self, fid_status status, const char *sentence);
    void *self;
} fid_sink;

/* A sink that keeps the sentences of the newest failure in caller's storage, joined by ": ". */
typedef struct fid_message {
    fid_status status;
    char text[1000];
} fid_message;

fid_sink fid_message_sink(fid_message *message);

/* Formats a sentence, gives it to the sink (NULL allowed) and returns `status`.
 * Knows %s %.*s %c %d %u %lld %llu %zu %x %g(double) and %%; longer sentences are cut at 1,000 bytes.
 * `fid_fail(sink, FID_INVALID_ARGUMENT, "input %d has rank %d", i, rank)` */
#if FID_MESSAGES
#define fid_fail(sink, status, ...) fid_fail_formatted((sink), (status), __VA_ARGS__)
#else
/* Never taken, so that nothing is linked, but the arguments count as used. */
#define fid_fail(sink, status, ...) (0 ? fid_fail_formatted((sink), (status), __VA_ARGS__) : (status))
#endif
fid_status fid_fail_formatted(const fid_sink *sink, fid_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The formatter behind it: writes at most `size` bytes with the closing zero, returns the untruncated length. */
size_t fid_format(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t fid_format_list(char *text, size_t size, const char *format, va_list list);

/* Early return while nothing is held. */
#define FID_TRY(expression)                                                    \
    do {                                                                       \
        fid_status fid_try_status_ = (expression);                             \
        if (fid_try_status_ != FID_OK) return fid_try_status_;                 \
    } while (0)

#endif
