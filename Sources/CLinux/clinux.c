#define _GNU_SOURCE
#include "clinux.h"

#include <fcntl.h>
#include <pthread.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int clinux_open_beneath(int directory, const char *path, int flags, mode_t mode) {
    struct open_how how = {
        .flags = (unsigned long long)(flags | O_CLOEXEC),
        // openat2 answers EINVAL to a mode without O_CREAT, unlike openat.
        .mode = (flags & O_CREAT) ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

int clinux_rename_noreplace(
    int from_directory, const char *from, int to_directory, const char *to) {
    return renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE);
}

int clinux_syncfs(int descriptor) { return syncfs(descriptor); }

int clinux_start_writeback(int descriptor, off_t offset, off_t length) {
    return sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}

int clinux_reserve(int descriptor, off_t length) {
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, length);
}

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int clinux_spawn_close_from(void *spawn_file_actions, int lowest) {
    return posix_spawn_file_actions_addclosefrom_np(spawn_file_actions, lowest);
}
