import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// A tenant pauses and resumes itself, and nothing more.
@Suite(.postgresSchema) struct PauseRouteTests {
    private func pauses(_ server: APIServer) async throws -> [PauseDocument] {
        try await server.send("GET", "/v1/tenant").json(TenantDocument.self).pauses
    }

    @Test func aTenantPausesAndResumesItself() async throws {
        try await APIServer.run { server in
            let task = try await server.submit(try await server.session())
            #expect(try await server.send("POST", "/v1/tenant/pause").status == 204)
            let waiting = try await server.send("GET", "/v1/tasks/\(task)").json(TaskDocument.self)
            #expect(waiting.waitsFor == "paused")
            #expect(waiting.reason?.hasPrefix("The tenant was paused by the tenant at ") == true)
            let host = #"{"host": "Files.example:443", "gives_back": true}"#
            #expect(try await server.send("POST", "/v1/tenant/pause", host).status == 204)
            let both = try await pauses(server)
            #expect(both.map(\.host) == [nil, "files.example:443"])
            #expect(both.map(\.pausedBy) == ["tenant", "tenant"])
            #expect(both.map(\.givesBack) == [false, true])
            // Another tenant is not paused.
            #expect(
                try await server.send("GET", "/v1/tenant", as: server.second)
                    .json(TenantDocument.self).pauses.isEmpty
            )
            for _ in 0..<2 {
                #expect(try await server.send("POST", "/v1/tenant/resume").status == 204)
            }
            #expect(try await pauses(server).map(\.host) == ["files.example:443"])
        }
    }

    @Test func aTenantDoesNotEndAnOperatorsPause() async throws {
        try await APIServer.run { server in
            let store = PauseStore(server.stores.database)
            let pause = Pause(
                scope: Pause.Scope(tenant: nil, host: nil),
                hostName: nil,
                isByTenant: false,
                givesBack: false,
                pausedAt: Date()
            )
            let isPaused = try await store.pause(pause)
            #expect(isPaused)
            #expect(try await server.send("POST", "/v1/tenant/resume").status == 204)
            #expect(try await pauses(server).map(\.pausedBy) == ["operator"])
        }
    }

    @Test func aHostIsNamedWithItsPort() async throws {
        try await APIServer.run { server in
            for host in ["files.example", ""] {
                let answer = try await server.send(
                    "POST",
                    "/v1/tenant/pause",
                    #"{"host": "\#(host)"}"#
                )
                #expect(answer.status == 422, "\(host)")
                #expect(answer.faults == ["/host invalid_value"])
            }
        }
    }
}
