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
