/* Values of a part in the blob: their ids in each layout, constants, moves between layouts. */
#include "backends/xnnpack/compile/xnn_lower.h"

/* Where a value stands; its scratch while a part is lowered. */
typedef struct seat {
    uint32_t id[2];     /* by layout */
    uint32_t external;  /* the argument that it is as an output; FID_XNN_NO_ID: none */
} seat;

static const uint8_t to_image[] = {0, 2, 3, 1}, to_plain[] = {0, 3, 1, 2};

static seat *seat_of(fidc_xnn_lowering *l, fidc_value *value) {
    if (value->scratch) return value->scratch;
    seat *made = fidc_allocate(l->program, sizeof *made);
    if (!made) {
        l->blob.failed = true;
        return NULL;
    }
    *made = (seat){{FID_XNN_NO_ID, FID_XNN_NO_ID}, FID_XNN_NO_ID};
    for (uint32_t i = 0; i < l->part->output_count; i++)
        if (l->part->outputs[i] == value) made->external = l->part->input_count + i;
    return value->scratch = made;
}

uint32_t fidc_xnn_place(const fidc_value *value, fidc_xnn_layout layout) {
    const seat *s = value->scratch;
    return s ? s->id[layout] : FID_XNN_NO_ID;
}

uint32_t fidc_xnn_dim(uint32_t dim, fidc_xnn_layout layout) { return layout == FIDC_XNN_IMAGE ? to_plain[dim & 3] : dim; }

void fidc_xnn_dims(const fidc_value *value, fidc_xnn_layout layout, uint32_t *out_dims) {
    for (uint32_t i = 0; i < value->rank; i++) out_dims[fidc_xnn_dim(i, layout)] = (uint32_t)fidc_expr_at(value->sizes[i], FIDC_AT_HIGH);
}

bool fidc_xnn_same_order(const fidc_value *value) {
    return value->rank == 4 && (fidc_size(value, 1) == 1 || (fidc_size(value, 2) == 1 && fidc_size(value, 3) == 1));
}

/* ---- Values that nodes make ---- */

uint32_t fidc_xnn_temporary(fidc_xnn_lowering *l, const uint32_t *dims, size_t rank) {
    fidc_xnn_value made = {.datatype = FID_XNN_FP32, .rank = (uint8_t)rank, .external = FID_XNN_NO_ID};
    memcpy(made.dims, dims, rank * sizeof *dims);
    return fidc_xnn_blob_value(&l->blob, &made);
}

static uint32_t define(fidc_xnn_lowering *l, const fidc_value *value, fidc_xnn_layout layout, uint32_t external, uint32_t flags) {
    fidc_xnn_value made = {.datatype = FID_XNN_FP32, .rank = value->rank, .external = external, .flags = flags};
    fidc_xnn_dims(value, layout, made.dims);
    return fidc_xnn_blob_value(&l->blob, &made);
}

uint32_t fidc_xnn_write(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout) {
    seat *s = seat_of(l, value);
    if (!s) return FID_XNN_NO_ID;
    bool leaves = layout == FIDC_XNN_PLAIN && s->external != FID_XNN_NO_ID;
    return s->id[layout] = define(l, value, layout, leaves ? s->external : FID_XNN_NO_ID, leaves ? FID_XNN_VALUE_OUTPUT : 0);
}

bool fidc_xnn_alias(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout, uint32_t id) {
    seat *s = seat_of(l, value);
    if (!s || (layout == FIDC_XNN_PLAIN && s->external != FID_XNN_NO_ID)) return false;
    s->id[layout] = id;
    return true;
}

/* ---- Constants ---- */

static const char *base_key(fidc_xnn_lowering *l, const fidc_constant *constant) {
    if (constant->key) return constant->key;
    const uint8_t *data = constant->data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < constant->bytes; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
    return fidc_text_format(l->program, "constant.%016llx", (unsigned long long)hash);
}

static uint32_t define_constant(fidc_xnn_lowering *l, const char *key, const void *data, size_t bytes, const uint32_t *dims, size_t rank) {
    const char *kept = key ? fidc_named_add(l->program, key, data, bytes) : NULL;
    if (!kept) {
        l->blob.failed = true;
        return FID_XNN_NO_ID;
    }
    fidc_xnn_value made = {.datatype = FID_XNN_FP32, .rank = (uint8_t)rank, .external = FID_XNN_NO_ID, .key = kept, .bytes = bytes};
    memcpy(made.dims, dims, rank * sizeof *dims);
    return fidc_xnn_blob_value(&l->blob, &made);
}

#define MOST_DIMS 6

/* Elements in the order of permuted dims. */
static void permute(const float *from, const int64_t *sizes, const uint8_t *perm, size_t rank, float *to) {
    int64_t strides[MOST_DIMS], index[MOST_DIMS] = {0}, stride = 1, count = 1;
    for (size_t i = rank; i-- > 0;) strides[i] = stride, stride *= sizes[i], count *= sizes[i];
    for (int64_t n = 0; n < count; n++) {
        int64_t at = 0;
        for (size_t i = 0; i < rank; i++) at += index[i] * strides[perm[i]];
        to[n] = from[at];
        for (size_t i = rank; i-- > 0;) {
            if (++index[i] < sizes[perm[i]]) break;
            index[i] = 0;
        }
    }
}

