import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// `/v1/sessions/{identifier}/bulk-operations` and `/v1/bulk-operations/{id}`.
@Suite(.postgresSchema) struct BulkOperationRouteTests {
    @Test func allTasksOfASessionAreChangedByOneRequest() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await server.submit(session) }
            let wakes = server.wakes.value
            let answer = try await server.send(
                "POST",
                "\(session)/bulk-operations",
                #"{"verb":"suspend","states":["queued"]}"#
            )
            #expect(answer.status == 202)
            let operation = try answer.json(BulkOperationDocument.self)
            #expect(answer.fields["location"] == "/v1/bulk-operations/\(operation.id)")
            #expect(operation.verb == "suspend")
            #expect(operation.states == ["queued"])
            #expect(operation.state == "completed")
            #expect(operation.tasksMatching == 3)
            #expect(operation.tasksChanged == 3)
            #expect(operation.finishedAt != nil)
            #expect(server.wakes.value > wakes)
            let tasks = try await server.send("GET", "\(session)/tasks")
                .json(Page<TaskDocument>.self)
            #expect(tasks.items.map(\.state) == ["suspended", "suspended", "suspended"])
            let read = try await server.send("GET", "/v1/bulk-operations/\(operation.id)")
            #expect(read.status == 200)
            #expect(try read.json(BulkOperationDocument.self).id == operation.id)
        }
    }

    @Test func aLargeSessionIsGoneOnWithByWorkersAndCanBeStopped() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = #"{"url":"https://origin.test/a"}"#
            for count in [1000, 500] {
                let tasks = Array(repeating: task, count: count).joined(separator: ",")
                #expect(
                    try await server.send("POST", "\(session)/tasks", "[\(tasks)]").status == 202
                )
            }
            let begun = try await server.send(
                "POST",
                "\(session)/bulk-operations",
                #"{"verb":"cancel"}"#
            ).json(BulkOperationDocument.self)
            #expect(begun.state == "running")
            #expect(begun.tasksMatching == 1500)
            #expect(begun.tasksChanged == 1000)
            let path = "/v1/bulk-operations/\(begun.id)"
            let stopped = try await server.send("DELETE", path)
            #expect(stopped.status == 200)
            let document = try stopped.json(BulkOperationDocument.self)
            #expect(document.state == "stopped")
            #expect(document.reason == "requested")
            #expect(try await server.send("DELETE", path).status == 200)
        }
    }

    @Test func theOperationsOfASessionAreListedInPages() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            var ids: [String] = []
            for verb in ["cancel", "suspend", "retry"] {
                let answer = try await server.send(
                    "POST",
                    "\(session)/bulk-operations",
                    #"{"verb":"\#(verb)","states":null}"#
                )
                ids.append(try answer.json(BulkOperationDocument.self).id)
            }
            let list = "\(session)/bulk-operations?limit=2"
            let first = try await server.send("GET", list).json(Page<BulkOperationDocument>.self)
            let cursor = try #require(first.nextCursor)
            let second = try await server.send("GET", "\(list)&cursor=\(cursor)")
                .json(Page<BulkOperationDocument>.self)
            #expect(second.nextCursor == nil)
            #expect((first.items + second.items).map(\.id) == ids)
            #expect(first.items[0].states.contains("suspended"))
            #expect(second.items[0].states == ["failed"])
            let other = try await server.send("GET", "/v1/keys").status
            #expect(other == 200)
            #expect(
                try await server.send("GET", "\(session)/tasks?cursor=\(cursor)").code
                    == .validationFailed
            )
        }
    }

    @Test(arguments: [
        (#"{"verb":"delete"}"#, "/verb"),
        (#"{}"#, "/verb"),
        (#"{"verb":"resume","states":["queued"]}"#, "/states/0"),
        (#"{"verb":"cancel","states":["queued","queued"]}"#, "/states/1"),
        (#"{"verb":"cancel","states":[]}"#, "/states"),
        (#"{"verb":"retry","states":["failed","cancelled","failed"]}"#, "/states"),
        (#"{"verb":"cancel","state":["queued"]}"#, "/state"),
    ])
    func whatIsWrongOfARequestIsNamed(body: String, pointer: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send("POST", "\(session)/bulk-operations", body)
            #expect(answer.status == 422)
            let problem = try answer.json(ProblemDetails.self)
            #expect(problem.errors?.map(\.pointer) == [pointer])
        }
    }

    @Test func anotherTenantsOperationIsUnknown() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send(
                "POST",
                "\(session)/bulk-operations",
                #"{"verb":"cancel"}"#
            )
            let id = try answer.json(BulkOperationDocument.self).id
            for path in ["/v1/bulk-operations/\(id)", "/v1/bulk-operations/x"] {
                for method in ["GET", "DELETE"] {
                    let answer = try await server.send(method, path, as: server.second)
                    #expect(answer.code == .unknownBulkOperation)
                }
            }
            for method in ["GET", "POST"] {
                let answer = try await server.send(
                    method,
                    "\(session)/bulk-operations",
                    method == "POST" ? #"{"verb":"cancel"}"# : nil,
                    as: server.second
                )
                #expect(answer.code == .unknownSession)
            }
        }
    }

    @Test func aTenantHasSoManyOperations() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let path = "\(session)/bulk-operations"
            for _ in 0..<Int(Quota.bulkOperationsMax) {
                try #require(
                    try await server.send("POST", path, #"{"verb":"cancel"}"#).status == 202
                )
            }
            let answer = try await server.send("POST", path, #"{"verb":"cancel"}"#)
            #expect(answer.status == 429)
            #expect(try answer.json(ProblemDetails.self).limit == "bulk_operations")
        }
    }
}
