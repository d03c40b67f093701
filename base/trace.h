/* What a tracer is: where the runtime reports what it did and how long it took. Without one, nothing is measured. */
#ifndef FID_BASE_TRACE_H
#define FID_BASE_TRACE_H

#include "base/span.h"

/* A stretch of time that has ended. */
typedef struct fid_trace_event {
    const char *name;          /* "Method::execute"; of a kernel, the operator: "aten::add.out". Lives at least as long as the method */
    bool kernel;               /* the kernel of an instruction, without what the runtime does around it */
    int32_t chain;             /* of instructions; -1: the event belongs to none */
    int32_t instruction;       /* index in its chain; -1 */
    int32_t delegate_id;       /* inside a delegate: the number that its compiler gave to the part; -1: none */
    const char *delegate_name; /* the same for parts that have names; NULL */
    fid_span metadata;         /* a delegate's own bytes; may be empty */
    uint64_t start, end;       /* of the environment's clock: nanoseconds */
} fid_trace_event;

/* Called by the thread that loads or runs the method, never by two at a time for one method. */
typedef struct fid_tracer {
    void *self;
    /* What follows belongs together: "Default" when a method is loaded, "Execute" when it runs. */
    void (*begin_block)(void *self, const char *name);
    /* Events come in the order of their ends, so that what is inside comes before what is around it. */
    void (*record)(void *self, const fid_trace_event *event);
} fid_tracer;

#endif
