import CLinux

/// The share of a thread in the processors.
enum Priority {
    /// Has the calling thread give way to all others, once and for good.
    static func lower() { clinux_lower_thread_priority() }
}
