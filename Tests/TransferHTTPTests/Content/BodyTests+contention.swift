import Dispatch
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import Postgres
import Testing
import TransferContainer
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

extension BodyTests {
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
            let container = try Container(directory: server.containers)
            let routes = BodyRoutes(
                stores: APIStores(Database(pool: pool)),
                container: container,
                staged: StagedBytes(in: container),
                bytesMax: 1_000_000,
                tell: { _ in },
                threads: threads
            )
            let request = Request(
                head: HTTPRequest(method: .put, scheme: nil, authority: nil, path: "\(path)/body"),
                body: RequestBody(buffer: ByteBuffer(string: "others"))
            )
            let late = Task { _ = try await routes.put(request, of: id, tenant: server.first.id) }
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
