import Postgres
import TransferModel
import TransferStore
import TransferTestSupport

/// The steps, as the engine takes them.
extension ExhaustiveSearch {
    private static let lease: Duration = .seconds(600)

    mutating func perform(
        _ step: SearchStep,
        _ world: inout SearchWorld,
        _ snapshot: SearchSnapshot
    ) async throws {
        switch step {
        case .claim(let worker, let isHeard): try await claim(worker, isHeard, &world)
        case .heartbeat(let worker): try await beat(worker, &world)
        case .takeOver(let worker): try await takeOver(worker, &world)
        case .heedRevocations(let worker): try await heedRevocations(worker, &world)
        case .heedForgotten(let worker): try await heedForgotten(worker, &world)
        case .retire(let worker):
            world.allowance.retirements -= 1
            try await stores.workers.retireWorker(incarnation: world.workers[worker].incarnation)
            world.end(worker)
        case .crash(let worker):
            world.allowance.crashes -= 1
            world.end(worker)
        case .checkpoint(let worker, let index): try await checkpoint(worker, index, &world)
        case .beginRename(let worker, let index, let isHeard):
            try await beginRenames(worker, index, isHeard, &world)
        case .fetch(let worker, let index, let isHeard):
            let part = world.workers[worker].holdings[index].partFence
            let outcome = AttemptOutcome.fetched(StoreFixture.result, part: part)
            try await end(worker, index, outcome, isHeard, &world)
        case .rename(let worker, let index): rename(worker, index, &world)
        case .complete(let worker, let index, let isHeard):
            try await end(worker, index, .completed, isHeard, &world)
        case .retry(let worker, let index, let isHeard):
            world.allowance.retries -= 1
            let outcome = AttemptOutcome.retry(StoreFixture.failure, after: .zero)
            try await end(worker, index, outcome, isHeard, &world)
        case .release(let worker, let index):
            world.allowance.releases -= 1
            try await end(worker, index, .released, true, &world)
        case .fail(let worker, let index):
            world.allowance.failures -= 1
            try await end(worker, index, .failed(StoreFixture.failure), true, &world)
        case .requeue(let worker, let index):
            try await end(worker, index, .requeued, true, &world)
        case .settle(let worker, let index): try await settle(worker, index, &world)
        case .discard(let worker, let index):
            let part = world.workers[worker].holdings.remove(at: index).partFence
            world.parts.remove(part)
            try await stores.parts.forgetAbandonedParts([part])
        case .sweep:
            let fences = try await stores.parts.abandonedParts().map(\.fence)
            world.parts.subtract(fences)
            try await stores.parts.forgetAbandonedParts(fences)
        case .promote:
            // The value of `now()` is the start of the search.
            _ = try await pool.execute("UPDATE delayed SET due_at = now() - interval '1 s'")
            _ = try await stores.queue.promoteDue()
        case .cancel:
            world.allowance.cancellations -= 1
            _ = try await stores.control.cancelTask(tenant: tenant, id: task)
        case .suspend:
            world.allowance.suspensions -= 1
            _ = try await stores.control.suspendTask(tenant: tenant, id: task)
        case .resume: _ = try await stores.control.resumeTask(tenant: tenant, id: task)
        case .retryByClient:
            world.allowance.clientRetries -= 1
            _ = try await stores.retries.retryTask(tenant: tenant, id: task, hasBody: false)
        case .refuse(let worker, let index, let isHeard):
            try await end(worker, index, .failed(StoreFixture.failure), isHeard, &world)
        case .occupy:
            world.allowance.rivals -= 1
            if let result = world.result { world.replaced = result }
            world.result = nil
            world.isTaken = true
        case .lose(let step):
            world.allowance.lostCommits -= 1
            world.hasLostCommits = true
            _ = try await pool.execute("SAVEPOINT forgotten")
            try await perform(step, &world, snapshot)
            _ = try await pool.execute([
                "ROLLBACK TO SAVEPOINT forgotten", "RELEASE SAVEPOINT forgotten",
            ])
        }
    }

