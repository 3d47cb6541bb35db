import TransferModel

/// The rules beyond the invariants of the tables.
extension ExhaustiveSearch {
    mutating func check(
        _ step: SearchStep,
        _ before: SearchWorld,
        _ old: SearchSnapshot,
        _ world: SearchWorld,
        _ new: SearchSnapshot
    ) {
        if let fence = fence(of: step, before), !old.isCurrent(fence) {
            require(old == new, "what is done under a fence that was taken away changes nothing")
        }
        if case .rename(let worker, let index) = step {
            let holding = world.workers[worker].holdings[index]
            // A worker that has taken it over may have ended it, and its file with it.
            require(
                holding.stage != .lost || world.replaced == holding.partFence
                    || !old.isCurrent(holding.fence),
                "what is pending can be renamed"
            )
        }
        let pending = new.lines("pending_rename").compactMap(\.partFence)
        let isCompleted = new.lines("outcome").first?.detail == "completed"
        if let result = world.result {
            require(
                isCompleted || pending.contains(result),
                "no file of an attempt that was taken away has the final name"
            )
        }
        require(!isCompleted || hasResult(world, new), "what is completed has its own file")
        for part in pending {
            require(
                world.parts.contains(part) || [world.result, world.replaced].contains(part),
                "the file of a pending_rename is there"
            )
        }
        for part in (new.lines("partial") + new.lines("kept")).compactMap(\.partFence) {
            require(
                world.parts.contains(part) || world.replaced == part
                    || world.result == part && pending.contains(part),
                "the file to be resumed is there"
            )
        }
        let workers = Set(new.lines("worker").compactMap(\.worker))
        for line in new.lines("attempt") + new.lines("pending_rename") {
            require(
                line.worker.map(workers.contains) ?? false,
                "an attempt belongs to a worker that nobody has declared dead"
            )
        }
        if case .heartbeat(let number) = step {
            require(
                workers.contains(world.workers[number].incarnation),
                "a worker that lives is registered"
            )
        }
        if let outcome = old.lines("outcome").first, step != .retryByClient {
            require(new.lines("outcome").first == outcome, "what has ended has ended")
        }
        if step == .retryByClient {
            require(
                !new.has("outcome") && (new.has("ready") || new.has("delayed")),
                "what its client retries is back in the queue"
            )
        }
    }

    /// Checks the end, after a healthy worker has done all remaining work.
    mutating func checkEnd(_ world: SearchWorld, _ snapshot: SearchSnapshot) {
        require(snapshot.has("outcome"), "the task ends")
        let rest = [
            "ready", "delayed", "held", "attempt", "pending_rename", "partial", "abandoned",
            "revocation",
        ].filter(snapshot.has)
        require(rest.isEmpty, "nothing is left behind: \(rest)")
        let isCompleted = snapshot.lines("outcome").first?.detail == "completed"
        require(
            isCompleted == (hasResult(world, snapshot) && !isRepeated(world, snapshot)),
            "there is a result when it was completed"
        )
        // A file that no row has ever mentioned is found by its name, later.
        let results = (snapshot.lines("outcome") + snapshot.lines("kept")).compactMap(\.partFence)
        require(
            world.hasLostCommits || world.parts.subtracting(results).isEmpty,
            "no file is left behind: \(world.parts)"
        )
    }

    /// Returns whether the task was run again because its file was replaced, and then found the
    /// name taken.
    private func isRepeated(_ world: SearchWorld, _ snapshot: SearchSnapshot) -> Bool {
        world.result == nil && snapshot.lines("outcome").first?.detail == "failed"
    }

    /// Returns whether the file exists that the outcome or its name identifies as the result.
    private func hasResult(_ world: SearchWorld, _ snapshot: SearchSnapshot) -> Bool {
        guard let part = snapshot.lines("outcome").first?.partFence else {
            return world.result != nil || world.replaced != nil
        }
        return !world.hasDestination && world.parts.contains(part)
    }

    /// Returns the fence under which a worker takes a step.
    private func fence(of step: SearchStep, _ world: SearchWorld) -> Fence? {
        switch step {
        case .checkpoint(let worker, let holding), .beginRename(let worker, let holding, _),
            .fetch(let worker, let holding, _), .complete(let worker, let holding, _),
            .refuse(let worker, let holding, _),
            .retry(let worker, let holding, _),
            .release(let worker, let holding), .fail(let worker, let holding),
            .requeue(let worker, let holding):
            world.workers[worker].holdings[holding].fence
        case .claim, .heartbeat, .takeOver, .heedRevocations, .heedForgotten, .retire, .crash,
            .rename, .settle, .discard, .sweep, .promote, .cancel, .suspend, .resume, .occupy,
            .retryByClient, .lose:
            nil
        }
    }
}
