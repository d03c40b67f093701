/* The inside of a loaded method. Load (values.c, code.c, method.c) checks everything and builds these structs in the method's
 * arena; the executor reads them and trusts.
 *
 * What load proves and the executor keeps true:
 *   - all indices are in range, all tags are what instructions expect; numbers stay numbers, tensors stay the same tensors;
 *   - dtype and rank of a tensor never change; sizes of a FID_STATIC tensor never change;
 *   - live sizes always fit the memory behind a tensor (`capacity`);
 *   - nothing writes to a tensor that may stand on constant memory. */
#ifndef FID_RUNTIME_METHOD_H
#define FID_RUNTIME_METHOD_H

#include "runtime/backend.h"
#include "runtime/program.h"

/* What happens to a value at run time. */
enum {
    FID_USE_READ = 1,       /* an instruction reads it */
    FID_USE_CHANGES = 2,    /* a number or list of numbers that differs between calls */
    FID_USE_INPUT = 4,
    FID_USE_WRITTEN = 8,    /* an instruction writes its elements */
    FID_USE_ALIASED = 16,   /* it may stand on the memory of another tensor (moves, et_view) */
    FID_USE_MAYBE_CONST = 32, /* it is constant, or may stand on constant memory */
    FID_USE_LENDS = 64,     /* another tensor may stand on its memory */
    FID_USE_DELEGATE = 128, /* a delegate reads or writes it */
};

/* A tensor of the method: what kernels see, and where it is at home. */
typedef struct fid_method_tensor {
    fid_tensor tensor;       /* first: fid_value.as.tensor points here */
    const int64_t *bounds;   /* largest sizes; the sizes themselves of a static tensor */
    void *home;              /* its own memory; NULL: none */
    size_t home_size;
    bool home_planned;       /* in planned memory */
    bool home_allocated;     /* from the allocator: freed by the method */
    uint32_t buffer;         /* planned: which buffer */
    bool written;            /* zero.c: an instruction before the present one writes it */
    bool starts_as_zero;     /* it may be read before it is written */
    uint32_t initial;        /* data entry of the initial content; 0: none */
    uint64_t initial_set;
    const void *initial_data; /* initial content from a data file; NULL: none */
    const char *name;        /* planned: the buffer's fully qualified name, if the program has it */
} fid_method_tensor;

static inline fid_method_tensor *fid_method_tensor_of(const fid_value *value) { return (fid_method_tensor *)(void *)value->as.tensor; }

/* A list of numbers some of which change: gathered anew before each call that uses it. */
typedef struct fid_live_list {
    int64_t *items;
    const fid_value **sources;
    size_t count;
} fid_live_list;

/* A kernel call, complete but for what changes at run time. */
typedef struct fid_method_call {
    fid_call call;
    const fid_op *op;
    const fid_kernel *kernel;
    fid_live_list **lists;   /* to gather before the call */
    uint32_t list_count;
    uint32_t out_count;      /* output tensors, those in lists counted each */
    bool dynamic;            /* compute sizes before the call */
    bool is_view;            /* executorch_prim::et_view: makes its output stand on its input's memory */
    bool check_overlap;      /* some tensor moves about */
    bool check_data;         /* some tensor may have no memory yet */
    bool numbers_out;        /* writes numbers: their kind is checked after the call */
} fid_method_call;

typedef struct fid_delegate {
    const fid_backend *backend;
    void *handle;
    bool submitted; /* executed, not waited for */
} fid_delegate;

typedef struct fid_delegate_call {
    fid_delegate *delegate;
    fid_value **args;
    uint32_t arg_count;
} fid_delegate_call;

typedef enum fid_code_kind { FID_CODE_KERNEL, FID_CODE_DELEGATE, FID_CODE_MOVE, FID_CODE_JUMP_FALSE, FID_CODE_FREE } fid_code_kind;

typedef struct fid_code {
    uint8_t kind; /* fid_code_kind */
    uint32_t target; /* jump: next instruction */
    union {
        fid_method_call *kernel;
        fid_delegate_call *delegate;
        struct { fid_value *from, *to; } move;
        fid_value *value; /* jump: condition; free: tensor */
    } as;
} fid_code;

