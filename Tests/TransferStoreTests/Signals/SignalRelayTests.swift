import FaultProxy
import Logging
import Postgres
import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct SignalRelayTests {
    /// An instance that records the signals it receives.
    private final class Instance: Sendable {
        private let all = Mutex<[Set<Signal>]>([])
        private let hosts = Mutex<[Set<HostKey>]>([])
        private let connects = Mutex(0)

        var heard: [Set<Signal>] { all.withLock { $0 } }
        var heardHosts: [Set<HostKey>] { hosts.withLock { $0 } }
        var connectCount: Int { connects.withLock { $0 } }
        func hear(_ signals: Set<Signal>, at hosts: Set<HostKey>) {
            all.withLock { $0.append(signals) }
            self.hosts.withLock { $0.append(hosts) }
        }
        func forget() {
            all.withLock { $0 = [] }
            hosts.withLock { $0 = [] }
        }

        func relay(
            checkInterval: Duration = SignalRelay.checkIntervalDefault,
            logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            _ connect: @escaping @Sendable () async throws(PostgresError) -> Connection
        ) -> SignalRelay {
            SignalRelay(
                channel: TestDatabase.current.schema,
                checkInterval: checkInterval,
                logger: logger,
                connect: { [self] () async throws(PostgresError) in
                    connects.withLock { $0 += 1 }
                    return try await connect()
                },
                onSignals: { [self] in hear($0, at: $1) }
            )
        }
    }

    /// Runs two connected relays while `body` runs, which starts with no received signals.
    private func withTwo(
        _ body: (_ first: (SignalRelay, Instance), _ second: (SignalRelay, Instance)) async throws
            -> Void
    ) async throws {
        let (first, second) = (Instance(), Instance())
        let database = TestDatabase.current
        let connect: @Sendable () async throws(PostgresError) -> Connection = {
            () async throws(PostgresError) in
            try await database.connection()
        }
        let relays = [first, second].map { $0.relay(connect) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for relay in relays { group.addTask { await relay.run() } }
            try await eventually("both are connected") {
                relays.allSatisfy(\.isConnected) && first.heard.count == 1
                    && second.heard.count == 1
            }
            first.forget()
            second.forget()
            try await body((relays[0], first), (relays[1], second))
            group.cancelAll()
        }
        #expect(!relays.contains { $0.isConnected })
    }

    @Test func tellsTheOthersAndNotItself() async throws {
        try await withTwo { first, second in
            first.0.send([.work])
            try await eventually("the other hears") { second.1.heard == [[.work]] }
            second.0.send([.events, .control])
            try await eventually("the other hears") {
                Set(first.1.heard) == [[.events], [.control]]
            }
            #expect(second.1.heard == [[.work]])
        }
    }

    @Test func namesHostsWithWorkAlone() async throws {
        try await withTwo { first, second in
            let hosts: Set = [HostKey(rawValue: .min), HostKey(rawValue: 7)]
            first.0.send([.work, .events], at: hosts)
            try await eventually("the other hears") { second.1.heard.count == 2 }
            #expect(Set(second.1.heardHosts) == [hosts, []])
            // As many as a message holds.
            let many = Set((0..<1000).map { HostKey(rawValue: Int64.max - $0) })
            first.0.send([.work], at: many)
            try await eventually("the other hears again") { second.1.heard.count == 3 }
            let named = try #require(second.1.heardHosts.last)
            #expect(named.count == Signal.hostsMax && named.isSubset(of: many))
        }
    }

    @Test func aBurstIsFewMessages() async throws {
        try await withTwo { first, second in
            let start = ContinuousClock.now
            for _ in 0..<1000 { first.0.send(Set(Signal.allCases)) }
            first.0.send([.work])
            let elapsed = ContinuousClock.now - start
            try await eventually("all kinds are heard") {
                Set(second.1.heard).count == Signal.allCases.count
            }
            // Two rounds, or three when the first was sent in the middle of the burst; and one more
            // for each interval that the burst lasts.
            let rounds = 3 + Int(elapsed / SignalRelay.sendInterval)
            #expect(second.1.heard.count <= rounds * Signal.allCases.count)
        }
    }

    @Test func comesBackWhenItsConnectionIsCutAndLooksAtEverything() async throws {
        try await withTwo { first, second in
            let admin = try await TestDatabase.current.connection()
            _ = try await admin.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE query LIKE 'LISTEN%' AND query LIKE \("%\(TestDatabase.current.schema)%")
                """
            )
            try await eventually("both connect again") {
                first.1.connectCount > 1 && second.1.connectCount > 1
                    && first.0.isConnected && second.0.isConnected && first.1.heard.count == 1
            }
            #expect(first.1.heard == [Set(Signal.allCases)])
            first.0.send([.deliveries])
            try await eventually("the other hears") { second.1.heard.last == [.deliveries] }
        }
    }

    @Test func whatIsToldWhileTheConnectionIsAwayIsSentLater() async throws {
        let (first, second) = (Instance(), Instance())
        let gate = Gate()
        let database = TestDatabase.current
        let relays = [
            first.relay { () async throws(PostgresError) in
                if gate.isClosed {
                    return try await Connection.open(
                        ConnectionConfiguration(url: "postgres://nobody@127.0.0.1:1/none"),
                        on: database.loop
                    )
                }
                return try await database.connection()
            },
            second.relay { () async throws(PostgresError) in try await database.connection() },
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for relay in relays { group.addTask { await relay.run() } }
            try await eventually("one is connected, one has tried again") {
                relays[1].isConnected && second.heard.count == 1 && first.connectCount > 1
            }
            #expect(!relays[0].isConnected)
            second.forget()
            relays[0].send([.work])
            gate.open()
            try await eventually("the other hears") { second.heard == [[.work]] }
            group.cancelAll()
        }
    }

    @Test(.postgresDatabase) func hearsTheOthersWhereItMayTellThemNothing() async throws {
        let (first, second) = (Instance(), Instance())
        let log = RecordingLog()
        let database = TestDatabase.current
        let aside = try await database.connection()
        let function = "EXECUTE ON FUNCTION pg_notify(text, text)"
        try await aside.executeScript("REVOKE \(function) FROM PUBLIC")
        let relays = [
            first.relay(logger: log.logger) { () async throws(PostgresError) in
                try await database.connection { $0.actAsService() }
            },
            second.relay { () async throws(PostgresError) in try await database.connection() },
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for relay in relays { group.addTask { await relay.run() } }
            try await eventually("both are connected") {
                relays.allSatisfy(\.isConnected) && first.heard.count == 1
                    && second.heard.count == 1
            }
            first.forget()
            second.forget()
            relays[0].send([.work])
            try await eventually("the server refuses it") {
                log.lines.contains { $0.contains("signals are not sent to other instances") }
            }
            relays[1].send([.events])
            try await eventually("it hears the other") { first.heard == [[.events]] }
            try await aside.executeScript("GRANT \(function) TO PUBLIC")
            try await eventually("the other hears it") { second.heard == [[.work]] }
            #expect(first.connectCount == 1)
            group.cancelAll()
        }
    }

    /// Otherwise it would hear nothing until it has something to say.
    @Test func comesBackWhenItsConnectionIsSilent() async throws {
        let instance = Instance()
        let database = TestDatabase.current
        let proxy = try await database.proxy()
        let relay = instance.relay(checkInterval: .milliseconds(20)) {
            () async throws(PostgresError) in
            try await database.connection(through: proxy.port) {
                $0.queryDeadline = .milliseconds(500)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await relay.run() }
            try await eventually("it is connected") { relay.isConnected }
            proxy.silenceConnections()
            try await eventually("it connects again") {
                relay.isConnected && instance.heard.count == 2
            }
            group.cancelAll()
        }
        proxy.stop()
    }

    @Test func whatIsToldLastIsSentBeforeItStops() async throws {
        let (first, second) = (Instance(), Instance())
        let database = TestDatabase.current
        let relays = [first, second].map {
            $0.relay { () async throws(PostgresError) in try await database.connection() }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await relays[1].run() }
            try await withThrowingTaskGroup(of: Void.self) { stopped in
                stopped.addTask { await relays[0].run() }
                try await eventually("both are connected") { relays.allSatisfy(\.isConnected) }
                // Within the time for which a second message would wait for its turn.
                relays[0].send([.work])
                try await eventually("the first is on its way") {
                    second.heard.contains([.work])
                }
                relays[0].send([.deliveries])
                stopped.cancelAll()
            }
            try await eventually("the last is heard") { second.heard.contains([.deliveries]) }
            group.cancelAll()
        }
    }

    /// A gate that lets nothing through until it is opened.
    private final class Gate: Sendable {
        private let state = Mutex(true)

        var isClosed: Bool { state.withLock { $0 } }
        func open() { state.withLock { $0 = false } }
    }
}
