#ifndef CLINUX_H
#define CLINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/types.h>

/// Opens `path` beneath `directory`, refusing symbolic links, magic links and any step outside it.
/// Returns a descriptor, or -1 with errno set. openat2(2), RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS.
int clinux_open_beneath(int directory, const char *path, int flags, mode_t mode);

/// Renames without ever replacing `to`: EEXIST when it exists. renameat2(2), RENAME_NOREPLACE.
int clinux_rename_noreplace(
    int from_directory, const char *from, int to_directory, const char *to);

/// Which file of its file system a file is, whatever its name.
struct clinux_identity {
    uint64_t inode;
    /// When the inode was made, in nanoseconds since 1970; where the file system does not know,
    /// when the file was last written.
    int64_t born_ns;
    int64_t size;
};

/// Tells which file `name` in `directory` is, without following a link, or with "" which one
/// `directory` itself is. Returns 0, or -1 with errno set. statx(2).
int clinux_identify(int directory, const char *name, struct clinux_identity *identity);

/// The number of the mount on which an open file is; -1 where the kernel does not tell (before
/// Linux 5.8). statx(2), STATX_MNT_ID.
int64_t clinux_mount_of(int descriptor);

/// Opens an unnamed file in memory, which programs that are run do not inherit. Returns a
/// descriptor, or -1 with errno set. memfd_create(2).
int clinux_open_memory_file(const char *name);

/// Writes the whole file system of `descriptor` to stable storage. syncfs(2).
int clinux_syncfs(int descriptor);

/// Gives an open file an attribute of its own (xattr(7)), or another value of it. Returns 0, or -1
/// with errno set: EOPNOTSUPP where the file system keeps none. fsetxattr(2).
int clinux_set_attribute(int descriptor, const char *name, const void *value, size_t size);

/// Reads an attribute of an open file. Returns the length of its value, or -1 with errno set:
/// ENODATA without the attribute, ERANGE for a longer value, EOPNOTSUPP where the file system keeps
/// none. fgetxattr(2).
ssize_t clinux_attribute(int descriptor, const char *name, void *value, size_t size);

/// Starts writing a range of dirty pages without waiting for it. sync_file_range(2),
/// SYNC_FILE_RANGE_WRITE.
int clinux_start_writeback(int descriptor, off_t offset, off_t length);

/// Reserves space for the first `length` bytes of a file without changing its size. fallocate(2),
/// FALLOC_FL_KEEP_SIZE; EOPNOTSUPP where the file system cannot. After another failure, ext4 keeps
/// what it could reserve until the file is truncated, if only to its size.
int clinux_reserve(int descriptor, off_t length);

/// Gives the blocks of a range back to the file system; the range reads as zeros from then on, and
/// the size stays. fallocate(2), FALLOC_FL_PUNCH_HOLE; EOPNOTSUPP where the file system cannot.
int clinux_punch_hole(int descriptor, off_t offset, off_t length);

/// The number of free descriptors with fewer of which it is not worth it to start what needs some.
enum { clinux_free_descriptors_min = 32 };

/// Returns whether that many further descriptors can be opened at once. eventfd(2).
bool clinux_has_descriptors(void);

/// Names the calling thread; Linux keeps 15 bytes. pthread_setname_np(3).
void clinux_name_thread(const char *name);

/// Continues a CRC-32C (RFC 3720, section 12.1; check value e3069283) over `count` bytes; begin
/// with 0. Uses the processor's instruction (SSE 4.2, ARMv8 CRC) where it has one.
uint32_t clinux_crc32c(uint32_t crc, const void *bytes, size_t count);

/// The same by table alone, so that a test can compare the two.
uint32_t clinux_crc32c_by_table(uint32_t crc, const void *bytes, size_t count);

/// Opens /dev/null as each of the standard descriptors that this process was started without, so
/// that no other file gets its number, and with it what is written for people. To be called first
/// of all.
void clinux_open_standard_descriptors(void);

/// Has SIGTERM, SIGINT and SIGHUP do nothing from now on but wait until `clinux_next_signals` takes
/// them. Before that is first called, a second SIGTERM, or a second SIGINT, ends the process at
/// once. To be called first of all: as process 1 of a container, a process does not get a signal
/// without a handler, nor later. A handler and not a mask, for the first thread waits in
/// sigsuspend(2) with an empty one once Swift's tasks run (`dispatch_main`), and would be ended by
/// them.
void clinux_hear_signals(void);

/// Has these signals do what they did before, at once those that came meanwhile.
void clinux_restore_signals(void);

/// Blocks until there are such signals or `clinux_wake_signals` was called, but not beyond
/// `milliseconds` unless they are negative. Returns the signals, bit n for number n. To be called
/// by one thread.
uint32_t clinux_next_signals(int64_t milliseconds);

/// Has one call of `clinux_next_signals`, this or the next, return now.
void clinux_wake_signals(void);

/// Has a child close every descriptor from `lowest` on, whatever opened it here and however.
/// Returns an errno. posix_spawn_file_actions_addclosefrom_np(3). Untyped, for a header that names
/// the type would make this module the home of others'.
int clinux_spawn_close_from(void *spawn_file_actions, int lowest);

/// The process that listened at the other side of a connected socket of this machine; 0 for one of
/// another namespace of processes and for a socket of the Internet, -1 with errno set.
/// unix(7), SO_PEERCRED.
pid_t clinux_listening_process(int socket);

/// The longest time slice that Linux grants, in nanoseconds.
#define CLINUX_LONGEST_TIME_SLICE 100000000ULL

/// The nice value of a thread of low priority, with which it has a third of another's time: with
/// 19, it would have a seventieth, and on processors that others keep busy it would hardly ever
/// run.
#define CLINUX_LOW_PRIORITY_NICE 5

/// Has the calling thread give way to others wherever there are fewer processors than work, and at
/// once to whoever wakes: a nice value, SCHED_BATCH, with which it interrupts nobody as it wakes,
/// and, since Linux 6.12, the longest time slice. Only the first call of a thread does anything.
/// sched_setattr(2), sched(7).
void clinux_lower_thread_priority(void);

/// Sets the time slice of a thread of any process, in nanoseconds, or the usual one with 0; whoever
/// wakes with a shorter one interrupts it at once. Without an effect before Linux 6.12. Returns 0,
/// or -1 with errno set: ESRCH, EPERM for a process of another user, EINVAL for a thread that is
/// not scheduled as usual. sched_setattr(2).
int clinux_set_time_slice(pid_t thread, uint64_t nanoseconds);

/// The time slice of a thread in nanoseconds, or -1 with errno set; 0 before Linux 6.12.
/// sched_getattr(2).
int64_t clinux_time_slice(pid_t thread);

/// Has the allocator give memory back: large blocks have a mapping each, which ends with them, and
/// there are `arenas` arenas at most. mallopt(3). To be called before there are threads.
void clinux_tune_heap(int arenas);

/// Bytes that the allocator holds and nobody uses. mallinfo2(3); 0 where there is none.
size_t clinux_unused_heap_bytes(void);

/// Gives pages that nobody uses back to the system. malloc_trim(3).
void clinux_trim_heap(void);

#endif
