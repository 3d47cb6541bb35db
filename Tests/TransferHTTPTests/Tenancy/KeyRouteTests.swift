import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The keys of a tenant as it manages them itself.
@Suite(.postgresSchema) struct KeyRouteTests {
    @Test func aKeyIsToldOnceAndWorksUntilItIsRevoked() async throws {
        try await APIServer.run { server in
            let body =
                #"{"name": "reader", "scopes": ["read"], "expires_at": "2999-01-01T00:00:00Z"}"#
            let answer = try await server.send("POST", "/v1/keys", body)
            #expect(answer.status == 201)
            let created = try answer.json(KeyDocument.self)
            let key = try #require(created.key.flatMap { APIKey($0) })
            #expect(key.id == created.id)
            #expect(created.scopes == ["read"])
            let reader = APIServer.Tenant(id: server.first.id, key: key)
            #expect(try await server.send("GET", "/v1/sessions", as: reader).status == 200)
            #expect(try await server.send("GET", "/v1/keys", as: reader).status == 403)

            let listed = try await server.send("GET", "/v1/keys")
            #expect(!listed.text.contains(key.serialized.split(separator: "_")[2]))
            let page = try listed.json(Page<KeyDocument>.self)
            #expect(Set(page.items.map(\.id)) == [server.first.key.id, key.id])
            let document = try #require(page.items.first { $0.id == key.id })
            #expect(document.name == "reader" && document.lastUsedAt != nil)
            #expect(document.expiresAt == created.expiresAt && document.revokedAt == nil)

            let stream = try server.stream("/v1/events", as: reader)
            try await eventually("the stream has begun") { !stream.text.isEmpty }
            #expect(try await server.send("DELETE", "/v1/keys/\(key.id)").status == 204)
            // At this instance from the answer on.
            #expect(try await server.send("GET", "/v1/sessions", as: reader).status == 401)
            try await eventually("the stream ends") { stream.isWhole }
            #expect(try await server.send("DELETE", "/v1/keys/\(key.id)").status == 204)
            let after = try await server.send("GET", "/v1/keys").json(Page<KeyDocument>.self)
            #expect(after.items.first { $0.id == key.id }?.revokedAt != nil)
        }
    }

