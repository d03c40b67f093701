/* Measuring the roof: every thread does the same at the same time; the whole counts. */
#include "kernels/cpu/roof.h"

#include "kernels/cpu/tiles.h"

enum { PEAK_ROUNDS = 200000, PEAK_CHAINS = 12, ROUNDS = 15, MOST_THREADS = 256 };

typedef struct measurement {
    const fidk_roof_setup *setup;
    const fidk_tiles *tiles;
    size_t threads;
    size_t stretch;  /* floats that each thread reads, `repeats` times */
    size_t repeats;
    float *results;  /* one a thread: keeps the work from being dropped */
} measurement;

static void peak_task(void *context, size_t index) {
    const measurement *m = context;
    m->results[index] = m->tiles->peak(PEAK_ROUNDS);
}

static void read_task(void *context, size_t index) {
    const measurement *m = context;
    const float *from = (const float *)m->setup->memory + index * m->stretch;
    for (size_t i = 0; i < m->repeats; i++) m->results[index] = m->tiles->read(from, m->stretch);
}

/* The shortest of some rounds, in seconds; never 0. */
static double shortest(measurement *m, void (*task)(void *, size_t)) {
    const fidk_roof_setup *s = m->setup;
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = s->now(s->now_self);
        if (m->threads > 1) s->threads->run(s->threads->self, task, m, m->threads);
        else task(m, 0);
        double spent = (double)(s->now(s->now_self) - start);
        if (spent < best) best = spent;
    }
    return (best > 1 ? best : 1) * 1e-9;
}

/* Bytes a second over a stretch of so many bytes a thread, read several times. */
static double read_speed(measurement *m, size_t bytes, size_t repeats) {
    m->stretch = bytes / sizeof(float) / 128 * 128; /* whole steps of the loop, whatever the lanes */
    m->repeats = repeats;
    return (double)(m->stretch * sizeof(float) * repeats * m->threads) / shortest(m, read_task);
}

fidk_roof fidk_roof_measure(const fidk_roof_setup *setup) {
    float results[MOST_THREADS];
    measurement m = {.setup = setup, .tiles = fidk_tiles_for(setup->cpu), .threads = setup->threads ? setup->threads->count : 1, .results = results};
    if (m.threads > MOST_THREADS) m.threads = MOST_THREADS;
    double operations = 2.0 * PEAK_CHAINS * (double)m.tiles->lanes * PEAK_ROUNDS * (double)m.threads;
    return (fidk_roof){.flops = operations / shortest(&m, peak_task), .near = read_speed(&m, setup->near_size, 32),
                       .far = read_speed(&m, setup->size / m.threads, 1), .instructions = m.tiles->name};
}
