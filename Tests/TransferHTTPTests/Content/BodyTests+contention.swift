import Dispatch
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import Postgres
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

extension BodyTests {
    /// Returns the routes beside those of the server, to which all keys are good.
    static func routes(
        _ server: APIServer,
        _ database: Database? = nil,
        _ threads: NIOThreadPool = .singleton
    ) throws -> BodyRoutes {
        let container = try Container(directory: server.containers)
        return BodyRoutes(
            stores: APIStores(database ?? server.stores.database),
            container: container,
            staged: StagedBytes(in: container),
            bytesMax: 1_000_000,
            tell: { _ in },
            keys: KeyWatch(logger: Logger(label: "test")) { Set($0) },
            threads: threads
        )
    }

    /// Returns the holder of a key of the first tenant.
    static func caller(
        _ server: APIServer,
        expiresAt: ContinuousClock.Instant? = nil
    ) -> Caller {
        Caller(tenant: server.first.id, key: "key", scopes: [.submit], expiresAt: expiresAt)
    }

    @Test func aKeyThatEndsWithTheLastByteCompletesNothing() async throws {
        try await Self.run { server, path, id in
            let routes = try Self.routes(server)
            let request = Request(
                head: HTTPRequest(method: .put, scheme: nil, authority: nil, path: "\(path)/body"),
                body: RequestBody(asyncSequence: AsyncStream<ByteBuffer> { $0.finish() })
            )
            let caller = Self.caller(server, expiresAt: .now)
            let answer = Task { _ = try await routes.put(request, of: id, for: caller) }
            let problem = await #expect(throws: Problem.self) { try await answer.value }
            #expect(problem?.code == .unauthorized)
            let task = try await server.send("GET", path).json(TaskDocument.self)
            #expect(task.state == "suspended")
        }
    }

    /// When the second request looks, bytes are awaited; until it has the lock, another has brought
    /// them.
    @Test func aRequestThatGetsTheLockTooLateLeavesTheBytes() async throws {
        try await Self.run { server, path, id in
            let threads = NIOThreadPool(numberOfThreads: 1)
            threads.start()
            let gate = DispatchSemaphore(value: 0)
            defer {
                gate.signal()
                threads.shutdownGracefully { _ in }
            }
            threads.submit { _ in gate.wait() }
            let name = "late-\(id)"
            let pool = TestDatabase.current.pool(connectionsMax: 1) { $0.applicationName = name }
            let routes = try Self.routes(server, Database(pool: pool), threads)
            let request = Request(
                head: HTTPRequest(method: .put, scheme: nil, authority: nil, path: "\(path)/body"),
                body: RequestBody(buffer: ByteBuffer(string: "others"))
            )
            let caller = Self.caller(server)
            let late = Task { _ = try await routes.put(request, of: id, for: caller) }
            let connection = try await TestDatabase.current.connection()
            try await eventually("it has looked for its task") {
                try await !connection.execute(
                    """
                    SELECT 1 AS one FROM pg_stat_activity
                    WHERE application_name = \(name) AND state = 'idle'
                        AND query LIKE '%awaits_body%'
                    """
                ).isEmpty
            }
            #expect(try await Self.put(server, path).status == 200)
            gate.signal()
            let problem = await #expect(throws: Problem.self) { try await late.value }
            #expect(problem?.code == .bodyNotExpected)
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }
}
