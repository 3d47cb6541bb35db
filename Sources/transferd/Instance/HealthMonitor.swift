import Synchronization
import TransferEngine
import TransferHTTP
import TransferModel
import TransferStore
import TransferWire

/// The known state of the instance, from which health questions are answered.
///
/// The answer comes at once and at a constant cost, whatever is broken.
final class HealthMonitor: Sendable {
    /// The silence after which the database counts as away.
    ///
    /// It is far longer than an answer takes under load: an instance with a busy database can do
    /// more than one without a database.
    static let silenceMax: Duration = .seconds(5)

    private enum Phase {
        /// Some parts do not run yet; ends by ``started()``.
        case starting
        case running
        /// Nothing new is accepted; this phase never ends.
        case draining
    }

    private struct State {
        var phase = Phase.starting
        var lastAnswer: ContinuousClock.Instant?
        /// The reason why the last check was not answered.
        var failure: String?
        /// The obstacle that the start waits for while the database answers.
        var obstacle: String?
        var workers: Int?
        var pauses = PauseCounts()
        /// Whether commits wait for a synchronous standby that does not answer.
        var areCommitsWaiting = false
        /// The seconds by which this machine's clock was ahead of the database's at the last
        /// answer.
        var lastClockDifference: Double?
        /// Returns whether the database refuses changes because it has no space left.
        var lacksSpace: @Sendable () -> Bool = { false }
        /// The registration; nil on an instance that has none.
        var identity: WorkerIdentity?
        /// The engine; nil on an instance that runs no tasks.
        var engine: TransferEngine?

        var isDatabaseUp: Bool {
            failure == nil && (lastAnswer.map { .now - $0 < HealthMonitor.silenceMax } ?? false)
        }

        /// The reason why the database is away; nil if it answers or was not asked yet.
        var databaseReason: String? {
            if let failure { return failure }
            return lastAnswer == nil || isDatabaseUp ? nil : "no answer"
        }

        var isDatabaseFull: Bool { isDatabaseUp && lacksSpace() }

        var clockDifference: Double? { isDatabaseUp ? lastClockDifference : nil }

        /// The reason why the database answers and takes no changes; nil if it takes them.
        var refusal: String? {
            if isDatabaseFull { return HealthMonitor.fullReason }
            guard isDatabaseUp else { return nil }
            if areCommitsWaiting { return HealthMonitor.commitsReason }
            let isHeard = identity?.isTrusted(at: .now) ?? true
            return isHeard ? nil : HealthMonitor.heartbeatsReason
        }
    }

    /// What is told of a database that answers and refuses changes.
    private static let fullReason = "the database has no space left"
    /// What is told of a database that answers while no commit ends.
    private static let commitsReason = """
        commits do not finish: they wait for a synchronous standby (synchronous_standby_names)
        """
    /// What is told of a database that answers and records no heartbeats, as one that refuses all
    /// changes.
    private static let heartbeatsReason = "the database refuses heartbeats; the log says why"
    /// What is told of a database that fails to store how attempts have ended.
    private static let failingReason = "the database fails to store results; its log says why"
    /// What is told of a database that fails to give out tasks.
    private static let claimsReason = "the database fails to give out tasks; the log says why"

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
            return state.refusal.map { .notReady(reason: $0) } ?? .ready
        }
    }

    /// Whether the database answers, and then the number of workers.
    var database: (isUp: Bool, workers: Int?) {
        state.withLock { ($0.isDatabaseUp, $0.isDatabaseUp ? $0.workers : nil) }
    }

    /// The seconds by which this machine's clock is ahead of the database's; nil while the database
    /// does not tell.
    var clockDifference: Double? { state.withLock(\.clockDifference) }

    /// Whether the database answers, and refuses changes because it has no space left.
    var isDatabaseFull: Bool { state.withLock { $0.isDatabaseFull } }

    /// Returns what the database fails over for a reason of its own, although it answers.
    private static func failure(_ engine: TransferEngine) -> String? {
        if engine.isAnyEndFailed { return failingReason }
        return engine.areClaimsFailing ? claimsReason : nil
    }

    /// Records that all parts run.
    ///
    /// Their start has asked the database, so the instance is ready from now on and not only from
    /// the first check.
    func started() {
        state.withLock { state in
            guard case .starting = state.phase else { return }
            state.phase = .running
            state.lastAnswer = state.lastAnswer ?? .now
        }
    }

    /// Sets the registration, which is from now on asked whether heartbeats are recorded, and the
    /// engine, which is asked about shortages and the database's clock.
    func tell(of identity: WorkerIdentity?, _ engine: TransferEngine?) {
        state.withLock { ($0.identity, $0.engine) = (identity, engine) }
    }

    /// Sets the question whether the database refuses changes because it has no space left.
    func asks(lacksSpace: @escaping @Sendable () -> Bool) {
        state.withLock { $0.lacksSpace = lacksSpace }
    }

    /// Makes the instance report from now on that it is not ready.
    func drain() { state.withLock { $0.phase = .draining } }

    /// Records an answer of the database, with what it says.
    func answered(_ vitals: Vitals) {
        state.withLock { state in
            state.lastAnswer = .now
            state.failure = nil
            state.workers = vitals.workers
            state.pauses = vitals.pauses
            state.areCommitsWaiting = vitals.areCommitsWaiting
            state.lastClockDifference = vitals.clockDifference
        }
    }

    /// Records that the database did not answer, with a reason fit for operators.
    func failed(_ reason: String) { state.withLock { $0.failure = reason } }

    /// Records an obstacle to the start that is not the database's; nil ends it.
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
            let isDatabaseFull = state.isDatabaseFull
            let failure = state.isDatabaseUp ? state.engine.flatMap(Self.failure) : nil
            return HealthReport(
                version: version,
                libcurl: libcurl,
                roles: roles,
                isDatabaseUp: state.isDatabaseUp,
                isDatabaseFull: isDatabaseFull,
                isDatabaseFailing: failure != nil || state.refusal != nil,
                databaseReason: state.databaseReason ?? state.refusal ?? failure,
                signals: signals,
                databaseClockAhead: state.engine?.databaseClockAhead,
                clockDifference: state.clockDifference,
                shortages: state.engine?.shortages.current ?? [],
                pauses: state.pauses,
                workers: state.isDatabaseUp ? state.workers : nil,
                uptime: .now - startedAt
            )
        }
    }
}
