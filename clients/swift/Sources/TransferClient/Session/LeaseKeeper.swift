import Foundation
import Synchronization
import TransferWire

/// Renews the leases of tasks that were taken over or submitted, until they are released or nobody
/// here has their tasks any more.
final class LeaseKeeper: Sendable {
    /// The most tasks that are submitted with one lease.
    private static let tasksMax = 1000

    /// What a request has brought under a lease.
    struct Grant: Sendable {
        let token: String
        /// The handles of its tasks; nil for those that are about to be made.
        let tasks: [TransferTask]?
        /// The number of its tasks, of which some may have no handle.
        let count: Int
        /// The time when the request was sent, or an earlier one.
        let start: ContinuousClock.Instant
    }

    /// A handle of a task, for as long as somebody has it.
    private struct Handle {
        weak var task: TransferTask?
    }

    /// A lease that is renewed.
    private struct Lease {
        let renewal: Task<Void, Never>
        /// The handles of its tasks; nil until they are made.
        var handles: [Handle]?
        /// The most tasks that it can hold at the service.
        var held = 0

        mutating func add(_ grant: Grant) {
            if let tasks = grant.tasks {
                handles = (handles ?? []) + tasks.map { Handle(task: $0) }
            }
            held += grant.count
        }

        /// Whether somebody here has a task of it that has not been removed, or is about to.
        func isNeeded(as token: String) -> Bool {
            handles?.contains { $0.task?.lease == token } ?? true
        }
    }

    private struct State {
        var leases: [String: Lease] = [:]
        /// The lease of the next tasks that are submitted, and how many more it takes.
        var next: (token: String, room: Int)?
        var isClosed = false

        /// Forgets all leases, and takes no further ones.
        mutating func close() -> [String: Task<Void, Never>] {
            defer { (leases, next, isClosed) = ([:], nil, true) }
            return leases.mapValues(\.renewal)
        }

        /// Forgets a lease.
        ///
        /// - Returns: whether somebody here has a task of it.
        mutating func forget(_ token: String) -> Bool {
            if next?.token == token { next = nil }
            return leases.removeValue(forKey: token)?.isNeeded(as: token) ?? false
        }
    }

    private let service: TransferService
    private let duration: Duration
    private let state = Mutex(State())

    /// Creates the keeper of leases that last `duration`.
    init(at service: TransferService, for duration: Duration) {
        self.service = service
        self.duration = duration
    }

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

    /// Submits no further tasks with a lease.
    func retire(_ token: String) {
        state.withLock { if $0.next?.token == token { $0.next = nil } }
    }

