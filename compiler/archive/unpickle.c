/* The pickle machine: protocols 2 to 5, without code execution. What the named functions mean is in pickle_calls.c. */
#include "base/checked.h"
#include "compiler/archive/pickle_internal.h"

/* ---- Bytes ---- */

fid_status fidc_pickle_fail(const fidc_unpickler *p, const char *what) {
    return fid_fail(p->sink, FID_INVALID_PROGRAM, "%s: broken pickle at byte %zu: %s", p->label, p->at, what);
}

static fid_status take(fidc_unpickler *p, uint64_t size, const uint8_t **out_bytes) {
    if (!fid_range_fits(p->at, size, p->bytes.size)) return fidc_pickle_fail(p, "it is cut off");
    *out_bytes = p->bytes.data + p->at;
    p->at += (size_t)size;
    return FID_OK;
}

static fid_status take_number(fidc_unpickler *p, size_t size, uint64_t *out_number) {
    const uint8_t *bytes = NULL;
    FID_TRY(take(p, size, &bytes));
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) number |= (uint64_t)bytes[i] << 8 * i;
    *out_number = number;
    return FID_OK;
}

/* ---- The stack ---- */

fidc_pickle *fidc_pickle_new(fidc_unpickler *p, fidc_pickle_kind kind) {
    fidc_pickle *value = fidc_allocate(p->program, sizeof *value);
    if (value) value->kind = (uint8_t)kind;
    return value;
}

static bool grow(fidc_unpickler *p, fidc_pickle ***inout_items, size_t used, size_t *inout_capacity, size_t wanted) {
    if (wanted <= *inout_capacity) return true;
    size_t capacity = wanted < 32 ? 32 : wanted * 2;
    fidc_pickle **items = fidc_allocate(p->program, capacity * sizeof *items);
    if (!items) return false;
    if (used) memcpy(items, *inout_items, used * sizeof *items);
    *inout_items = items;
    *inout_capacity = capacity;
    return true;
}

static fid_status push(fidc_unpickler *p, fidc_pickle *value) {
    if (!value || !grow(p, &p->stack, p->depth, &p->stack_capacity, p->depth + 1)) return FID_OUT_OF_MEMORY;
    p->stack[p->depth++] = value;
    return FID_OK;
}

/* The lowest entry that pops may reach: what lies below the newest mark is hidden. */
static size_t floor_of(const fidc_unpickler *p) { return p->mark_count ? p->marks[p->mark_count - 1] : 0; }

static fid_status pop(fidc_unpickler *p, fidc_pickle **out_value) {
    if (p->depth <= floor_of(p)) return fidc_pickle_fail(p, "it takes more than the stack holds");
    *out_value = p->stack[--p->depth];
    return FID_OK;
}

static fid_status push_mark(fidc_unpickler *p) {
    if (p->mark_count == sizeof p->marks / sizeof p->marks[0]) return fidc_pickle_fail(p, "it nests too deep");
    p->marks[p->mark_count++] = p->depth;
    return FID_OK;
}

/* Everything above the newest mark; the span stays valid until the next push. */
static fid_status pop_mark(fidc_unpickler *p, fidc_pickle ***out_items, size_t *out_count) {
    if (!p->mark_count) return fidc_pickle_fail(p, "a mark is missing");
    size_t start = p->marks[--p->mark_count];
    *out_items = p->stack ? p->stack + start : NULL; /* nothing was ever pushed */
    *out_count = p->depth - start;
    p->depth = start;
    return FID_OK;
}

/* ---- Values ---- */

fid_status fidc_pickle_append(fidc_unpickler *p, fidc_pickle *list, fidc_pickle *const *items, size_t count) {
    size_t capacity = list->as.list.capacity, wanted;
    if (!fid_add_size(list->as.list.count, count, &wanted) || wanted > UINT32_MAX / 2) return FID_OUT_OF_MEMORY;
    if (!grow(p, &list->as.list.items, list->as.list.count, &capacity, wanted)) return FID_OUT_OF_MEMORY;
    if (count) memcpy(list->as.list.items + list->as.list.count, items, count * sizeof *items);
    list->as.list.count = (uint32_t)wanted;
    list->as.list.capacity = (uint32_t)capacity;
    return FID_OK;
}

static fid_status push_list(fidc_unpickler *p, fidc_pickle_kind kind, fidc_pickle *const *items, size_t count) {
    fidc_pickle *list = fidc_pickle_new(p, kind);
    if (!list) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_pickle_append(p, list, items, count));
    return push(p, list);
}