typedef struct fid_chain {
    fid_code *code;
    uint32_t count;
} fid_chain;

/* Whether another tensor shares a tensor's home, worked out when first asked. */
enum { FID_ALONE_UNKNOWN, FID_ALONE, FID_ALONE_NOT };

typedef struct fid_input_slot {
    uint32_t value;
    uint8_t alone;
    bool set;
    bool copy_each_run; /* by reference, but not usable in place */
    const void *data;   /* by reference: the caller's; NULL: copied */
    int64_t strides[FID_MAX_RANK];
} fid_input_slot;

typedef struct fid_output_slot {
    uint32_t value;
    bool can_redirect; /* nothing else stands on its home: kernels can write to the caller's memory */
    void *user;        /* the caller's memory; NULL: none */
    size_t user_size;
    void *home;        /* its own home while it is redirected */
    size_t home_size;
    fid_tensor copy;   /* the output in the caller's memory, when it had to be copied there */
    fid_value copy_value;
} fid_output_slot;

typedef struct fid_planned_buffer {
    uint8_t *data;
    size_t declared, used;
} fid_planned_buffer;

typedef struct fid_scratch_chunk fid_scratch_chunk;

/* A mutable buffer. */
typedef struct fid_method_state {
    fid_named_data entry; /* its bytes are where the tensor has its home */
    const fid_method_tensor *tensor;
} fid_method_state;

struct fid_method {
    fid_scratch memory; /* first: the interface that kernels call */
    fid_program *program;
    fid_fb_ref plan;
    const char *name;
    fid_sink sink;
    fid_allocator allocator;
    const fid_threads *threads;
    uint32_t cpu;
    bool no_cpu_kernels;
    fid_arena arena;
    fid_data **data;         /* retained; later ones come first */
    uint32_t data_count;
    fid_shared_state *shared; /* retained; NULL: all planned memory is the method's own */

    fid_value *values;
    fid_value *first_values; /* numbers as loaded: a failed run puts them back */
    uint8_t *uses;           /* FID_USE_ bits of each value */
    fid_live_list *lists;    /* of each value; sources NULL: nothing to gather */
    uint32_t value_count;
    bool has_views;          /* some tensor comes to stand on another's memory */

    fid_planned_buffer *buffers;
    uint32_t buffer_count;
    void *planned; /* our block; NULL: the caller's */
    size_t planned_size;

    fid_input_slot *inputs;
    fid_output_slot *outputs;
    uint32_t input_count, output_count;
    fid_method_tensor **rebound; /* tensors that go home before each run */
    uint32_t rebound_count;

    const fid_op **ops;     /* of each operator of the plan */
    const char **op_names;  /* "aten::add.out" */
    uint32_t op_count;
    fid_delegate *delegates;
    uint32_t delegate_count; /* initialized ones */
    fid_chain *chains;
    uint32_t chain_count;
    fid_meta *metas;        /* room for the outputs of any one call */
    uint32_t meta_count;
    fid_method_state *states; /* listed by state.c when asked for */
    uint32_t state_count;
    const fid_backend *pending; /* whose delegates are submitted and not waited for; NULL: none */

    uint8_t *scratch;
    size_t scratch_size, scratch_used;
    fid_scratch_chunk *overflow; /* scratch that went beyond the block, until the call ends */
    fid_scratch_chunk *retired;  /* homes that were outgrown, until the next run: views may still stand on them */

    const fid_tracer *tracer; /* NULL: nothing is measured */
    int32_t traced_chain, traced_instruction; /* where the run is, while it is traced */

    uint32_t turn; /* atomic: FID_TURN_; one thread at a time */
};

/* One word says whether a thread has the method and whether its run shall end, so that a cancel neither comes too early to count nor
 * outlives the run that it was meant for. Nonzero during a run means: end. */
enum { FID_TURN_TAKEN = 0, FID_TURN_CANCELLED = 1, FID_TURN_FREE = 2 };

/* ---- values.c: values, tensors, planned memory ---- */
fid_status fid_method_load_values(fid_method *method);
/* Where planned memory lies; needs the tensors. `memory` NULL: from the allocator. */
fid_status fid_method_place_memory(fid_method *method, void *memory, size_t memory_size);
/* Zeros and initial content into the planned memory that is read before it is written: state. What is written first is left
 * alone, since touching all memory at load takes longer than all the rest of it. */
