import Foundation
import HTTPTypes
import NIOCore
import Postgres
import Synchronization
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP
@testable import TransferStore

@Suite(.postgresSchema) struct AuthenticationTests {
    @Test func everythingButTheOperationsAndThePageNeedsAKey() async throws {
        try await APIServer.run { server in
            for operation in try APIServer.document().operations {
                let answer = try await server.sendPlain(
                    operation.method,
                    operation.path.filling(identifier: "a", id: UUID())
                )
                if operation.needsKey {
                    #expect(answer.status == 401, "\(operation)")
                    #expect(answer.code == .unauthorized)
                    #expect(answer.fields["www-authenticate"] == "Bearer")
                } else {
                    #expect(answer.status == 200, "\(operation)")
                }
            }
            #expect(try await server.sendPlain("GET", "/nowhere").status == 401)
        }
    }

    @Test func wrongKeysAreAllAnsweredAlike() async throws {
        try await APIServer.run { server in
            let good = server.first.key.serialized
            let stranger = APIKey.generate().serialized
            let mixed = Self.key(id: server.first.key.id)
            let headers = [
                "", "Bearer", "Bearer x", "Basic \(good)", good, "Bearer \(good)x",
                "Bearer \(good.dropLast())", "Bearer \(stranger)", "Bearer \(mixed)",
                "Bearer \(good) \(good)",
            ]
            for header in headers {
                let start = ContinuousClock.now
                let answer = try await server.sendPlain(
                    "GET",
                    "/v1/sessions",
                    fields: [("Authorization", header)]
                )
                #expect(answer.status == 401, "\(header)")
                // Whoever tries many keys is slowed.
                #expect(ContinuousClock.now - start >= APIResponder.refusalPause)
            }
            let answer = try await server.sendPlain(
                "GET",
                "/v1/sessions",
                fields: [("Authorization", "bearer \(good)")]
            )
            #expect(answer.status == 200)
        }
    }

    /// Returns a key of valid form with that identifier and another secret.
    private static func key(id: String, secret number: Int = 0) -> String {
        let digits = String(number)
        let secret = String(repeating: "0", count: 64 - digits.utf8.count) + digits
        let text = "tdk_\(id)_\(secret)"
        let crc = String(CRC32.checksum(text.utf8), radix: 16)
        return "\(text)_\(String(repeating: "0", count: 8 - crc.utf8.count))\(crc)"
    }

