import Foundation
import Glibc
import Testing
import TransferTestSupport

/// The log for an operator when the database goes away.
@Suite(.timeLimit(.minutes(5))) struct OutageTests {
    @Test func theLogSaysOnceThatTheDatabaseIsAwayAndOnceThatItIsBack() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        func count(_ message: String) throws -> Int {
            try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
                .count { $0.contains(#""message":"\#(message)""#) }
        }
        let service = try await ServiceProcess(in: directory, log: log)
        let client = try HTTPClient(service, key: directory.apiKey())
        try await eventually("the instance is ready") {
            await client.status("GET", "/readyz") == 200
        }
        let server = try #require(directory.databaseServer)
        kill(server, SIGKILL)
        try await eventually("it is said that the database is away") {
            try count("the database is away") > 0
        }
        // The service restarts the database.
        try await eventually("it is said that the database is back", within: .seconds(60)) {
            try count("the database answers again") > 0
        }
        #expect(try count("the database is away") == 1)
        #expect(try count("the database answers again") == 1)
        #expect(await service.terminate() == 0)
        #expect(try count("the database is away") == 1)
    }
}
