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

    /// Ignored, they would pause or resume everything.
    @Test func unknownMembersAreRefused() async throws {
        try await APIServer.run { server in
            #expect(try await server.send("POST", "/v1/tenant/pause").status == 204)
            for (verb, body, fault) in [
                ("pause", #"{"hostname": "files.example:443"}"#, "/hostname unknown_field"),
                ("resume", #"{"hostname": "files.example:443"}"#, "/hostname unknown_field"),
                ("resume", #"{"gives_back": true}"#, "/gives_back unknown_field"),
            ] {
                let answer = try await server.send("POST", "/v1/tenant/\(verb)", body)
                #expect(answer.status == 422)
                #expect(answer.faults == [fault])
            }
            #expect(try await pauses(server).map(\.host) == [nil])
        }
    }

    /// Whoever pastes a URL would believe that its host is paused.
    @Test(arguments: ["https://files.example:443", "files.example/a:443", "u@files.example:443"])
    func whatIsNoHostWithItsPortIsRefused(host: String) async throws {
        try await APIServer.run { server in
            for verb in ["pause", "resume"] {
                let body = #"{"host": "\#(host)"}"#
                let answer = try await server.send("POST", "/v1/tenant/\(verb)", body)
                #expect(answer.faults == ["/host invalid_value"])
            }
            #expect(try await pauses(server).isEmpty)
        }
    }

    @Test func aTenantsPausesTakeNobodyElsesPlace() async throws {
        try await APIServer.run { server in
            func pause(_ place: Int64, givesBack: Bool = false) async throws -> HTTPClient.Answer {
                try await server.send(
                    "POST",
                    "/v1/tenant/pause",
                    #"{"host": "h\#(place).example:443", "gives_back": \#(givesBack)}"#
                )
            }
            for place in 0..<Quota.pausesMax { _ = try await pause(place) }
            let refused = try await pause(Quota.pausesMax)
            #expect(refused.code == .quotaExceeded)
            let problem = try refused.json(ProblemDetails.self)
            #expect(problem.limit == "pauses")
            #expect(problem.maximum == Quota.pausesMax)
            // What is paused already may be repeated.
            #expect(try await pause(7, givesBack: true).status == 204)
            let ofFirst = try await pauses(server)
            #expect(ofFirst.count == Int(Quota.pausesMax))
            #expect(ofFirst.filter(\.givesBack).map(\.host) == ["h7.example:443"])
            let ofSecond = try await server.send("POST", "/v1/tenant/pause", as: server.second)
            #expect(ofSecond.status == 204)
            for tenant in [nil, server.first.id] {
                let pause = Pause(
                    scope: Pause.Scope(tenant: tenant, host: nil),
                    hostName: nil,
                    isByTenant: false,
                    givesBack: true,
                    pausedAt: Date()
                )
                let isPaused = try await PauseStore(server.stores.database).pause(pause)
                #expect(isPaused)
            }
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
