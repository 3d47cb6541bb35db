import Foundation
import HTTPTypes
import Postgres
import Testing
import TransferMetrics
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// What the audit log has of requests.
@Suite(.postgresSchema) struct AuditTrailTests {
    /// Returns the entries of the request with an answer, once there are `count`.
    private static func entries(
        of answer: HTTPClient.Answer,
        _ server: APIServer,
        count: Int = 1
    ) async throws -> [AuditEntry] {
        let id = answer.fields["x-request-id"].flatMap { UUID(uuidString: $0) }
        var found: [AuditEntry] = []
        try await eventually("the request is recorded") {
            found = try await server.stores.audit.entries(before: nil, limit: 1000)
                .map(\.entry).filter { $0.requestID == id }
            return found.count >= count
        }
        #expect(found.count == count)
        return found
    }

    @Test func aChangeIsRecordedWithWhoMadeIt() async throws {
        try await APIServer.run { server in
            let answer = try await server.send("PUT", "/v1/sessions/photos")
            #expect(answer.status == 201)
            let entry = try #require(try await Self.entries(of: answer, server).first)
            #expect(entry.actor == server.first.key.id)
            #expect(entry.tenant == server.first.id)
            #expect(entry.peer == "127.0.0.1")
            #expect(entry.action == "PUT" && entry.object == "/v1/sessions/photos")
            // It was written with the change, before there was an answer.
            #expect(entry.status == nil && entry.code == nil)
        }
    }

