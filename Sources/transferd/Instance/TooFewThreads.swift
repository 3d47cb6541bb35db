/// The error for a limit of threads with which an instance could not start.
struct TooFewThreads: Error, CustomStringConvertible {
    let count: Int
    /// The number with which an instance can start.
    let needed: Int

    var description: String {
        """
        \(count) threads are too few for an instance, which takes \(needed): raise the limit of \
        processes of its container or service (pids, TasksMax) or of its user (ulimit -u), or that \
        of its address space (ulimit -v)
        """
    }
}
