/* Matrix products with a second operand that is usually a weight: fid::linear, aten::linear, addmm, mm, bmm.
 *
 * A constant weight is packed once in prepare. Other weights are packed into scratch on each run, or used as they lie where they are
 * plain matrices and few rows would not pay for packing. */
#include "kernels/cpu/operand.h"
#include "kernels/cpu/pack_weights.h"

/* Rows of a from which packing a plain b pays. */
#define PACK_ROWS 48

typedef struct linear_state {
    const float *packed; /* NULL: the weight is not constant */
} linear_state;

/* One product as the operator states it: c (m, n) = a (m, k) * b. */
typedef struct linear_job {
    fidk_gemm gemm;
    const float *weight;
    bool transposed; /* weight is (n, k), else (k, n) */
} linear_job;

static linear_job job_begin(const fid_call *call, const fid_tensor *a, const fid_tensor *weight, bool transposed) {
    size_t k = (size_t)a->sizes[a->rank - 1], n = (size_t)weight->sizes[weight->rank - (transposed ? 2 : 1)];
    linear_job job = {.weight = weight->data, .transposed = transposed};
    job.gemm = (fidk_gemm){.tiles = fidk_tiles_for(call->cpu), .threads = call->threads, .m = fidk_count(a, 0, a->rank - 1u),
                           .n = n, .k = k, .a = a->data, .a_stride = k, .c_stride = n, .add_stride = n};
    return job;
}

/* One panel of a transposed weight, by the tile that turns squares in registers. */
static void pack_turned(const linear_job *job, size_t panel, float *out) {
    size_t k = job->gemm.k, left = job->gemm.n - panel * FIDK_PANEL;
    fidk_turn turn = {.in = job->weight + panel * FIDK_PANEL * k, .in_stride = k, .out = out, .out_stride = FIDK_PANEL,
                      .rows = left < FIDK_PANEL ? left : FIDK_PANEL, .columns = k};
    if (turn.rows < FIDK_PANEL) memset(out, 0, k * FIDK_PANEL * sizeof *out);
    job->gemm.tiles->transpose(&turn);
}

static void pack_panels(const linear_job *job, size_t begin, size_t end, float *out) {
    size_t n = job->gemm.n, k = job->gemm.k, first = begin * FIDK_PANEL;
    if (begin >= end) return;
    if (!job->transposed) fidk_pack_columns(job->weight + first, n, (end * FIDK_PANEL < n ? end * FIDK_PANEL : n) - first, k, out + first * k);
    for (size_t p = begin; job->transposed && p < end; p++) pack_turned(job, p, out + p * FIDK_PANEL * k);
}

typedef struct pack_work {
    const linear_job *job;
    float *out;
    size_t tasks;
} pack_work;

static void pack_task(void *context, size_t index) {
    const pack_work *w = context;
    size_t panels = fidk_panels(w->job->gemm.n);
    pack_panels(w->job, fidk_part_begin(panels, w->tasks, index), fidk_part_begin(panels, w->tasks, index + 1), w->out);
}

static void pack(const linear_job *job, float *out) {
    const fidk_gemm *g = &job->gemm;
    pack_work w = {job, out, fidk_worthwhile_threads(g->threads, (double)g->n * (double)g->k)};
    if (w.tasks > fidk_panels(g->n)) w.tasks = fidk_panels(g->n);
    fidk_parallel(g->threads, pack_task, &w, w.tasks);
}

/* True if b is used where it lies. */
static bool use_plain(const linear_job *job) { return !job->transposed && (job->gemm.m < PACK_ROWS || job->gemm.n <= 64); }

/* Bytes for the packed weight, 0 if none is wanted. */
static size_t pack_bytes(const linear_job *job) {
    return use_plain(job) ? 0 : fidk_scratch_piece(fidk_packed_floats(job->gemm.n, job->gemm.k) * sizeof(float));
}

static void set_plain(fidk_gemm *gemm, const float *b) {
    gemm->b = b;
    gemm->b_row = gemm->n;
    gemm->b_panel = FIDK_PANEL;
}

