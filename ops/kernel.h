/* The interface between whoever runs an operator (runtime, constant folding, tests) and its kernel.
 *
 * A kernel uses no libc but base/deps.h, allocates only through its call, keeps no global state and is reentrant. */
#ifndef FID_OPS_KERNEL_H
#define FID_OPS_KERNEL_H

#include "ops/value.h"

/* Threads that a kernel may use. `run` calls task(context, i) once for each i in [0, count), in any order, on any of the
 * pool's threads, and returns when all are done; a nested call runs serially. NULL pool or count 1: serial. */
typedef struct fid_threads {
    void (*run)(void *self, void (*task)(void *context, size_t index), void *context, size_t count);
    void *self;
    uint32_t count; /* threads, at least 1 */
} fid_threads;

/* Instruction sets beyond the baseline, detected once by the host (platform/) and passed in. */
enum {
    FID_CPU_AVX2_FMA = 1u << 0,     /* AVX2, FMA, F16C */
    FID_CPU_AVX512 = 1u << 1,       /* F, BW, DQ, VL */
    FID_CPU_AVX512_VNNI = 1u << 2,
    FID_CPU_AVX512_BF16 = 1u << 3,
    FID_CPU_AMX_BF16 = 1u << 4,
    FID_CPU_AMX_INT8 = 1u << 5,
    FID_CPU_SSE4 = 1u << 6,         /* SSE4.1 */
    FID_CPU_NEON_DOT = 1u << 8,
    FID_CPU_NEON_I8MM = 1u << 9,
    FID_CPU_NEON_FP16 = 1u << 10,
    FID_CPU_SVE_256 = 1u << 11,     /* scalable vectors of exactly 256 bits */
    FID_CPU_SVE_512 = 1u << 12,     /* of exactly 512 bits */
    FID_CPU_RVV = 1u << 16,         /* RISC-V V: vectors of at least 128 bits */
    FID_CPU_RVV_256 = 1u << 17,     /* of at least 256 bits */
    /* Sets whose kernels have not been proven to the end (docs/testing.md): tests run them, the default environment leaves them out. */
    FID_CPU_UNPROVEN = FID_CPU_SVE_256 | FID_CPU_SVE_512 | FID_CPU_RVV | FID_CPU_RVV_256,
};

/* One call of an operator. `args` follows the schema: inputs in order, then outputs. A list of output tensors
 * (split and the like) is one TENSOR_LIST value. Tags have been checked against the schema; optional arguments may be NONE. */
typedef struct fid_call {
    const char *name;        /* "aten::add.out", for messages */
    fid_value *const *args;
    uint32_t arg_count;
    uint32_t output_index;   /* args[output_index..arg_count) are the outputs */
    const fid_sink *sink;
    const fid_threads *threads; /* may be NULL */
    uint32_t cpu;            /* FID_CPU_ bits */
    void *state;             /* what prepare made */
    struct fid_scratch *memory;
    const struct fid_kernel *kernel; /* the one at work: a kernel with data of its own has them in a struct around its fid_kernel */
} fid_call;

/* Memory of a call. `persist` (only in prepare) lives as long as the method; `scratch` until the call returns.
 * Both are aligned to 64 bytes, uninitialized; NULL when memory is short: return FID_OUT_OF_MEMORY. */
void *fid_call_persist(fid_call *call, size_t bytes);
void *fid_call_scratch(fid_call *call, size_t bytes);

/* Gives output `k` sizes that data decide. One without an upper bound gets memory for them, where the runner can give it; then its
 * `data` is new. */
fid_status fid_call_resize(fid_call *call, uint32_t k, const int64_t *sizes, size_t rank);

/* Behind the three: the runner implements it. */
typedef struct fid_scratch {
    void *(*persist)(struct fid_scratch *self, size_t bytes);
    void *(*scratch)(struct fid_scratch *self, size_t bytes);
    fid_status (*grow)(struct fid_scratch *self, fid_tensor *tensor, size_t bytes); /* NULL: tensors keep the memory they have */
} fid_scratch;

