import Curl
import Foundation
import Logging
import Postgres
import ServiceLifecycle
import StandardWebhooks
import Synchronization
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// A store with a tenant, a subscriber, and dispatchers between them.
final class DeliveryFixture: Sendable {
    let receiver: WebhookReceiver
    let stores: Stores
    let tenant: TenantID
    let secret = SigningSecret.random()
    let worker: WorkerIdentity
    private let curl: CurlLoop
    let log = RecordingLog()

    init(connectionsMax: Int = 512) async throws {
        let database = TestDatabase.current
        let migrator = try Migrator(folder: Checkout.migrations, logger: log.logger)
        let connection = try await database.connection()
        try await migrator.migrate(connection)
        await connection.close()
        receiver = try WebhookReceiver()
        stores = Stores(Database(pool: database.pool()))
        curl = try CurlLoop(name: "webhooks-test", connectionsMax: connectionsMax)
        tenant = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "test",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "test"
            ),
            tenantName: "test"
        )
        worker = WorkerIdentity(incarnation: try await stores.workers.registerWorker(name: "test"))
    }

    deinit { curl.stop() }

    /// Makes another tenant.
    func anotherTenant() async throws -> TenantID {
        try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "other",
                secretSHA256: Array(repeating: 1, count: 32),
                name: "other"
            ),
            tenantName: "other"
        )
    }

    /// Subscribes a path of the receiver.
    @discardableResult
    func subscribe(
        _ path: String = "/hook",
        answers: [WebhookReceiver.Answer] = [],
        session: String? = nil,
        tenant: TenantID? = nil,
        _ change: (inout SubscriptionSettings) -> Void = { _ in }
    ) async throws -> SubscriptionID {
        try await subscribe(
            url: receiver.open(path, answers: answers),
            session: session,
            tenant: tenant,
            change
        )
    }

    @discardableResult
    func subscribe(
        url: String,
        session: String? = nil,
        tenant: TenantID? = nil,
        _ change: (inout SubscriptionSettings) -> Void = { _ in }
    ) async throws -> SubscriptionID {
        var settings = SubscriptionSettings(url: url)
        change(&settings)
        let subscription = Subscription(
            id: SubscriptionID(.version7()),
            tenant: tenant ?? self.tenant,
            sessionIdentifier: session,
            settings: settings,
            createdAt: Date()
        )
        _ = try await stores.subscriptions.createSubscription(subscription, secret: secret)
        return subscription.id
    }

    /// Enables or disables a subscription.
    func enable(_ id: SubscriptionID, _ isEnabled: Bool = true) async throws {
        var change = SubscriptionChange()
        change.isEnabled = isEnabled
        _ = try await stores.subscriptions.changeSubscription(tenant: tenant, id: id, change)
    }

    /// Writes `count` events of a session, which is made if it does not exist.
    @discardableResult
    func happen(
        _ count: Int,
        in session: String = "nightly",
        of client: ClientID = .default,
        tenant: TenantID? = nil,
        clientString: String? = nil
    ) async throws -> [TaskID] {
        let tenant = tenant ?? self.tenant
        _ = try await stores.sessions.putSession(
            tenant: tenant,
            client: client,
            identifier: session,
            configuration: SessionConfiguration()
        )
        let submissions = (0..<count).map { _ in
            TaskSubmission(
                id: TaskID(.version7()),
                url: "http://origin.test/",
                hostKey: HostKey(host: "origin.test", port: 80),
                clientString: clientString.flatMap { ClientString($0) }
            )
        }
        _ = try await stores.submissions.submit(
            submissions,
            tenant: tenant,
            client: client,
            sessionIdentifier: session
        )
        return submissions.map(\.id)
    }

    /// Runs a dispatcher while `body` runs, and then shuts it down gracefully until it ends;
    /// `whileStopping` runs once the shutdown has started.
    func withDispatcher<Value: Sendable>(
        schedule: DeliverySchedule = DeliverySchedule(
            waits: Array(repeating: .milliseconds(10), count: 100)
        ),
        health: DeliveryHealth = .unfailing,
        latestDate: @escaping @Sendable () -> Date? = { nil },
        egress: EgressGuard = EgressGuard { _ in true },
        _ change: (inout DeliveryBounds) -> Void = { _ in },
        whileStopping: @Sendable () -> Void = {},
        body: @Sendable (WebhookDispatcher) async throws -> Value
    ) async throws -> Value {
        var bounds = DeliveryBounds()
        bounds.pollInterval = .milliseconds(20)
        // What is under way when the test has seen enough is recorded, not given back.
        bounds.shutdownGrace = .seconds(30)
        change(&bounds)
        let dispatcher = WebhookDispatcher(
            stores: WebhookStores(stores.database),
            worker: worker,
            curl: curl,
            egress: egress,
            schedule: schedule,
            health: health,
            bounds: bounds,
            linkBase: "https://transfer.test",
            version: "1.2.3",
            now: Self.tickingClock(),
            latestDate: latestDate,
            logger: log.logger
        )
        let group = ServiceGroup(services: [dispatcher], logger: log.logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result = await Result(catching: { try await body(dispatcher) })
            await group.triggerGracefulShutdown()
            whileStopping()
            try await tasks.waitForAll()
            return try result.get()
        }
    }

    /// Runs a dispatcher under a separate registration until `body` is done, and ends it so that
    /// none of its later writes counts: its registration is gone before.
    func withKilledDispatcher(body: @Sendable () async throws -> Void) async throws {
        let worker = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "killed")
        )
        var bounds = DeliveryBounds()
        bounds.pollInterval = .milliseconds(20)
        bounds.shutdownGrace = .zero
        let dispatcher = WebhookDispatcher(
            stores: WebhookStores(stores.database),
            worker: worker,
            curl: curl,
            egress: EgressGuard { _ in true },
            schedule: DeliverySchedule(waits: Array(repeating: .milliseconds(10), count: 100)),
            health: .unfailing,
            bounds: bounds,
            linkBase: "https://transfer.test",
            version: "1.2.3",
            now: Self.tickingClock(),
            logger: log.logger
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await dispatcher.run() }
            try await body()
            try await execute("DELETE FROM worker WHERE incarnation = \(worker.incarnation)")
            _ = try await stores.workers.takeOver(silentFor: .seconds(3600), identity: self.worker)
            tasks.cancelAll()
        }
    }

    /// Returns the database's record of the only delivery.
    func delivery() async throws -> StoredDelivery { try await deliveries()[0] }

    /// Returns the database's records of all deliveries, in any order.
    func deliveries() async throws -> [StoredDelivery] {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(
            """
            SELECT acknowledged_sequence, attempt, attempted_at IS NOT NULL AS is_tried, last_status, last_error, fence,
                due_at <= clock_timestamp() AS is_due,
                extract(epoch FROM due_at - clock_timestamp())::double precision AS wait
            FROM delivery
            """
        )
        await connection.close()
        return try rows.map { try StoredDelivery($0) }
    }

    /// Returns the database's record of the only delivery once it meets `condition`.
    func delivery(
        when condition: (StoredDelivery) -> Bool
    ) async throws -> StoredDelivery {
        while true {
            try Task.checkCancellation()
            let delivery = try await delivery()
            if condition(delivery) { return delivery }
        }
    }

    /// Returns the database's record of the only delivery once it was tried and nobody holds it.
    func settledDelivery() async throws -> StoredDelivery {
        try await delivery { $0.fence == nil && $0.isTried }
    }

    /// Returns the count that a statement has counted.
    func count(_ query: Query) async throws -> Int64 {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(query)
        await connection.close()
        return try rows[0].decode("count")
    }

    /// Runs a statement beside the store.
    func execute(_ query: Query) async throws { try await execute([query]) }

    func execute(_ queries: [Query]) async throws {
        let connection = try await TestDatabase.current.connection { $0.applicationName = "aside" }
        _ = try await connection.execute(queries)
        await connection.close()
    }

    /// Returns a clock that is a second later at each look, so that no test waits for a time of
    /// day.
    private static func tickingClock() -> @Sendable () -> Date {
        let clock = Clock(start: Date())
        return { clock.now }
    }

    private final class Clock: Sendable {
        let start: Date
        let looks = Atomic<Int>(0)

        init(start: Date) { self.start = start }

        var now: Date {
            start.addingTimeInterval(Double(looks.add(1, ordering: .relaxed).newValue))
        }
    }
}

extension DeliveryHealth {
    /// A health that pauses no receiver, for tests of something else.
    static var unfailing: DeliveryHealth {
        var health = DeliveryHealth()
        health.failuresMax = 1_000_000
        health.throttleDefault = .zero
        return health
    }
}

/// A row of the table of deliveries.
struct StoredDelivery {
    let acknowledgedSequence: Int64
    let attempt: Int16
    let lastStatus: Int16?
    let lastError: String?
    let fence: Int64?
    let isTried: Bool
    let isDue: Bool
    /// The seconds until it is due; nil while it is idle.
    let wait: Double?

    init(_ row: Row) throws {
        acknowledgedSequence = try row.decode("acknowledged_sequence")
        attempt = try row.decode("attempt")
        lastStatus = try row.decodeIfPresent("last_status")
        lastError = try row.decodeIfPresent("last_error")
        fence = try row.decodeIfPresent("fence")
        isTried = try row.decode("is_tried")
        isDue = try row.decodeIfPresent("is_due") ?? false
        wait = try row.decodeIfPresent("wait")
    }
}

extension Result where Failure == any Error {
    fileprivate init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
