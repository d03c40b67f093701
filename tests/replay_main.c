/* Runs a fuzzer's function over files and folders of files, once each: the corpus as a test, with any compiler.
 * Usage: NAME_replay FILE-OR-FOLDER... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    long size = ftell(file);
    uint8_t *data = malloc((size_t)size + (size == 0));
    rewind(file);
    int failed = !data || fread(data, 1, (size_t)size, file) != (size_t)size;
    fclose(file);
    if (!failed) {
        printf("%s\n", path);
        fflush(stdout); /* a crash leaves the culprit as the last line */
        LLVMFuzzerTestOneInput(data, (size_t)size);
    }
    free(data);
    return failed;
}

static int replay(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) return replay_file(path);
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char inner[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        failed |= replay_file(inner);
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv) {
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) failed |= replay(argv[i]);
    return failed;
}
