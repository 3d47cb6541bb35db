import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Requests that may not wait, and those that are refused beside them.
@Suite(.postgresSchema) struct ImmediateRunTests {
    private static let words = #""title": "Export", "strategy": "fail""#

    @Test func aClientMaySubmitSeveralAtOnce() async throws {
        try await APIServer.run { server in
            let identifiers = (0..<7).map { "p\($0)" }
            try await server.register(identifiers.map { ($0, "continued_processing") })
            for _ in 0..<3 {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for identifier in identifiers {
                        group.addTask {
                            try await server.request(identifier, Self.words).status
                        }
                    }
                    for try await status in group { #expect(status == 201) }
                }
                let open = try await server.runs().filter { $0.state == "launched" }
                #expect(open.count == identifiers.count)
                for run in open {
                    try await server.change(run.id, "complete", #"{"success": true}"#)
                }
            }
        }
    }

    @Test func aRefusalLeavesTheRequestThatItWouldHaveReplaced() async throws {
        try await APIServer.run { server in
            try await server.register([("export", "continued_processing")])
            #expect(try await server.request("export", Self.words).status == 201)
            #expect(try await server.request("export", #""title": "Export""#).status == 201)
            try await server.stores.advanceTimers()
            let accepted = try #require(try await server.pending().first)
            #expect(accepted.waitsFor.reason == "run")
            let refused = try await server.request("export", Self.words)
            #expect(refused.status == 409)
            #expect(refused.code == .immediateRunIneligible)
            #expect(try await server.pending().map(\.id) == [accepted.id])
            // It is still looked at.
            let run = try #require(try await server.runs().first)
            try await server.change(run.id, "complete", #"{"success": true}"#)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().map(\.state) == ["launched", "succeeded"])
        }
    }

    /// By a submission that was judged before another one was launched.
    @Test func aLaunchSinceTheDecisionRefusesIt() async throws {
        try await APIServer.run { server in
            try await server.register([("export", "continued_processing")])
            var request = BackgroundTaskRequest(
                identifier: BackgroundTaskIdentifier(stored: "export")
            )
            request.title = "Export"
            request.strategy = .fail
            let id = BackgroundTaskRequestID(.version7())
            let judged = try await server.stores.timers.immediateRequest(
                request,
                id,
                of: .default,
                tenant: server.first.id
            )
            let due = try #require(judged)
            #expect(LaunchDecision(due) == .launch(next: nil))
            #expect(try await server.request("export", Self.words).status == 201)
            let result = try await server.stores.requests.submitRequest(
                request,
                id,
                occurrence: nil,
                of: .default,
                tenant: server.first.id,
                immediate: (due, LaunchDecision(due))
            )
            guard case .ineligible(.run) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(try await server.runs().count == 1)
            #expect(try await server.pending().isEmpty)
        }
    }

    @Test(arguments: [true, false, nil])
    func needsTheNetworkThatItRequires(hasNetwork: Bool?) async throws {
        try await APIServer.run(hasNetwork: { hasNetwork }) { server in
            try await server.register(["a", "b"].map { ($0, "continued_processing") })
            #expect(try await server.request("a", Self.words).status == 201)
            let answer = try await server.request(
                "b",
                #"\#(Self.words), "requires_network_connectivity": true"#
            )
            if hasNetwork == true {
                #expect(answer.status == 201)
            } else {
                #expect(answer.code == .immediateRunIneligible)
                #expect(answer.detail?.contains("`network`") == true)
            }
            #expect(try await server.pending().isEmpty)
        }
    }

    @Test func aRefusedSubmissionLeavesWhatWasLaunched() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            let refused = try await server.request("refresh", #""title": "A""#)
            #expect(refused.faults == ["/identifier invalid_value"])
            #expect(try await server.run(run.id).state == "launched")
            let next = try await server.stores.timers.dueRequests()
            #expect(next.isEmpty)
        }
    }
}
