import Foundation
import Testing
import TransferTestSupport
import TransferWire

/// What the plain log tells of those who are refused.
@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    @Test func refusalsAreLoggedWithWhoTheyConcern() async throws {
        let directory = try DataDirectory()
        let log = "\(directory.path).log"
        let service = try await ServiceProcess(in: directory, log: log)
        let key = try directory.apiKey()
        let client = HTTPClient(service, key: key)
        // The first key of a service has all scopes but this one.
        let denied = try await client.send("GET", "/v1/keys")
        #expect(denied.status == 403)
        let problem = try JSONDecoder().decode(ProblemDetails.self, from: Data(denied.body))
        let stranger = HTTPClient(service, key: "nonsense")
        #expect(await stranger.status("GET", "/v1/tenant") == 401)
        #expect(await service.terminate() == 0)

        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            .compactMap { line in
                try? JSONDecoder().decode([String: String].self, from: Data(line.utf8))
            }
            .filter { $0["message"] == "request refused" }
        let line = try #require(lines.first { $0["request_id"] == problem.requestID })
        #expect(line["status"] == "403")
        #expect(line["code"] == "insufficient_scope")
        #expect(line["scope"] == "admin")
        #expect(line["peer"] == "127.0.0.1")
        #expect(line["key_id"].map { key.contains("_\($0)_") } == true)
        #expect(line["tenant"].flatMap { UUID(uuidString: $0) } != nil)
        #expect(line["time"]?.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/#) != nil)
        #expect(lines.contains { $0["status"] == "401" && $0["code"] == "unauthorized" })
    }
}
