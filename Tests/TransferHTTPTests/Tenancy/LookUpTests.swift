import Foundation
import HTTPTypes
import NIOCore
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The look-ups of many keys at once.
@Suite(.timeLimit(.minutes(1))) struct LookUpTests {
    private static let requests = 4 * WrongKeyThrottle.burst

    /// Sends as many keys from one address as come before the database has answered for any.
    ///
    /// - Returns: the codes of the refusals, and the number of look-ups.
    private static func refusals(
        of keys: [APIKey],
        knowing known: [String: [UInt8]]
    ) async throws -> (codes: [ProblemDetails.Code], lookUps: Int) {
        let time = ContinuousClock.now
        let arrivals = Mutex(0)
        let lookUps = Mutex(0)
        let isOpen = Mutex(false)
        let now: @Sendable () -> ContinuousClock.Instant = {
            arrivals.withLock { $0 += 1 }
            return time
        }
        let authenticator = Authenticator(now: now) { id in
            lookUps.withLock { $0 += 1 }
            try await eventually("the database answers") { isOpen.withLock(\.self) }
            return known[id].map { StoredAPIKey(tenant: TenantID(.version7()), secretSHA256: $0) }
        }
        let peer = PeerAddress(try SocketAddress(ipAddress: "192.0.2.1", port: 1))
        let codes = try await withThrowingTaskGroup(of: ProblemDetails.Code?.self) { group in
            for key in keys {
                group.addTask {
                    let fields: HTTPFields = [.authorization: "Bearer \(key.serialized)"]
                    do {
                        _ = try await authenticator.caller(of: fields, from: peer)
                        return nil
                    } catch let problem as Problem {
                        return problem.code
                    }
                }
            }
            try await eventually("all have come") {
                arrivals.withLock { $0 } == keys.count
                    && lookUps.withLock { $0 } == WrongKeyThrottle.burst
            }
            isOpen.withLock { $0 = true }
            return try await group.reduce(into: [ProblemDetails.Code]()) {
                if let code = $1 { $0.append(code) }
            }
        }
        return (codes, lookUps.withLock { $0 })
    }

    /// As when a service starts again behind a gateway that all its clients share.
    @Test func goodKeysThatComeAtOnceAreAllAccepted() async throws {
        let keys = (0..<Self.requests).map { _ in APIKey.generate() }
        let known = Dictionary(uniqueKeysWithValues: keys.map { ($0.id, $0.secretSHA256) })
        let (codes, lookUps) = try await Self.refusals(of: keys, knowing: known)
        #expect(codes.isEmpty)
        #expect(lookUps == Self.requests)
    }

    @Test func wrongKeysThatComeAtOnceAreLookedUpAFewTimes() async throws {
        let keys = (0..<Self.requests).map { _ in APIKey.generate() }
        let (codes, lookUps) = try await Self.refusals(of: keys, knowing: [:])
        #expect(lookUps == WrongKeyThrottle.burst)
        #expect(codes.count { $0 == .unauthorized } == WrongKeyThrottle.burst)
        #expect(codes.count { $0 == .tooManyRequests } == Self.requests - WrongKeyThrottle.burst)
    }
}
