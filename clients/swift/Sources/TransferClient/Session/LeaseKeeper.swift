import Synchronization
import TransferWire

/// Renews the leases of tasks that were taken over, until they are released.
final class LeaseKeeper: Sendable {
    private let leases = Mutex<[String: Task<Void, Never>]>([:])

    /// Renews a lease three times within its duration, and calls `lost` when it has ended all the
    /// same.
    func keep(
        _ token: String,
        for duration: Duration,
        at service: TransferService,
        lost: @escaping @Sendable (TransferError) async -> Void
    ) {
        // The renewal belongs to no call of the client; `release` ends it.
        let task = Task {
            let error = await Self.renew(token, for: duration, at: service)
            leases.withLock { _ = $0.removeValue(forKey: token) }
            if let error { await lost(error) }
        }
        leases.withLock { $0[token] = task }
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
        let held = leases.withLock { leases in
            defer { leases = [:] }
            return leases
        }
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
        let held = leases.withLock { leases in
            defer { leases = [:] }
            return leases
        }
        for task in held.values { task.cancel() }
    }
}
