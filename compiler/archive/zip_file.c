/* Zip archives over libzip (deflated members) and a mapping (stored members). See zip_file.h. */
#include "compiler/archive/zip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/checked.h"
#include "compiler/archive/zip_directory.h"

enum { STORED = 0, DEFLATED = 8 };
/* Deflate cannot shrink further than this; a larger claim is a lie. */
#define RATIO_LIMIT 1040u
/* All inflated members together: twenty times the archive and 64 MiB more. */
#define BOMB_FACTOR 20u
#define BOMB_SLACK (64u << 20)

typedef struct member {
    fidc_zip_entry entry;
    char *name;
    uint8_t *inflated; /* NULL: not read yet, or stored */
    bool checked;      /* the CRC was right */
} member;

struct fidc_zip {
    fid_allocator allocator;
    const fid_sink *sink;
    char *label;
    fid_span file;
    void *mapping; /* NULL: the bytes are somebody else's */
    zip_t *zip;
    member *members;
    size_t member_count, capacity;
    uint64_t inflated_bytes;
    uint32_t crc_table[8][256];
};

/* ---- CRC-32, eight bytes a step: weights are checked at memory speed ---- */

static void crc_prepare(uint32_t table[8][256]) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int slice = 1; slice < 8; slice++)
            table[slice][i] = table[slice - 1][i] >> 8 ^ table[0][table[slice - 1][i] & 0xff];
}

static uint32_t crc_of(uint32_t table[8][256], const uint8_t *data, size_t size) {
    uint32_t crc = 0xffffffffu;
    for (; size >= 8; size -= 8, data += 8) {
        uint32_t low = crc ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
              table[3][data[4]] ^ table[2][data[5]] ^ table[1][data[6]] ^ table[0][data[7]];
    }
    for (; size; size--, data++) crc = crc >> 8 ^ table[0][(crc ^ *data) & 0xff];
    return ~crc;
}

/* ---- Opening ---- */

static char *copy_text(fid_allocator allocator, const void *text, size_t size) {
    char *copy = fid_allocate(allocator, size + 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

static fid_status read_directory(fidc_zip *zip) {
    fidc_zip_directory directory;
    if (!fidc_zip_directory_open(zip->file, &directory))
        return fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: not a zip archive; expected the file that torch.export.save wrote",
                        zip->label);
    if (directory.left > zip->file.size / 46)
        return fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: the zip directory claims %llu members, more than fit the file",
                        zip->label, (unsigned long long)directory.left);
    size_t capacity = (size_t)directory.left;
    zip->members = fid_allocate(zip->allocator, capacity * sizeof(member));
    if (!zip->members) return FID_OUT_OF_MEMORY;
    zip->capacity = capacity;
    fidc_zip_entry entry;
    while (fidc_zip_directory_next(&directory, &entry)) {
        char *name = copy_text(zip->allocator, entry.name.data, entry.name.size);
        if (!name) return FID_OUT_OF_MEMORY;
        zip->members[zip->member_count++] = (member){.entry = entry, .name = name};
    }
    if (directory.left)
        return fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: the zip directory is broken at member %zu of %zu: the file is cut off "
                        "or altered", zip->label, zip->member_count + 1, capacity);
    return FID_OK;
}

static fid_status open_libzip(fidc_zip *zip) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(zip->file.data, zip->file.size, 0, &error);
    zip->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (source && !zip->zip) zip_source_free(source);
    fid_status status = FID_OK;
    if (!zip->zip)
        status = fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: not a usable zip archive: %s", zip->label, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

static fid_status create(fid_allocator allocator, const fid_sink *sink, const char *label, fidc_zip **out_zip) {
    fidc_zip *zip = fid_allocate(allocator, sizeof *zip);
    if (!zip) return FID_OUT_OF_MEMORY;
    memset(zip, 0, sizeof *zip);
    zip->allocator = allocator;
    zip->sink = sink;
    zip->label = copy_text(allocator, label, strlen(label));
    crc_prepare(zip->crc_table);
    *out_zip = zip;
    return zip->label ? FID_OK : FID_OUT_OF_MEMORY;
}

fid_status fidc_zip_open_memory(fid_allocator allocator, const fid_sink *sink, const char *label, fid_span bytes,
                                fidc_zip **out_zip) {
    fidc_zip *zip = NULL;
    fid_status status = create(allocator, sink, label, &zip);
    if (status == FID_OK) {
        zip->file = bytes;
        status = read_directory(zip);
    }
    if (status != FID_OK) {
        fidc_zip_close(zip);
        return status;
    }
    *out_zip = zip;
    return FID_OK;
}

