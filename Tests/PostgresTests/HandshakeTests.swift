import PollLoop
import Foundation
import Glibc
@testable import Postgres
import Synchronization
import Testing
import TransferTestSupport

/// Connection attempts that block, as a lookup does while name servers are silent.
///
/// A service file that is a FIFO holds libpq at the same place for as long as the test wants.
@Suite(.postgresSchema, .serialized, .timeLimit(.minutes(2))) struct HandshakeTests {
    /// A service file that nobody has written yet.
    private final class BlockingFile: Sendable {
        let path: String
        private let folder: TestFolder

        init() throws {
            folder = try TestFolder("handshake")
            path = "\(folder.path)/services"
            #expect(mkfifo(path, 0o600) == 0)
            // This is read when a connection string names a service; no other test's does.
            setenv("PGSERVICEFILE", path, 1)
        }

        deinit { unsetenv("PGSERVICEFILE") }

        /// Returns the end to write to once libpq has opened the other one.
        func reader() async throws -> FileHandle {
            var end: Int32 = -1
            try await eventually("libpq reads the service file") {
                end = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                return end >= 0
            }
            return FileHandle(fileDescriptor: end, closeOnDealloc: true)
        }
    }

    private static func configuration(connectTimeout: Duration) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(url: "service=slow")
        configuration.connectTimeout = connectTimeout
        return configuration
    }

    /// The connection string of the test's database, as a section of a service file.
    private static var section: String {
        let url = TestDatabase.current.configuration.url.replacingOccurrences(of: "'", with: "")
        return "[slow]\n" + url.split(separator: " ").joined(separator: "\n") + "\n"
    }

    @Test func anOpeningThatBlocksHoldsUpNoOtherConnection() async throws {
        let file = try BlockingFile()
        let database = TestDatabase.current
        let other = try await database.connection()
        // The opening blocks for longer than the other connection has for its answer.
        let configuration = Self.configuration(connectTimeout: .seconds(60))
        let isAnswered = Mutex(false)
        let isAnsweredNow = { @Sendable in isAnswered.withLock { $0 } }
        let answered = { @Sendable in isAnswered.withLock { $0 = true } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let opened = try await Connection.open(configuration, on: database.loop)
                #expect(try await opened.execute("SELECT 1 AS one").count == 1)
                await opened.close()
            }
            let end = try await file.reader()
            defer { try? end.close() }
            group.addTask {
                _ = try await other.execute("SELECT 1 AS one")
                answered()
            }
            try await eventually("the other connection answers") { isAnsweredNow() }
            try end.write(contentsOf: Data(Self.section.utf8))
            try end.close()
            try await group.waitForAll()
        }
    }

    @Test func aHostThatDoesNotAnswerIsPassedOver() async throws {
        let silent = try SilentListener()
        let database = TestDatabase.current
        let aside = try await database.connection()
        let row = try await aside.execute(
            """
            SELECT current_setting('port') AS port,
                trim('"' FROM current_setting('unix_socket_directories')) AS folder
            """
        )[0]
        let port: String = try row.decode("port")
        let folder: String = try row.decode("folder")
        var configuration = ConnectionConfiguration(
            url: database.configuration.url
                + " host='127.0.0.1,\(folder)' port=\(silent.port),\(port) connect_timeout=2"
        )
        configuration.connectTimeout = .seconds(30)
        let opened = try await Connection.open(configuration, on: database.loop)
        #expect(try await opened.execute("SELECT 1 AS one").count == 1)
        await opened.close()
        withExtendedLifetime(silent) {}
    }

    @Test(arguments: [
        ("host=a", 5), ("host=10.0.0.1,10.0.0.2", 8), ("host=/run,::1,10.0.0.1", 11),
        // A name may have four addresses.
        ("host=a,b", 26), ("host=10.0.0.1,b", 17), ("host=a,b connect_timeout=10", 75),
        ("host=a,b hostaddr=10.0.0.1,10.0.0.2", 8),
        ("host=a,b connect_timeout=0", 26), ("host=10.0.0.1,10.0.0.2 connect_timeout=1", 7),
        ("host=a\(String(repeating: ",b", count: 50))", 125),
    ])
    func eachFurtherAddressAddsItsTime(url: String, seconds: Int) {
        #expect(ConnectionConfiguration(url: url).openingTimeout == .seconds(seconds))
    }

    @Test func theHostsThatDoNotAnswerAreNamed() async throws {
        let (first, second) = (try SilentListener(), try SilentListener())
        var configuration = ConnectionConfiguration(
            url: "host=127.0.0.1,127.0.0.1 port=\(first.port),\(second.port) user=x dbname=x "
                + "connect_timeout=30"
        )
        // It is given up after a second, long before libpq passes over the first of them.
        configuration.connectTimeout = .seconds(-29)
        let failure = await #expect(throws: PostgresError.self) {
            _ = try await Connection.open(configuration, on: TestDatabase.current.loop)
        }
        let text = try #require(failure).debugDescription
        #expect(text.contains(#"none of the hosts "127.0.0.1, 127.0.0.1" answered"#))
        #expect(text.contains("connect_timeout"))
        withExtendedLifetime((first, second)) {}
    }

    /// Otherwise a silent host would hold a thread for as long as the kernel tries.
    @Test(arguments: [("host=a,b", 0), ("host=a connect_timeout=10", 0), ("connect_timeout=0", 1)])
    func noHostIsWaitedForWithoutALimit(url: String, count: Int) throws {
        let parameters = ConnectionConfiguration(url: url).connectionParameters
        let place = try #require(parameters.firstIndex { $0.keyword == "dbname" })
        let overriding = parameters[place...].filter { $0.keyword == "connect_timeout" }
        #expect(overriding.map(\.value) == Array(repeating: "3", count: count))
    }

    /// The name's next address is tried then: `PQconnectPoll` goes on as after a refusal.
    @Test func anAddressThatDoesNotAnswerIsGivenUp() async throws {
        let silent = try SilentListener()
        // Linux drops what would open a connection for which the queue has no room (listen(2)).
        let filling = (0..<32).map { _ in Self.begunConnection(to: silent.port) }
        defer { for descriptor in filling { close(descriptor) } }
        var configuration = ConnectionConfiguration(
            url: "host=localhost port=\(silent.port) user=x dbname=x sslmode=disable"
        )
        configuration.connectTimeout = .seconds(2)
        let handshake = Handshake(configuration)
        let failure = await withCheckedContinuation {
            (continuation: CheckedContinuation<Handshake.Failure?, Never>) in
            handshake.start { result in
                switch result {
                case .success: continuation.resume(returning: nil)
                case .failure(let failure): continuation.resume(returning: failure)
                }
            }
        }
        #expect(failure?.summary == "the server did not answer in time")
        #expect(failure?.details.contains("reset") == true)
        withExtendedLifetime(silent) {}
    }

    private static func begunConnection(to port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                _ = connect(descriptor, general, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }

    @Test(arguments: [(0, 35), (1, 35), (3, 95), (1000, 635)])
    func eachFurtherStatementAddsItsTime(count: Int, seconds: Int) {
        let configuration = ConnectionConfiguration(url: "")
        #expect(configuration.deadline(ofStatements: count) == .seconds(seconds))
    }

    @Test func anOpeningThatBlocksFailsInTime() async throws {
        let file = try BlockingFile()
        let configuration = Self.configuration(connectTimeout: .milliseconds(100))
        let failure = await #expect(throws: PostgresError.self) {
            _ = try await Connection.open(configuration, on: TestDatabase.current.loop)
        }
        #expect(failure?.code == .connectionFailed)
        // A connection opened by then is closed without a user.
        let end = try await file.reader()
        try end.write(contentsOf: Data(Self.section.utf8))
        try end.close()
    }
}
