import CLinux

/// The priority of a thread on the processors.
enum Priority {
    /// Makes the calling thread yield to all others, permanently.
    static func lower() { clinux_lower_thread_priority() }
}
