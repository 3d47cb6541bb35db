import TransferModel

/// The possible next steps.
extension ExhaustiveSearch {
    /// The maximum number of holdings of a worker: enough to continue a task that was taken away
    /// from it.
    private static let holdingsMax = 2

    static func steps(_ world: SearchWorld, _ snapshot: SearchSnapshot) -> [SearchStep] {
        let allowance = world.allowance
        var steps: [SearchStep] = []
        for (number, worker) in world.workers.enumerated() where worker.isRunning {
            steps += stepsOfLife(number, worker, world, snapshot)
            for (index, holding) in worker.holdings.enumerated() {
                steps += Self.steps(number, index, holding, world)
            }
        }
        if snapshot.has("abandoned") { steps.append(.sweep) }
        if snapshot.has("delayed") { steps.append(.promote) }
        if snapshot.has("held") { steps.append(.resume) }
        if allowance.rivals > 0, world.hasDestination { steps.append(.occupy) }
        if !snapshot.has("outcome") {
            if allowance.cancellations > 0 { steps.append(.cancel) }
            if allowance.suspensions > 0 && !snapshot.has("held") { steps.append(.suspend) }
        }
        let hasEndedBadly = snapshot.lines("outcome").contains { $0.detail != "completed" }
        if hasEndedBadly, allowance.clientRetries > 0 { steps.append(.retryByClient) }
        return steps
    }

    private static func stepsOfLife(
        _ number: Int,
        _ worker: SearchWorld.Worker,
        _ world: SearchWorld,
        _ snapshot: SearchSnapshot
    ) -> [SearchStep] {
        let allowance = world.allowance
        var steps: [SearchStep] = []
        let mayHold = worker.holdings.count < holdingsMax
        if snapshot.has("ready"), mayHold, world.hasBegun || number == 0 {
            steps.append(.claim(number, isHeard: true))
            if allowance.lostAnswers > 0 { steps.append(.claim(number, isHeard: false)) }
            if allowance.lostCommits > 0 { steps.append(.lose(.claim(number, isHeard: true))) }
        }
        let isRegistered = snapshot.lines("worker").contains { $0.worker == worker.incarnation }
        if !isRegistered { steps.append(.heartbeat(number)) }
        if isRegistered, allowance.takeovers > 0, mayHold { steps.append(.takeOver(number)) }
        if snapshot.lines("revocation").contains(where: { $0.worker == worker.incarnation }) {
            steps.append(.heedRevocations(number))
        }
        if mayHold, !forgotten(by: worker, snapshot).isEmpty {
            steps.append(.heedForgotten(number))
        }
        if worker.holdings.isEmpty, forgotten(by: worker, snapshot).isEmpty,
            allowance.retirements > 0
        {
            steps.append(.retire(number))
        }
        if allowance.crashes > 0 { steps.append(.crash(number)) }
        return steps
    }

    /// Returns the attempts that are a worker's in the database but unknown to it.
    static func forgotten(
        by worker: SearchWorld.Worker,
        _ snapshot: SearchSnapshot
    ) -> [SearchSnapshot.Line] {
        (snapshot.lines("attempt") + snapshot.lines("pending_rename")).filter { line in
            line.worker == worker.incarnation
                && !worker.holdings.contains { $0.fence == line.fence }
        }
    }

    private static func steps(
        _ worker: Int,
        _ index: Int,
        _ holding: SearchWorld.Holding,
        _ world: SearchWorld
    ) -> [SearchStep] {
        let allowance = world.allowance
        let mayBeLost = allowance.lostAnswers > 0
        switch holding.stage {
        case .attempt:
            var steps = (mayBeLost ? [true, false] : [true]).map { isHeard in
                world.hasDestination
                    ? SearchStep.beginRename(worker, index, isHeard: isHeard)
                    : .fetch(worker, index, isHeard: isHeard)
            }
            if allowance.checkpoints > 0 {
                steps.append(.checkpoint(worker, index))
                if allowance.lostCommits > 0 { steps.append(.lose(.checkpoint(worker, index))) }
            }
            if allowance.retries > 0 {
                steps.append(.retry(worker, index, isHeard: true))
                if mayBeLost { steps.append(.retry(worker, index, isHeard: false)) }
            }
            if allowance.releases > 0 { steps.append(.release(worker, index)) }
            if allowance.failures > 0 { steps.append(.fail(worker, index)) }
            return steps
        case .orphan, .lost: return [.requeue(worker, index)]
        case .pendingRename: return [.rename(worker, index)]
        case .renamed:
            let steps: [SearchStep] = [.complete(worker, index, isHeard: true)]
            return mayBeLost ? steps + [.complete(worker, index, isHeard: false)] : steps
        case .taken:
            let steps: [SearchStep] = [.refuse(worker, index, isHeard: true)]
            return mayBeLost ? steps + [.refuse(worker, index, isHeard: false)] : steps
        case .refused: return [.settle(worker, index)]
        case .unwanted: return [.discard(worker, index)]
        }
    }

    /// Returns the next step of the last worker, which does all remaining work.
    static func healthyStep(_ world: SearchWorld, _ snapshot: SearchSnapshot) -> SearchStep? {
        let number = world.workers.count - 1
        if world.allowance.takeovers > 0 { return .takeOver(number) }
        for (index, holding) in world.workers[number].holdings.enumerated() {
            if let step = steps(number, index, holding, world).first { return step }
        }
        if snapshot.has("held") { return .resume }
        if snapshot.has("delayed") { return .promote }
        if snapshot.has("ready") { return .claim(number, isHeard: true) }
        return snapshot.has("abandoned") ? .sweep : nil
    }
}
