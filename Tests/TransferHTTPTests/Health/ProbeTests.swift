import Foundation
import Logging
import Postgres
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct ProbeTests {
    /// Runs `body` with an API whose database does not exist.
    private static func withoutDatabase(
        health: HealthSource = .fixture(
            readiness: .notReady(reason: "database"),
            isDatabaseUp: false
        ),
        _ body: @Sendable (HTTPClient) async throws -> Void
    ) async throws {
        let nowhere = ConnectionConfiguration(
            url: "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"
        )
        let pool = ConnectionPool(configuration: nowhere, loop: TestDatabase.current.loop)
        let stores = Stores(Database(pool: pool))
        let logger = Logger(label: "http-tests", factory: { _ in SwiftLogNoOpLogHandler() })
        let api = TransferAPI(
            stores: APIStores(stores.database),
            container: try Container(directory: "/tmp"),
            uploadBytesMax: 1_000_000,
            connectionsPerHost: 6,
            linkBase: nil,
            egress: EgressPolicy(),
            health: health,
            polls: LongPollHub(stores: APIStores(stores.database), logger: logger),
            presence: TenantPresence(),
            tell: { _, _ in },
            sendTest: { _, _, _ in .fixture },
            openAPIDocument: Array("openapi: 3.1.0\n".utf8),
            logger: logger
        )
        try await APIServer.serving(api) { try await body(HTTPClient(port: $0)) }
        await pool.close()
    }

    @Test func tellsWhetherItIsWell() async throws {
        try await APIServer.run { server in
            let live = try await server.sendPlain("GET", "/livez")
            #expect(live.text == #"{"status":"pass"}"#)
            #expect(try await server.sendPlain("GET", "/readyz").status == 200)
            let health = try await server.sendPlain("GET", "/health").json(HealthDocument.self)
            #expect(health.status == "pass")
            #expect(health.uptimeSeconds == 3)
            #expect(health.roles == ["api", "worker"])
            #expect(health.signals.status == "pass")
            let document = try await server.sendPlain("GET", "/openapi.yaml")
            #expect(document.text == "openapi: 3.1.0\n")
            #expect(document.fields["content-type"] == "application/yaml")
        }
    }

    @Test func anInstanceWithoutTheAPIAnswersWhoeverWatchesItAndNobodyElse() async throws {
        let logger = Logger(label: "http-tests", factory: { _ in SwiftLogNoOpLogHandler() })
        let probes = ProbeAPI(health: .fixture(), logger: logger)
        try await APIServer.serving(
            by: { probes.application(host: "127.0.0.1", port: 0, onServerRunning: $0) }
        ) { port in
            let client = HTTPClient(port: port)
            func get(_ path: String) async throws -> HTTPClient.Answer {
                try await client.exchange(
                    HTTPClient.request("GET", path, fields: [], body: nil)
                )
            }
            for path in ["/livez", "/readyz", "/health"] {
                #expect(try await get(path).status == 200)
            }
            for path in ["/openapi.yaml", "/v1/sessions", "/v1/nonsense", "/"] {
                let answer = try await get(path)
                #expect(answer.status == 503)
                #expect(answer.code == .unavailable)
                #expect(answer.text.contains("does not answer clients"))
            }
        }
    }

    @Test(
        arguments: [
            (nil, "pass", nil),
            (29.6, "pass", 30),
            (30.4, "warn", 30),
            (-7200.2, "warn", -7200),
        ] as [(Double?, String, Int?)]
    )
    func tellsHowFarItsClockIsFromTheDatabases(
        difference: Double?,
        status: String,
        seconds: Int?
    ) async throws {
        let logger = Logger(label: "http-tests", factory: { _ in SwiftLogNoOpLogHandler() })
        let probes = ProbeAPI(health: .fixture(clockDifference: difference), logger: logger)
        try await APIServer.serving(
            by: { probes.application(host: "127.0.0.1", port: 0, onServerRunning: $0) }
        ) { port in
            let answer = try await HTTPClient(port: port).exchange(
                HTTPClient.request("GET", "/health", fields: [], body: nil)
            )
            #expect(answer.status == 200)
            let health = try answer.json(HealthDocument.self)
            #expect(health.status == status)
            #expect(health.clock.status == status)
            #expect(health.clock.seconds == seconds)
            #expect((health.clock.reason == nil) == (status == "pass"))
            let document = try APIServer.document()
            #expect(try document.violations(of: answer.body, schema: "Health").isEmpty)
        }
    }

    @Test func staysAliveWithoutItsDatabase() async throws {
        try await Self.withoutDatabase { client in
            func get(_ path: String) async throws -> HTTPClient.Answer {
                try await client.exchange(
                    HTTPClient.request("GET", path, fields: [], body: nil)
                )
            }
            #expect(try await get("/livez").status == 200)
            let ready = try await get("/readyz")
            #expect(ready.status == 503)
            #expect(try ready.json(ProbeDocument.self).reason == "database")
            let health = try await get("/health")
            #expect(health.status == 503)
            #expect(try health.json(HealthDocument.self).database.status == "fail")
        }
    }

    @Test func unavailableDatabaseIsToldWithoutItsReason() async throws {
        try await Self.withoutDatabase { client in
            let key = APIKey.generate().serialized
            let answer = try await client.exchange(
                HTTPClient.request(
                    "GET",
                    "/v1/sessions",
                    fields: [("Authorization", "Bearer \(key)")],
                    body: nil
                )
            )
            #expect(answer.status == 503)
            #expect(answer.code == .unavailable)
            #expect(answer.fields["retry-after"] == "1")
            for secret in ["nobody", "127.0.0.1", "postgres", "SELECT", "api_key"] {
                #expect(!answer.text.contains(secret))
            }
            let violations = try APIServer.document().violations(
                method: "GET",
                path: "/v1/sessions",
                status: 503,
                fields: answer.fields,
                body: answer.body
            )
            #expect(violations.isEmpty)
        }
    }

    @Test func defectIsToldAsAFailureOnly() async throws {
        try await APIServer.run { server in
            try await TestDatabase.current.connection().executeScript(
                "ALTER TABLE subscription RENAME TO gone"
            )
            let answer = try await server.send("GET", "/v1/subscriptions")
            #expect(answer.status == 500)
            #expect(answer.code == .internalError)
            #expect(!answer.text.contains("subscription"))
        }
    }

    @Test func interimAnswerInvitesTheBody() async throws {
        try await APIServer.run { server in
            let answer = try await server.send(
                "PUT",
                "/v1/sessions/photos",
                "{}",
                fields: [("Expect", "100-continue")]
            )
            #expect(answer.status == 201)
            let head =
                "PUT /v1/sessions/p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                + "Content-Length: 2\r\n\r\n"
            let socket = try HTTPClient.connect(server.client.port)
            defer { close(socket) }
            _ = Array(head.utf8).withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) }
            let interim = try await onThread {
                var buffer = [UInt8](repeating: 0, count: 64)
                let count = recv(socket, &buffer, buffer.count, 0)
                return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
            }
            #expect(interim.hasPrefix("HTTP/1.1 100 Continue\r\n"))
        }
    }
}