static fid_status map_file(fidc_zip *zip, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fid_fail(zip->sink, FID_ACCESS_FAILED, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat info;
    fid_status status = FID_OK;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = fid_fail(zip->sink, FID_ACCESS_FAILED, "%s: not a regular file", path);
    else if (info.st_size == 0)
        status = fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: the file is empty", path);
    else {
        void *mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (mapping == MAP_FAILED) status = fid_fail(zip->sink, FID_ACCESS_FAILED, "%s: cannot be mapped: %s", path, strerror(errno));
        else {
            zip->mapping = mapping;
            zip->file = fid_span_of(mapping, (size_t)info.st_size);
        }
    }
    close(file);
    return status;
}

fid_status fidc_zip_open_file(fid_allocator allocator, const fid_sink *sink, const char *path, fidc_zip **out_zip) {
    fidc_zip *zip = NULL;
    fid_status status = create(allocator, sink, path, &zip);
    if (status == FID_OK) status = map_file(zip, path);
    if (status == FID_OK) status = read_directory(zip);
    if (status != FID_OK) {
        fidc_zip_close(zip);
        return status;
    }
    *out_zip = zip;
    return FID_OK;
}

void fidc_zip_close(fidc_zip *zip) {
    if (!zip) return;
    if (zip->zip) zip_discard(zip->zip);
    for (size_t i = 0; i < zip->member_count; i++) {
        member *m = &zip->members[i];
        fid_free(zip->allocator, m->inflated, (size_t)m->entry.size);
        fid_free(zip->allocator, m->name, m->entry.name.size + 1);
    }
    fid_free(zip->allocator, zip->members, zip->capacity * sizeof(member));
    if (zip->mapping) munmap(zip->mapping, zip->file.size);
    if (zip->label) fid_free(zip->allocator, zip->label, strlen(zip->label) + 1);
    fid_free(zip->allocator, zip, sizeof *zip);
}

void fidc_zip_forget(const fidc_zip *zip) {
    if (zip->mapping) madvise(zip->mapping, zip->file.size, MADV_DONTNEED); /* a failure costs memory only */
}

/* ---- Reading ---- */

const char *fidc_zip_label(const fidc_zip *zip) { return zip->label; }
size_t fidc_zip_count(const fidc_zip *zip) { return zip->member_count; }
const char *fidc_zip_name(const fidc_zip *zip, size_t index) { return zip->members[index].name; }

fid_status fidc_zip_find(const fidc_zip *zip, const char *name, size_t *out_index) {
    for (size_t i = 0; i < zip->member_count; i++)
        if (strcmp(zip->members[i].name, name) == 0) {
            *out_index = i;
            return FID_OK;
        }
    return FID_NOT_FOUND;
}

static fid_status check_declared(const fidc_zip *zip, const member *m) {
    const fidc_zip_entry *e = &m->entry;
    if (e->encrypted) return fid_fail(zip->sink, FID_NOT_SUPPORTED, "%s: member '%s' is encrypted", zip->label, m->name);
    if (e->method != STORED && e->method != DEFLATED)
        return fid_fail(zip->sink, FID_NOT_SUPPORTED, "%s: member '%s' is compressed by method %u; stored (0) and deflated (8) are "
                        "supported", zip->label, m->name, (unsigned)e->method);
    if (e->method == STORED && e->size != e->stored_size)
        return fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: stored member '%s' declares %llu bytes but holds %llu", zip->label,
                        m->name, (unsigned long long)e->size, (unsigned long long)e->stored_size);
    if (e->method == DEFLATED && e->size / RATIO_LIMIT > e->stored_size)
        return fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: member '%s' declares %llu bytes, which its %llu compressed bytes cannot "
                        "hold", zip->label, m->name, (unsigned long long)e->size, (unsigned long long)e->stored_size);
    return FID_OK;
}

static fid_status read_inflating(const fidc_zip *zip, const member *m, zip_file_t *file, uint8_t *buffer) {
    uint64_t done = 0;
    while (done < m->entry.size) {
        zip_int64_t got = zip_fread(file, buffer + done, m->entry.size - done);
        if (got <= 0)
            return fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: member '%s' cannot be inflated: %llu of %llu bytes read", zip->label,
                            m->name, (unsigned long long)done, (unsigned long long)m->entry.size);
        done += (uint64_t)got;
    }
    return FID_OK;
}

static fid_status inflate_member(fidc_zip *zip, size_t index) {
    member *m = &zip->members[index];
    uint64_t limit = (uint64_t)zip->file.size * BOMB_FACTOR + BOMB_SLACK;
    if (m->entry.size > limit || zip->inflated_bytes > limit - m->entry.size)
        return fid_fail(zip->sink, FID_OUT_OF_RESOURCES, "%s: member '%s' would inflate to %llu bytes; the limit for this archive is "
                        "%llu in all", zip->label, m->name, (unsigned long long)m->entry.size, (unsigned long long)limit);
    if (!zip->zip) FID_TRY(open_libzip(zip));
    uint8_t *buffer = fid_allocate(zip->allocator, (size_t)m->entry.size);
    if (!buffer) return FID_OUT_OF_MEMORY;
    zip_file_t *file = zip_fopen_index(zip->zip, index, 0);
    fid_status status = file ? read_inflating(zip, m, file, buffer)
                             : fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: member '%s' cannot be read: %s", zip->label, m->name,
                                        zip_strerror(zip->zip));
    if (file) zip_fclose(file);
    if (status != FID_OK) {
        fid_free(zip->allocator, buffer, (size_t)m->entry.size);
        return status;
    }
    m->inflated = buffer;
    zip->inflated_bytes += m->entry.size;
    return FID_OK;
}

fid_status fidc_zip_read_at(fidc_zip *zip, size_t index, fid_span *out_bytes) {
    member *m = &zip->members[index];
    FID_TRY(check_declared(zip, m));
    if (m->entry.method == DEFLATED && !m->inflated) FID_TRY(inflate_member(zip, index));
    const uint8_t *data = m->inflated ? m->inflated : m->entry.data;
    if (!m->checked && crc_of(zip->crc_table, data, (size_t)m->entry.size) != m->entry.crc)
        return fid_fail(zip->sink, FID_INVALID_PROGRAM, "%s: member '%s' is damaged: its checksum is wrong", zip->label, m->name);
    m->checked = true;
    *out_bytes = fid_span_of(data, (size_t)m->entry.size);
    return FID_OK;
}

fid_status fidc_zip_read(fidc_zip *zip, const char *name, fid_span *out_bytes) {
    size_t index;
    if (fidc_zip_find(zip, name, &index) != FID_OK)
        return fid_fail(zip->sink, FID_NOT_FOUND, "%s: has no member '%s'", zip->label, name);
    return fidc_zip_read_at(zip, index, out_bytes);
}
