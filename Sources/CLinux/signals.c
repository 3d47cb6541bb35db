#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { count_heard = 3 };
static const int heard[count_heard] = {SIGTERM, SIGINT, SIGHUP};
/// What each of them did before.
static struct sigaction former[count_heard];

/// The signals that nobody has taken yet.
static atomic_uint waiting;
/// Posted for each of them.
static sem_t wakeups;
/// Whether somebody takes them.
static atomic_bool is_awaited;

static void hear(int number) {
    const int error = errno;
    const unsigned bit = 1u << number;
    const unsigned before = atomic_fetch_or(&waiting, bit);
    // The same one again: what runs before they are taken may hang, too.
    if ((before & bit) && number != SIGHUP && !atomic_load(&is_awaited)) _exit(128 + number);
    sem_post(&wakeups);
    errno = error;
}

void clinux_hear_signals(void) {
    sem_init(&wakeups, 0, 0);
    struct sigaction action = {.sa_handler = hear, .sa_flags = SA_RESTART};
    for (int i = 0; i < count_heard; i++) sigaction(heard[i], &action, &former[i]);
}

void clinux_restore_signals(void) {
    for (int i = 0; i < count_heard; i++) sigaction(heard[i], &former[i], NULL);
    const unsigned missed = atomic_exchange(&waiting, 0);
    for (int i = 0; i < count_heard; i++)
        if (missed & (1u << heard[i])) kill(getpid(), heard[i]);
}

uint32_t clinux_next_signals(int64_t milliseconds) {
    atomic_store(&is_awaited, true);
    int code;
    if (milliseconds < 0) {
        do code = sem_wait(&wakeups);
        while (code != 0 && errno == EINTR);
    } else {
        struct timespec end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += milliseconds / 1000;
        end.tv_nsec += milliseconds % 1000 * 1000000;
        if (end.tv_nsec >= 1000000000) {
            end.tv_sec += 1;
            end.tv_nsec -= 1000000000;
        }
        do code = sem_clockwait(&wakeups, CLOCK_MONOTONIC, &end);
        while (code != 0 && errno == EINTR);
    }
    return atomic_exchange(&waiting, 0);
}

void clinux_wake_signals(void) { sem_post(&wakeups); }
