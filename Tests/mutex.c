// Loaded before Swift's library when tests run under the thread sanitizer: tells it of the locks
// that threads have waited for.
//
// The inlined part of Swift's Mutex is instrumented with its user. The waiting is in a library that
// is not (_MutexHandle in LinuxImpl.swift of Swift's Synchronization), so that the sanitizer takes
// each access under a lock that somebody had to wait for to be a race. These functions stand in for
// the two of that library. If a later version names them otherwise, the reports come back.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Weak, because every program of a test run loads this, and few have the sanitizer.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

SWIFT void lock_slow(uint32_t thread, SELF void *handle) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *handle) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF void *handle) {
    static SWIFT void (*next)(uint32_t, SELF void *);
    if (!next) next = (SWIFT void (*)(uint32_t, SELF void *))dlsym(RTLD_NEXT, LOCK);
    next(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void unlock_slow(SELF void *handle) {
    static SWIFT void (*next)(SELF void *);
    if (!next) next = (SWIFT void (*)(SELF void *))dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(handle);
    next(handle);
}
