import TransferModel
import TransferStore

extension TransferEngine {
    /// The chores beside transferring; rescue comes first and waits for nothing else.
    var chores: [Chore] {
        let heartbeat = configuration.heartbeatInterval
        let tick = EngineConfiguration.tickInterval
        return [
            Chore("rescue", every: heartbeat) { () throws(StoreError) in
                try await rescuer.rescue()
                return .rest
            },
            Chore("forgotten attempts", every: heartbeat, making: findingForgotten),
            Chore("promotion", every: tick, promoter.promote),
            Chore("release of hosts", every: tick) { () throws(StoreError) in
                try await hosts.releaseReached(onRunnable: promoter.onRunnable)
                return .rest
            },
            Chore("cancellations", every: heartbeat, making: cancelling),
            Chore("unanswered questions", every: heartbeat) { () throws(StoreError) in
                let failed = try await stores.decisions.failUnanswered()
                if failed > 0 { onEvents() }
                return Chore.Next(isMore: failed == DecisionStore.unansweredMax)
            },
            Chore("abandoned parts", every: heartbeat, removeAbandonedParts),
            Chore("erasure", every: heartbeat, eraseEphemeral),
            Chore("idempotency keys", every: heartbeat) { () throws(StoreError) in
                let isMore = try await stores.idempotency.pruneIdempotencyKeys() > 0
                return Chore.Next(isMore: isMore)
            },
        ]
    }

    private func findingForgotten() -> Chore.Turn {
        var forgotten = ForgottenAttempts()
        return { () throws(StoreError) in
            try await finder.look(for: &forgotten)
            return .rest
        }
    }

    private func cancelling() -> Chore.Turn {
        var wasMore = false
        return { () throws(StoreError) in
            let isMore = try await stores.cancellations.continueCancellations()
            if isMore || wasMore { onEvents() }
            wasMore = isMore
            return Chore.Next(isMore: isMore)
        }
    }

    /// Removes part files from which no attempt will resume, whoever created them.
    private func removeAbandonedParts() async throws(StoreError) -> Chore.Next {
        let parts = try await stores.parts.abandonedParts()
        guard !parts.isEmpty else { return .rest }
        let removed = await completer.partFiles.remove(parts)
        try await stores.parts.forgetAbandonedParts(removed)
        return .rest
    }

    /// Removes part of what invalidated ephemeral sessions have left.
    private func eraseEphemeral() async throws(StoreError) -> Chore.Next {
        let tasks = try await stores.erasure.tasksToErase()
        let removed = await completer.partFiles.remove(tasks)
        // Done even without tasks: a session may have had none.
        let isMore = try await stores.erasure.erase(removed)
        return Chore.Next(isMore: isMore || removed.count == ErasureStore.erasureTasksMax)
    }
}
