import Glibc

/// A port that accepts connections, as the kernel does for it, and never sends anything.
package final class SilentListener: Sendable {
    private let held: HeldPort
    private let descriptor: Int32

    /// The port that the system has chosen.
    package var port: UInt16 { held.number }

    /// Listens.
    ///
    /// - Throws: ``HeldPort/Failure``.
    package init() throws(HeldPort.Failure) {
        held = try HeldPort()
        descriptor = try held.listen(backlog: 16)
    }

    deinit { close(descriptor) }
}
