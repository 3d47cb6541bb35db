import Synchronization
import TransferEngine
import TransferHTTP
import TransferModel
import TransferWire

/// What is known of how the instance is: health questions are answered from here, at once and at a
/// constant cost, whatever is broken.
final class HealthMonitor: Sendable {
    /// A database that says nothing for as long is away.
    ///
    /// Far above what load makes of an answer: an instance whose database is busy can do more than
    /// none.
    static let silenceMax: Duration = .seconds(5)

    private enum Phase {
        /// Not all parts run; ends by ``started()``.
        case starting
        case running
        /// Nothing more is taken; for good.
        case draining
    }

    private struct State {
        var phase = Phase.starting
        var lastAnswer: ContinuousClock.Instant?
        /// Why the last question was not answered.
        var failure: String?
        /// What the start waits for while the database answers.
        var obstacle: String?
        var workers: Int?
        /// Nil where no tasks are run.
        var engine: TransferEngine?

        var isDatabaseUp: Bool {
            failure == nil && (lastAnswer.map { .now - $0 < HealthMonitor.silenceMax } ?? false)
        }

        /// Nil for a database that answers, or that was not asked yet.
        var databaseReason: String? {
            if let failure { return failure }
            return lastAnswer == nil || isDatabaseUp ? nil : "no answer"
        }
    }

    private let state = Mutex(State())
    private let startedAt = ContinuousClock.now

    var readiness: Readiness {
        state.withLock { state in
            if case .draining = state.phase { return .notReady(reason: "shutting down") }
            if let reason = state.databaseReason {
                return .notReady(reason: "database away: \(reason)")
            }
            guard case .running = state.phase, state.isDatabaseUp else {
                return .notReady(reason: state.obstacle.map { "starting: \($0)" } ?? "starting")
            }
            return .ready
        }
    }

    /// All parts run.
    func started() {
        state.withLock { state in
            if case .starting = state.phase { state.phase = .running }
        }
    }

    /// From now on it is asked what it is short of, and what it thinks of the database's clock.
    func tell(of engine: TransferEngine) { state.withLock { $0.engine = engine } }

    /// From now on the instance says that it is not ready.
    func drain() { state.withLock { $0.phase = .draining } }

    /// The database has answered, with the number of workers.
    func answered(workers: Int) {
        state.withLock { state in
            state.lastAnswer = .now
            state.failure = nil
            state.workers = workers
        }
    }

    /// The database has not answered, for a reason that operators may be told; nil when that is over.
    func failed(_ reason: String?) { state.withLock { $0.failure = reason } }

    /// The start waits for what is not the database's; nil when that is over.
    func waits(for obstacle: String?) {
        state.withLock { state in
            state.failure = nil
            state.obstacle = obstacle
        }
    }

    func report(
        version: String,
        libcurl: HealthDocument.Library,
        roles: Set<InstanceRole>,
        signals: SignalStatus
    ) -> HealthReport {
        state.withLock { state in
            HealthReport(
                version: version,
                libcurl: libcurl,
                roles: roles,
                isDatabaseUp: state.isDatabaseUp,
                databaseReason: state.databaseReason,
                signals: signals,
                databaseClockAhead: state.engine?.databaseClockAhead,
                shortages: state.engine?.shortages.current ?? [],
                workers: state.isDatabaseUp ? state.workers : nil,
                uptime: .now - startedAt
            )
        }
    }
}
