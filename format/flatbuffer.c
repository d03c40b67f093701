/* The verifier of FlatBuffers, driven by descriptions, and field access. */
#include "format/flatbuffer.h"

#include "base/checked.h"

/* Enough for every schema here; descriptions nest about half as deep. */
#define DEPTH_LIMIT 24

typedef struct walk {
    const uint8_t *data;
    size_t size;
    size_t tables_left;
    /* Where and why it failed, for one sentence at the end. */
    const char *why, *table_name;
    size_t slot, position;
} walk;

#if FID_MESSAGES
#define REASON(text) (text)
#else
#define REASON(text) NULL
#endif

static bool fail(walk *w, const char *why, size_t position) {
    if (!w->why) {
        w->why = why;
        w->position = position;
    }
    return false;
}

static uint16_t read_u16(const uint8_t *at) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Follows the offset stored at `position` (inside the buffer) to an object of at least 4 bytes. */
static bool follow(walk *w, size_t position, size_t *out_target) {
    size_t target = position + (size_t)fid_fb_read_u32(w->data + position);
    if (target % 4 != 0) return fail(w, REASON("is misaligned"), position);
    if (target < position || !fid_range_fits(target, 4, w->size)) return fail(w, REASON("points outside the program"), position);
    *out_target = target;
    return true;
}

static bool check_vector(walk *w, size_t position, size_t item_size, size_t *out_first, uint32_t *out_count) {
    size_t at;
    if (!follow(w, position, &at)) return false;
    uint32_t count = fid_fb_read_u32(w->data + at);
    if ((at + 4) % item_size != 0) return fail(w, REASON("holds misaligned items"), at);
    if (!fid_range_fits(at + 4, (uint64_t)count * item_size, w->size)) {
        return fail(w, REASON("has more items than the program has bytes"), at);
    }
    *out_first = at + 4;
    *out_count = count;
    return true;
}

static bool check_string(walk *w, size_t position) {
    size_t first;
    uint32_t length;
    if (!check_vector(w, position, 1, &first, &length)) return false;
    if (first + length >= w->size || w->data[first + length] != 0) return fail(w, REASON("is a text without closing zero"), first);
    return true;
}

static bool check_table(walk *w, size_t at, const fid_fb_type *type, unsigned depth);

static bool check_tables(walk *w, size_t position, const fid_fb_type *type, unsigned depth) {
    size_t first, target;
    uint32_t count;
    if (!check_vector(w, position, 4, &first, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!follow(w, first + 4 * (size_t)i, &target) || !check_table(w, target, type, depth)) return false;
    }
    return true;
}

static bool check_union(walk *w, size_t position, const fid_fb_union *of, uint8_t tag, unsigned depth) {
    size_t target;
    if (tag == 0 || tag > of->member_count) return true;
    return follow(w, position, &target) && check_table(w, target, of->members[tag - 1], depth);
}

/* A table whose own bytes and vtable were checked. */
typedef struct table_view {
    size_t at, size;
    const uint8_t *vtable;
    size_t slots;
} table_view;

static bool view_table(walk *w, size_t at, table_view *out) {
    int64_t vtable = (int64_t)at - (int32_t)fid_fb_read_u32(w->data + at);
    if (vtable < 0 || vtable % 2 != 0 || !fid_range_fits((uint64_t)vtable, 4, w->size)) {
        return fail(w, REASON("has its field table outside the program"), at);
    }
    size_t vtable_size = read_u16(w->data + vtable);
    out->vtable = w->data + vtable;
    out->at = at;
    out->size = read_u16(out->vtable + 2);
    if (vtable_size < 4 || vtable_size % 2 != 0 || !fid_range_fits((uint64_t)vtable, vtable_size, w->size)) {
        return fail(w, REASON("has a broken field table"), at);
    }
    if (out->size < 4 || !fid_range_fits(at, out->size, w->size)) return fail(w, REASON("reaches beyond the program"), at);
    out->slots = (vtable_size - 4) / 2;
    return true;
}

static size_t slot_offset(const table_view *view, size_t slot) {
    return slot < view->slots ? read_u16(view->vtable + 4 + 2 * slot) : 0;
}

