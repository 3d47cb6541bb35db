import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    static let taskChanges: [StoreVerb] = [
        StoreVerb("submit") { stores, world in
            let tasks = (0..<page).map { index in
                TaskSubmission(
                    id: TaskID(.version7()),
                    url: "https://origin.test/a",
                    hostKey: HostKey(rawValue: Int64(index % 10))
                )
            }
            _ = try await stores.submissions.submit(
                tasks,
                tenant: world.tenant,
                sessionIdentifier: ScaleWorld.large
            )
            return tasks.count
        },
        StoreVerb("reserve", pages: 1000) { stores, world in
            _ = try await stores.tenants.limitTenant(
                named: "scale",
                changes: TenantLimitChanges(storedBytesMax: Int64.max)
            )
            try await stores.stagedBodies.reserve(
                1000,
                for: world.large(.suspended),
                of: world.tenant
            )
            return 1
        },
        StoreVerb("forget", pages: 1000) { stores, world in
            try await stores.stagedBodies.forget([world.large(.suspended)])
            return 1
        },
        StoreVerb("bodiesToForget", pages: 1000) { stores, world in
            try await stores.stagedBodies.reserve(
                1000,
                for: world.large(.suspended),
                of: world.tenant
            )
            return try await stores.stagedBodies.bodiesToForget(after: nil).remains.count
        },
        StoreVerb("endWait") { stores, world in
            for state in [TransferState.waitingForRetry, .waitingToBegin] {
                try await stores.testHooks.endWait(of: world.large(state), tenant: world.tenant)
            }
            return 2
        },
        StoreVerb("failNextAttempt") { stores, world in
            guard let failure = TestFailure(code: .timedOut, httpStatus: nil) else { return 0 }
            _ = try await stores.testHooks.failNextAttempt(
                of: world.large(.queued),
                tenant: world.tenant,
                with: failure
            )
            return 1
        },
        StoreVerb("cancelTask", pages: 1000) { stores, world in
            for state in [TransferState.queued, .suspended, .waitingForRetry, .running] {
                _ = try await stores.control.cancelTask(
                    tenant: world.tenant,
                    id: world.large(state)
                )
            }
            return 4
        },
        StoreVerb("cancelTask(ifAskingIn)") { stores, world in
            _ = try await stores.questions.cancelTask(
                tenant: world.tenant,
                id: world.large(.waitingToBegin),
                ifAskingIn: .waitingToBegin
            )
            return 1
        },
        StoreVerb("suspendTask") { stores, world in
            _ = try await stores.control.suspendTask(tenant: world.tenant, id: world.large(.queued))
            return 1
        },
        StoreVerb("resumeTask") { stores, world in
            _ = try await stores.control.resumeTask(
                tenant: world.tenant,
                id: world.large(.suspended)
            )
            return 1
        },
        StoreVerb("retryTask", pages: 800) { stores, world in
            // A failed and a cancelled one of results.
            for place in [7, 9] {
                let result = try await stores.retries.retryTask(
                    tenant: world.tenant,
                    id: world.kept(place),
                    hasBody: false
                )
                guard case .answered = result else { throw CancellationError() }
            }
            return 2
        },
        StoreVerb("beginRemoval", pages: 1000) { stores, world in
            for place in [0, 7] {
                let result = try await stores.removals.beginRemoval(
                    tenant: world.tenant,
                    id: world.kept(place)
                )
                guard case .unknownTask = result else { continue }
                throw CancellationError()
            }
            return 2
        },
        StoreVerb("removeTask", pages: 1000) { stores, world in
            let result = try await stores.removals.beginRemoval(
                tenant: world.tenant,
                id: world.kept(20)
            )
            guard case .removable(let remains, let parts) = result else {
                throw CancellationError()
            }
            return try await stores.removals.removeTask(remains, parts: parts) ? 1 : 0
        },
        StoreVerb("completeBody") { stores, world in
            _ = try await stores.control.completeBody(
                tenant: world.tenant,
                id: world.large(.suspended)
            )
            return 1
        },
        StoreVerb("changeTask", pages: 1000) { stores, world in
            var change = TaskChange()
            change.clientString = ClientString("new")
            change.priority = .init(rank: 7)
            for state in [TransferState.queued, .waitingForRetry, .waitingForAuthentication] {
                _ = try await stores.control.changeTask(
                    tenant: world.tenant,
                    id: world.large(state),
                    change
                )
            }
            return 3
        },
        StoreVerb("beginTask") { stores, world in
            _ = try await stores.questions.beginTask(
                tenant: world.tenant,
                id: world.large(.waitingToBegin),
                with: nil
            )
            return 1
        },
        StoreVerb("answerChallenge") { stores, world in
            try await answerChallenge(stores, world)
        },
        StoreVerb("continueAnswered") { stores, world in
            let first = try await answerChallenge(stores, world)
            return try await first + stores.answers.continueAnswered()
        },
        StoreVerb("refuseChallenge") { stores, world in
            _ = try await stores.questions.refuseChallenge(
                tenant: world.tenant,
                id: world.large(.waitingForAuthentication)
            )
            return 1
        },
        // Before any that takes tasks, so that they are planned for an empty table.
        StoreVerb("reconnect(behind the last task)") { stores, world in
            try await stores.sessions.reconnect(
                world.session(0),
                owner: nil,
                time: .seconds(60),
                after: world.large(world.tasks - 1),
                limit: page
            ).items.count
        },
        StoreVerb("renewLease(of nothing)") { stores, world in
            _ = try await stores.sessions.renewLease(
                tenant: world.tenant,
                LeaseToken(UUID()),
                for: .seconds(7)
            )
            return 0
        },
        StoreVerb("releaseLease(of nothing)") { stores, world in
            _ = try await stores.sessions.releaseLease(tenant: world.tenant, LeaseToken(UUID()))
            return 0
        },
        StoreVerb("terminate(without leases)", pages: 1000) { stores, world in
            _ = try await stores.clients.terminate(tenant: world.tenant, id: .default)
            return 1
        },
        // A tenth of the session is held by somebody, and examined.
        StoreVerb("reconnect", pages: 400_000) { stores, world in
            try await stores.sessions.reconnect(
                world.session(0),
                owner: nil,
                time: .seconds(60),
                after: nil,
                limit: page
            ).items.count
        },
        StoreVerb("reconnect(a small session)") { stores, world in
            try await stores.sessions.reconnect(
                world.session(7),
                owner: nil,
                time: .seconds(60),
                after: nil,
                limit: page
            ).items.count
        },
        StoreVerb("renewLease") { stores, world in
            let taken = try await takeSome(stores, world)
            _ = try await stores.sessions.renewLease(
                tenant: world.tenant,
                taken.lease,
                for: .seconds(7)
            )
            return 2 * taken.items.count
        },
        StoreVerb("leasedTasks") { stores, world in
            let taken = try await takeSome(stores, world)
            return try await stores.sessions.leasedTasks(tenant: world.tenant, taken.lease)
                + taken.items.count
        },
        StoreVerb("releaseLease") { stores, world in
            let taken = try await takeSome(stores, world)
            _ = try await stores.sessions.releaseLease(tenant: world.tenant, taken.lease)
            return 2 * taken.items.count
        },
    ]

    /// Answers for one of the origins that tasks of `large` wait for.
    ///
    /// - Returns: how many tasks continue at once.
    private static func answerChallenge(
        _ stores: Stores,
        _ world: ScaleWorld
    ) async throws -> Int {
        _ = try await stores.questions.answerChallenge(
            tenant: world.tenant,
            id: world.large(.waitingForAuthentication),
            with: .given(.bearer, Credential.Secrets(main: Secret("a")))
        )
        return min(world.tasks / 100 * 3, 1 + AnswerStore.continuedMax)
    }

    private static func takeSome(
        _ stores: Stores,
        _ world: ScaleWorld
    ) async throws -> Reconnection {
        try await stores.sessions.reconnect(
            world.session(0),
            owner: nil,
            time: .seconds(60),
            after: world.large(world.tasks / 2),
            limit: page
        )
    }
}
