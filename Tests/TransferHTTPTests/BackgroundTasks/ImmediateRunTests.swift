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

    @Test func theCancellationOfASubmissionIsNotThatOfItsSuccessor() async throws {
        try await APIServer.run { server in
            try await server.register()
            try await server.request()
            let requests = server.stores.requests
            let first = try await requests.pendingRequests(of: .default, tenant: server.first.id)
            try await server.request()
            let second = try await requests.pendingRequests(of: .default, tenant: server.first.id)
            for pending in first {
                let isCancelled = try await requests.cancelRequest(
                    pending,
                    tenant: server.first.id
                )
                #expect(!isCancelled)
            }
            #expect(try await server.pending().map(\.id) == second.map(\.id.description))
            for pending in second {
                let isCancelled = try await requests.cancelRequest(
                    pending,
                    tenant: server.first.id
                )
                #expect(isCancelled)
            }
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
