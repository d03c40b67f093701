/* Detects instruction sets. Compiled without instruction set flags, so that it runs everywhere. */
#include "platform/posix/cpu_detect.h"

#include "ops/kernel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool bit(uint32_t word, int index) { return (word >> index) & 1; }

/* The register sets that the operating system saves (XCR0). */
static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

enum { YMM = 0x6, ZMM = 0xe6, TILES = 0x60000 };

/* Linux hands out tile registers only to a process that asks. */
static bool allow_tiles(void) {
#if defined(__linux__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* arch_prctl */
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static uint32_t detect_tiles(uint32_t leaf7_edx, uint64_t state) {
    bool tiles = bit(leaf7_edx, 24) && (state & TILES) == TILES;
    if (!tiles || !(bit(leaf7_edx, 22) || bit(leaf7_edx, 25)) || !allow_tiles()) return 0;
    return (bit(leaf7_edx, 22) ? FID_CPU_AMX_BF16 : 0) | (bit(leaf7_edx, 25) ? FID_CPU_AMX_INT8 : 0);
}

static uint32_t detect_wide(uint32_t ebx, uint32_t ecx, uint32_t leaf71_eax) {
    bool base = bit(ebx, 16) && bit(ebx, 17) && bit(ebx, 30) && bit(ebx, 31); /* F, DQ, BW, VL */
    if (!base) return 0;
    return FID_CPU_AVX512 | (bit(ecx, 11) ? FID_CPU_AVX512_VNNI : 0) | (bit(leaf71_eax, 5) ? FID_CPU_AVX512_BF16 : 0);
}

uint32_t fid_cpu_detect(void) {
    uint32_t eax, ebx, ecx, edx, eax1 = 0, unused;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
    const uint32_t sse4 = bit(ecx, 19) ? FID_CPU_SSE4 : 0;
    if (!bit(ecx, 27)) return sse4; /* 27: xgetbv is there */
    uint64_t state = saved_state();
    bool fma_f16c = bit(ecx, 12) && bit(ecx, 28) && bit(ecx, 29);
    if ((state & YMM) != YMM || !fma_f16c || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !bit(ebx, 5)) return sse4;
    uint32_t found = sse4 | FID_CPU_AVX2_FMA;
    if (eax >= 1) __get_cpuid_count(7, 1, &eax1, &unused, &unused, &unused);
    if ((state & ZMM) == ZMM) found |= detect_wide(ebx, ecx, eax1);
    return found | detect_tiles(edx, state);
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>

/* Bits and numbers of Linux's ABI, spelled out because old headers lack some. */
enum { ASIMDHP = 1 << 10, ASIMDDP = 1 << 20, SVE = 1 << 22, I8MM2 = 1 << 13, GET_VECTOR_LENGTH = 51, LENGTH_MASK = 0xffff };

/* Tables of scalable vectors are compiled for one length. At 128 bits NEON is as good. */
static uint32_t detect_scalable(void) {
    int bytes = prctl(GET_VECTOR_LENGTH, 0, 0, 0, 0);
    if (bytes < 0) return 0;
    return (bytes & LENGTH_MASK) == 32 ? FID_CPU_SVE_256 : (bytes & LENGTH_MASK) == 64 ? FID_CPU_SVE_512 : 0;
}

uint32_t fid_cpu_detect(void) {
    unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    return (first & ASIMDDP ? FID_CPU_NEON_DOT : 0) | (second & I8MM2 ? FID_CPU_NEON_I8MM : 0) | (first & ASIMDHP ? FID_CPU_NEON_FP16 : 0) |
           (first & SVE ? detect_scalable() : 0);
}

#elif defined(__riscv) && __riscv_xlen == 64 && defined(__linux__)
#include <sys/auxv.h>

uint32_t fid_cpu_detect(void) {
    unsigned long bytes;
    if (!(getauxval(AT_HWCAP) & 1ul << ('V' - 'A'))) return 0;
    __asm__("csrr %0, 0xc22" : "=r"(bytes)); /* vlenb, by number: assemblers without V do not know the name */
    return (bytes >= 16 ? FID_CPU_RVV : 0) | (bytes >= 32 ? FID_CPU_RVV_256 : 0);
}

#else

uint32_t fid_cpu_detect(void) { return 0; }

#endif