static fid_status push_tuple(fidc_unpickler *p, size_t count) {
    if (p->depth - floor_of(p) < count) return fidc_pickle_fail(p, "it takes more than the stack holds");
    p->depth -= count;
    return push_list(p, FIDC_PICKLE_TUPLE, p->stack + p->depth, count);
}

static fid_status push_marked(fidc_unpickler *p, fidc_pickle_kind kind) {
    fidc_pickle **items = NULL;
    size_t count = 0;
    FID_TRY(pop_mark(p, &items, &count));
    return push_list(p, kind, items, count);
}

fid_status fidc_pickle_text(fidc_unpickler *p, fidc_pickle_kind kind, const void *bytes, size_t size, fidc_pickle **out_value) {
    fidc_pickle *value = fidc_pickle_new(p, kind);
    char *copy = value ? fidc_allocate(p->program, size + 1) : NULL;
    if (!copy) return FID_OUT_OF_MEMORY;
    memcpy(copy, bytes, size);
    value->as.text.bytes = copy;
    value->as.text.size = size;
    *out_value = value;
    return FID_OK;
}

/* A text whose length stands before it in `length_size` bytes. */
static fid_status push_text(fidc_unpickler *p, fidc_pickle_kind kind, size_t length_size) {
    uint64_t length = 0;
    const uint8_t *bytes = NULL;
    fidc_pickle *value = NULL;
    FID_TRY(take_number(p, length_size, &length));
    FID_TRY(take(p, length, &bytes));
    FID_TRY(fidc_pickle_text(p, kind, bytes, (size_t)length, &value));
    return push(p, value);
}

static fid_status push_integer(fidc_unpickler *p, fidc_pickle_kind kind, int64_t integer) {
    fidc_pickle *value = fidc_pickle_new(p, kind);
    if (value) value->as.integer = integer;
    return push(p, value);
}

static fid_status push_unsigned(fidc_unpickler *p, size_t size) {
    uint64_t number = 0;
    FID_TRY(take_number(p, size, &number));
    return push_integer(p, FIDC_PICKLE_INT, (int64_t)number);
}

static fid_status push_int32(fidc_unpickler *p) {
    uint64_t number = 0;
    FID_TRY(take_number(p, 4, &number));
    return push_integer(p, FIDC_PICKLE_INT, (int32_t)(uint32_t)number);
}

/* Python's long: little-endian two's complement of any length. */
static fid_status push_long(fidc_unpickler *p, size_t length_size) {
    uint64_t length = 0, number = 0;
    FID_TRY(take_number(p, length_size, &length));
    if (length > 8) return fidc_pickle_fail(p, "an integer does not fit 64 bits");
    FID_TRY(take_number(p, (size_t)length, &number));
    if (length && length < 8 && number >> (8 * length - 1) & 1) number |= UINT64_MAX << 8 * length;
    return push_integer(p, FIDC_PICKLE_INT, (int64_t)number);
}

static fid_status push_float(fidc_unpickler *p) {
    const uint8_t *bytes = NULL;
    FID_TRY(take(p, 8, &bytes));
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | bytes[i];
    fidc_pickle *value = fidc_pickle_new(p, FIDC_PICKLE_FLOAT);
    if (value) memcpy(&value->as.number, &bits, 8);
    return push(p, value);
}

/* ---- Containers ---- */

static fid_status extend(fidc_unpickler *p, fidc_pickle *const *items, size_t count, fidc_pickle_kind kind) {
    if (p->depth <= floor_of(p)) return fidc_pickle_fail(p, "a container is missing");
    fidc_pickle *target = p->stack[p->depth - 1];
    if (target->kind != kind) return fidc_pickle_fail(p, "items are added to what is no container of that kind");
    if (kind == FIDC_PICKLE_DICT && count % 2) return fidc_pickle_fail(p, "a key has no value");
    return fidc_pickle_append(p, target, items, count);
}

static fid_status extend_one(fidc_unpickler *p, size_t count, fidc_pickle_kind kind) {
    if (p->depth - floor_of(p) < count) return fidc_pickle_fail(p, "it takes more than the stack holds");
    p->depth -= count;
    fidc_pickle *items[2] = {p->stack[p->depth], count > 1 ? p->stack[p->depth + 1] : NULL};
    return extend(p, items, count, kind);
}

static fid_status extend_marked(fidc_unpickler *p, fidc_pickle_kind kind) {
    fidc_pickle **items = NULL;
    size_t count = 0;
    FID_TRY(pop_mark(p, &items, &count));
    return extend(p, items, count, kind);
}

/* ---- Memo ---- */