static bool check_field(walk *w, const table_view *view, const fid_fb_type *type, size_t slot, unsigned depth) {
    size_t offset = slot_offset(view, slot);
    if (offset == 0) return true;
    const fid_fb_field *field = &type->fields[slot];
    size_t size = field->kind == FID_FB_SCALAR ? field->size : 4;
    size_t position = view->at + offset, first;
    uint32_t count;
    if (offset < 4 || offset + size > view->size) return fail(w, REASON("lies outside its table"), position);
    if (position % size != 0) return fail(w, REASON("is misaligned"), position);
    switch ((fid_fb_kind)field->kind) {
    case FID_FB_SCALAR: return true;
    case FID_FB_STRING: return check_string(w, position);
    case FID_FB_VECTOR: return check_vector(w, position, field->size, &first, &count);
    case FID_FB_TABLE: return follow(w, position, &first) && check_table(w, first, field->of, depth);
    case FID_FB_TABLES: return check_tables(w, position, field->of, depth);
    case FID_FB_UNION: {
        size_t tag_offset = slot_offset(view, slot - 1); /* checked: the tag is the field before */
        return check_union(w, position, field->of, tag_offset ? w->data[view->at + tag_offset] : 0, depth);
    }
    }
    return fail(w, REASON("has an unknown description"), position);
}

static bool check_table(walk *w, size_t at, const fid_fb_type *type, unsigned depth) {
    table_view view;
    if (depth >= DEPTH_LIMIT) return fail(w, REASON("is nested too deeply"), at);
    if (w->tables_left == 0) return fail(w, REASON("is shared so often that the program is refused"), at);
    w->tables_left--;
    bool sound = view_table(w, at, &view);
    size_t slot = 0;
    for (; sound && slot < type->field_count; slot++) sound = check_field(w, &view, type, slot, depth + 1);
    if (!sound && !w->table_name) {
        w->table_name = type->name;
        w->slot = slot;
    }
    return sound;
}

fid_status fid_fb_verify(const fid_sink *sink, fid_span buffer, const fid_fb_type *root, fid_fb_ref *out_root) {
    return fid_fb_verify_from(sink, buffer, 0, root, out_root);
}

fid_status fid_fb_verify_from(const fid_sink *sink, fid_span buffer, size_t start, const fid_fb_type *root, fid_fb_ref *out_root) {
    walk w = {.data = buffer.data, .size = buffer.size, .tables_left = buffer.size};
    size_t at = 0;
    if ((uintptr_t)buffer.data % 16 != 0) {
        return fid_fail(sink, FID_INVALID_ARGUMENT,
                        "the program lies at an address that is not a multiple of 16; align the memory");
    }
    if (buffer.size < start + 8) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the program has %zu bytes, fewer than its smallest header", buffer.size);
    }
    if (!follow(&w, start, &at) || !check_table(&w, at, root, 0)) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the file is damaged: in table %s, field %zu, byte %zu: it %s",
                        w.table_name ? w.table_name : root->name, w.slot ? w.slot - 1 : 0, w.position, w.why);
    }
    *out_root = (fid_fb_ref){buffer.data + at};
    return FID_OK;
}

/* ---- Access ---- */

const uint8_t *fid_fb_find(fid_fb_ref table, uint32_t slot) {
    if (!table.at) return NULL;
    const uint8_t *vtable = table.at - (int32_t)fid_fb_read_u32(table.at);
    if (4 + 2 * (size_t)slot >= read_u16(vtable)) return NULL;
    size_t offset = read_u16(vtable + 4 + 2 * (size_t)slot);
    return offset ? table.at + offset : NULL;
}

fid_fb_ref fid_fb_get_table(fid_fb_ref table, uint32_t slot) {
    const uint8_t *at = fid_fb_find(table, slot);
    return (fid_fb_ref){at ? at + fid_fb_read_u32(at) : NULL};
}

fid_fb_vector fid_fb_get_vector(fid_fb_ref table, uint32_t slot) {
    fid_fb_ref found = fid_fb_get_table(table, slot);
    if (!found.at) return (fid_fb_vector){NULL, 0};
    return (fid_fb_vector){found.at + 4, fid_fb_read_u32(found.at)};
}

const char *fid_fb_get_string(fid_fb_ref table, uint32_t slot) {
    fid_fb_ref found = fid_fb_get_table(table, slot);
    return found.at ? (const char *)found.at + 4 : NULL;
}
