/* Speed of the packed matrix product: GFLOP/s of shapes from real models, for each instruction set of this machine.
 *
 *   cc -std=gnu11 -O2 -I. bench/gemm_bench.c build/libfidibus.a -lm -lpthread -o gemm_bench && ./gemm_bench
 *
 * One thread; each figure is the fastest of many runs. Shapes are (rows, columns, depth). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/pack_weights.h"
#include "platform/posix/cpu_detect.h"

static const struct {
    const char *name;
    size_t m, n, k;
} shapes[] = {
    {"mobilenet_v2 expand", 12544, 96, 16},  {"mobilenet_v2 project", 3136, 24, 144}, {"mobilenet_v2 middle", 196, 384, 64},
    {"mobilenet_v2 head", 49, 1280, 320},    {"resnet50 1x1", 3136, 256, 64},         {"resnet50 3x3", 784, 128, 1152},
    {"resnet50 late 3x3", 49, 512, 4608},    {"resnet50 late 1x1", 49, 2048, 512},    {"minilm projection", 128, 384, 384},
    {"minilm mlp up", 128, 1536, 384},       {"minilm mlp down", 128, 384, 1536},     {"vit projection", 197, 768, 768},
    {"vit mlp up", 197, 3072, 768},          {"vit mlp down", 197, 768, 3072},        {"whisper mlp", 1500, 1536, 384},
    {"classifier", 1, 1000, 2048},           {"decoder step", 1, 2048, 768},
    {"cube of 1024", 1024, 1024, 1024},      {"128x384x1536", 128, 384, 1536},
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *floats(size_t count) {
    float *p = aligned_alloc(64, (count * sizeof *p + 63) / 64 * 64);
    if (!p) exit(1);
    for (size_t i = 0; i < count; i++) p[i] = (float)((i * 7919) % 1000) / 1000.0f - 0.5f;
    return p;
}

static double fastest(const fidk_gemm *gemm, void *scratch) {
    double best = 1e9, begin = seconds();
    for (int i = 0; i < 2000 && (i < 5 || seconds() - begin < 0.25); i++) {
        double at = seconds(), took;
        fidk_gemm_run(gemm, scratch);
        took = seconds() - at;
        if (took < best) best = took;
    }
    return best;
}

static void measure(const fidk_tiles *tiles, size_t i) {
    size_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
    float *a = floats(m * k), *w = floats(n * k), *packed = floats(fidk_packed_floats(n, k)), *c = floats(m * n);
    fidk_pack_rows(w, k, n, k, packed);
    fidk_gemm gemm = {.tiles = tiles, .m = m, .n = n, .k = k, .a = a, .a_stride = k, .c = c, .c_stride = n};
    fidk_gemm_set_packed(&gemm, packed);
    float *scratch = floats(fidk_gemm_scratch_bytes(&gemm) / sizeof(float) + 16);
    double took = fastest(&gemm, scratch);
    printf("%-8s %-22s %6zu %5zu %5zu  %9.3f us  %6.1f GFLOP/s\n", tiles->name, shapes[i].name, m, n, k, took * 1e6,
           2e-9 * (double)m * (double)n * (double)k / took);
    free(a), free(w), free(packed), free(c), free(scratch);
}

int main(void) {
    const fidk_tiles *tiles;
    uint32_t needs;
    for (size_t s = 0; (tiles = fidk_tiles_at(s, &needs)); s++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            if (!(needs & ~fid_cpu_detect())) measure(tiles, i);
    return 0;
}
