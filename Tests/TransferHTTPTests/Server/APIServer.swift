import Foundation
import Hummingbird
import Logging
import NIOCore
import Postgres
import Testing
import TransferContainer
import TransferMetrics
import TransferModel
import TransferSecrets
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The whole API on a separate port, over the schema of the running test, with two tenants.
///
/// Every answer that a test sees is checked against `openapi.yaml`.
struct APIServer: Sendable {
    let stores: Stores
    let api: TransferAPI
    let client: HTTPClient
    private let folder: TestFolder
    var containers: String { folder.path }
    let first: Tenant
    let second: Tenant
    let wakes: WakeCounter
    let audit: AuditTrail

    /// A tenant with a key.
    struct Tenant: Sendable {
        let id: TenantID
        let key: APIKey
    }

    /// Returns the document in the repository: tests run from their sources.
    static func document() throws -> OpenAPIDocument {
        try OpenAPIDocument(
            yaml: String(contentsOfFile: "\(Checkout.root)/openapi.yaml", encoding: .utf8)
        )
    }

    /// Runs `body` with a server.
    static func run(
        readers: EventReaderBounds = EventReaderBounds(),
        settings: StoreSettings = StoreSettings(),
        bodyBytesMax: Int = TransferAPI.bodyBytesMaxDefault,
        connections: ConnectionBounds = ConnectionBounds(),
        presence: TenantPresence = TenantPresence(),
        stores otherStore: Stores? = nil,
        container: Container? = nil,
        hasNetwork: @escaping @Sendable () -> Bool? = { true },
        logger: Logger = Logger(label: "http-tests") { _ in SwiftLogNoOpLogHandler() },
        sendTest:
            @escaping @Sendable (SubscriptionID, Endpoint, TenantID) async -> DeliveryAttempt = {
                _,
                _,
                _ in .fixture
            },
        _ body: @Sendable (APIServer) async throws -> Void
    ) async throws {
        // Migrations take one lock of the whole cluster, so tests that start together wait long.
        let connection = try await TestDatabase.current.connection {
            $0.queryDeadline = $0.scriptDeadline
        }
        try await Migrator(folder: Checkout.migrations, logger: logger).migrate(connection)
        var settings = settings
        settings.secrets = SecretsKey(hex: SecretsKey.random()).flatMap { SecretBox(keys: [$0]) }
        let stores =
            otherStore ?? Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        let folder = try TestFolder("http")
        defer { withExtendedLifetime(folder) {} }
        let wakes = WakeCounter()
        let audit = AuditTrail(stores.audit, logger: logger)
        let api = TransferAPI(
            stores: APIStores(stores.database),
            container: try container ?? Container(directory: folder.path),
            uploadBytesMax: 1_000_000,
            bodyBytesMax: bodyBytesMax,
            connectionsPerHost: 6,
            linkBase: nil,
            egress: EgressPolicy(),
            health: .fixture(),
            polls: LongPollHub(stores: APIStores(stores.database), logger: logger),
            readers: readers,
            connections: ConnectionRegistry(bounds: connections),
            presence: presence,
            tell: { signals, _ in wakes.count(signals) },
            hasNetwork: hasNetwork,
            sendTest: sendTest,
            openAPIDocument: Array("openapi: 3.1.0\n".utf8),
            page: try PageFiles(folder: Checkout.page),
            audit: audit,
            logger: logger
        )
        let first = try await tenant("first", stores)
        let second = try await tenant("second", stores)
        try await serving(api, recordingTo: audit) { port in
            try await body(
                APIServer(
                    stores: stores,
                    api: api,
                    client: HTTPClient(port: port),
                    folder: folder,
                    first: first,
                    second: second,
                    wakes: wakes,
                    audit: audit
                )
            )
        }
    }

    /// Runs `body` while `api` listens, and `audit` records.
    static func serving(
        _ api: TransferAPI,
        recordingTo audit: AuditTrail? = nil,
        _ body: @Sendable (Int) async throws -> Void
    ) async throws {
        try await serving(
            by: { api.application(host: "127.0.0.1", port: 0, onServerRunning: $0) }
        ) { port in
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let audit { group.addTask { try await audit.run() } }
                try await body(port)
                group.cancelAll()
            }
        }
    }

    /// Runs `body` while the server returned by `make` listens.
    static func serving<Server: ApplicationProtocol>(
        by make: (@escaping @Sendable (Int) async -> Void) -> Server,
        _ body: @Sendable (Int) async throws -> Void
    ) async throws {
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = make { port.yield($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            guard let port = await ports.first(where: { _ in true }) else { return }
            try await body(port)
            group.cancelAll()
        }
    }

    private static func tenant(_ name: String, _ stores: Stores) async throws -> Tenant {
        // So that all operations are there.
        _ = try await stores.tenants.createTenant(named: name, isForTests: true)
        let key = APIKey.generate()
        let id = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: key.id,
                secretSHA256: key.secretSHA256,
                name: "test",
                scopes: Set(KeyScope.allCases)
            ),
            tenantName: name
        )
        return Tenant(id: id, key: key)
    }
}

extension APIServer {
    /// Sends a request as `tenant`, by default the first, and checks the answer's form.
    @discardableResult
    func send(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        as tenant: Tenant? = nil,
        fields: [(String, String)] = [],
        location: SourceLocation = #_sourceLocation
    ) async throws -> HTTPClient.Answer {
        try await send(
            method,
            path,
            bytes: body.map { Array($0.utf8) },
            as: tenant,
            fields: fields,
            location: location
        )
    }

