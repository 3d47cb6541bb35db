import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The hooks for tests of clients, and who does not have them.
@Suite(.postgresSchema) struct TestHookRouteTests {
    private static let hooks = "/v1/test-hooks/tasks"

    private static func ordinaryTenant(_ server: APIServer) async throws -> APIServer.Tenant {
        let key = APIKey.generate()
        let id = try await server.stores.keys.createAPIKey(
            NewAPIKey(
                id: key.id,
                secretSHA256: key.secretSHA256,
                name: "ordinary",
                scopes: Set(KeyScope.allCases)
            ),
            tenantName: "ordinary"
        )
        return APIServer.Tenant(id: id, key: key)
    }

    /// Also for its own task, and by any method.
    @Test func anOrdinaryTenantIsAnsweredAsForAnUnknownRoute() async throws {
        try await APIServer.run { server in
            let tenant = try await Self.ordinaryTenant(server)
            try await server.send("PUT", "/v1/sessions/s", as: tenant)
            let receipt = try await server.send(
                "POST",
                "/v1/sessions/s/tasks",
                #"{"url": "http://o.example/", "earliest_begin_at": "2100-01-01T00:00:00Z"}"#,
                as: tenant
            )
            let id = try receipt.json(TaskReceipt.self).id
            func answer(_ method: String, _ path: String) async throws -> String {
                let answer = try await server.send(method, path, as: tenant)
                let problem = try answer.json(ProblemDetails.self)
                #expect(answer.status == 404)
                #expect(problem.code == .unknownRoute)
                let fields = answer.fields.filter { !["date", "x-request-id"].contains($0.key) }
                return answer.text.replacing(problem.requestID, with: "")
                    + fields.sorted { $0.key < $1.key }.description
            }
            for method in ["POST", "GET", "DELETE"] {
                let unknown = try await answer(method, "/v1/nonsense/\(id)/verb")
                for verb in ["end-wait", "fail-next-attempt", "expire"] {
                    let found = try await answer(method, "\(Self.hooks)/\(id)/\(verb)")
                    #expect(found == unknown, "\(method) \(verb)")
                }
            }
            #expect(try await server.stores.queue.promoteDue().promoted == 0)
            let document = try await server.send("GET", "/v1/tenant", as: tenant)
            #expect(try document.json(TenantDocument.self).isForTests == false)
            let own = try await server.send("GET", "/v1/tenant").json(TenantDocument.self)
            #expect(own.isForTests)
        }
    }

    @Test func aWaitEnds() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(
                server.session(),
                #"{"url": "http://o.example/", "earliest_begin_at": "2100-01-01T00:00:00Z"}"#
            )
            let path = "\(Self.hooks)/\(id)/end-wait"
            #expect(try await server.send("POST", path, as: server.second).code == .unknownTask)
            #expect(try await server.stores.queue.promoteDue().promoted == 0)
            #expect(try await server.send("POST", path).status == 200)
            #expect(try await server.stores.queue.promoteDue().promoted == 1)
            // It waits for nothing any more.
            let task = try await server.send("POST", path).json(TaskDocument.self)
            #expect(task.state == "queued")
        }
    }

    @Test func aWantedFailureIsOneOfAnOrigin() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session(), #"{"url": "http://o.example/"}"#)
            let path = "\(Self.hooks)/\(id)/fail-next-attempt"
            for (body, status) in [
                (#"{"code": "connection_lost"}"#, 200),
                (#"{"code": "http_status", "http_status": 400}"#, 200),
                (#"{"code": "http_status", "http_status": 599}"#, 200),
                (#"{"code": "http_status", "http_status": 503}"#, 200),
                (#"{"code": "http_status"}"#, 422),
                (#"{"code": "http_status", "http_status": 399}"#, 422),
                (#"{"code": "http_status", "http_status": 600}"#, 422),
                (#"{"code": "timed_out", "http_status": 500}"#, 422),
                (#"{"code": "storage_full"}"#, 422), (#"{"code": "poison"}"#, 422),
                (#"{"code": "none"}"#, 422), (#"{"code": "timed_out", "at": 1}"#, 422),
            ] {
                #expect(try await server.send("POST", path, body).status == status, "\(body)")
            }
            let timeout = #"{"code": "timed_out"}"#
            let foreign = try await server.send("POST", path, timeout, as: server.second)
            #expect(foreign.code == .unknownTask)
            let claim = try await server.claim()
            #expect(claim.isForTests)
            let failures = try await server.stores.testHooks.takeFailures(of: [claim])
            #expect(failures == [id: try #require(TestFailure(code: .httpStatus, httpStatus: 503))])
            #expect(try await server.stores.testHooks.takeFailures(of: [claim]).isEmpty)
        }
    }

    /// A task that ended otherwise may be retried, and then has another attempt.
    @Test func aCompletedTaskHasNoFurtherAttempt() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let cancelled = try await server.submit(session)
            try await server.send("POST", "/v1/tasks/\(cancelled)/cancel")
            let completed = try await server.submit(session)
            try await server.complete([1])
            let timeout = #"{"code": "timed_out"}"#
            let path = "\(Self.hooks)/\(cancelled)/fail-next-attempt"
            #expect(try await server.send("POST", path, timeout).status == 200)
            let late = try await server.send(
                "POST",
                "\(Self.hooks)/\(completed)/fail-next-attempt",
                timeout
            )
            #expect(late.status == 409)
            #expect(late.code == .taskEnded)
        }
    }

    @Test func anEndedTaskExpiresWithItsResult() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            let path = "\(Self.hooks)/\(id)/expire"
            #expect(try await server.send("POST", path).code == .taskNotEnded)
            try await server.complete([1, 2, 3])
            #expect(try await server.send("POST", path, as: server.second).code == .unknownTask)
            let file = try await server.file(of: id, tenant: server.first.id)
            #expect(FileManager.default.fileExists(atPath: file))
            #expect(try await server.send("POST", path).status == 204)
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try await server.send("GET", "/v1/tasks/\(id)/content").code == .taskExpired)
            #expect(try await server.send("POST", path).code == .unknownTask)
            let events = try await server.send("GET", "\(session)/events").json(EventPage.self)
            #expect(events.items.map(\.type).contains("task.completed"))
        }
    }
}
