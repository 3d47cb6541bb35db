import Synchronization
import Testing
import TransferHTTP
import TransferModel

@testable import transferd

/// What an instance says of itself between its start and its end.
@Suite struct HealthMonitorTests {
    @Test func isReadyOnceAllPartsRunAlsoBeforeTheFirstCheckOfTheDatabase() {
        let monitor = HealthMonitor()
        #expect(monitor.readiness == .notReady(reason: "starting"))
        monitor.started()
        #expect(monitor.readiness == .ready)
    }

    @Test func isNotReadyWhileTheLastCheckHasFailed() {
        let monitor = HealthMonitor()
        monitor.failed("no connection")
        monitor.started()
        #expect(monitor.readiness == .notReady(reason: "database away: no connection"))
        monitor.waits(for: nil)
        #expect(monitor.readiness == .ready)
    }

    @Test func isNotReadyWhileTheDatabaseHasNoSpace() {
        let monitor = HealthMonitor()
        let isFull = Mutex(true)
        monitor.asks { isFull.withLock { $0 } }
        monitor.started()
        #expect(monitor.readiness == .notReady(reason: "the database has no space left"))
        #expect(monitor.isDatabaseFull)
        isFull.withLock { $0 = false }
        #expect(monitor.readiness == .ready)
    }

    @Test func isNotReadyWhileADatabaseThatAnswersRecordsNoHeartbeat() {
        let monitor = HealthMonitor()
        let identity = WorkerIdentity(incarnation: 1)
        monitor.tell(of: identity, nil)
        monitor.started()
        #expect(monitor.readiness == .ready)
        identity.trust(until: .now)
        let reason = "the database refuses heartbeats; the log says why"
        #expect(monitor.readiness == .notReady(reason: reason))
        // Whoever is away refuses nothing.
        monitor.failed("no connection")
        #expect(monitor.readiness == .notReady(reason: "database away: no connection"))
    }

    @Test func isNotReadyAgainOnceItShutsDown() {
        let monitor = HealthMonitor()
        monitor.drain()
        monitor.started()
        #expect(monitor.readiness == .notReady(reason: "shutting down"))
    }
}