static fid_status put(fidc_unpickler *p, uint64_t index) {
    if (p->depth <= floor_of(p)) return fidc_pickle_fail(p, "nothing is there to remember");
    /* Each entry takes at least one opcode, so a larger index is not honest. */
    if (index > p->bytes.size) return fidc_pickle_fail(p, "a memo number is out of range");
    size_t wanted = (size_t)index + 1;
    if (!grow(p, &p->memo, p->memo_count, &p->memo_capacity, wanted)) return FID_OUT_OF_MEMORY;
    if (wanted > p->memo_count) p->memo_count = wanted; /* entries between stay NULL: the arena gives zeros */
    p->memo[index] = p->stack[p->depth - 1];
    return FID_OK;
}

static fid_status put_numbered(fidc_unpickler *p, size_t size) {
    uint64_t index = 0;
    FID_TRY(take_number(p, size, &index));
    return put(p, index);
}

static fid_status get_numbered(fidc_unpickler *p, size_t size) {
    uint64_t index = 0;
    FID_TRY(take_number(p, size, &index));
    if (index >= p->memo_count || !p->memo[index]) return fidc_pickle_fail(p, "it recalls what was never remembered");
    return push(p, p->memo[index]);
}

/* ---- Globals and calls ---- */

static fid_status take_line(fidc_unpickler *p, const char **out_text, size_t *out_size) {
    size_t start = p->at;
    while (p->at < p->bytes.size && p->bytes.data[p->at] != '\n') p->at++;
    if (p->at == p->bytes.size) return fidc_pickle_fail(p, "a line does not end");
    *out_text = (const char *)p->bytes.data + start;
    *out_size = p->at++ - start;
    return FID_OK;
}

static fid_status push_global(fidc_unpickler *p, const char *module, size_t module_size, const char *name, size_t name_size) {
    char *text = fidc_allocate(p->program, module_size + name_size + 2);
    fidc_pickle *value = NULL;
    if (!text) return FID_OUT_OF_MEMORY;
    memcpy(text, module, module_size);
    text[module_size] = ' ';
    memcpy(text + module_size + 1, name, name_size);
    FID_TRY(fidc_pickle_text(p, FIDC_PICKLE_GLOBAL, text, module_size + name_size + 1, &value));
    return push(p, value);
}

static fid_status global_line(fidc_unpickler *p) {
    const char *module, *name;
    size_t module_size, name_size;
    FID_TRY(take_line(p, &module, &module_size));
    FID_TRY(take_line(p, &name, &name_size));
    return push_global(p, module, module_size, name, name_size);
}

static fid_status global_stack(fidc_unpickler *p) {
    fidc_pickle *name = NULL, *module = NULL;
    FID_TRY(pop(p, &name));
    FID_TRY(pop(p, &module));
    if (name->kind != FIDC_PICKLE_TEXT || module->kind != FIDC_PICKLE_TEXT) return fidc_pickle_fail(p, "a global's name is no text");
    return push_global(p, module->as.text.bytes, module->as.text.size, name->as.text.bytes, name->as.text.size);
}

static fid_status call(fidc_unpickler *p) {
    fidc_pickle *args = NULL, *function = NULL, *result = NULL;
    FID_TRY(pop(p, &args));
    FID_TRY(pop(p, &function));
    FID_TRY(fidc_pickle_call(p, function, args, &result));
    return push(p, result);
}

static fid_status persistent(fidc_unpickler *p) {
    fidc_pickle *id = NULL, *storage = NULL;
    FID_TRY(pop(p, &id));
    FID_TRY(fidc_pickle_storage(p, id, &storage));
    return push(p, storage);
}

/* The state of a dict or tensor holds attributes that no caller needs. */
static fid_status build(fidc_unpickler *p) {
    fidc_pickle *state = NULL;
    return pop(p, &state);
}

static fid_status skip(fidc_unpickler *p, size_t size) {
    const uint8_t *bytes = NULL;
    return take(p, size, &bytes);
}

static fid_status duplicate(fidc_unpickler *p) {
    if (p->depth <= floor_of(p)) return fidc_pickle_fail(p, "nothing is there to copy");
    return push(p, p->stack[p->depth - 1]);
}

static fid_status drop_marked(fidc_unpickler *p) {
    fidc_pickle **items = NULL;
    size_t count = 0;
    return pop_mark(p, &items, &count);
}

static fid_status drop(fidc_unpickler *p) {
    fidc_pickle *value = NULL;
    if (p->mark_count && p->depth == floor_of(p)) return drop_marked(p);
    return pop(p, &value);
}