static fid_status prepare_weight(fid_call *call, const linear_job *job, const fid_tensor *weight) {
    linear_state *state = fid_call_persist(call, sizeof *state);
    if (!state) return FID_OUT_OF_MEMORY;
    *state = (linear_state){0};
    call->state = state;
    if (!fidk_is_constant(weight)) return FID_OK;
    float *packed = fid_call_persist(call, fidk_packed_floats(job->gemm.n, job->gemm.k) * sizeof *packed + 1);
    if (!packed) return FID_OUT_OF_MEMORY;
    pack(job, packed);
    state->packed = packed;
    return FID_OK;
}

static fid_status run_gemm(fid_call *call, const fidk_gemm *gemm) {
    size_t bytes = fidk_gemm_scratch_bytes(gemm);
    void *scratch = bytes ? fid_call_scratch(call, bytes) : NULL;
    if (bytes && !scratch) return FID_OUT_OF_MEMORY;
    fidk_gemm_run(gemm, scratch);
    return FID_OK;
}

static size_t job_bytes(const fid_call *call, const linear_job *job) {
    const linear_state *state = call->state;
    size_t packed = state && state->packed ? 0 : pack_bytes(job);
    return packed + fidk_scratch_piece(fidk_gemm_scratch_bytes(&job->gemm));
}

static fid_status run_job(fid_call *call, linear_job *job) {
    const linear_state *state = call->state;
    const float *packed = state ? state->packed : NULL;
    if (!packed && use_plain(job)) {
        set_plain(&job->gemm, job->weight);
        return run_gemm(call, &job->gemm);
    }
    if (!packed) {
        float *fresh = fid_call_scratch(call, pack_bytes(job));
        if (!fresh) return FID_OUT_OF_MEMORY;
        pack(job, fresh);
        packed = fresh;
    }
    fidk_gemm_set_packed(&job->gemm, packed);
    return run_gemm(call, &job->gemm);
}

/* ---- fid::linear(self, weight, bias, add, out_features, activation, a, b) ---- */

