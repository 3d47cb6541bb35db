@preconcurrency import Dispatch
import Glibc
import Synchronization

/// The end of the process: who asks for it, and when it has to be over.
///
/// SIGTERM and SIGINT are heard from the first moment on. The first one begins the grace, which is
/// one deadline for everything that stops; the second ends the process at once. Signals and the
/// deadline have a queue of their own, so that both work where all else hangs.
final class Shutdown: Sendable {
    /// What is stopped one after the other, each by its share of the grace.
    enum Stage: Double {
        /// Answers to clients.
        case requests = 0.4
        /// Transfers and deliveries give back what they have.
        case work = 0.75
        /// The instance says that it is gone; reserved, for others wait out a lease without it.
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

    /// Hears signals from now on.
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

    /// Begins the grace, if no signal has.
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
        // Nothing is logged then: whoever reads the log may be what hangs.
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { _exit(status) }
    }

    /// When a stage has to be over; nothing is due before the grace has begun.
    func deadline(of stage: Stage) -> ContinuousClock.Instant {
        (state.withLock { $0.begunAt } ?? .now) + grace * stage.rawValue
    }

    private func heard(_ signal: Int32) {
        let onRequest = state.withLock { state in
            defer { state.onRequest = nil }
            return state.onRequest
        }
        // As a shell tells of a process that a signal has ended.
        guard let onRequest else { _exit(128 + signal) }
        begin(status: 0)
        onRequest()
    }
}
