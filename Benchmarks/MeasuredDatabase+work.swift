import Foundation
import TransferModel
import TransferStore

/// The database work of the API and the engine, without either of them.
extension MeasuredDatabase {
    private static let result = TransferResult(
        httpStatus: 200,
        bytesReceived: 0,
        fields: KeptFields(of: [("Content-Type", "application/octet-stream")]),
        isLengthVerified: true
    )

    func putSession(_ identifier: String) async throws -> SessionID {
        let result = try await sessions.putSession(
            tenant: tenant,
            identifier: identifier,
            configuration: SessionConfiguration()
        )
        guard case .created(let session) = result else {
            throw Program.Failure(description: "no session: \(result)")
        }
        return session.id
    }

    /// Returns tasks as the API makes them.
    func submissions(
        _ count: Int,
        _ path: ClaimRate.Path = .download,
        hostKey: (Int) -> HostKey
    ) -> [TaskSubmission] {
        // As those of one request.
        let ids = UUID.consecutiveVersion7(count: count)
        return ids.enumerated().map { index, id in
            TaskSubmission(
                id: TaskID(id),
                url: "http://127.0.0.1:9/small/\(index)",
                hostKey: hostKey(index),
                destination: path == .namedDownload
                    ? Destination(path: "named/\(id)", overwrite: true) : nil,
                request: path == .upload
                    ? TransferRequest(kind: .upload, method: "PUT", upload: .data([1, 2, 3]))
                    : TransferRequest()
            )
        }
    }

    func submit(_ tasks: [TaskSubmission], to identifier: String) async throws {
        let result = try await submissions.submit(
            tasks,
            tenant: tenant,
            sessionIdentifier: identifier
        )
        guard case .accepted = result else {
            throw Program.Failure(description: "not accepted: \(result)")
        }
    }

    /// Registers a worker; nobody declares it dead as long as no service runs.
    func worker() async throws -> WorkerIdentity {
        WorkerIdentity(incarnation: try await workers.registerWorker(name: "bench"))
    }

    /// Claims up to `limit` tasks as the engine does, which looks for flows first: up to `perHost`
    /// for one host (nil for any number), starting behind the host `after`, beside the `busy`
    /// connections to hosts.
    func claim(
        _ limit: Int,
        by worker: WorkerIdentity,
        perHost: Int? = nil,
        after: HostKey = HostKey(rawValue: .min),
        busy: [HostKey: Int] = [:]
    ) async throws -> [TaskClaim] {
        let begin = after.rawValue == .min ? .min : after.rawValue + 1
        let flows = try await queue.waitingFlows(in: [begin ... .max])
        var rest = limit
        var used = busy
        var grants: [FlowGrant] = []
        for waiting in flows where rest > 0 {
            let hostKey = waiting.flow.hostKey
            let count = min(rest, (perHost ?? limit) - used[hostKey, default: 0])
            guard count > 0 else { continue }
            used[hostKey, default: 0] += count
            rest -= count
            grants.append(FlowGrant(flow: waiting.flow, count: count, from: waiting.position))
        }
        return try await queue.claim(grants, fences: worker.reserve(limit))
    }

    /// Ends downloads without a destination, as the engine does, and returns how many.
    func complete(_ claims: some Collection<TaskClaim>) async throws -> Int {
        try await completions.end(
            claims.map { claim in
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: .fetched(Self.result, part: claim.fence),
                    bytesReceived: Self.result.bytesReceived,
                    metrics: AttemptMetrics()
                )
            }
        ).count
    }

    /// Moves downloads with a destination past the point of no return and ends renamed ones, in one
    /// transaction.
    ///
    /// - Returns: the claims whose renames have begun, and how many tasks were ended.
    func beginRenames(
        _ claims: some Collection<TaskClaim>,
        ending renamed: [TaskClaim] = []
    ) async throws -> (begun: [TaskClaim], ended: Int) {
        let changed = try await completions.end(
            renamed.map { claim in
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: .completed,
                    metrics: AttemptMetrics()
                )
            },
            beginning: claims.map {
                PendingRename(
                    of: $0,
                    result: Self.result,
                    file: FileIdentity(inode: 1, bornAtNanoseconds: 1),
                    metrics: AttemptMetrics()
                )
            }
        )
        return (
            claims.filter { changed.contains($0.task) },
            renamed.count { changed.contains($0.task) }
        )
    }

    /// Ends uploads and returns how many.
    func answer(_ claims: some Collection<TaskClaim>) async throws -> Int {
        try await completions.end(
            claims.map { claim in
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: .answered(Self.result, body: []),
                    metrics: AttemptMetrics()
                )
            }
        ).count
    }
}
