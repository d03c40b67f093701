/* Threads for tests where there are none: a thread runs to its end when it is made. */
#ifndef FID_TESTS_PORTABLE_WASI_PTHREAD_H
#define FID_TESTS_PORTABLE_WASI_PTHREAD_H

#define FID_TESTS_WITHOUT_THREADS 1 /* a test that waits for another thread would wait for ever */

typedef int pthread_t;
typedef int pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER 0

static inline int pthread_create(pthread_t *thread, const void *attributes, void *(*run)(void *), void *argument) {
    (void)attributes;
    *thread = 0;
    run(argument);
    return 0;
}
static inline int pthread_join(pthread_t thread, void **result) {
    (void)thread, (void)result;
    return 0;
}

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes) {
    (void)attributes;
    return *mutex = 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t *mutex) { return *mutex = 0; }
static inline int pthread_mutex_unlock(pthread_mutex_t *mutex) { return *mutex = 0; }
static inline int pthread_mutex_destroy(pthread_mutex_t *mutex) { return *mutex = 0; }

#endif
