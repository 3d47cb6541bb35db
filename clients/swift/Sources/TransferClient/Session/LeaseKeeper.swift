import Foundation
import Synchronization
import TransferWire

/// Renews the leases of tasks that were taken over or submitted, until they are released.
final class LeaseKeeper: Sendable {
    /// The most tasks that are submitted with one lease.
    private static let tasksMax = 1000

    private struct State {
        var renewals: [String: Task<Void, Never>] = [:]
        /// The lease of the next tasks that are submitted, and how many more it takes.
        var next: (token: String, room: Int)?

        /// Forgets all leases.
        mutating func takeRenewals() -> [String: Task<Void, Never>] {
            defer { (renewals, next) = ([:], nil) }
            return renewals
        }
    }

    private let state = Mutex(State())

    /// Returns the token of a lease for tasks that are about to be submitted.
    func token(for count: Int) -> String {
        state.withLock { state in
            let (token, room) =
                state.next.flatMap { $0.room < count ? nil : $0 }
                ?? (UUID().uuidString.lowercased(), Self.tasksMax)
            state.next = (token, room - count)
            return token
        }
    }

    /// Renews a lease three times within its duration, unless that is being done, and calls `lost`
    /// when it has ended all the same.
    func keep(
        _ token: String,
        for duration: Duration,
        at service: TransferService,
        lost: @escaping @Sendable (TransferError) async -> Void
    ) {
        state.withLock { state in
            guard state.renewals[token] == nil else { return }
            // The renewal belongs to no call of the client; `release` ends it.
            state.renewals[token] = Task {
                let error = await Self.renew(token, for: duration, at: service)
                forget(token)
                if let error { await lost(error) }
            }
        }
    }

    private func forget(_ token: String) {
        state.withLock { state in
            state.renewals[token] = nil
            if state.next?.token == token { state.next = nil }
        }
    }

    /// Renews a lease until that is refused, or its end has passed.
    ///
    /// - Returns: nil after a cancellation, and when no task is held any more.
    private static func renew(
        _ token: String,
        for duration: Duration,
        at service: TransferService
    ) async -> TransferError? {
        let clock = ContinuousClock()
        var end = clock.now + duration
        while true {
            do throws(TransferError) {
                try await TransferService.pause(duration / 3)
                let request = try ServiceRequest(
                    "PATCH",
                    "/v1/leases/\(token)",
                    json: LeaseRequest(leaseSeconds: .some(duration.components.seconds))
                )
                let startedAt = clock.now
                _ = try await service.call(request.repeatable())
                end = startedAt + duration
            } catch {
                if error.code == .cancelled { return nil }
                // Its tasks may all have been removed, which ends the lease as well.
                if error.problem != nil, !RetryPolicy.isCurable(error, isRepeatable: true) {
                    return error
                }
                if clock.now >= end { return error }
            }
        }
    }

    /// Ends all renewals, and gives the tasks back.
    ///
    /// - Throws: the first ``TransferError``; the lease then ends by itself.
    func release(at service: TransferService) async throws(TransferError) {
        let held = state.withLock { $0.takeRenewals() }
        for task in held.values { task.cancel() }
        var failure: TransferError?
        for token in held.keys {
            do throws(TransferError) {
                _ = try await service.call(ServiceRequest("DELETE", "/v1/leases/\(token)"))
            } catch  where error.problem?.code == .unknownLease {
                continue
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Ends all renewals; the leases end by themselves.
    func abandon() {
        for task in state.withLock({ $0.takeRenewals() }).values { task.cancel() }
    }
}
