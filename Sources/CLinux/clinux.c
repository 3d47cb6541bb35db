#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
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

int clinux_identify(int directory, const char *name, struct clinux_identity *identity) {
    struct statx status;
    const int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
    const unsigned int wanted = STATX_INO | STATX_SIZE | STATX_MTIME | STATX_BTIME;
    if (statx(directory, name, flags, wanted, &status) != 0) return -1;
    const struct statx_timestamp born =
        (status.stx_mask & STATX_BTIME) ? status.stx_btime : status.stx_mtime;
    identity->inode = status.stx_ino;
    identity->born_ns = (int64_t)born.tv_sec * 1000000000 + born.tv_nsec;
    identity->size = (int64_t)status.stx_size;
    return 0;
}

int64_t clinux_mount_of(int descriptor) {
    struct statx status;
    const int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
    if (statx(descriptor, "", flags, STATX_MNT_ID, &status) != 0) return -1;
    return (status.stx_mask & STATX_MNT_ID) ? (int64_t)status.stx_mnt_id : -1;
}

int clinux_open_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int clinux_syncfs(int descriptor) { return syncfs(descriptor); }

int clinux_set_attribute(int descriptor, const char *name, const void *value, size_t size) {
    return fsetxattr(descriptor, name, value, size, 0);
}

ssize_t clinux_attribute(int descriptor, const char *name, void *value, size_t size) {
    return fgetxattr(descriptor, name, value, size);
}

int clinux_start_writeback(int descriptor, off_t offset, off_t length) {
    return sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}

int clinux_reserve(int descriptor, off_t length) {
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, length);
}

int clinux_punch_hole(int descriptor, off_t offset, off_t length) {
    return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
}

pid_t clinux_listening_process(int socket) {
    struct ucred listener;
    socklen_t length = sizeof listener;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0) return -1;
    return listener.pid;
}

// As in <linux/sched/types.h>, which not every C library lets one include beside its own.
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void clinux_lower_thread_priority(void) {
    static __thread int is_lowered;
    if (is_lowered) return;
    is_lowered = 1;
    const struct scheduling wanted = {
        .size = sizeof wanted,
        .policy = SCHED_BATCH,
        .nice = CLINUX_LOW_PRIORITY_NICE,
        .runtime = CLINUX_LONGEST_TIME_SLICE,
    };
    // A system that refuses leaves the thread as it was, which only costs time; one that knows no
    // slices takes the nice value alone.
    (void)syscall(SYS_sched_setattr, 0, &wanted, 0);
}

int clinux_set_time_slice(pid_t thread, uint64_t nanoseconds) {
    struct scheduling scheduling = {.size = 0};
    if (syscall(SYS_sched_getattr, thread, &scheduling, sizeof scheduling, 0) != 0) return -1;
    if (scheduling.policy != SCHED_OTHER) {
        errno = EINVAL;
        return -1;
    }
    scheduling.runtime = nanoseconds;
    return (int)syscall(SYS_sched_setattr, thread, &scheduling, 0);
}

int64_t clinux_time_slice(pid_t thread) {
    struct scheduling scheduling = {.size = 0};
    if (syscall(SYS_sched_getattr, thread, &scheduling, sizeof scheduling, 0) != 0) return -1;
    return (int64_t)scheduling.runtime;
}

#if defined(__GLIBC__)
void clinux_tune_heap(int arenas) {
    mallopt(M_ARENA_MAX, arenas);
    // Set at all, it does not grow by itself up to 32 MiB with what is freed.
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
}

size_t clinux_unused_heap_bytes(void) { return mallinfo2().fordblks; }

void clinux_trim_heap(void) { malloc_trim(0); }
#else
void clinux_tune_heap(int arenas) { (void)arenas; }
size_t clinux_unused_heap_bytes(void) { return 0; }
void clinux_trim_heap(void) {}
#endif

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

void clinux_open_standard_descriptors(void) {
    int descriptor;
    // The lowest free number is taken each time. open(2)
    do descriptor = open("/dev/null", O_RDWR);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0) close(descriptor);
}

int clinux_spawn_close_from(void *spawn_file_actions, int lowest) {
    return posix_spawn_file_actions_addclosefrom_np(spawn_file_actions, lowest);
}

static bool can_open(int count) {
    if (count == 0) return true;
    int descriptor = eventfd(0, EFD_CLOEXEC);
    if (descriptor < 0) return false;
    bool can = can_open(count - 1);
    close(descriptor);
    return can;
}

bool clinux_has_descriptors(void) { return can_open(clinux_free_descriptors_min); }
