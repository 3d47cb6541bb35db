import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Requests whose launch nobody has accepted.
@Suite(.postgresSchema) struct UnacceptedLaunchTests {
    @Test func whatIsCancelledIsNotLaunchedAgain() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let run = try await server.launch()
            let path = "\(APIServer.tasks)/requests/refresh"
            #expect(try await server.send("DELETE", path).status == 204)
            let again = try await server.send("DELETE", path)
            #expect(again.code == .unknownBackgroundTaskRequest)
            #expect(try await server.run(run.id).state == "launched")
            try await clock.pass(61)
            #expect(try await server.run(run.id).state == "not_accepted")
            #expect(try await server.pending().isEmpty)
            try await clock.pass(31)
            #expect(try await server.runs().count == 1)
        }
    }

    @Test func whatIsLaunchedAgainIsBesideTheNumberPending() async throws {
        try await APIServer.run { server in
            let processing = (0...20).map { ("p\($0)", "processing") }
            let continued = (0..<10).map { ("c\($0)", "continued_processing") }
            try await server.register(processing + continued + [("refresh", "app_refresh")])
            for (identifier, _) in processing.prefix(10) { try await server.request(identifier) }
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 10)
            for (identifier, _) in processing[10..<20] {
                #expect(try await server.request(identifier).status == 201)
            }
            for (identifier, _) in continued {
                #expect(try await server.request(identifier, #""title": "A""#).status == 201)
            }
            #expect(try await server.request().status == 201)
            // Ends what nobody has accepted.
            try await server.send("POST", "/v1/clients/default/force-quit")
            #expect(try await server.pending().count == 31)
            try await server.send("POST", "/v1/clients/default/launch")
            let more = try await server.request("p20")
            #expect(more.code == .tooManyPendingTaskRequests)
        }
    }
}