    private mutating func claim(
        _ worker: Int,
        _ isHeard: Bool,
        _ world: inout SearchWorld
    ) async throws {
        world.hasBegun = true
        let identity = identity(world.workers[worker].incarnation)
        let claims = try await stores.queue.claimAny(1, by: identity)
        guard isHeard else {
            world.allowance.lostAnswers -= 1
            return
        }
        for claim in claims {
            // Another process that is still writing the file keeps it, and it may also be gone.
            let part = claim.partial.map(\.partFence).flatMap {
                world.isLocked($0) || !world.parts.contains($0) ? nil : $0
            }
            world.parts.insert(part ?? claim.fence)
            world.workers[worker].holdings.append(
                SearchWorld.Holding(
                    fence: claim.fence,
                    partFence: part ?? claim.fence,
                    stage: .attempt,
                    isKept: part != nil
                )
            )
        }
    }

    /// Registers a worker again that was declared dead; its previous work ends by itself.
    private func beat(_ worker: Int, _ world: inout SearchWorld) async throws {
        let isAlive = try await stores.workers.heartbeat(
            incarnation: world.workers[worker].incarnation,
            lease: Self.lease
        )
        guard !isAlive else { return }
        world.workers[worker].incarnation = try await stores.workers.registerWorker(name: "again")
    }

    /// Takes over from all others, which have been silent for too long, unlike this one.
    private mutating func takeOver(_ worker: Int, _ world: inout SearchWorld) async throws {
        world.allowance.takeovers -= 1
        let incarnation = world.workers[worker].incarnation
        _ = try await pool.execute(
            """
            UPDATE worker SET alive_since = clock_timestamp() - interval '1 hour',
                heartbeat_at = CASE WHEN incarnation = \(incarnation) THEN clock_timestamp()
                    ELSE clock_timestamp() - interval '1 hour' END
            """
        )
        let takeover = try await stores.workers.takeOver(
            silentFor: Self.lease,
            identity: identity(incarnation)
        )
        world.workers[worker].holdings += takeover.attempts.map {
            SearchWorld.Holding(fence: $0.fence, partFence: $0.fence, stage: .orphan)
        }
        world.workers[worker].holdings += takeover.pendingRenames.map {
            SearchWorld.Holding(
                fence: $0.fence,
                partFence: $0.partFence,
                stage: .pendingRename,
                file: $0.file
            )
        }
    }

    /// Stops attempts that were taken away; the revocation stays until they have ended.
    private func heedRevocations(_ worker: Int, _ world: inout SearchWorld) async throws {
        let fences = try await stores.workers.controls(
            incarnation: world.workers[worker].incarnation
        )
        .revocations
        let ended = fences.filter { fence in
            guard
                let index = world.workers[worker].holdings.firstIndex(where: { $0.fence == fence })
            else { return true }
            world.workers[worker].holdings[index].stage = .refused
            return false
        }
        try await stores.workers.removeRevocations(ended)
    }

    /// Handles the attempts that are the worker's although it does not know of them.
    private func heedForgotten(_ worker: Int, _ world: inout SearchWorld) async throws {
        let known = Set(world.workers[worker].holdings.map(\.fence))
        let holdings = try await stores.workers.holdings(
            incarnation: world.workers[worker].incarnation
        )
        let released = holdings.attempts.filter { !known.contains($0.fence) }.map {
            AttemptEnd(task: $0.task, fence: $0.fence, outcome: .released)
        }
        _ = try await stores.completions.end(released)
        for pendingRename in holdings.pendingRenames where !known.contains(pendingRename.fence) {
            world.workers[worker].holdings.append(
                SearchWorld.Holding(
                    fence: pendingRename.fence,
                    partFence: pendingRename.partFence,
                    stage: .pendingRename,
                    file: pendingRename.file
                )
            )
        }
    }