fid_status fid_method_fill_memory(fid_method *method, bool at_load);
/* True for memory that other methods use as well. */
static inline bool fid_method_is_shared(const fid_method *method, uint32_t buffer) { return method->shared && buffer > 0; }


/* ---- code.c: instructions ---- */
fid_status fid_method_load_code(fid_method *method);

/* ---- zero.c ---- */
/* Which tensors start as zeros: those that may be read before they are written. */
fid_status fid_method_find_zero_starts(fid_method *method);

/* ---- call.c: one kernel call ---- */
/* Finds the operators of the plan that are marked in `used`; one failure lists all that are missing. */
fid_status fid_method_find_operators(fid_method *method, const bool *used);
/* Checks arguments against the schema and notes in `uses` what the call does to them. args: value indices from the program. */
fid_status fid_method_begin_call(fid_method *method, uint32_t op_index, fid_fb_vector args, fid_method_call **out_call);
/* Once the uses of all values are known: checks shapes, chooses and prepares the kernel. */
fid_status fid_method_finish_call(fid_method *method, fid_method_call *call);
/* Outputs share no memory with other arguments, but for pointwise kernels in place. live: where they stand now. */
fid_status fid_method_check_overlap(fid_method *method, const fid_method_call *call, bool live);
/* Sizes of the outputs from the inputs, at run time. */
fid_status fid_method_resize_outputs(fid_method *method, const fid_method_call *call);
/* Value indices to values. */
fid_status fid_method_get_args(fid_method *method, fid_fb_vector indices, fid_value ***out_args);
/* Walks the tensors among values, those in lists one by one; absent optional ones are left out. Start with {0}. */
typedef struct fid_tensor_walk {
    uint32_t value;
    size_t item;
} fid_tensor_walk;
fid_tensor *fid_next_tensor(fid_tensor_walk *walk, fid_value *const *values, uint32_t count);
/* Adds USE bits to a value and, for lists, to what it lists. */
void fid_method_mark(fid_method *method, const fid_value *value, uint8_t uses);

/* ---- delegate.c ---- */
fid_status fid_method_load_delegates(fid_method *method);
void fid_method_unload_delegates(fid_method *method);

/* ---- scratch.c ---- */
void fid_method_scratch_init(fid_method *method);
fid_status fid_method_scratch_reserve(fid_method *method, size_t size);
void fid_method_scratch_end_call(fid_method *method);
void fid_method_scratch_deinit(fid_method *method);
/* A block with a header by which it can be put on a list. */
void *fid_chunk_allocate(fid_method *method, size_t size);
void fid_chunk_retire(fid_method *method, void *memory);
void fid_chunk_free(fid_method *method, void *memory);
void fid_method_free_retired(fid_method *method);

/* ---- io.c ---- */
fid_status fid_method_load_io(fid_method *method);
/* Before and after a run: are all inputs set, and are they still. */
fid_status fid_method_begin_inputs(fid_method *method);
void fid_method_end_inputs(fid_method *method);
/* Outputs to the caller's memory, where kernels could not write there directly. */
fid_status fid_method_copy_outputs(fid_method *method);

/* ---- trace.c: only with a tracer ---- */
uint64_t fid_trace_now(const fid_method *method);
/* An event from `start` until now, at the present instruction or, if `instruction` is false, at none. */
void fid_trace_span(const fid_method *method, const char *name, bool instruction, uint64_t start);
fid_status fid_trace_kernel(const fid_method *method, fid_method_call *call);

/* ---- executor.c ---- */
void fid_live_list_gather(const fid_live_list *list);
/* Gives a tensor memory of its own of at least `size` bytes; what it had stays until the next run begins. */
fid_status fid_method_grow_home(fid_method *method, fid_method_tensor *tensor, size_t size);
/* Sends tensors that stand on other memory home, and frees memory that was outgrown. */
void fid_method_rebind(fid_method *method);

/* Takes the method for this thread; FID_INVALID_STATE if it is taken. */
fid_status fid_method_enter(fid_method *method);
void fid_method_leave(fid_method *method);

#endif
