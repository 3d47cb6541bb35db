@preconcurrency import Dispatch
import Glibc
import Synchronization

/// The end of the process: the request for it, and the time when it has to be over.
///
/// SIGTERM and SIGINT are handled from the first moment on. The first one starts the grace, which
/// is one deadline for everything that stops; the second ends the process at once. Signals and the
/// deadline have a queue of their own, so that both work even if everything else hangs.
final class Shutdown: Sendable {
    /// The stages, which stop one after the other, each within its share of the grace.
    enum Stage: Double {
        /// Answers to clients end.
        case requests = 0.4
        /// Transfers and deliveries give back what they hold.
        case work = 0.75
        /// The instance signs off; time is reserved, as others wait out a lease if it does not.
        case registration = 0.9
        /// The private cluster is stopped.
        case database = 0.98
    }

    private struct State {
        var begunAt: ContinuousClock.Instant?
        var onRequest: (@Sendable () -> Void)?
    }

    private static let signals = [SIGTERM, SIGINT]

    private let grace: Duration
    private let queue: DispatchQueue
    private let sources: [any DispatchSourceSignal]
    private let state = Mutex(State())

    /// Handles signals from now on.
    ///
    /// - Parameters:
    ///   - grace: from the first signal to the end of the process, whatever hangs.
    ///   - onRequest: called once, with the first signal.
    init(grace: Duration, onRequest: @escaping @Sendable () -> Void) {
        self.grace = grace
        let queue = DispatchQueue(label: "shutdown")
        self.queue = queue
        sources = Self.signals.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        state.withLock { $0.onRequest = onRequest }
        for (signal, source) in zip(Self.signals, sources) {
            source.setEventHandler { [weak self] in self?.heard(signal) }
            source.resume()
        }
    }

    /// Starts the grace, unless a signal already has.
    ///
    /// - Parameter status: of the process, if it has to be ended at the deadline.
    func begin(status: Int32) {
        let isFirst = state.withLock { state in
            guard state.begunAt == nil else { return false }
            state.begunAt = .now
            return true
        }
        guard isFirst else { return }
        let (seconds, attoseconds) = grace.components
        let milliseconds = Int(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        // Nothing is logged then: the reader of the log may be what hangs.
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { _exit(status) }
    }

    /// Returns when a stage has to be over; nothing is due before the grace has started.
    func deadline(of stage: Stage) -> ContinuousClock.Instant {
        (state.withLock { $0.begunAt } ?? .now) + grace * stage.rawValue
    }

    private func heard(_ signal: Int32) {
        let onRequest = state.withLock { state in
            defer { state.onRequest = nil }
            return state.onRequest
        }
        // As a shell reports a process that was ended by a signal.
        guard let onRequest else { _exit(128 + signal) }
        begin(status: 0)
        onRequest()
    }
}
