import Glibc

/// Keeps what the process has in memory from being written elsewhere.
enum ProcessProtection {
    /// The limit of a core file in bytes: a file would be larger, and a program that the system
    /// hands cores to gets none with just this limit (Linux, `fs/coredump.c`; core(5) has only the
    /// first).
    private static let coreBytesMax: rlim_t = 1

    /// Forbids core files, also to all programs that are started, and ignores `SSLKEYLOGFILE`, to
    /// which libcurl and libpq would write the keys of their connections.
    static func begin() {
        var limit = rlimit(rlim_cur: coreBytesMax, rlim_max: coreBytesMax)
        // Only a limit that is lower already cannot be set.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        unsetenv("SSLKEYLOGFILE")
    }
}