    @Test func anotherTenantGetsTheAnswerForWhatIsNotThere() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.submit(session)
            let subscription = try await server.send(
                "POST",
                "/v1/subscriptions",
                #"{"url": "http://receiver.example/"}"#
            ).json(SubscriptionDocument.self)
            try await server.send(
                "PUT",
                "/v1/credentials/photos",
                #"{"kind": "bearer", "token": "a"}"#
            )
            let subscriptionID = try #require(UUID(uuidString: subscription.id))
            let operations = try APIServer.document().operations.filter {
                $0.needsKey && $0.path.contains("{") && "PUT \($0.path)" != $0.description
            }
            #expect(operations.count >= 10)
            for operation in operations {
                let isSubscription = operation.path.contains("subscriptions")
                let id = isSubscription ? subscriptionID : task.uuid
                let body = Self.body(of: operation)
                let foreign = try await server.send(
                    operation.method,
                    operation.path.filling(identifier: "photos", id: id),
                    body,
                    as: server.second
                )
                let absent = try await server.send(
                    operation.method,
                    operation.path.filling(identifier: "absent", id: .version7()),
                    body,
                    as: server.second
                )
                #expect(foreign.status == 404, "\(operation)")
                #expect(foreign.withoutRequestID == absent.withoutRequestID, "\(operation)")
            }
            let document = try await server.send("GET", "/v1/tasks/\(task)")
                .json(TaskDocument.self)
            #expect(document.state == "queued")
            #expect(try await server.send("GET", session).status == 200)
            for path in ["/v1/sessions", "/v1/subscriptions"] {
                let page = try await server.send("GET", path, as: server.second)
                #expect(page.text == #"{"items":[],"has_more":false}"#)
            }
        }
    }

    /// Returns a body that the operation accepts, if it accepts one.
    private static func body(of operation: OpenAPIDocument.Operation) -> String? {
        switch (operation.method, operation.path.split(separator: "/").last) {
        case ("PATCH", _): "{}"
        case ("POST", "tasks"): #"{"url": "http://a.example/"}"#
        case ("POST", "credential"): #"{"disposition": "default"}"#
        case ("POST", "begin"): #"{"disposition": "continue"}"#
        case ("POST", "ack"): #"{"ack_token": "none"}"#
        case ("POST", "reconnect"): "{}"
        case ("POST", "bulk-operations"): #"{"verb": "cancel"}"#
        case ("POST", "complete"): #"{"success": true}"#
        case ("POST", "extend"): #"{"seconds": 1}"#
        case ("POST", "progress"): #"{"completed_unit_count": 1, "total_unit_count": 1}"#
        case ("POST", "transfers"): #"{"task_ids": ["\#(UUID.version7().text)"]}"#
        case ("POST", "recover"): #"{"since": "2026-01-01T00:00:00Z"}"#
        case ("POST", "fail-next-attempt"): #"{"code": "timed_out"}"#
        default: nil
        }
    }

    @Test func rememberedKeyIsAskedForAgainAfterFiveSeconds() async throws {
        let clock = Mutex(ContinuousClock.now)
        let lookUps = Mutex(0)
        let key = APIKey.generate()
        let isRevoked = Mutex(false)
        let authenticator = Authenticator(now: { clock.withLock { $0 } }) { _ in
            lookUps.withLock { $0 += 1 }
            return StoredAPIKey(
                tenant: TenantID(UUID()),
                secretSHA256: key.secretSHA256,
                isRevoked: isRevoked.withLock { $0 }
            )
        }
        let fields: HTTPFields = [.authorization: "Bearer \(key.serialized)"]
        _ = try await authenticator.caller(of: fields)
        isRevoked.withLock { $0 = true }
        _ = try await authenticator.caller(of: fields)
        #expect(lookUps.withLock { $0 } == 1)
        clock.withLock { $0 += Authenticator.cacheLifetime }
        await #expect(throws: Problem.self) { try await authenticator.caller(of: fields) }
        #expect(lookUps.withLock { $0 } == 2)
    }

    /// There are more requests than allowed look-ups of wrong keys, and none of them has to wait
    /// for another.
    @Test func aClientThatBeginsWithManyRequestsIsLookedUpOnce() async throws {
        let lookUps = Mutex(0)
        let arrivals = Mutex(0)
        let isOpen = Mutex(false)
        let key = APIKey.generate()
        let tenant = TenantID(UUID())
        let now: @Sendable () -> ContinuousClock.Instant = {
            arrivals.withLock { $0 += 1 }
            return .now
        }
        let authenticator = Authenticator(now: now) { _ in
            lookUps.withLock { $0 += 1 }
            try await eventually("the database answers") { isOpen.withLock(\.self) }
            return StoredAPIKey(tenant: tenant, secretSHA256: key.secretSHA256, isRevoked: false)
        }
        let peer = PeerAddress(try SocketAddress(ipAddress: "192.0.2.1", port: 1))
        let fields: HTTPFields = [.authorization: "Bearer \(key.serialized)"]
        let tenants = try await withThrowingTaskGroup(of: TenantID.self) { group in
            for _ in 0..<5 * WrongKeyThrottle.burst {
                group.addTask { try await authenticator.caller(of: fields, from: peer).tenant }
            }
            try await eventually("all have come") {
                arrivals.withLock { $0 } == 5 * WrongKeyThrottle.burst
            }
            isOpen.withLock { $0 = true }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tenants == Array(repeating: tenant, count: 5 * WrongKeyThrottle.burst))
        #expect(lookUps.withLock { $0 } == 1)
    }

    /// Whatever keys are made up, the database is asked a few times, and clients with known keys
    /// continue.
    @Test func wrongKeysAreLookedUpAFewTimes() async throws {
        let clock = Mutex(ContinuousClock.now)
        let lookUps = Mutex(0)
        let good = APIKey.generate()
        let authenticator = Authenticator(now: { clock.withLock { $0 } }) { id in
            lookUps.withLock { $0 += 1 }
            guard id == good.id else { return nil }
            return StoredAPIKey(
                tenant: TenantID(UUID()),
                secretSHA256: good.secretSHA256,
                isRevoked: false
            )
        }
        func code(_ key: APIKey, from address: String) async throws -> ProblemDetails.Code? {
            let peer = PeerAddress(try SocketAddress(ipAddress: address, port: 1))
            do {
                let fields: HTTPFields = [.authorization: "Bearer \(key.serialized)"]
                _ = try await authenticator.caller(of: fields, from: peer)
                return nil
            } catch let problem as Problem {
                if problem.code == .tooManyRequests {
                    #expect(problem.headers[.retryAfter] == "1")
                    #expect(problem.sharedLimit == .wrongKeys)
                }
                return problem.code
            }
        }
        #expect(try await code(good, from: "192.0.2.1") == nil)
        let unknown = APIKey.generate()
        for _ in 0..<100 {
            #expect(try await code(unknown, from: "192.0.2.1") == .unauthorized)
        }
        #expect(lookUps.withLock { $0 } == 2)
        for _ in 0..<1000 { _ = try await code(.generate(), from: "192.0.2.1") }
        #expect(try await code(.generate(), from: "192.0.2.1") == .tooManyRequests)
        #expect(lookUps.withLock { $0 } == 1 + WrongKeyThrottle.burst)
        // Not even when it is time to look the key up again.
        clock.withLock { $0 += Authenticator.cacheLifetime }
        for _ in 0..<1000 { _ = try await code(.generate(), from: "192.0.2.1") }
        #expect(try await code(good, from: "192.0.2.1") == nil)
        #expect(try await code(.generate(), from: "192.0.2.2") == .unauthorized)
        for host in 0..<1000 {
            _ = try await code(.generate(), from: "198.51.\(host / 250).\(host % 250)")
        }
        #expect(lookUps.withLock { $0 } < 2 * WrongKeyThrottle.totalBurst)
    }

    /// A client that comes first while the database is away is told so, however often it asks, and
    /// is served once the database is back.
    @Test func lookUpsThatFailAreNoWrongKeys() async throws {
        let isAway = Mutex(true)
        let good = APIKey.generate()
        let now = ContinuousClock.now
        let authenticator = Authenticator(now: { now }) { _ in
            if isAway.withLock({ $0 }) {
                throw StoreError.unavailable(PostgresError(unsent: .connectionFailed, "away"))
            }
            return StoredAPIKey(tenant: TenantID(UUID()), secretSHA256: good.secretSHA256)
        }
        let peer = PeerAddress(try SocketAddress(ipAddress: "192.0.2.1", port: 1))
        let fields: HTTPFields = [.authorization: "Bearer \(good.serialized)"]
        for _ in 0...WrongKeyThrottle.burst {
            await #expect(throws: StoreError.self) {
                try await authenticator.caller(of: fields, from: peer)
            }
        }
        isAway.withLock { $0 = false }
        _ = try await authenticator.caller(of: fields, from: peer)
    }

    /// A wrong secret takes the way of an unknown identifier, also while the key is in use.
    @Test func guessesOfASecretAreLimitedAsThoseOfIdentifiers() async throws {
        let lookUps = Mutex(0)
        let good = APIKey.generate()
        let now = ContinuousClock.now
        let authenticator = Authenticator(now: { now }) { id in
            lookUps.withLock { $0 += 1 }
            guard id == good.id else { return nil }
            return StoredAPIKey(tenant: TenantID(UUID()), secretSHA256: good.secretSHA256)
        }
        let peer = PeerAddress(try SocketAddress(ipAddress: "192.0.2.1", port: 1))
        func problem(_ key: String) async throws -> Problem? {
            do {
                let fields: HTTPFields = [.authorization: "Bearer \(key)"]
                _ = try await authenticator.caller(of: fields, from: peer)
                return nil
            } catch let problem as Problem {
                return problem
            }
        }
        #expect(try await problem(good.serialized) == nil)
        for guess in 0..<100 {
            let ids = guess.isMultiple(of: 2) ? good.id : APIKey.generate().id
            let answer = try #require(try await problem(Self.key(id: ids, secret: guess)))
            let isLimited = guess >= WrongKeyThrottle.burst
            #expect(answer.code == (isLimited ? .tooManyRequests : .unauthorized), "\(guess)")
            #expect(answer.detail == (isLimited ? answer : Problem.invalidKey).detail)
        }
        #expect(lookUps.withLock { $0 } == 1 + WrongKeyThrottle.burst)
        #expect(try await problem(good.serialized) == nil)
    }

    @Test func anExpiredKeyIsRefusedFromThatMomentOn() async throws {
        let clock = Mutex(ContinuousClock.now)
        let lookUps = Mutex(0)
        let end = clock.withLock { $0 } + .seconds(7)
        let key = APIKey.generate()
        let authenticator = Authenticator(now: { clock.withLock { $0 } }) { _ in
            lookUps.withLock { $0 += 1 }
            return StoredAPIKey(
                tenant: TenantID(UUID()),
                secretSHA256: key.secretSHA256,
                expiresIn: end - clock.withLock { $0 }
            )
        }
        let fields: HTTPFields = [.authorization: "Bearer \(key.serialized)"]
        #expect(try await authenticator.caller(of: fields).expiresAt == end)
        clock.withLock { $0 += .seconds(6) }
        #expect(try await authenticator.caller(of: fields).expiresAt == end)
        // The key is still remembered, but not beyond its end.
        clock.withLock { $0 += .seconds(1) }
        await #expect(throws: Problem.self) { try await authenticator.caller(of: fields) }
        #expect(lookUps.withLock { $0 } == 3)
    }
}

extension String {
    /// Returns a path of `openapi.yaml` with its parameters filled in.
    fileprivate func filling(identifier: String, id: UUID) -> String {
        replacingOccurrences(of: "{identifier}", with: identifier)
            .replacingOccurrences(of: "{client}", with: identifier)
            .replacingOccurrences(of: "{host}", with: "\(identifier).test:443")
            .replacingOccurrences(of: "{name}", with: identifier)
            .replacingOccurrences(of: "{file}", with: "app.js")
            .replacingOccurrences(of: "{id}", with: id.uuidString.lowercased())
    }
}

extension HTTPClient.Answer {
    /// Everything that a client can distinguish.
    fileprivate var withoutRequestID: String {
        var fields = fields
        let id = fields.removeValue(forKey: "x-request-id") ?? ""
        fields["date"] = nil
        let head = fields.sorted { $0.key < $1.key }.map { "\($0): \($1)" }
        return "\(status) \(head) \(text.replacingOccurrences(of: id, with: ""))"
    }
}