typedef struct fid_kernel {
    /* Optional, once at load, with the shapes of load time (bounds for dynamic ones). May look at constant arguments
     * (FID_TENSOR_CONSTANT), pack weights into persist memory, set call->state. FID_NOT_SUPPORTED, without a sentence,
     * declines the call for good: the runner then takes the reference kernel. The decision may rest on dtypes, ranks,
     * dim orders, constant arguments and CPU, not on sizes that can change. */
    fid_status (*prepare)(fid_call *call);
    /* Outputs have their sizes (set from the shape function); dtypes and sizes are already checked against it.
     * Checks only what depends on data: indices, divisors. Data-dependent operators resize their outputs. */
    fid_status (*run)(fid_call *call);
    /* Optional: scratch bytes that `run` will ask for at the present shapes, so that the runner can set them aside at load. */
    size_t (*scratch_bytes)(const fid_call *call);
    /* True: `prepare` looks at nothing but dtypes, ranks and dim orders of tensors, so the kernel also serves calls whose numbers
     * (sizes, starts, factors) change between runs. Otherwise such calls go to a kernel that needs no preparation. */
    bool any_numbers;
} fid_kernel;

/* Shorthand for kernels. */
static inline fid_tensor *fid_arg_tensor(const fid_call *call, uint32_t i) {
    return call->args[i]->tag == FID_TAG_TENSOR ? call->args[i]->as.tensor : NULL; /* NULL: an absent optional tensor */
}
static inline bool fid_arg_is_none(const fid_call *call, uint32_t i) { return call->args[i]->tag == FID_TAG_NONE; }
static inline int64_t fid_arg_int(const fid_call *call, uint32_t i) { return fid_value_int(call->args[i]); }
static inline double fid_arg_double(const fid_call *call, uint32_t i) { return fid_value_double(call->args[i]); }
static inline bool fid_arg_bool(const fid_call *call, uint32_t i) { return fid_value_bool(call->args[i]); }
static inline fid_tensor *fid_out_tensor(const fid_call *call, uint32_t i) {
    return fid_arg_tensor(call, call->output_index + i);
}
/* Items of an int list (NULL and *out_count 0 if NONE). A single INT counts as a list of one. */
const int64_t *fid_arg_ints(const fid_call *call, uint32_t i, size_t *out_count);

/* What an operator's output looks like. */
typedef struct fid_meta {
    int64_t sizes[FID_MAX_RANK];
    uint8_t dim_order[FID_MAX_RANK];
    uint8_t rank;
    uint8_t dtype;
    uint16_t bound_dims; /* bit d: data decide size d, which is an upper bound here; the kernel resizes the output */
} fid_meta;

/* Computes metas of the outputs from the inputs (args before output_index; args after it must not be touched).
 * `outs` has `out_count` entries: the number of output tensors (list outputs count each tensor), zeroed.
 * Fails with a sentence when the inputs do not fit the operator. The same function serves the compiler (tensors without
 * data) and the runtime. Data-dependent operators give the upper bound and may not read data. */
typedef fid_status (*fid_shape_function)(const fid_call *call, fid_meta *outs, size_t out_count);

/* Helpers for shape functions. */
fid_meta fid_meta_of(const fid_tensor *tensor);             /* same sizes, dim order, dtype */
void fid_meta_set(fid_meta *meta, fid_dtype dtype, const int64_t *sizes, size_t rank); /* row-major */
/* PyTorch's broadcasting of two shapes; sentence names the operator and both shapes. inout_sizes/rank: first in, result out. */
fid_status fid_meta_broadcast(const fid_call *call, fid_meta *inout_meta, const fid_tensor *other);
/* Wraps a negative dimension; rank 0 counts as 1. Sentence on failure. */
fid_status fid_wrap_dim(const fid_call *call, int64_t dim, size_t rank, size_t *out_dim);
/* "[2, 3]" into text, for messages. */
const char *fid_shape_text(const int64_t *sizes, size_t rank, char *text, size_t size);

#endif
