/* libFuzzer's door to the archive reader. The first byte of an input chooses what the rest is: a whole archive, a model's JSON
 * (wrapped into an archive with right checksums), a table of weights, or a pickle. Seeds: tests/archives/ *.pt2, each behind a 0. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/archive/archive.h"
#include "compiler/archive/unpickle.h"
#include "fidibus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- A stored zip around given members ---- */

typedef struct output { uint8_t bytes[1 << 20]; size_t size; } output;

static void put(output *out, const void *bytes, size_t size) {
    if (size > sizeof out->bytes - out->size) return;
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_number(output *out, uint64_t number, size_t size) { put(out, &number, size); } /* fuzzing hosts are little-endian */

static uint32_t crc_of(const uint8_t *data, size_t size) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

typedef struct part { const char *name; const void *data; size_t size; } part;

/* What local header and directory entry have in common. */
static void put_entry(output *out, const part *p) {
    put_number(out, 20, 2);
    put_number(out, 0, 2 + 2 + 4);
    put_number(out, crc_of(p->data, p->size), 4);
    put_number(out, p->size, 4);
    put_number(out, p->size, 4);
    put_number(out, strlen(p->name), 2);
    put_number(out, 0, 2);
}

static void put_zip(output *out, const part *parts, size_t count) {
    size_t offsets[8], start;
    for (size_t i = 0; i < count; i++) {
        offsets[i] = out->size;
        put(out, "PK\3\4", 4);
        put_entry(out, &parts[i]);
        put(out, parts[i].name, strlen(parts[i].name));
        put(out, parts[i].data, parts[i].size);
    }
    start = out->size;
    for (size_t i = 0; i < count; i++) {
        put(out, "PK\1\2\24\0", 6);
        put_entry(out, &parts[i]);
        put_number(out, 0, 8);
        put_number(out, 0, 2);
        put_number(out, offsets[i], 4);
        put(out, parts[i].name, strlen(parts[i].name));
    }
    size_t directory = out->size - start;
    put(out, "PK\5\6\0\0\0\0", 8);
    put_number(out, count, 2);
    put_number(out, count, 2);
    put_number(out, directory, 4);
    put_number(out, start, 4);
    put_number(out, 0, 2);
}

/* ---- Targets ---- */

static fidc_program *make_program(void) {
    fidc_program *program = NULL;
    return fidc_program_create(fid_environment_default(NULL).allocator, NULL, &fid_builtin_ops, &program) == FID_OK ? program : NULL;
}

static void read_archive(const void *data, size_t size) {
    char path[40];
    int file = memfd_create("archive", 0);
    fidc_program *program = make_program();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (file >= 0 && program && write(file, data, size) == (ssize_t)size && fidc_archive_read(program, path, "forward") == FID_OK)
        fidc_verify(program);
    fidc_program_destroy(program);
    close(file);
}

static const float weight[6];
static const char no_weights[] = "{\"config\": {}}";
static const char two_weights[] =
    "{\"config\": {\"layer.weight\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, \"tensor_meta\": {\"dtype\": 7,"
    "\"sizes\": [{\"as_int\": 2}, {\"as_int\": 3}], \"strides\": [{\"as_int\": 3}, {\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}}},"
    "\"layer.bias\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, \"tensor_meta\": {\"dtype\": 7,"
    "\"sizes\": [{\"as_int\": 2}], \"strides\": [{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}}}}}";
static const char two_parameters[] =
    "{\"schema_version\": {\"major\": 8, \"minor\": 20}, \"range_constraints\": {}, \"graph_module\": {\"graph\": {\"nodes\": [], "
    "\"tensor_values\": {\"w\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 2}, {\"as_int\": 3}]}, \"b\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 2}]}}, "
    "\"sym_int_values\": {}, \"sym_bool_values\": {}}, \"signature\": {\"input_specs\": [{\"parameter\": {\"arg\": {\"name\": \"w\"}, "
    "\"parameter_name\": \"layer.weight\"}}, {\"parameter\": {\"arg\": {\"name\": \"b\"}, \"parameter_name\": \"layer.bias\"}}], \"output_specs\": []}}}";

static void read_parts(const part *model, const part *weights) {
    output *out = calloc(1, sizeof *out);
    const part parts[] = {*model, *weights, {"m/data/constants/model_constants_config.json", no_weights, sizeof no_weights - 1},
                          {"m/data/weights/weight_0", weight, sizeof weight}};
    if (!out) return;
    put_zip(out, parts, sizeof parts / sizeof parts[0]);
    read_archive(out->bytes, out->size);
    free(out);
}

static fid_status find_storage(void *self, const char *key, fid_span *out_bytes, const char **out_name) {
    (void)self;
    *out_bytes = fid_span_of(weight, sizeof weight);
    *out_name = key;
    return FID_OK;
}

static void read_pickle(const uint8_t *data, size_t size) {
    fidc_pickle *value;
    fidc_program *program = make_program();
    fidc_storages storages = {find_storage, NULL};
    if (program) fidc_unpickle(program, NULL, "fuzz", fid_span_of(data, size), &storages, &value);
    fidc_program_destroy(program);
}

#define MODEL "m/models/model.json"
#define WEIGHTS "m/data/weights/model_weights_config.json"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size || size > 200000) return 0;
    const uint8_t *rest = data + 1;
    switch (data[0] % 4) {
    case 0: read_archive(rest, size - 1); break;
    case 1: read_parts(&(part){MODEL, rest, size - 1}, &(part){WEIGHTS, two_weights, sizeof two_weights - 1}); break;
    case 2: read_parts(&(part){MODEL, two_parameters, sizeof two_parameters - 1}, &(part){WEIGHTS, rest, size - 1}); break;
    default: read_pickle(rest, size - 1); break;
    }
    return 0;
}