    @Test func nobodyGrantsWhatItHasNot() async throws {
        try await APIServer.run { server in
            let admin = try await server.holder([.admin, .read])
            for scopes in [#"["read", "submit"]"#, #"["control"]"#, #"["read", "read"]"#, "[]"] {
                let body = #"{"name": "a", "scopes": \#(scopes)}"#
                let answer = try await server.send("POST", "/v1/keys", body, as: admin)
                #expect(answer.status == 422, "\(scopes)")
            }
            // Nor does it by leaving the scopes out.
            let answer = try await server.send("POST", "/v1/keys", #"{"name": "a"}"#, as: admin)
            #expect(answer.faults == ["/scopes required"])
            let body = #"{"name": "a", "scopes": ["admin"]}"#
            #expect(try await server.send("POST", "/v1/keys", body, as: admin).status == 201)
            let all = try await server.send("POST", "/v1/keys", #"{"name": "a"}"#)
                .json(KeyDocument.self)
            #expect(all.scopes == KeyScope.defaults.names)
        }
    }

    /// A limited key would otherwise make itself an unlimited one.
    @Test func nobodyGrantsLongerOrFasterUseThanItsOwn() async throws {
        try await APIServer.run { server in
            let end = Date(timeIntervalSince1970: 32_503_680_000.25)
            var admin = try await server.holder(
                [.admin, .read],
                expiresAt: end,
                requestsPerSecondMax: 1000
            )
            func create(
                _ members: String,
                as admin: APIServer.Tenant
            ) async throws -> HTTPClient.Answer {
                let body = #"{"name": "a", "scopes": ["admin"]\#(members)}"#
                return try await server.send("POST", "/v1/keys", body, as: admin)
            }
            // Nor does a key that it has made.
            for _ in 0..<2 {
                for members in [
                    "", #", "expires_at": null, "requests_per_second_max": null"#,
                    #", "expires_at": "3000-01-01T00:00:00.25Z", "requests_per_second_max": 1000"#,
                ] {
                    let made = try await create(members, as: admin)
                    #expect(made.status == 201, "\(members)")
                    let child = try made.json(KeyDocument.self)
                    #expect(child.expiresAt?.rfc3339 == Timestamp(end).rfc3339, "\(members)")
                    #expect(child.requestsPerSecondMax == 1000, "\(members)")
                    let key = try #require(child.key.flatMap { APIKey($0) })
                    admin = APIServer.Tenant(id: server.first.id, key: key)
                }
                let after = #", "expires_at": "3000-01-01T00:00:00.26Z""#
                let later = try await create(after, as: admin)
                #expect(later.faults == ["/expires_at invalid_value"])
                let more = #", "requests_per_second_max": 1001"#
                let faster = try await create(more, as: admin)
                #expect(faster.faults == ["/requests_per_second_max invalid_value"])
            }
            let less = try await create(
                #", "expires_at": "2999-01-01T00:00:00Z", "requests_per_second_max": 999"#,
                as: admin
            ).json(KeyDocument.self)
            #expect(less.expiresAt?.rfc3339 == "2999-01-01T00:00:00.000000Z")
            #expect(less.requestsPerSecondMax == 999)
            // One without limits makes keys with any.
            let free = try await server.send("POST", "/v1/keys", #"{"name": "a"}"#)
                .json(KeyDocument.self)
            #expect(free.expiresAt == nil && free.requestsPerSecondMax == nil)
        }
    }

    @Test func whatIsNoKeyIsRefused() async throws {
        try await APIServer.run { server in
            for (body, fault) in [
                (#"{}"#, "/name required"),
                (#"{"name": ""}"#, "/name invalid_value"),
                (#"{"name": "a\nb"}"#, "/name invalid_value"),
                (
                    #"{"name": "a", "expires_at": "2020-01-01T00:00:00Z"}"#,
                    "/expires_at invalid_value"
                ),
                (#"{"name": "a", "expires_at": "soon"}"#, "/expires_at invalid_date"),
                (#"{"name": "a", "secret": "b"}"#, "/secret unknown_field"),
                (#"{"name": "a", "scopes": ["everything"]}"#, "/scopes/0 invalid_value"),
                (
                    #"{"name": "a", "scopes": ["", "", "", "", "", ""]}"#,
                    "/scopes too_many_items"
                ),
            ] {
                let answer = try await server.send("POST", "/v1/keys", body)
                #expect(answer.faults == [fault], "\(body)")
            }
        }
    }

    /// The clock of this process is an hour behind.
    @Test func aKeyExpiresByTheClockOfTheDatabase() async throws {
        let pool = try await TestDatabase.current.poolAnHourAhead()
        try await APIServer.run(stores: Stores(Database(pool: pool))) { server in
            for (seconds, status) in [(1800.0, 422), (7200, 201)] {
                let end = Timestamp(Date() + seconds).rfc3339
                let body = #"{"name": "a", "expires_at": "\#(end)"}"#
                let answer = try await server.send("POST", "/v1/keys", body)
                #expect(answer.status == status)
            }
        }
    }

    @Test func theLastKeyThatManagesKeysStays() async throws {
        try await APIServer.run { server in
            let own = "/v1/keys/\(server.first.key.id)"
            let refused = try await server.send("DELETE", own)
            #expect(refused.status == 409)
            #expect(refused.code == .lastAdminKey)
            // Neither a key that has expired nor one of another tenant takes its place.
            _ = try await server.holder([.admin], expiresAt: Date.now - 1)
            _ = try await server.holder([.read])
            #expect(try await server.send("DELETE", own).status == 409)
            let heir = try await server.holder([.admin])
            #expect(try await server.send("DELETE", own).status == 204)
            #expect(try await server.send("GET", "/v1/tenant").status == 401)
            let last = "/v1/keys/\(heir.key.id)"
            #expect(try await server.send("DELETE", last, as: heir).status == 409)
            for path in ["/v1/keys/nothing", "/v1/keys/%2F", "/v1/keys/\(server.second.key.id)"] {
                let answer = try await server.send("DELETE", path, as: heir)
                #expect(answer.code == .unknownKey, "\(path)")
            }
            #expect(
                try await server.send("GET", "/v1/tenant", as: server.second).status == 200
            )
        }
    }

    /// Whichever comes first, the other finds itself the last one.
    @Test func ofTwoKeysThatRevokeEachOtherOneRemains() async throws {
        try await APIServer.run { server in
            let keys = server.stores.keys
            let tenant = server.first.id
            let own = server.first.key.id
            for _ in 0..<20 {
                let other = try await server.holder([.admin]).key.id
                async let one = keys.revokeAPIKey(id: own, tenant: tenant)
                async let two = keys.revokeAPIKey(id: other, tenant: tenant)
                let results = try await [one, two]
                #expect(Set(results.map { "\($0)" }) == ["revoked", "lastAdministrator"])
                let connection = try await TestDatabase.current.connection()
                _ = try await connection.execute(
                    "UPDATE api_key SET revoked_at = NULL WHERE id = \(own)"
                )
                #expect(try await keys.revokeAPIKey(id: other))
            }
        }
    }

    @Test func keysComeInPagesAndAreLimited() async throws {
        try await APIServer.run { server in
            for _ in 0..<4 { _ = try await server.holder([.read]) }
            var ids: [String] = []
            var cursor = ""
            repeat {
                let path = "/v1/keys?limit=2\(cursor)"
                let page = try await server.send("GET", path).json(Page<KeyDocument>.self)
                ids += page.items.map(\.id)
                cursor = page.nextCursor.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(
                ids.count == 5
                    && ids == ids.sorted { Array($0.utf8).lexicographicallyPrecedes($1.utf8) }
            )

            let connection = try await TestDatabase.current.connection()
            _ = try await connection.execute(
                """
                INSERT INTO api_key (
                    id, tenant_id, secret_sha256, name, scopes, revoked_at, expires_at)
                SELECT 'old' || n, \(server.first.id.uuid), decode(repeat('00', 32), 'hex'), 'old',
                    '{read}', CASE n % 2 WHEN 0 THEN x.ended_at END,
                    CASE n % 2 WHEN 1 THEN x.ended_at END
                FROM generate_series(1, \(Int64(Quota.keysMax) - 5)) n
                CROSS JOIN LATERAL (
                    SELECT now() - CASE WHEN n <= 100 THEN interval '31 days'
                        ELSE interval '29 days' END AS ended_at) x
                """
            )
            // Keys that ended long ago make room, those that ended lately do not.
            for _ in 0..<100 { _ = try await server.holder([.read]) }
            let answer = try await server.send("POST", "/v1/keys", #"{"name": "one more"}"#)
            #expect(answer.status == 429)
            #expect(try answer.json(ProblemDetails.self).limit == "keys")
            #expect(
                try await server.send("POST", "/v1/keys", #"{"name": "a"}"#, as: server.second)
                    .status == 201
            )
        }
    }

    @Test func aKeyHasARateOfItsOwnBesideItsTenants() async throws {
        try await APIServer.run { server in
            let body = #"{"name": "slow", "scopes": ["read"], "requests_per_second_max": 2}"#
            let created = try await server.send("POST", "/v1/keys", body).json(KeyDocument.self)
            #expect(created.requestsPerSecondMax == 2)
            let key = try #require(created.key.flatMap { APIKey($0) })
            let slow = APIServer.Tenant(id: server.first.id, key: key)
            _ = try await server.stores.tenants.limitTenant(
                named: "first",
                changes: TenantLimitChanges(requestsPerSecondMax: 1000)
            )
            let answers = try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await server.send("GET", "/v1/tenant", as: slow) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let refused = answers.filter { $0.status == 429 }
            let first = try #require(refused.first)
            #expect(try first.json(ProblemDetails.self).limit == "key_requests")
            #expect(first.fields["ratelimit-policy"] == #""key_requests";q=2;w=1"#)
            #expect(first.fields["retry-after"] == "1")
            let good = try #require(answers.first { $0.status == 200 })
            #expect(
                good.fields["ratelimit-policy"]?.hasSuffix(#""key_requests";q=2;w=1"#) == true
            )
            // Others of the tenant go on.
            #expect(try await server.send("GET", "/v1/tenant").status == 200)
            for wrong in ["0", "1000001"] {
                let body = #"{"name": "a", "requests_per_second_max": \#(wrong)}"#
                let answer = try await server.send("POST", "/v1/keys", body)
                #expect(answer.faults == ["/requests_per_second_max invalid_value"])
            }
        }
    }
}