    /// Renews a lease three times within its duration while somebody here has a task of it, and
    /// calls `lost` when it has ended all the same.
    ///
    /// After ``release()`` it is given back instead.
    func keep(_ grant: Grant, lost: @escaping @Sendable (TransferError) async -> Void) {
        let (token, start) = (grant.token, grant.start)
        for task in grant.tasks ?? [] { task.lease = token }
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            if state.leases[token] == nil {
                // The renewal belongs to no call of the client; `release` ends it.
                let renewal = Task {
                    let error = await renew(token, since: start)
                    guard let error, self.state.withLock({ $0.forget(token) }) else { return }
                    await lost(error)
                }
                state.leases[token] = Lease(renewal: renewal)
            }
            state.leases[token]?.add(grant)
            return false
        }
        if isClosed { giveBack(token) }
    }

    /// Gives a lease back of whose tasks nobody here has a handle.
    func giveBack(_ token: String) {
        state.withLock { state in
            state.leases[token]?.renewal.cancel()
            _ = state.forget(token)
        }
        // Nobody awaits it: the call that asked for the lease has ended, or its session is closed.
        Task {
            do throws(TransferError) {
                try await release(token)
            } catch {
                // The lease ends by itself.
            }
        }
    }

    /// Ends all renewals, and gives the tasks back.
    ///
    /// - Throws: the first ``TransferError``; the lease then ends by itself.
    func release() async throws(TransferError) {
        let held = state.withLock { $0.close() }
        for renewal in held.values { renewal.cancel() }
        var failure: TransferError?
        for token in held.keys {
            do throws(TransferError) {
                try await release(token)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func release(_ token: String) async throws(TransferError) {
        do throws(TransferError) {
            _ = try await service.call(ServiceRequest("DELETE", "/v1/leases/\(token)"))
        } catch {
            guard error.problem?.code == .unknownLease else { throw error }
        }
    }

    /// Ends all renewals; the leases end by themselves.
    func abandon() {
        for renewal in state.withLock({ $0.close() }).values { renewal.cancel() }
    }
}

extension LeaseKeeper {
    /// Renews a lease until that is refused, its end has passed, or nobody here has its tasks.
    ///
    /// - Returns: why it is lost; nil after a cancellation, and when it is not needed any more.
    private func renew(
        _ token: String,
        since start: ContinuousClock.Instant
    ) async -> TransferError? {
        let clock = ContinuousClock()
        let service = impatientService
        var (end, next) = (start + duration, start + duration / 3)
        var failure: TransferError?
        while true {
            do throws(TransferError) {
                try await TransferService.pause(max(next - clock.now, .zero))
                if let failure, clock.now >= end { return failure }
                guard let before = tasksHeld(by: token) else { return nil }
                let request = try ServiceRequest(
                    "PATCH",
                    "/v1/leases/\(token)",
                    json: LeaseRequest(leaseSeconds: .some(duration.components.seconds))
                ).repeatable()
                let startedAt = clock.now
                // A process that was stopped, as by Ctrl-Z, finds the end behind it. What nobody
                // has taken over meanwhile is its own again.
                let limit = startedAt < end ? end - startedAt : duration / 6
                let lease = try await withDeadline(limit) { () async throws(TransferError) in
                    try await service.get(request, as: LeaseDocument.self)
                }.get()
                let isLate = clock.now >= end
                guard isWhole(token, holding: lease.tasks, before: before, isLate: isLate) else {
                    return Self.partlyLost
                }
                (end, next) = (startedAt + duration, startedAt + duration / 3)
                failure = nil
            } catch {
                if error.code == .cancelled { return nil }
                // Its tasks may all have been removed, which ends the lease as well.
                if error.problem != nil, !RetryPolicy.isCurable(error, isRepeatable: true) {
                    return error
                }
                if clock.now >= end { return error }
                (failure, next) = (error, min(clock.now + duration / 6, end))
            }
        }
    }

    /// A service whose calls are repeated while a lease lasts: one that is lost on the way leaves
    /// time for others.
    private var impatientService: TransferService {
        var service = self.service
        service.timeout = min(service.timeout, duration / 6)
        service.retryPolicy.attemptsMax = .max
        service.retryPolicy.delayMax = min(service.retryPolicy.delayMax, duration / 6)
        return service
    }

    /// Returns the most tasks that a lease can hold; nil once nobody here has any of them, with
    /// which it is forgotten.
    private func tasksHeld(by token: String) -> Int? {
        state.withLock { state in
            if let lease = state.leases[token], lease.isNeeded(as: token) { return lease.held }
            _ = state.forget(token)
            return nil
        }
    }

    /// Notes how many tasks a lease holds, which could be `before` when that was asked.
    ///
    /// - Returns: false when some may have been taken over: the lease was renewed after its end,
    ///   and holds fewer tasks than before.
    private func isWhole(_ token: String, holding tasks: Int, before: Int, isLate: Bool) -> Bool {
        state.withLock { state in
            guard let held = state.leases[token]?.held else { return true }
            guard !isLate || tasks >= held else { return false }
            // What has come under it meanwhile may not have been counted.
            state.leases[token]?.held = tasks + held - before
            return true
        }
    }

    private static let partlyLost = TransferError(
        .problem(.unknownLease),
        "The lease had ended, and some of its tasks are another's or have been removed."
    )
}
