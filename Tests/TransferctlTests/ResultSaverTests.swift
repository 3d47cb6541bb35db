import Foundation
import Synchronization
import Testing
import TransferClient
import TransferTestSupport

@testable import transferctl

@Suite(.timeLimit(.minutes(1))) struct ResultSaverTests {
    /// A service with one task that has ended, which it removes once it has refused to so often.
    private final class Service: TransferTransport {
        private let refusals: Mutex<Int>
        private let seen = Mutex<[String]>([])
        private let (events, source) = AsyncThrowingStream<[UInt8], any Error>.makeStream()

        init(refusals: Int) { self.refusals = Mutex(refusals) }

        /// The requests about the task.
        var requests: [String] { seen.withLock { $0.filter { $0.contains("/v1/tasks/") } } }

        func send(
            _ request: TransportRequest
        ) async throws(TransportFailure) -> TransportResponse {
            let target = "\(request.method) \(request.url.dropFirst("http://service".count))"
            seen.withLock { $0.append(target) }
            switch target {
            case "GET /v1/sessions/s/events":
                return TransportResponse(
                    status: 200,
                    headers: [("Content-Type", "text/event-stream")],
                    body: events
                )
            case "PUT /v1/sessions/s": return Self.response(201, Self.session)
            case "POST /v1/sessions/s/reconnect":
                let page = #"{"lease_token": "lease", "items": [{"ok": \#(Self.task)}]}"#
                return Self.response(200, page)
            case "GET /v1/tasks/7/content":
                return Self.response(200, "abc", [("ETag", #""7-1""#), ("Content-Length", "3")])
            case "DELETE /v1/tasks/7":
                let isRefused = refusals.withLock { refusals in
                    refusals -= 1
                    return refusals >= 0
                }
                return Self.response(isRefused ? 503 : 204)
            case "GET /v1/tasks/7": return Self.response(200, Self.task)
            default: return Self.response(204)
            }
        }

        private static func response(
            _ status: Int,
            _ text: String = "",
            _ headers: [(name: String, value: String)] = []
        ) -> TransportResponse {
            let body = AsyncThrowingStream<[UInt8], any Error> { source in
                source.yield(Array(text.utf8))
                source.finish()
            }
            return TransportResponse(status: status, headers: headers, body: body)
        }

        private static let session = #"""
            {"client": "default", "identifier": "s", "id": "s", "kind": "background",
            "generation": 0, "configuration": {"header_names": [], "is_discretionary": false},
            "outstanding": 0, "completed": 1, "failed": 0, "cancelled": 0, "task_counts": {},
            "bytes_received": 0, "bytes_sent": 0, "last_event_sequence": 0, "is_finishing": false,
            "created_at": "2026-03-01T12:00:00Z"}
            """#

        private static let task = #"""
            {"id": "7", "client": "default", "session_identifier": "s", "kind": "download",
            "method": "GET", "state": "completed", "url_session_state": "completed",
            "url": "http://o/file", "client_persisted_string": "mine", "priority": 0.5,
            "attempt": 1, "count_of_bytes_received": 3, "count_of_bytes_expected_to_receive": 3,
            "count_of_bytes_sent": 0, "count_of_bytes_expected_to_send": -1,
            "created_at": "2026-03-01T12:00:00Z"}
            """#
    }

    /// It would be brought again, under another name.
    @Test func aFileThatIsThereIsNoFailureOfItsTask() async throws {
        let transport = Service(refusals: 1)
        let folder = try TestFolder("saver")
        var service = TransferService(url: "http://service", apiKey: "key", transport: transport)
        service.retryPolicy = RetryPolicy(attemptsMax: 1)
        let session = TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: service
        )
        let task = try #require(try await session.reconnect().compactMap { try? $0.get() }.first)
        let saver = ResultSaver(folder: URL(filePath: folder.path), reporter: ProgressReporter())
        let file = try await saver.save(task)
        #expect(try String(contentsOf: file, encoding: .utf8) == "abc")
        let removals = { transport.requests.filter { $0.hasPrefix("DELETE") }.count }
        #expect(removals() == 1)
        await saver.removeRest()
        await saver.removeRest()
        #expect(removals() == 2)
        try await session.close()
    }
}
