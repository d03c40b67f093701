/* A small thread pool.
 *
 * One job at a time: the caller publishes it, all threads (the caller too) take indices from an atomic counter until none is
 * left, and the caller waits until every thread has let go of the job. Workers spin shortly for the next job, since kernels come
 * close together, and then sleep. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "platform/posix/threads.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* About 20 to 50 microseconds: longer than the gap between two kernels, far shorter than a run. */
#define SPINS 4000

typedef struct pool {
    fid_threads threads; /* first: callers hold this */
    fid_allocator allocator;
    void (*task)(void *context, size_t index);
    void *context;
    size_t count;
    size_t next;         /* atomic: next index to take */
    uint32_t generation; /* atomic: grows with each job */
    uint32_t working;    /* atomic: workers that have not finished the present job */
    uint32_t taken;      /* atomic: a caller has the pool */
    bool stop;
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

/* Returns the new generation. */
static uint32_t await_job(pool *p, uint32_t seen) {
    uint32_t now;
    for (int i = 0; i < SPINS; i++) {
        now = __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE);
        if (now != seen) return now;
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    while ((now = __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE)) == seen) pthread_cond_wait(&p->wake, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    return now;
}

static void *work(void *argument) {
    pool *p = argument;
    uint32_t seen = 0;
    for (;;) {
        seen = await_job(p, seen);
        if (p->stop) return NULL;
        take_tasks(p);
        if (__atomic_sub_fetch(&p->working, 1, __ATOMIC_ACQ_REL) == 0) {
            pthread_mutex_lock(&p->mutex);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->mutex);
        }
    }
}

static void publish(pool *p) {
    pthread_mutex_lock(&p->mutex);
    __atomic_add_fetch(&p->generation, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

static void await_workers(pool *p) {
    for (int i = 0; i < SPINS; i++) {
        if (__atomic_load_n(&p->working, __ATOMIC_ACQUIRE) == 0) return;
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    while (__atomic_load_n(&p->working, __ATOMIC_ACQUIRE) != 0) pthread_cond_wait(&p->done, &p->mutex);
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
    __atomic_store_n(&p->working, p->worker_count, __ATOMIC_RELAXED);
    publish(p);
    take_tasks(p);
    await_workers(p);
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
    publish(p);
    for (uint32_t i = 0; i < p->worker_count; i++) pthread_join(p->workers[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    fid_free(p->allocator, p, sizeof *p);
}
