import Curl
import PollLoop
import Foundation
import Logging
import Postgres
import ServiceLifecycle
import Testing
import TransferContainer
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Engines on a real database, a real file system and a real origin.
final class EngineFixture: Sendable {
    static let identifier = "nightly"
    /// An ephemeral session, once a test has put it.
    static let ephemeral = "private"
    private let folder: TestFolder
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    let origin: LoopbackOrigin
    let stores: Stores
    let tenant: TenantID
    /// The directory of all containers.
    let directory: String
    /// Signalled whenever an engine has ended tasks.
    private let ended = WakeSignal()

    /// Migrates the test's schema and makes a tenant with a session.
    ///
    /// - Parameter folder: the folder of the containers; a new one unless given.
    /// - Throws: the errors of the database, the origin or the file system.
    init(in folder: TestFolder? = nil) async throws {
        let database = TestDatabase.current
        let connection = try await database.connection()
        try await Migrator(folder: Checkout.migrations, logger: Self.logger).migrate(connection)
        await connection.close()
        origin = try LoopbackOrigin()
        // Longer than in service, because the load of this machine is not under test.
        stores = Stores(Database(pool: database.pool()))
        tenant = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "test",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "test"
            ),
            tenantName: "test"
        )
        self.folder = try folder ?? TestFolder("engine")
        directory = "\(self.folder.path)/containers"
        database.expectsRelease(of: self)
        // Hosts that are away are the subject of their own tests.
        var configuration = SessionConfiguration()
        configuration.options.waitsForConnectivity = false
        try await putSession(configuration)
    }

    deinit {
        origin.stop()
        // The first task with a file for it makes it.
        guard FileManager.default.fileExists(atPath: directory) else { return }
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            Issue.record("the directory of the test stays: \(error)")
        }
    }

    func putSession(
        _ configuration: SessionConfiguration = SessionConfiguration(),
        named identifier: String = identifier
    ) async throws {
        _ = try await stores.sessions.putSession(
            tenant: tenant,
            identifier: identifier,
            configuration: configuration
        )
    }

    /// Runs an engine while `body` runs, then shuts it down gracefully until it ends; `prepare` may
    /// act under the engine's identity before that.
    func withEngine<Value: Sendable>(
        on stores: Stores? = nil,
        disk: BlockingPool<TenantID>? = nil,
        removals: Removals = Removals(),
        pace: ClaimPace = ClaimPace(beside: TenantPresence()),
        _ change: (inout EngineConfiguration) -> Void = { _ in },
        prepare: (WorkerIdentity) async throws -> Void = { _ in },
        _ body: @Sendable (TransferEngine) async throws -> Value
    ) async throws -> Value {
        let stores = stores ?? self.stores
        var configuration = EngineConfiguration(egress: EgressGuard { _ in true })
        configuration.retryPolicy = RetryPolicy(
            attemptsMax: 3,
            delayBase: .milliseconds(1),
            delayMax: .milliseconds(2)
        )
        configuration.retryPolicy.attemptsInBackgroundMax = 0
        configuration.transferThreads = 3
        // No worker is late for its lease, however long a step takes.
        configuration.lease = .seconds(600)
        change(&configuration)
        let loops = try CurlLoops(
            name: "engine-test",
            count: configuration.transferThreads,
            connectionsMax: 2 * configuration.concurrency
        )
        defer { loops.stop() }
        let identity = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "test", leasesShards: true)
        )
        try await prepare(identity)
        let engine = try TransferEngine(
            stores: EngineStores(stores.database),
            identity: identity,
            container: Container(directory: directory),
            loops: loops,
            disk: disk,
            configuration: configuration,
            removals: removals,
            pace: pace,
            logger: Self.logger,
            onEvents: { [ended] in ended.signal() }
        )
        let keeper = LeaseKeeper(
            workers: stores.workers,
            identity: identity,
            configuration: configuration,
            leasesShards: true,
            logger: Self.logger,
            onLost: { engine.dropAttempts() }
        )
        let group = ServiceGroup(services: [keeper, engine], logger: Self.logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result: Result<Value, any Error>
            do { result = .success(try await body(engine)) } catch { result = .failure(error) }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try result.get()
        }
    }

    func putEphemeral() async throws {
        _ = try await stores.sessions.putSession(
            tenant: tenant,
            identifier: Self.ephemeral,
            kind: .ephemeral,
            configuration: SessionConfiguration()
        )
    }

    /// Submits a download of `url`, as modified by `change`.
    func submit(
        _ url: String,
        to session: String = identifier,
        of tenant: TenantID? = nil,
        _ change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TaskID {
        let parsed = try CurlURL(url)
        var submission = TaskSubmission(
            id: TaskID(.version7()),
            url: url,
            hostKey: HostKey(host: parsed.host, port: Int(parsed.port))
        )
        change(&submission)
        let result = try await stores.submissions.submit(
            [submission],
            tenant: tenant ?? self.tenant,
            sessionIdentifier: session
        )
        guard case .accepted = result else { throw CancellationError() }
        return submission.id
    }

    /// Makes another tenant with a session of the same name.
    func anotherTenant(_ name: String = "other") async throws -> TenantID {
        let tenant = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: name,
                secretSHA256: Array(repeating: 1, count: 32),
                name: name
            ),
            tenantName: name
        )
        _ = try await stores.sessions.putSession(
            tenant: tenant,
            identifier: Self.identifier,
            configuration: SessionConfiguration()
        )
        return tenant
    }

    /// Waits until it is kept where the origins of `count` uploads continue them: a connection that
    /// breaks earlier may take an origin's word of it along.
    func placesAreKept(_ count: Int = 1) async throws {
        let aside = try await TestDatabase.current.connection()
        try await eventually("the places are kept") {
            try await aside.execute("SELECT 1 FROM upload_resource").count >= count
        }
        await aside.close()
    }

    func task(_ id: TaskID) async throws -> TransferTask {
        try #require(try await stores.tasks.task(tenant: tenant, id: id))
    }

    func attempts(_ id: TaskID) async throws -> [AttemptRecord] {
        try #require(try await stores.tasks.attempts(tenant: tenant, task: id))
    }

    /// Returns the task once it has ended; for one waiter at a time.
    func ended(_ id: TaskID) async throws -> TransferTask {
        while true {
            let task = try await task(id)
            if task.state.isTerminal { return task }
            try Task.checkCancellation()
            await ended.wait()
        }
    }

    /// Returns the events of the session so far.
    func events() async throws -> [SessionEvent] {
        try #require(
            try await stores.events.events(
                tenant: tenant,
                sessionIdentifier: Self.identifier,
                after: 0,
                limit: 1000
            )?.items
        )
    }

    /// Waits until the part of a running task has `count` bytes and the database has recorded them.
    func received(_ count: Int, of id: TaskID) async throws {
        try await eventually("\(count) bytes have arrived") {
            try await task(id).bytesReceived == Int64(count)
        }
    }

    /// Waits until each of the tasks has ended, and expects all of them to be completed.
    func expectCompletion(
        _ ids: [TaskID],
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        for id in ids {
            let task = try await ended(id)
            #expect(
                task.state == .completed,
                "\(task.failure.debugDescription)",
                sourceLocation: location
            )
        }
    }

    /// Runs one download of `script` until it ends, with a separate engine.
    func download(
        _ script: OriginScript,
        retries: Bool = false,
        _ change: (inout TaskSubmission) -> Void = { _ in },
        configure: (inout EngineConfiguration) -> Void = { _ in }
    ) async throws -> TransferTask {
        origin.when("/file", script)
        let id = try await submit(origin.url("/file"), change)
        return try await withEngine { configuration in
            if !retries { configuration.retryPolicy.attemptsMax = 1 }
            configure(&configuration)
        } _: { _ in
            try await ended(id)
        }
    }
}