    /// Sends a request with a body of any bytes, and checks the answer's form.
    @discardableResult
    func send(
        _ method: String,
        _ path: String,
        bytes: [UInt8]?,
        as tenant: Tenant? = nil,
        fields: [(String, String)] = [],
        location: SourceLocation = #_sourceLocation
    ) async throws -> HTTPClient.Answer {
        var all = fields
        all.append(("Authorization", "Bearer \((tenant ?? first).key.serialized)"))
        if bytes != nil, !fields.contains(where: { $0.0 == "Content-Type" }) {
            all.append(("Content-Type", "application/json"))
        }
        return try await sendPlain(method, path, bytes: bytes, fields: all, location: location)
    }

    /// Sends a request without a key, and checks the answer's form.
    @discardableResult
    func sendPlain(
        _ method: String,
        _ path: String,
        bytes: [UInt8]? = nil,
        fields: [(String, String)] = [],
        location: SourceLocation = #_sourceLocation
    ) async throws -> HTTPClient.Answer {
        let answer = try await client.exchange(
            HTTPClient.request(method, path, fields: fields, body: bytes)
        )
        let violations = try Self.contract.get().violations(
            method: method,
            path: path.components(separatedBy: "?")[0],
            status: answer.status,
            fields: answer.fields,
            body: answer.body
        )
        #expect(
            violations.isEmpty,
            "\(method) \(path) \(answer.status): \(answer.text.prefix(500))",
            sourceLocation: location
        )
        // A request that violates the document must not succeed.
        if (200..<300).contains(answer.status) {
            let faults = try Self.contract.get().requestViolations(
                method: method,
                path: path,
                fields: fields,
                body: bytes ?? []
            )
            #expect(faults.isEmpty, "\(method) \(path) was answered", sourceLocation: location)
        }
        for name in ["x-request-id", "x-content-type-options"] {
            #expect(answer.fields[name] != nil, sourceLocation: location)
        }
        return answer
    }

    /// Sends a request, again and again as long as the service has no room for it.
    func sendPatiently(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        fields: [(String, String)] = []
    ) async throws -> HTTPClient.Answer {
        var answer = try await send(method, path, body, fields: fields)
        try await eventually("there is room", within: .seconds(60)) {
            if answer.code != .unavailable { return true }
            answer = try await send(method, path, body, fields: fields)
            return answer.code != .unavailable
        }
        return answer
    }

    private static let contract = Result { try document() }

    /// Makes a session and returns its path.
    func session(_ identifier: String = "photos", as tenant: Tenant? = nil) async throws -> String {
        try await send("PUT", "/v1/sessions/\(identifier)", as: tenant)
        return "/v1/sessions/\(identifier)"
    }

    /// Returns the position of a reader of the session's events after the one with `sequence`.
    func place(_ sequence: Int64, in session: String) async throws -> String {
        "\(try await send("GET", session).json(SessionDocument.self).id):\(sequence)"
    }

    /// Submits one task and returns its identifier.
    func submit(
        _ session: String,
        _ body: String = #"{"url": "http://origin.example/a"}"#,
        as tenant: Tenant? = nil
    ) async throws -> TaskID {
        let answer = try await send("POST", "\(session)/tasks", body, as: tenant)
        let receipt = try answer.json(TaskReceipt.self)
        return TaskID(try #require(UUID(uuidString: receipt.id)))
    }
}

extension HTTPClient.Answer {
    /// The problem's code, if the answer is a problem.
    var code: ProblemDetails.Code? { (try? json(ProblemDetails.self))?.code }

    /// The problem's detail, if the answer is a problem that has one.
    var detail: String? { (try? json(ProblemDetails.self))?.detail }

    /// The problem's faults as `pointer code`.
    var faults: [String] {
        ((try? json(ProblemDetails.self))?.errors ?? [])
            .map { "\($0.pointer ?? $0.parameter ?? "") \($0.codeName)" }
    }
}

extension HealthSource {
    /// Returns a source that answers at once.
    static func fixture(
        readiness: Readiness = .ready,
        isDatabaseUp: Bool = true,
        clockDifference: Double? = nil
    ) -> HealthSource {
        HealthSource(
            readiness: { readiness },
            report: {
                HealthReport(
                    version: "1.0.0",
                    libcurl: HealthDocument.Library(
                        version: "7.88.1",
                        tls: "OpenSSL/3.0.19",
                        features: ["HTTP2", "SSL"],
                        isHTTP2Sound: false,
                        http2For: ["message"]
                    ),
                    roles: [.api, .worker],
                    isDatabaseUp: isDatabaseUp,
                    signals: .heard,
                    clockDifference: clockDifference,
                    workers: isDatabaseUp ? 1 : nil,
                    uptime: .seconds(3)
                )
            },
            metrics: { [MetricSample(.uptime, 3)] }
        )
    }
}

extension DeliveryAttempt {
    /// The result of every test of a subscription.
    static let fixture = DeliveryAttempt(
        at: Date(timeIntervalSince1970: 1_772_366_400),
        duration: .milliseconds(12),
        status: 500,
        reason: "http_status",
        answer: "no",
        isReplay: false
    )
}