uint32_t fidc_xnn_weight(fidc_xnn_lowering *l, const fidc_value *value, const int64_t *sizes, const uint8_t *perm, size_t rank, const int64_t *final_sizes,
                         size_t final_rank, const char *how) {
    const fidc_constant *constant = value->constant;
    const char *base = base_key(l, constant), *key = base && how ? fidc_text_format(l->program, "%s:%s", base, how) : base;
    uint32_t dims[FID_XNN_MAX_RANK];
    size_t bytes = sizeof(float);
    for (size_t i = 0; i < final_rank; i++) dims[i] = (uint32_t)final_sizes[i], bytes *= (size_t)final_sizes[i];
    const float *data = constant->data;
    if (how) {
        float *moved = fid_arena_allocate(&l->program->arena, bytes, FID_ALLOCATION_ALIGNMENT);
        if (!moved) {
            l->blob.failed = true;
            return FID_XNN_NO_ID;
        }
        permute(data, sizes, perm, rank, moved);
        data = moved;
    }
    return define_constant(l, key, data, bytes, dims, final_rank);
}

uint32_t fidc_xnn_number(fidc_xnn_lowering *l, float number) {
    float *data = fidc_allocate(l->program, sizeof *data);
    uint32_t bits, one = 1;
    if (!data) {
        l->blob.failed = true;
        return FID_XNN_NO_ID;
    }
    *data = number;
    memcpy(&bits, &number, sizeof bits);
    return define_constant(l, fidc_text_format(l->program, "number.%08x", bits), data, sizeof *data, &one, 1);
}

uint32_t fidc_xnn_vector(fidc_xnn_lowering *l, const fidc_value *from, const char *how, const float *data, uint32_t count, size_t rank, size_t axis) {
    uint32_t dims[FID_XNN_MAX_RANK];
    const char *base = base_key(l, from->constant);
    for (size_t i = 0; i < rank; i++) dims[i] = i == axis ? count : 1;
    return define_constant(l, base ? fidc_text_format(l->program, "%s:%s", base, how) : NULL, data, count * sizeof *data, dims, rank);
}

/* A constant in a layout; as an image it has rank 4, with leading dims of one. */
static uint32_t constant_in(fidc_xnn_lowering *l, const fidc_value *value, fidc_xnn_layout layout) {
    int64_t sizes[MOST_DIMS] = {1, 1, 1, 1, 1, 1}, moved[4];
    size_t lead = layout == FIDC_XNN_IMAGE ? 4u - value->rank : value->rank ? 0 : 1;
    for (size_t i = 0; i < value->rank; i++) sizes[lead + i] = fidc_size(value, i);
    if (layout == FIDC_XNN_PLAIN) return fidc_xnn_weight(l, value, sizes, NULL, 0, sizes, value->rank + lead, NULL);
    for (size_t i = 0; i < 4; i++) moved[i] = sizes[to_image[i]];
    return fidc_xnn_weight(l, value, sizes, to_image, 4, moved, 4, "image");
}

/* ---- Reading ---- */

static void move_layout(fidc_xnn_lowering *l, fidc_value *value, uint32_t from, uint32_t to, fidc_xnn_layout layout) {
    const uint8_t *perm = layout == FIDC_XNN_IMAGE ? to_image : to_plain;
    const fidc_expr *sizes[4];
    size_t dynamic = 0;
    for (size_t i = 0; i < 4; i++) sizes[fidc_xnn_dim((uint32_t)i, layout)] = value->sizes[i], dynamic += !fidc_expr_is_const(value->sizes[i]);
    if (fidc_xnn_same_order(value) && dynamic < 2) fidc_xnn_reshape(l, from, to, sizes, 4);
    else fidc_xnn_transpose(l, from, to, perm, 4);
}

uint32_t fidc_xnn_read(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout) {
    seat *s = seat_of(l, value);
    if (!s) return FID_XNN_NO_ID;
    if (s->id[layout] != FID_XNN_NO_ID) return s->id[layout];
    if (fidc_is_constant(value)) return s->id[layout] = constant_in(l, value, layout);
    uint32_t from = s->id[!layout];
    if (from == FID_XNN_NO_ID) {
        if (l->status == FID_OK) l->status = fid_fail(l->program->sink, FID_INTERNAL, "value '%s' of an XNNPACK delegate is read before it is made", value->name);
        return FID_XNN_NO_ID;
    }
    uint32_t to = fidc_xnn_write(l, value, layout);
    move_layout(l, value, from, to, layout);
    return to;
}

static bool is_one(const fidc_value *value) {
    for (size_t i = 0; i < value->rank; i++)
        if (fidc_size(value, i) != 1) return false;
    return true;
}

fidc_xnn_layout fidc_xnn_choose(fidc_value *const *operands, size_t count, const fidc_value *out) {
    bool image = false;
    if (out->rank != 4) return FIDC_XNN_PLAIN;
    for (size_t i = 0; i < count; i++) {
        const fidc_value *v = operands[i];
        if (!v || fidc_is_constant(v) || (v->rank < 4 && is_one(v))) continue;
        if (v->rank < 4) return FIDC_XNN_PLAIN;
        image |= fidc_xnn_place(v, FIDC_XNN_PLAIN) == FID_XNN_NO_ID;
    }
    return image ? FIDC_XNN_IMAGE : FIDC_XNN_PLAIN;
}

uint32_t fidc_xnn_operand(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout) {
    bool as_it_is = value->rank < 4 && is_one(value); /* broadcasts alike in both layouts */
    return fidc_xnn_read(l, value, as_it_is ? FIDC_XNN_PLAIN : layout);
}
