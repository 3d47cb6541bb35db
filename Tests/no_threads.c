// A pthread_create(3) that makes no thread while the file exists which NO_THREADS names, as when
// the machine or its container may have no more of them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef void *body(void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, body *run, void *argument) {
    static int (*next)(pthread_t *, const pthread_attr_t *, body *, void *);
    if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, "pthread_create");
    const char *word = getenv("NO_THREADS");
    if (word && access(word, F_OK) == 0) return EAGAIN;
    return next(thread, attributes, run, argument);
}
