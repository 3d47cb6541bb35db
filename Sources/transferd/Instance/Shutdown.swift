import CLinux
import Glibc
import PollLoop
import Synchronization

/// The end of the process: the request for it, and the time when it has to be over.
///
/// SIGTERM and SIGINT are handled from the first moment on. The first one starts the grace, which
/// is one deadline for everything that stops; a later one ends the process at once, unless it
/// belongs to the same request. Before there is a value of this type, a second signal of the same
/// number ends the process at once; signals of one request count once from then on. SIGHUP, which
/// the end of a terminal sends too, ends nothing.
///
/// Signals and the deadline have a thread of their own, which exists from the start, so that both
/// work even if everything else hangs or the machine has no room for a thread more.
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
        /// The status of a process that has to be ended at the deadline.
        var status = EXIT_SUCCESS
        var requestedAt: ContinuousClock.Instant?
    }

    private static let signals = [SIGTERM, SIGINT]
    /// The time in which further signals belong to the first one's request: timeout(1) sends its
    /// signal to the process and then to its group, where the process is again.
    private static let requestDuration: Duration = .milliseconds(500)
    /// The time that the last lines of the log get before the process is ended; their reader may be
    /// what hangs.
    private static let drainMax: Duration = .milliseconds(100)

    private let grace: Duration
    private let onRequest: @Sendable () -> Void
    private let onHangup: @Sendable () -> Void
    private let state = Mutex(State())

    /// Handles signals from now on, those that were heard since the start of the process first.
    ///
    /// - Parameters:
    ///   - grace: from the first signal to the end of the process, whatever hangs.
    ///   - onRequest: called once, with the first signal.
    ///   - onHangup: called for SIGHUP; it must not block.
    /// - Throws: ``PollLoopError`` when the process may have no more threads.
    init(
        grace: Duration,
        onRequest: @escaping @Sendable () -> Void,
        onHangup: @escaping @Sendable () -> Void
    ) throws(PollLoopError) {
        self.grace = grace
        self.onRequest = onRequest
        self.onHangup = onHangup
        try BlockingThread.start(name: "shutdown") { self.run() }
    }

    /// Starts the grace, unless a signal already has.
    ///
    /// - Parameter status: of the process, if it has to be ended at the deadline.
    func begin(status: Int32) {
        let isFirst = state.withLock { state in
            guard state.begunAt == nil else { return false }
            state.begunAt = .now
            state.status = status
            return true
        }
        // The thread that waits for signals has a deadline now.
        if isFirst { clinux_wake_signals() }
    }

    /// Returns when a stage has to be over; nothing is due before the grace has started.
    func deadline(of stage: Stage) -> ContinuousClock.Instant {
        (state.withLock { $0.begunAt } ?? .now) + grace * stage.rawValue
    }

    private func run() {
        while true {
            let signals = clinux_next_signals(timeLeft())
            for signal in Self.signals where signals & (1 << UInt32(signal)) != 0 { heard(signal) }
            if signals & (1 << UInt32(SIGHUP)) != 0 { onHangup() }
            if timeLeft() == 0 { Self.end(state.withLock { $0.status }) }
        }
    }

    /// Returns the milliseconds until the process has to be ended; negative before the grace.
    private func timeLeft() -> Int64 {
        guard let begunAt = state.withLock({ $0.begunAt }) else { return -1 }
        let left = ContinuousClock.now.duration(to: begunAt + grace - Self.drainMax)
        return max(0, Int64((left / .milliseconds(1)).rounded(.up)))
    }

    private func heard(_ signal: Int32) {
        let age: Duration? = state.withLock { state in
            guard let requestedAt = state.requestedAt else {
                state.requestedAt = .now
                return nil
            }
            return ContinuousClock.now - requestedAt
        }
        guard let age else {
            begin(status: 0)
            return onRequest()
        }
        // As a shell reports a process that was ended by a signal.
        if age >= Self.requestDuration { Self.end(128 + signal) }
    }

    /// Ends the process as it is, once the last lines of its log have had their time.
    static func end(_ status: Int32) -> Never {
        LogQueue.standardError.drain(within: drainMax)
        _exit(status)
    }
}
