import CLinux

/// The priority of a thread on the processors.
package enum Priority {
    /// Makes the calling thread yield to all others, permanently.
    package static func lower() { clinux_lower_thread_priority() }
}