static fid_status step(fidc_unpickler *p, uint8_t opcode) {
    switch (opcode) {
    case 0x80: return skip(p, 1); /* PROTO */
    case 0x95: return skip(p, 8); /* FRAME */
    case '(': return push_mark(p);
    case '0': return drop(p);
    case '1': return drop_marked(p);
    case '2': return duplicate(p);
    case 'N': return push(p, fidc_pickle_new(p, FIDC_PICKLE_NONE));
    case 0x88: return push_integer(p, FIDC_PICKLE_BOOL, 1);
    case 0x89: return push_integer(p, FIDC_PICKLE_BOOL, 0);
    case 'J': return push_int32(p);
    case 'K': return push_unsigned(p, 1);
    case 'M': return push_unsigned(p, 2);
    case 0x8a: return push_long(p, 1);
    case 0x8b: return push_long(p, 4);
    case 'G': return push_float(p);
    case 'X': return push_text(p, FIDC_PICKLE_TEXT, 4);
    case 0x8c: return push_text(p, FIDC_PICKLE_TEXT, 1);
    case 0x8d: return push_text(p, FIDC_PICKLE_TEXT, 8);
    case 'T': return push_text(p, FIDC_PICKLE_TEXT, 4);
    case 'U': return push_text(p, FIDC_PICKLE_TEXT, 1);
    case 'B': return push_text(p, FIDC_PICKLE_BYTES, 4);
    case 'C': return push_text(p, FIDC_PICKLE_BYTES, 1);
    case 0x8e: return push_text(p, FIDC_PICKLE_BYTES, 8);
    case 0x96: return push_text(p, FIDC_PICKLE_BYTES, 8); /* BYTEARRAY8 */
    case ']': return push_list(p, FIDC_PICKLE_LIST, NULL, 0);
    case 0x8f: return push_list(p, FIDC_PICKLE_LIST, NULL, 0); /* EMPTY_SET */
    case '}': return push_list(p, FIDC_PICKLE_DICT, NULL, 0);
    case ')': return push_list(p, FIDC_PICKLE_TUPLE, NULL, 0);
    case 'l': return push_marked(p, FIDC_PICKLE_LIST);
    case 0x91: return push_marked(p, FIDC_PICKLE_LIST); /* FROZENSET */
    case 't': return push_marked(p, FIDC_PICKLE_TUPLE);
    case 0x85: return push_tuple(p, 1);
    case 0x86: return push_tuple(p, 2);
    case 0x87: return push_tuple(p, 3);
    case 'a': return extend_one(p, 1, FIDC_PICKLE_LIST);
    case 'e': return extend_marked(p, FIDC_PICKLE_LIST);
    case 0x90: return extend_marked(p, FIDC_PICKLE_LIST); /* ADDITEMS */
    case 's': return extend_one(p, 2, FIDC_PICKLE_DICT);
    case 'u': return extend_marked(p, FIDC_PICKLE_DICT);
    case 'q': return put_numbered(p, 1);
    case 'r': return put_numbered(p, 4);
    case 0x94: return put(p, p->memo_count); /* MEMOIZE */
    case 'h': return get_numbered(p, 1);
    case 'j': return get_numbered(p, 4);
    case 'c': return global_line(p);
    case 0x93: return global_stack(p);
    case 'R': case 0x81: return call(p); /* REDUCE, NEWOBJ */
    case 'Q': return persistent(p);
    case 'b': return build(p);
    default: return fid_fail(p->sink, FID_NOT_SUPPORTED, "%s: pickle opcode 0x%x at byte %zu is not supported", p->label,
                             (unsigned)opcode, p->at - 1);
    }
}

fid_status fidc_unpickle(fidc_program *program, const fid_sink *sink, const char *label, fid_span pickle,
                         const fidc_storages *storages, fidc_pickle **out_value) {
    fidc_unpickler p = {.program = program, .sink = sink, .label = label, .bytes = pickle, .storages = storages};
    for (;;) {
        const uint8_t *opcode = NULL;
        FID_TRY(take(&p, 1, &opcode));
        if (*opcode == '.') return pop(&p, out_value);
        FID_TRY(step(&p, *opcode));
    }
}

fidc_pickle *fidc_pickle_get(const fidc_pickle *dict, const char *key) {
    for (uint32_t i = 0; i + 1 < dict->as.list.count; i += 2) {
        const fidc_pickle *k = dict->as.list.items[i];
        if (k->kind == FIDC_PICKLE_TEXT && strcmp(k->as.text.bytes, key) == 0) return dict->as.list.items[i + 1];
    }
    return NULL;
}
