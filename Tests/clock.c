// Loaded into the servers of a test: sets the clock of PostgreSQL, and of nothing else, ahead by as
// many seconds as the file says that SERVER_CLOCK names.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *ahead;

__attribute__((constructor)) static void find(void) {
    const char *path = getenv("SERVER_CLOCK");
    if (!path || strcmp(program_invocation_short_name, "postgres") != 0) return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) ahead = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME && ahead) now->tv_sec += *ahead;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, now, zone);
    if (result == 0 && ahead) now->tv_sec += *ahead;
    return result;
}

time_t time(time_t *seconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (seconds) *seconds = now.tv_sec;
    return now.tv_sec;
}
