/* Finds where the members of a zip archive lie in memory: reads the central directory and the local headers, with Zip64.
 * libzip reads members but does not tell their place, and weights are to be used in place. */
#include "compiler/archive/zip_directory.h"

#include "base/checked.h"

enum {
    END_SIGNATURE = 0x06054b50, END_SIZE = 22,
    LOCATOR_SIGNATURE = 0x07064b50, LOCATOR_SIZE = 20,
    END64_SIGNATURE = 0x06064b50, END64_SIZE = 56,
    ENTRY_SIGNATURE = 0x02014b50, ENTRY_SIZE = 46,
    LOCAL_SIGNATURE = 0x04034b50, LOCAL_SIZE = 30,
    ZIP64_EXTRA = 1, COMMENT_LIMIT = 0xffff,
};

static uint64_t read_number(const uint8_t *at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static bool has_signature(fid_span file, uint64_t offset, uint64_t size, uint32_t signature) {
    return fid_range_fits(offset, size, file.size) && read_number(file.data + offset, 4) == signature;
}

static bool find_end(fid_span file, uint64_t *out_offset) {
    if (file.size < END_SIZE) return false;
    uint64_t last = file.size - END_SIZE;
    uint64_t first = last > COMMENT_LIMIT ? last - COMMENT_LIMIT : 0;
    for (uint64_t at = last + 1; at-- > first;)
        if (has_signature(file, at, END_SIZE, END_SIGNATURE)) {
            *out_offset = at;
            return true;
        }
    return false;
}

bool fidc_zip_directory_open(fid_span file, fidc_zip_directory *out_directory) {
    uint64_t end;
    if (!find_end(file, &end)) return false;
    uint64_t count = read_number(file.data + end + 10, 2), start = read_number(file.data + end + 16, 4);
    if (end >= LOCATOR_SIZE && has_signature(file, end - LOCATOR_SIZE, LOCATOR_SIZE, LOCATOR_SIGNATURE)) {
        uint64_t end64 = read_number(file.data + end - LOCATOR_SIZE + 8, 8);
        if (!has_signature(file, end64, END64_SIZE, END64_SIGNATURE)) return false;
        count = read_number(file.data + end64 + 32, 8);
        start = read_number(file.data + end64 + 48, 8);
    }
    *out_directory = (fidc_zip_directory){.file = file, .at = start, .left = count};
    return start <= file.size;
}

/* Takes the Zip64 extra field's numbers for those fields that are all ones in the entry, in the format's order. */
static bool widen(const uint8_t *extra, size_t extra_size, fidc_zip_entry *entry, uint64_t *inout_local) {
    uint64_t *wide[3] = {&entry->size, &entry->stored_size, inout_local};
    while (extra_size >= 4) {
        size_t id = (size_t)read_number(extra, 2), size = (size_t)read_number(extra + 2, 2);
        if (size > extra_size - 4) return false;
        const uint8_t *at = extra + 4, *end = at + size;
        for (int i = 0; id == ZIP64_EXTRA && i < 3; i++) {
            if (*wide[i] != UINT32_MAX) continue;
            if (end - at < 8) return false;
            *wide[i] = read_number(at, 8);
            at += 8;
        }
        extra = end;
        extra_size -= 4 + size;
    }
    return true;
}

bool fidc_zip_directory_next(fidc_zip_directory *directory, fidc_zip_entry *out_entry) {
    fid_span file = directory->file;
    if (!directory->left || !has_signature(file, directory->at, ENTRY_SIZE, ENTRY_SIGNATURE)) return false;
    const uint8_t *entry = file.data + directory->at;
    size_t name_size = (size_t)read_number(entry + 28, 2), extra_size = (size_t)read_number(entry + 30, 2);
    size_t whole = ENTRY_SIZE + name_size + extra_size + (size_t)read_number(entry + 32, 2);
    if (!fid_range_fits(directory->at, whole, file.size)) return false;
    fidc_zip_entry found = {.name = fid_span_of(entry + ENTRY_SIZE, name_size), .method = (uint32_t)read_number(entry + 10, 2),
                            .encrypted = entry[8] & 1, .crc = (uint32_t)read_number(entry + 16, 4),
                            .stored_size = read_number(entry + 20, 4), .size = read_number(entry + 24, 4)};
    uint64_t local = read_number(entry + 42, 4);
    if (!widen(entry + ENTRY_SIZE + name_size, extra_size, &found, &local)) return false;
    if (!has_signature(file, local, LOCAL_SIZE, LOCAL_SIGNATURE)) return false;
    uint64_t start = local + LOCAL_SIZE + read_number(file.data + local + 26, 2) + read_number(file.data + local + 28, 2);
    if (!fid_range_fits(start, found.stored_size, file.size)) return false;
    found.data = file.data + start;
    directory->at += whole;
    directory->left--;
    *out_entry = found;
    return true;
}