extension EngineFixture {
    /// The container of the tenant.
    var container: String { "\(directory)/\(tenant)" }

    /// Returns the bytes of a task's result.
    func content(_ task: TransferTask) throws -> [UInt8] {
        let path = try #require(
            ResultLocation.path(of: task.id, destination: task.destination, part: task.part)
        )
        return try content(path)
    }

    /// Returns the bytes of a file, or of the result in a pack that would have it.
    func content(_ path: String) throws -> [UInt8] {
        let file = try ContainerFile(
            Container.Place(path, tenant: tenant),
            in: Container(directory: directory)
        )
        var bytes = [UInt8](repeating: 0, count: Int(file.size))
        let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
        return Array(bytes.prefix(count))
    }

    /// Puts a file into the tenant's container before a test.
    func place(_ bytes: [UInt8], at path: String) throws {
        let url = URL(filePath: "\(container)/\(path)")
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(bytes).write(to: url)
    }

    /// Returns all files beneath the tenant's container, and in place of a pack the files that its
    /// results would have; not an empty one that may still be added to.
    func files() -> [String] {
        plainFiles().flatMap { path -> [String] in
            let place = Container.Place(path, tenant: tenant)
            guard place.isPack else { return [path] }
            do {
                let attempts = try Container(directory: directory).attempts(inPackAt: place)
                guard let attempts, attempts.isEmpty else {
                    return (attempts ?? []).map { task, fence in
                        ResultLocation.partPath(of: task, destination: nil, fence: fence)
                    }
                }
                return [path]
            } catch {
                Issue.record("a pack cannot be read: \(error)")
                return []
            }
        }
    }

    /// Returns all files beneath the tenant's container.
    func plainFiles() -> [String] {
        let found = FileManager.default.enumerator(atPath: container)
        return (found?.allObjects as? [String] ?? []).filter { path in
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(
                atPath: "\(container)/\(path)",
                isDirectory: &isDirectory
            )
                && !isDirectory.boolValue
        }
    }

    /// Returns the part files that are no results, by path.
    func parts() async throws -> [String: Fence] {
        let rows = try await TestDatabase.current.connection().execute(
            "SELECT part_fence FROM outcome WHERE part_fence IS NOT NULL"
        )
        let results = Set(
            try rows.map { row throws(PostgresError) in
                Fence(rawValue: try row.decode("part_fence"))
            }
        )
        var parts: [String: Fence] = [:]
        for path in files() {
            let fence =
                ResultLocation.fence(ofPart: path) ?? ResultLocation.attempt(ofPart: path)?.fence
            if let fence, !results.contains(fence) { parts[path] = fence }
        }
        return parts
    }

    /// Expects that no partial file stays behind.
    func expectNoParts(_ location: SourceLocation = #_sourceLocation) async throws {
        #expect(try await parts().isEmpty, sourceLocation: location)
    }
}
