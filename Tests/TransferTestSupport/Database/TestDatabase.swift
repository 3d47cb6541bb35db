package import PollLoop
package import FaultProxy
import Foundation
package import Postgres
import Synchronization

/// A separate schema for one test, in the temporary cluster of the test process.
///
/// The trait `.postgresSchema` provides it; everything made from it is closed after the test.
package final class TestDatabase: Sendable {
    @TaskLocal private static var bound: TestDatabase?

    /// The database of the running test.
    package static var current: TestDatabase {
        guard let bound else {
            preconditionFailure("give the test or its suite the trait .postgresSchema")
        }
        return bound
    }

    /// The configuration that leads to the schema: unqualified names are looked up and made in it.
    package let configuration: ConnectionConfiguration
    /// The name of the schema.
    package let schema: String
    /// The event loop of the tests' connections.
    package let loop: PollLoop
    private let pools = Mutex<[ConnectionPool]>([])
    private let connections = Mutex<[Connection]>([])
    /// Closures that say whether an object made for the test still exists.
    private let presences = Mutex<[@Sendable () -> Bool]>([])

    /// The role of the cluster that changes rows and defines nothing, as instances do.
    package static let serviceRole = "test_service"

    private let url: String

    private init(url: String, schema: String, loop: PollLoop) {
        self.url = url
        self.schema = schema
        self.loop = loop
        var configuration = ConnectionConfiguration(ofTestsTo: url)
        configuration.searchPath = Query.quoted(identifier: schema)
        configuration.applicationName = schema
        self.configuration = configuration
    }

    /// Makes a pool that is closed after the test.
    ///
    /// Its callers wait longer than in service, because the load of this machine is not under test.
    package func pool(
        connectionsMax: Int = 4,
        waitersMax: Int = ConnectionPool.waitersMaxDefault,
        waitTimeout: Duration = .seconds(60),
        depthMax: Int = ConnectionPool.depthMaxDefault,
        loops: (usual: PollLoop, long: PollLoop)? = nil,
        _ change: (inout ConnectionConfiguration) -> Void = { _ in }
    ) -> ConnectionPool {
        var configuration = configuration
        change(&configuration)
        let pool = ConnectionPool(
            configuration: configuration,
            connectionsMax: connectionsMax,
            waitersMax: waitersMax,
            waitTimeout: waitTimeout,
            depthMax: depthMax,
            loop: loops?.usual ?? loop,
            loopForLong: loops?.long
        )
        pools.withLock { $0.append(pool) }
        return pool
    }

    /// Makes a pool that leads through a proxy on 127.0.0.1, by default with one connection; it is
    /// closed after the test.
    package func pool(through port: UInt16, connectionsMax: Int = 1) -> ConnectionPool {
        let pool = ConnectionPool(
            configuration: configuration(through: port),
            connectionsMax: connectionsMax,
            waitTimeout: .seconds(60),
            loop: loop
        )
        pools.withLock { $0.append(pool) }
        return pool
    }

    private func configuration(through port: UInt16) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(
            ofTestsTo: "\(url) host=127.0.0.1 port=\(port) sslmode=disable"
        )
        configuration.searchPath = self.configuration.searchPath
        configuration.applicationName = schema
        return configuration
    }

    /// Starts a proxy in front of the server.
    package func proxy() async throws -> FaultProxy {
        let connection = try await connection()
        let rows = try await connection.execute(
            """
            SELECT btrim(current_setting('unix_socket_directories'), '"') || '/.s.PGSQL.'
                || current_setting('port') AS path
            """
        )
        await connection.close()
        return try FaultProxy(to: .socket(try rows[0].decode("path")))
    }

    /// Opens a connection that leads through a proxy on 127.0.0.1, if there is a port, and is
    /// closed after the test.
    package func connection(
        through port: UInt16? = nil,
        _ change: (inout ConnectionConfiguration) -> Void = { _ in }
    ) async throws(PostgresError) -> Connection {
        var configuration = port.map { self.configuration(through: $0) } ?? configuration
        change(&configuration)
        let connection = try await Connection.open(configuration, on: loop)
        connections.withLock { $0.append(connection) }
        return connection
    }

    /// Opens a connection to another cluster, such as a program's private one; the caller closes
    /// it.
    package static func connection(to url: String) async throws -> Connection {
        try await Connection.open(
            ConnectionConfiguration(ofTestsTo: url),
            on: TestDatabaseCluster.shared.loop.get()
        )
    }

    /// Makes the test fail when something still holds `object` after the test's end, such as
    /// `object` itself.
    package func expectsRelease(of object: some AnyObject & Sendable) {
        presences.withLock { $0.append { [weak object] in object != nil } }
    }

    /// Runs `body` with a new schema, in a new database when it is to be alone, and drops both
    /// afterwards.
    static func withSchema(
        isAlone: Bool,
        _ body: @Sendable () async throws -> Void
    ) async throws {
        let cluster = TestDatabaseCluster.shared
        let name = "test_\(UUID().uuidString.lowercased())"
        let identifier = Query.quoted(identifier: name)
        var url = try await cluster.url()
        if isAlone {
            try await cluster.execute("CREATE DATABASE \(identifier)")
            url += " dbname=\(name)"
        }
        let database = TestDatabase(url: url, schema: name, loop: try cluster.loop.get())
        try await database.executeOutside("CREATE SCHEMA \(identifier)")
        let outcome: Result<Void, any Error>
        do {
            try await $bound.withValue(database) { try await body() }
            try await eventually("nobody holds any more what the test has made") {
                !database.presences.withLock { $0.contains { $0() } }
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await database.close()
        try await database.executeOutside("DROP SCHEMA \(identifier) CASCADE")
        if isAlone { try await cluster.execute("DROP DATABASE \(identifier) WITH (FORCE)") }
        try outcome.get()
    }

    private func executeOutside(_ script: String) async throws {
        try await TestDatabaseCluster.execute(script, at: url, on: loop)
    }

    private func close() async {
        for pool in pools.withLock({ $0 }) { await pool.close() }
        for connection in connections.withLock({ $0 }) { await connection.close() }
    }
}

extension ConnectionConfiguration {
    /// Creates the configuration of a test's connection, with longer times than in service.
    ///
    /// A test may hold a lock for as long as it polls for who waits for it. That wait still ends
    /// before its statement's time does, so that the error names the lock.
    init(ofTestsTo url: String) {
        self.init(url: url)
        connectTimeout = .seconds(60)
        lockTimeout = .seconds(20)
    }

    /// Gives connections the rights of the service, which has to be granted them before.
    package mutating func actAsService() { serverSettings["role"] = TestDatabase.serviceRole }
}
