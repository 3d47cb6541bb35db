import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

/// Tests of `/v1/tenant`, and of the corresponding values of sessions.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct TenantTests {
    @Test func tellsItsLimitsAndHowItsTasksStand() async throws {
        try await APIServer.run { server in
            let path = try await server.session()
            let body = #"""
                [{"url": "https://example.org/a"},
                 {"url": "https://example.org/b", "autostart": false}]
                """#
            #expect(try await server.send("POST", "\(path)/tasks", body).status == 202)
            let unlimited = try await server.send("GET", "/v1/tenant").json(TenantDocument.self)
            #expect(unlimited.name == "first")
            #expect(unlimited.outstanding == 2)
            #expect(unlimited.outstandingTasksMax == nil)
            #expect(unlimited.runningTasksMax == nil)
            #expect(unlimited.totalBytesPerSecondMax == nil)
            #expect(Set(unlimited.taskCounts.keys) == Set(TransferState.allCases.map(\.rawValue)))
            let session = try await server.send("GET", path).json(SessionDocument.self)
            for counts in [unlimited.taskCounts, session.taskCounts] {
                #expect(counts["queued"] == 1)
                #expect(counts["suspended"] == 1)
                #expect(counts.values.reduce(0, +) == 2)
            }
            #expect(session.bytesReceived == 0)
            #expect(session.bytesSent == 0)
            _ = try await server.stores.tenants.limitTenant(
                named: "first",
                changes: TenantLimitChanges(outstandingTasksMax: 3, runningTasksMax: 2)
            )
            let limited = try await server.send("GET", "/v1/tenant").json(TenantDocument.self)
            #expect(limited.outstandingTasksMax == 3)
            #expect(limited.runningTasksMax == 2)
            #expect(limited.storedBytesMax == nil)
            #expect(limited.storedBytes == 0)
            #expect(limited.inFlightBytes == 0)
        }
    }
}