    @Test func eachOfManySubmissionsIsRecorded() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answers = try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let body = #"{"url": "http://origin.example/a"}"#
                        return try await server.sendPatiently("POST", "\(session)/tasks", body)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for answer in answers {
                let entry = try #require(try await Self.entries(of: answer, server).first)
                #expect(entry.object == "\(session)/tasks" && entry.status == nil)
            }
        }
    }

    @Test func whatChangedNothingIsRecordedWithItsAnswer() async throws {
        try await APIServer.run { server in
            let answer = try await server.send("DELETE", "/v1/sessions/unknown?secret=canary")
            #expect(answer.status == 422 || answer.status == 404)
            let entry = try #require(try await Self.entries(of: answer, server).last)
            #expect(entry.status == answer.status && entry.code != nil)
            #expect(entry.object == "/v1/sessions/unknown")
            let read = try await server.send("GET", "/v1/sessions?limit=1")
            #expect(read.status == 200)
            let last = try await server.send("PUT", "/v1/sessions/last")
            _ = try await Self.entries(of: last, server)
            #expect(try await Self.entries(of: read, server, count: 0) == [])
        }
    }

    @Test func refusalsAreRecordedWhoeverWasRefused() async throws {
        try await APIServer.run { server in
            let stranger = try await server.sendPlain("GET", "/v1/tenant")
            #expect(stranger.status == 401)
            let nobody = try #require(try await Self.entries(of: stranger, server).first)
            #expect(nobody.actor == nil && nobody.tenant == nil && nobody.peer == "127.0.0.1")
            #expect(nobody.status == 401 && nobody.code == "unauthorized")

            let reader = try await server.holder([.read])
            let denied = try await server.send("GET", "/v1/keys", as: reader)
            #expect(denied.status == 403)
            let entry = try #require(try await Self.entries(of: denied, server).first)
            #expect(entry.actor == reader.key.id && entry.tenant == server.first.id)
            #expect(entry.status == 403 && entry.code == "insufficient_scope")
        }
    }

    /// No operation that changes something can be refused unseen.
    @Test func everyChangingOperationIsRecordedWhenItIsRefused() async throws {
        try await APIServer.run { server in
            let reader = try await server.holder([.read])
            let operations = server.api.router().routes.map(\.description)
                .filter { !$0.hasPrefix("GET ") }.sorted()
            #expect(operations.count > 40)
            for operation in operations {
                let parts = operation.split(separator: " ").map(String.init)
                let path = parts[1].replacing(#/\{[a-z]+\}/#, with: "x")
                _ = try await server.sendPlain(
                    parts[0],
                    path,
                    fields: [("Authorization", "Bearer \(reader.key.serialized)")]
                )
            }
            try await eventually("all refusals are recorded") {
                let entries = try await server.stores.audit.entries(before: nil, limit: 1000)
                    .map(\.entry).filter { $0.actor == reader.key.id && $0.status == 403 }
                return Set(entries.map { "\($0.action) \($0.object)" }).count == operations.count
            }
        }
    }

    @Test func aFloodOfRefusalsIsCounted() async throws {
        try await APIServer.run { server in
            for index in 0..<(LineBudget.linesMax + 20) {
                server.audit.add(refusal: AuditEntry(action: "GET", object: "\(index)"))
            }
            try await eventually("as many as the log has are recorded") {
                let entries = try await server.stores.audit.entries(before: nil, limit: 1000)
                return entries.count { $0.entry.action == "GET" } == LineBudget.linesMax
            }
        }
    }

    @Test func aFloodWithoutAKeyHidesNoRefusalOfATenant() async throws {
        try await APIServer.run { server in
            for index in 0..<(LineBudget.linesMax + 20) {
                server.audit.add(refusal: AuditEntry(action: "GET", object: "\(index)"))
            }
            let reader = try await server.holder([.read])
            let denied = try await server.send("GET", "/v1/keys", as: reader)
            #expect(denied.status == 403)
            try await eventually("the tenant reads of it") {
                let page = try await server.send("GET", "/v1/audit").json(
                    Page<AuditEntryDocument>.self
                )
                return page.items.contains {
                    $0.requestID == denied.fields["x-request-id"] && $0.status == 403
                }
            }
        }
    }

    @Test func aTenantReadsHowManyOfItsRefusalsAreNotRecorded() async throws {
        try await APIServer.run { server in
            for tenant in [server.first.id, server.second.id] {
                for index in 0..<(LineBudget.linesMax + (tenant == server.first.id ? 20 : 0)) {
                    server.audit.add(
                        refusal: AuditEntry(tenant: tenant, action: "GET", object: "\(index)")
                    )
                }
            }
            // No refusal follows.
            server.audit.endPeriods(at: .now + LineBudget.period)
            func summaries(_ tenant: APIServer.Tenant) async throws -> [String] {
                try await server.send("GET", "/v1/audit?limit=200", as: tenant).json(
                    Page<AuditEntryDocument>.self
                ).items.filter { $0.action == "not recorded" }.map(\.object)
            }
            try await eventually("the tenant reads of them") {
                try await summaries(server.first) == ["20 calls"]
            }
            #expect(try await summaries(server.second).isEmpty)
        }
    }

    @Test func aTenantBeyondItsRateIsToldWhenItMaySendAgain() async throws {
        try await APIServer.run { server in
            _ = try await server.stores.tenants.limitTenant(
                named: "first",
                changes: TenantLimitChanges(requestsPerSecondMax: 1)
            )
            var answer = try await server.send("GET", "/v1/tenant")
            #expect(answer.status == 200)
            #expect(try answer.json(TenantDocument.self).requestsPerSecondMax == 1)
            #expect(answer.fields["ratelimit-policy"] == #""requests";q=1;w=1"#)
            for _ in 0..<1000 where answer.status == 200 {
                answer = try await server.send("GET", "/v1/tenant")
            }
            #expect(answer.status == 429)
            #expect(answer.fields["retry-after"] == "1")
            #expect(answer.fields["ratelimit"] == #""requests";r=0;t=1"#)
            let problem = try answer.json(ProblemDetails.self)
            #expect(problem.limit == "requests")
            let entry = try #require(try await Self.entries(of: answer, server).first)
            #expect(entry.status == 429 && entry.tenant == server.first.id)
            let other = try await server.send("GET", "/v1/tenant", as: server.second)
            #expect(other.status == 200 && other.fields["ratelimit"] == nil)
        }
    }

    @Test func aTenantReadsItsOwnLogAndNobodyElses() async throws {
        try await APIServer.run { server in
            for n in 0..<5 {
                #expect(try await server.send("PUT", "/v1/sessions/s\(n)").status == 201)
                let other = try await server.send("PUT", "/v1/sessions/o\(n)", as: server.second)
                #expect(other.status == 201)
            }
            let reader = try await server.holder([.read])
            #expect(try await server.send("GET", "/v1/audit", as: reader).status == 403)
            try await eventually("the refusal is recorded") {
                let page = try await server.send("GET", "/v1/audit").json(
                    Page<AuditEntryDocument>.self
                )
                return page.items.contains { $0.status == 403 && $0.code == "insufficient_scope" }
            }
            var found: [AuditEntryDocument] = []
            var path: String? = "/v1/audit?limit=2"
            while let next = path {
                let page = try await server.send("GET", next).json(Page<AuditEntryDocument>.self)
                #expect(page.items.count <= 2)
                found += page.items
                path = page.nextCursor.map { "/v1/audit?limit=2&cursor=\($0)" }
            }
            let sessions = found.filter { $0.action == "PUT" }
            #expect(sessions.map(\.object) == (0..<5).reversed().map { "/v1/sessions/s\($0)" })
            #expect(sessions.allSatisfy { $0.actor == server.first.key.id && $0.tenant == nil })
            let times = found.map(\.recordedAt.date)
            #expect(times == times.sorted(by: >))
            let foreign = try await server.send("GET", "/v1/sessions?limit=1").json(
                Page<SessionDocument>.self
            )
            let cursor = try #require(foreign.nextCursor)
            #expect(try await server.send("GET", "/v1/audit?cursor=\(cursor)").status == 422)
        }
    }

    /// A page looks through a bounded number of entries, and says where the next one goes on.
    @Test func aQuietTenantFindsItsEntriesBehindThoseOfOthers() async throws {
        try await APIServer.run { server in
            #expect(try await server.send("PUT", "/v1/sessions/mine").status == 201)
            let connection = try await TestDatabase.current.connection()
            _ = try await connection.execute(
                """
                INSERT INTO audit_entry (epoch, tenant_id, action, object)
                SELECT 1, \(server.second.id.uuid), 'PUT', 'x'
                FROM generate_series(1, \(Int64(AuditStore.lookMax)))
                """
            )
            let first = try await server.send("GET", "/v1/audit").json(
                Page<AuditEntryDocument>.self
            )
            #expect(first.items.isEmpty && first.hasMore)
            let cursor = try #require(first.nextCursor)
            let second = try await server.send("GET", "/v1/audit?cursor=\(cursor)").json(
                Page<AuditEntryDocument>.self
            )
            #expect(second.items.map(\.object) == ["/v1/sessions/mine"])
        }
    }

    @Test func anEntryThatTheDatabaseRefusesCostsNoOther() async throws {
        try await APIServer.run { server in
            let objects = (0..<10).map { "call \($0)" }
            for object in objects {
                server.audit.add(AuditEntry(action: "GET", object: object))
                // Longer than an address ever is.
                let peer = String(repeating: "a", count: 100)
                server.audit.add(AuditEntry(peer: peer, action: "GET", object: "refused"))
            }
            try await eventually("the others are recorded") {
                let entries = try await server.stores.audit.entries(before: nil, limit: 1000)
                return Set(entries.map(\.entry.object)).isSuperset(of: objects)
            }
            let entries = try await server.stores.audit.entries(before: nil, limit: 1000)
            #expect(entries.filter { objects.contains($0.entry.object) }.count == objects.count)
            #expect(!entries.contains { $0.entry.object == "refused" })
        }
    }
}
