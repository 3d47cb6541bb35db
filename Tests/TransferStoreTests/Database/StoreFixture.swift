import Foundation
import Logging
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// A migrated schema with a tenant and a worker, and shortcuts for tests.
struct StoreFixture: Sendable {
    static let identifier = "nightly"
    static let hostKey = HostKey(host: "origin.test", port: 443)
    static let failure = TransferFailure(.connectionLost, "The connection broke.")
    static let result = TransferResult(
        httpStatus: 200,
        bytesReceived: 42,
        fields: KeptFields(of: [("Content-Type", "text/plain"), ("ETag", "\"1\"")]),
        isLengthVerified: true
    )

    /// The settings of stores that wait longer than in service, because tests hold them up.
    static var settings: StoreSettings {
        var settings = StoreSettings()
        settings.briefLockTimeout = .seconds(20)
        settings.submissionWaitMax = .seconds(60)
        settings.launchWaitMax = .seconds(60)
        return settings
    }

    let stores: Stores
    let tenant: TenantID
    let worker: WorkerIdentity
    /// A connection for observing the database beside the store.
    let aside: Connection

    init(connectionsMax: Int = 8) async throws {
        let database = TestDatabase.current
        aside = try await database.connection()
        try await Self.migrator().migrate(aside)
        try await ServiceRole(name: TestDatabase.serviceRole).grant(aside)
        // Nothing that a store does may need more rights than the service has.
        let pool = database.pool(connectionsMax: connectionsMax) { $0.actAsService() }
        stores = Stores(Database(pool: pool, settings: Self.settings))
        tenant = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "test",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "test"
            ),
            tenantName: "test"
        )
        worker = WorkerIdentity(incarnation: try await stores.workers.registerWorker(name: "test"))
        try await putSession()
    }

    static func migrator(folder: String = Checkout.migrations) throws -> Migrator {
        try Migrator(
            folder: folder,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @discardableResult
    func putSession(
        _ identifier: String = StoreFixture.identifier,
        _ configuration: SessionConfiguration = SessionConfiguration(),
        of client: ClientID = .default,
        kind: Session.Kind? = nil
    ) async throws -> Session {
        let result = try await stores.sessions.putSession(
            tenant: tenant,
            client: client,
            identifier: identifier,
            kind: kind,
            configuration: configuration
        )
        return try #require(result.session)
    }

    func session(
        _ identifier: String = StoreFixture.identifier,
        of client: ClientID = .default
    ) async throws -> Session {
        let found = try await stores.sessions.session(
            tenant: tenant,
            client: client,
            identifier: identifier
        )
        return try #require(found)
    }

    /// Submits `count` tasks, each as modified by `change`.
    @discardableResult
    func submit(
        _ count: Int = 1,
        to identifier: String = StoreFixture.identifier,
        of client: ClientID = .default,
        _ change: (inout TaskSubmission, Int) -> Void = { _, _ in }
    ) async throws -> [TaskID] {
        let submissions = Self.submissions(count, change)
        let result = try await stores.submissions.submit(
            submissions,
            tenant: tenant,
            client: client,
            sessionIdentifier: identifier
        )
        guard case .accepted = result else {
            Issue.record("not accepted: \(result)")
            return []
        }
        return submissions.map(\.id)
    }

    static func submissions(
        _ count: Int,
        _ change: (inout TaskSubmission, Int) -> Void = { _, _ in }
    ) -> [TaskSubmission] {
        let ids = UUID.consecutiveVersion7(count: count).map { TaskID($0) }
        return ids.enumerated().map { index, id in
            var submission = TaskSubmission(id: id, url: "https://origin.test/a", hostKey: hostKey)
            change(&submission, index)
            return submission
        }
    }

    /// Returns the progress of an attempt with a part file that the next attempt may continue.
    static func progress(
        of task: TaskID,
        fence: Fence,
        bytesReceived: Int64 = 600,
        ranges: ByteRangeSet? = nil
    ) -> AttemptProgress {
        AttemptProgress(
            task: task,
            fence: fence,
            bytesReceived: bytesReceived,
            bytesExpected: 1000,
            checkpoint: PartialDownload(
                partFence: fence,
                ranges: ranges,
                bootID: bootID,
                bytesDurable: 0,
                bytesTotal: 1000,
                validator: EntityValidator(stored: "\"1\"")
            )
        )
    }

    static let bootID = UUID()

    /// Gives attempts rows of their own, as their first progress does.
    func separate(_ claims: [TaskClaim]) async throws {
        try await stores.parts.recordProgress(
            claims.map { claim in
                AttemptProgress(
                    task: claim.task,
                    fence: claim.fence,
                    bytesReceived: 0,
                    bytesExpected: nil
                )
            }
        )
    }

    /// Waits until another connection waits for a lock that `holder` has.
    func eventuallyWaits(for holder: Connection) async throws {
        try await eventually("somebody waits for the lock") {
            try await countOfWaiting(for: holder) > 0
        }
    }

    /// Returns the number of connections that wait for a lock that `holder` has.
    func countOfWaiting(for holder: Connection) async throws -> Int64 {
        let pid: Int32 = try await holder.execute("SELECT pg_backend_pid() AS pid")[0].decode("pid")
        // A transaction sees `pg_stat_activity` as it first was, and `pg_locks` as it is.
        return try await count(
            """
            SELECT count(*) AS count FROM pg_locks
            WHERE NOT granted AND \(pid) = ANY (pg_blocking_pids(pid))
            """
        )
    }

    /// Returns the number of rows of a table, or of those that a condition after it names, that
    /// nobody has locked.
    func countOfUnlocked(_ rows: Query) async throws -> Int64 {
        try await count(
            "SELECT count(*) AS count FROM (SELECT FROM \(rows) FOR UPDATE SKIP LOCKED) r"
        )
    }

    func claim(
        _ limit: Int = 100,
        by identity: WorkerIdentity? = nil
    ) async throws -> [TaskClaim] {
        try await stores.queue.claimAny(limit, by: identity ?? worker)
    }

    /// Moves the attempts to pending renames.
    @discardableResult
    func beginRenames(_ claims: [TaskClaim]) async throws -> Set<TaskID> {
        try await stores.completions.end([], beginning: claims.map { PendingRename(of: $0) })
    }

    @discardableResult
    func end(
        _ claims: [TaskClaim],
        _ outcome: AttemptOutcome
    ) async throws -> Set<TaskID> {
        try await stores.completions.end(
            claims.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: outcome) }
        )
    }

    /// Ends an attempt that leaves `count` bytes for the next one.
    func end(
        _ claim: TaskClaim,
        _ outcome: AttemptOutcome,
        leaving count: Int64
    ) async throws {
        var partial = Self.progress(of: claim.task, fence: claim.fence).checkpoint
        partial?.bytesDurable = count
        let attemptEnd = AttemptEnd(
            task: claim.task,
            fence: claim.fence,
            outcome: outcome,
            bytesReceived: count,
            partial: partial
        )
        #expect(try await stores.completions.end([attemptEnd]) == [claim.task])
    }

    /// Completes attempts, and first begins the renames of those with a destination.
    @discardableResult
    func complete(_ claims: [TaskClaim]) async throws -> Set<TaskID> {
        let named = claims.filter { $0.destination != nil }
        try await beginRenames(named)
        return try await fetch(claims.filter { $0.destination == nil })
            .union(end(named, .completed))
    }

    /// Completes attempts with their own file, or with one that they have continued.
    @discardableResult
    func fetch(_ claims: [TaskClaim], part: Fence? = nil) async throws -> Set<TaskID> {
        try await stores.completions.end(
            claims.map {
                AttemptEnd(
                    task: $0.task,
                    fence: $0.fence,
                    outcome: .fetched(Self.result, part: part ?? $0.fence),
                    bytesReceived: Self.result.bytesReceived
                )
            }
        )
    }

    func task(_ id: TaskID) async throws -> TransferTask {
        try #require(try await stores.tasks.task(tenant: tenant, id: id))
    }

    func state(_ id: TaskID) async throws -> TransferState { try await task(id).state }

    func states(_ ids: [TaskID]) async throws -> [TransferState] {
        var states: [TransferState] = []
        for id in ids { states.append(try await state(id)) }
        return states
    }

    func events(
        _ identifier: String = StoreFixture.identifier,
        of client: ClientID = .default
    ) async throws -> [SessionEvent] {
        try #require(
            try await stores.events.events(
                tenant: tenant,
                client: client,
                sessionIdentifier: identifier,
                after: 0,
                limit: 100_000
            )?.items
        )
    }

    /// Returns another worker, registered and with heartbeats for a day.
    func otherWorker() async throws -> WorkerIdentity {
        let worker = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "other")
        )
        try await age(worker)
        return worker
    }

    /// Makes a worker appear to have sent heartbeats for a day without a gap.
    func age(_ identity: WorkerIdentity) async throws {
        _ = try await aside.execute(
            """
            UPDATE worker SET alive_since = clock_timestamp() - interval '1 day',
                heartbeat_at = clock_timestamp() WHERE incarnation = \(identity.incarnation)
            """
        )
    }

    /// Makes a worker appear silent for an hour.
    func silence(_ identity: WorkerIdentity) async throws {
        _ = try await aside.execute(
            """
            UPDATE worker SET heartbeat_at = clock_timestamp() - interval '1 hour'
            WHERE incarnation = \(identity.incarnation)
            """
        )
    }

    func count(_ query: Query) async throws -> Int64 {
        try await aside.execute(query)[0].decode("count")
    }
}

extension PutSessionResult {
    /// The session, in every case that has one.
    var session: Session? {
        switch self {
        case .created(let session), .updated(let session): session
        case .conditionFailed, .configurationDiffers, .unknownClient, .sharedContainerRequired: nil
        }
    }

    var isCreated: Bool {
        if case .created = self { true } else { false }
    }
}

extension PendingRename {
    /// Makes the pending rename of an attempt whose part file is complete.
    init(of claim: TaskClaim, fence: Fence? = nil) {
        self.init(
            task: claim.task,
            fence: fence ?? claim.fence,
            partFence: claim.fence,
            tenant: claim.tenant,
            destination: claim.destination,
            result: StoreFixture.result,
            file: FileIdentity(inode: claim.fence.rawValue, bornAtNanoseconds: 1)
        )
    }
}
