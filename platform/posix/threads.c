/* A small thread pool.
 *
 * One job at a time: the caller opens it, threads (the caller too) take indices from an atomic counter until none is left, and the
 * caller closes it and waits for those workers that are in it. A worker that wakes late finds it closed, so nobody waits for a thread
 * that the system does not run. Workers spin shortly for the next job, since kernels come close together, and then sleep. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "platform/posix/threads.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* About 20 to 50 microseconds: longer than the gap between two kernels, far shorter than a run. */
#define SPINS 4000

/* The job's state in one word: workers in it, whether it may be entered, and a number that changes from job to job. */
#define WORKERS 0x7fffu
#define OPEN 0x8000u
#define ONE_JOB 0x10000u

typedef struct pool {
    fid_threads threads; /* first: callers hold this */
    fid_allocator allocator;
    void (*task)(void *context, size_t index);
    void *context;
    size_t count;
    size_t next;       /* atomic: next index to take */
    uint32_t state;    /* atomic */
    uint32_t sleeping; /* atomic: workers that must be woken for a job */
    uint32_t taken;    /* atomic: a caller has the pool */
    bool stop;         /* written before a job is opened */
    uint32_t worker_count;
    pthread_mutex_t mutex; /* for sleeping only */
    pthread_cond_t wake, done;
    pthread_t workers[FID_THREADS_MAX];
} pool;

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_tasks(pool *p) {
    for (;;) {
        size_t index = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
        if (index >= p->count) return;
        p->task(p->context, index);
    }
}

static uint32_t job_of(const pool *p) { return __atomic_load_n(&p->state, __ATOMIC_SEQ_CST) / ONE_JOB; }

/* Returns the number of the job after `seen`, or of a later one. */
static uint32_t await_job(pool *p, uint32_t seen) {
    for (int i = 0; i < SPINS; i++) {
        if (job_of(p) != seen) return job_of(p);
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    __atomic_add_fetch(&p->sleeping, 1, __ATOMIC_SEQ_CST);
    while (job_of(p) == seen) pthread_cond_wait(&p->wake, &p->mutex);
    __atomic_sub_fetch(&p->sleeping, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&p->mutex);
    return job_of(p);
}

/* False if the job is over. */
static bool enter_job(pool *p) {
    uint32_t state = __atomic_load_n(&p->state, __ATOMIC_RELAXED);
    do
        if (!(state & OPEN)) return false;
    while (!__atomic_compare_exchange_n(&p->state, &state, state + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    return true;
}

static void leave_job(pool *p) {
    if (__atomic_sub_fetch(&p->state, 1, __ATOMIC_ACQ_REL) & (OPEN | WORKERS)) return;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->mutex);
}

static void *work(void *argument) {
    pool *p = argument;
    uint32_t seen = 0;
    for (;;) {
        seen = await_job(p, seen);
        if (!enter_job(p)) continue;
        if (p->stop) return NULL;
        take_tasks(p);
        leave_job(p);
    }
}

/* What the job consists of is written before. Whoever goes to sleep counts itself first and looks at the state then; here it is the
 * other way round, so that one of the two sees the other. */
static void open_job(pool *p) {
    uint32_t state = __atomic_load_n(&p->state, __ATOMIC_RELAXED);
    __atomic_store_n(&p->state, (state & ~WORKERS) + ONE_JOB + OPEN, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&p->sleeping, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

static void close_job(pool *p) {
    if (!(__atomic_and_fetch(&p->state, ~OPEN, __ATOMIC_ACQ_REL) & WORKERS)) return;
    for (int i = 0; i < SPINS; i++) {
        if (!(__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) & WORKERS)) return;
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    while (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) & WORKERS) pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

static void run(void *self, void (*task)(void *context, size_t index), void *context, size_t count) {
    pool *p = self;
    /* Taken: by another method, or by the task that calls us; either way this one runs on its own thread. */
    if (count < 2 || p->worker_count == 0 || __atomic_exchange_n(&p->taken, 1, __ATOMIC_ACQUIRE)) {
        for (size_t i = 0; i < count; i++) task(context, i);
        return;
    }
    p->task = task;
    p->context = context;
    p->count = count;
    __atomic_store_n(&p->next, 0, __ATOMIC_RELAXED);
    open_job(p);
    take_tasks(p);
    close_job(p);
    __atomic_store_n(&p->taken, 0, __ATOMIC_RELEASE);
}

uint32_t fid_processor_count(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return (uint32_t)CPU_COUNT(&set);
#endif
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint32_t)count : 1;
}

static bool start_workers(pool *p, uint32_t count) {
    while (p->worker_count < count) {
        if (pthread_create(&p->workers[p->worker_count], NULL, work, p) != 0) return false;
        p->worker_count++;
    }
    return true;
}

fid_status fid_threads_create(fid_allocator allocator, uint32_t count, fid_threads **out_threads) {
    *out_threads = NULL;
    if (count == 0) count = fid_processor_count();
    if (count > FID_THREADS_MAX) count = FID_THREADS_MAX;
    pool *p = fid_allocate(allocator, sizeof *p);
    if (!p) return FID_OUT_OF_MEMORY;
    memset(p, 0, sizeof *p);
    p->threads = (fid_threads){run, p, count};
    p->allocator = allocator;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    if (!start_workers(p, count - 1)) {
        fid_threads_destroy(&p->threads);
        return FID_OUT_OF_RESOURCES;
    }
    *out_threads = &p->threads;
    return FID_OK;
}

void fid_threads_destroy(fid_threads *threads) {
    if (!threads) return;
    pool *p = threads->self;
    p->stop = true;
    open_job(p);
    for (uint32_t i = 0; i < p->worker_count; i++) pthread_join(p->workers[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    fid_free(p->allocator, p, sizeof *p);
}