    private func checkpoint(
        _ worker: Int,
        _ index: Int,
        _ world: inout SearchWorld
    ) async throws {
        world.allowance.checkpoints -= 1
        let holding = world.workers[worker].holdings[index]
        // Reported for any attempt, because the store does not know which of them have continued a
        // file.
        _ = try await stores.parts.recordResumptions([
            Resumption(task: task, fence: holding.fence, offset: 500)
        ])
        // Each worker reports different bytes, so that a change by the wrong one is noticed.
        try await stores.parts.recordProgress([
            AttemptProgress(
                task: task,
                fence: holding.fence,
                bytesReceived: Int64(600 + worker),
                bytesExpected: 1000,
                isTold: true,
                checkpoint: partial(holding.partFence)
            )
        ])
        world.workers[worker].holdings[index].isKept = true
    }

    private func partial(_ part: Fence) -> PartialDownload {
        PartialDownload(
            partFence: part,
            bootID: StoreFixture.bootID,
            bytesDurable: 600,
            bytesTotal: 1000,
            validator: EntityValidator(stored: "\"1\"")
        )
    }

    private func beginRenames(
        _ worker: Int,
        _ index: Int,
        _ isHeard: Bool,
        _ world: inout SearchWorld
    ) async throws {
        let holding = world.workers[worker].holdings[index]
        let pendingRename = PendingRename(
            task: task,
            fence: holding.fence,
            partFence: holding.partFence,
            tenant: tenant,
            destination: nil,
            result: StoreFixture.result,
            file: SearchWorld.identity(of: holding.partFence)
        )
        let accepted = try await stores.completions.end([], beginning: [pendingRename])
        guard isHeard else {
            world.allowance.lostAnswers -= 1
            return
        }
        world.workers[worker].holdings[index].file = SearchWorld.identity(of: holding.partFence)
        world.workers[worker].holdings[index].stage = accepted.isEmpty ? .refused : .pendingRename
    }

    /// Renames a part file as the container does.
    ///
    /// A missing part may have been renamed by an earlier try, and the file under its name may be
    /// another task's.
    private func rename(_ worker: Int, _ index: Int, _ world: inout SearchWorld) {
        let holding = world.workers[worker].holdings[index]
        let stage: SearchWorld.Holding.Stage
        if world.namedFile != nil, world.namedFile == holding.file {
            stage = .renamed
        } else if !world.parts.contains(holding.partFence) {
            stage = .lost
        } else if world.isTaken {
            stage = .taken
        } else {
            world.parts.remove(holding.partFence)
            world.result = holding.partFence
            stage = .renamed
        }
        world.workers[worker].holdings[index].stage = stage
    }

    private func end(
        _ worker: Int,
        _ index: Int,
        _ outcome: AttemptOutcome,
        _ isHeard: Bool,
        _ world: inout SearchWorld
    ) async throws {
        let holding = world.workers[worker].holdings[index]
        let isKept = outcome.mayBeContinued && holding.isKept
        let isResult = if case .fetched = outcome { true } else { false }
        let isUnwanted =
            holding.stage == .taken || holding.stage == .attempt && !isKept && !isResult
        let ended = try await stores.completions.end([
            AttemptEnd(
                task: task,
                fence: holding.fence,
                outcome: outcome,
                partial: isKept ? partial(holding.partFence) : nil,
                abandoned: isUnwanted ? holding.partFence : nil
            )
        ])
        guard isHeard else {
            world.allowance.lostAnswers -= 1
            return
        }
        guard holding.stage == .attempt || holding.stage == .taken && !ended.isEmpty else {
            // The worker that has taken it over needs the file.
            world.workers[worker].holdings.remove(at: index)
            return
        }
        if ended.isEmpty {
            world.workers[worker].holdings[index].stage = .refused
        } else if isKept || isResult {
            world.workers[worker].holdings.remove(at: index)
        } else {
            world.workers[worker].holdings[index].stage = .unwanted
        }
    }

    /// Keeps the file of an attempt that was taken away only if another attempt may continue it.
    private func settle(_ worker: Int, _ index: Int, _ world: inout SearchWorld) async throws {
        let part = world.workers[worker].holdings.remove(at: index).partFence
        if try await stores.parts.keptParts([(task, part)]).isEmpty {
            world.parts.remove(part)
        } else {
            try await stores.parts.recordDurable([(partFence: part, bytes: 700, ranges: nil)])
        }
    }
}
