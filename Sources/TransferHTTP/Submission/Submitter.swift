import Foundation
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// A submitter of tasks, whatever form they arrived in.
struct Submitter: Sendable {
    let stores: APIStores
    let container: Container
    let tell: @Sendable (Set<Signal>, Set<HostKey>) -> Void

    /// Stores all of `submissions` or none, with `answer` for a repetition of the request, and
    /// returns it or an earlier answer.
    ///
    /// `problem` returns the problem that is told when tasks at these indices have these faults,
    /// and `line` the line of the body in which the task at an index is, if it is in one.
    func submit(
        _ submissions: [TaskSubmission],
        answer: Answer,
        key: IdempotencyKey?,
        lease: SubmissionLease? = nil,
        to session: SessionAddress,
        by caller: Caller,
        line: (_ index: Int) -> Int? = { _ in nil },
        problem: ([(index: Int, fault: FieldError)]) -> Problem
    ) async throws -> Answer {
        if let index = submissions.firstIndex(where: \.request.sendsKeptFile),
            !caller.scopes.contains(RouteScopes.sendingFiles)
        {
            let missing = Problem(needing: RouteScopes.sendingFiles, insteadOf: caller.scopes)
            throw line(index).map(missing.inLine) ?? missing
        }
        guard container.hasSpaceForNewWork else { throw Problem.databaseNearlyFull }
        if let lease { try await checkRoom(in: lease, for: submissions.count, session.tenant) }
        let copies = try await copiesOfNothing(in: submissions, session.tenant)
        guard copies.isEmpty else { throw problem(copies.map { ($0, Self.noResult) }) }
        let result = try await RequestResources.storing(submissions.count) {
            try await stores.submissions.submit(
                submissions,
                tenant: session.tenant,
                client: session.client,
                sessionIdentifier: session.identifier,
                idempotency: key?.record(of: answer),
                lease: lease
            )
        }
        switch result {
        case .accepted(_, let signals):
            tell(signals, Set(submissions.lazy.map(\.hostKey).prefix(Signal.hostsMax)))
            return answer
        case .unknownSession: throw try await stores.clients.noSession(at: session)
        case .sessionFinishing:
            throw Problem(
                .sessionFinishing,
                "It ends with what is outstanding; then its identifier is free for a new one."
            )
        case .clientForceQuit: throw Problem.forceQuit(session.client)
        case .queueFull: throw Problem(.queueFull, "Submit again when some have run.")
        case .dataNeedsEphemeralSession:
            let data = submissions.indices.filter { submissions[$0].request.kind == .data }
            throw problem(data.map { ($0, Self.dataFault) })
        case .unknownResumeData:
            throw Problem(
                .unknownResumeData,
                "Resume data is there once, for one task; submit without it to start over."
            )
        case .replay(let response): return try Answer(replaying: response)
        case .idempotencyMismatch: throw Problem(.idempotencyKeyReused)
        }
    }

    /// Refuses tasks with which a lease would hold too many; concurrent requests may get past it
    /// together, with a thousand tasks each at most.
    private func checkRoom(
        in lease: SubmissionLease,
        for count: Int,
        _ tenant: TenantID
    ) async throws {
        let held = try await stores.sessions.leasedTasks(tenant: tenant, lease.token)
        guard held + count <= SubmissionLease.tasksMax else {
            throw QueryParameters.invalid(
                "Lease-Token",
                "A lease holds at most \(SubmissionLease.tasksMax) tasks; name another one."
            )
        }
    }

    /// Returns the indices of the tasks that copy what is no kept result.
    private func copiesOfNothing(
        in submissions: [TaskSubmission],
        _ tenant: TenantID
    ) async throws -> [Int] {
        let copied = submissions.compactMap(\.request.copiedTask)
        guard !copied.isEmpty else { return [] }
        let kept = try await stores.copies.keptResults(of: copied, tenant: tenant)
        return submissions.indices.filter { index in
            submissions[index].request.copiedTask.map { !kept.contains($0) } ?? false
        }
    }

    private static let dataFault = FieldError(
        pointer: "/kind",
        .dataNeedsEphemeralSession,
        "A data task is for a session of kind `ephemeral`."
    )

    private static let noResult = FieldError(
        pointer: "/upload/copy/task",
        .invalidValue,
        "Must be a completed download whose result is kept."
    )
}