static fid_status fused_linear_prepare(fid_call *call) {
    fid_activation activation;
    FID_TRY(fid_fused_activation_of(call, 5, &activation));
    const uint8_t dtype = fid_arg_tensor(call, 1)->dtype; /* 16-bit weights are widened a panel at a time */
    bool takes = dtype == FID_FLOAT32 || dtype == FID_FLOAT16 || dtype == FID_BFLOAT16;
    for (uint32_t i = 0; i < 4; i++) takes = takes && (i == 1 || fidk_plain_f32(fid_arg_tensor(call, i)));
    return takes && fidk_plain_f32(fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}

static fidk_gemm fused_linear_of(const fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t k = (size_t)self->sizes[self->rank - 1], n = (size_t)fid_arg_int(call, 4);
    fidk_gemm gemm = {.tiles = fidk_tiles_for(call->cpu), .threads = call->threads, .m = fidk_count(self, 0, self->rank - 1u),
                      .n = n, .k = k, .a = self->data, .a_stride = k, .c = out->data, .c_stride = n, .add_stride = n,
                      .bias = fidk_floats(fid_arg_tensor(call, 2)), .add = fidk_floats(fid_arg_tensor(call, 3))};
    fidk_gemm_set_packed_tensor(&gemm, fid_arg_tensor(call, 1), call->cpu);
    return gemm;
}

static fid_status fused_linear_run(fid_call *call) {
    fidk_gemm gemm = fused_linear_of(call);
    FID_TRY(fid_fused_activation_of(call, 5, &gemm.activation));
    return run_gemm(call, &gemm);
}

static size_t fused_linear_bytes(const fid_call *call) {
    fidk_gemm gemm = fused_linear_of(call);
    return fidk_gemm_scratch_bytes(&gemm);
}

const fid_kernel fid_cpu_fused_linear = {.prepare = fused_linear_prepare, .run = fused_linear_run, .scratch_bytes = fused_linear_bytes};

/* ---- aten::linear(input, weight, bias) ---- */

static linear_job linear_of(const fid_call *call) {
    linear_job job = job_begin(call, fid_arg_tensor(call, 0), fid_arg_tensor(call, 1), true);
    job.gemm.bias = fidk_floats(fid_arg_tensor(call, 2));
    job.gemm.c = fid_out_tensor(call, 0)->data;
    return job;
}

static fid_status linear_prepare(fid_call *call) {
    const fid_tensor *weight = fid_arg_tensor(call, 1), *bias = fid_arg_tensor(call, 2);
    bool takes = fidk_plain_f32(fid_arg_tensor(call, 0)) && fidk_plain_f32(weight) && fidk_plain_f32(bias) &&
                 fidk_plain_f32(fid_out_tensor(call, 0)) && weight->rank == 2 && (!bias || bias->rank == 1);
    if (!takes) return FID_NOT_SUPPORTED;
    linear_job job = linear_of(call);
    return prepare_weight(call, &job, weight);
}

static fid_status linear_run(fid_call *call) {
    linear_job job = linear_of(call);
    return run_job(call, &job);
}

static size_t linear_bytes(const fid_call *call) {
    linear_job job = linear_of(call);
    return job_bytes(call, &job);
}

const fid_kernel fid_cpu_linear = {.prepare = linear_prepare, .run = linear_run, .scratch_bytes = linear_bytes};

/* ---- aten::mm(self, mat2) ---- */

static linear_job mm_of(const fid_call *call, uint32_t first) {
    linear_job job = job_begin(call, fid_arg_tensor(call, first), fid_arg_tensor(call, first + 1), false);
    job.gemm.c = fid_out_tensor(call, 0)->data;
    return job;
}

static fid_status mm_prepare(fid_call *call) {
    const fid_tensor *other = fid_arg_tensor(call, 1);
    if (!fidk_plain_f32(fid_arg_tensor(call, 0)) || !fidk_plain_f32(other) || !fidk_plain_f32(fid_out_tensor(call, 0)))
        return FID_NOT_SUPPORTED;
    linear_job job = mm_of(call, 0);
    return prepare_weight(call, &job, other);
}

static fid_status mm_run(fid_call *call) {
    linear_job job = mm_of(call, 0);
    return run_job(call, &job);
}

static size_t mm_bytes(const fid_call *call) {
    linear_job job = mm_of(call, 0);
    return job_bytes(call, &job);
}

const fid_kernel fid_cpu_mm = {.prepare = mm_prepare, .run = mm_run, .scratch_bytes = mm_bytes};

/* ---- aten::addmm(self, mat1, mat2, beta, alpha), for factors of one ---- */

static fid_status addmm_prepare(fid_call *call) {
    for (uint32_t i = 0; i < 3; i++)
        if (!fidk_plain_f32(fid_arg_tensor(call, i))) return FID_NOT_SUPPORTED;
    bool takes = fidk_plain_f32(fid_out_tensor(call, 0)) && fid_arg_tensor(call, 0)->rank <= 2 && fid_arg_double(call, 3) == 1 &&
                 fid_arg_double(call, 4) == 1;
    if (!takes) return FID_NOT_SUPPORTED;
    linear_job job = mm_of(call, 1);
    return prepare_weight(call, &job, fid_arg_tensor(call, 2));
}

/* `self` as bias or added matrix; one that is neither is spread out in scratch. */
static fid_status addmm_set_self(fid_call *call, fidk_gemm *gemm, const fid_tensor *self) {
    size_t columns = self->rank ? (size_t)self->sizes[self->rank - 1] : 1, rows = self->rank == 2 ? (size_t)self->sizes[0] : 1;
    if (columns == gemm->n && rows == gemm->m && self->rank == 2) gemm->add = self->data;
    else if (columns == gemm->n && rows == 1) gemm->bias = self->data;
    else {
        const float *from = self->data;
        float *spread = fid_call_scratch(call, gemm->m * gemm->n * sizeof *spread + 1);
        if (!spread) return FID_OUT_OF_MEMORY;
        for (size_t i = 0; i < gemm->m; i++)
            for (size_t j = 0; j < gemm->n; j++) spread[i * gemm->n + j] = from[(rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j)];
        gemm->add = spread;
    }
    return FID_OK;
}

static fid_status addmm_run(fid_call *call) {
    linear_job job = mm_of(call, 1);
    FID_TRY(addmm_set_self(call, &job.gemm, fid_arg_tensor(call, 0)));
    return run_job(call, &job);
}

/* With the space for a `self` that must be spread out. */
static size_t addmm_bytes(const fid_call *call) {
    linear_job job = mm_of(call, 1);
    return job_bytes(call, &job) + fidk_scratch_piece(job.gemm.m * job.gemm.n * sizeof(float) + 1);
}

const fid_kernel fid_cpu_addmm = {.prepare = addmm_prepare, .run = addmm_run, .scratch_bytes = addmm_bytes};

/* ---- aten::bmm and aten::matmul(self, other): batches in parallel, each product serial, unless there are few ---- */

typedef struct matmul_work {
    linear_job job;
    const fid_tensor *a, *b, *out;
    size_t batches, tasks, pack_bytes, product_bytes;
    uint8_t *scratch;
} matmul_work;

/* Offset of batch number `batch` of the output in an operand whose leading dimensions broadcast. */
static int64_t batch_offset(const fid_tensor *t, const fid_tensor *out, size_t batch) {
    int64_t offset = 0;
    for (size_t back = 3; back <= out->rank; back++) {
        size_t size = (size_t)out->sizes[out->rank - back], at = batch % size;
        batch /= size;
        if (back <= t->rank && t->sizes[t->rank - back] != 1) offset += (int64_t)at * t->strides[t->rank - back];
    }
    return offset;
}

static void matmul_task(void *context, size_t index) {
    const matmul_work *w = context;
    uint8_t *scratch = w->scratch + index * (w->pack_bytes + w->product_bytes);
    size_t end = fidk_part_begin(w->batches, w->tasks, index + 1);
    for (size_t i = fidk_part_begin(w->batches, w->tasks, index); i < end; i++) {
        linear_job job = w->job;
        job.gemm.a += batch_offset(w->a, w->out, i);
        job.weight += batch_offset(w->b, w->out, i);
        job.gemm.c += i * job.gemm.m * job.gemm.n;
        if (w->pack_bytes) {
            pack(&job, (float *)scratch);
            fidk_gemm_set_packed(&job.gemm, (float *)scratch);
        } else set_plain(&job.gemm, job.weight);
        fidk_gemm_run(&job.gemm, scratch + w->pack_bytes);
    }
}

static fid_status matmul_prepare(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    bool takes = fidk_plain_f32(a) && fidk_plain_f32(b) && fidk_plain_f32(fid_out_tensor(call, 0)) && a->rank >= 2 && b->rank >= 2;
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

/* Batches of products; `b` has more than two dimensions. */
static matmul_work matmul_of(const fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    matmul_work w = {.job = mm_of(call, 0), .a = a, .b = fid_arg_tensor(call, 1), .out = out};
    fidk_gemm *gemm = &w.job.gemm;
    gemm->m = (size_t)a->sizes[a->rank - 2];
    w.batches = fidk_count(out, 0, out->rank - 2u);
    w.tasks = fidk_worthwhile_threads(call->threads, (double)fid_tensor_numel(out) * (double)gemm->k);
    if (w.batches < w.tasks) w.tasks = 1;
    else gemm->threads = NULL;
    w.pack_bytes = pack_bytes(&w.job);
    w.product_bytes = fidk_scratch_piece(fidk_gemm_scratch_bytes(gemm));
    return w;
}

static fid_status matmul_run(fid_call *call) {
    linear_job job = mm_of(call, 0);
    if (fid_arg_tensor(call, 1)->rank == 2) return run_job(call, &job); /* one product over all rows */
    matmul_work w = matmul_of(call);
    w.scratch = fid_call_scratch(call, w.tasks * (w.pack_bytes + w.product_bytes) + 1);
    if (!w.scratch) return FID_OUT_OF_MEMORY;
    fidk_parallel(call->threads, matmul_task, &w, w.tasks);
    return FID_OK;
}

static size_t matmul_bytes(const fid_call *call) {
    linear_job job = mm_of(call, 0);
    if (fid_arg_tensor(call, 1)->rank == 2) return job_bytes(call, &job);
    matmul_work w = matmul_of(call);
    return fidk_scratch_piece(w.tasks * (w.pack_bytes + w.product_bytes) + 1);
}

const fid_kernel fid_cpu_matmul = {.prepare = matmul_prepare, .run = matmul_run, .scratch_bytes = matmul_bytes, .any_numbers = true};
const fid_kernel fid_cpu_bmm = {.prepare = matmul_prepare, .run = matmul_run, .scratch_bytes = matmul_bytes, .any_numbers = true};
