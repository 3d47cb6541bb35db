// Loaded into a service of a test: once for each time that the file is made which FAILING_FLUSH
// names, flushing a pack fails.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_pack(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count < 0) return 0;
    path[count] = 0;
    return strstr(path, "/.transferd/packs/") != NULL;
}

int fdatasync(int file) {
    const char *word = getenv("FAILING_FLUSH");
    if (word && is_pack(file) && unlink(word) == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, file);
}
